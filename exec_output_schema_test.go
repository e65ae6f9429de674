package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/responses"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

type author struct {
	Name  string   `json:"name" jsonschema:"the full name"`
	Age   int      `json:"age"`
	Langs []string `json:"langs,omitempty"`
}

// replies are what a model says to the requests for an answer: three kinds of bad
// ones, then a good one.
var replies = []string{"I think it is Ada, 36.", `{"name":"Ada","age":"old"}`, `{"name":"Ada","born":1815}`, `{"name":"Ada","age":36,"langs":null}`}

// shapedBy are the models that can be held to a schema by their providers and those that cannot.
func shapedBy(s *llmtest.Server) map[string]struct {
	model  llm.Model
	native bool
} {
	return map[string]struct {
		model  llm.Model
		native bool
	}{
		"anthropic":      {(&anthropic.Client{BaseURL: "http://api.anthropic.com", APIKey: "k", HTTP: s.Client()}).Model("claude-sonnet-4-6"), true},
		"anthropic tool": {(&anthropic.Client{BaseURL: "http://api.anthropic.com", APIKey: "k", HTTP: s.Client()}).Model("claude-opus-4-1"), false},
		"openai":         {(&openai.Client{BaseURL: "http://api.openai.com/v1", APIKey: "k", HTTP: s.Client()}).Model("gpt-5"), true},
		"responses":      {(&responses.Client{BaseURL: "http://api.openai.com/v1", APIKey: "k", HTTP: s.Client()}).Model("gpt-5"), true},
		"gemini":         {(&openai.Client{BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", APIKey: "k", HTTP: s.Client()}).Model("gemini-2.5-pro"), false},
		"openai tool":    {(&openai.Client{BaseURL: "http://api.openai.com/v1", APIKey: "k", HTTP: s.Client()}).Model("gpt-3.5-turbo"), false},
	}
}

func TestPromptAs(t *testing.T) {
	for name := range shapedBy(llmtest.NewPipe(t)) {
		for _, tools := range [][]tool.Tool{nil, {double}} {
			t.Run(name, func(t *testing.T) {
				s := llmtest.NewPipe(t)
				way := shapedBy(s)[name]
				n := 0
				s.Rule = func(req *llmtest.Request, _ int) llmtest.Step {
					if len(tools) > 0 && len(req.AllResults()) == 0 {
						return llmtest.Call(llmtest.Use("", "double", number{2}))
					}
					n++
					reply := replies[min(n, len(replies))-1]
					switch {
					case way.native:
						if req.Format == nil || req.HasTool(engine.OutputTool) {
							t.Errorf("request %d: format %v, tools %v", n, req.Format, req.Tools)
						}
						return llmtest.Say(reply)
					case req.Format != nil || !req.HasTool(engine.OutputTool):
						t.Errorf("request %d: format %v, tools %v", n, req.Format, req.Tools)
					}
					if want := len(tools) == 0 || n > 1; want != (req.ToolChoice.Name == engine.OutputTool) {
						t.Errorf("request %d: choice %+v", n, req.ToolChoice)
					}
					if !json.Valid([]byte(reply)) {
						return llmtest.Say(reply)
					}
					return llmtest.Call(llmtest.Use("", engine.OutputTool, json.RawMessage(reply)))
				}
				a := &agent.Agent{Model: way.model, Tools: tools}
				who, res, err := agent.PromptAs[author](t.Context(), a, "Who wrote the first program?")
				if err != nil || who.Name != "Ada" || who.Age != 36 || string(res.Output) != `{"name":"Ada","age":36}` || res.Text != string(res.Output) || res.Reason != event.Completed {
					t.Fatalf("%+v, %+v, %v", who, res, err)
				}
				last := s.Requests()[len(s.Requests())-1].Transcript()
				for _, words := range []string{"it is not valid JSON", `age must be an integer, not the string "old"`, "born is unknown", "age is required but missing", `expected: {"age": integer, "langs"?: [string, …], "name": string}`} {
					if !strings.Contains(last, words) {
						t.Errorf("the model was not told %q:\n%s", words, last)
					}
				}
				for _, v := range s.Violations() {
					t.Error(v)
				}
			})
		}
	}
}

// A model whose answers stay invalid gets the configured number of corrections.
func TestOutputInvalid(t *testing.T) {
	for corrections, asked := range map[int]int{0: 4, 1: 2, -1: 1} {
		for _, native := range []bool{true, false} {
			m := &llmtest.Model{Facts: llm.Info{Formats: native}, Rule: func(*llmtest.Request, int) llmtest.Step { return llmtest.Say("no idea") }}
			a := &agent.Agent{Model: m}
			res, err := a.Do(t.Context(), agent.Input{Text: "who?", Output: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`), Corrections: corrections})
			var bad *agent.OutputError
			var end *agent.EndError
			if !errors.Is(err, agent.ErrOutputInvalid) || !errors.As(err, &bad) || !errors.As(err, &end) || bad.Said != "no idea" || !strings.Contains(bad.Problem, "not valid JSON") {
				t.Errorf("%v", err)
			}
			if res.Reason != event.OutputInvalid || res.Output != nil || res.Turns != asked || len(m.Requests()) != asked {
				t.Errorf("%d corrections: %+v", corrections, res)
			}
		}
	}
}

// Text around the answer does not matter, as long as there is one answer.
func TestOutputAmongWords(t *testing.T) {
	const good = `{"name":"Ada","age":36}`
	for said, ok := range map[string]bool{
		"```json\n" + good + "\n```":           true,
		"Here it is: " + good + " {sic}":       true,
		`Not {"x":1}, but ` + good:             true,
		good + " or " + good:                   false,
		`[` + good + `]`:                       false,
		`"` + good:                             true,
		``:                                     false,
		`null`:                                 false,
		`{"name":"Ada","age":36`:               false,
		`{"name":"Ada","name":"Bob","age":36}`: false,
		strings.Repeat(`{`, 100_000) + good:    false,
		"\uFEFF" + good:                        true,
		`{"name":"Ada","age":36.0,"langs":"[\"en\"]"}`:               true,
		`{"person":` + good + `}`:                                    false,
		strings.Repeat(`{"x":1} `, 200) + good:                       false,
		"thinking {a: b}\n```\n{\"name\":\"Ada\",\n\"age\":36}\n```": true,
	} {
		m := &llmtest.Model{Facts: llm.Info{Formats: true}, Steps: []llmtest.Step{llmtest.Say(said)}}
		a := &agent.Agent{Model: m}
		who, err := func() (author, error) {
			s := a.Session("")
			defer s.Close()
			res, err := s.Do(t.Context(), agent.Input{Text: "who?", Output: schemaOf(t, author{}), Corrections: -1})
			var p author
			if err == nil {
				err = json.Unmarshal(res.Output, &p)
			}
			return p, err
		}()
		if ok != (err == nil) || ok && (who.Name != "Ada" || who.Age != 36) {
			t.Errorf("%.80q: %+v, %v", said, who, err)
		}
	}
}

func schemaOf(t *testing.T, v any) json.RawMessage {
	t.Helper()
	if _, ok := v.(author); !ok {
		t.Fatal("another type")
	}
	return json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"langs":{"type":"array","items":{"type":"string"}}},"required":["name","age"],"additionalProperties":false}`)
}

func TestPromptAsKinds(t *testing.T) {
	m := func(said string) *agent.Agent {
		return &agent.Agent{Model: &llmtest.Model{Facts: llm.Info{Formats: true}, Rule: func(req *llmtest.Request, _ int) llmtest.Step {
			if req.HasTool(engine.OutputTool) {
				return llmtest.Call(llmtest.Use("", engine.OutputTool, json.RawMessage(said)))
			}
			return llmtest.Say(said)
		}}}
	}
	if n, _, err := agent.PromptAs[int](t.Context(), m(`{"value":3}`), "how many?"); n != 3 || err != nil {
		t.Error(n, err)
	}
	if list, _, err := agent.PromptAs[[]string](t.Context(), m(`{"value":["a"]}`), "which?"); len(list) != 1 || err != nil {
		t.Error(list, err)
	}
	if p, _, err := agent.PromptAs[*author](t.Context(), m(`{"name":"Ada","age":3}`), "who?"); err != nil || p.Age != 3 {
		t.Error(p, err)
	}
	if all, _, err := agent.PromptAs[map[string]int](t.Context(), m(`{"a":3}`), "count"); all["a"] != 3 || err != nil { // by the tool
		t.Error(all, err)
	}
	if _, _, err := agent.PromptAs[chan int](t.Context(), m(`{}`), "?"); !errors.Is(err, agent.ErrConfig) {
		t.Error(err)
	}
	for _, schema := range []string{`{`, `{"type":"string"}`, `{"anyOf":[]}`, `[]`} {
		if _, err := m(`{}`).Do(t.Context(), agent.Input{Text: "?", Output: json.RawMessage(schema)}); !errors.Is(err, agent.ErrConfig) {
			t.Error(schema, err)
		}
	}
	a := m(`{}`)
	a.Tools = []tool.Tool{tool.Func(tool.Spec{Name: engine.OutputTool}, func(context.Context, number) (int, error) { return 0, nil })}
	if _, err := a.Do(t.Context(), agent.Input{Text: "?", Output: json.RawMessage(`{"type":"object"}`)}); !errors.Is(err, agent.ErrConfig) {
		t.Error(err)
	}
}

// Refusals and limits end a prompt with a schema as any other.
func TestOutputOtherEnds(t *testing.T) {
	in := agent.Input{Text: "who?", Output: schemaOf(t, author{})}
	for name, c := range map[string]struct {
		step   llmtest.Step
		budget agent.Budget
		want   event.EndReason
		turns  int
	}{
		"refused":     {llmtest.Step{Text: "no", Stop: llm.Refusal}, agent.Budget{}, event.Refused, 1},
		"turns":       {llmtest.Say("no"), agent.Budget{Turns: 2}, event.MaxTurns, 2},
		"model calls": {llmtest.Say("no"), agent.Budget{ModelCalls: 3}, event.MaxModelCalls, 3},
		"cut":         {llmtest.Step{Text: `{"name":"`, Stop: llm.MaxTokens}, agent.Budget{}, event.OutputInvalid, 4},
		"empty":       {llmtest.Step{Stop: llm.EndTurn}, agent.Budget{}, event.OutputInvalid, 4},
	} {
		m := &llmtest.Model{Facts: llm.Info{Formats: true}, Rule: func(*llmtest.Request, int) llmtest.Step { return c.step }}
		res, err := (&agent.Agent{Model: m, Budget: c.budget}).Do(t.Context(), in)
		if err == nil || res.Reason != c.want || res.Turns != c.turns || res.Output != nil {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
}

// A run that is cut short at any fact goes on with its corrections where it was.
func TestOutputResumed(t *testing.T) {
	for _, native := range []bool{true, false} {
		rule := func(req *llmtest.Request, _ int) llmtest.Step {
			n := strings.Count(req.Transcript(), "does not satisfy")
			reply := replies[min(n, len(replies)-1)]
			if native || !json.Valid([]byte(reply)) {
				return llmtest.Say(reply)
			}
			return llmtest.Call(llmtest.Use("", engine.OutputTool, json.RawMessage(reply)))
		}
		store := session.Memory()
		var stops []string
		a := &agent.Agent{Model: &llmtest.Model{Facts: llm.Info{Formats: native}, Rule: rule}, Sessions: store, Hooks: []hook.Hook{{On: hook.Stop, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
			stops = append(stops, in.Last)
			return hook.Output{}, nil
		}}}}
		s := a.Session("s")
		res, err := s.Do(t.Context(), agent.Input{Text: "who?", Output: schemaOf(t, author{})})
		if err != nil || res.Turns != 4 || len(stops) != 1 || stops[0] != `{"name":"Ada","age":36}` {
			t.Fatalf("%+v, %v, %q", res, err, stops)
		}
		last := int64(0)
		for e := range store.Read(t.Context(), "s", 0) {
			last = e.Seq
		}
		for through := int64(3); through < last; through++ {
			f, err := s.Fork(t.Context(), through)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range f.Resume(t.Context()) {
				if err != nil {
					t.Fatal(through, err)
				}
			}
			if got := f.Result(); string(got.Output) != string(res.Output) || got.Turns != res.Turns {
				t.Errorf("cut after %d: %+v", through, got)
			}
			f.Close()
		}
		s.Close()
	}
}

// A second prompt of a session may have another schema, or none.
func TestOutputPerPrompt(t *testing.T) {
	m := &llmtest.Model{Facts: llm.Info{Formats: true}, Rule: func(req *llmtest.Request, _ int) llmtest.Step {
		if req.Format == nil {
			return llmtest.Say("hello")
		}
		return llmtest.Say(`{"value":2}`)
	}}
	s := (&agent.Agent{Model: m}).Session("")
	defer s.Close()
	if n, _, err := agent.PromptAs[int](t.Context(), s, "how many?"); n != 2 || err != nil {
		t.Error(n, err)
	}
	if res, err := s.Prompt(t.Context(), "hi"); err != nil || res.Text != "hello" || res.Output != nil {
		t.Error(res, err)
	}
	if ok, _, err := agent.PromptAs[bool](t.Context(), s, "is it?"); !errors.Is(err, agent.ErrOutputInvalid) {
		t.Error(ok, err)
	}
}

// A fallback model that is held to the schema in another way goes on with the answer.
func TestOutputFallback(t *testing.T) {
	down := &llmtest.Model{ID: "native", Facts: llm.Info{Formats: true}, Rule: func(req *llmtest.Request, n int) llmtest.Step {
		if req.Format == nil || req.HasTool(engine.OutputTool) {
			t.Errorf("native: %v", req.Format)
		}
		if n == 0 {
			return llmtest.Say("no JSON")
		}
		return llmtest.Fail(&llm.APIError{Class: llm.Overloaded, Status: 529, RetryAfter: -1})
	}}
	other := &llmtest.Model{ID: "other", Rule: func(req *llmtest.Request, _ int) llmtest.Step {
		if req.Format != nil || !req.HasTool(engine.OutputTool) || req.ToolChoice.Name != engine.OutputTool {
			t.Errorf("other: %v %+v", req.Format, req.ToolChoice)
		}
		return llmtest.Call(llmtest.Use("", engine.OutputTool, map[string]any{"name": "Ada", "age": 36}))
	}}
	a := &agent.Agent{Model: down, Fallbacks: []llm.Model{other}, Retry: &agent.Retry{Tries: -1}}
	who, res, err := agent.PromptAs[author](t.Context(), a, "who?")
	if err != nil || who.Age != 36 || res.Turns != 2 {
		t.Errorf("%+v, %+v, %v", who, res, err)
	}
}

// A model that thinks is not forced, which would switch its thinking off.
func TestOutputThinking(t *testing.T) {
	s := llmtest.NewPipe(t)
	n := 0
	s.Rule = func(req *llmtest.Request, _ int) llmtest.Step {
		if n++; n == 1 {
			return llmtest.Step{Thinking: "hm", Text: "Ada"}
		}
		if req.ToolChoice.Mode != "" || req.Thinking.Budget == 0 {
			t.Errorf("choice %+v, thinking %+v", req.ToolChoice, req.Thinking)
		}
		return llmtest.Step{Thinking: "hm", Calls: []llm.ToolUse{llmtest.Use("", engine.OutputTool, map[string]any{"name": "Ada", "age": 36})}}
	}
	a := &agent.Agent{Model: (&anthropic.Client{BaseURL: "http://api.anthropic.com", APIKey: "k", HTTP: s.Client()}).Model("claude-opus-4-1"), Thinking: llm.Thought{Budget: 2000}}
	who, _, err := agent.PromptAs[author](t.Context(), a, "who?")
	if err != nil || who.Age != 36 {
		t.Errorf("%+v, %v", who, err)
	}
	for _, v := range s.Violations() {
		t.Error(v)
	}
}
