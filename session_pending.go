package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// This file handles the questions of a run that does not run now: it was suspended because
// a question was deferred, or the program died while it asked. Answers are recorded, and Resume
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
		return noDecision(s.state.State, id)
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
	return s.recordIdle(ctx, x.Answer(key, t, call, d))
}

// answerLater records the answers to the questions of a tool in the last run, which is not
// running.
func (s *Session) answerLater(ctx context.Context, id string, answers []tool.Answer) error {
	if err := s.lockIdle(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := s.open(ctx, ""); err != nil {
		return err
	}
	f, err := answered(&s.state.Conversation, id, answers)
	if err != nil {
		return err
	}
	return s.recordIdle(ctx, f)
}

// recordIdle records a fact of the last run, which is not running. The caller holds s.mu.
func (s *Session) recordIdle(ctx context.Context, f event.Fact) error {
	e := event.Event{Seq: s.state.Last + 1, Prev: s.state.Last, Time: now(), Session: s.ID, Data: f}
	if err := s.state.log.Append(ctx, s.state.Last, true, e); err != nil {
		return fmt.Errorf("agent: recording in session %s: %w", s.ID, err)
	}
	s.state.Apply(e)
	s.publish(e)
	return nil
}

// noDecision returns the error for a call that does not wait for a decision.
func noDecision(state *engine.State, id string) error {
	if state.Call(id).Asks {
		return fmt.Errorf("agent: deciding about call %s: %w: its tool waits for answers; use Session.Answer", id, ErrNoQuestion)
	}
	return ErrNoQuestion
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
	f, err := answered(l.conv, id, answers)
	if err != nil {
		return err
	}
	l.Drop(l.conv.State.Call(id).Question)
	return l.Commit(f)
}

// answered returns the fact of the answers to a tool's questions.
func answered(c *conversation.Conversation, id string, answers []tool.Answer) (event.Fact, error) {
	questions, status := c.Asked(id), c.State.Call(id)
	switch {
	case status.Question != "" && !status.Asks:
		return nil, fmt.Errorf("agent: answering call %s: %w: it waits for a decision; use Session.Decide", id, ErrNoQuestion)
	case questions == nil:
		return nil, ErrNoQuestion
	}
	if wrong := invalidAnswers(questions, answers); wrong != "" {
		return nil, fmt.Errorf("agent: answering call %s: %s", id, wrong)
	}
	return executor.Answered(status.Question, id, questions, answers), nil
}

// invalidAnswers says why answers do not fit the questions, "" if they do. A question
// without an answer is left open, and the model is told so.
func invalidAnswers(questions []tool.Question, answers []tool.Answer) string {
	if len(answers) > len(questions) {
		return fmt.Sprintf("there are %s for %s", text.Count(len(answers), "answer"), text.Count(len(questions), "question"))
	}
	for i, a := range answers {
		q := questions[i]
		if len(a.Options) > 1 && !q.Multiple {
			return fmt.Sprintf("question %d takes one option; answer with one of them, or with a text", i+1)
		}
		for _, label := range a.Options {
			if !slices.ContainsFunc(q.Options, func(o tool.Option) bool { return o.Label == label }) {
				return fmt.Sprintf("question %d has no option %q; use a label of one of its options, or a text", i+1, text.Bytes(label, 100))
			}
		}
	}
	return ""
}
