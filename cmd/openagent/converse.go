package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/chat"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/dialog"
	"github.com/openagent-go/agent/cmd/openagent/internal/firstrun"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionlist"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/cmd/openagent/internal/welcome"
)

// converse runs conversations on a terminal: the person may go from one session to another.
func converse(ctx context.Context, h *cli.IO, o *settings.Options, args []string) error {
	if o.Pick {
		next, err := pick(ctx, h, o)
		if err != nil || next == nil {
			return err
		}
		o = next
	}
	stderr, typed := h.Err, chat.LinesOf(h)
	for {
		h.Err = stderr
		c := chat.New(h, o.PlainMode(h), typed)
		if err := converseIn(ctx, h, o, args, c); err != nil {
			return err
		}
		chosen, more := c.Next()
		if !more {
			return nil
		}
		next, err := in(o, chosen)
		if err != nil {
			return err
		}
		next.Fork, next.ID, next.Files = false, "", nil
		o, args = next, nil
	}
}

// converses reports whether the program converses, with a prompt or without one. Else it runs one
// prompt: so it does with a prompt and a file or a pipe.
func converses(h *cli.IO, o *settings.Options, prompt bool) bool {
	switch {
	case o.Print || o.Output != "" || o.Input != "":
		return false
	case h.InTerminal && h.OutTerminal:
		return true
	}
	return !prompt && (h.InTerminal || o.Plain)
}

// in returns the options for a session, and goes to its folder. Its ID is "" for a new one.
func in(o *settings.Options, chosen sessionlist.Chosen) (*settings.Options, error) {
	next := *o
	next.Resume, next.Pick, next.Latest, next.ResumeAt = chosen.ID, false, false, ""
	if o.SessionDir != "" {
		var err error
		if next.SessionDir, err = filepath.Abs(o.SessionDir); err != nil {
			return nil, err
		}
	}
	if chosen.Dir == "" {
		return &next, nil
	}
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	if err := settings.CheckDir("the folder of the session", chosen.Dir); err != nil {
		return nil, err
	}
	if err := os.Chdir(chosen.Dir); err != nil {
		return nil, cli.Usagef("going to the folder of the session: %w", err)
	}
	if chosen.Dir != dir {
		next.Dir = chosen.Dir
	}
	return &next, nil
}

// pick lets the person choose a session. It returns nil if they have left.
func pick(ctx context.Context, h *cli.IO, o *settings.Options) (*settings.Options, error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	store, err := sessionstore.Open(ctx, h, o.Place(), dir)
	if err != nil {
		return nil, err
	}
	list := &sessionlist.List{H: h, Here: store, Dir: dir, Given: sessionstore.OfAllFolders(store, o.Place()), Alone: true}
	choose := list.Choose
	if !o.PlainMode(h) {
		choose = func(ctx context.Context) (sessionlist.Chosen, bool, error) { return dialog.Session(ctx, h, list) }
	}
	chosen, ok, err := choose(ctx)
	if err != nil || !ok {
		return nil, err
	}
	return in(o, chosen)
}

// converseIn runs a conversation in one session.
func converseIn(ctx context.Context, h *cli.IO, o *settings.Options, args []string, c *chat.Chat) (err error) {
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
		if !keyless || !h.InTerminal {
			return s, err
		}
		demo := func() error { return root(h).Execute(ctx, []string{"demo"}, h.Show) }
		question := welcome.Ask
		if o.PlainMode(h) {
			question = firstrun.AskInLines
		}
		if chosen, failed := question(ctx, h, name, demo); failed != nil || !chosen {
			return nil, cmp.Or(failed, err)
		}
	}
}
