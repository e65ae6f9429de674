package flow

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

// A step is one visit of a test: what the workflow asked for, and what it is told.
type step struct {
	queue string // "" is the queue of any worker
	moved bool
	out   Report
	err   error
	woken bool // the session is woken during the visit
}

// The workflow ends when a visit leaves nothing to do, and follows a session to its place.
func TestWorkflow(t *testing.T) {
	gone := sdk.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	for name, steps := range map[string][]step{
		"idle":              {{out: Report{Outcome: durable.Idle}}},
		"waiting":           {{out: Report{Outcome: durable.Waiting}}},
		"yielded":           {{err: errYielded}, {out: Report{Outcome: durable.Idle}}},
		"woken meanwhile":   {{out: Report{Outcome: durable.Idle}, woken: true}, {out: Report{Outcome: durable.Idle}}},
		"elsewhere":         {{out: Report{Outcome: durable.Elsewhere, Place: "here"}}, {queue: "q@here", out: Report{Outcome: durable.Idle}}},
		"place moved again": {{out: Report{Outcome: durable.Elsewhere, Place: "a"}}, {queue: "q@a", out: Report{Outcome: durable.Elsewhere, Place: "b"}}, {out: Report{Outcome: durable.Elsewhere, Place: "b"}}, {queue: "q@b", out: Report{Outcome: durable.Idle}}},
		"place gone":        {{out: Report{Outcome: durable.Elsewhere, Place: "here"}}, {queue: "q@here", err: gone}, {moved: true, out: Report{Outcome: durable.Idle}}},
	} {
		t.Run(name, func(t *testing.T) {
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
			env.RegisterWorkflowWithOptions(WakeUp, workflow.RegisterOptions{Name: WorkflowName})
			work := func(context.Context, Wake) (Report, error) { return Report{}, nil }
			env.RegisterActivityWithOptions(work, activity.RegisterOptions{Name: ActivityName})
			n := 0
			env.OnActivity(ActivityName, mock.Anything, mock.Anything).Return(func(ctx context.Context, in Wake) (Report, error) {
				if n == len(steps) {
					t.Fatal("another visit")
				}
				s := steps[n]
				n++
				if s.queue == "" {
					s.queue = "q"
				}
				if queue := activity.GetInfo(ctx).TaskQueue; queue != s.queue || in.Moved != s.moved || in.Session != "s" {
					t.Errorf("visit %d: queue %s, %+v", n, queue, in)
				}
				if s.woken {
					env.SignalWorkflow(WakeSignal, nil)
				}
				return s.out, s.err
			})
			env.ExecuteWorkflow(WorkflowName, Wake{Session: "s", Queue: "q", Heartbeat: time.Second})
			if err := env.GetWorkflowError(); err != nil || !env.IsWorkflowCompleted() || n != len(steps) {
				t.Errorf("%d visits of %d, %v", n, len(steps), err)
			}
		})
	}
}

// A worker that has to leave a session gives it to another one by an error that is tried again:
// a result would wait for the worker that ends.
func TestYield(t *testing.T) {
	db := &durabletest.Memory{}
	busy, err := db.Connect().Store("", nil).Open(t.Context(), "s", session.Header{})
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	w := &durable.Worker{Backend: db.Connect(), Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
		return durable.Hosted{Agent: &agent.Agent{Model: llmtest.Script()}}, nil
	}}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	drain := make(chan struct{})
	close(drain)
	env.SetWorkerStopChannel(drain)
	work := func(ctx context.Context, in Wake) (Report, error) {
		return Visit(ctx, w, in, activity.GetWorkerStopChannel(ctx))
	}
	env.RegisterActivityWithOptions(work, activity.RegisterOptions{Name: ActivityName})
	_, err = env.ExecuteActivity(ActivityName, Wake{Session: "s", Queue: "q", Heartbeat: time.Second})
	var application *sdk.ApplicationError
	if !errors.As(err, &application) || application.NonRetryable() || application.NextRetryDelay() != yieldPause {
		t.Errorf("a worker that ends returns %v", err)
	}
}

// Workers that die again and again do not slow a session down, and errors do.
func TestRetries(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflowWithOptions(WakeUp, workflow.RegisterOptions{Name: WorkflowName})
	work := func(context.Context, Wake) (Report, error) { return Report{}, nil }
	env.RegisterActivityWithOptions(work, activity.RegisterOptions{Name: ActivityName})
	n := 0
	var began, dead time.Time
	env.OnActivity(ActivityName, mock.Anything, mock.Anything).Return(func(ctx context.Context, _ Wake) (Report, error) {
		n++
		switch {
		case n == 1:
			began = env.Now()
		case n == 9:
			dead = env.Now()
		}
		if n <= 9 {
			return Report{}, errors.New("as of a worker that dies")
		}
		return Report{Outcome: durable.Idle}, nil
	})
	env.ExecuteWorkflow(WorkflowName, Wake{Session: "s", Queue: "q", Heartbeat: time.Second})
	if err := env.GetWorkflowError(); err != nil || n != 10 || dead.Sub(began) > 9*FirstRetry {
		t.Errorf("%d visits, %v, 9 deaths delayed the session by %v", n, err, dead.Sub(began))
	}
	for attempt, want := range map[int32]time.Duration{1: FirstRetry, 3: 4 * FirstRetry, 100: longestRetry} {
		if got := retryPause(attempt); got != want {
			t.Errorf("the pause after attempt %d is %v", attempt, got)
		}
	}
}

// The error of a worker is tried again, later each time.
func TestFailedVisit(t *testing.T) {
	w := &durable.Worker{Backend: (&durabletest.Memory{}).Connect(), Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
		return durable.Hosted{}, errors.New("no disk")
	}}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	work := func(ctx context.Context, in Wake) (Report, error) {
		return Visit(ctx, w, in, activity.GetWorkerStopChannel(ctx))
	}
	env.RegisterActivityWithOptions(work, activity.RegisterOptions{Name: ActivityName})
	_, err := env.ExecuteActivity(ActivityName, Wake{Session: "s", Queue: "q", Heartbeat: time.Second})
	var application *sdk.ApplicationError
	if !errors.As(err, &application) || application.NonRetryable() || application.NextRetryDelay() != FirstRetry || !strings.Contains(err.Error(), "no disk") {
		t.Errorf("a worker that fails returns %v", err)
	}
}
