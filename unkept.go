package agent

import (
	"context"
	"iter"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// unkept is the store of a session that ends with its only prompt, and that nobody
// can ask for: its facts are counted and forgotten.
type unkept struct{}

func (unkept) Open(context.Context, string, session.Header) (session.Log, error) {
	return new(counter), nil
}

func (unkept) Read(context.Context, string, int64) iter.Seq2[event.Event, error] {
	return func(func(event.Event, error) bool) {}
}

func (unkept) List(context.Context) ([]session.Info, error) { return nil, nil }

// counter is the log of such a session.
type counter struct{ last int64 }

func (c *counter) Last() int64 { return c.last }

func (c *counter) Append(_ context.Context, after int64, _ bool, events ...event.Event) error {
	if after != c.last {
		return session.ErrConflict
	}
	c.last += int64(len(events))
	return nil
}

func (*counter) Close() error { return nil }
