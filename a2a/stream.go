package a2aagent

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/openagent-go/agent/event"
)

// tell yields a task, and then what happens to it.
func (c *caller) tell(ctx context.Context, t *task, answered []string, yield func(a2a.Event, error) bool) {
	first, err := c.now(ctx, t, answered)
	if err != nil {
		yield(nil, protocolError(ctx, err))
		return
	}
	if !yield(first, nil) || first.Status.State != a2a.TaskStateWorking {
		return
	}
	for e, err := range c.follow(ctx, t, answered) {
		if !yield(e, protocolError(ctx, err)) || err != nil {
			return
		}
	}
}

var errGone = errors.New("the stream has ended")

// follow yields what happens to a task until it has ended or a question waits. answered are calls
// whose questions do not count any more.
func (c *caller) follow(ctx context.Context, t *task, answered []string) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if t.ended() {
			return
		}
		w := writing{t: t, shown: t.text}
		for f, err := range c.events(ctx, t.session, t.last) {
			if err != nil {
				yield(nil, err)
				return
			}
			_, ends := f.event.Data.(event.RunEnd)
			asked := f.kind == "state" || ends // a question that was put off has no signal
			var out []a2a.Event
			switch f.kind {
			case "fact":
				if f.event.Seq <= t.last {
					continue
				}
				out = w.fact(f.event)
			case "signal":
				out, asked = w.signal(f.event), asks(f.event.Data)
			case "state":
				for _, e := range f.signals {
					out = append(out, w.signal(e)...)
				}
			case "gone":
				yield(nil, a2a.NewError(a2a.ErrServerError, "the stream has ended ("+strings.TrimSpace(f.reason)+"): subscribe to the task again"))
				return
			}
			for _, e := range out {
				if !yield(e, nil) {
					return
				}
			}
			if t.ended() {
				return
			}
			if !asked {
				continue
			}
			open, err := c.waiting(ctx, t, answered)
			if err != nil {
				yield(nil, err)
				return
			}
			if len(open) > 0 {
				yield(w.status(open), nil)
				return
			}
		}
		yield(nil, errGone)
	}
}

// writing turns events of a session into updates of a task.
type writing struct {
	t     *task
	key   string // of the attempt whose text the artifact has
	shown string // that text, as clients have it
}

// fact takes a fact in.
func (w *writing) fact(e event.Event) (out []a2a.Event) {
	if !w.t.apply(e) {
		return []a2a.Event{w.status(nil)}
	}
	switch d := e.Data.(type) {
	case event.AssistantMessage:
		if text := d.Response.Message.Text(); text != "" {
			out = w.whole(text)
		}
	case event.RunEnd:
		if w.t.end == nil {
			return nil
		}
		switch a := w.t.answer(); {
		case a != nil && (w.t.text != w.shown || len(d.Output) > 0):
			out = append(out, &a2a.TaskArtifactUpdateEvent{TaskID: w.t.taskID(), ContextID: w.t.session, Artifact: a, LastChunk: true})
		case a == nil && w.shown != "": // the answer failed: its text does not count
			out = w.set("")
		}
		out = append(out, w.status(nil))
	}
	return out
}

// signal takes a signal in.
func (w *writing) signal(e event.Event) (out []a2a.Event) {
	d, ok := e.Data.(event.TextDelta)
	switch {
	case !ok:
	case d.Restart:
		out = w.whole(d.Text)
	case d.Key != w.key: // the text of another attempt does not count any more
		out = w.set(d.Text)
	default:
		out = w.add(d.Text)
	}
	w.key = cmp.Or(d.Key, w.key)
	return out
}

// asks reports whether a person is asked, also about a call of a sub-agent.
func asks(d event.Data) bool {
	switch d := d.(type) {
	case event.PermissionRequest, event.UserQuestion:
		return true
	case event.AgentEvent:
		return d.Event != nil && asks(d.Event.Data)
	}
	return false
}

// whole makes the artifact have a text.
func (w *writing) whole(text string) []a2a.Event {
	if more, ok := strings.CutPrefix(text, w.shown); ok && w.shown != "" {
		return w.add(more)
	}
	return w.set(text)
}

// add adds text to the artifact.
func (w *writing) add(text string) []a2a.Event {
	if text == "" {
		return nil
	}
	if w.shown == "" {
		return w.set(text)
	}
	w.shown += text
	return []a2a.Event{&a2a.TaskArtifactUpdateEvent{TaskID: w.t.taskID(), ContextID: w.t.session, Append: true,
		Artifact: &a2a.Artifact{ID: answerArtifact, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}}}
}

// set replaces the artifact.
func (w *writing) set(text string) []a2a.Event {
	w.shown = text
	return []a2a.Event{&a2a.TaskArtifactUpdateEvent{TaskID: w.t.taskID(), ContextID: w.t.session,
		Artifact: &a2a.Artifact{ID: answerArtifact, Name: "answer", Parts: a2a.ContentParts{a2a.NewTextPart(text)}}}}
}

// status returns the state of the task as an update.
func (w *writing) status(asked []question) a2a.Event {
	return &a2a.TaskStatusUpdateEvent{TaskID: w.t.taskID(), ContextID: w.t.session, Status: w.t.status(asked)}
}
