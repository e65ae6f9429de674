package cron

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/automation"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/cronstore"
	"github.com/openagent-go/agent/internal/text"
)

// A cronStart is the first line of JSON that "cron run" writes.
type cronStart struct {
	Type string      `json:"type"` // "cron_start"
	Jobs []cronEntry `json:"jobs"`
}

// A cronOutcome is a line of JSON about a tick.
type cronOutcome struct {
	Type     string           `json:"type"` // "cron_run"
	Job      string           `json:"job_id"`
	Name     string           `json:"name"`
	Dir      string           `json:"cwd"`
	Tick     time.Time        `json:"tick"`
	Status   cronstore.Status `json:"status"`
	Note     string           `json:"note"`
	Duration int64            `json:"duration_ms"`
}

// cronRun runs jobs until a signal. With --once it runs the due jobs and returns.
func cronRun(ctx context.Context, h *cli.IO, o *cronOptions) error {
	store, jobs, err := loadJobs(ctx, h, o)
	if err != nil {
		return err
	}
	s := &cronstore.Scheduler{Store: store, Log: settings.Logger(h, &o.Options)}
	r, err := newCronRunner(ctx, h, o, s, jobs)
	if err != nil {
		return err
	}
	if err := r.start(jobs); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	failed := 0
	s.Fire, s.Report = r.RunJob, func(j cronstore.Job, out cronstore.Outcome) {
		if out.Status == cronstore.Failed || out.Status == cronstore.Lost {
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
	case cli.IsSignal(ctx):
		return cli.ExitCode(cli.SignalCode(ctx))
	case ctx.Err() != nil:
		return &cli.ExitError{Code: cli.ExitInternal, Err: context.Cause(ctx)}
	case err != nil:
		return app.CronError(err)
	case failed > 0:
		return &cli.ExitError{Code: cli.ExitInternal, Err: fmt.Errorf("%d of the runs failed", failed)}
	}
	return nil
}

// A cronRunner runs jobs.
type cronRunner struct{ automation.Runner }

// newCronRunner checks the flags and the environment before any job is due.
func newCronRunner(ctx context.Context, h *cli.IO, o *cronOptions, s *cronstore.Scheduler, jobs []cronstore.Job) (*cronRunner, error) {
	prompts := slices.ContainsFunc(jobs, func(j cronstore.Job) bool { return j.Command == "" && !j.Disabled })
	r := &cronRunner{automation.Runner{Host: h, Options: &o.Options, Schedule: s}}
	return r, r.Check(ctx, prompts)
}

// start reports the upcoming jobs.
func (r *cronRunner) start(jobs []cronstore.Job) error {
	entries, rows := upcoming(jobs)
	if r.Options.Output == cli.FormatJSON {
		return cli.ShowLine(r.Host, cronStart{"cron_start", entries})
	}
	if len(rows) == 0 {
		return r.Host.Show("No jobs yet. Jobs that you add will run.\n")
	}
	return r.Host.WriteList(cli.FormatText, nil, "NEXT NAME ID RUNS", rows)
}

// report writes a line about a tick.
func (r *cronRunner) report(j cronstore.Job, o cronstore.Outcome) error {
	h := r.Host
	if r.Options.Output == cli.FormatJSON {
		return cli.ShowLine(h, cronOutcome{"cron_run", j.ID, j.Name, j.Dir, o.Tick, o.Status, h.OneLine(o.Note), o.Took.Milliseconds()})
	}
	line := fmt.Sprintf("%s %s %s %s", o.Tick.Local().Format(time.RFC3339), j.ID, text.Runes(j.Name, 40), o.Status)
	if o.Took > 0 {
		line += " in " + o.Took.Round(time.Millisecond).String()
	}
	if o.Note != "" {
		line += ": " + o.Note
	}
	return h.Show(h.OneLine(line) + "\n")
}
