package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// sendAgain sends an input once with Do and once with StreamInput, and compares the outcomes.
func sendAgain(t *testing.T, s *agent.Session, id, text string, want error) {
	t.Helper()
	res, err := s.Do(t.Context(), agent.Input{ID: id, Text: "another text"})
	if res == nil || res.Text != text || !errors.Is(err, want) {
		t.Errorf("%s again: %+v, %v", id, res, err)
	}
	var end *event.RunEnd
	prompts := 0
	var failed error
	for e, err := range s.StreamInput(t.Context(), agent.Input{ID: id, Text: "another text"}) {
		switch d := e.Data.(type) {
		case event.UserMessage:
			prompts++
		case event.RunEnd:
			end = &d
		}
		failed = err
	}
	if end == nil || end.Text != text || prompts != 1 || !errors.Is(failed, want) {
		t.Errorf("%s streamed again: %d prompts, %+v, %v", id, prompts, end, failed)
	}
}

// A compaction that is asked for again with its id is not made again.
func TestKnownCompaction(t *testing.T) {
	m := llmtest.Script(say("first"), say("a summary"), say("second"), llmtest.Fail(&llm.APIError{Class: llm.Auth, Provider: "p", Status: 401, Message: "bad key", RetryAfter: -1}))
	s := (&agent.Agent{Model: m, Compaction: &agent.Compaction{Keep: 1}}).Session("")
	defer s.Close()
	for _, text := range []string{strings.Repeat("go ", 500), "", "go on", "fail"} {
		in := agent.Input{Text: text}
		if text == "" {
			in = agent.Input{ID: "c", Compact: true}
		}
		if _, err := s.Do(t.Context(), in); (err != nil) != (text == "fail") {
			t.Fatal(text, err)
		}
	}
	if res, err := s.Do(t.Context(), agent.Input{ID: "c", Compact: true}); err != nil || res.Reason != event.Completed {
		t.Errorf("%+v, %v", res, err)
	}
}

// A known id has the outcome of its own prompt, whatever came later, also in another
// process: the result, and the error.
func TestKnownPrompt(t *testing.T) {
	w := write(func(context.Context, tool.Call, int) (*tool.Result, error) { return tool.Text("wrote"), nil })
	m := llmtest.Script(say("first"), llmtest.Fail(&llm.APIError{Class: llm.Auth, Provider: "p", Status: 401, Message: "bad key", RetryAfter: -1}), say("third"), uses("write"), say("end"))
	a := &agent.Agent{Model: m, Tools: []tool.Tool{w}, CanUseTool: deferAsked, Sessions: session.Dir(t.TempDir())}
	s := a.Session("s")
	for _, id := range []string{"1", "2", "3", "4"} {
		if _, err := s.Do(t.Context(), agent.Input{ID: id, Text: "go"}); (err != nil) != (id == "2" || id == "4") {
			t.Fatal(id, err)
		}
	}
	for range 2 {
		sendAgain(t, s, "1", "first", nil)
		sendAgain(t, s, "2", "", agent.ErrModel)
		sendAgain(t, s, "3", "third", nil)
		sendAgain(t, s, "4", "", agent.ErrSuspended)
		s.Close()
		s = a.Session("s")
		defer s.Close()
	}
	asked, err := s.Pending(t.Context())
	if err != nil || len(asked) != 1 {
		t.Fatalf("asked %+v, %v", asked, err)
	}
	if err := s.Decide(t.Context(), asked[0].Call.ID, permission.Allow()); err != nil {
		t.Fatal(err)
	}
	if res, err := s.Do(t.Context(), agent.Input{ID: "4", Text: "go"}); err != nil || res.Text != "end" { // it continues
		t.Errorf("after the decision: %+v, %v", res, err)
	}
	if n := len(m.Requests()); n != 5 {
		t.Errorf("the model was asked %d times", n)
	}
	type person struct {
		Name string `json:"name"`
	}
	if p, res, err := agent.PromptAs[person](t.Context(), withID{s, "1"}, "who?"); err == nil || res == nil {
		t.Errorf("an answer without a schema as a value: %+v, %+v, %v", p, res, err)
	}
}

// withID gives prompts an id.
type withID struct {
	*agent.Session
	id string
}

func (w withID) Do(ctx context.Context, in agent.Input) (*agent.Result, error) {
	in.ID = w.id
	return w.Session.Do(ctx, in)
}

// A known id whose run was cut short continues it, and has its result. PromptAs has the
// value.
func TestKnownUnfinished(t *testing.T) {
	type person struct {
		Name string `json:"name"`
	}
	answer := llmtest.Call(llmtest.Use("", "StructuredOutput", person{"Ann"}))
	for name, do := range map[string]func(s *agent.Session) (string, error){
		"PromptAs": func(s *agent.Session) (string, error) {
			p, res, err := agent.PromptAs[person](t.Context(), withID{s, "1"}, "who?")
			if res == nil {
				t.Error("no result")
			}
			return p.Name, err
		},
		"StreamInput": func(s *agent.Session) (text string, err error) {
			prompts := 0
			for e, err := range s.StreamInput(t.Context(), agent.Input{ID: "1", Text: "who?"}) {
				if err != nil {
					return "", err
				}
				switch d := e.Data.(type) {
				case event.UserMessage:
					prompts++
				case event.RunEnd:
					text = "Ann"
					if string(d.Output) == "" {
						t.Error("no output")
					}
				}
			}
			if prompts != 1 {
				t.Errorf("%d prompts", prompts)
			}
			return text, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			began := make(chan struct{})
			store := session.Memory()
			slow := &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step {
				close(began)
				return llmtest.Step{Delay: time.Minute}
			}}
			schema := []byte(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`)
			a := &agent.Agent{Model: slow, Sessions: store}
			if _, err := detached(t, a.Session("s"), agent.Input{ID: "1", Text: "who?", Output: schema}, began, time.Minute); !errors.Is(err, agent.ErrDetached) {
				t.Fatal(err)
			}
			a.Model = &llmtest.Model{Rule: func(r *llmtest.Request, n int) llmtest.Step {
				if len(r.Format) > 0 {
					return say(`{"name":"Ann"}`)
				}
				return answer
			}}
			s := a.Session("s")
			defer s.Close()
			for range 2 {
				if got, err := do(s); got != "Ann" || err != nil {
					t.Errorf("got %q, %v", got, err)
				}
			}
		})
	}
}
