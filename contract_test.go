package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

type draftInput struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

// A tool sees its input while it is written, at limited frequency. It never runs on partial
// input, and runs once. Its statuses are whole snapshots with growing numbers.
func TestPartialInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		runs := 0
		draft := tool.New(tool.Spec{Name: "draft"}, func(ctx context.Context, _ tool.Call, in draftInput) (*tool.Result, error) {
			runs++
			tool.Progress(ctx, tool.Status{Text: "saving", Metadata: map[string]json.RawMessage{"b": json.RawMessage("2")}})
			return tool.Text("saved " + in.Title), nil
		}).OnPartial(func(ctx context.Context, in draftInput) {
			seen = append(seen, fmt.Sprintf("%s/%d", in.Title, len(in.Body)))
			tool.Progress(ctx, tool.Status{Text: "writing", Metadata: map[string]json.RawMessage{"a": json.RawMessage("1")}})
		})
		step := llmtest.Call(llmtest.Use("x", "draft", draftInput{"Go", strings.Repeat("x", 100)}))
		step.Pieces, step.EventDelay = 100, 5*time.Millisecond
		a := &agent.Agent{Model: llmtest.Script(step, say("done")), Tools: []tool.Tool{draft}, Permissions: bypass}
		s := a.Session("")
		defer s.Close()
		var last event.ToolProgress
		var phases []string
		for e, err := range s.Stream(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			if p, ok := e.Data.(event.ToolProgress); ok {
				if p.Seq <= last.Seq || p.ID != "x" {
					t.Errorf("after %d comes %+v", last.Seq, p)
				}
				last = p
				if len(phases) == 0 || phases[len(phases)-1] != string(p.Phase) {
					phases = append(phases, string(p.Phase))
				}
			}
		}
		if runs != 1 {
			t.Errorf("ran %d times", runs)
		}
		if len(seen) < 5 || len(seen) > 14 || seen[len(seen)-1] != "Go/100" {
			t.Errorf("in half a second it saw %v", seen)
		}
		if fmt.Sprint(phases) != "[waiting doing success]" || len(last.Status.Metadata) != 2 || last.Status.Text != "" {
			t.Errorf("phases %v, at last %+v", phases, last)
		}
	})
}

// Calls of an answer that breaks off are shown and never run.
func TestPartialIsWithdrawn(t *testing.T) {
	ran, seen := 0, 0
	draft := tool.New(tool.Spec{Name: "draft"}, func(context.Context, tool.Call, draftInput) (*tool.Result, error) {
		ran++
		return tool.Text("ok"), nil
	}).OnPartial(func(context.Context, draftInput) { seen++; panic("in OnPartial") })
	cut := llmtest.Call(llmtest.Use("x", "draft", draftInput{"Go", "x"}))
	cut.CutAfter = 3
	a := &agent.Agent{Model: llmtest.Script(cut, say("done")), Tools: []tool.Tool{draft}, Permissions: bypass, Retry: &agent.Retry{Base: 1}}
	if res, err := a.Prompt(t.Context(), "go"); err != nil || res.Text != "done" {
		t.Fatalf("%+v, %v", res, err)
	}
	if ran != 0 || seen == 0 {
		t.Errorf("ran %d times, saw %d", ran, seen)
	}
}

// counting is a factory: each tool that it makes counts for itself.
type counting struct {
	tool.Tool
	mu   sync.Mutex
	made []*counted
}

type counted struct {
	tool.Tool
	partials, runs int
}

func (c *counting) Make() tool.Tool {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := &counted{Tool: c.Tool}
	c.made = append(c.made, one)
	return one
}

func (c *counted) TakesPartial() bool                       { return true }
func (c *counted) Partial(context.Context, json.RawMessage) { c.partials++ }
func (c *counted) Run(ctx context.Context, call tool.Call) (*tool.Result, error) {
	c.runs++
	return c.Tool.Run(ctx, call)
}

func TestFactory(t *testing.T) {
	f := &counting{Tool: double}
	a := &agent.Agent{Model: llmtest.Script(uses("double", "double"), say("done")), Tools: []tool.Tool{f}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if len(f.made) != 2 {
		t.Fatalf("made %d tools for two calls", len(f.made))
	}
	for _, c := range f.made {
		if c.partials == 0 || c.runs != 1 {
			t.Errorf("%d partials, %d runs", c.partials, c.runs)
		}
	}
}

func fetch(digest, text string) tool.Tool {
	return tool.New(tool.Spec{Name: "fetch", ReadOnly: true}, func(context.Context, tool.Call, number) (*tool.Result, error) {
		r := tool.Text(text)
		r.Digest = digest
		return r, nil
	})
}

func lastResult(m *llmtest.Model) string {
	rs := m.Requests()
	ms := rs[len(rs)-1].Messages
	return ms[len(ms)-1].Content[0].(llm.ToolResult).Content.Text()
}

func TestDigest(t *testing.T) {
	price := llm.Info{Price: &llm.Price{Input: 1, Output: 1}}
	long := strings.Repeat("words and words ", 5000)
	for _, test := range []struct {
		name  string
		tool  tool.Tool
		small *llmtest.Model
		above int
		want  string
		calls int
	}{
		{name: "asked", tool: fetch("what?", "content"), small: llmtest.Script(say("that")), want: "that", calls: 1},
		{name: "no small model", tool: fetch("what?", "content"), want: "content"},
		{name: "it fails", tool: fetch("what?", "content"), small: llmtest.Script(llmtest.Fail(errors.New("x"))), want: "content", calls: 1},
		{name: "long", tool: fetch("", long), small: llmtest.Script(say("short")), above: 50_000, want: "[digest of 80000 characters by small]\nshort", calls: 1},
		{name: "not that long", tool: fetch("", "content"), small: llmtest.Script(say("short")), above: 50_000, want: "content"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := llmtest.Script(uses("fetch"), say("done"))
			m.Facts = price
			a := &agent.Agent{Model: m, Tools: []tool.Tool{test.tool}, SummarizeOver: test.above}
			if test.small != nil {
				test.small.ID, test.small.Facts = "small", price
				a.SmallModel = test.small
			}
			res, err := a.Prompt(t.Context(), "go")
			if err != nil {
				t.Fatal(err)
			}
			if got := lastResult(m); got != test.want {
				t.Errorf("the model sees %.100q, want %q", got, test.want)
			}
			if test.small != nil && len(test.small.Requests()) != test.calls {
				t.Errorf("%d requests", len(test.small.Requests()))
			}
			if test.want == "that" && (res.Models["small"].Usage.Output == 0 || *res.CostUSD <= *res.Models["script"].CostUSD) {
				t.Errorf("spending is %+v", res.Models)
			}
		})
	}
}

// What is asked about a page is answered by the small model, which alone sees the page.
func TestPageIsDigested(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "<title>Prices</title><h1>Tea</h1><p>Tea is 4 coins."+strings.Repeat("<p>Coffee is not sold.", 1000))
	}))
	defer page.Close()
	m := llmtest.Script(llmtest.Call(llmtest.Use("", "WebFetch", map[string]any{"url": page.URL, "prompt": "What is the price of tea?"})), say("done"))
	small := &llmtest.Model{ID: "small", Steps: []llmtest.Step{say("4 coins.")}}
	a := &agent.Agent{Model: m, SmallModel: small, Tools: []tool.Tool{tools.WebFetch(tools.Web{AllowPrivate: true})}, Permissions: bypass}
	if res, err := a.Prompt(t.Context(), "go"); err != nil || res.Text != "done" {
		t.Fatalf("%+v, %v", res, err)
	}
	asked := small.Requests()
	if len(asked) != 1 {
		t.Fatalf("the small model was asked %d times", len(asked))
	}
	if text := asked[0].Messages[0].Text(); !strings.Contains(text, "Tea is 4 coins.") || !strings.Contains(text, "What is the price of tea?") || strings.Contains(text, "<p>") {
		t.Errorf("the small model is asked %.300q", text)
	}
	if got := lastResult(m); got != "4 coins." {
		t.Errorf("the model sees %.300q", got)
	}
}

func TestAskUser(t *testing.T) {
	step := llmtest.Call(llmtest.Use("", "AskUser", map[string]any{"questions": []any{
		map[string]any{"question": "Which colour?", "options": []any{map[string]any{"label": "red"}, map[string]any{"label": "blue"}}},
		map[string]any{"question": "Why?"}}}))
	answers := []tool.Answer{{Options: []string{"blue"}, Text: "dark"}, {}}
	want := "Which colour?\n> blue, dark\nWhy?\n> (no answer)"
	t.Run("callback", func(t *testing.T) {
		m := llmtest.Script(step, say("done"))
		a := &agent.Agent{Model: m, Tools: []tool.Tool{tools.AskUser()}, AskUser: func(_ context.Context, _ tool.Call, q []tool.Question) ([]tool.Answer, error) {
			if len(q) != 2 || q[0].Options[1].Label != "blue" {
				t.Errorf("asked %+v", q)
			}
			return answers, nil
		}}
		if _, err := a.Prompt(t.Context(), "go"); err != nil || lastResult(m) != want {
			t.Errorf("the model sees %q, %v", lastResult(m), err)
		}
	})
	t.Run("elsewhere", func(t *testing.T) {
		m := llmtest.Script(step, say("done"))
		a := &agent.Agent{Model: m, Tools: []tool.Tool{tools.AskUser()}, AskUser: func(ctx context.Context, _ tool.Call, _ []tool.Question) ([]tool.Answer, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		s := a.Session("")
		defer s.Close()
		for e, err := range s.Stream(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			if q, ok := e.Data.(event.UserQuestion); ok {
				if err := s.Answer(t.Context(), q.Call.ID, answers); err != nil {
					t.Fatal(err)
				}
			}
		}
		if lastResult(m) != want {
			t.Errorf("the model sees %q", lastResult(m))
		}
	})
	t.Run("nobody", func(t *testing.T) {
		m := llmtest.Script(step, say("done"))
		a := &agent.Agent{Model: m, Tools: []tool.Tool{tools.AskUser()}}
		if _, err := a.Prompt(t.Context(), "go"); err != nil || len(m.Requests()[0].Tools) != 0 || !strings.Contains(lastResult(m), "there is no tool") {
			t.Errorf("the model sees %q, %v", lastResult(m), err)
		}
	})
	t.Run("crash", func(t *testing.T) {
		m := llmtest.Script(step, say("done"))
		a := &agent.Agent{Model: m, Tools: []tool.Tool{tools.AskUser()}, Sessions: session.Memory()}
		ctx, cancel := context.WithCancel(t.Context())
		a.AskUser = func(ctx context.Context, _ tool.Call, _ []tool.Question) ([]tool.Answer, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}
		s := a.Session("s")
		if _, err := s.Prompt(ctx, "go"); !errors.Is(err, agent.ErrInterrupted) {
			t.Fatal(err)
		}
		facts := history(t, a.Sessions, "s")
		s.Close()
		for i, e := range facts { // die right after the question was asked
			if _, ok := e.Data.(fact.ToolDone); ok {
				a.Sessions = seeded(t, facts[:i+1])
			}
		}
		a.AskUser = func(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) { return answers, nil }
		s = a.Session("s")
		defer s.Close()
		for _, err := range s.Resume(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if lastResult(m) != want {
			t.Errorf("the model sees %q", lastResult(m))
		}
	})
}

// Deferred tools are hidden until they are found; then they come after all
// others, so that the beginning of the request stays.
func TestDeferredTools(t *testing.T) {
	hidden := func(name string) tool.Tool {
		return tool.Func(tool.Spec{Name: name, Deferred: true, ReadOnly: true, Description: "does " + name}, func(context.Context, struct{}) (string, error) { return name, nil })
	}
	names := func(r *llm.Request) string {
		var out []string
		for _, t := range r.Tools {
			out = append(out, t.Name)
		}
		return strings.Join(out, " ")
	}
	search := llmtest.Call(llmtest.Use("", "ToolSearch", map[string]any{"query": "select:beta"}))
	m := llmtest.Script(search, llmtest.Call(llmtest.Use("", "beta", struct{}{})), say("done"), say("again"))
	a := &agent.Agent{Model: m, Tools: []tool.Tool{hidden("alpha"), tools.ToolSearch(), hidden("beta"), double}}
	s := a.Session("")
	defer s.Close()
	for range 2 {
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"ToolSearch double", "ToolSearch double beta", "ToolSearch double beta", "ToolSearch double beta"} {
		if got := names(&m.Requests()[i].Request); got != want {
			t.Errorf("request %d has the tools %s, want %s", i, got, want)
		}
	}
	if d := m.Requests()[0].Tools[0].Description; !strings.Contains(d, "alpha, beta") {
		t.Errorf("the search tells of %q", d)
	}
	// A search that has nothing to find is not offered.
	m = llmtest.Script(say("x"))
	a = &agent.Agent{Model: m, Tools: []tool.Tool{tools.ToolSearch(), double}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil || names(&m.Requests()[0].Request) != "double" {
		t.Errorf("tools %s, %v", names(&m.Requests()[0].Request), err)
	}
	// Without a search nothing is hidden.
	m = llmtest.Script(say("x"))
	a = &agent.Agent{Model: m, Tools: []tool.Tool{hidden("alpha")}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil || names(&m.Requests()[0].Request) != "alpha" {
		t.Errorf("tools %s, %v", names(&m.Requests()[0].Request), err)
	}
	// Too many external tools are deferred by themselves.
	m = llmtest.Script(say("x"))
	m.Facts.Window = 1000
	var many set
	for i := range 20 {
		many = append(many, tool.Func(tool.Spec{Name: fmt.Sprintf("ext%d", i), Description: strings.Repeat("x", 100)}, func(context.Context, struct{}) (string, error) { return "", nil }))
	}
	a = &agent.Agent{Model: m, Tools: []tool.Tool{tools.ToolSearch(), double}, Toolsets: []tool.Set{many}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil || names(&m.Requests()[0].Request) != "ToolSearch double" {
		t.Errorf("tools %s, %v", names(&m.Requests()[0].Request), err)
	}
}

// What a tool returns is checked against its own schema.
func TestOutputSchema(t *testing.T) {
	m := llmtest.Script(uses("typed", "typed"), say("done"))
	typed := tool.New(tool.Spec{Name: "typed", ReadOnly: true, Output: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)},
		func(_ context.Context, _ tool.Call, in number) (*tool.Result, error) {
			r := tool.Text("ok")
			r.Details = json.RawMessage([]string{`{"n":1}`, `{"n":"x"}`}[in.N])
			return r, nil
		})
	a := &agent.Agent{Model: m, Tools: []tool.Tool{typed}}
	res, err := a.Prompt(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	got := m.Requests()[1].Messages[2].Content
	if got[0].(llm.ToolResult).IsError || !got[1].(llm.ToolResult).IsError {
		t.Errorf("results are %+v", got)
	}
	if u := res.Tools["typed"]; u.Calls != 2 || u.Failures != 1 {
		t.Errorf("statistics are %+v", res.Tools)
	}
}

// Calls that say what they touch run together where that does not overlap.
func TestTouches(t *testing.T) {
	var mu sync.Mutex
	running, most := 0, 0
	w := tool.New(tool.Spec{Name: "write"}, func(ctx context.Context, _ tool.Call, in number) (*tool.Result, error) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		time.Sleep(time.Second)
		mu.Lock()
		running--
		mu.Unlock()
		return tool.Text("ok"), nil
	}).OnClassify(func(_ tool.Call, in number) tool.Traits {
		return tool.Traits{Touches: []string{fmt.Sprintf("/f%d", in.N%2)}}
	})
	synctest.Test(t, func(t *testing.T) {
		a := &agent.Agent{Model: llmtest.Script(uses("write", "write", "write", "write"), say("done")), Tools: []tool.Tool{w}, Permissions: permission.Policy{Mode: permission.Bypass}}
		begin := time.Now()
		if _, err := a.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); most != 2 || d != 2*time.Second {
			t.Errorf("at most %d ran at once, %v in all", most, d)
		}
	})
}

// The tail of a status has five lines at most, and no secrets.
func TestTailOfStatus(t *testing.T) {
	lines := []string{"1", "2", "3", "4", "5", "hunter2hunter2"}
	talk := tool.Func(tool.Spec{Name: "talk"}, func(ctx context.Context, _ struct{}) (string, error) {
		tool.Progress(ctx, tool.Status{Text: "hunter2hunter2", Tail: lines})
		return "", nil
	})
	a := &agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("x", "talk", nil)), say("done")), Tools: []tool.Tool{talk}, Permissions: bypass,
		Secrets: []string{"hunter2hunter2"}}
	var tail string
	for e, err := range a.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := e.Data.(event.ToolProgress); ok && p.Status.Tail != nil {
			tail = strings.Join(p.Status.Tail, " ")
		}
	}
	if tail != "2 3 4 5 ***" || lines[5] != "hunter2hunter2" {
		t.Errorf("tail %q of %q", tail, lines)
	}
}
