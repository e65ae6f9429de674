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
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/temporal/internal/flow"
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

// Wake implements [durable.Engine].
func (e Engine) Wake(ctx context.Context, sessionID string) error {
	in := flow.Wake{Session: sessionID, Queue: e.Queue, Heartbeat: cmp.Or(e.Heartbeat, 10*time.Second)}
	_, err := e.Client.SignalWithStartWorkflow(ctx, flow.WorkflowID+e.Queue+"/"+sessionID, flow.WakeSignal, nil,
		client.StartWorkflowOptions{TaskQueue: e.Queue, WorkflowTaskTimeout: stepTime}, flow.WorkflowName, in)
	return err
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
		queues = append(queues, flow.PlaceQueue(queue, w.Place))
	}
	work := func(ctx context.Context, in flow.Wake) (flow.Report, error) {
		return flow.Visit(ctx, w, in, activity.GetWorkerStopChannel(ctx))
	}
	var started []worker.Worker
	for _, q := range queues {
		one := worker.New(c, q, o.Worker)
		one.RegisterWorkflowWithOptions(flow.WakeUp, workflow.RegisterOptions{Name: flow.WorkflowName})
		one.RegisterActivityWithOptions(work, activity.RegisterOptions{Name: flow.ActivityName})
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
