package account_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	agent "github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/account"
	"github.com/openagent-go/agent/internal/tracefile"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// rich returns the facts of a session in which much has happened, as lines of JSON.
func rich(t testing.TB) (lines [][]byte) {
	m := llmtest.Script(
		llmtest.Step{Err: &llm.APIError{Class: llm.Overloaded, Status: 529, Message: "busy", RetryAfter: 0}},
		llmtest.Step{Calls: []llm.ToolUse{llmtest.Use("a", "look", struct{}{}), llmtest.Use("b", "ask", struct{}{})}, Usage: llm.Usage{CacheWrite: 5000, Output: 50}},
		llmtest.Step{Text: "one", Usage: llm.Usage{CacheRead: 5000, CacheWrite: 4000, Output: 20}},
		llmtest.Step{Text: "<summary>two</summary>", Usage: llm.Usage{Input: 100, Output: 20}},
		llmtest.Step{Text: "three", Usage: llm.Usage{Input: 100, CacheRead: 9100, Output: 20}},
	)
	m.Facts = llm.Info{Price: &llm.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}, Window: 200_000}
	helper := &agent.Agent{Name: "helper", Model: llmtest.Script(llmtest.Say("found"))}
	look := tool.New(tool.Spec{Name: "look", Description: "Looks."}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
		return tool.Errorf("not here"), nil
	})
	ask := tool.New(tool.Spec{Name: "ask", Description: "Asks.", Timeout: -1}, func(ctx context.Context, call tool.Call, _ struct{}) (*tool.Result, error) {
		p, _ := agent.ParentOf(ctx)
		res, err := p.Run(ctx, agent.Child{Agent: helper, Call: call.ID, Input: agent.Input{Text: "look"}})
		if err != nil {
			return nil, err
		}
		return tool.Text(res.Text), nil
	})
	store := session.Memory()
	a := &agent.Agent{Model: m, System: "You are careful.", Sessions: store, Tools: []tool.Tool{look, ask}, Retry: &agent.Retry{Base: 1}, CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
		return permission.Allow(), nil
	}}
	s := a.Session("s")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go "+strings.Repeat("on ", 1000)); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prompt(t.Context(), "again"); err != nil {
		t.Fatal(err)
	}
	for e, err := range store.Read(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// spoil changes lines as a broken disk, or a hostile hand, does, so that each still is
// a fact.
func spoil(lines [][]byte, r *rand.Rand) (facts []event.Event) {
	odd := []string{`-1`, `0`, `1e308`, `-1e308`, `9223372036854775807`, `-9223372036854775808`, `""`, `"c1.0"`, `"c999999.-1"`, `null`, `[]`, `{}`, `"0001-01-01T00:00:00Z"`, `"9999-12-31T23:59:59Z"`, `true`, `"s"`}
	var value func(v any) any
	value = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				if v[k] = value(v[k]); r.IntN(60) == 0 {
					delete(v, k)
				}
			}
		case []any:
			for i := range v {
				v[i] = value(v[i])
			}
			if len(v) > 0 && r.IntN(20) == 0 {
				return append(v, v[r.IntN(len(v))])
			}
		}
		if r.IntN(25) == 0 {
			return json.RawMessage(odd[r.IntN(len(odd))])
		}
		return v
	}
	for range len(lines) {
		i := r.IntN(len(lines))
		if r.IntN(2) == 0 {
			i = len(facts) % len(lines)
		}
		var v any
		_ = json.Unmarshal(lines[i], &v)
		line := lines[i]
		if r.IntN(3) > 0 {
			line, _ = json.Marshal(value(v))
		}
		var e event.Event
		if json.Unmarshal(line, &e) == nil && e.Data != nil {
			if r.IntN(4) > 0 { // else the fold passes it over
				e.Seq, e.Prev = int64(len(facts)+1), int64(len(facts))
			}
			facts = append(facts, e)
		}
	}
	return facts
}

// everywhere sets the members of a name in all facts.
func everywhere(lines [][]byte, name string, to json.RawMessage) (facts []event.Event) {
	var set func(v any) any
	set = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				if v[k] = set(v[k]); k == name {
					v[k] = to
				}
			}
		case []any:
			for i := range v {
				v[i] = set(v[i])
			}
		}
		return v
	}
	for _, l := range lines {
		var v any
		_ = json.Unmarshal(l, &v)
		line, _ := json.Marshal(set(v))
		var e event.Event
		if json.Unmarshal(line, &e) == nil {
			facts = append(facts, e)
		}
	}
	return facts
}

// Whatever a journal says, its account and its trace can be made, and written.
func TestCorruptJournals(t *testing.T) {
	lines := rich(t)
	for seed := range uint64(150) {
		look(t, fmt.Sprint("seed ", seed), spoil(lines, rand.New(rand.NewPCG(seed, 1))))
	}
	names, all := map[string]bool{}, bytes.Join(lines, nil)
	for _, l := range lines {
		for name := range strings.SplitSeq(string(l), `"`) {
			names[name] = true
		}
	}
	for name := range names {
		for _, to := range []string{`1e308`, `-9223372036854775808`, `"9999-12-31T23:59:59Z"`, `"0000-01-01T00:00:00Z"`, `null`, `"s"`} {
			if bytes.Contains(all, []byte(`"`+name+`":`)) {
				look(t, name+" is "+to, everywhere(lines, name, json.RawMessage(to)))
			}
		}
	}
}

// look makes account and trace of facts.
func look(t *testing.T, name string, facts []event.Event) {
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("%s: %v", name, p)
		}
	}()
	book, err := account.Read(func(yield func(event.Event, error) bool) {
		for _, e := range facts {
			if !yield(e, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{book.Cost(), book.Cache(), book.Context()} {
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("%s: %T: %v", name, v, err)
		}
	}
	asked := 0
	rs := tracefile.Build("s", facts, func(_, agent string) []event.Event {
		if asked++; agent == "" {
			return nil
		}
		return facts
	})
	if asked > 10_000 || len(rs) > 1_000_000 {
		t.Fatalf("%s: %d agents, %d spans", name, asked, len(rs))
	}
	if err := tracefile.Write(io.Discard, rs); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if err := tracefile.WriteChrome(io.Discard, rs); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}
