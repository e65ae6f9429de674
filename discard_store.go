package agent

import (
	"context"
	"iter"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// discardStore is the store of a session that ends with its only prompt, and that nobody
// can ask for: its facts are counted and forgotten.
type discardStore struct{}

func (discardStore) Open(context.Context, string, session.Header) (session.Log, error) {
	return new(discardLog), nil
}

func (discardStore) Read(context.Context, string, int64) iter.Seq2[event.Event, error] {
	return func(func(event.Event, error) bool) {}
}

func (discardStore) List(context.Context) ([]session.Info, error) { return nil, nil }

// discardLog is the log of such a session.
type discardLog struct{ last int64 }

func (c *discardLog) Last() int64 { return c.last }

func (c *discardLog) Append(_ context.Context, after int64, _ bool, events ...event.Event) error {
	if after != c.last {
		return session.ErrConflict
	}
	c.last += int64(len(events))
	return nil
}

func (*discardLog) Close() error { return nil }
