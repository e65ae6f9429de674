package triggers

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/triggerstore"
)

func triggersAdd(ctx context.Context, h *cli.IO, o *triggerOptions, name, prompt string) error {
	place, err := findTriggerPlace(h)
	if err != nil {
		return err
	}
	r := triggerstore.Record{Secrets: []triggerstore.Secret{triggerstore.NewSecret()}, Trigger: triggerstore.Trigger{ID: triggerstore.NewID(), Name: name, Prompt: prompt,
		URL: o.url, Schedule: o.schedule, Dir: place.dir, Enabled: true, Created: time.Now().UTC().Truncate(time.Second)}}
	if err := r.Check(); err != nil {
		return cli.Usagef("triggers add: %w", err)
	}
	if strings.TrimSpace(prompt) == "" && r.URL == "" {
		return cli.Usagef("triggers add: the prompt is empty; write one")
	}
	if r.Schedule != "" {
		if err := app.ScheduleTrigger(ctx, place.jobs, place.dir, r.Trigger); err != nil {
			return cli.Usagef("triggers add: --schedule: %w", err)
		}
	}
	if err := place.store.Update(ctx, r.ID, func(*triggerstore.Record) (*triggerstore.Record, error) { return &r, nil }); err != nil {
		r.Schedule = ""
		return errors.Join(triggerError(err), app.ScheduleTrigger(ctx, place.jobs, place.dir, r.Trigger))
	}
	if o.Output == cli.FormatJSON {
		return h.WriteList(o.Output, triggerEntry{Trigger: r.Trigger}, "", nil)
	}
	says := r.ID + " is started by signed POST requests to /triggers/" + r.ID + " while openagent triggers serve runs in this folder.\nopenagent triggers secret " + r.ID + " shows the secret that signs them.\n"
	if r.URL != "" {
		says = r.ID + " is run by the tool RemoteTrigger.\nIt needs the secret of the other side: openagent triggers secret --set " + r.ID + "\n"
	}
	if r.Schedule != "" {
		says += "Its schedule runs while openagent cron run or a conversation in this folder is active.\n"
	}
	return h.Show(says)
}
