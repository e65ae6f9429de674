package memory

import (
	"context"
	"slices"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/memory"
)

// A decision changes an entry.
type decision func(ctx context.Context, e app.KeptEntry) error

func accept(ctx context.Context, e app.KeptEntry) error {
	if e.State == memory.Active {
		return nil
	}
	return failed(ctx, e, e.Store.Store.Accept(ctx, e.ID, byPerson("accepted")))
}

func reject(ctx context.Context, e app.KeptEntry) error {
	if e.State == memory.Active {
		return cli.Usagef("the entry %s is accepted already; openagent memory retire %s retires it", e.ID, e.ID)
	}
	return failed(ctx, e, e.Store.Store.Retire(ctx, e.ID, byPerson("rejected")))
}

func retire(ctx context.Context, e app.KeptEntry) error {
	return failed(ctx, e, e.Store.Store.Retire(ctx, e.ID, byPerson("retired")))
}

// decideAll finds all entries first, so that a wrong id changes nothing.
func decideAll(ctx context.Context, h *cli.IO, o *memoryOptions, stores []memory.Named, ids []string, done string, d decision) error {
	var found []app.KeptEntry
	for _, id := range ids {
		e, err := app.FindEntry(h, stores, id)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(found, func(k app.KeptEntry) bool { return k.ID == e.ID }) {
			found = append(found, e)
		}
	}
	var changed []entryJSON
	var rows [][]string
	texts := ""
	for _, e := range found {
		if err := d(ctx, e); err != nil {
			return err
		}
		now, err := e.Store.Store.Entry(e.ID)
		if err != nil {
			return failed(ctx, e, err)
		}
		changed = append(changed, entryOf(app.KeptEntry{Store: e.Store, Entry: now}))
		rows = append(rows, []string{e.ID, done, text.Runes(e.Title, 60)})
		if now.State == memory.Active { // a file may have changed since the person saw it
			texts += "\n" + app.EntryText(h, app.KeptEntry{Store: e.Store, Entry: now})
		}
	}
	if err := h.WriteList(o.format, changed, "", rows); err != nil || o.format == cli.FormatJSON {
		return err
	}
	return h.Show(texts)
}
