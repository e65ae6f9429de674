package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// Values of these types panic where two of one type are compared with ==.
type (
	looseTool struct {
		tool.Tool
		ended func()
	}
	looseSet struct {
		*changing
		_ []int
	}
	looseModel struct {
		*llmtest.Model
		_ func()
	}
	looseStore struct {
		session.Store
		_ map[string]int
	}
	looseJudge struct {
		decide func(permission.Request) permission.Decision
	}
)

func (t looseTool) EndSession(string) error                              { t.ended(); return nil }
func (j looseJudge) Decide(r permission.Request) (d permission.Decision) { return j.decide(r) }

func loose(name string) tool.Tool { return looseTool{plain(name), func() {}} }

func looseTools(n int) []tool.Tool {
	var out []tool.Tool
	for i := range n {
		out = append(out, loose(fmt.Sprintf("tool%d", i)))
	}
	return out
}

// seeing answers with one call, "" for none, and notes the names of the tools it is offered.
func seeing(seen *[][]string, name string, input any) llmtest.Step {
	return llmtest.Reply(func(r *llm.Request) llm.Response {
		var list []string
		for _, d := range r.Tools {
			list = append(list, d.Name)
		}
		*seen = append(*seen, list)
		if name == "" {
			return llm.Response{Stop: llm.EndTurn, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "end"}}}}
		}
		return llm.Response{Stop: llm.UseTools, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llmtest.Use(fmt.Sprint("u", len(*seen)), name, input)}}}
	})
}

// A Toolset of many tools is deferred, found by a search and used, with values of any type.
// It may grow and shrink during a call. The session is resumed and forked.
func TestManyTools(t *testing.T) {
	for _, n := range []int{99, 100, 101, 500} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			all := looseTools(n + 1)
			set := &changing{lists: [][]tool.Tool{all[:n], all, all[:n-1]}}
			change := func(version uint64) tool.Tool {
				return tool.Func(tool.Spec{Name: fmt.Sprint("change", version), ReadOnly: true}, func(context.Context, number) (string, error) {
					set.version.Store(version)
					return "changed", nil
				})
			}
			var seen [][]string
			call := func(name string) llmtest.Step { return seeing(&seen, name, number{}) }
			search := func(name string) llmtest.Step {
				return seeing(&seen, "ToolSearch", map[string]string{"query": "select:" + name})
			}
			first, last := "tool3", fmt.Sprint("tool", n)
			a := &agent.Agent{Sessions: session.Memory(), Toolsets: []tool.Set{looseSet{changing: set}},
				Tools: []tool.Tool{loose("own"), tools.ToolSearch(), change(1), change(2)}, DeferAbove: 1,
				Model: llmtest.Script(search(first), call(first), call("change1"), search(last), call(last), call("own"), call(""), call(first), call(""), call("change2"), call("own"), call(""))}
			prompt := func(s *agent.Session) {
				t.Helper()
				if r, err := s.Prompt(t.Context(), "go"); err != nil || r.Text != "end" {
					t.Fatal(r, err)
				}
			}
			s := a.Session("many")
			prompt(s)
			s.Close()
			s = a.Session("many")
			defer s.Close()
			prompt(s)
			fork, err := s.Fork(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			defer fork.Close()
			prompt(fork)
			everything := n + 4
			for i, list := range seen {
				if !slices.Contains(list, "own") {
					t.Errorf("request %d has not the agent's own tool: %d tools", i, len(list))
				}
				deferred := n == 500 || n == 101 && i < 10 || n == 100 && i > 6 && i < 10 // over 100 when the prompt begins, or its tools change
				if deferred && len(list) > 6 || !deferred && len(list) < everything-2 {
					t.Errorf("request %d offers %d tools", i, len(list))
				}
				if found := n > 100 && i > 0; (found || !deferred) && !slices.Contains(list, first) {
					t.Errorf("request %d has lost %s", i, first)
				}
			}
			if !slices.Contains(seen[4], last) || !slices.Contains(seen[8], last) || slices.Contains(seen[10], last) {
				t.Error("the tool that came and went is not offered while it is there only")
			}
			ms, err := fork.Messages(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(ms)
			if err != nil {
				t.Fatal(err)
			}
			for _, ran := range []string{first + " ran", last + " ran", "own ran"} {
				if !strings.Contains(string(data), ran) {
					t.Errorf("the conversation has not %q", ran)
				}
			}
		})
	}
}

// Values that a program supplies need not be comparable.
func TestUncomparable(t *testing.T) {
	judge := looseJudge{func(permission.Request) permission.Decision { return permission.Decision{} }}
	model := func(name string, steps ...llmtest.Step) llm.Model {
		return looseModel{Model: &llmtest.Model{ID: name, Steps: steps}}
	}
	var ended, replaced int
	keeper := looseTool{plain("keeper"), func() { ended++ }}
	child := &agent.Agent{Name: "helper", Tools: []tool.Tool{loose("own")}}
	failing := llmtest.Fail(&llm.APIError{Class: llm.Overloaded, Status: 529, RetryAfter: -1})
	a := &agent.Agent{
		Model: model("a", failing, failing, failing), Fallbacks: []llm.Model{model("b", delegates(1), uses("own"), say("done"), uses("keeper"), say("end"), say("later"), say("forked"))},
		SmallModel: model("small"), Sessions: looseStore{Store: session.Memory()}, Retry: &agent.Retry{Tries: -1},
		Tools:    []tool.Tool{loose("own"), keeper, looseTool{delegate(child, false), func() { replaced++ }}, tools.ToolSearch()},
		Toolsets: []tool.Set{looseSet{changing: &changing{lists: [][]tool.Tool{looseTools(101)}}}},
		Deciders: []permission.Decider{judge, judge}, Permissions: bypass,
		Hooks: []hook.Hook{pre(hook.Output{}, nil), pre(hook.Output{}, nil)},
	}
	s := a.Session("s")
	if r, err := s.Prompt(t.Context(), "go"); err != nil || r.Text != "end" {
		t.Fatal(r, err)
	}
	more := append(slices.Clone(a.Tools[:2]), a.Tools[3], loose("more"))
	if err := s.SetTools(t.Context(), more); err != nil {
		t.Fatal(err)
	}
	if err := s.ReplaceTool(t.Context(), loose("own")); err != nil {
		t.Fatal(err)
	}
	if ended+replaced != 0 {
		t.Error("a tool is told of the session's end before it")
	}
	if r, err := s.Prompt(t.Context(), "go on"); err != nil || r.Text != "later" {
		t.Fatal(r, err)
	}
	fork, err := s.Fork(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := fork.Prompt(t.Context(), "go on"); err != nil || r.Text != "forked" {
		t.Fatal(r, err)
	}
	if err := fork.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil || ended == 0 || replaced == 0 {
		t.Errorf("told of the end: %d, %d; %v", ended, replaced, err)
	}
}
