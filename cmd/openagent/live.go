package main

import (
	"context"
	"time"

	"github.com/openagent-go/agent/cron"
)

// runMeanwhile fires the jobs of the working folder while a conversation goes on,
// and runs the triggers that the model starts: each in a session of its own, under
// the flags of the conversation. report gets a line for what came of each. What is
// returned ends that and waits for it.
func (h *host) runMeanwhile(ctx context.Context, s *setup, report func(string)) (stop func()) {
	home, err := h.home()
	if err != nil {
		return func() {} // no schedule is kept, and no trigger
	}
	o := *s.options
	o.resume, o.resumeAt, o.id, o.latest, o.fork = "", "", "", false, false
	log := h.logger(s.options)
	run := runner{h, &o, s.schedule}
	jobs, triggers := &cronRunner{run}, &triggerRunner{runner: run, home: home, log: log, report: func(o triggerOutcome) { report(o.line()) }}
	s.schedule.Store, s.schedule.Fire, s.schedule.Log = cron.In(cronFile(home), s.project), jobs.fire, log
	s.schedule.Report = func(j cron.Job, o cron.Outcome) { report(fired(j, o)) }
	s.triggers.Run, s.triggers.Log = triggers.run, log
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.schedule.Run(ctx); err != nil {
			log.Warn("the schedule is not run", "error", err)
		}
	}()
	return func() {
		cancel()
		if err := endRuns(s.triggers, 0); err != nil {
			log.Warn("ending the triggers", "error", err)
		}
		<-done
	}
}

// fired says what came of a tick in a line.
func fired(j cron.Job, o cron.Outcome) string {
	line := "scheduled " + short(j.Name, 40) + ": " + string(o.Status)
	if o.Took > 0 {
		line += " in " + o.Took.Round(time.Millisecond).String()
	}
	if o.Note != "" {
		line += ": " + o.Note
	}
	return line
}
