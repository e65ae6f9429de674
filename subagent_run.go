package agent

import (
	"context"
	"errors"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/internal/subagents"
	"github.com/openagent-go/agent/tool"
)

// subagentTask is one task of a child.
type subagentTask struct {
	parent     *parentRun
	session    *Session // the child's
	key        string
	name       string
	call       string
	toolID     string
	input      Input
	watch      func(event.Event)
	note       func() string
	background bool
	over       bool // its end is on record
}

// do runs the task, or the rest of it. It fails with [ErrDetached] if the parent's session
// is detached.
func (w *subagentTask) do(ctx context.Context) (*Result, error) {
	if w.over {
		return w.recall(ctx)
	}
	if w.parent.session.isDetached() {
		return nil, ErrDetached
	}
	res, err := w.work(ctx)
	if res == nil && errors.Is(err, ErrClosed) && w.parent.session.isDetached() {
		err = ErrDetached
	}
	return res, err
}

// work is do for a task without a recorded end.
func (w *subagentTask) work(ctx context.Context) (*Result, error) {
	defer w.session.Close()
	open, err := w.session.CanResume(ctx)
	if err != nil {
		return nil, stopCause(ctx, err)
	}
	in := &w.input
	switch known := w.session.knows(in.ID); {
	case known && open:
		in = nil
	case known:
		res := w.session.Result()
		return res, res.failure()
	}
	l, err := w.session.start(ctx, in, w.watch != nil || w.parent.session.watched())
	if err != nil {
		return nil, stopCause(ctx, err)
	}
	for l.Events() != nil {
		e, ok := l.Events().Next()
		if !ok {
			break
		}
		if w.watch != nil {
			safecall.Or(func() bool { w.watch(e); return true }, false)
		}
		w.parent.session.show(event.AgentEvent{Call: w.call, ID: w.toolID, Agent: w.name, Event: &e})
	}
	<-l.Done()
	return l.result, l.err
}

// stopCause replaces an error that only says that ctx has ended with the cause of its end.
func stopCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		return cause
	}
	return err
}

// recall returns the recorded result of a task whose end is on record.
func (w *subagentTask) recall(ctx context.Context) (*Result, error) {
	end, text, _ := subagents.LastResult(ctx, w.session.store(), event.AgentStart{Key: w.key, Session: w.session.ID, Agent: w.name})
	res := &Result{Session: w.session.ID, RunEnd: event.RunEnd{Reason: end.Reason, Message: end.Message, Text: text, Turns: end.Turns, AgentTurns: end.AgentTurns, ModelCalls: end.ModelCalls,
		Usage: end.Usage, CostUSD: end.CostUSD, LostUSD: end.LostUSD, Models: end.Models, Duration: end.Duration}}
	return res, res.failure()
}

// ended returns the end fact of the task, and the text of the last answer.
func (w *subagentTask) ended(res *Result, err error) (event.AgentEnd, string) {
	end := event.AgentEnd{Key: w.key, Session: w.session.ID, Agent: w.name, Reason: event.Internal}
	if err != nil {
		end.Message = w.parent.run.x.Secrets.Text(err.Error())
	}
	if res == nil { // the child never ran
		end.Reason, end.CostUSD = event.Interrupted, new(float64)
		return end, ""
	}
	end.Reason, end.Message = res.Reason, w.parent.run.x.Secrets.Text(res.Message)
	end.Turns, end.AgentTurns, end.ModelCalls, end.Usage, end.CostUSD = res.Turns, res.AgentTurns, res.ModelCalls, res.Usage, res.CostUSD
	end.LostUSD, end.Models, end.Duration = res.LostUSD, res.Models, res.Duration
	return end, res.Text
}

// settle records the end of a background task, with the notice about it.
func (s *Session) settle(w *subagentTask, res *Result, err error) {
	waits := w.suspended(res) || errors.Is(err, ErrDetached) // a resumed run continues it
	end, text := w.ended(res, err)
	if w.note != nil && !waits {
		text = strings.TrimSpace(text + "\n\n" + safecall.Or(w.note, ""))
	}
	text = w.parent.run.x.Finish(tool.Call{ID: w.call, Session: s.ID}, tool.Text(text)).Text()
	told := s.withSession(context.Background(), func(f *conversation.Conversation, record func(...event.Fact) error) error {
		if _, ended := f.State.Agents().Worked(w.key); ended {
			return nil
		}
		if waits {
			return record(w.suspendedFact())
		}
		if n := subagents.Notice(w.key, w.name, end, text); !f.State.Known(n.ID) {
			return record(n, end) // the end comes last: without it everything is done again
		}
		return record(end)
	})
	if told != nil { // the next run of the session finds the end in the child's journal
		w.parent.run.x.Log.Warn("recording the end of an agent", "agent", w.name, "session", w.session.ID, "error", told)
	}
}
