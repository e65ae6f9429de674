package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/subagents"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// This file handles agents whose question was deferred. They suspend the runs above
// them. You answer their questions through the session at the root.

// suspended reports whether the agent waits for a deferred decision.
func (w *subagentTask) suspended(res *Result) bool {
	return !w.over && res != nil && res.Reason == event.Suspended
}

func (w *subagentTask) suspendedFact() fact.AgentSuspended {
	return fact.AgentSuspended{Key: w.key, Call: w.call, Session: w.session.ID, Agent: w.name}
}

// suspendCall lets the parent's call wait for the agent: it is repeated when the run is
// resumed. It reports false if the call cannot be repeated.
func (p *parentRun) suspendCall(w *subagentTask) (parked bool) {
	err := p.session.withRun(context.Background(), func(l *activeRun) error {
		if parked = l.conv.State.Call(w.call).Repeatable; parked {
			l.RecordInstead(w.call, w.suspendedFact())
		}
		return nil
	})
	return parked && err == nil
}

// restartAgent repeats the call that started a background agent, so the agent continues. If
// that fails, it records the end of the agent.
func (l *activeRun) restartAgent(at event.AgentStart) {
	b := l.s.subagents()
	_, left := b.Child(at.Key) // it was suspended just now
	b.Go(func(context.Context) {
		if left != nil {
			<-left
		}
		ctx := l.NewContext("agent/" + at.Key)
		defer ctx.Cancel()
		why := l.s.repeatCall(ctx, l.x, at)
		if ctx.Err() != nil {
			why = "it was cancelled"
		}
		err := l.s.withSession(context.Background(), func(f *conversation.Conversation, record func(...event.Fact) error) error {
			if _, ended := f.State.Agents().Worked(at.Key); ended || b.Has(at.Key) || subagents.Waits(f.State, at.Key) {
				return nil
			}
			end, text, _ := subagents.LastResult(context.Background(), b.storeFor(l.s.ID, l.x.store), at)
			end.Message = strings.TrimSpace(end.Message + "; it could not go on: " + why)
			return record(subagents.Notice(at.Key, at.Agent, end, text), end)
		})
		if err != nil {
			l.x.Complain("recording the end of an agent", "agent", at.Agent, "error", err)
		}
	})
}

// repeatCall repeats a recorded call. It returns what went wrong.
func (s *Session) repeatCall(ctx context.Context, x *runSetup, at event.AgentStart) string {
	if at.Key != at.Call {
		return "it was put to work by a message"
	}
	call, err := s.callOf(ctx, at.Call)
	if err != nil {
		return err.Error()
	}
	t := x.Tool(call.Name)
	if t == nil {
		return executor.ToolRemoved(call)
	}
	call.Root, call.Agent = x.agent.rootSession(), x.agent.Name
	if out := toolrun.Do(ctx, t, call); out.Result != nil && out.Result.IsError {
		return x.Secrets.Text(text.FirstLine(out.Result.Text()))
	}
	return "its call did not start it"
}

// callOf returns a started call from the journal.
func (s *Session) callOf(ctx context.Context, id string) (tool.Call, error) {
	facts, err := s.facts(ctx)
	if err != nil {
		return tool.Call{}, err
	}
	if len(facts) == 0 {
		return tool.Call{}, fmt.Errorf("reading the call %s: %w", id, session.ErrNotFound)
	}
	call, ok := conversation.StartedCall(facts, s.ID, id)
	if !ok {
		return call, fmt.Errorf("the call %s is not in the session", id)
	}
	return call, nil
}

// eachWaitingAgent calls do with each agent of the session that may wait for a decision,
// until do returns true or an error. It opens agents that are not working in this program
// for the duration of the call.
func (s *Session) eachWaitingAgent(ctx context.Context, do func(child *Session) (done bool, err error)) error {
	type below struct {
		at    event.AgentStart
		child *Session
		left  <-chan struct{} // of one that was suspended just now
	}
	var agents []below
	b := s.subagents()
	err := s.withSession(ctx, func(f *conversation.Conversation, _ func(...event.Fact) error) error {
		for _, at := range f.State.Agents().AtWork() {
			live, left := b.Child(at.Key)
			waits := subagents.Waits(f.State, at.Key)
			if left != nil && waits {
				agents = append(agents, below{at, nil, left})
			} else if live != nil || left == nil && (waits || !at.Background && f.State.Call(at.Call).Open) {
				agents = append(agents, below{at, live, nil})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, a := range agents {
		if a.left != nil {
			select {
			case <-a.left:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		done, err := false, error(nil)
		if a.child != nil {
			done, err = do(a.child)
		} else {
			done, err = s.withIdleAgent(ctx, a.at, do)
		}
		if done || err != nil {
			return err
		}
	}
	return nil
}

// withIdleAgent calls do with an agent that is not working in this program.
func (s *Session) withIdleAgent(ctx context.Context, at event.AgentStart, do func(child *Session) (bool, error)) (done bool, err error) {
	store := s.childStore(s.store())
	if _, err := session.Stat(ctx, store, at.Session); err != nil {
		if errors.Is(err, session.ErrNotFound) { // the agent had not begun
			return false, nil
		}
		return false, err
	}
	own := *s.definition()
	own.Sessions, own.Name, own.Checkpoint = store, at.Agent, nil
	own.parentLink = &parentLink{parent: s, call: at.Call, kind: at.Agent}
	child := own.Session(at.Session)
	defer func() { err = errors.Join(err, child.Close()) }()
	return do(child)
}

// pendingOfAgents returns the questions of the session's agents.
func (s *Session) pendingOfAgents(ctx context.Context) (out []event.PermissionRequest, err error) {
	err = s.eachWaitingAgent(ctx, func(child *Session) (bool, error) {
		asked, err := child.Pending(ctx)
		if errors.Is(err, ErrNotRunning) || errors.Is(err, ErrClosed) {
			return false, nil
		}
		for _, q := range asked {
			if !strings.Contains(q.Call.ID, "/") {
				q.Call.ID = child.ID + "/" + q.Call.ID
			}
			out = append(out, q)
		}
		return false, err
	})
	return out, err
}

// settleForAgent answers a question of an agent at any depth: it calls settle with the
// session of the agent.
func (s *Session) settleForAgent(ctx context.Context, agent string, settle func(child *Session) error) error {
	found := false
	err := s.eachWaitingAgent(ctx, func(child *Session) (bool, error) {
		var err error
		if child.ID == agent {
			err = settle(child)
		} else {
			err = child.settleForAgent(ctx, agent, settle)
		}
		if err == ErrNoQuestion || errors.Is(err, ErrNotRunning) || errors.Is(err, ErrClosed) {
			return false, nil
		}
		found = true
		return true, err
	})
	if err == nil && !found {
		return ErrNoQuestion
	}
	return err
}
