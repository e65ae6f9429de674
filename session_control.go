package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// withRun calls do with the current run, while it holds the run's token. Facts that do
// commits are on record when withRun returns.
func (s *Session) withRun(ctx context.Context, do func(l *activeRun) error) error {
	s.mu.Lock()
	l, running := s.active, s.running
	s.mu.Unlock()
	if !running {
		return ErrNotRunning
	}
	ok, err := l.With(ctx, func() error { return do(l) })
	if !ok {
		return ErrNotRunning
	}
	return err
}

// lockIdle locks s.mu while the session has no run, or fails with errPromptRuns. A run whose
// end may be visible already is waited for, so that who sees the end can prompt. The wait
// ends after some seconds, because the run itself may be the caller.
func (s *Session) lockIdle(ctx context.Context) error {
	for {
		s.mu.Lock()
		l := s.active
		if !s.running {
			return nil
		}
		s.mu.Unlock()
		if !l.over.Load() {
			return errPromptRuns
		}
		select {
		case <-l.Done():
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(executor.Grace):
			return errPromptRuns
		}
	}
}

// Steer sends a message to the running prompt. The model sees it after the current batch of
// tools, at the latest before the run would stop. Steer returns the message's id once the
// message is on record.
func (s *Session) Steer(ctx context.Context, in Input) (id string, err error) {
	return s.enqueue(ctx, in, fact.AsSteer)
}

// FollowUp sends a message that the model sees when the run would otherwise stop. It
// returns the message's id once the message is on record.
func (s *Session) FollowUp(ctx context.Context, in Input) (id string, err error) {
	return s.enqueue(ctx, in, fact.AsFollowUp)
}

func (s *Session) enqueue(ctx context.Context, in Input, d event.Delivery) (string, error) {
	if in.Expansion != nil {
		return "", fmt.Errorf("agent: %w: a command is a prompt of its own, not a message to one that runs", ErrConfig)
	}
	if in.bounded() {
		return "", errMessageOptions
	}
	if in.Compact {
		f := in.compactRequest()
		return f.ID, s.withRun(ctx, func(l *activeRun) error { return l.CommitHost(f) })
	}
	if err := in.check(); err != nil {
		return "", err
	}
	m := in.message(d)
	err := s.withRun(ctx, func(l *activeRun) error {
		if l.conv.State.Known(m.ID) {
			return nil
		}
		return l.Commit(m)
	})
	return m.ID, err
}

// Retract takes a message of [Session.Steer] or [Session.FollowUp] back, as long as the model
// has not got it. It reports whether it did so: false means that the model has the message, or
// that the queue has none with this id. A [Session.Resume] does not deliver the message either.
// Without a run it fails with [ErrNotRunning].
func (s *Session) Retract(ctx context.Context, id string) (bool, error) {
	taken := false
	err := s.withRun(ctx, func(l *activeRun) error {
		if !slices.Contains(l.conv.State.Queued(), id) {
			return nil
		}
		taken = true
		return l.Commit(fact.Retracted{IDs: []string{id}})
	})
	return taken && err == nil, err
}

// A Receipt says what an interrupt ended.
type Receipt struct {
	Cleared []string // ids of queued messages that the model will not see; a session/view has them as Dropped
	Agents  []string // session ids of background agents that are being stopped
}

// Interrupt stops the running prompt. It cancels the model call and the tools, gives every
// open call a result, and clears the queue of messages. It returns once that is on record;
// the run ends soon after. It stops background agents too, also between runs. Without a run
// it fails with [ErrNotRunning], unless it stops such agents.
func (s *Session) Interrupt(ctx context.Context) (Receipt, error) {
	var r Receipt
	err := s.withRun(ctx, func(l *activeRun) error {
		r.Cleared, r.Agents = l.conv.State.Queued(), s.interruptAgents()
		return l.CommitHost(fact.Stopped{Reason: event.Interrupted, Message: "interrupted", Cleared: r.Cleared})
	})
	if errors.Is(err, ErrNotRunning) {
		if r.Agents = s.interruptAgents(); len(r.Agents) > 0 {
			err = nil
		}
	}
	return r, err
}

// Pending returns the questions that wait for a person, in the order of their calls. One with
// Questions waits for [Session.Answer], any other for [Session.Decide]. Without a run, they
// are the questions of the last run, if one was deferred or the program died before the
// answer. If there is no question and no run, it fails with [ErrNotRunning].
//
// The list includes questions of sub-agents at any depth. Their Call.ID begins with the id
// of the agent's session and "/".
func (s *Session) Pending(ctx context.Context) ([]event.PermissionRequest, error) {
	var show []func() event.PermissionRequest
	err := s.withRun(ctx, func(l *activeRun) error {
		show = l.conv.Questions(l.x.Executor)
		return nil
	})
	if errors.Is(err, ErrNotRunning) {
		show, err = s.waiting(ctx)
	}
	var out []event.PermissionRequest
	for _, request := range show { // tools may read files for a preview, which must not block the run
		out = append(out, request())
	}
	if err != nil && !errors.Is(err, ErrNotRunning) {
		return nil, err
	}
	below, failed := s.pendingOfAgents(ctx)
	if failed != nil {
		return nil, failed
	}
	if len(below) > 0 {
		err = nil
	}
	return append(out, below...), err
}

// Decide answers a permission question in place of the callback, which is cancelled. call
// is the id of the call. Allow permits the call, Defer suspends the run, and any other
// decision denies the call. If the decision changes the input, rules judge it again.
// The decision's By and Expires are on record. A question whose own Expires has passed can
// be denied only.
//
// Without a run, Decide records the answer to a question of the last run or of its agents.
// [Session.Resume] then continues the run, also in another process.
//
// Decide fails with [ErrNoQuestion] if the call does not wait for a decision, such as after
// an answer, or if its question has expired. It fails with [ErrBusy] if another process or
// another Session has the session open.
func (s *Session) Decide(ctx context.Context, call string, d permission.Decision) error {
	if d.Input != nil && !json.Valid(d.Input) {
		return fmt.Errorf("agent: deciding about call %s: the input is not JSON", call)
	}
	if d.Source == "" {
		d.Source = policies.FromPerson
	}
	if d.Behavior == permission.Allowed && policies.Expired(d, now()) {
		return fmt.Errorf("agent: deciding about call %s: the decision expired before it was made, at %s", call, d.Expires.UTC().Format(time.RFC3339))
	}
	if agent, own, below := strings.Cut(call, "/"); below {
		return s.settleForAgent(ctx, agent, func(child *Session) error { return child.Decide(ctx, own, d) })
	}
	var l *activeRun
	var asked tool.Call
	var key string
	err := s.withRun(ctx, func(run *activeRun) error {
		var ok bool
		l = run
		if asked, key, ok = run.conv.Question(run.x.Executor, call); !ok {
			return noDecision(run.conv.State, call)
		}
		return inTime(run.conv.State.Call(call).Decision, call, d)
	})
	if errors.Is(err, ErrNotRunning) {
		return s.decideLater(ctx, call, d)
	}
	if err != nil {
		return err
	}
	f := l.x.Answer(key, l.x.Tool(asked.Name), asked, d) // the tool checks changed input
	return s.withRun(ctx, func(run *activeRun) error {
		if run != l {
			return ErrNoQuestion
		}
		if d.Interrupt && d.Behavior == permission.Denied {
			s.interruptAgents()
		}
		return run.decided(f)
	})
}

// inTime returns an error if a decision allows a call after the deadline of its question.
func inTime(question permission.Decision, call string, d permission.Decision) error {
	if d.Behavior == permission.Denied || !policies.Expired(question, now()) {
		return nil
	}
	return fmt.Errorf("agent: deciding about call %s: %w: it expired at %s", call, ErrNoQuestion, question.Expires.UTC().Format(time.RFC3339))
}

// Answer answers a tool's questions in place of the AskUser callback, which is cancelled.
// call is the id of the call, as in [event.UserQuestion] or [Session.Pending]. It fails if an
// answer names an option that its question does not have. Otherwise it works like
// [Session.Decide], also without a run and for questions of sub-agents.
func (s *Session) Answer(ctx context.Context, call string, answers []tool.Answer) error {
	if agent, own, below := strings.Cut(call, "/"); below {
		return s.settleForAgent(ctx, agent, func(child *Session) error { return child.Answer(ctx, own, answers) })
	}
	err := s.withRun(ctx, func(l *activeRun) error { return l.answer(call, answers) })
	if errors.Is(err, ErrNotRunning) {
		return s.answerLater(ctx, call, answers)
	}
	return err
}
