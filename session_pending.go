package agent

import (
	"context"
	"fmt"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// This file handles the questions of a run that does not run now: it was suspended by a
// deferred decision, or the program died while it asked. Answers are recorded, and Resume
// continues with them.

// waiting returns the questions of the last run, which is not running.
func (s *Session) waiting(ctx context.Context) ([]func() event.PermissionRequest, error) {
	x, _, err := prepareSetup(ctx, s, s.definition(), nil, false)
	if err != nil {
		return nil, err
	}
	if err := s.lockIdle(ctx); err != nil { // a run has just begun
		return nil, err
	}
	defer s.mu.Unlock()
	if err := s.open(ctx, ""); err != nil {
		return nil, err
	}
	asking := s.state.State.Asking()
	if len(asking) == 0 {
		return nil, ErrNotRunning
	}
	return s.state.Questions(x.Executor), nil
}

// decideLater records the answer to a question of the last run, which is not running.
func (s *Session) decideLater(ctx context.Context, id string, d permission.Decision) error {
	if d.Behavior == permission.Deferred {
		return fmt.Errorf("agent: deciding about call %s: it waits already; allow or deny it", id)
	}
	x, _, err := prepareSetup(ctx, s, s.definition(), nil, false)
	if err != nil {
		return err
	}
	if err := s.lockIdle(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := s.open(ctx, ""); err != nil {
		return err
	}
	call, key, ok := s.state.Question(x.Executor, id)
	if !ok {
		return ErrNoQuestion
	}
	if err := inTime(s.state.State.Call(id).Decision, id, d); err != nil {
		return err
	}
	var t tool.Tool
	if t = x.Tool(call.Name); t != nil && d.Input != nil {
		changed := call
		changed.Input = d.Input
		if wrong := executor.Invalid(t, &changed); wrong != "" {
			return fmt.Errorf("agent: deciding about call %s: %s", id, x.Secrets.Text(wrong))
		}
	}
	e := event.Event{Seq: s.state.Last + 1, Prev: s.state.Last, Time: now(), Session: s.ID, Data: x.Answer(key, t, call, d)}
	if err := s.state.log.Append(ctx, s.state.Last, true, e); err != nil {
		return fmt.Errorf("agent: recording in session %s: %w", s.ID, err)
	}
	s.state.Apply(e)
	s.publish(e)
	return nil
}

// decided records the answer to a permission question, in place of the callback's answer.
func (l *activeRun) decided(f fact.Answered) error {
	if _, key, ok := l.conv.Question(l.x.Executor, f.Call); !ok || key != f.Key {
		return ErrNoQuestion
	}
	l.Drop(f.Key)
	return l.Commit(f)
}

// answer records the answers to a tool's questions, in place of the callback's answers.
func (l *activeRun) answer(id string, answers []tool.Answer) error {
	in := l.Find(func(in *executor.Input) bool {
		ask, ok := in.Effect.(engine.AskPerson)
		return ok && ask.Call == id
	})
	if in == nil {
		return ErrNoQuestion
	}
	key := in.Effect.Key()
	l.Drop(key)
	return l.Commit(executor.Answered(key, id, in.Done.Result.Questions, answers))
}
