package cron

import (
	"context"
	"errors"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/cronstore"
	"github.com/openagent-go/agent/internal/text"
)

// cronChange applies a change to each named job.
func cronChange(ctx context.Context, h *cli.IO, o *cronOptions, ids []string, done string, change func(context.Context, cronstore.Store, string) (cronstore.Job, error)) error {
	store, _, err := crontab(h, o)
	if err != nil {
		return err
	}
	var changed []cronstore.Job
	var rows [][]string
	for _, id := range ids {
		j, err := change(ctx, store, id)
		if errors.Is(err, cronstore.ErrNotFound) {
			return cli.Usagef("there is no job %s here; openagent cron list --all shows the jobs of all folders", cli.Clip(id))
		}
		if errors.Is(err, cronstore.ErrOfTrigger) {
			return cli.Usagef("%s: %w; openagent triggers remove removes both", cli.Clip(id), err)
		}
		if err != nil {
			return app.CronError(err)
		}
		changed = append(changed, j)
		rows = append(rows, []string{j.ID, done, text.Runes(j.Name, 40)})
	}
	return h.WriteList(o.Output, cronEntries(changed), "", rows)
}
