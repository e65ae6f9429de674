package app

import (
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/memory"
)

// A KeptEntry is an entry of the memory and its store.
type KeptEntry struct {
	Store memory.Named
	*memory.Entry
}

// MemoryEntries returns the entries of the stores. It warns of files that are none.
func MemoryEntries(h *cli.IO, stores []memory.Named) ([]KeptEntry, error) {
	var list []KeptEntry
	for _, n := range stores {
		found, problems, err := n.Store.Entries()
		if err != nil {
			return nil, cli.Usagef("%w", err)
		}
		for _, p := range problems {
			h.Warn("%v", p)
		}
		for _, e := range found {
			list = append(list, KeptEntry{n, e})
		}
	}
	return list, nil
}

// FindEntry returns the entry that an id or the beginning of one names.
func FindEntry(h *cli.IO, stores []memory.Named, id string) (KeptEntry, error) {
	list, err := MemoryEntries(h, stores)
	if err != nil {
		return KeptEntry{}, err
	}
	var found []KeptEntry
	for _, e := range list {
		if e.ID == id {
			found = append(found, e)
		}
	}
	if len(found) == 0 && id != "" {
		for _, e := range list {
			if strings.HasPrefix(e.ID, id) {
				found = append(found, e)
			}
		}
	}
	switch {
	case len(found) == 0:
		return KeptEntry{}, cli.Usagef("there is no entry %s; openagent memory list --all shows all", cli.Clip(id))
	case len(found) > 1 && found[0].ID == found[1].ID:
		return KeptEntry{}, cli.Usagef("the project and you have an entry %s; add --project or --user", found[0].ID)
	case len(found) > 1:
		var ids []string
		for _, e := range found {
			ids = append(ids, e.ID)
		}
		return KeptEntry{}, cli.Usagef("%s is the beginning of %d entries; write more of one: %s", cli.Clip(id), len(ids), strings.Join(ids, ", "))
	}
	return found[0], nil
}

// EntryText shows an entry to a person, whole.
func EntryText(h *cli.IO, e KeptEntry) string {
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-12s%s\n", name, h.OneLine(text))
		}
	}
	var from []string
	for _, one := range e.Evidence {
		from = append(from, one.String())
	}
	confirmed := "never"
	if !e.Confirmed.IsZero() {
		confirmed = e.Confirmed.Format(time.DateOnly)
	}
	line("entry", e.ID)
	line("title", e.Title)
	line("kind", string(e.Kind)+" of the "+e.Store.Name)
	line("state", string(e.State))
	line("learned in", strings.Join(from, ", "))
	if e.Confirmations+e.Contradictions > 0 {
		line("confirmed", fmt.Sprintf("%s; the work agreed %s and disagreed %s", confirmed, cli.Plural(e.Confirmations, "time"), cli.Plural(e.Contradictions, "time")))
	}
	line("replaces", e.Replaces)
	line("retires", e.Retires)
	line("file", e.Store.Store.File(e.ID))
	line("warning", memory.Suspicious(e.Title+"\n"+e.Text))
	for _, word := range terminal.Lookalikes(e.Title + "\n" + e.Text) {
		line("warning", "it is not what it looks like: "+h.Visible(word))
	}
	if e.Text != "" {
		for _, l := range strings.Split(e.Text, "\n") {
			fmt.Fprintf(&b, "    %s\n", h.Visible(l))
		}
	}
	return b.String()
}
