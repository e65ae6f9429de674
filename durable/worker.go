package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A Worker continues sessions on this machine, as an [Engine] gives them to it. Backend and
// Agent are required. Its fields must not change once it works.
type Worker struct {
	Backend Backend
	// Name of the worker, for people who look at the database. "": that of the machine.
	Name string
	// Place names what sessions are bound to, usually the machine's disk. It must be the same
	// after a restart. "": no session is bound to this worker.
	Place string
	// Agent returns the agent of a session. It is called each time when the worker takes the
	// session, and the fields Sessions, CanUseTool, AskUser and AwaitAgents of the agent are set
	// by the worker: a run waits for its background agents. The CanUseTool that it has is asked first. An AskUser that it has is asked in
	// place of the worker's. Set [agent.Agent].Program, so that permission
	// mode and rules stay with the session.
	Agent func(ctx context.Context, at Where) (Hosted, error)
	// Linger is how long a run waits for a person on this worker. After that it is suspended,
	// and needs no process. 0: one minute; negative: no time.
	Linger time.Duration
	// Grace is how long calls may take that are under way when the worker is to end.
	// 0: 30 s.
	Grace time.Duration
	// Keep is how long a session that is bound to this worker stays open after a run, for its
	// background commands and its shell. 0: 5 minutes; negative: no time.
	Keep time.Duration
	// Log gets what the worker does at level Debug, and rejected commands and failures at
	// Warn. Nil: no logs.
	Log *slog.Logger
}

// A Where says where a session is to be continued.
type Where struct {
	Session string // its id
	// Lost is the place that the session was bound to, if that has no worker any more. Bring
	// what you can from there, and tell the model with [Hosted].Note what is gone. "": none.
	Lost string
}

// A Hosted is the agent of a session on a worker.
type Hosted struct {
	Agent *agent.Agent // required
	// Bound: the agent works on something that only this worker's Place has, such as files and
	// a shell. The session then continues there as long as that place has a worker.
	Bound bool
	// Note is for the model, once: for example that its files are gone. "": none.
	Note string
	// Close is called when the worker has left the session. Nil: nothing is to be done.
	Close func()
}

// errBound is the error of a worker that cannot bind a session.
var errBound = errors.New("durable: the agent is Bound, but the worker has no Place; set Worker.Place")

// Work continues a session until there is nothing left to do. Engines call it. The end of
// ctx means that the engine takes the session away, see [Wake]. An error is one of this worker or
// of the backend: the engine tries again later. How a run ended is on record.
func (w *Worker) Work(ctx context.Context, sessionID string, wake Wake) (Outcome, error) {
	out, err := w.work(ctx, sessionID, wake)
	if err != nil {
		w.log().Warn("working on a session failed", "session", sessionID, "error", err)
		return "", fmt.Errorf("durable: session %s: %w", sessionID, err)
	}
	w.log().Debug("left a session", "session", sessionID, "outcome", string(out))
	return out, nil
}

func (w *Worker) work(ctx context.Context, sessionID string, wake Wake) (Outcome, error) {
	place, err := w.placeOf(ctx, sessionID)
	if err != nil {
		return "", err
	}
	at := Where{Session: sessionID}
	if place != "" && place != w.Place {
		if !wake.Moved {
			return Elsewhere, nil
		}
		at.Lost = place
	}
	hosted, err := w.Agent(ctx, at)
	if err != nil {
		return "", err
	}
	if hosted.Close != nil {
		defer hosted.Close()
	}
	if hosted.Bound && w.Place == "" {
		return "", errBound
	}
	pass := &visit{worker: w, wake: wake, id: sessionID, taken: ctx.Done(), lost: make(chan struct{}), bound: hosted.Bound, mode: hosted.Agent.Permissions.Mode}
	pass.session = w.session(sessionID, &hosted, func() { pass.once.Do(func() { close(pass.lost) }) })
	defer pass.session.Close()
	if err := pass.open(ctx); err != nil {
		return outcomeOf(err)
	}
	if hosted.Bound && place != w.Place { // the worker that has the session says where it is
		if err := w.Backend.SetPlace(ctx, sessionID, w.Place); err != nil {
			return "", err
		}
	}
	if err := pass.narrow(context.WithoutCancel(ctx)); err != nil {
		return outcomeOf(err)
	}
	if err := pass.applyKept(context.WithoutCancel(ctx)); err != nil {
		return outcomeOf(err)
	}
	publish := w.publisher(sessionID)
	defer publish.close()
	pass.publish = publish.add
	posted, forget := w.Backend.Notify(sessionID)
	defer forget()
	pass.posted = posted
	done, leaving := make(chan struct{}), sync.WaitGroup{}
	leaving.Go(func() { pass.leaveWhenAsked(ctx, done) })
	defer leaving.Wait()
	defer close(done)
	out, err := pass.all(context.WithoutCancel(ctx)) // the end of ctx is no interrupt
	if err != nil {
		return outcomeOf(err)
	}
	return out, nil
}

// maxForks is how many sessions back a fork looks for its place.
const maxForks = 100

// placeOf returns the place that a session is bound to. A fork begins with that of the session it was
// made from: it needs the same files.
func (w *Worker) placeOf(ctx context.Context, id string) (place string, err error) {
	if place, err = w.Backend.Place(ctx, id); err != nil || place != "" || w.Place == "" {
		return place, err
	}
	store, from := w.Backend.Store("", nil), id
	for range maxForks {
		info, err := session.Stat(ctx, store, from)
		if errors.Is(err, session.ErrNotFound) || err == nil && info.Parent == nil {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		from = info.Parent.Session
		if place, err = w.Backend.Place(ctx, from); err != nil {
			return "", err
		}
		if place != "" { // on record, for the engine
			return place, w.Backend.SetPlace(ctx, id, place)
		}
	}
	return "", nil
}

// outcomeOf returns the outcome for an error that means that the session is somebody
// else's now.
func outcomeOf(err error) (Outcome, error) {
	if errors.Is(err, session.ErrLost) || errors.Is(err, agent.ErrDetached) || errors.Is(err, errDrained) {
		return Yielded, nil
	}
	return "", err
}

// session returns the session with the worker's store and questions.
func (w *Worker) session(id string, hosted *Hosted, lost func()) *agent.Session {
	given := hosted.Agent
	own := *given
	own.Sessions = w.Backend.Store(w.name(), lost)
	own.CanUseTool = w.askWhile(given.CanUseTool)
	own.Hooks = hooksOnce(given.Hooks)
	own.AwaitAgents = true // the session is closed after the run, and they would be interrupted
	if own.AskUser == nil {
		own.AskUser = func(ctx context.Context, _ tool.Call, _ []tool.Question) ([]tool.Answer, error) {
			if err := w.linger(ctx); err != nil {
				return nil, err
			}
			return nil, agent.ErrSuspended
		}
	}
	if hosted.Note != "" {
		note := agent.Input{ID: "place: " + hosted.Note, Text: hosted.Note}
		own.Inbox = func(ctx context.Context, session string, keep func([]agent.Input) error) error {
			if given.Inbox != nil {
				if err := given.Inbox(ctx, session, keep); err != nil {
					return err
				}
			}
			return keep([]agent.Input{note}) // a known one is not kept again
		}
	}
	return own.Session(id)
}

// askWhile returns a callback that asks the agent's own one, and then waits for a decision
// that comes as a command. After Linger the run is suspended.
func (w *Worker) askWhile(own agent.CanUseToolFunc) agent.CanUseToolFunc {
	return func(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
		if own != nil {
			if d, err := own(ctx, call, verdict); err != nil || d.Behavior != permission.NoOpinion {
				return d, err
			}
		}
		if verdict.Behavior != permission.Asked {
			return permission.Decision{}, nil
		}
		if err := w.linger(ctx); err != nil {
			return permission.Decision{}, err
		}
		return permission.Defer(), nil
	}
}

// linger waits as long as a run may wait for a person on this worker. It fails when ctx ends:
// somebody has answered, or the run ends.
func (w *Worker) linger(ctx context.Context) error {
	timer := time.NewTimer(max(orDefault(w.Linger, time.Minute), 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// orDefault returns d, or the default if d is 0.
func orDefault(d, byDefault time.Duration) time.Duration { return cmp.Or(d, byDefault) }

func (w *Worker) name() string { return cmp.Or(w.Name, hostname()) }

func (w *Worker) log() *slog.Logger {
	if w.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return w.Log
}
