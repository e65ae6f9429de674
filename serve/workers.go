package serve

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// This file is about a server whose sessions are run by workers elsewhere, see [Server].Workers. What
// users say to a session is a command for a worker, and the server never opens a session itself.

// errWorkers means that the server cannot do something with a session that workers run.
var errWorkers = &Error{http.StatusConflict, "workers", "workers run the sessions of this server, and this needs one that runs them itself", "start a server without workers for it, on a store of its own"}

// errFrontEnds is the answer of the protocols of chat programs.
var errFrontEnds = &Error{http.StatusConflict, "workers", "chat front ends do not work with a server whose sessions are run by workers", "use the API under /v1 or the pages, or start a server without workers for the chat front ends"}

// errFarFiles is the error of a rewind of files.
var errFarFiles = &Error{http.StatusConflict, "no_checkpoints", "workers run the sessions of this server, and the checkpoints of files are on their machines", "rewind the conversation alone; bring the files back on the machine of the worker with openagent sessions rewind"}

// mayRewind returns an error if a run is at work, or waits for a person: its facts would come after the rewind.
func (l *live) mayRewind(ctx context.Context) error {
	info, err := session.Stat(ctx, l.store, l.at.id)
	if err == nil && (info.State == session.StateRunning || info.State == session.StateWaiting) {
		err = session.ErrBusy
	}
	return err
}

// takeWorkerRun refuses a run of a user who has too many at work, on whichever machine. free is called
// when the run is on record, and counts there.
func (l *live) takeWorkerRun(ctx context.Context) (free func(), err error) {
	s, user := l.server, l.at.user
	limit := s.runLimit()
	if limit == math.MaxInt {
		return func() {}, nil
	}
	running, err := session.Query{State: session.StateRunning, Limit: limit}.List(ctx, l.store)
	if err != nil {
		return nil, err
	}
	s.usage.mu.Lock()
	defer s.usage.mu.Unlock()
	if !takeOne(&s.usage.runs, user, limit-len(running)) {
		return nil, errRunsFull()
	}
	return func() { s.freeRun(user) }, nil
}

// How long a request waits for a worker. After that the command stays in the inbox of its session.
const (
	takeLimit  = 10 * time.Second
	takeEvery  = 50 * time.Millisecond // at first
	takeSlowly = time.Second           // later: each look reads an inbox, which may be large
)

// worker returns the name of the worker that has a session open, "" if the store knows none.
func worker(ctx context.Context, store session.Store, id string) (string, error) {
	if knows, ok := store.(interface {
		Worker(ctx context.Context, id string) (string, error)
	}); ok {
		return knows.Worker(ctx, id)
	}
	return "", nil
}

// checkWorkers refuses the protocols that know the runs of this process only.
func (s *Server) checkWorkers(at route) error {
	if s.Workers != nil && slices.ContainsFunc(adapterRoutes, func(a route) bool { return a.pattern() == at.pattern() }) {
		return errFrontEnds
	}
	return nil
}

// post keeps a command for a worker.
func (l *live) post(ctx context.Context, id string, c durable.Command) (string, error) {
	there, err := l.visible(ctx)
	if err == nil && !there {
		err = l.own(ctx, id)
	}
	if err != nil {
		return "", err
	}
	id, err = l.server.Workers.Send(ctx, l.at.id, id, c)
	if errors.Is(err, durable.ErrFull) {
		err = tooMany("commands", takeLimit, "too many messages for the session wait for a worker", "wait until a worker has taken some")
	}
	return id, err
}

// own refuses a session that no worker has made yet, if another user has begun one of its name.
func (l *live) own(ctx context.Context, id string) error {
	s := l.server
	if s.User == nil {
		return nil
	}
	inbox, err := s.Workers.Backend.Inbox(ctx, l.at.id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	user, begun := s.begun[l.at.id]
	mine := len(inbox) == 0 || slices.ContainsFunc(inbox, func(m durable.Mail) bool { return m.ID == id }) // else begun before a restart of the server
	switch {
	case begun && user != l.at.user, !begun && !mine:
		return session.ErrExists
	case s.begun == nil:
		s.begun = map[string]string{}
	}
	s.begun[l.at.id] = l.at.user
	return nil
}

// disown forgets who has begun a session, because a worker has made it.
func (l *live) disown() {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	delete(l.server.begun, l.at.id)
}

// command sends a command, and waits until a worker has carried it out.
func (l *live) command(ctx context.Context, c durable.Command) error {
	id, err := l.post(ctx, "", c)
	if err != nil {
		return err
	}
	return l.taken(ctx, func(ctx context.Context) (bool, error) { return l.server.Workers.Settled(ctx, l.at.id, id) })
}

// taken waits until a command has been taken, for a while. Then the error is errWaiting.
func (l *live) taken(ctx context.Context, look func(ctx context.Context) (bool, error)) error {
	limited, stop := context.WithTimeout(ctx, takeLimit)
	defer stop()
	for pause := takeEvery; ; pause = min(2*pause, takeSlowly) {
		done, err := look(limited)
		switch {
		case errors.Is(err, durable.ErrRejected):
			return &Error{http.StatusConflict, "rejected", err.Error(), "look at the session"}
		case ctx.Err() != nil:
			return ctx.Err()
		case limited.Err() != nil:
			return errWaiting
		case done || err != nil:
			return err
		}
		select {
		case <-time.After(pause):
		case <-limited.Done():
		}
	}
}

// say sends a message with an ID to a session, and waits until it is on record. known: it was before.
func (l *live) say(ctx context.Context, id string, c durable.Command) (known bool, err error) {
	recorded := func(ctx context.Context) (bool, error) {
		last, err := session.Last(ctx, l.store, l.at.id, 10, func(typ string) bool { return typ == event.Type(event.UserMessage{}) })
		if errors.Is(err, session.ErrNotFound) {
			return false, nil // a worker makes the session
		}
		return slices.ContainsFunc(last, func(e event.Event) bool { return e.Data.(event.UserMessage).ID == id }), err
	}
	if known, err := recorded(ctx); known || err != nil {
		return known, err
	}
	if _, err := l.post(ctx, id, c); err != nil {
		return false, err
	}
	l.server.counts.runs.Add(1)
	return false, l.taken(ctx, func(ctx context.Context) (bool, error) {
		if done, err := recorded(ctx); done || err != nil {
			if done {
				l.disown()
			}
			return done, err
		}
		return l.server.Workers.Settled(ctx, l.at.id, id) // a message that was settled is on record
	})
}

// promptWorker lets a worker start a run for an input. known: the session has had it before.
func (l *live) promptWorker(ctx context.Context, dir string, in agent.Input) (known bool, err error) {
	if dir != "" {
		return false, &Error{http.StatusForbidden, "other_folder", "workers choose the folder of a session", "leave dir out"}
	}
	if info, err := session.Stat(ctx, l.store, l.at.id); err == nil && info.State == session.StateRunning {
		last, err := session.Last(ctx, l.store, l.at.id, 10, func(typ string) bool { return typ == event.Type(event.UserMessage{}) })
		if err != nil || slices.ContainsFunc(last, func(e event.Event) bool { return e.Data.(event.UserMessage).ID == in.ID }) {
			return err == nil, err
		}
		return false, session.ErrBusy
	}
	free, err := l.takeWorkerRun(ctx)
	if err != nil {
		return false, err
	}
	defer free()
	return l.say(ctx, in.ID, durable.Prompt{Text: in.Text, Blocks: in.Blocks, Model: in.Model, Mode: in.Mode, Budget: in.Budget, Output: in.Output, Tools: in.Tools})
}

// steerWorker sends a message to the run that is at work.
func (l *live) steerWorker(ctx context.Context, delivery string, in agent.Input) error {
	if err := l.mustRun(ctx); err != nil {
		return err
	}
	var c durable.Command = durable.Message{Text: in.Text, Blocks: in.Blocks}
	if delivery == "follow_up" {
		c = durable.FollowUp{Text: in.Text, Blocks: in.Blocks}
	}
	_, err := l.say(ctx, in.ID, c)
	return err
}

// mustRun returns an error if no run is at work, or waits for a person.
func (l *live) mustRun(ctx context.Context) error {
	info, err := session.Stat(ctx, l.store, l.at.id)
	if err == nil && info.State == session.StateIdle {
		err = agent.ErrNotRunning
	}
	return err
}

// interruptWorker stops the run.
func (l *live) interruptWorker(ctx context.Context) error {
	if err := l.mustRun(ctx); err != nil {
		return err
	}
	return l.command(ctx, durable.Interrupt{})
}

// settleWorker answers a question. The first answer counts.
func (s *Server) settleWorker(c *call, what string, answer durable.Command) (any, error) {
	l, call := s.live(c.place()), c.r.PathValue("call")
	defer l.leave()
	waiting, err := session.Waiting(c.ctx(), l.store, l.at.id)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(waiting, func(q session.Question) bool { return q.Call == call }) {
		return nil, agent.ErrNoQuestion
	}
	if err := l.command(c.ctx(), answer); err != nil {
		return nil, err
	}
	s.log().Info("question answered", "session", l.at.id, "call", call, "answer", what, "by", c.by)
	if s.Answered != nil {
		s.Answered(call, what, c.by)
	}
	return done{OK: true}, nil
}

// changeWorker changes the mode and the budget of a session.
func (l *live) changeWorker(ctx context.Context, mode *string, usd *float64) error {
	if mode == nil && usd == nil {
		return nil
	}
	if _, err := session.Stat(ctx, l.store, l.at.id); err != nil {
		return err
	}
	return each(func() error {
		if mode == nil {
			return nil
		}
		return l.command(ctx, durable.SetMode{Mode: permission.Mode(*mode)})
	}, func() error {
		if usd == nil {
			return nil
		}
		return l.command(ctx, durable.SetBudget{Budget: agent.Budget{USD: *usd}, USDOnly: true})
	})
}
