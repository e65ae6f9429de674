package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// This file is about what users have said to sessions that workers run, and that no worker has taken.

// errWaiting means that a command is kept, and that no worker has taken it within takeLimit. It is the
// answer 202, not a failure.
var errWaiting = &Error{http.StatusAccepted, "waiting", "this is kept, and no worker has taken it yet", "start a worker with openagent worker, or look why yours take no sessions; what you said need not be sent again"}

// waiting is the state of what no worker has taken.
const waiting = "waiting"

// each does several things of which some may wait for a worker. It does not stop at those.
func each(things ...func() error) error {
	var waits error
	for _, do := range things {
		switch err := do(); {
		case errors.Is(err, errWaiting):
			waits = err
		case err != nil:
			return err
		}
	}
	return waits
}

// visible reports whether the session is there. It fails if the user's store does not show it: workers
// know no users.
func (l *live) visible(ctx context.Context) (there bool, err error) {
	if _, err := session.Stat(ctx, l.store, l.at.id); !errors.Is(err, session.ErrNotFound) {
		return true, nil // another error comes again
	}
	_, err = session.Stat(ctx, l.server.Workers.Backend.Store("", nil), l.at.id)
	if err == nil { // unless a worker has just made it
		_, err = session.Stat(ctx, l.store, l.at.id)
		if errors.Is(err, session.ErrNotFound) {
			return true, session.ErrExists
		}
	}
	if errors.Is(err, session.ErrNotFound) {
		return false, nil
	}
	return true, err
}

// beginner returns the user who has begun a session that no worker has made yet, if this server knows it.
func (l *live) beginner() (user string, known bool) {
	s := l.server
	if s.User == nil {
		return l.at.user, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	user, known = s.begun[l.at.id]
	return user, known
}

// inbox returns the commands that wait for a worker. A user sees none for a session of another.
func (l *live) inbox(ctx context.Context) ([]durable.Mail, error) {
	if l.server.Workers == nil {
		return nil, nil
	}
	there, err := l.visible(ctx)
	if user, known := l.beginner(); errors.Is(err, session.ErrExists) || !there && (!known || user != l.at.user) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return l.server.Workers.Backend.Inbox(ctx, l.at.id)
}

// stat returns the session. If its first message waits for a worker, the error is errFirst.
func (l *live) stat(ctx context.Context) (session.Info, error) {
	info, err := session.Stat(ctx, l.store, l.at.id)
	if errors.Is(err, session.ErrNotFound) {
		mail, failed := l.inbox(ctx)
		switch {
		case failed != nil:
			err = failed
		case len(mail) > 0:
			err = errFirst
		}
	}
	return info, err
}

// errFirst means that a session will be there once a worker has taken its first message.
var errFirst = &Error{http.StatusNotFound, waiting, "the first message of this session waits for a worker", errWaiting.Hint}

// waits says how much waits for a worker while none has the session open, "" for nothing.
func (l *live) waits(ctx context.Context, worker string) (string, error) {
	if worker != "" {
		return "", nil
	}
	mail, err := l.inbox(ctx)
	switch {
	case err != nil || len(mail) == 0:
		return "", err
	case len(mail) == 1:
		return "one message or change waits for a worker", nil
	}
	return fmt.Sprintf("%d messages and changes wait for a worker", len(mail)), nil
}

// A messageState says what became of a message.
type messageState struct {
	Session string `json:"session"`
	ID      string `json:"id"`
	State   string `json:"state"`            // recorded, waiting (for a worker, or for the end of a run) or rejected
	Fact    int64  `json:"fact,omitempty"`   // recorded: the number of the message's fact
	Reason  string `json:"reason,omitempty"` // rejected: why
}

// getMessage says what became of a message.
func getMessage(s *Server, c *call) (any, error) {
	l, out := s.live(c.place()), messageState{Session: c.place().id, ID: c.r.PathValue("message"), State: "recorded"}
	defer l.leave()
	var err error
	if out.Fact, err = l.factOf(c.ctx(), out.ID); err != nil || out.Fact > 0 {
		return out, err
	}
	if s.Workers != nil {
		there, err := l.visible(c.ctx())
		if user, known := l.beginner(); !there && known && user != l.at.user {
			err = session.ErrExists
		}
		if errors.Is(err, session.ErrExists) {
			return nil, errNoMessage
		}
		if err != nil {
			return nil, err
		}
		mail, err := s.Workers.Backend.Inbox(c.ctx(), l.at.id)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(mail, func(m durable.Mail) bool { return m.ID == out.ID }) {
			out.State = waiting
			return out, nil
		}
		reason, rejected, err := s.Workers.Backend.Rejected(c.ctx(), l.at.id, out.ID)
		if err != nil {
			return nil, err
		}
		if rejected {
			out.State, out.Reason = "rejected", reason
			return out, nil
		}
		if out.Fact, err = l.factOf(c.ctx(), out.ID); err != nil || out.Fact > 0 { // a worker has just taken it
			return out, err
		}
	}
	return nil, errNoMessage
}

var errNoMessage = &Error{http.StatusNotFound, "not_found", "the session has no such message", "send it; with the same id, it counts once"}

// factOf returns the number of the fact of a message, 0 if it is not on record.
func (l *live) factOf(ctx context.Context, id string) (int64, error) {
	is := func(e event.Event) bool { m, ok := e.Data.(event.UserMessage); return ok && m.ID == id }
	last, err := session.Last(ctx, l.store, l.at.id, 50, func(typ string) bool { return typ == event.Type(event.UserMessage{}) })
	if i := slices.IndexFunc(last, is); i >= 0 {
		return last[i].Seq, nil
	}
	if errors.Is(err, session.ErrNotFound) || err == nil && len(last) < 50 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for e, err := range l.store.Read(ctx, l.at.id, 0) {
		if err != nil {
			return 0, err
		}
		if is(e) {
			return e.Seq, nil
		}
	}
	return 0, nil
}

// An overdueEngine knows which sessions want a worker and have none, as that of package postgres does.
type overdueEngine interface {
	Overdue(ctx context.Context) (sessions int, oldest time.Duration, err error)
}

// overdue returns how many sessions wait for a worker for too long. known is false if the engine does not know it.
func (s *Server) overdue(ctx context.Context) (sessions int, oldest time.Duration, known bool, err error) {
	if s.Workers == nil {
		return 0, 0, false, nil
	}
	engine, ok := s.Workers.Engine.(overdueEngine)
	if !ok {
		return 0, 0, false, nil
	}
	sessions, oldest, err = engine.Overdue(ctx)
	return sessions, oldest, err == nil, err
}
