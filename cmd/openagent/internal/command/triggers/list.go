package triggers

import (
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/automation"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/triggerstore"
)

// A triggerEntry is a trigger in the command's output.
type triggerEntry struct {
	triggerstore.Trigger
	Last *automation.TriggerOutcome `json:"last,omitempty"` // the last run that a request or a conversation started
}

// by returns in a few words what starts a trigger.
func (e triggerEntry) by() string {
	by := "requests"
	switch {
	case !e.Enabled:
		return "off"
	case e.URL != "":
		by = "us, at " + e.URL
	}
	if e.Schedule != "" {
		by += ", " + e.Schedule
	}
	return by
}

func triggersList(ctx context.Context, h *cli.IO, o *triggerOptions) error {
	place, err := findTriggerPlace(h)
	if err != nil {
		return err
	}
	store := place.store
	if o.all {
		store = place.file
	}
	records, err := store.List(ctx)
	if err != nil {
		return triggerError(err)
	}
	last, err := automation.LastOutcomes(place.home)
	if err != nil {
		return err
	}
	if len(records) == 0 && o.Output != cli.FormatJSON {
		h.Warn("no triggers here yet; add one with openagent triggers add NAME PROMPT, or list all folders with --all")
	}
	header := "ID NAME STARTED-BY LAST PROMPT"
	if o.all {
		header += " FOLDER"
	}
	entries := []triggerEntry{}
	var rows [][]string
	for _, r := range records {
		e := triggerEntry{Trigger: r.Trigger}
		was := "-"
		if l, ok := last[r.ID]; ok {
			e.Last, was = &l, string(l.Status)
		}
		entries = append(entries, e)
		row := []string{e.ID, text.Runes(e.Name, 40), text.Runes(e.by(), 60), was, text.Runes(e.Prompt, 60)}
		if o.all {
			row = append(row, e.Dir)
		}
		rows = append(rows, row)
	}
	return h.WriteList(o.Output, entries, header, rows)
}
