package subagent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
)

// Ids that are none of an agent that has ended are refused, and nothing begins.
func TestResumeIDs(t *testing.T) {
	s := newStage(t)
	var calls []llm.ToolUse
	ids := []string{"../../s", "..", "a/b", "/etc/passwd", "nobody", "\x00", strings.Repeat("a", 5000), "c4.0", "ÿ"}
	for _, id := range ids {
		calls = append(calls, spawn("again", map[string]any{"resume": id}))
	}
	s.plays("go", calls, func(r *llmtest.Request) llmtest.Step {
		for i, b := range r.Messages[2].Content {
			if res := b.(llm.ToolResult); !res.IsError {
				t.Errorf("resume %q: %s", ids[i], res.Content.Text())
			}
		}
		return llmtest.Step{Text: "end"}
	})
	if res := s.prompt("go"); len(res.Agents) > 0 {
		t.Errorf("agents worked: %+v", res.Agents)
	}
}

// Of two calls that send one agent back to work at once one does; it is shown and
// stopped as the one that works.
func TestResumedTwice(t *testing.T) {
	s := newStage(t)
	var n atomic.Int32
	hold := make(chan struct{})
	part := func(*llmtest.Request) llmtest.Step {
		if n.Add(1) > 1 {
			<-hold
		}
		return llmtest.Step{Text: "learnt"}
	}
	s.plays("learn", part, part, part)
	var id string
	s.plays("go", spawn("learn", nil), func(r *llmtest.Request) llmtest.Step {
		_, rest, _ := strings.Cut(told(r), "agent id: ")
		id, _, _ = strings.Cut(rest, ",")
		again := map[string]any{"resume": id, "run_in_background": true}
		return llmtest.Step{Calls: []llm.ToolUse{spawn("more", again), spawn("more", again)}}
	}, func(r *llmtest.Request) llmtest.Step {
		if strings.Count(told(r), "runs in the background") != 1 || strings.Count(told(r), "the agent "+id+" is at work") != 1 {
			t.Errorf("told %q", told(r))
		}
		return llmtest.Call(use("TaskOutput", map[string]any{"id": id}))
	}, func(r *llmtest.Request) llmtest.Step {
		if !strings.Contains(told(r), "is at work, since") {
			t.Errorf("told %q", told(r))
		}
		close(hold)
		return llmtest.Step{Text: "x"}
	}, "end", "end")
	s.prompt("go")
	if n := n.Load(); n != 2 {
		t.Errorf("it worked %d times", n)
	}
}

// Agents that wait for each other learn after a time that the work continues. (W8)
func TestAgentsWaitForEachOther(t *testing.T) {
	s := newStage(t)
	synctest.Test(t, func(t *testing.T) {
		wait := func(name string) func(*llmtest.Request) llmtest.Step {
			return func(*llmtest.Request) llmtest.Step {
				time.Sleep(time.Second) // the other has begun
				return llmtest.Call(use("TaskOutput", map[string]any{"id": name, "wait_ms": 600_000}))
			}
		}
		member := func(name string) map[string]any { return map[string]any{"name": name, "run_in_background": true} }
		for _, pair := range [][2]string{{"ann", "bob"}, {"bob", "ann"}} {
			s.plays(pair[0], wait(pair[1]), func(r *llmtest.Request) llmtest.Step {
				return llmtest.Step{Text: pair[0] + " was told: " + told(r)}
			})
		}
		s.plays("go", []llm.ToolUse{spawn("ann", member("ann")), spawn("bob", member("bob"))}, "waiting", "waiting", "end")
		s.agent.AwaitAgents = true
		began := time.Now()
		run := s.agent.Session("")
		defer run.Close()
		if _, err := run.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 10*time.Minute+time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// An agent is stopped at any moment from its start on: it does not work on.
func TestStoppedWhileItStarts(t *testing.T) {
	s := newStage(t)
	for i := range 50 {
		synctest.Test(t, func(t *testing.T) {
			prompt := fmt.Sprint("go ", i)
			s.plays("work", func(*llmtest.Request) llmtest.Step { return llmtest.Step{Text: "worked", Delay: time.Hour} })
			s.plays(prompt, spawn("work", map[string]any{"name": "ann", "run_in_background": true}), "end", "end")
			s.agent.AwaitAgents = true
			run := s.agent.Session("")
			defer run.Close()
			stopped := make(chan error, 1)
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				for {
					res, err := spawnerOf(s.manager).Stop(ctx, tool.Call{Session: run.ID}, "ann")
					if res != nil || ctx.Err() != nil {
						stopped <- err
						return
					}
					time.Sleep(0)
				}
			}()
			began := time.Now()
			if _, err := run.Prompt(t.Context(), prompt); err != nil {
				t.Fatal(err)
			}
			if err := <-stopped; err != nil || time.Since(began) > time.Minute {
				t.Errorf("it ended after %v, %v", time.Since(began), err)
			}
		})
	}
}

// A flaky team forgets to take mail out once: its program died after it was on record.
type flaky struct {
	*teamstore.Memory
	died atomic.Bool
}

func (f *flaky) Take(ctx context.Context, space, name string, keep func([]teamstore.Message) error) error {
	return f.Memory.Take(ctx, space, name, func(mail []teamstore.Message) error {
		err := keep(mail)
		if err == nil && name == "ann" && !f.died.Swap(true) {
			err = errors.New("gone")
		}
		return err
	})
}

// Mail that is on record with its reader and still in the box puts it to work once.
func TestMailOnRecord(t *testing.T) {
	s := newStage(t)
	synctest.Test(t, func(t *testing.T) {
		s.manager.Team = (*team.Store)(teamstore.NewStore(&flaky{Memory: s.team}))
		var reads atomic.Int32
		read := func(r *llmtest.Request) llmtest.Step {
			reads.Add(1)
			return llmtest.Step{Text: "ann has read"}
		}
		s.plays("ann's work", "ann is idle", read, read, read)
		s.plays("go", use("TeamCreate", map[string]any{"name": "red", "members": []string{"ann"}}),
			spawn("ann's work", map[string]any{"name": "ann"}), "waiting",
			use("SendMessage", map[string]any{"to": "ann", "message": "hello"}), "sent", "end", "end", "end")
		run := s.agent.Session("")
		defer run.Close()
		for _, prompt := range []string{"go", "write"} {
			if _, err := run.Prompt(t.Context(), prompt); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if n := reads.Load(); n != 1 {
			t.Errorf("ann has read %d times", n)
		}
		if err := s.team.Take(t.Context(), run.ID, "ann", func(left []teamstore.Message) error {
			return fmt.Errorf("in the box: %v", left)
		}); err != nil {
			t.Error(err)
		}
		var starts int
		for e := range s.agent.Sessions.Read(t.Context(), run.ID, 0) {
			if f, ok := e.Data.(event.AgentStart); ok && f.Agent == "ann" {
				starts++
			}
		}
		if starts != 2 {
			t.Errorf("ann was put to work %d times", starts)
		}
	})
}

// A store that has lost the sessions of agents.
type forgetful struct {
	session.Store
	lost atomic.Bool
}

func (f *forgetful) Under(id string) session.Store {
	if f.lost.Load() {
		return session.Memory()
	}
	return session.Under(f.Store, id)
}

// A member that cannot be started again leaves, and its leader hears of it.
func TestTeammateLost(t *testing.T) {
	s := newStage(t)
	store := &forgetful{Store: session.Memory()}
	s.agent.Sessions, s.agent.AwaitAgents = store, true
	var last string
	s.plays("ann's work", "ann is idle")
	s.plays("go", use("TeamCreate", map[string]any{"name": "red", "members": []string{"ann"}}),
		spawn("ann's work", map[string]any{"name": "ann"}), "waiting", "waiting", "waiting")
	run := s.agent.Session("")
	defer run.Close()
	if _, err := run.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	store.lost.Store(true)
	if _, err := s.team.Send(t.Context(), run.ID, teamstore.Message{From: "main", To: "ann", Content: "hello"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	mail, err := s.team.Watch(ctx, run.ID, "main")
	if err != nil {
		t.Fatal(err)
	}
	<-mail
	if err := s.team.Take(ctx, run.ID, "main", func(m []teamstore.Message) error { last = m[0].Content; return nil }); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(last, "ann could not be put to work again") {
		t.Errorf("told %q", last)
	}
}
