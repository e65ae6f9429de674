package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	agent "github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// workTools are twenty tools, about as long as the built-in ones, of which one reads. The
// last is deferred, and found by the one named ToolSearch.
func workTools() []tool.Tool {
	text := func(name, result string) tool.Tool {
		return tool.New(tool.Spec{Name: name, Description: name + " " + strings.Repeat("does its work on what it is given, and says so. ", 12), ReadOnly: true},
			func(context.Context, tool.Call, struct {
				Path  string `json:"path,omitempty"`
				Limit int    `json:"limit,omitempty"`
			}) (*tool.Result, error) {
				return tool.Text(result), nil
			})
	}
	list := []tool.Tool{text("Read", strings.Repeat("a line of some file, with words in it\n", 60)), tools.ToolSearch()}
	for i := range 17 {
		list = append(list, text(fmt.Sprintf("Tool%02d", i), "done"))
	}
	return append(list, text("Late", "late"))
}

// work answers as an agent that works: three turns with calls, then a report.
func work(r *llmtest.Request, n int) llmtest.Step {
	switch {
	case n%4 == 3:
		return llmtest.Say(fmt.Sprintf("Report %d: %s", n, strings.Repeat("it is as it should be. ", 10)))
	case n == 20:
		return llmtest.Call(llmtest.Use("", "ToolSearch", map[string]any{"query": "select:Late"}))
	}
	return llmtest.Step{Text: "Let me look.", Calls: []llm.ToolUse{llmtest.Use("", "Read", map[string]any{"path": fmt.Sprint("f", n), "limit": n})}}
}

// worked runs so many turns of work in four-turn prompts, half of them in another
// program's session, and returns the server that has seen them and what they used.
func worked(t *testing.T, turns int, cache llm.Cache, pause time.Duration) (*llmtest.Server, []llm.Usage) {
	t.Helper()
	server := llmtest.NewPipe(t)
	server.Cache, server.Rule = true, work
	store := session.Dir(t.TempDir())
	program := func() *agent.Agent {
		m := (&anthropic.Client{APIKey: "k", BaseURL: server.URL, HTTP: server.Client()}).Model("claude-sonnet-4-6")
		return &agent.Agent{Model: m, System: strings.Repeat("You are a careful agent. ", 40), Tools: workTools(), DeferredTools: []string{"Late"}, Sessions: store, Cache: cache,
			Permissions: permission.Policy{Mode: permission.Plan}}
	}
	s := program().Session("")
	id := s.ID
	for p := range (turns + 3) / 4 {
		switch p {
		case 2:
			if err := s.SetMode(t.Context(), permission.AcceptEdits); err != nil {
				t.Fatal(err)
			}
		case turns / 8: // goes on in another program
			s.Close()
			s = program().Session(id)
		}
		time.Sleep(pause)
		if _, err := s.Prompt(t.Context(), fmt.Sprintf("Prompt %d: look at the files again.", p)); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	if n := len(server.Requests()); n != turns {
		t.Fatalf("%d requests, want %d", n, turns)
	}
	var used []llm.Usage
	for e, err := range store.Read(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := e.Data.(event.AssistantMessage); ok {
			used = append(used, a.Response.Usage)
		}
	}
	return server, used
}

var cacheMarks = regexp.MustCompile(`,"cache_control":\{[^}]*\}`)

// changes returns what of each request does not begin with the bytes of the request before it,
// as "3 messages", and how often the tools became more.
func changes(t *testing.T, requests []*llmtest.Request) (broken []string, more int, tools string) {
	t.Helper()
	var last struct{ Tools, System, Messages json.RawMessage }
	for n, r := range requests {
		next := last
		if err := json.Unmarshal(cacheMarks.ReplaceAll(r.Body, nil), &next); err != nil {
			t.Fatal(err)
		}
		begins := func(what string, now, before json.RawMessage) {
			if n > 0 && !bytes.HasPrefix(now, bytes.TrimSuffix(before, []byte("]"))) {
				broken = append(broken, fmt.Sprint(n, " ", what))
			}
		}
		begins("tools", next.Tools, last.Tools)
		begins("messages", next.Messages, last.Messages)
		if n > 0 && !bytes.Equal(next.System, last.System) {
			broken = append(broken, fmt.Sprint(n, " system"))
		}
		if n > 0 && !bytes.Equal(next.Tools, last.Tools) {
			more++
		}
		last = next
	}
	return broken, more, string(last.Tools)
}

// Over fifty turns each request begins with the bytes of the one before it: tools, system
// prompt and messages, across changes of the mode, a tool that is found, and another
// program that goes on.
func TestStableBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := worked(t, 52, llm.Cache{}, 0)
		broken, more, list := changes(t, server.Requests())
		if len(broken) > 0 {
			t.Errorf("requests that do not begin with the one before: %q", broken)
		}
		if more != 1 || !strings.Contains(list, `"Late"`) {
			t.Errorf("the tools changed %d times, want once", more)
		}
	})
}

// So it is when a skill begins and ends, and when a server says that its list of tools
// changed. A compaction changes the messages, once: what follows begins with them again.
func TestStableBytesThroughChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := &listed{changing{lists: [][]tool.Tool{{plain("old")}, {plain("another"), plain("old")}}}}
		compacted := -1
		server := llmtest.NewPipe(t)
		server.Rule = func(r *llmtest.Request, n int) llmtest.Step {
			switch {
			case wantsSummary(&r.Request):
				compacted = n + 1
				return llmtest.Say("<summary>What was done.</summary>")
			case n == 2:
				return llmtest.Call(llmtest.Use("", "Skill", begun{Skill: "careful"}))
			case n == 5:
				set.version.Store(1)
				return llmtest.Call(llmtest.Use("", "another", number{1}), llmtest.Use("", "old", number{1}))
			case n == 7:
				return llmtest.Call(llmtest.Use("", "Skill", begun{End: true}))
			}
			return work(r, n)
		}
		m := (&anthropic.Client{APIKey: "k", BaseURL: server.URL, HTTP: server.Client()}).Model("claude-sonnet-4-6")
		skill := scopes(map[string]skillscope.Scope{"careful": {Tools: []permission.Rule{"Read", "old", "another"}}})
		s := (&agent.Agent{Model: m, System: "You are careful.", Tools: append(workTools(), skill), Toolsets: []tool.Set{set}, Compaction: &agent.Compaction{Keep: 100}}).Session("")
		defer s.Close()
		for p := range 12 {
			if p == 7 {
				if err := s.Compact(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Prompt(t.Context(), fmt.Sprintf("Prompt %d: look at the files again.", p)); err != nil {
				t.Fatal(err)
			}
		}
		requests := server.Requests()
		broken, more, list := changes(t, requests)
		if want := []string{fmt.Sprint(compacted, " messages")}; compacted < 0 || !slices.Equal(broken, want) {
			t.Errorf("requests that do not begin with the one before: %q, want %q", broken, want)
		}
		if more != 1 || !strings.Contains(list, `"another"`) {
			t.Errorf("the tools changed %d times, want once", more)
		}
		if left := len(requests) - compacted; left < 12 {
			t.Errorf("only %d requests after the compaction", left)
		}
	})
}

// listed is a set of tools about which nothing is said in the system prompt.
type listed struct{ changing }

func (*listed) Instructions() string { return "" }

// A bill is what requests have cost in tokens of input, cache reads at a tenth of one.
type bill struct{ input, read, written, hour int }

func (b *bill) add(u llm.Usage) {
	b.input += u.Input
	b.read += u.CacheRead
	b.written += u.CacheWrite - u.CacheWriteHour
	b.hour += u.CacheWriteHour
}

func (b bill) tokens() int {
	return b.input + b.read/10 + b.written*5/4 + 2*b.hour
}

// With the cache policy at least four fifths of the input of a session of forty turns are
// cache reads from the third turn on, and the bill is less than a quarter of that without it.
func TestBill(t *testing.T) {
	bills := map[string]bill{}
	for name, tt := range map[string]struct {
		cache llm.Cache
		pause time.Duration
		least float64 // share of reads from the third turn on
	}{
		"policy":                    {least: 0.8},
		"policy, an hour":           {cache: llm.Cache{TTL: time.Hour}, least: 0.8},
		"off":                       {cache: llm.Cache{Off: true}},
		"pauses":                    {pause: 20 * time.Minute, least: 0.5},
		"pauses, kept for an hour":  {pause: 20 * time.Minute, cache: llm.Cache{TTL: time.Hour}, least: 0.8},
		"pauses, nothing is marked": {pause: 20 * time.Minute, cache: llm.Cache{Off: true}},
	} {
		synctest.Test(t, func(t *testing.T) {
			t.Helper()
			var b, late bill
			_, used := worked(t, 40, tt.cache, tt.pause)
			for n, u := range used {
				b.add(u)
				if n >= 2 {
					late.add(u)
				}
				if n >= 2 && tt.pause == 0 && tt.least > 0 && float64(u.CacheRead) < 0.8*float64(u.Context()) && n != 21 { // the turn after a tool was found
					t.Errorf("%s: turn %d read %d of %d", name, n+1, u.CacheRead, u.Context())
				}
			}
			if share := float64(late.read) / float64(max(1, late.input+late.read+late.written+late.hour)); share < tt.least {
				t.Errorf("%s: %.0f %% of the input was read from the cache from the third turn on, want %.0f", name, 100*share, 100*tt.least)
			} else {
				t.Logf("%-26s input %7d, read %7d, written %6d, for an hour %6d: billed as %7d tokens; %.1f %% read from turn 3 on", name, b.input, b.read, b.written, b.hour, b.tokens(), 100*share)
			}
			bills[name] = b
		})
	}
	if p, off := bills["policy"].tokens(), bills["off"].tokens(); p*4 > off {
		t.Errorf("the bill is %d with the policy and %d without", p, off)
	}
	if bills["pauses, kept for an hour"].tokens() >= bills["pauses"].tokens() {
		t.Errorf("an hour does not pay where there are pauses: %+v", bills)
	}
}
