package main

import (
	"cmp"
	"context"
	"runtime"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/chat"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/firstrun"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/repl"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// A conversation is what runs on a terminal: the terminal UI, or the line mode.
type conversation interface {
	Run(ctx context.Context, s *app.App, args []string, blocks []llm.Block) error
	AskUser(ctx context.Context, call tool.Call, questions []tool.Question) ([]tool.Answer, error)
}

// converse runs conversations on a terminal: the person may go from one session to another.
func converse(ctx context.Context, h *cli.IO, o *settings.Options, args []string) error {
	stderr := h.Err
	for {
		h.Err = stderr
		var c conversation
		if o.Plain || plain(h) {
			c = repl.New(h)
		} else {
			c = chat.New(h)
		}
		if err := converseIn(ctx, h, o, args, c); err != nil {
			return err
		}
		ui, ok := c.(*chat.Chat)
		if !ok {
			return nil
		}
		id, more := ui.Next()
		if !more {
			return nil
		}
		next := *o
		next.Resume, next.Latest, next.Fork, next.ID, next.ResumeAt, next.Files = id, false, false, "", "", nil
		o, args = &next, nil
	}
}

// converseIn runs a conversation in one session.
func converseIn(ctx context.Context, h *cli.IO, o *settings.Options, args []string, c conversation) (err error) {
	s, err := openWithKey(ctx, h, o, c.AskUser)
	if err != nil {
		return err
	}
	defer func() {
		if failed := s.Close(); failed != nil {
			h.Warn("%v", failed)
		}
	}()
	blocks, err := s.AttachFiles(o.Files)
	if err != nil {
		return err
	}
	return c.Run(ctx, s, args, blocks)
}

// openWithKey opens the app. It asks the person for a key if there is none.
func openWithKey(ctx context.Context, h *cli.IO, o *settings.Options, ask app.AskFunc) (*app.App, error) {
	for {
		s, err := app.Open(ctx, h, o, ask, nil)
		name, keyless := provider.Keyless(err)
		if !keyless {
			return s, err
		}
		demo := func() error { return root(h).Execute(ctx, []string{"demo"}, h.Show) }
		if chosen, failed := firstrun.AskInLines(ctx, h, name, demo); failed != nil || !chosen {
			return nil, cmp.Or(failed, err)
		}
	}
}

// plain reports whether the terminal can show nothing but lines.
func plain(h *cli.IO) bool {
	term := h.Getenv("TERM")
	return runtime.GOOS != "windows" && (term == "" || term == "dumb")
}
