package triggers

import (
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/triggerstore"
)

func triggersRemove(ctx context.Context, h *cli.IO, o *triggerOptions, ids []string) error {
	place, err := findTriggerPlace(h)
	if err != nil {
		return err
	}
	removed := []triggerEntry{}
	var rows [][]string
	for _, id := range ids {
		r, err := place.store.Get(ctx, id)
		if err != nil {
			return noTrigger(id, err)
		}
		t := r.Trigger
		t.Schedule = ""
		if err := app.ScheduleTrigger(ctx, place.jobs, place.dir, t); err != nil {
			return app.CronError(err)
		}
		if err := place.store.Update(ctx, id, func(*triggerstore.Record) (*triggerstore.Record, error) { return nil, nil }); err != nil {
			return noTrigger(id, err)
		}
		removed = append(removed, triggerEntry{Trigger: r.Trigger})
		rows = append(rows, []string{id, "removed", text.Runes(r.Name, 40)})
	}
	return h.WriteList(o.Output, removed, "", rows)
}
