// Package discard has the session store of a conversation that is not stored.
package discard

import (
	"context"
	"iter"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// Store numbers the facts of its sessions and forgets them. It lists no session.
type Store struct{}

// Open implements [session.Store].
func (Store) Open(context.Context, string, session.Header) (session.Log, error) {
	return new(log), nil
}

// Read implements [session.Store].
func (Store) Read(context.Context, string, int64) iter.Seq2[event.Event, error] {
	return func(func(event.Event, error) bool) {}
}

// List implements [session.Store].
func (Store) List(context.Context) ([]session.Info, error) { return nil, nil }

type log struct{ last int64 }

func (l *log) Last() int64 { return l.last }

// Append refuses events that do not follow the last.
func (l *log) Append(_ context.Context, after int64, _ bool, events ...event.Event) error {
	if after != l.last {
		return session.ErrConflict
	}
	l.last += int64(len(events))
	return nil
}

func (*log) Close() error { return nil }
