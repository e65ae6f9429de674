package temporal

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/openagent-go/agent/durable"
)

// A step is one visit of a test: what the workflow asked for, and what it is told.
type step struct {
	queue string // "" is the queue of any worker
	moved bool
	out   report
	err   error
	woken bool // the session is woken during the visit
}

// The workflow ends when a visit leaves nothing to do, and follows a session to its place.
func TestWorkflow(t *testing.T) {
	gone := sdk.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	for name, steps := range map[string][]step{
		"idle":              {{out: report{Outcome: durable.Idle}}},
		"waiting":           {{out: report{Outcome: durable.Waiting}}},
		"yielded":           {{out: report{Outcome: durable.Yielded}}, {out: report{Outcome: durable.Idle}}},
		"woken meanwhile":   {{out: report{Outcome: durable.Idle}, woken: true}, {out: report{Outcome: durable.Idle}}},
		"elsewhere":         {{out: report{Outcome: durable.Elsewhere, Place: "here"}}, {queue: "q@here", out: report{Outcome: durable.Idle}}},
		"place moved again": {{out: report{Outcome: durable.Elsewhere, Place: "a"}}, {queue: "q@a", out: report{Outcome: durable.Elsewhere, Place: "b"}}, {out: report{Outcome: durable.Elsewhere, Place: "b"}}, {queue: "q@b", out: report{Outcome: durable.Idle}}},
		"place gone":        {{out: report{Outcome: durable.Elsewhere, Place: "here"}}, {queue: "q@here", err: gone}, {moved: true, out: report{Outcome: durable.Idle}}},
	} {
		t.Run(name, func(t *testing.T) {
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
			env.RegisterWorkflowWithOptions(wakeUp, workflow.RegisterOptions{Name: workflowName})
			work := func(context.Context, wake) (report, error) { return report{}, nil }
			env.RegisterActivityWithOptions(work, activity.RegisterOptions{Name: activityName})
			n := 0
			env.OnActivity(activityName, mock.Anything, mock.Anything).Return(func(ctx context.Context, in wake) (report, error) {
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
					env.SignalWorkflow(wakeSignal, nil)
				}
				return s.out, s.err
			})
			env.ExecuteWorkflow(workflowName, wake{Session: "s", Queue: "q", Heartbeat: time.Second})
			if err := env.GetWorkflowError(); err != nil || !env.IsWorkflowCompleted() || n != len(steps) {
				t.Errorf("%d visits of %d, %v", n, len(steps), err)
			}
		})
	}
}
