// Package flow holds the workflow and the activity of package temporal.
package flow

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/session"
)

// A Wake is the input of a workflow and of its activity.
type Wake struct {
	Session   string        `json:"session"`
	Queue     string        `json:"queue"`
	Heartbeat time.Duration `json:"heartbeat"`
	Moved     bool          `json:"moved,omitempty"` // the place of the session has no worker
}

// A Report is the result of an activity.
type Report struct {
	Outcome durable.Outcome `json:"outcome"`
	Place   string          `json:"place,omitempty"` // with Elsewhere
}

// Names in Temporal. Those who run workflows of other programs can see them.
const (
	WorkflowName = "openagent.session"
	ActivityName = "openagent.work"
	WakeSignal   = "wake"       // there is something to do
	WorkflowID   = "openagent/" // and the queue, a slash and the session
)

// The limits of an activity. It is given to another worker after a missed heartbeat, so the
// whole time hardly matters. The pause after that does not grow: a session that has work for days
// loses many workers. Errors of workers say themselves when it is tried again.
const (
	longestVisit = 7 * 24 * time.Hour
	FirstRetry   = 100 * time.Millisecond // the pause before an activity is tried again
	longestRetry = 30 * time.Second
	badAgent     = "agent" // type of an error that no retry removes
)

// WakeUp is the workflow.
func WakeUp(ctx workflow.Context, in Wake) error {
	woken := workflow.GetSignalChannel(ctx, WakeSignal)
	options := workflow.ActivityOptions{
		TaskQueue: in.Queue, HeartbeatTimeout: in.Heartbeat, StartToCloseTimeout: longestVisit, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: FirstRetry, BackoffCoefficient: 1, NonRetryableErrorTypes: []string{badAgent}},
	}
	anywhere := workflow.WithActivityOptions(ctx, options)
	for {
		for woken.ReceiveAsync(nil) { // a worker that looks from now on finds what was posted before
		}
		var out Report
		err := workflow.ExecuteActivity(anywhere, ActivityName, in).Get(ctx, &out)
		if err == nil && out.Outcome == durable.Elsewhere {
			options := options
			options.TaskQueue = PlaceQueue(in.Queue, out.Place)
			options.ScheduleToStartTimeout = 3 * in.Heartbeat
			err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), ActivityName, in).Get(ctx, &out)
			if unreachable(err) {
				moved := in
				moved.Moved = true
				err = workflow.ExecuteActivity(anywhere, ActivityName, moved).Get(ctx, &out)
			}
		}
		if err != nil {
			return err
		}
		if out.Outcome != durable.Elsewhere && woken.Len() == 0 {
			return nil
		}
	}
}

// PlaceQueue returns the task queue of the workers at a place.
func PlaceQueue(queue, place string) string { return queue + "@" + place }

// unreachable reports whether no worker took an activity, or the one that did has died and
// none came back in time.
func unreachable(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout) && (timeout.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START || timeout.TimeoutType() == enums.TIMEOUT_TYPE_HEARTBEAT)
}

// errYielded is the error of a visit whose worker had to leave. The server then gives the activity
// to another worker at once. A result would first go to the workflow, whose next step waits for
// the worker that had the last one, which is the one that ends.
var errYielded = temporal.NewApplicationErrorWithOptions("the worker had to leave the session; another one continues", "yielded",
	temporal.ApplicationErrorOptions{NextRetryDelay: yieldPause})

// yieldPause is the pause before another worker gets the session.
const yieldPause = 10 * time.Millisecond

// Visit is the activity. drain is closed when the worker is to end.
func Visit(ctx context.Context, w *durable.Worker, in Wake, drain <-chan struct{}) (Report, error) {
	beating, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // a tool may take long, and so may a person
		ticks := time.NewTicker(in.Heartbeat / 3)
		defer ticks.Stop()
		for {
			select {
			case <-beating.Done():
				return
			case <-ticks.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	out, err := w.Work(ctx, in.Session, durable.Wake{
		Drain: drain, Moved: in.Moved,
		Cancelled: func(ctx context.Context) bool { return temporal.IsCanceledError(context.Cause(ctx)) },
	})
	if errors.Is(err, agent.ErrConfig) || errors.Is(err, session.ErrCorrupt) {
		return Report{}, temporal.NewNonRetryableApplicationError(err.Error(), badAgent, err)
	}
	if err == nil && out == durable.Yielded {
		return Report{}, errYielded
	}
	if err == nil && out != durable.Elsewhere {
		return Report{Outcome: out}, nil
	}
	var place string
	if err == nil {
		place, err = w.Backend.Place(context.WithoutCancel(ctx), in.Session)
	}
	if err != nil {
		return Report{}, temporal.NewApplicationErrorWithOptions(err.Error(), "worker",
			temporal.ApplicationErrorOptions{NextRetryDelay: retryPause(activity.GetInfo(ctx).Attempt)})
	}
	return Report{Outcome: out, Place: place}, nil
}

// retryPause returns the pause after an attempt that has failed.
func retryPause(attempt int32) time.Duration {
	return min(FirstRetry<<min(attempt-1, 20), longestRetry)
}
