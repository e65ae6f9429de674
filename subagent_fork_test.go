package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A onePlace store has one place for all sessions.
type onePlace struct{ session.Store }

var forkStores = map[string]func(t *testing.T) session.Store{
	"memory":     func(*testing.T) session.Store { return session.Memory() },
	"dir":        func(t *testing.T) session.Store { return session.Dir(t.TempDir()) },
	"one's own":  func(*testing.T) session.Store { return onePlace{session.Memory()} },
	"plain, dir": func(t *testing.T) session.Store { return onePlace{session.Dir(t.TempDir())} },
}

// forkStage is a session whose agent writes once, and counts its writes.
type forkStage struct {
	mu     sync.Mutex
	writes int
	small  *llmtest.Model
}

func (f *forkStage) agent(t *testing.T, store session.Store, background bool) *agent.Agent {
	w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.writes++
		return tool.Text("wrote"), nil
	})
	f.small = byTurn(t, uses("double"), llmtest.Call(llmtest.Use("", "write", number{1})), say("helped"), say("once more"))
	kind := &agent.Agent{Name: "helper", Model: f.small, Tools: []tool.Tool{double, w}}
	return &agent.Agent{Model: byTurn(t, delegates(1), say("end"), say("end")), Tools: []tool.Tool{delegate(kind, background), w}, Permissions: bypass, Sessions: store}
}

// forked returns a fork that was made in a store, as a host does.
func forked(t *testing.T, store session.Store, from, to string, through int64) string {
	t.Helper()
	if err := session.Fork(t.Context(), store, from, to, through); err != nil {
		t.Fatal(err)
	}
	return to
}

func resume(t *testing.T, s *agent.Session) {
	t.Helper()
	if open, err := s.CanResume(t.Context()); err != nil {
		t.Fatal(err)
	} else if !open {
		return
	}
	for _, err := range s.Resume(t.Context()) {
		if err != nil {
			t.Error(err)
		}
	}
}

// A run is interrupted while an agent works. It continues in a fork, and in a fork of the
// fork, without repeating the agent's work. So does the session itself.
func TestForkGoesOnWithAgents(t *testing.T) {
	for name, made := range forkStores {
		t.Run(name, func(t *testing.T) {
			tp, f := &tape{}, new(forkStage)
			run := f.agent(t, recording{session.Memory(), "", tp}, false).Session("s")
			if _, err := run.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			run.Close()
			for cut := 2; cut <= len(tp.facts); cut++ {
				store := made(t)
				tp.put(t, store, cut)
				forksGoOn(t, fmt.Sprintf("after %d facts", cut), store, tp, cut)
			}
		})
	}
}

func forksGoOn(t *testing.T, name string, store session.Store, tp *tape, cut int) {
	t.Helper()
	answers, begun := tp.did(cut)
	forked(t, store, "s", "fork", 0)
	forked(t, store, "fork", "second", 0)
	for _, id := range []string{"second", "s", "fork"} {
		f := new(forkStage)
		run := f.agent(t, store, false).Session(id)
		if open, err := run.CanResume(t.Context()); err != nil {
			t.Fatal(err)
		} else if !open {
			run.Close()
			continue
		}
		resume(t, run)
		if begun+f.writes != 1 {
			t.Errorf("%s, %s: the write had begun %d times, and ran %d times", name, id, begun, f.writes)
		}
		if n := len(f.small.Requests()); answers+n != 3 {
			t.Errorf("%s, %s: %d answers were on record, and %d were asked for", name, id, answers, n)
		}
		run.Close()
	}
}

// An agent that has ended can be resumed in a fork by its id, in any store. In the fork and
// in the original it continues from the same work, independently. A fork of an earlier fact
// does not know later work.
func TestForkSendsAgentsBack(t *testing.T) {
	for name, made := range forkStores {
		t.Run(name, func(t *testing.T) {
			store, f := made(t), new(forkStage)
			a := f.agent(t, store, false)
			run := a.Session("s")
			events, err := collect(t, run, "go")
			if err != nil {
				t.Fatal(err)
			}
			run.Close()
			id, ended := "", int64(0)
			for _, e := range events {
				switch d := e.Data.(type) {
				case event.AgentStart:
					id = d.Session
				case event.AgentEnd:
					ended = e.Seq
				}
			}
			forked(t, store, "s", "fork", 0)
			if got := sentBack(t, a, "s", id, "in the original"); !strings.HasSuffix(got, "|in the original") {
				t.Errorf("the original's agent read %q", got)
			}
			forked(t, store, "s", "early", ended)
			forked(t, store, "fork", "second", 0)
			for _, to := range []string{"fork", "second", "early"} {
				got := sentBack(t, a, to, id, "in "+to)
				if got != "work 1|in "+to {
					t.Errorf("the agent of %s read %q", to, got)
				}
			}
			if f.writes != 1 {
				t.Errorf("it wrote %d times", f.writes)
			}
			if list, err := store.List(t.Context()); name != "one's own" && name != "plain, dir" && (err != nil || len(list) != 4) {
				t.Errorf("%d sessions, %v", len(list), err)
			}
		})
	}
}

// sentBack sends the agent of an id back to work and returns what it reads of users.
func sentBack(t *testing.T, a *agent.Agent, session, id, task string) string {
	t.Helper()
	small := &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step { return say("once more") }}
	own := *a
	own.Model = llmtest.Script(uses("back"), say("end"))
	own.Tools = append([]tool.Tool{tool.New(tool.Spec{Name: "back", Idempotent: true}, func(ctx context.Context, call tool.Call, _ number) (*tool.Result, error) {
		p, _ := agent.ParentOf(ctx)
		res, err := p.Run(ctx, agent.Child{Agent: &agent.Agent{Name: "helper", Model: small}, Call: call.ID, Session: id, Input: agent.Input{Text: task}})
		if err != nil {
			return nil, err
		}
		return tool.Text(res.Text), nil
	})}, own.Tools...)
	s := own.Session(session)
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "again"); err != nil {
		t.Fatal(err)
	}
	if len(small.Requests()) == 0 {
		messages, _ := s.Messages(t.Context())
		t.Fatalf("%s: the agent was not asked: %+v", session, messages[len(messages)-2])
	}
	var said []string
	for _, m := range small.Requests()[0].Messages {
		if m.Role == llm.User && m.Text() != "" {
			said = append(said, m.Text())
		}
	}
	return strings.Join(said, "|")
}

// An agent in the background that works when a session is forked belongs to that
// session: the fork is told that it was cut short, and can send it on.
func TestForkWhileAgentsWork(t *testing.T) {
	for name, made := range forkStores {
		t.Run(name, func(t *testing.T) {
			store, at := made(t), make(chan struct{})
			waits := tool.New(tool.Spec{Name: "waits", ReadOnly: true, Timeout: -1}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
				close(at)
				<-ctx.Done()
				return nil, ctx.Err()
			})
			kind := &agent.Agent{Name: "helper", Model: llmtest.Script(uses("waits")), Tools: []tool.Tool{waits}}
			a := &agent.Agent{Model: llmtest.Script(delegates(1), say("end"), say("end")), Tools: []tool.Tool{delegate(kind, true)}, Sessions: store}
			run := a.Session("s")
			defer run.Close()
			if _, err := run.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			<-at
			f, err := run.Fork(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if len(run.Children()) != 1 || len(f.Children()) != 0 {
				t.Errorf("%d at work in the original, %d in the fork", len(run.Children()), len(f.Children()))
			}
			if _, err := f.Prompt(t.Context(), "and?"); err != nil {
				t.Fatal(err)
			}
			messages, err := f.Messages(t.Context())
			if err != nil || !strings.Contains(fmt.Sprint(messages), "the program ended while the agent worked") {
				t.Errorf("the fork was told %v, %v", messages, err)
			}
			if len(run.Children()) != 1 {
				t.Error("the fork has ended the original's agent")
			}
		})
	}
}
