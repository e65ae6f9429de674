package conversation_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/secrets"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// player plays a run without a session: it applies facts, and has effects carried out one
// after the other.
type player struct {
	t     *testing.T
	c     conversation.Conversation
	x     *executor.Executor
	facts []event.Event
	stop  func(engine.Effect) bool // ends the run before an effect; nil: none
}

func newPlayer(t *testing.T, hooks []hook.Hook, steps ...llmtest.Step) (*player, *llmtest.Model) {
	t.Helper()
	set, err := hookrun.Compile(hooks)
	if err != nil {
		t.Fatal(err)
	}
	double := tool.Func(tool.Spec{Name: "double", ReadOnly: true}, func(_ context.Context, in struct {
		N int `json:"n"`
	}) (string, error) {
		return fmt.Sprint(2 * in.N), nil
	})
	m := llmtest.Script(steps...)
	x := executor.New(executor.Config{Session: "s", Root: "r", Name: "coder", Kind: "worker", AgentID: "s", Transcript: "/j.jsonl", Hooks: set, Secrets: secrets.Of(nil, nil, nil), Log: slog.New(slog.DiscardHandler),
		Retry: func(*llm.APIError, int) executor.Retry { return executor.Retry{} }, Driver: nobody{}}, []tool.Tool{double}, []llm.Model{m})
	x.Rules.Store(policies.Compile(permission.Policy{}))
	x.Unreadable.Store(policies.Unreadable(permission.Policy{}, nil))
	return &player{t: t, c: conversation.New(), x: x}, m
}

// nobody is a driver with nobody to ask.
type nobody struct{ executor.Driver }

func (nobody) CanUseTool() executor.Callback                      { return nil }
func (nobody) StrictestMode(mode permission.Mode) permission.Mode { return mode }
func (nobody) BoundsCost() bool                                   { return false }
func (nobody) SessionTag(context.Context) string                  { return "" }

func (p *player) apply(facts ...event.Fact) {
	for _, f := range facts {
		e := event.Event{Seq: p.c.Last + 1, Prev: p.c.Last, Time: time.Now().UTC(), Session: "s", Data: f}
		p.facts = append(p.facts, e)
		p.c.Apply(e)
	}
}

// run runs a prompt and returns the effects that were carried out.
func (p *player) run(config fact.Configured, prompt string) (names []string) {
	config.Model, config.Dir, config.Roots, config.MaxTokens, config.Hooks = "script", "/w", []string{"/w"}, 100, p.x.Hooks.Events()
	config.Models = map[string]llm.Info{"script": {Price: new(llm.Price)}}
	if config.System == "" {
		config.System, config.Tools = "Be brief.", []fact.Tool{{Tool: llm.Tool{Name: "double"}}}
	}
	p.apply(config, event.UserMessage{ID: "m1", Delivery: fact.AsPrompt, Message: llm.UserText(prompt)})
	for p.c.State.Running() {
		e := p.c.State.Effects()[0]
		if r, ok := e.(engine.Record); ok {
			p.apply(r.Facts...)
			continue
		}
		if p.stop != nil && p.stop(e) {
			return names
		}
		names = append(names, strings.TrimPrefix(fmt.Sprintf("%T", e), "engine."))
		in := executor.Input{Effect: e, Signals: new(silent)}
		p.c.Prepare(p.x, &in)
		if intent := e.Intent(); intent != nil {
			p.apply(intent)
		}
		p.apply(append([]event.Fact{p.x.Do(p.t.Context(), &in)}, in.More...)...)
	}
	return names
}

// silent shows nothing.
type silent struct{ executor.Signals }

func (silent) Watched() bool               { return false }
func (silent) Show(event.Signal)           {}
func (silent) Text(string, string, string) {}

func call(id, input string) llmtest.Step {
	return llmtest.Call(llm.ToolUse{ID: id, Name: "double", Input: []byte(input)})
}

// A conversation, an executor and a model make a run: no session is needed to follow one.
func TestRun(t *testing.T) {
	p, m := newPlayer(t, nil, call("x", `{"n":21}`), llmtest.Step{Text: "It is 42."})
	if got := p.run(fact.Configured{}, "Double 21."); !slices.Equal(got, []string{"CallModel", "Authorize", "RunTool", "CallModel"}) {
		t.Errorf("effects %v", got)
	}
	requests := m.Requests()
	last := requests[1]
	if last.System != "Be brief." || last.Session != "s" || len(last.Messages) != 3 || len(last.Tools) != 1 || last.MaxTokens != 100 {
		t.Errorf("the last request is %+v", last)
	}
	// The same facts are the same conversation.
	again := conversation.New()
	for _, e := range p.facts {
		again.Apply(e)
	}
	if again.Last != p.c.Last || len(again.Transcript.Messages) != len(p.c.Transcript.Messages) || again.Transcript.Messages[3].Text() != "It is 42." {
		t.Errorf("replayed: %+v", again.Transcript.Messages)
	}
}

// Only the first answer is forced to be a call: later ones must be able to end the run.
func TestForcedCall(t *testing.T) {
	p, m := newPlayer(t, nil, call("x", `{"n":1}`), llmtest.Step{Text: "2"})
	p.run(fact.Configured{ToolChoice: llm.ToolChoice{Mode: llm.ChooseAny}}, "go")
	if r := m.Requests(); len(r) != 2 || r[0].ToolChoice.Mode != llm.ChooseAny || r[1].ToolChoice.Mode != "" {
		t.Errorf("the choices are %v", r)
	}
}

// A schema becomes a tool for a model that takes none, and the text of the answer is
// checked in all its readings.
func TestOutput(t *testing.T) {
	p, m := newPlayer(t, nil, llmtest.Step{Text: `{"sum":4}`})
	schema := []byte(`{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}`)
	names := p.run(fact.Configured{Output: &fact.Output{Schema: schema}}, "2+2?")
	if !slices.Contains(names, "CheckOutput") {
		t.Errorf("effects %v", names)
	}
	r := m.Requests()[0]
	if len(r.Tools) != 2 || r.Tools[1].Name != engine.OutputTool {
		t.Errorf("tools %v", r.Tools)
	}
	var checked fact.OutputChecked
	for _, e := range p.facts {
		if f, ok := e.Data.(fact.OutputChecked); ok {
			checked = f
		}
	}
	if string(checked.Output) != `{"sum":4}` || checked.Problem != "" {
		t.Errorf("checked: %+v", checked)
	}
}

// Hooks see where the run is, whose it is, and the prompt or the calls that they are about.
func TestHookInput(t *testing.T) {
	var seen []hook.Input
	note := func(_ context.Context, in *hook.Input) (hook.Output, error) {
		seen = append(seen, *in)
		return hook.Output{}, nil
	}
	p, _ := newPlayer(t, []hook.Hook{{On: hook.UserPromptSubmit, Func: note}, {On: hook.PostToolBatch, Func: note}, {On: hook.Stop, Func: note}},
		call("x", `{"n":3}`), llmtest.Step{Text: "6"})
	p.run(fact.Configured{}, "Double 3.")
	if len(seen) != 3 {
		t.Fatalf("%d hooks were called", len(seen))
	}
	for _, in := range seen {
		if in.Session != "s" || in.Transcript != "/j.jsonl" || in.Dir != "/w" || in.Agent != "worker" || in.AgentID != "s" {
			t.Errorf("%s: %+v", in.Event, in)
		}
	}
	if seen[0].Prompt != "Double 3." || len(seen[1].Calls) != 1 || seen[1].Calls[0].Result != "6" || string(seen[1].Calls[0].Input) != `{"n":3}` {
		t.Errorf("hooks saw %+v", seen)
	}
}

// A question that waits is a call as it would be started, with its mode and its folder.
func TestQuestions(t *testing.T) {
	p, _ := newPlayer(t, nil, call("x", `{"n":3}`))
	p.stop = func(e engine.Effect) bool { _, asks := e.(engine.Ask); return asks }
	ask, err := permission.ParseRules("double")
	if err != nil {
		t.Fatal(err)
	}
	p.x.Rules.Store(policies.Compile(permission.Policy{Ask: ask}))
	p.run(fact.Configured{Mode: permission.Default}, "Double 3.")
	questions := p.c.Questions(p.x)
	if len(questions) != 1 {
		t.Fatalf("%d questions", len(questions))
	}
	q := questions[0]()
	if q.Call.Name != "double" || q.Call.Dir != "/w" || q.Call.Session != "s" || q.Call.Root != "r" || q.Call.Agent != "coder" || q.Call.Mode != permission.Default {
		t.Errorf("the question is about %+v", q.Call)
	}
	if c, key, ok := p.c.Question(p.x, q.Call.ID); !ok || key == "" || c.ID != q.Call.ID {
		t.Errorf("question %v %q %v", c, key, ok)
	}
	if _, _, ok := p.c.Question(p.x, "other"); ok {
		t.Error("a call that was never made is asked about")
	}
}

// What a rewind has taken back is not on the path, and a call on it is not found.
func TestPath(t *testing.T) {
	p, _ := newPlayer(t, nil, call("x", `{"n":3}`), llmtest.Step{Text: "6"})
	p.run(fact.Configured{}, "Double 3.")
	var id string
	for _, e := range p.facts {
		if f, ok := e.Data.(event.ToolStart); ok {
			id = f.Call
		}
	}
	if c, ok := conversation.StartedCall(p.facts, "s", id); !ok || c.Name != "double" || string(c.Input) != `{"n":3}` || c.Dir != "/w" || c.Session != "s" {
		t.Errorf("the call is %+v, %v", c, ok)
	}
	rewound := event.Event{Seq: p.c.Last + 1, Prev: 2, Session: "s", Data: event.Rewound{}}
	facts := append(slices.Clone(p.facts), rewound)
	if path := conversation.Path(facts); len(path) != 3 || path[2].Seq != rewound.Seq {
		t.Errorf("the path has %d facts", len(path))
	}
	if _, ok := conversation.StartedCall(facts, "s", id); ok {
		t.Error("a call that was rewound is found")
	}
	if path := conversation.Path(nil); len(path) != 0 {
		t.Errorf("a path of nothing has %d facts", len(path))
	}
}

// Names count also where the conversation was rewound past them; calls are known by the ids
// of the provider only until the next answer.
func TestNamesAndIDs(t *testing.T) {
	p, _ := newPlayer(t, nil, call("x", `{"n":3}`), llmtest.Step{Text: "6"})
	p.stop = func(e engine.Effect) bool { _, runs := e.(engine.RunTool); return runs }
	p.run(fact.Configured{}, "Double 3.")
	id := p.c.State.Effects()[0].(engine.RunTool).Call
	if p.c.ProviderID(id) != "x" || p.c.ToolName(id) != "double" || p.c.ProviderID("other") != "" || p.c.ToolName("other") != "" {
		t.Errorf("call %s is %q of %q", id, p.c.ProviderID(id), p.c.ToolName(id))
	}
	p.apply(event.SessionNamed{Title: "Sums"})
	if p.c.Named == nil || p.c.Named.Title != "Sums" {
		t.Errorf("the name is %v", p.c.Named)
	}
}
