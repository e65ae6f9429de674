package cron

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/internal/cronstore"
)

// A Scheduler fires the jobs of a store at their ticks. It follows the wall clock. Ticks
// are missed while the machine sleeps or if the clock is set forward. If the clock is set
// back, nothing runs a second time.
type Scheduler struct {
	Store *Store // where the jobs are
	// Fire runs a job. The note is one line about the result and is stored with the job. A
	// panic is a failure. A job has one call at a time, however many schedulers serve the
	// store.
	Fire func(ctx context.Context, j Job, tick time.Time) (note string, err error)
	// Report, if not nil, receives the outcome of each tick, one at a time. status is one of:
	//
	//	done     the run has succeeded
	//	failed   the run has failed; note says why
	//	skipped  the tick came, perhaps with others, while the run before went on
	//	missed   no program was there in time, and the job skips such ticks
	//	lost     the program died during the run, which is not repeated
	Report   func(j Job, status, note string)
	Parallel int          // runs at a time, 0: 4
	Log      *slog.Logger // nil: no logs

	running atomic.Int32
}

// Running reports whether the scheduler runs.
func (s *Scheduler) Running() bool { return s.running.Load() > 0 }

// Run fires jobs until ctx ends, which ends the runs as well. It returns nil once they are
// over. After 30 seconds it gives up waiting and returns an error that names them. A store
// that cannot be read at first is an error; later such trouble is logged and tried again.
func (s *Scheduler) Run(ctx context.Context) error {
	s.running.Add(1)
	defer s.running.Add(-1)
	inner := cronstore.Scheduler{Store: s.Store.jobs(), Parallel: s.Parallel, Log: s.Log,
		Fire: func(ctx context.Context, j cronstore.Job, tick time.Time) (string, error) {
			return s.Fire(ctx, jobOf(j), tick)
		}}
	if s.Report != nil {
		inner.Report = func(j cronstore.Job, o cronstore.Outcome) { s.Report(jobOf(j), string(o.Status), o.Note) }
	}
	return inner.Run(ctx)
}
