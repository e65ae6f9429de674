package main

import (
	"context"
	"time"

	"github.com/openagent-go/agent/cron"
)

// runSchedule fires the jobs of the working folder while a conversation goes on,
// each in a session of its own, under the flags of the conversation. What is
// returned ends that and waits for it.
func (h *host) runSchedule(ctx context.Context, s *setup, report func(cron.Job, cron.Outcome)) (stop func()) {
	home, err := h.home()
	if err != nil {
		return func() {} // no schedule is kept
	}
	o := &cronOptions{options: *s.options}
	o.resume, o.resumeAt, o.id, o.latest, o.fork = "", "", "", false, false
	log := h.logger(s.options)
	r := &cronRunner{h, o, s.schedule}
	s.schedule.Store, s.schedule.Fire, s.schedule.Report, s.schedule.Log = cron.In(cronFile(home), s.project), r.fire, report, log
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
