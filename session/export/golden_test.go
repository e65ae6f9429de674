package export_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/golden"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/export"
	"github.com/openagent-go/agent/tool"
)

var update = flag.Bool("update", false, "write the exports into testdata")

// TestMain fixes the zone of times in exports.
func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

const answerText = "## Result\n\nThe discount is *taken per line*, ~~not once~~:\n\n| file | want |\n|---|--:|\n| a.csv | 108 |\n\n1. read\n2. fix\n   - [x] test\n\n> as the spec says\n\nSee <https://example.com>, [x](javascript:alert(1)) and <b>this</b>.\n"

// full is a session with everything that an export shows.
func full(t *testing.T) session.Store {
	cost := 0.02
	use := func(id, name, input string) llm.ToolUse {
		return llm.ToolUse{ID: id, Name: name, Input: json.RawMessage(input)}
	}
	store := stored(t,
		factOf(fact.Configured{Model: "test-model", Mode: permission.Default}),
		said("n", fact.AsContext, "The folder is /work."),
		said("p", fact.AsPrompt, "Make the tests pass"),
		factOf(fact.Delivered{IDs: []string{"n"}}),
		factOf(fact.ModelStart{Key: "m1", Model: "test-model"}),
		factOf(event.ModelFailed{Key: "m1", Model: "test-model", Message: "overloaded", Partial: "I wi", Retry: true}),
		factOf(fact.ModelStart{Key: "m2", Model: "test-model"}),
		factOf(event.AssistantMessage{Key: "m2", Model: "test-model", CostUSD: &cost, Response: llm.Response{Usage: llm.Usage{Input: 500, CacheRead: 1500, Output: 120},
			Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Thinking{Text: "First the tests."}, llm.Text{Text: answerText},
				use("1", "Bash", `{"command":"go test ./...","description":"Run the tests"}`),
				use("2", "Bash", `{"command":"rm -rf build","description":"Clean up"}`),
				use("3", "TodoWrite", `{"todos":[]}`),
				use("4", "Agent", `{"description":"Read the spec","prompt":"Read docs/spec.md"}`),
				use("5", "Batch", `{"tool_calls":[{"tool":"Read","parameters":{"file_path":"a.go"}}]}`),
			}}}}),
		factOf(fact.Authorized{Call: "c8.0", Decision: permission.Allow()}),
		factOf(fact.Authorized{Call: "c8.1", Decision: permission.Decision{Behavior: permission.Denied, Source: policies.FromRule, Rule: "Bash(rm *)", Origin: ".openagent/settings.json", Reason: "nothing is deleted here"}}),
		factOf(event.ToolStart{Call: "c8.0"}),
		factOf(event.ToolResult{Call: "c8.0", Duration: 1400 * time.Millisecond, Result: tool.Result{IsError: true, Content: llm.Blocks{llm.Text{Text: "FAIL a.csv: got 120, want 108"}}, Details: json.RawMessage(`{"exitCode":1,"durationMs":1400}`)}}),
		factOf(event.ToolResult{Call: "c8.1", Cause: fact.ByDenial, Result: *tool.Errorf("Permission denied: nothing is deleted here")}),
		result("c8.2", "1. read", `{"todos":[{"content":"read","status":"completed"},{"content":"fix it","status":"in_progress","activeForm":"fixing"},{"content":"verify","status":"pending"}]}`),
		factOf(event.ToolStart{Call: "c8.3"}),
		factOf(event.AgentStart{Key: "k1", Call: "c8.3", Session: "reader", Agent: "spec-reader"}),
		factOf(event.AgentEnd{Key: "k1", Session: "reader", Agent: "spec-reader", Reason: event.Completed, Turns: 1, Usage: llm.Usage{Input: 300, Output: 40}, CostUSD: &cost, Duration: 2 * time.Second}),
		result("c8.3", "The spec wants 108.", ""),
		factOf(event.ToolStart{Call: "c8.4.1"}),
		result("c8.4.1", "package a", ""),
		result("c8.4", "[Read] package a", ""),
		factOf(event.UserMessage{ID: "s", Delivery: fact.AsSteer, Message: llm.UserText("and be quick")}),
		factOf(fact.Delivered{IDs: []string{"s"}}),
		factOf(event.ModeChanged{Mode: permission.AcceptEdits}),
		factOf(event.RunEnd{Reason: event.Completed, Turns: 1, CostUSD: &cost, Usage: llm.Usage{Input: 800, CacheRead: 1500, Output: 160}, Duration: 22 * time.Second}),
		said("q", fact.AsPrompt, "Thanks"),
		factOf(event.RunEnd{Reason: event.Interrupted, Duration: time.Second}),
	)
	agents := session.Under(store, "s")
	log, err := agents.Open(t.Context(), "reader", session.Header{Created: time.Unix(1e9, 0)})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1e9+16, 0)
	err = log.Append(t.Context(), 0, false,
		event.Event{Seq: 1, Time: at, Data: event.UserMessage{ID: "p", Delivery: fact.AsPrompt, Message: llm.UserText("Read docs/spec.md")}},
		event.Event{Seq: 2, Prev: 1, Time: at, Data: event.AssistantMessage{Model: "small-model", Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "It wants **108**."}}}}}},
		event.Event{Seq: 3, Prev: 2, Time: at, Data: event.RunEnd{Reason: event.Completed, Turns: 1, Duration: 2 * time.Second}})
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	return store
}

// The whole of an export, in each format: read the differences.
func TestGolden(t *testing.T) {
	store := full(t)
	for format, ext := range map[string]string{"Markdown": "md", "HTML": "html", "JSON": "json"} {
		golden.File(t, "testdata/full."+ext, exported(t, format, store, export.Options{}), *update)
	}
}

// People find in a page what they look for.
func TestPageTells(t *testing.T) {
	page := exported(t, "HTML", full(t), export.Options{})
	for what, want := range map[string]string{
		"the command":       `<b>Bash</b> <code>go test ./...</code> <span>Run the tests</span> <i>exit 1 · 1.4 s</i>`,
		"a denial":          `Denied by rule Bash(rm *) in .openagent/settings.json, 2001-09-09 01:46:49 UTC: nothing is deleted here`,
		"totals":            `2 prompts · 1 turn · 5 calls, 1 denied · 23.0 s (model 2.0 s, tools 5.0 s, retries 1.0 s) · 2.3k tokens in, 160 out, 65 % from the cache · $0.0400`,
		"a step":            `<li class="completed">read</li>`,
		"the outline":       `<li><a href="#f26">Thanks</a></li>`,
		"the program":       `<details class="said program" id="f2">`,
		"steering":          `User, during the run`,
		"a table":           `<td>a.csv</td><td align="right">108</td>`,
		"emphasis":          `<em>taken per line</em>`,
		"strike":            `<del>not once</del>`,
		"a failed attempt":  `test-model failed: overloaded (its 4 characters do not count)`,
		"a mode":            `mode: acceptEdits`,
		"an agent":          `<b>spec-reader</b> <span>completed · 1 turn · 2.0 s · 300 tokens in, 40 out · $0.0200</span>`,
		"the agent's words": `It wants <strong>108</strong>.`,
		"a batch":           `<b>Read</b> <code>a.go</code>`,
		"an unsafe link":    `x (javascript:alert(1))`,
		"a task":            `<h2>Task <time`,
		"the outer call":    `id="c8.3"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s: no %s", what, want)
		}
	}
	ids := map[string]bool{}
	for _, rest := range strings.Split(page, ` id="`)[1:] {
		id, _, _ := strings.Cut(rest, `"`)
		if ids[id] {
			t.Errorf("two elements have the id %s", id)
		}
		ids[id] = true
	}
}

// Times are those of the machine, with their zone.
func TestTimesHaveZone(t *testing.T) {
	time.Local = time.FixedZone("", -3*3600-1800)
	defer func() { time.Local = time.UTC }()
	for _, format := range []string{"HTML", "Markdown"} {
		if page := exported(t, format, full(t), export.Options{}); !strings.Contains(page, "2001-09-08 22:16:40 -03:30") {
			t.Errorf("%s has other times", format)
		}
	}
}

// BenchmarkExport exports a session of 10,000 messages, each third with a call.
func BenchmarkExport(b *testing.B) {
	store := session.Memory()
	log, err := store.Open(b.Context(), "s", session.Header{})
	if err != nil {
		b.Fatal(err)
	}
	var facts []event.Event
	add := func(d event.Data) {
		n := int64(len(facts))
		facts = append(facts, event.Event{Seq: n + 1, Prev: n, Time: time.Unix(1e9+n, 0), Data: d})
	}
	for i := range 5_000 {
		add(event.UserMessage{ID: fmt.Sprint(i), Delivery: fact.AsPrompt, Message: llm.UserText("Why is line 12 of the file wrong, and how do I test it?")})
		content := llm.Blocks{llm.Text{Text: "The **total** is `computed` twice.\n\n- once in the loop\n- once after it\n\n```go\nfor i := range lines {\n\ttotal += i\n}\n```\n"}}
		if i%3 == 0 {
			content = append(content, llm.ToolUse{ID: "u", Name: "Bash", Input: json.RawMessage(`{"command":"go test ./..."}`)})
		}
		add(event.AssistantMessage{Key: fmt.Sprint(i), Model: "m", Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: content}}})
		if i%3 == 0 {
			add(event.ToolResult{Call: fmt.Sprintf("c%d.0", len(facts)), Result: *tool.Text("ok\t./cart\t0.3s\nok\t./tax\t0.2s")})
		}
		add(event.RunEnd{Reason: event.Completed, Turns: 1})
	}
	if err := errors.Join(log.Append(b.Context(), 0, false, facts...), log.Close()); err != nil {
		b.Fatal(err)
	}
	for format, write := range formats {
		b.Run(format, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var page strings.Builder
				if err := write(b.Context(), &page, store, "s", export.Options{}); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(page.Len()))
			}
		})
	}
}

// A session can be rewound as often as it has facts: an export folds it once.
func TestManyRewinds(t *testing.T) {
	facts := []event.Event{said("p", fact.AsPrompt, "stays")}
	for i := range 20_000 {
		facts = append(facts, said(fmt.Sprint(i), fact.AsPrompt, "goes"), event.Event{Prev: 1, Data: event.Rewound{}})
	}
	if page := exported(t, "Markdown", stored(t, facts...), export.Options{}); strings.Contains(page, "goes") || !strings.Contains(page, "stays") {
		t.Errorf("%.300s", page)
	}
}

// A call that waits says what for.
func TestOpenCalls(t *testing.T) {
	store := stored(t, said("1", fact.AsPrompt, "go"), answer(llm.ToolUse{ID: "a", Name: "pay", Input: []byte(`{}`)}, llm.ToolUse{ID: "b", Name: "look", Input: []byte(`{}`)}),
		factOf(fact.Authorized{Call: "c2.0", Decision: permission.Ask("it costs money")}))
	for _, format := range []string{"HTML", "Markdown"} {
		page := exported(t, format, store, export.Options{})
		for _, want := range []string{"Waits for a person: it costs money", "No result yet."} {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not say %q:\n%s", format, want, page)
			}
		}
	}
}
