package automation

import (
	"context"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/cronstore"
	"github.com/openagent-go/agent/internal/text"
)

// StartBackground runs the jobs of the working folder during a conversation,
// and runs the triggers that the model starts: each in a session of its own, under
// the flags of the conversation. report gets a line for what came of each. What is
// returned ends that and waits for it.
func StartBackground(ctx context.Context, h *cli.IO, s *app.App, report func(string)) (stop func()) {
	home, err := h.Home()
	if err != nil {
		return func() {} // no schedule is kept, and no trigger
	}
	o := *s.Options
	o.Resume, o.ResumeAt, o.ID, o.Latest, o.Fork = "", "", "", false, false
	log := settings.Logger(h, s.Options)
	run := Runner{h, &o, s.Schedule}
	triggers := &TriggerRunner{Runner: run, Home: home, Log: log, Report: func(o TriggerOutcome) { report(o.Text()) }}
	s.Schedule.Store, s.Schedule.Fire, s.Schedule.Log = cronstore.In(app.CronFile(home), s.Project), run.RunJob, log
	s.Schedule.Report = func(j cronstore.Job, o cronstore.Outcome) { report(fired(j, o)) }
	s.Triggers.Run, s.Triggers.Log = triggers.Run, log
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Schedule.Run(ctx); err != nil {
			log.Warn("the schedule is not run", "error", err)
		}
	}()
	return func() {
		cancel()
		if err := StopRuns(s.Triggers, 0); err != nil {
			log.Warn("ending the triggers", "error", err)
		}
		<-done
	}
}

// fired says what came of a tick in a line.
func fired(j cronstore.Job, o cronstore.Outcome) string {
	line := "scheduled " + text.Runes(j.Name, 40) + ": " + string(o.Status)
	if o.Took > 0 {
		line += " in " + o.Took.Round(time.Millisecond).String()
	}
	if o.Note != "" {
		line += ": " + o.Note
	}
	return line
}
