package cronstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/internal/text"
)

const (
	// look is the longest time between two looks at the store and the clock, which
	// may both have been changed by others.
	look = 2 * time.Second
	// defaultGrace is how long runs are waited for at the end.
	defaultGrace = 30 * time.Second
	defaultRuns  = 4
	// recordTime bounds the recording of an outcome once the context has ended.
	recordTime = lockPatience + 5*time.Second
)

// ErrStuck is matched by the error of a Scheduler some of whose runs did not end
// with its context.
var ErrStuck = errors.New("a run did not return after its context had ended")

// A Scheduler fires the jobs of a store at their ticks. It follows the wall clock. Ticks
// are missed while the machine sleeps or if the clock is set forward. If the clock is set
// back, nothing runs a second time.
type Scheduler struct {
	Store Store
	// Fire runs a job. The note is one line about the result and is stored with the job. A
	// panic is a failure. A job has one call at a time, however many schedulers serve the
	// store.
	Fire func(ctx context.Context, j Job, tick time.Time) (note string, err error)
	// Report, if not nil, receives the outcome of each tick, one at a time.
	Report   func(Job, Outcome)
	Parallel int           // runs at a time, 0: 4
	Grace    time.Duration // how long runs are waited for once the context has ended, 0: 30 s
	Log      *slog.Logger  // nil: no logs

	clock   func() time.Time // nil: the wall clock
	running atomic.Int32
}

// Running reports whether the scheduler runs.
func (s *Scheduler) Running() bool { return s.running.Load() > 0 }

// Run fires jobs until ctx ends, which ends the runs as well. It returns once
// they are over, nil if they are in time. A store that cannot be read at first
// is an error; later such trouble is logged and tried again.
func (s *Scheduler) Run(ctx context.Context) error { return s.run(ctx, false) }

// Once fires the jobs that are due now and returns when they are done; Report receives
// their outcomes.
func (s *Scheduler) Once(ctx context.Context) error { return s.run(ctx, true) }

func (s *Scheduler) run(ctx context.Context, once bool) error {
	s.running.Add(1)
	defer s.running.Add(-1)
	d := &driver{s: s, owner: rand.Text(), active: map[string]claim{}, done: make(chan ended, cmp.Or(max(s.Parallel, 0), defaultRuns)), log: s.Log}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if err := d.load(ctx); err != nil {
		return err
	}
	runs, cancel := context.WithCancel(ctx)
	defer cancel()
	begin := d.now()
	for ctx.Err() == nil {
		v := view{now: d.now(), owner: d.owner, ours: d.active}
		v.until = v.now
		if once {
			v.until = begin
		}
		if err := d.step(runs, v); err != nil {
			if once {
				cancel()
				return errors.Join(err, d.close(ctx))
			}
			d.trouble(err)
		}
		if once && len(d.active) == 0 {
			break
		}
		d.wait(ctx, v.now)
	}
	err := d.close(ctx)
	if once {
		err = errors.Join(ctx.Err(), err)
	}
	return err
}

// An ended run is one whose function has returned.
type ended struct {
	claim   claim
	outcome Outcome
}

// A driver is a running scheduler. Its goroutine owns all of it.
type driver struct {
	s       *Scheduler
	log     *slog.Logger
	owner   string
	jobs    []Job
	next    []time.Time // the next open tick of each job
	version string
	active  map[string]claim // by the id of the job
	done    chan ended       // has room for all runs
	beat    time.Time
	last    string // the trouble that was logged last
}

// now is the time of the wall clock alone: the other clock of Go does not go on
// while a machine sleeps.
func (d *driver) now() time.Time {
	if d.s.clock != nil {
		return d.s.clock().UTC()
	}
	return time.Now().UTC().Round(0)
}

func (d *driver) trouble(err error) {
	if !errors.Is(err, context.Canceled) && err.Error() != d.last {
		d.last = err.Error()
		d.log.Warn("the schedule cannot be worked on", "error", err)
	}
}

// load reads the jobs again if they have changed.
func (d *driver) load(ctx context.Context) error {
	version, err := d.s.Store.Version(ctx)
	if err != nil || version == d.version && d.next != nil {
		return err
	}
	jobs, err := d.s.Store.Load(ctx)
	if err != nil {
		return err
	}
	d.jobs, d.next, d.version = jobs, make([]time.Time, len(jobs)), version
	for i, j := range jobs {
		d.next[i] = j.Next(j.since())
		if err := j.Check(); err != nil {
			d.log.Warn("a job cannot run", "job", j.ID, "name", j.Name, "error", err)
		}
	}
	return nil
}

// step handles the ticks that are due.
func (d *driver) step(ctx context.Context, v view) error {
	if err := d.load(ctx); err != nil {
		return err
	}
	if err := d.renew(ctx); err != nil {
		return err
	}
	room := cap(d.done) - len(d.active)
	due := false
	for i := range d.jobs {
		due = due || v.wants(&d.jobs[i], d.next[i]) && room > 0
	}
	if !due {
		d.last = ""
		return nil
	}
	var claims []claim
	var outcomes []told
	err := d.s.Store.Update(ctx, func(jobs []Job) ([]Job, error) {
		claims, outcomes = v.claim(jobs, room)
		if len(claims) == 0 && len(outcomes) == 0 {
			return nil, errNothing
		}
		return jobs, nil
	})
	if err != nil && !errors.Is(err, errNothing) {
		return err
	}
	d.last = ""
	for _, o := range outcomes {
		d.report(o)
	}
	for _, c := range claims {
		d.start(ctx, c)
	}
	return d.load(ctx)
}

// errNothing leaves the store as it is: another program was first.
var errNothing = errors.New("nothing to change")

// renew says that our runs go on.
func (d *driver) renew(ctx context.Context) error {
	now := d.now()
	if len(d.active) == 0 || now.Sub(d.beat).Abs() < beat {
		return nil
	}
	err := d.s.Store.Update(ctx, func(jobs []Job) ([]Job, error) {
		for i := range jobs {
			if r := jobs[i].Run; r != nil && r.Owner == d.owner {
				r.Alive = now
			}
		}
		return jobs, nil
	})
	if err == nil {
		d.beat = now
	}
	return err
}

func (d *driver) start(ctx context.Context, c claim) {
	if len(d.active) == 0 {
		d.beat = d.now() // the claim has just said so
	}
	d.active[c.job.ID] = c
	d.log.Debug("a job starts", "job", c.job.ID, "name", c.job.Name, "tick", c.tick)
	go func() {
		start := time.Now()
		note, err := d.fire(ctx, c)
		o := Outcome{Tick: c.tick, Status: Done, Note: text.Bytes(text.OneLine(note), maxNote), Took: time.Since(start)}
		if err != nil {
			o.Status = Failed
			o.Note = text.Bytes(text.OneLine(strings.TrimSuffix(err.Error()+"; "+note, "; ")), maxNote)
		}
		d.done <- ended{c, o}
	}()
}

// fire calls the function of the scheduler in its own goroutine, so that
// one that ends its goroutine is an error.
func (d *driver) fire(ctx context.Context, c claim) (note string, err error) {
	done := make(chan struct{})
	err = errors.New("the run called runtime.Goexit instead of returning")
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v", v)
			}
		}()
		note, err = d.s.Fire(ctx, c.job, c.tick)
	}()
	<-done
	return note, err
}

// wait returns when there may be something to do.
func (d *driver) wait(ctx context.Context, now time.Time) {
	pause := look
	for _, next := range d.next {
		if next.After(now) {
			pause = min(pause, next.Sub(now))
		}
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case e := <-d.done:
		d.settle(ctx, e)
	}
}

// settle records the outcome of a run, even if the context has ended.
func (d *driver) settle(ctx context.Context, e ended) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	v := view{now: d.now(), owner: d.owner, ours: d.active}
	delete(d.active, e.claim.job.ID)
	e.outcome.Ended = v.now
	outcomes := []told{{e.claim.job, e.outcome}} // of a job that is gone in the meantime
	err := d.s.Store.Update(ctx, func(jobs []Job) ([]Job, error) {
		i, err := find(jobs, e.claim.job.ID)
		if err != nil {
			return nil, errNothing
		}
		recorded := v.finish(&jobs[i], e.claim, e.outcome)
		if recorded == nil {
			return nil, errNothing
		}
		outcomes = recorded
		return jobs, nil
	})
	if err != nil && !errors.Is(err, errNothing) {
		d.trouble(fmt.Errorf("recording a run of %s: %w", e.claim.job.ID, err))
	}
	for _, o := range outcomes {
		d.report(o)
	}
}

func (d *driver) report(o told) {
	d.log.Debug("a tick is settled", "job", o.job.ID, "name", o.job.Name, "tick", o.outcome.Tick, "status", o.outcome.Status, "note", o.outcome.Note)
	if d.s.Report != nil {
		d.s.Report(o.job, o.outcome)
	}
}

// close waits for the runs.
func (d *driver) close(ctx context.Context) error {
	t := time.NewTimer(cmp.Or(d.s.Grace, defaultGrace))
	defer t.Stop()
	for len(d.active) > 0 {
		select {
		case e := <-d.done:
			d.settle(ctx, e)
		case <-t.C:
			var names []string
			for _, c := range d.active {
				names = append(names, c.job.Name)
			}
			slices.Sort(names)
			return fmt.Errorf("%w: %s", ErrStuck, strings.Join(names, ", "))
		}
	}
	return nil
}
