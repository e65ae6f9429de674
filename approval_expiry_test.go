package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// by returns an allowance of somebody for some time.
func by(who string, d time.Duration) permission.Decision {
	return permission.Decision{Behavior: permission.Allowed, By: who, Expires: time.Now().Add(d)}
}

// An allowance that has ended when the run is resumed is asked about again, and the new
// decision counts. Both are on record with who made them.
func TestApprovalExpires(t *testing.T) {
	store := session.Memory()
	ran := 0
	w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
		ran++
		return tool.Text("ok"), nil
	})
	open := func(m *llmtest.Model) *agent.Session {
		return (&agent.Agent{Model: m, Tools: []tool.Tool{w}, Sessions: store, CanUseTool: deferAsked}).Session("s")
	}
	s := open(llmtest.Script(uses("write")))
	if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
		t.Fatal(err)
	}
	question := func() event.PermissionRequest {
		t.Helper()
		pending, err := s.Pending(t.Context())
		if err != nil || len(pending) != 1 {
			t.Fatalf("%+v, %v", pending, err)
		}
		return pending[0]
	}
	if err := s.Decide(t.Context(), question().Call.ID, by("ann", -time.Second)); err == nil {
		t.Error("a decision that had ended before it was made counts")
	}
	if err := s.Decide(t.Context(), question().Call.ID, by("ann", 20*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	s.Close()
	time.Sleep(30 * time.Millisecond)
	s = open(llmtest.Script())
	for _, err := range s.Resume(t.Context()) {
		if err != nil && !errors.Is(err, agent.ErrSuspended) {
			t.Fatal(err)
		}
	}
	q := question()
	if ran > 0 || !strings.Contains(q.Reason, "the approval of this call ended at ") {
		t.Fatalf("ran %d times, asked because %q", ran, q.Reason)
	}
	if err := s.Decide(t.Context(), q.Call.ID, by("bob", time.Hour)); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(llmtest.Script(say("end")))
	defer s.Close()
	resume(t, s)
	var who []string
	for e, err := range store.Read(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Data.(fact.Answered); ok && d.Decision.Behavior == permission.Allowed && !d.Decision.Expires.IsZero() {
			who = append(who, d.Decision.By)
		}
	}
	if ran != 1 || s.Result().Reason != event.Completed || !slices.Equal(who, []string{"ann", "bob"}) {
		t.Errorf("ran %d times, %+v, decided by %v", ran, s.Result(), who)
	}
}

// In one run, too, a call that starts late is asked about again, and mode dontAsk denies it.
// A callback that grants an allowance that has ended does not keep the run going for ever.
func TestApprovalExpiresInRun(t *testing.T) {
	for _, dontAsk := range []bool{false, true} {
		var asked []string
		ran := 0
		w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
			ran++
			return tool.Text("ok"), nil
		})
		slow := tool.New(tool.Spec{Name: "slow"}, func(context.Context, tool.Call, number) (*tool.Result, error) {
			time.Sleep(60 * time.Millisecond)
			r := tool.Text("ok")
			if dontAsk {
				r.Patch.Mode = permission.DontAsk
			}
			return r, nil
		})
		a := &agent.Agent{Model: llmtest.Script(uses("slow", "write"), say("end")), Tools: []tool.Tool{slow, w},
			CanUseTool: func(_ context.Context, call tool.Call, v permission.Decision) (permission.Decision, error) {
				if v.Behavior != permission.Asked || call.Name == "slow" {
					return permission.Allow(), nil
				}
				asked = append(asked, v.Reason)
				if len(asked) > 1 {
					return by("ann", -time.Second), nil
				}
				return by("ann", 20*time.Millisecond), nil
			}}
		res, err := a.Prompt(t.Context(), "go")
		if err != nil || ran > 0 || len(res.Denials) != 1 {
			t.Fatalf("dontAsk %v: ran %d times, %+v, %v", dontAsk, ran, res, err)
		}
		want, reason := 2, "had ended when it was given"
		if dontAsk {
			want, reason = 1, "dontAsk"
		}
		if len(asked) != want || !strings.Contains(res.Denials[0].Reason, reason) {
			t.Errorf("dontAsk %v: asked %q, denied because %q", dontAsk, asked, res.Denials[0].Reason)
		}
	}
}

// A question that nobody answers in time is denied: while the callback is asked, and when a
// suspended run is resumed. It cannot be allowed any more.
func TestQuestionExpires(t *testing.T) {
	t.Run("memory", func(t *testing.T) { testQuestionExpires(t, session.Memory()) })
	t.Run("folder", func(t *testing.T) { testQuestionExpires(t, session.Dir(t.TempDir())) })
}

func testQuestionExpires(t *testing.T, store session.Store) {
	w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
		t.Error("the call ran")
		return tool.Text("ok"), nil
	})
	until := time.Now().Add(time.Second)
	a := &agent.Agent{Model: llmtest.Script(uses("write"), say("end")), Tools: []tool.Tool{w}, Sessions: store,
		CanUseTool: func(_ context.Context, _ tool.Call, v permission.Decision) (permission.Decision, error) {
			if v.Behavior != permission.Asked {
				return permission.Decision{}, nil
			}
			return permission.Decision{Behavior: permission.Deferred, Expires: until}, nil
		}}
	s := a.Session("s")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
		t.Fatal(err)
	}
	pending, err := s.Pending(t.Context())
	if err != nil || len(pending) != 1 || !pending[0].Expires.Equal(until) {
		t.Fatalf("%+v, %v", pending, err)
	}
	listed := func(want session.State, questions int) {
		t.Helper()
		info, err := session.Stat(t.Context(), store, "s")
		waiting, failed := session.Waiting(t.Context(), store)
		if err != nil || failed != nil || info.State != want || len(waiting) != questions {
			t.Errorf("%v with %+v, %v, %v; want %v with %d questions", info.State, waiting, err, failed, want, questions)
		}
		for _, q := range waiting {
			if !q.Expires.Equal(until) {
				t.Errorf("the question ends %v, want %v", q.Expires, until)
			}
		}
	}
	listed(session.StateWaiting, 1)
	time.Sleep(time.Until(until) + 5*time.Millisecond)
	listed(session.StateUnfinished, 0)
	if err := s.Decide(t.Context(), pending[0].Call.ID, permission.Allow()); !errors.Is(err, agent.ErrNoQuestion) {
		t.Errorf("allowed too late: %v", err)
	}
	resume(t, s)
	if r := s.Result(); r.Reason != event.Completed || len(r.Denials) != 1 || !strings.Contains(r.Denials[0].Reason, "nobody answered until") {
		t.Errorf("%+v", r)
	}

	b := &agent.Agent{Model: llmtest.Script(uses("write"), say("end")), Tools: []tool.Tool{w},
		Deciders: []permission.Decider{judge(func(permission.Request) permission.Decision {
			d := permission.Ask("for a moment")
			d.Expires = time.Now().Add(20 * time.Millisecond)
			return d
		})},
		CanUseTool: func(ctx context.Context, _ tool.Call, _ permission.Decision) (permission.Decision, error) {
			<-ctx.Done()
			return permission.Allow(), nil
		}}
	res, err := b.Prompt(t.Context(), "go")
	if err != nil || len(res.Denials) != 1 || !strings.Contains(res.Denials[0].Reason, "nobody answered until") {
		t.Errorf("%+v, %v", res, err)
	}
}

// judge is a Decider that is a function.
type judge func(permission.Request) permission.Decision

func (j judge) Decide(r permission.Request) permission.Decision { return j(r) }

// Deciders and the callback learn whose call it is, also of sub-agents. Decisions of hooks
// and denials say who made them.
func TestJudgesKnowTheCaller(t *testing.T) {
	var seen, called []string
	note := judge(func(r permission.Request) permission.Decision {
		if r.Tool == "write" {
			seen = append(seen, r.Agent+" "+r.Session+" "+r.Root)
		}
		return permission.Decision{}
	})
	w := write(func(context.Context, tool.Call, int) (*tool.Result, error) { return tool.Text("ok"), nil })
	kind := &agent.Agent{Name: "helper", Model: llmtest.Script(uses("write"), say("helped")), Tools: []tool.Tool{w}}
	a := &agent.Agent{Name: "lead", Model: llmtest.Script(delegates(1), uses("write"), say("end")), Tools: []tool.Tool{delegate(kind, false), w}, Deciders: []permission.Decider{note},
		CanUseTool: func(_ context.Context, call tool.Call, v permission.Decision) (permission.Decision, error) {
			if call.Name == "write" && v.Behavior == permission.Asked {
				called = append(called, call.Agent+" "+call.Session+" "+call.Root)
				return permission.Decision{Behavior: permission.Denied, By: "ann", Reason: "no"}, nil
			}
			return permission.Decision{}, nil
		}}
	s := a.Session("root")
	defer s.Close()
	res, err := s.Prompt(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range called {
		if !slices.Contains(seen, c) {
			t.Errorf("the callback was asked for %q, the judge for %q", c, seen)
		}
	}
	if len(called) != 2 || !strings.HasPrefix(called[0], "helper ") || !strings.HasSuffix(called[0], " root") || called[1] != "lead root " {
		t.Errorf("asked for %q", called)
	}
	if len(res.Denials) != 1 || res.Denials[0].By != "ann" {
		t.Errorf("denials %+v", res.Denials)
	}

	h := hook.Hook{Name: "guard", On: hook.PreToolUse, Func: func(context.Context, *hook.Input) (hook.Output, error) {
		return hook.Output{Permission: permission.Denied, Reason: "never"}, nil
	}}
	b := &agent.Agent{Model: llmtest.Script(uses("write"), say("end")), Tools: []tool.Tool{w}, Hooks: []hook.Hook{h}}
	if res, err = b.Prompt(t.Context(), "go"); err != nil || len(res.Denials) != 1 || res.Denials[0].By != "guard" {
		t.Errorf("%+v, %v", res, err)
	}
	data, err := json.Marshal(permission.Decision{Behavior: permission.Allowed})
	if err != nil || string(data) != `{"behavior":"allow"}` {
		t.Errorf("a decision of nobody is %s, %v", data, err)
	}
}
