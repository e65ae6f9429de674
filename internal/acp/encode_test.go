package acp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

func textDelta() event.Event {
	return event.Event{Data: event.TextDelta{Key: "m5", Text: " and a few more words of the answer"}}
}

func answerWith(seq int64, key string, blocks ...llm.Block) event.Event {
	usd := 0.25
	return event.Event{Seq: seq, Data: event.AssistantMessage{Key: key, CostUSD: &usd, Response: llm.Response{Message: llm.Message{Content: blocks}, Usage: llm.Usage{Input: 90, Output: 10}}}}
}

func use(id, tool, input string) llm.ToolUse {
	return llm.ToolUse{ID: id, Name: tool, Input: json.RawMessage(input)}
}

func lines(t *testing.T, updates []any) string {
	t.Helper()
	var b strings.Builder
	for _, u := range updates {
		data, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(data, '\n'))
	}
	return b.String()
}

// A run that is watched and one that is loaded show the same.
func TestLiveAndLoaded(t *testing.T) {
	facts := []event.Event{
		answerWith(3, "m1", llm.Thinking{Text: "hm"}, llm.Text{Text: "I look."}, use("a", "Read", `{"file_path":"/w/x.go"}`), use("b", "Bash", `{"command":"go test"}`)),
		{Seq: 4, Data: event.ToolResult{Call: "c3.0", Result: *tool.Text("text")}},
		{Seq: 5, Data: event.ToolResult{Call: "c3.1", Result: tool.Result{Content: llm.Blocks{llm.Text{Text: "FAIL"}}, Details: json.RawMessage(`{"exitCode":1}`)}}},
		answerWith(6, "m2", llm.Text{Text: "It fails."}),
	}
	signals := map[int64][]event.Event{
		3: {{Data: event.ThinkingDelta{Key: "m1", Text: "hm"}}, {Data: event.TextDelta{Key: "m1", Text: "I "}}, {Data: event.TextDelta{Key: "m1", Text: "look."}},
			{Data: event.ToolInputDelta{Key: "m1", ID: "a", Tool: "Read", Text: "{"}}, {Data: event.ToolInputDelta{Key: "m1", ID: "a", Tool: "Read", Text: "}"}}},
		6: {{Data: event.TextDelta{Key: "m2", Text: "It fails."}}},
	}
	for _, terminal := range []bool{false, true} {
		live, loaded := &Encoder{Dir: "/w", Window: 1000, Terminal: terminal}, &Encoder{Dir: "/w", Window: 1000, Terminal: terminal}
		var a, b []any
		for _, f := range facts {
			for _, s := range signals[f.Seq] {
				a = append(a, live.Event(s)...)
			}
			a = append(a, live.Event(f)...)
			b = append(b, loaded.Replay(f)...)
		}
		b = append(b, loaded.Loaded()...)
		if got, want := settled(t, a), settled(t, b); !reflect.DeepEqual(got, want) {
			t.Errorf("live: %v\nloaded: %v", got, want)
		}
		text := lines(t, b)
		for _, want := range []string{`"title":"Read x.go"`, `"title":"go test"`, `"kind":"execute"`, `"used":100,"size":1000,"cost":{"amount":0.5,"currency":"USD"}`} {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in %s", want, text)
			}
		}
		if got := strings.Contains(text, `"terminal_exit":{"exit_code":1`); got != terminal {
			t.Errorf("terminal %v: %s", terminal, text)
		}
		if got := strings.Contains(text, "```\\nFAIL\\n```"); got == terminal {
			t.Errorf("terminal %v: %s", terminal, text)
		}
	}
}

// settled is what a client shows in the end: texts by message, and calls with their last members.
func settled(t *testing.T, updates []any) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, u := range updates {
		switch u := u.(type) {
		case *Chunk:
			s, _ := all[u.Update+u.Message].(string)
			all[u.Update+u.Message] = s + u.Content.Text
		case *ToolCall:
			shown, _ := all[u.ID].(map[string]any)
			if shown == nil {
				shown = map[string]any{}
			}
			data, err := json.Marshal(u)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &shown); err != nil {
				t.Fatal(err)
			}
			delete(shown, "sessionUpdate")
			all[u.ID] = shown
		case *UsageUpdate:
			all["usage"] = *u.Cost
		}
	}
	return all
}

// An answer that failed takes its calls back, and what follows has other ids.
func TestFailedAnswer(t *testing.T) {
	e := &Encoder{Notices: true}
	var all []any
	for _, d := range []event.Data{
		event.TextDelta{Key: "m1", Text: "I beg"}, event.ToolInputDelta{Key: "m1", ID: "a", Tool: "Bash"},
		event.ModelFailed{Key: "m1", Message: "overloaded", Retry: true, Partial: "I beg"},
		event.TextDelta{Key: "m2", Text: "I begin"}, event.ToolInputDelta{Key: "m2", ID: "a", Tool: "Bash"},
	} {
		all = append(all, e.Event(event.Event{Data: d})...)
	}
	all = append(all, e.Event(answerWith(4, "m2", llm.Text{Text: "I begin"}, use("a", "Bash", `{"command":"ls"}`)))...)
	all = append(all, e.Event(event.Event{Data: event.RunEnd{Reason: event.Interrupted}})...)
	text := lines(t, all)
	for _, want := range []string{`"toolCallId":"a","status":"failed"`, `"toolCallId":"a~2","title":"ls"`, `"toolCallId":"a~2","status":"failed"`, "The text so far is withdrawn"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if calls := e.TakeCalls(); !reflect.DeepEqual(calls, []Call{{"c4.0", "a~2"}}) {
		t.Error(calls)
	}
}

func TestTitles(t *testing.T) {
	for _, c := range [][3]string{
		{"Bash", `{"command":"rm -rf x","description":"list files"}`, "rm -rf x"},
		{"Bash", `{"command":"echo \u202egpj"}`, `echo \u{202e}gpj`},
		{"Bash", `{"command":"a\nb"}`, "a\nb"},
		{"Bash", `{"command":7}`, "Bash"},
		{"Read", `{"file_path":"/w/a.go","offset":10,"limit":31}`, "Read a.go (10–40)"},
		{"Read", `{"file_path":"/w/a.go","offset":10}`, "Read a.go (from 10)"},
		{"Edit", `{"file_path":"/other/a.go"}`, "Edit /other/a.go"},
		{"Grep", `{"pattern":"x","path":"/w/sub"}`, "Grep x in sub"},
		{"Agent", `{"subagent_type":"Explore","description":"look"}`, "Explore: look"},
		{"mcp__a__b", `{}`, "mcp__a__b"},
		{"Write", `not JSON`, "Write"},
	} {
		if got := Title(c[0], json.RawMessage(c[1]), "/w"); got != c[2] {
			t.Errorf("%s %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestDiffs(t *testing.T) {
	const two = "--- /w/a\n+++ /w/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -9 +9,2 @@\n nine\n+ten\n\\ No newline at end of file\n--- /dev/null\n+++ /w/b\n@@ -0,0 +1 @@\n+new\n--- /w/c\n+++ /dev/null\n@@ -1,2 +0,0 @@\n--- old\n-gone\n"
	type change struct {
		path, old, new string
		created        bool
	}
	var got []change
	for _, c := range Diffs(two) {
		ch := change{path: c.Path, new: *c.NewText, created: c.OldText == nil}
		if c.OldText != nil {
			ch.old = *c.OldText
		}
		got = append(got, ch)
	}
	want := []change{{"/w/a", "one\ntwo\n", "one\n2\n", false}, {"/w/a", "nine\n", "nine\nten", false}, {"/w/b", "", "new\n", true}, {"/w/c", "-- old\ngone\n", "", false}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, s := range []string{"", "\n", "@@ -1 +1 @@\n+x", "--- a", "--- a\n+++ ", "--- a\n+++ b\n@@ @@\n"} {
		Diffs(s) // does not panic
	}
}

func TestStop(t *testing.T) {
	for reason, want := range map[event.EndReason]StopReason{event.Completed: EndTurn, event.ToolEnded: EndTurn, event.MaxTokens: MaxTokens, event.MaxTurns: MaxTurnRequests, event.MaxBudget: MaxTurnRequests,
		event.TimedOut: MaxTurnRequests, event.Refused: Refusal, event.Interrupted: Cancelled, event.HookStopped: EndTurn} {
		if got, err := Stop(event.RunEnd{Reason: reason}); got != want || err != nil {
			t.Errorf("%s: %s, %v", reason, got, err)
		}
	}
	for status, want := range map[int]int{401: AuthRequired, 403: AuthRequired, 529: InternalError} {
		_, err := Stop(event.RunEnd{Reason: event.ModelError, Status: status, Message: "no"})
		if e, ok := err.(*Error); !ok || e.Code != want || e.Message != "no" {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// Text that looks like a fence does not end one.
func TestFence(t *testing.T) {
	if got := fence("Bash", "# a\n```\nb\n"); got != "````\n# a\n```\nb\n````" {
		t.Errorf("%q", got)
	}
	if got := fence("WebFetch", "# a"); got != "# a" {
		t.Errorf("%q", got)
	}
}

// The output of a command is shown as it comes, and no part of it twice.
func TestOutput(t *testing.T) {
	part := func(elapsed time.Duration, from, to int, text string) event.Event {
		return event.Event{Data: event.ToolProgress{Call: "c3.0", Phase: fact.ToolDoing, Elapsed: elapsed, Status: tool.Status{Text: "x",
			Metadata: map[string]json.RawMessage{"output": json.RawMessage(fmt.Sprintf(`{"from":%d,"to":%d,"text":%q}`, from, to, text))}}}}
	}
	result := func(text string) event.Event {
		return event.Event{Seq: 9, Data: event.ToolResult{Call: "c3.0", Result: tool.Result{Content: llm.Blocks{llm.Text{Text: text}}, Details: json.RawMessage(`{"exitCode":0}`)}}}
	}
	for name, c := range map[string]struct {
		parts []event.Event
		end   string
		want  []string
	}{
		"none":          {nil, "all", []string{"all"}},
		"short":         {[]event.Event{part(0, 0, 4, "one\n")}, "one\ntwo", []string{"one\ntwo"}},
		"whole":         {[]event.Event{part(1*time.Second, 0, 4, "one\n"), part(2*time.Second, 4, 8, "two\n")}, "one\ntwo\n", []string{"one\n", "two\n", ""}},
		"rest":          {[]event.Event{part(1*time.Second, 0, 4, "one\n"), part(1100*time.Millisecond, 4, 8, "two\n")}, "one\ntwo\nExit code: 1", []string{"one\n", "two\nExit code: 1"}},
		"twice":         {[]event.Event{part(1*time.Second, 0, 4, "one\n"), part(2*time.Second, 0, 4, "one\n")}, "one", []string{"one\n", ""}},
		"gap":           {[]event.Event{part(1*time.Second, 0, 4, "one\n"), part(2*time.Second, 90, 94, "six\n")}, "one\n…\nsix", []string{"one\n", "[…]\nsix\n", ""}},
		"other result":  {[]event.Event{part(1*time.Second, 0, 4, "one\n")}, "denied", []string{"one\n", ""}},
		"blank line":    {[]event.Event{part(1*time.Second, 0, 5, "one\n\n")}, "one\n\ntwo", []string{"one\n\n", "two"}},
		"no line break": {[]event.Event{part(1*time.Second, 0, 4, "one\n")}, "one", []string{"one\n", ""}},
	} {
		e := &Encoder{Terminal: true}
		e.Event(answerWith(3, "m1", use("b", "Bash", `{"command":"x"}`)))
		var got []string
		for _, ev := range append(c.parts, result(c.end)) {
			for _, u := range e.Event(ev) {
				if m, ok := u.(*ToolCall).Meta["terminal_output"].(map[string]string); ok {
					got = append(got, m["data"])
				}
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		e = &Encoder{}
		e.Event(answerWith(3, "m1", use("b", "Bash", `{"command":"x"}`)))
		for _, ev := range c.parts[:min(1, len(c.parts))] {
			if shown := lines(t, e.Event(ev)); name != "short" && !strings.Contains(shown, "```\\none") {
				t.Errorf("%s: without a terminal: %s", name, shown)
			}
		}
	}
}

// The plan follows the tasks of the agent and of its sub-agents.
func TestTasks(t *testing.T) {
	e := &Encoder{}
	done := func(call, details string) event.Event {
		return event.Event{Seq: 20, Data: event.ToolResult{Call: call, Result: tool.Result{Details: json.RawMessage(details)}}}
	}
	below := func(ev event.Event) event.Event {
		ev.Session = "child"
		return event.Event{Data: event.AgentEvent{Call: "c5.0", Agent: "worker", Event: &ev}}
	}
	plan := func(evs ...event.Event) (last string) {
		for _, ev := range evs {
			for _, u := range e.Event(ev) {
				if p, ok := u.(*Plan); ok {
					last = ""
					for _, entry := range p.Entries {
						last += entry.Status + " " + entry.Content + "\n"
					}
				}
			}
		}
		return last
	}
	for _, c := range []struct {
		events []event.Event
		want   string
	}{
		{[]event.Event{answerWith(3, "m1", use("a", "TaskCreate", `{}`), use("b", "TaskCreate", `{}`)), done("c3.0", `{"task":{"id":"task_1","subject":"Look","status":"pending"}}`),
			done("c3.1", `{"task":{"id":"task_2","subject":"Fix","status":"pending"}}`)}, "pending Look\npending Fix\n"},
		{[]event.Event{answerWith(4, "m2", use("a", "TaskUpdate", `{}`)), done("c4.0", `{"task":{"id":"task_1","subject":"Look","status":"in_progress"}}`)}, "in_progress Look\npending Fix\n"},
		{[]event.Event{answerWith(5, "m3", use("a", "Agent", `{}`)), below(answerWith(7, "m1", use("a", "TaskUpdate", `{}`))), below(done("c7.0", `{"task":{"id":"task_1","subject":"Look","status":"completed"}}`))},
			"completed Look\npending Fix\n"},
		{[]event.Event{answerWith(6, "m4", use("a", "TaskList", `{}`)), done("c6.0", `{"tasks":[{"id":"task_1","subject":"Look","status":"failed"},{"id":"task_2","subject":"Fix","status":"cancelled"},{"id":"task_3","subject":"Test","status":"odd"}]}`)},
			"completed Look (failed)\npending Test\n"},
		{[]event.Event{answerWith(8, "m5", use("a", "TaskUpdate", `{}`)), done("c8.0", `["no","task"]`)}, ""},
		{[]event.Event{answerWith(9, "m6", use("a", "mcp__x__TaskUpdate", `{}`)), done("c9.0", `{"task":{"id":"task_9","subject":"Forged","status":"pending"}}`)}, ""},
	} {
		if got := plan(c.events...); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
