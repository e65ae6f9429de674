package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cron"
)

// A cronStart is the first line of JSON that "cron run" writes.
type cronStart struct {
	Type string      `json:"type"` // "cron_start"
	Jobs []cronEntry `json:"jobs"`
}

// A cronOutcome is a line of JSON about a tick.
type cronOutcome struct {
	Type     string      `json:"type"` // "cron_run"
	Job      string      `json:"job_id"`
	Name     string      `json:"name"`
	Dir      string      `json:"cwd"`
	Tick     time.Time   `json:"tick"`
	Status   cron.Status `json:"status"`
	Note     string      `json:"note"`
	Duration int64       `json:"duration_ms"`
}

// cronRun fires jobs until a signal, or with --once those that are due.
func (h *host) cronRun(ctx context.Context, o *cronOptions) error {
	store, _, err := h.crontab(o)
	if err != nil {
		return err
	}
	jobs, err := store.Load(ctx)
	if err != nil {
		return cronError(err)
	}
	s := &cron.Scheduler{Store: store, Log: h.logger(&o.options)}
	r, err := h.newCronRunner(ctx, o, s, jobs)
	if err != nil {
		return err
	}
	if err := r.start(jobs); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	failed := 0
	s.Fire, s.Report = r.fire, func(j cron.Job, out cron.Outcome) {
		if out.Status == cron.Failed || out.Status == cron.Lost {
			failed++
		}
		if err := r.report(j, out); err != nil {
			cancel(err)
		}
	}
	if o.once {
		err = s.Once(ctx)
	} else {
		err = s.Run(ctx)
	}
	switch {
	case isSignal(ctx):
		return cli.Ended(signalCode(ctx))
	case ctx.Err() != nil:
		return &cli.ExitError{Code: cli.ExitInternal, Err: context.Cause(ctx)}
	case err != nil:
		return cronError(err)
	case failed > 0:
		return &cli.ExitError{Code: cli.ExitInternal, Err: fmt.Errorf("%d of the runs failed", failed)}
	}
	return nil
}

// A cronRunner runs jobs.
type cronRunner struct{ runner }

// newCronRunner finds out what is wrong with the flags and the environment
// before anything is due.
func (h *host) newCronRunner(ctx context.Context, o *cronOptions, s *cron.Scheduler, jobs []cron.Job) (*cronRunner, error) {
	prompts := slices.ContainsFunc(jobs, func(j cron.Job) bool { return j.Command == "" && !j.Disabled })
	r := &cronRunner{runner{h, &o.options, s}}
	return r, r.try(ctx, prompts)
}

func (r *cronRunner) fire(ctx context.Context, j cron.Job, _ time.Time) (note string, err error) {
	switch {
	case j.Command != "":
		return r.command(ctx, j.Dir, j.Command)
	case j.Trigger != "":
		return r.trigger(ctx, j.Dir, j.Trigger)
	}
	return r.prompt(ctx, j.Dir, j.Prompt)
}

// start says what will run and when.
func (r *cronRunner) start(jobs []cron.Job) error {
	entries, rows := upcoming(jobs)
	if r.options.output == formatJSON {
		return r.host.showLine(cronStart{"cron_start", entries})
	}
	if len(rows) == 0 {
		return r.host.show("No jobs yet; those that are added will run.\n")
	}
	return r.host.list(formatText, nil, "NEXT NAME ID RUNS", rows)
}

// report writes a line about a tick.
func (r *cronRunner) report(j cron.Job, o cron.Outcome) error {
	h := r.host
	if r.options.output == formatJSON {
		return h.showLine(cronOutcome{"cron_run", j.ID, j.Name, j.Dir, o.Tick, o.Status, h.oneLine(o.Note), o.Took.Milliseconds()})
	}
	line := fmt.Sprintf("%s %s %s %s", o.Tick.Local().Format(time.RFC3339), j.ID, short(j.Name, 40), o.Status)
	if o.Took > 0 {
		line += " in " + o.Took.Round(time.Millisecond).String()
	}
	if o.Note != "" {
		line += ": " + o.Note
	}
	return h.show(h.oneLine(line) + "\n")
}

// showLine writes a line of JSON to stdout.
func (h *host) showLine(v any) error {
	line, err := encodeLine(v)
	if err != nil {
		return err
	}
	return h.show(string(line))
}
