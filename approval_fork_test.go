package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// An approval is for one call. If a session is forked between the decision and the call, the
// fork asks again, also for a sub-agent, and then runs the call. The original does not ask.
func TestApprovalIsNotForked(t *testing.T) {
	for name, made := range forkStores {
		for _, deep := range []bool{false, true} {
			if deep && strings.Contains(name, "one's own") || deep && strings.Contains(name, "plain") {
				continue // the agents of a fork have ids of their own there
			}
			t.Run(name, func(t *testing.T) {
				store, writes := made(t), 0
				w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
					writes++
					return tool.Text("wrote"), nil
				})
				open := func(id string) *agent.Session {
					a := &agent.Agent{Model: byTurn(t, uses("write"), say("end")), Tools: []tool.Tool{w}, Sessions: store, CanUseTool: deferAsked}
					if deep {
						kind := &agent.Agent{Name: "helper", Model: a.Model, Tools: []tool.Tool{w}}
						a.Model, a.Tools = byTurn(t, delegates(1), say("end")), []tool.Tool{delegate(kind, false), w}
					}
					return a.Session(id)
				}
				allow := func(s *agent.Session) {
					t.Helper()
					open, err := s.Pending(t.Context())
					if err != nil || len(open) != 1 {
						t.Fatalf("%d questions, %v", len(open), err)
					}
					if err := s.Decide(t.Context(), open[0].Call.ID, permission.Decision{Behavior: permission.Allowed, By: "ann"}); err != nil {
						t.Fatal(err)
					}
				}
				again := func(s *agent.Session) (err error) {
					for _, e := range s.Resume(t.Context()) {
						err = errors.Join(err, e)
					}
					return err
				}
				s := open("s")
				if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
					t.Fatal(err)
				}
				allow(s)
				forked(t, store, "s", "fork", 0)
				forked(t, store, "fork", "second", 0)
				if err := again(s); err != nil || writes != 1 {
					t.Errorf("the original: %d writes, %v", writes, err)
				}
				s.Close()
				after := ""
				for i, id := range []string{"fork", "second"} {
					f := open(id)
					if err := again(f); !errors.Is(err, agent.ErrSuspended) || writes != i+1 {
						t.Fatalf("%s: %d writes, %v", id, writes, err)
					}
					if open, err := f.Pending(t.Context()); err != nil || len(open) != 1 || !strings.Contains(open[0].Reason, "approved in the session that this one was forked from") {
						t.Fatalf("%s asks %+v, %v", id, open, err)
					}
					allow(f)
					if after == "" { // the call was about to run when it was asked about again
						after = "fork of " + id
						forked(t, store, id, after, 0)
					}
					if err := again(f); err != nil || writes != i+2 {
						t.Errorf("%s: %d writes after the decision, %v", id, writes, err)
					}
					f.Close()
				}
				f := open(after)
				if err := again(f); !errors.Is(err, agent.ErrSuspended) || writes != 3 {
					t.Errorf("%s: %d writes, %v", after, writes, err)
				}
				f.Close()
			})
		}
	}
}

// No rule asked about the call, so the fork does not ask again, although a callback saw it.
func TestForkAsksNothingNew(t *testing.T) {
	store := session.Memory()
	look := func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
		return permission.Decision{}, nil
	}
	s := (&agent.Agent{Model: llmtest.Script(uses("write"), say("end")), Permissions: bypass, Tools: []tool.Tool{fine}, Sessions: store, CanUseTool: look}).Session("s")
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	last := int64(0)
	for e := range store.Read(t.Context(), "s", 0) {
		last = e.Seq
	}
	for through := int64(2); through < last; through++ {
		id := forked(t, store, "s", session.NewID(), through)
		f := (&agent.Agent{Model: byTurn(t, uses("write"), say("end")), Permissions: bypass, Tools: []tool.Tool{fine}, Sessions: store, CanUseTool: look}).Session(id)
		if open, err := f.CanResume(t.Context()); err != nil {
			t.Fatal(err)
		} else if open {
			for _, err := range f.Resume(t.Context()) {
				if err != nil {
					t.Errorf("through %d: %v", through, err)
				}
			}
			if f.Result() == nil || len(f.Result().Denials) > 0 {
				t.Errorf("through %d: %+v", through, f.Result())
			}
		}
		f.Close()
	}
}

// A rewind to before a call that a person has approved does not use the approval twice.
func TestApprovalIsNotRewound(t *testing.T) {
	store, writes := session.Memory(), 0
	w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
		writes++
		return tool.Text("wrote"), nil
	})
	s := (&agent.Agent{Model: byTurn(t, uses("write"), say("end")), Tools: []tool.Tool{w}, Sessions: store, CanUseTool: deferAsked}).Session("s")
	defer s.Close()
	again := func() (err error) {
		for _, e := range s.Resume(t.Context()) {
			err = errors.Join(err, e)
		}
		return err
	}
	approve := func() {
		t.Helper()
		open, err := s.Pending(t.Context())
		if err != nil || len(open) != 1 {
			t.Fatalf("%d questions, %v", len(open), err)
		}
		if err := s.Decide(t.Context(), open[0].Call.ID, permission.Allow()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
		t.Fatal(err)
	}
	approve()
	approved := int64(len(history(t, store, "s")))
	if err := again(); err != nil || writes != 1 {
		t.Fatalf("%d writes, %v", writes, err)
	}
	if err := s.Rewind(t.Context(), approved); err != nil {
		t.Fatal(err)
	}
	if err := again(); !errors.Is(err, agent.ErrSuspended) || writes != 1 {
		t.Errorf("after the rewind: %d writes, %v", writes, err)
	}
	approve()
	if err := again(); err != nil || writes != 2 {
		t.Errorf("after another approval: %d writes, %v", writes, err)
	}
}
