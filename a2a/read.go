package a2aagent

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/openagent-go/agent/event"
)

// find returns a task of the client.
func (c *caller) find(ctx context.Context, id a2a.TaskID) (*task, error) {
	if id == "" {
		return nil, invalid("there is no task id")
	}
	p, ok := placeOf(id)
	if !ok {
		return nil, noTask()
	}
	return c.read(ctx, p)
}

// noTask is the error about a task that the client does not have.
func noTask() error { return a2a.NewError(a2a.ErrTaskNotFound, "there is no such task") }

// read reads a task from its session.
func (c *caller) read(ctx context.Context, p place) (*task, error) {
	t := &task{place: p}
	for e, err := range c.facts(ctx, p.session, p.seq-1, "") {
		switch {
		case isCode(err, "not_found", "no_such_fact"):
			return nil, noTask()
		case err != nil:
			return nil, err
		}
		if t.last == 0 {
			if d, ok := e.Data.(event.UserMessage); !ok || e.Seq != p.seq || !isPrompt(d) {
				return nil, noTask()
			}
		}
		if !t.apply(e) {
			break
		}
	}
	if t.last == 0 {
		return nil, noTask()
	}
	return t, nil
}

// Facts come in pages that grow: most tasks have few facts, and long ones must not use up the requests of
// their user.
const (
	firstPage   = 200
	largestPage = 10000
)

// facts yields the facts of a session after one, all or those of a type.
func (c *caller) facts(ctx context.Context, id string, after int64, typ string) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for limit := firstPage; ; limit = min(4*limit, largestPage) {
			var page struct {
				Events []event.Event
				Last   int64
				More   bool
			}
			if err := c.do(ctx, http.MethodGet, fmt.Sprintf("%s/events?limit=%d&after=%d&types=%s", sessionPath(id), limit, after, typ), nil, &page); err != nil {
				yield(event.Event{}, err)
				return
			}
			for _, e := range page.Events {
				if !yield(e, nil) {
					return
				}
			}
			if !page.More {
				return
			}
			after = page.Last
		}
	}
}

// shown returns a task as it is now.
func (c *caller) shown(ctx context.Context, t *task, history *int) (*a2a.Task, error) {
	out, err := c.now(ctx, t, nil)
	if err != nil {
		return nil, protocolError(ctx, err)
	}
	cut(out, history)
	return out, nil
}

// now returns a task as it is now, without questions about calls that are answered.
func (c *caller) now(ctx context.Context, t *task, answered []string) (*a2a.Task, error) {
	var asked []question
	if !t.ended() {
		var err error
		if asked, err = c.waiting(ctx, t, answered); err != nil {
			return nil, err
		}
	}
	return t.task(asked), nil
}

// waiting returns the questions of a task that wait, without those of calls that are answered.
func (c *caller) waiting(ctx context.Context, t *task, answered []string) ([]question, error) {
	asked, err := c.pending(ctx, t.session)
	return slices.DeleteFunc(asked, func(q question) bool { return slices.Contains(answered, q.Call) }), err
}

// cut leaves the latest messages of a history. nil: all.
func cut(t *a2a.Task, length *int) {
	if length != nil && *length < len(t.History) {
		t.History = t.History[len(t.History)-*length:]
	}
}
