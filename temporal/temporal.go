// Package temporal lets Temporal wake the workers of package durable.
//
//	err = temporal.Run(ctx, client, "agents", worker, temporal.Options{})                       // a worker
//	c := &durable.Client{Backend: db, Engine: temporal.Engine{Client: client, Queue: "agents"}} // any process
//
// A workflow is one wake-up of a session: one activity looks after the session, once more if
// it was woken meanwhile, and the workflow ends. So its history has a dozen events however
// long the conversation is, nothing of the conversation is in it, and its code can change
// between two wake-ups. Cancelling the workflow interrupts the run.
package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/session"
)

// An Engine wakes the workers of a task queue. It is a [durable.Engine].
type Engine struct {
	Client client.Client // required
	Queue  string        // name of the task queue; required
	// Heartbeat is how long a worker may be silent until its sessions are given to others.
	// 0: 10 s. Set it to the lease of the backend.
	Heartbeat time.Duration
}

var _ durable.Engine = Engine{}

// wake is the input of a workflow and of its activity.
type wake struct {
	Session   string        `json:"session"`
	Queue     string        `json:"queue"`
	Heartbeat time.Duration `json:"heartbeat"`
	Moved     bool          `json:"moved,omitempty"` // the place of the session has no worker
}

// A report is the result of an activity.
type report struct {
	Outcome durable.Outcome `json:"outcome"`
	Place   string          `json:"place,omitempty"` // with Elsewhere
}

// Names in Temporal. Those who run workflows of other programs can see them.
const (
	workflowName = "openagent.session"
	activityName = "openagent.work"
	wakeSignal   = "wake"
	workflowID   = "openagent/" // and the queue, a slash and the session
)

// Wake implements [durable.Engine].
func (e Engine) Wake(ctx context.Context, sessionID string) error {
	in := wake{Session: sessionID, Queue: e.Queue, Heartbeat: cmp.Or(e.Heartbeat, 10*time.Second)}
	_, err := e.Client.SignalWithStartWorkflow(ctx, workflowID+e.Queue+"/"+sessionID, wakeSignal, nil,
		client.StartWorkflowOptions{TaskQueue: e.Queue, WorkflowTaskTimeout: stepTime}, workflowName, in)
	return err
}

// The limits of an activity. It is given to another worker after a missed heartbeat, so the
// whole time hardly matters. The pause after that does not grow: a session that has work for days
// loses many workers. Errors of workers say themselves when it is tried again.
const (
	longestVisit = 7 * 24 * time.Hour
	firstRetry   = 100 * time.Millisecond
	longestRetry = 30 * time.Second
	badAgent     = "agent" // type of an error that no retry removes
)

// wakeUp is the workflow.
func wakeUp(ctx workflow.Context, in wake) error {
	woken := workflow.GetSignalChannel(ctx, wakeSignal)
	options := workflow.ActivityOptions{
		TaskQueue: in.Queue, HeartbeatTimeout: in.Heartbeat, StartToCloseTimeout: longestVisit, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: firstRetry, BackoffCoefficient: 1, NonRetryableErrorTypes: []string{badAgent}},
	}
	anywhere := workflow.WithActivityOptions(ctx, options)
	for {
		for woken.ReceiveAsync(nil) { // a worker that looks from now on finds what was posted before
		}
		var out report
		err := workflow.ExecuteActivity(anywhere, activityName, in).Get(ctx, &out)
		if err == nil && out.Outcome == durable.Elsewhere {
			options := options
			options.TaskQueue = placeQueue(in.Queue, out.Place)
			options.ScheduleToStartTimeout = 3 * in.Heartbeat
			err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), activityName, in).Get(ctx, &out)
			if unreachable(err) {
				moved := in
				moved.Moved = true
				err = workflow.ExecuteActivity(anywhere, activityName, moved).Get(ctx, &out)
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

// placeQueue returns the task queue of the workers at a place.
func placeQueue(queue, place string) string { return queue + "@" + place }

// unreachable reports whether no worker took an activity, or the one that did has died and
// none came back in time.
func unreachable(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout) && (timeout.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START || timeout.TimeoutType() == enums.TIMEOUT_TYPE_HEARTBEAT)
}

// Options of [Run]. The zero value has the defaults.
type Options struct {
	// Worker are options of the Temporal workers. WorkerStopTimeout is set by Run, and the
	// default of StickyScheduleToStartTimeout is half a second: a workflow has a dozen events, so
	// that it costs less to read them again than to wait for a worker that may have died.
	Worker worker.Options
}

// Run lets a worker continue the sessions of a task queue until ctx ends. Then it gives them
// back, which takes up to the worker's Grace. A worker with a Place works for the sessions at
// that place too. Engines must use the same queue.
func Run(ctx context.Context, c client.Client, queue string, w *durable.Worker, o Options) error {
	o.Worker.WorkerStopTimeout = cmp.Or(w.Grace, 30*time.Second) + 10*time.Second
	o.Worker.StickyScheduleToStartTimeout = cmp.Or(o.Worker.StickyScheduleToStartTimeout, stickyTime)
	queues := []string{queue}
	if w.Place != "" {
		queues = append(queues, placeQueue(queue, w.Place))
	}
	work := func(ctx context.Context, in wake) (report, error) {
		return visit(ctx, w, in, activity.GetWorkerStopChannel(ctx))
	}
	var started []worker.Worker
	for _, q := range queues {
		one := worker.New(c, q, o.Worker)
		one.RegisterWorkflowWithOptions(wakeUp, workflow.RegisterOptions{Name: workflowName})
		one.RegisterActivityWithOptions(work, activity.RegisterOptions{Name: activityName})
		if err := one.Start(); err != nil {
			stopAll(started)
			return fmt.Errorf("temporal: starting a worker for task queue %s: %w", q, err)
		}
		started = append(started, one)
	}
	sweeping, stop := context.WithCancel(ctx)
	defer stop()
	var background sync.WaitGroup
	background.Go(func() { sweep(sweeping, c, queue, w) })
	<-ctx.Done()
	stopAll(started)
	background.Wait()
	return nil
}

// stepTime is how long a step of a workflow may take. It takes a millisecond, unless it was given to
// a worker that ends, which loses it.
const stepTime = 2 * time.Second

// stickyTime is how long the next step of a workflow waits for the worker that had the last one.
const stickyTime = 500 * time.Millisecond

func stopAll(all []worker.Worker) {
	var stopping sync.WaitGroup
	for _, w := range all {
		stopping.Go(w.Stop)
	}
	stopping.Wait()
}

// sweepEvery is how often a worker looks for commands that nobody was woken for.
const sweepEvery = 30 * time.Second

func sweep(ctx context.Context, c client.Client, queue string, w *durable.Worker) {
	client := &durable.Client{Backend: w.Backend, Engine: Engine{Client: c, Queue: queue}}
	ticks := time.NewTicker(sweepEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if err := client.Sweep(ctx); err != nil && w.Log != nil && ctx.Err() == nil {
			w.Log.Warn("looking for forgotten commands failed; it is tried again", "error", err)
		}
	}
}

// errYielded is the error of a visit whose worker had to leave. The server then gives the activity
// to another worker at once. A result would first go to the workflow, whose next step waits for
// the worker that had the last one, which is the one that ends.
var errYielded = temporal.NewApplicationErrorWithOptions("the worker had to leave the session; another one continues", "yielded",
	temporal.ApplicationErrorOptions{NextRetryDelay: yieldPause})

// yieldPause is the pause before another worker gets the session.
const yieldPause = 10 * time.Millisecond

// visit is the activity. drain is closed when the worker is to end.
func visit(ctx context.Context, w *durable.Worker, in wake, drain <-chan struct{}) (report, error) {
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
		return report{}, temporal.NewNonRetryableApplicationError(err.Error(), badAgent, err)
	}
	if err == nil && out == durable.Yielded {
		return report{}, errYielded
	}
	if err == nil && out != durable.Elsewhere {
		return report{Outcome: out}, nil
	}
	var place string
	if err == nil {
		place, err = w.Backend.Place(context.WithoutCancel(ctx), in.Session)
	}
	if err != nil {
		return report{}, temporal.NewApplicationErrorWithOptions(err.Error(), "worker",
			temporal.ApplicationErrorOptions{NextRetryDelay: retryPause(activity.GetInfo(ctx).Attempt)})
	}
	return report{Outcome: out, Place: place}, nil
}

// retryPause returns the pause after an attempt that has failed.
func retryPause(attempt int32) time.Duration {
	return min(firstRetry<<min(attempt-1, 20), longestRetry)
}
