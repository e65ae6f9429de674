// Package temporaltest stands in for a Temporal server in tests of workers. It runs the workflow of
// package temporal in the test environment of Temporal's SDK: it keeps workflows, retries activities
// and gives them to workers, as a server does. There is no network and nothing on disk.
//
//	server := temporaltest.New(t, time.Second)
//	client := &durable.Client{Backend: db, Engine: server}
//	go server.Work(ctx, t.Context(), worker)
package temporaltest

import (
	"context"
	"errors"
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
	"github.com/openagent-go/agent/temporal/internal/flow"
)

// A Server wakes the workers that call Work. It is a [durable.Engine].
type Server struct {
	t    testing.TB
	beat time.Duration
	all  sync.WaitGroup

	mu      sync.Mutex
	ended   bool
	wakes   map[string]*openWake
	workers []*openWorker
	changed chan struct{} // closed and replaced when a worker comes
}

var _ durable.Engine = (*Server)(nil)

// New returns a server that ends with the test. heartbeat is how long a worker may be silent until
// its sessions are given to others: the lease of the backend.
func New(t testing.TB, heartbeat time.Duration) *Server {
	s := &Server{t: t, beat: heartbeat, wakes: map[string]*openWake{}, changed: make(chan struct{})}
	t.Cleanup(s.end)
	return s
}

// An openWake is a workflow at work.
type openWake struct {
	env   *testsuite.TestWorkflowEnvironment
	rings int // how often the session was woken
	seen  int // how often when the last visit began
}

type openWorker struct {
	worker *durable.Worker
	drain  chan struct{}
	dead   <-chan struct{}
	visits sync.WaitGroup
}

// Wake implements [durable.Engine]: it signals the workflow of the session, or starts it.
func (s *Server) Wake(_ context.Context, session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.wakes[session]; w != nil {
		if w.rings++; w.seen > 0 { // it has begun
			w.env.SignalWorkflow(flow.WakeSignal, nil)
		}
		return nil
	}
	w := &openWake{rings: 1}
	s.wakes[session] = w
	s.begin(session, w)
	return nil
}

// begin starts the workflow of a session. The caller holds the lock.
func (s *Server) begin(session string, w *openWake) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	w.seen = 0
	w.env = suite.NewTestWorkflowEnvironment()
	w.env.SetTestTimeout(time.Hour)
	w.env.RegisterWorkflowWithOptions(flow.WakeUp, workflow.RegisterOptions{Name: flow.WorkflowName})
	w.env.RegisterActivityWithOptions(s.visit, activity.RegisterOptions{Name: flow.ActivityName})
	env := w.env
	s.all.Go(func() {
		env.ExecuteWorkflow(flow.WorkflowName, flow.Wake{Session: session, Queue: "q", Heartbeat: s.beat})
		if err := env.GetWorkflowError(); err != nil {
			s.t.Errorf("the workflow of session %s: %v", session, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if w.rings != w.seen && !s.ended { // a server refuses to end a workflow that has a new signal
			s.begin(session, w)
			return
		}
		delete(s.wakes, session)
	})
}

// visit is the activity: a worker of the task queue has it.
func (s *Server) visit(ctx context.Context, in flow.Wake) (flow.Report, error) {
	queue := activity.GetInfo(ctx).TaskQueue
	var start <-chan time.Time
	if queue != in.Queue {
		timer := time.NewTimer(3 * in.Heartbeat)
		defer timer.Stop()
		start = timer.C
	}
	for {
		s.mu.Lock()
		if s.ended {
			s.mu.Unlock()
			return flow.Report{Outcome: durable.Idle}, nil
		}
		if w := s.wakes[in.Session]; w != nil {
			w.seen = w.rings
		}
		changed := s.changed
		for _, w := range s.workers {
			if queue != in.Queue && queue != flow.PlaceQueue(in.Queue, w.worker.Place) {
				continue
			}
			s.workers = append(slices.DeleteFunc(s.workers, func(other *openWorker) bool { return other == w }), w) // in turns
			w.visits.Add(1)
			s.mu.Unlock()
			return s.visitOf(ctx, w, in)
		}
		s.mu.Unlock()
		if s.beating(ctx, start, changed) {
			return flow.Report{}, sdk.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
		}
	}
}

// visitOf lets a worker visit a session. A worker that dies is missed after a heartbeat, and the
// activity is given to another one. An activity that fails is tried again here: the environment
// gives up where a server does not.
func (s *Server) visitOf(ctx context.Context, w *openWorker, in flow.Wake) (flow.Report, error) {
	type result struct {
		out flow.Report
		err error
	}
	done := make(chan result, 1)
	s.all.Go(func() {
		defer w.visits.Done()
		out, err := flow.Visit(ctx, w.worker, in, w.drain)
		done <- result{out, err}
	})
	select {
	case r := <-done:
		var failed *sdk.ApplicationError
		if errors.As(r.err, &failed) && !failed.NonRetryable() && ctx.Err() == nil {
			s.beating(ctx, time.After(max(failed.NextRetryDelay(), time.Millisecond)), nil)
			return s.visit(ctx, in)
		}
		return r.out, r.err
	case <-w.dead:
		s.beating(ctx, time.After(s.beat+flow.FirstRetry), nil)
		return s.visit(ctx, in)
	}
}

// beating waits for one of two channels. The environment ends an activity without heartbeats.
func (s *Server) beating(ctx context.Context, first <-chan time.Time, second <-chan struct{}) (wasFirst bool) {
	ticks := time.NewTicker(s.beat / 3)
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

// Work lets a worker continue sessions until drain ends, as temporal.Run does. If dead ends, the
// server gives its sessions to others after a heartbeat, as if the worker's machine had died. It does
// not stop what the worker does: a test cuts it off from its backend.
func (s *Server) Work(drain, dead context.Context, worker *durable.Worker) {
	w := &openWorker{worker: worker, drain: make(chan struct{}), dead: dead.Done()}
	s.mu.Lock()
	s.workers = append(s.workers, w)
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	select {
	case <-drain.Done():
	case <-dead.Done():
	}
	s.mu.Lock()
	s.workers = slices.DeleteFunc(s.workers, func(other *openWorker) bool { return other == w })
	s.mu.Unlock()
	if dead.Err() == nil {
		close(w.drain)
		w.visits.Wait()
	}
}

// end ends all workflows.
func (s *Server) end() {
	s.mu.Lock()
	s.ended = true
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	s.all.Wait()
}

type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
