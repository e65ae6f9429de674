package cron

import (
	"cmp"
	"context"
	"fmt"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/cronstore"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
)

func cronAdd(ctx context.Context, h *cli.IO, o *cronOptions, schedule, words string) error {
	store, dir, err := crontab(h, o)
	if err != nil {
		return err
	}
	j := cronstore.Job{Name: cmp.Or(o.name, text.Runes(text.OneLine(terminal.Text(words)), 40)), Schedule: schedule, Zone: o.zone,
		Missed: cronstore.Missed(o.missed), Dir: dir, Prompt: words}
	if o.command {
		j.Prompt, j.Command = "", words
	}
	if err := j.Check(); err != nil {
		return cli.Usagef("cron add: %w", err)
	}
	if j, err = cronstore.Add(ctx, store, j); err != nil {
		return app.CronError(err)
	}
	e := cronEntries([]cronstore.Job{j})[0]
	if o.Output == cli.FormatJSON {
		return h.WriteList(o.Output, e, "", nil)
	}
	return h.Show(fmt.Sprintf("%s next runs at %s, if openagent cron run or a conversation that runs jobs is active then.\n", j.ID, e.when()))
}
