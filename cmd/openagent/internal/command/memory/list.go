package memory

import (
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/memory"
)

// An entryJSON is an entry in the output of the command.
type entryJSON struct {
	ID             string       `json:"id"`
	Store          string       `json:"store"` // "project" or "user"
	Kind           memory.Kind  `json:"kind"`
	State          memory.State `json:"state"`
	Title          string       `json:"title"`
	Text           string       `json:"text,omitempty"`
	Evidence       []string     `json:"evidence,omitempty"`
	Confirmed      string       `json:"confirmed,omitempty"` // a day
	Confirmations  int          `json:"confirmations,omitempty"`
	Contradictions int          `json:"contradictions,omitempty"`
	Replaces       string       `json:"replaces,omitempty"`
	Retires        string       `json:"retires,omitempty"`
	Suspicious     string       `json:"suspicious,omitempty"` // why it cannot be accepted as it is
	File           string       `json:"file"`
}

func entryOf(e app.KeptEntry) entryJSON {
	out := entryJSON{ID: e.ID, Store: e.Store.Name, Kind: e.Kind, State: e.State, Title: e.Title, Text: e.Text,
		Confirmations: e.Confirmations, Contradictions: e.Contradictions, Replaces: e.Replaces, Retires: e.Retires,
		Suspicious: memory.Suspicious(e.Title + "\n" + e.Text), File: e.Store.Store.File(e.ID)}
	for _, from := range e.Evidence {
		out.Evidence = append(out.Evidence, from.String())
	}
	if !e.Confirmed.IsZero() {
		out.Confirmed = e.Confirmed.Format(time.DateOnly)
	}
	return out
}

func listEntries(h *cli.IO, o *memoryOptions, stores []memory.Named) error {
	list, err := app.MemoryEntries(h, stores)
	if err != nil {
		return err
	}
	out := []entryJSON{}
	var rows [][]string
	waiting := 0
	for _, state := range []memory.State{memory.Active, memory.Candidate, memory.Retired} {
		for _, e := range list {
			if e.State != state || state == memory.Retired && !o.all {
				continue
			}
			if state == memory.Candidate {
				waiting++
			}
			out = append(out, entryOf(e))
			rows = append(rows, []string{e.ID, string(e.Kind), string(e.State), e.Store.Name, text.Runes(e.Title, 80)})
		}
	}
	if o.format == cli.FormatJSON {
		return h.WriteList(o.format, out, "", nil)
	}
	if len(rows) == 0 {
		h.Warn("there are no entries here yet")
		return nil
	}
	if err := h.WriteList(o.format, nil, "ID KIND STATE STORE TITLE", rows); err != nil {
		return err
	}
	if waiting > 0 {
		h.Warn("%s for your decision: openagent memory pending", waits(waiting))
	}
	return nil
}

func waits(n int) string {
	if n == 1 {
		return "1 entry waits"
	}
	return fmt.Sprintf("%d entries wait", n)
}

func showEntry(h *cli.IO, o *memoryOptions, stores []memory.Named, id string) error {
	e, err := app.FindEntry(h, stores, id)
	if err != nil {
		return err
	}
	if o.format == cli.FormatJSON {
		return h.WriteList(o.format, entryOf(e), "", nil)
	}
	return h.Show(app.EntryText(h, e))
}

func showPending(h *cli.IO, o *memoryOptions, stores []memory.Named) error {
	list, err := app.MemoryEntries(h, stores)
	if err != nil {
		return err
	}
	out := []entryJSON{}
	var blocks []string
	for _, e := range list {
		if e.State == memory.Candidate {
			out = append(out, entryOf(e))
			blocks = append(blocks, app.EntryText(h, e))
		}
	}
	if o.format == cli.FormatJSON {
		return h.WriteList(o.format, out, "", nil)
	}
	if len(blocks) == 0 {
		h.Warn("no entry waits for your decision")
		return nil
	}
	if err := h.Show(strings.Join(blocks, "\n")); err != nil {
		return err
	}
	h.Warn("decide with openagent memory accept ID… or openagent memory reject ID…")
	return nil
}
