package agent_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// saw reports whether a model got a text.
func saw(m *llmtest.Model, text string) bool {
	return slices.ContainsFunc(m.Requests(), func(r *llmtest.Request) bool { return strings.Contains(fmt.Sprint(r.Messages), text) })
}

// A message that the model has not got can be taken back, also while a sub-agent works, and a
// follow-up behind it is delivered.
func TestRetract(t *testing.T) {
	for name, agents := range map[string]bool{"during a tool": false, "during a sub-agent": true} {
		t.Run(name, func(t *testing.T) {
			began, release := make(chan struct{}), make(chan struct{})
			work := tool.New(tool.Spec{Name: "work", ReadOnly: true}, func(context.Context, tool.Call, number) (*tool.Result, error) {
				close(began)
				<-release
				return tool.Text("worked"), nil
			})
			m := llmtest.Script(uses("work"), say("first"), say("second"))
			a := &agent.Agent{Model: m, Tools: []tool.Tool{work}}
			if agents {
				m = llmtest.Script(delegates(1), say("first"), say("second"))
				a = &agent.Agent{Model: m, Tools: []tool.Tool{delegate(&agent.Agent{Name: "helper", Model: llmtest.Script(uses("work"), say("helped")), Tools: []tool.Tool{work}}, false)}}
			}
			s := a.Session("")
			defer s.Close()
			if _, err := s.Retract(t.Context(), "none"); !errors.Is(err, agent.ErrNotRunning) {
				t.Errorf("without a run: %v", err)
			}
			go func() {
				defer close(release)
				<-began
				for id, d := range map[string]func(context.Context, agent.Input) (string, error){"steered": s.Steer, "later": s.FollowUp, "kept": s.FollowUp} {
					if _, err := d(t.Context(), agent.Input{ID: id, Text: "text of " + id}); err != nil {
						t.Error(err)
					}
				}
				for _, id := range []string{"steered", "later"} {
					if ok, err := s.Retract(t.Context(), id); !ok || err != nil {
						t.Errorf("%s: %v, %v", id, ok, err)
					}
					if ok, err := s.Retract(t.Context(), id); ok || err != nil {
						t.Errorf("%s once more: %v, %v", id, ok, err)
					}
				}
			}()
			if res, err := s.Prompt(t.Context(), "go"); err != nil || res.Text != "second" {
				t.Fatalf("%+v, %v", res, err)
			}
			if saw(m, "text of steered") || saw(m, "text of later") || !saw(m, "text of kept") {
				t.Error("the model got a message that was taken back, or not the one that was kept")
			}
		})
	}
}

// Taking back and delivering exclude each other: the model has got a message exactly if Retract
// says that it did not take it back.
func TestRetractRace(t *testing.T) {
	taken := 0
	for n := range 200 {
		var s *agent.Session
		var group sync.WaitGroup
		sent, back := false, false
		work := tool.New(tool.Spec{Name: "work", ReadOnly: true}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
			if sent {
				return tool.Text("worked"), nil
			}
			sent = true
			if _, err := s.Steer(ctx, agent.Input{ID: "s", Text: "the message"}); err != nil {
				t.Error(err)
			}
			group.Go(func() {
				for range n % 40 {
					runtime.Gosched()
				}
				var err error
				if back, err = s.Retract(t.Context(), "s"); err != nil && !errors.Is(err, agent.ErrNotRunning) {
					t.Error(err)
				}
			})
			for range n / 4 {
				runtime.Gosched()
			}
			return tool.Text("worked"), nil
		})
		m := llmtest.Script(uses("work"), uses("work"), say("one"), say("two"))
		s = (&agent.Agent{Model: m, Tools: []tool.Tool{work}}).Session("")
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		group.Wait()
		if got := saw(m, "the message"); got == back {
			t.Fatalf("taken back %v, delivered %v", back, got)
		}
		if back {
			taken++
		}
		s.Close()
	}
	t.Logf("%d of 200 were taken back", taken)
}

// A message that was taken back is not delivered by a process that resumes the run after a kill.
func TestRetractResume(t *testing.T) {
	began := make(chan struct{})
	work := tool.New(tool.Spec{Name: "work", ReadOnly: true}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
		select {
		case <-began:
			return tool.Text("worked"), nil
		default:
			close(began)
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	store, killed := session.Memory(), session.Memory()
	m := llmtest.Script(uses("work"))
	s := (&agent.Agent{Model: m, Tools: []tool.Tool{work}, Sessions: store}).Session("s")
	go func() { _, _ = s.Prompt(t.Context(), "go") }()
	<-began
	for _, id := range []string{"back", "kept"} {
		if _, err := s.Steer(t.Context(), agent.Input{ID: id, Text: "text of " + id}); err != nil {
			t.Fatal(err)
		}
	}
	if ok, err := s.Retract(t.Context(), "back"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	w, err := killed.Open(t.Context(), "s", session.Header{}) // what is on record now
	if err != nil {
		t.Fatal(err)
	}
	retracted := false
	for e, err := range store.Read(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		_, is := e.Data.(fact.Retracted)
		retracted = retracted || is
		if err := w.Append(t.Context(), w.Last(), true, e); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	s.Close()
	if !retracted {
		t.Error("the journal does not say that the message was taken back")
	}

	next := llmtest.Script(say("end"))
	s = (&agent.Agent{Model: next, Tools: []tool.Tool{work}, Sessions: killed}).Session("s")
	defer s.Close()
	resume(t, s)
	if saw(next, "text of back") || !saw(next, "text of kept") {
		t.Errorf("the resumed run sent %v", next.Requests()[0].Messages)
	}
}
