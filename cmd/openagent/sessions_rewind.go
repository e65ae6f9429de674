package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/checkpoint"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session"
)

// rewindSession takes a session back, or lists where it can be taken back to.
func (h *host) rewindSession(ctx context.Context, o *sessionsOptions, id string) error {
	if err := o.rewinding.check(); err != nil {
		return err
	}
	store, err := h.locate(ctx, o, id)
	if err != nil {
		return err
	}
	kept, _, err := h.keptFilesHere()
	if err != nil {
		return err
	}
	kept.Apart = append(kept.Apart, store.Path)
	if o.to == "" {
		list, err := promptsOf(ctx, store, kept, id)
		if err != nil {
			return err
		}
		if len(list) == 0 && o.format != formatJSON {
			h.complain("session %s has no prompt to go back to", id)
		}
		return h.list(o.format, list, promptsHeader, promptRows(list))
	}
	s := (&agent.Agent{Sessions: store}).Session(id)
	defer s.Close()
	done, err := (&rewinder{s, store, kept}).rewind(ctx, o.rewinding)
	if err != nil && !done.changed() {
		return h.told(ctx, id, err)
	}
	if o.format == formatJSON {
		data, encoded := encodeLine(done)
		if encoded == nil {
			encoded = h.show(string(data))
		}
		if err == nil {
			err = encoded
		}
		return err
	}
	var text strings.Builder
	undo := "openagent sessions rewind " + id
	if o.dir != "" {
		undo += " --session-dir " + cli.Quote(store.Path)
	}
	for _, line := range done.lines(undo + " --to") {
		text.WriteString(terminal.Text(line) + "\n")
	}
	if shown := h.show(text.String()); err == nil {
		err = shown
	}
	return err
}

// A promptPlace is a prompt to which a session can be taken back.
type promptPlace struct {
	Fact   int64     `json:"fact"`
	UUID   string    `json:"uuid"`
	Time   time.Time `json:"time"`
	Files  string    `json:"files"`
	Prompt string    `json:"prompt"`
}

// What is known of the files of a prompt.
const (
	filesKept      = "kept"
	filesUnchanged = "unchanged" // the prompt has not changed any
	filesGone      = "dropped"   // for their age or the quota
	filesNotKept   = "not kept"  // it was switched off, or failed
)

// promptsOf lists the prompts of a session that count, the first one first.
func promptsOf(ctx context.Context, store session.Store, kept *checkpoint.Store, id string) ([]promptPlace, error) {
	w, err := walkOf(ctx, store, id)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	if dir, ok := store.(session.Dir); ok && kept != nil {
		list, err := kept.List(ctx, keptAs(dir, id))
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			there[c.ID] = true
		}
	}
	list := []promptPlace{}
	for _, s := range w.prompts() {
		p := promptPlace{Fact: s.Seq, UUID: s.UUID(), Time: s.Time, Files: filesUnchanged, Prompt: s.text}
		switch {
		case s.kept == nil && s.changes, s.kept != nil && s.kept.ID == "":
			p.Files = filesNotKept
		case s.kept != nil && there[s.kept.ID]:
			p.Files = filesKept
		case s.kept != nil:
			p.Files = filesGone
		}
		list = append([]promptPlace{p}, list...)
	}
	return list, nil
}

const promptsHeader = "FACT TIME FILES PROMPT"

func promptRows(list []promptPlace) (rows [][]string) {
	for _, p := range list {
		rows = append(rows, []string{strconv.FormatInt(p.Fact, 10), p.Time.Local().Format(time.DateTime), p.Files, short(text.OneLine(p.Prompt), 80)})
	}
	return rows
}
