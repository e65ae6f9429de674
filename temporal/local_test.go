package temporal

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
)

// TestDurable runs the tests of durable on the workflow and the activity, in the test environment
// of the SDK. It stands in for the server: it keeps workflows, retries activities and gives them to
// workers. TestServer does the same on a real one.
func TestDurable(t *testing.T) {
	const beat = time.Second
	durabletest.Run(t, false, func(t *testing.T) durabletest.Pair {
		db, l := &durabletest.Memory{Lease: beat}, &local{t: t, beat: beat, wakes: map[string]*localWake{}, changed: make(chan struct{})}
		t.Cleanup(l.end)
		return durabletest.Pair{
			Connect: func() (durable.Backend, func()) { c := db.Connect(); return c, c.Kill },
			Engine:  func(durable.Backend) durable.Engine { return l },
			Work:    l.work,
			Beat:    beat,
		}
	})
}

// local is a server without a network: an engine with one environment for each session.
type local struct {
	t    *testing.T
	beat time.Duration
	all  sync.WaitGroup

	mu      sync.Mutex
	ended   bool
	wakes   map[string]*localWake
	workers []*localWorker
	changed chan struct{} // closed and replaced when a worker comes
}

// A localWake is a workflow at work.
type localWake struct {
	env   *testsuite.TestWorkflowEnvironment
	rings int // how often the session was woken
	seen  int // how often when the last visit began
}

type localWorker struct {
	worker *durable.Worker
	drain  chan struct{}
	dead   <-chan struct{}
	visits sync.WaitGroup
}

// Wake signals the workflow of the session, or starts it.
func (l *local) Wake(_ context.Context, session string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.wakes[session]; w != nil {
		if w.rings++; w.seen > 0 { // it has begun
			w.env.SignalWorkflow(wakeSignal, nil)
		}
		return nil
	}
	w := &localWake{rings: 1}
	l.wakes[session] = w
	l.begin(session, w)
	return nil
}

// begin starts the workflow of a session. The caller holds the lock.
func (l *local) begin(session string, w *localWake) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	w.seen = 0
	w.env = suite.NewTestWorkflowEnvironment()
	w.env.SetTestTimeout(time.Hour)
	w.env.RegisterWorkflowWithOptions(wakeUp, workflow.RegisterOptions{Name: workflowName})
	w.env.RegisterActivityWithOptions(l.visit, activity.RegisterOptions{Name: activityName})
	env := w.env
	l.all.Go(func() {
		env.ExecuteWorkflow(workflowName, wake{Session: session, Queue: "q", Heartbeat: l.beat})
		if err := env.GetWorkflowError(); err != nil {
			l.t.Errorf("the workflow of session %s: %v", session, err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if w.rings != w.seen && !l.ended { // a server refuses to end a workflow that has a new signal
			l.begin(session, w)
			return
		}
		delete(l.wakes, session)
	})
}

// visit is the activity: a worker of the task queue has it.
func (l *local) visit(ctx context.Context, in wake) (report, error) {
	queue := activity.GetInfo(ctx).TaskQueue
	var start <-chan time.Time
	if queue != in.Queue {
		timer := time.NewTimer(3 * in.Heartbeat)
		defer timer.Stop()
		start = timer.C
	}
	for {
		l.mu.Lock()
		if l.ended {
			l.mu.Unlock()
			return report{Outcome: durable.Idle}, nil
		}
		if w := l.wakes[in.Session]; w != nil {
			w.seen = w.rings
		}
		changed := l.changed
		for _, w := range l.workers {
			if queue != in.Queue && queue != placeQueue(in.Queue, w.worker.Place) {
				continue
			}
			l.workers = append(slices.DeleteFunc(l.workers, func(other *localWorker) bool { return other == w }), w) // in turns
			w.visits.Add(1)
			l.mu.Unlock()
			return l.visitOf(ctx, w, in)
		}
		l.mu.Unlock()
		if l.beating(ctx, start, changed) {
			return report{}, sdk.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
		}
	}
}

// visitOf lets a worker visit a session. A worker that dies is missed after a heartbeat, and the
// activity is given to another one.
func (l *local) visitOf(ctx context.Context, w *localWorker, in wake) (report, error) {
	type result struct {
		out report
		err error
	}
	done := make(chan result, 1)
	l.all.Go(func() {
		defer w.visits.Done()
		out, err := visit(ctx, w.worker, in, w.drain)
		done <- result{out, err}
	})
	select {
	case r := <-done:
		return r.out, r.err
	case <-w.dead:
		l.beating(ctx, time.After(l.beat+firstRetry), nil)
		return l.visit(ctx, in)
	}
}

// beating waits for one of two channels. The environment ends an activity without heartbeats.
func (l *local) beating(ctx context.Context, first <-chan time.Time, second <-chan struct{}) (wasFirst bool) {
	ticks := time.NewTicker(l.beat / 3)
	defer ticks.Stop()
	for {
		activity.RecordHeartbeat(ctx)
		select {
		case <-first:
			return true
		case <-second:
			return false
		case <-ticks.C:
		}
	}
}

// work is a worker, as Run is.
func (l *local) work(drain, dead context.Context, worker *durable.Worker) {
	w := &localWorker{worker: worker, drain: make(chan struct{}), dead: dead.Done()}
	l.mu.Lock()
	l.workers = append(l.workers, w)
	close(l.changed)
	l.changed = make(chan struct{})
	l.mu.Unlock()
	select {
	case <-drain.Done():
	case <-dead.Done():
	}
	l.mu.Lock()
	l.workers = slices.DeleteFunc(l.workers, func(other *localWorker) bool { return other == w })
	l.mu.Unlock()
	if dead.Err() == nil {
		close(w.drain)
		w.visits.Wait()
	}
}

// end ends all workflows.
func (l *local) end() {
	l.mu.Lock()
	l.ended = true
	close(l.changed)
	l.changed = make(chan struct{})
	l.mu.Unlock()
	l.all.Wait()
}

type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
