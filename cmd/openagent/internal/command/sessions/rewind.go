package sessions

import (
	"context"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/rewind"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/internal/sessiondir"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
)

// rewindSession rewinds a session, or lists the points to rewind to.
func rewindSession(ctx context.Context, h *cli.IO, o *sessionsOptions, id string) error {
	if err := o.Options.Check(); err != nil {
		return err
	}
	store, id, err := sessionstore.Locate(ctx, h, o.place, id)
	if err != nil {
		return err
	}
	kept, _, err := app.OpenCheckpoints(h)
	if err != nil {
		return err
	}
	kept.Apart = append(kept.Apart, sessiondir.Path(store))
	if o.To == "" {
		list, err := rewind.ListPrompts(ctx, store, kept, id)
		if err != nil {
			return err
		}
		if len(list) == 0 && o.format != cli.FormatJSON {
			h.Warn("session %s has no prompt to go back to", id)
		}
		return h.WriteList(o.format, list, rewind.PromptsHeader, rewind.PromptRows(list))
	}
	s := (&agent.Agent{Sessions: store}).Session(id)
	defer s.Close()
	done, err := (&rewind.Rewinder{Session: s, Store: store, Checkpoints: kept}).Rewind(ctx, o.Options)
	if err != nil && !done.Changed() {
		return told(ctx, h, id, err)
	}
	if o.format == cli.FormatJSON {
		data, encoded := cli.EncodeLine(done)
		if encoded == nil {
			encoded = h.Show(string(data))
		}
		if err == nil {
			err = encoded
		}
		return err
	}
	var rows strings.Builder
	undo := "openagent sessions rewind " + id
	if o.place.Dir != "" {
		undo += " --session-dir " + text.QuoteShell(sessiondir.Path(store))
	}
	if o.place.Store != "" {
		undo += " --store " + text.QuoteShell(o.place.Store)
	}
	for _, line := range done.Lines(undo + " --to") {
		rows.WriteString(terminal.Text(line) + "\n")
	}
	if shown := h.Show(rows.String()); err == nil {
		err = shown
	}
	return err
}
