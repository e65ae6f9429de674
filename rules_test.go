package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/pace"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/limit"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// history reads what is on record in a session.
func history(t *testing.T, store session.Store, id string) []event.Event {
	t.Helper()
	var out []event.Event
	for e, err := range store.Read(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// A fact is on record before the run acts on it or shows it.
func TestWriteAhead(t *testing.T) {
	store := session.Memory()
	has := func(want func(event.Data) bool) bool {
		for _, e := range history(t, store, "s") {
			if want(e.Data) {
				return true
			}
		}
		return false
	}
	w := write(func(_ context.Context, call tool.Call, _ int) (*tool.Result, error) {
		if !has(func(d event.Data) bool { s, ok := d.(event.ToolStart); return ok && s.Call == call.ID }) {
			t.Error("the tool runs and its start is not on record")
		}
		return tool.Text("ok"), nil
	})
	m := &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step {
		starts := 0
		for _, e := range history(t, store, "s") {
			if _, ok := e.Data.(fact.ModelStart); ok {
				starts++
			}
		}
		if starts != n+1 {
			t.Errorf("request %d is made and %d starts are on record", n, starts)
		}
		if n == 0 {
			return uses("write")
		}
		return say("done")
	}}
	a := &agent.Agent{Model: m, Tools: []tool.Tool{w}, Permissions: bypass, Sessions: store}
	s := a.Session("s")
	defer s.Close()
	for e, err := range s.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq > 0 && int64(len(history(t, store, "s"))) < e.Seq {
			t.Errorf("%s is shown and not on record", event.Type(e.Data))
		}
	}
}

// Facts that must survive a crash are synced. The run does not wait for others. Facts
// without an action between them are recorded together.
func TestSync(t *testing.T) {
	store := &syncStore{Store: session.Memory(), synced: map[string]bool{}}
	a := &agent.Agent{Model: llmtest.Script(uses("double"), uses("write"), say("done")), Permissions: bypass, Sessions: store,
		Tools: []tool.Tool{double, write(func(context.Context, tool.Call, int) (*tool.Result, error) { return tool.Text("ok"), nil })}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(store.order)
	want := "[configured+user_message! model_start assistant_message authorized+tool_start tool_result+model_start assistant_message authorized+tool_start! tool_result+model_start assistant_message+run_end!]"
	if got != want {
		t.Errorf("appends are\n%s, want\n%s", got, want)
	}
}

type syncStore struct {
	session.Store
	synced map[string]bool
	order  []string
}

func (s *syncStore) Open(ctx context.Context, id string, h session.Header) (session.Log, error) {
	log, err := s.Store.Open(ctx, id, h)
	return syncLog{log, s}, err
}

type syncLog struct {
	session.Log
	store *syncStore
}

func (l syncLog) Append(ctx context.Context, after int64, sync bool, es ...event.Event) error {
	var names []string
	for _, e := range es {
		names = append(names, event.Type(e.Data))
	}
	name := strings.Join(names, "+")
	if sync {
		name += "!"
	}
	l.store.order = append(l.store.order, name)
	return l.Log.Append(ctx, after, sync, es...)
}

func TestPanics(t *testing.T) {
	m := llmtest.Script(uses("boom"), say("end"))
	boom := tool.Raw(tool.Spec{Name: "boom", ReadOnly: true}, func(context.Context, tool.Call) (*tool.Result, error) { panic("ouch") })
	a := &agent.Agent{Model: m, Tools: []tool.Tool{boom}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if got := m.Requests()[1].Messages[2].Content[0].(llm.ToolResult); !got.IsError || !strings.Contains(got.Content.Text(), "ouch") {
		t.Errorf("the model sees %+v", got)
	}
	a = &agent.Agent{Model: panicking{}}
	if res, err := a.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrModel) || res == nil {
		t.Errorf("a client that panics gives %+v, %v", res, err)
	}
}

type panicking struct{ llm.Model }

func (panicking) Name() string { return "panicking" }

// Ids that a provider repeats in every turn, or that another would refuse, do
// not break the conversation on either wire.
func TestRepeatedIDs(t *testing.T) {
	steps := []llmtest.Step{
		llmtest.Call(llmtest.Use("functions.double:0", "double", number{1}), llmtest.Use("functions.double:1", "double", number{2})),
		llmtest.Call(llmtest.Use("functions.double:0", "double", number{3})),
		say("done")}
	for name, model := range map[string]func(s *llmtest.Server) llm.Model{
		"anthropic": func(s *llmtest.Server) llm.Model {
			return (&anthropic.Client{APIKey: "k", BaseURL: s.URL}).Model("claude-sonnet-4-6")
		},
		"openai": func(s *llmtest.Server) llm.Model {
			return (&openai.Client{APIKey: "k", BaseURL: s.URL + "/v1"}).Model("gpt-4.1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.NewServer(t, steps...)
			a := &agent.Agent{Model: model(server), Tools: []tool.Tool{double}}
			res, err := a.Prompt(t.Context(), "go")
			if err != nil || res.Text != "done" {
				t.Fatalf("%+v, %v", res, err)
			}
			var results []string
			for _, r := range server.Requests()[2].AllResults() {
				results = append(results, r.Text)
			}
			if fmt.Sprint(results) != "[2 4 6]" {
				t.Errorf("results are %v", results)
			}
		})
	}
}

// However a run ends, its end is on record.
func TestEndIsRecorded(t *testing.T) {
	store := session.Memory()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the lights went out")
	hang := write(func(ctx context.Context, _ tool.Call, _ int) (*tool.Result, error) {
		cancel(why)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	a := &agent.Agent{Model: llmtest.Script(uses("write")), Tools: []tool.Tool{hang}, Permissions: bypass, Sessions: store}
	s := a.Session("s")
	defer s.Close()
	res, err := s.Prompt(ctx, "go")
	if !errors.Is(err, agent.ErrInterrupted) || !errors.Is(err, why) || res.Turns != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	facts := history(t, store, "s")
	end, ok := facts[len(facts)-1].Data.(event.RunEnd)
	if !ok || end.Reason != event.Interrupted {
		t.Errorf("the last fact is %+v", facts[len(facts)-1])
	}
}

// A resumed run goes on with what it was configured with.
func TestResumeKeepsConfiguration(t *testing.T) {
	a := &agent.Agent{Model: llmtest.Script(say("x")), System: "old", Tools: []tool.Tool{double}}
	s := a.Session("s")
	facts, err := collect(t, s, "go")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	m := llmtest.Script(say("done"))
	a = &agent.Agent{Model: m, System: "new", Sessions: seeded(t, recorded(facts)[:2])}
	s = a.Session("s")
	defer s.Close()
	for _, err := range s.Resume(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if r := m.Requests()[0]; r.System != "old" || len(r.Tools) != 1 {
		t.Errorf("the request has system %q and %d tools", r.System, len(r.Tools))
	}
}

// Permission is judged again when the call starts: a mode that became stricter
// while a person thought still counts.
func TestJudgedAgain(t *testing.T) {
	ran := 0
	var s *agent.Session
	a := &agent.Agent{Model: llmtest.Script(uses("write"), say("end")),
		Tools: []tool.Tool{write(func(context.Context, tool.Call, int) (*tool.Result, error) { ran++; return tool.Text("ok"), nil })},
		CanUseTool: func(ctx context.Context, _ tool.Call, _ permission.Decision) (permission.Decision, error) {
			if err := s.SetMode(ctx, permission.Plan); err != nil {
				return permission.Decision{}, err
			}
			return permission.Allow(), nil
		}}
	s = a.Session("")
	defer s.Close()
	res, err := s.Prompt(t.Context(), "go")
	if err != nil || ran != 0 || len(res.Denials) != 1 {
		t.Errorf("ran %d times, %+v, %v", ran, res, err)
	}
}

// What a tool keeps of its own is in the journal: it comes back after a resume.
func TestToolState(t *testing.T) {
	var seen []string
	counter := tool.New(tool.Spec{Name: "count", State: "counts", ReadOnly: true}, func(_ context.Context, call tool.Call, in number) (*tool.Result, error) {
		seen = append(seen, string(call.State))
		r := tool.Text("ok")
		r.Patch.State = json.RawMessage(fmt.Sprintf(`{"k%d":%d,"gone":null}`, in.N, in.N))
		return r, nil
	})
	step := func(n int) llmtest.Step { return llmtest.Call(llmtest.Use("", "count", number{n})) }
	a := &agent.Agent{Model: llmtest.Script(step(1), step(2), say("x"), step(3), say("y")), Tools: []tool.Tool{counter}, Sessions: session.Memory()}
	for range 2 {
		s := a.Session("s")
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	if got := strings.Join(seen, " "); got != ` {"k1":1} {"k1":1,"k2":2}` {
		t.Errorf("the tool saw %s", got)
	}
}

// What a tool keeps is known when its calls are judged: a shell's directory.
func TestStateIsJudged(t *testing.T) {
	mover := tool.New(tool.Spec{Name: "go", State: "place", Barrier: true}, func(_ context.Context, call tool.Call, in number) (*tool.Result, error) {
		r := tool.Text("ok")
		r.Patch.State = json.RawMessage(fmt.Sprintf(`{"at":%d}`, in.N))
		return r, nil
	}).OnClassify(func(call tool.Call, _ number) tool.Traits {
		return tool.Traits{Access: []permission.Access{{Kind: permission.RunCommand, Target: "true # " + string(call.State)}}}
	})
	a := &agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "go", number{1}), llmtest.Use("", "go", number{2})), say("end")), Tools: []tool.Tool{mover}}
	var judged []string
	a.CanUseTool = func(_ context.Context, _ tool.Call, d permission.Decision) (permission.Decision, error) {
		judged = append(judged, d.Reason)
		return permission.Allow(), nil
	}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if len(judged) != 2 || strings.Contains(judged[0], "at") || !strings.Contains(judged[1], `{\"at\":1}`) {
		t.Errorf("judged as %q", judged)
	}
}

// No delta of an attempt is shown after the answer or the failure of it.
func TestDeltasComeFirst(t *testing.T) {
	a := &agent.Agent{Model: llmtest.Script(llmtest.Step{Text: strings.Repeat("x", 100), Pieces: 50, Calls: []llm.ToolUse{llmtest.Use("", "double", number{1})}}, say("end")), Tools: []tool.Tool{double}}
	s := a.Session("")
	defer s.Close()
	over := map[string]bool{}
	events, err := collect(t, s, "go")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		switch d := e.Data.(type) {
		case event.AssistantMessage:
			over[d.Key] = true
		case event.TextDelta:
			if over[d.Key] {
				t.Fatal("a delta comes after its message")
			}
		case event.ToolInputDelta:
			if over[d.Key] {
				t.Fatal("a delta comes after its message")
			}
		}
	}
}

// Secrets are replaced in results; inputs stay as the model wrote them.
func TestInputsAreKept(t *testing.T) {
	var got string
	w := tool.New(tool.Spec{Name: "write"}, func(_ context.Context, call tool.Call, in struct {
		Text string `json:"text"`
	}) (*tool.Result, error) {
		got = in.Text
		return tool.Text(in.Text), nil
	})
	m := llmtest.Script(llmtest.Call(llmtest.Use("", "write", map[string]string{"text": "the-secret-value"})), say("end"))
	a := &agent.Agent{Model: m, Tools: []tool.Tool{w}, Permissions: bypass, Secrets: []string{"the-secret-value"}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	ms := m.Requests()[1].Messages
	if got != "the-secret-value" || !strings.Contains(string(ms[1].ToolUses()[0].Input), got) || ms[2].Content[0].(llm.ToolResult).Content.Text() != "***" {
		t.Errorf("ran with %q; %+v", got, ms)
	}
}

// Each kind of event happens.
func TestEveryEvent(t *testing.T) {
	seen := map[string]bool{}
	watch := func(s *agent.Session) *agent.Session {
		for e, err := range s.Stream(t.Context(), "go") {
			if err == nil {
				seen[event.Type(e.Data)] = true
			}
		}
		return s
	}
	var s *agent.Session
	var report tool.Tool
	set := &changing{lists: [][]tool.Tool{{plain("a")}, {plain("b")}}}
	report = tool.New(tool.Spec{Name: "write"}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
		tool.Progress(ctx, tool.Status{Text: "half-way", Percent: 50})
		if id, err := s.Steer(ctx, agent.Input{Text: "more"}); err == nil {
			s.Retract(ctx, id)
		}
		s.Steer(ctx, agent.Input{Text: "more"})
		s.SetMode(ctx, permission.Plan)
		s.SetThinking(ctx, llm.Thought{Budget: 2000})
		s.SetFallback(ctx)
		s.SetBudget(ctx, agent.Budget{Turns: 50})
		s.SetCanUseTool(ctx, answer(permission.Allow()))
		s.ReplaceTool(ctx, report)
		set.version.Store(1)
		return tool.Text("ok"), nil
	})
	witness := hook.Hook{On: hook.PostToolUse, Func: func(ctx context.Context, _ *hook.Input) (hook.Output, error) {
		hook.Progress(ctx, "half-way")
		return hook.Output{Updates: []hook.Update{{Type: "addRules", Behavior: permission.Denied, Rules: []permission.Rule{"Nothing"}}}}, nil
	}}
	last := hook.Hook{On: hook.Stop, Func: func(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{}, nil }}
	store := session.Memory()
	keep := func(context.Context, agent.CheckpointPlace) (string, error) { return "k", nil }
	a := &agent.Agent{Checkpoint: keep, Sessions: store, Tools: []tool.Tool{report}, Toolsets: []tool.Set{set}, Hooks: []hook.Hook{witness, last}, CanUseTool: answer(permission.Allow()),
		Retry: &agent.Retry{Base: 1}, Model: llmtest.Script(
			llmtest.Fail(&llm.APIError{Class: llm.Overloaded, RetryAfter: -1}),
			llmtest.Step{Thinking: "hm", Text: "Look.", Calls: []llm.ToolUse{llmtest.Use("", "write", number{1})}}, say("a"), say("b"))}
	s = a.Session("s")
	watch(s)
	if err := s.Rewind(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	for e, err := range s.Resume(t.Context()) {
		if err == nil {
			seen[event.Type(e.Data)] = true
		}
	}
	s.Close()
	if err := session.Rename(t.Context(), store, "s", "a title"); err != nil {
		t.Fatal(err)
	}
	for _, e := range history(t, store, "s") {
		seen[event.Type(e.Data)] = true
	}
	for _, reply := range []llmtest.Step{say("x"), uses("write")} {
		a := &agent.Agent{Tools: []tool.Tool{report}, Permissions: bypass}
		a.Model = &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step {
			if reply.Text != "" || n > 0 {
				s.Interrupt(t.Context())
			}
			return reply
		}}
		s = a.Session("")
		watch(s).Close()
	}
	asking := &agent.Agent{Tools: []tool.Tool{tools.AskUser()}, AskUser: func(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) { return nil, nil },
		Model: llmtest.Script(llmtest.Call(llmtest.Use("", "AskUser", map[string]any{"questions": []any{map[string]any{"question": "q?"}}})), say("x"))}
	s = asking.Session("")
	watch(s).Close()
	l := new(limit.Limiter)
	p, _ := l.Wait(t.Context(), pace.Call{})
	p.Answered(429, nil, 5*time.Millisecond)
	s = (&agent.Agent{Model: limited{llmtest.Script(say("x")), l}}).Session("")
	watch(s).Close()
	s = (&agent.Agent{Model: llmtest.Script(say(strings.Repeat("x", 9000)), say("y"))}).Session("")
	watch(s)
	for e, err := range s.StreamInput(t.Context(), agent.Input{Compact: true}) {
		if err == nil {
			seen[event.Type(e.Data)] = true
		}
	}
	s.Close()
	s = (&agent.Agent{Model: llmtest.Script(say("{}"))}).Session("")
	for e, err := range s.StreamInput(t.Context(), agent.Input{Text: "as JSON", Output: json.RawMessage(`{"type":"object"}`)}) {
		if err == nil {
			seen[event.Type(e.Data)] = true
		}
	}
	s.Close()
	cached := llmtest.Step{Text: "x", Usage: llm.Usage{Input: 10, Output: 5, CacheWrite: 5000}}
	s = (&agent.Agent{Model: llmtest.Script(cached, cached)}).Session("") // the second finds nothing in the cache
	watch(s)
	watch(s).Close()
	seen[event.Type(event.AgentStart{})], seen[event.Type(event.AgentEnd{})], seen[event.Type(event.AgentEvent{})] = childEvents(t)
	seen[event.Type(fact.AgentSuspended{})] = childSuspends(t)
	torn := &agent.Agent{Model: llmtest.Script(say("x"), say("y")), Sessions: session.Dir(t.TempDir())}
	s = torn.Session("torn")
	watch(s).Close()
	tear(t, torn.Sessions, "torn", `{"seq":99,"prev":98,"ti`)
	s = torn.Session("torn")
	watch(s).Close()
	feedEvents(t, seen)
	s = nearlySpent()
	watch(s).Close()
	for _, name := range event.Types() {
		if !seen[name] {
			t.Errorf("%s never happened", name)
		}
	}
}

// A mode that was set, or that a tool entered, holds for the session's later
// prompts; another program's session keeps only a mode that forbids more.
func TestModeAcrossPrompts(t *testing.T) {
	store := session.Memory()
	ran := 0
	enter := tool.New(tool.Spec{Name: "enter", ReadOnly: true}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
		r := tool.Text("ok")
		r.Patch.Mode = permission.Plan
		return r, nil
	})
	w := write(func(context.Context, tool.Call, int) (*tool.Result, error) { ran++; return tool.Text("ok"), nil })
	steps := func() *llmtest.Model {
		return &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
			switch {
			case len(r.Results()) > 0:
				return say("end")
			case r.Prompt() == "plan":
				return llmtest.Call(llmtest.Use("", "enter", struct{}{}))
			}
			return uses("write")
		}}
	}
	prompt := func(s *agent.Session, text string, want int) {
		t.Helper()
		ran = 0
		if _, err := s.Prompt(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		if ran != want {
			t.Errorf("%s: ran %d times, want %d", text, ran, want)
		}
	}
	a := &agent.Agent{Model: steps(), Tools: []tool.Tool{enter, w}, Permissions: bypass, Sessions: store}
	s := a.Session("s")
	prompt(s, "write", 1)
	prompt(s, "plan", 0)
	prompt(s, "write", 0)
	s.Close()
	a.Permissions = permission.Policy{}
	s = a.Session("s") // still in plan mode
	prompt(s, "write", 0)
	if err := s.SetMode(t.Context(), permission.Bypass); err != nil {
		t.Fatal(err)
	}
	prompt(s, "write", 1)
	prompt(s, "write", 1)
	s.Close()
	s = a.Session("s") // not in bypass mode
	prompt(s, "write", 0)
	s.Close()
}

// A limited model waits for a limiter.
type limited struct {
	llm.Model
	limiter *limit.Limiter
}

func (m limited) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	p, err := m.limiter.Wait(ctx, pace.Call{})
	defer p.Done(nil)
	if err != nil {
		return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, err) }
	}
	return m.Model.Stream(ctx, req)
}
