package claudelog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/redact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

const id = "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000"

func TestPath(t *testing.T) {
	for dir, want := range map[string]string{
		"/work/my_app.go":         "-work-my-app-go",
		"/é/😀":                    "-----",
		`C:\Users\me`:             "C--Users-me",
		strings.Repeat("/a", 101): strings.Repeat("-a", 100) + "-qlz1ly",
	} {
		got, err := Path("c", dir, id)
		if err != nil || got != filepath.Join("c", "projects", want, id+".jsonl") {
			t.Errorf("%s: %s, %v", dir, got, err)
		}
	}
	for _, bad := range []string{"", "first", "../" + id, id + "0"} {
		if got, err := Path("c", "/", bad); err == nil {
			t.Errorf("%s: %s", bad, got)
		}
	}
	if got := AgentPath("c/x.jsonl", "../a b"); got != filepath.Join("c", "x", "subagents", "agent----a-b.jsonl") {
		t.Error(got)
	}
}

// A testLine is what the tests look at.
type testLine struct {
	Parent  string `json:"parentUuid"`
	Type    string `json:"type"`
	UUID    string `json:"uuid"`
	Time    string `json:"timestamp"`
	Meta    bool   `json:"isMeta"`
	Side    bool   `json:"isSidechain"`
	Agent   string `json:"agentId"`
	Session string `json:"sessionId"`
	Result  any    `json:"toolUseResult"`
	Call    string `json:"sourceToolAssistantUUID"`
	Message struct {
		Content any `json:"content"`
	} `json:"message"`
}

// facts numbers facts. Each follows the one before it, unless it says otherwise.
func facts(all ...event.Event) []event.Event {
	for i := range all {
		e := &all[i]
		e.Session, e.Seq, e.Time = id, int64(i+1), time.UnixMilli(1e12+int64(i))
		if e.Prev == 0 {
			e.Prev = int64(i)
		}
	}
	return all
}

func prompted(d event.Delivery, id, text string) event.Event {
	return event.Event{Data: event.UserMessage{ID: id, Delivery: d, Message: llm.UserText(text)}}
}

func answer(blocks ...llm.Block) event.Event {
	return event.Event{Data: event.AssistantMessage{Model: "m", Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: blocks}}}}
}

// Each line names the one before it in the conversation, also after a rewind, and of messages
// that were held.
func TestLines(t *testing.T) {
	result := func(call string, r *tool.Result) event.Event {
		return event.Event{Data: event.ToolResult{Call: call, Result: *r}}
	}
	all := facts(
		prompted(fact.AsPrompt, "1", "go"), // 1
		answer(llm.ToolUse{ID: "a", Name: "Bash", Input: json.RawMessage(`{"command":"ls supersecret"}`)}, llm.ToolUse{ID: "b", Name: "Bash"}), // 2
		prompted(fact.AsSteer, "2", "faster"),                                                                           // 3
		result("c2.1", &tool.Result{Content: llm.Blocks{llm.Text{Text: "bad"}}, IsError: true}),                         // 4
		result("c2.0", &tool.Result{Content: llm.Blocks{llm.Text{Text: "files"}}, Details: json.RawMessage(`{"n":1}`)}), // 5
		result("c2.0.0", tool.Text("of a batch")),                                                                       // 6
		event.Event{Data: fact.Delivered{IDs: []string{"2", "nobody"}}},                                                 // 7
		answer(llm.Text{Text: "done"}),                                                                                  // 8
		event.Event{Data: event.RunEnd{Reason: event.Completed}},                                                        // 9
		event.Event{Data: event.Rewound{}, Prev: 2},                                                                     // 10
		prompted(fact.AsContinue, "3", "go on"),                                                                         // 11
	)
	l := NewLines(id, "", session.Header{Dir: "/work", Branch: "main"}, redact.New([]string{"supersecret"}))
	var lines []testLine
	for _, e := range all {
		out, err := l.Add(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range out {
			if strings.Contains(string(raw), "supersecret") {
				t.Errorf("%s", raw)
			}
			var n testLine
			if err := json.Unmarshal(raw, &n); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, n)
		}
	}
	const first = -2 // the first block of the answer
	of := func(seq int) string {
		if seq == first {
			return PartID(all[1].UUID(), 0, 2)
		}
		return all[seq-1].UUID()
	}
	if of(first) == of(2) || WholeID(of(first)) != of(2) || WholeID("x") != "x" {
		t.Errorf("ids of blocks: %s of %s", of(first), of(2))
	}
	for i, want := range []struct{ seq, parent int }{{1, 0}, {first, 1}, {2, first}, {4, 2}, {5, 4}, {3, 5}, {8, 3}, {11, 2}} {
		parent := ""
		if want.parent != 0 {
			parent = of(want.parent)
		}
		if n := lines[i]; n.UUID != of(want.seq) || n.Parent != parent || n.Session != id || n.Side {
			t.Errorf("%d: %+v", i, n)
		}
	}
	if len(lines) != 8 || lines[0].Time != "2001-09-09T01:46:40.000Z" {
		t.Errorf("%+v", lines)
	}
	if lines[3].Result != "Error: bad" || lines[3].Call != of(2) || lines[4].Call != of(first) || lines[4].Result.(map[string]any)["n"] != 1.0 {
		t.Errorf("%+v", lines)
	}
	if lines[5].Meta || !lines[7].Meta {
		t.Error("messages of people and of the program")
	}
	agent := NewLines(id, "a1", session.Header{}, redact.Values{})
	out, err := agent.Add(all[0])
	if err != nil || !strings.Contains(string(out[0]), `"isSidechain":true,"agentId":"a1"`) {
		t.Errorf("%s, %v", out, err)
	}
}

// An export is the conversation as it now stands, for its owner alone.
func TestExport(t *testing.T) {
	store, config := session.Memory(), t.TempDir()
	log, err := store.Open(t.Context(), id, session.Header{Dir: "/work"})
	if err != nil {
		t.Fatal(err)
	}
	all := facts(prompted(fact.AsPrompt, "1", "go"), answer(llm.Text{Text: "rewound"}), event.Event{Data: event.Rewound{}, Prev: 1}, answer(llm.Text{Text: "kept"}))
	if err := log.Append(t.Context(), 0, false, all...); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		path, err := Export(t.Context(), config, store, id, nil)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(data), "rewound") || strings.Count(string(data), "\n") != 2 {
			t.Errorf("%v\n%s", err, data)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
	if _, err := Export(t.Context(), config, store, "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0001", nil); err == nil {
		t.Error("a session that is not there")
	}
}

// Calls that change a task name it as Claude Code does, and keep what the model wrote.
func TestTaskCalls(t *testing.T) {
	for in, want := range map[string]string{`{"id":"task_1","status":"completed"}`: `{"id":"task_1","status":"completed","taskId":"task_1"}`, `{"taskId":"1"}`: `{"taskId":"1"}`,
		`{"id":"a","taskId":"b"}`: `{"id":"a","taskId":"b"}`, `{"status":"x"}`: `{"status":"x"}`, `[]`: `[]`} {
		for name, want := range map[string]string{"TaskUpdate": want, "TaskGet": want, "Bash": in} {
			data, err := json.Marshal(Blocks(llm.Blocks{llm.Text{Text: "x"}, llm.ToolUse{ID: "i", Name: name, Input: json.RawMessage(in)}}))
			if err != nil || !strings.HasSuffix(string(data), `"input":`+want+"}]") {
				t.Errorf("%s %s: %s, %v", name, in, data, err)
			}
		}
	}
}
