package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/installed"
	"github.com/openagent-go/agent/llm/llmtest"
)

// adapterAt starts the adapter by which editors use Claude Code, with this program in its place.
func adapterAt(t *testing.T, server *llmtest.Server, home, dir string) *editor {
	t.Helper()
	program, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	adapter := installed.ACPModule(t, "@agentclientprotocol/claude-agent-acp/dist/index.js")
	e := editorOf(t, []string{installed.Program(t, "node"), adapter}, home, dir, "HOME="+home, "CLAUDE_CONFIG_DIR="+filepath.Join(home, ".claude"), "CLAUDE_CODE_EXECUTABLE="+program,
		"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+server.URL)
	e.initialize()
	return e
}

// playing serves a model that plays steps. A request without tools is for the title of a session.
func playing(t *testing.T, steps ...llmtest.Step) *llmtest.Server {
	t.Helper()
	server, n := llmtest.NewServer(t), 0
	server.Rule = func(r *llmtest.Request, _ int) llmtest.Step {
		if len(r.Tools) == 0 {
			return llmtest.Say("The title")
		}
		if n++; n > len(steps) {
			return llmtest.Step{Status: 500}
		}
		return steps[n-1]
	}
	return server
}

// played returns the last request for an answer.
func played(server *llmtest.Server) *llmtest.Request {
	for _, r := range slices.Backward(server.Requests()) {
		if len(r.Tools) > 0 {
			return r
		}
	}
	return nil
}

// picks answers a permission question with its first option of a kind.
func (e *editor) picks(q editorLine, kind string) {
	e.t.Helper()
	var asked struct {
		Options []struct{ OptionID, Kind, Name string }
	}
	if err := json.Unmarshal(q.Params, &asked); err != nil {
		e.t.Fatal(err)
	}
	for _, o := range asked.Options {
		if o.Kind == kind {
			e.chooses(q, o.OptionID)
			return
		}
	}
	e.t.Fatalf("there is no %s in %s", kind, q.Params)
}

// TestAdapterTurn has a turn with text, a command that is asked about, and an edit with a diff, and
// loads the session in another process.
func TestAdapterTurn(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(file, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := playing(t,
		llmtest.Step{Text: "Let me see.", Thinking: "hm", Calls: llmtest.Call(llmtest.Use("", "Read", map[string]any{"file_path": file, "offset": 1, "limit": 2})).Calls},
		bash("touch made && echo '# done'"),
		llmtest.Call(llmtest.Use("", "Edit", map[string]string{"file_path": file, "old_string": "two", "new_string": "2"})),
		bash("touch again"),
		bash("rm made"),
		llmtest.Say("All done."), llmtest.Say("Loaded."))
	e := adapterAt(t, server, home, dir)
	id := e.open()
	n := e.begin("session/prompt", textPrompt(id, "Do it"))
	q := e.question("session/request_permission")
	if !like(decoded(t, q.Params), map[string]any{"toolCall": map[string]any{"title": "touch made && echo '# done'", "kind": "execute"},
		"options": []any{map[string]any{"kind": "allow_once"}, map[string]any{"kind": "allow_always", "name": "touch *"}, map[string]any{"kind": "reject_once"}}}) {
		t.Errorf("the question is %s", q.Params)
	}
	e.picks(q, "allow_always")
	q = e.question("session/request_permission")
	if !like(decoded(t, q.Params), map[string]any{"toolCall": map[string]any{"kind": "edit", "content": []any{map[string]any{"type": "diff", "path": file, "oldText": "two", "newText": "2"}}}}) {
		t.Errorf("the question is %s", q.Params)
	}
	e.picks(q, "allow_once")
	q = e.question("session/request_permission") // the second touch is covered by the rule
	if !like(decoded(t, q.Params), map[string]any{"toolCall": map[string]any{"title": "rm made"}}) {
		t.Errorf("the question is %s", q.Params)
	}
	e.picks(q, "reject_once")
	e.stops(n, "end_turn")
	e.reads("agent_message_chunk", "Let me see.All done.")
	e.reads("agent_thought_chunk", "hm")
	e.has(map[string]any{"sessionUpdate": "tool_call_update", "_meta": map[string]any{"terminal_output": map[string]any{"data": "# done"}}})
	e.has(map[string]any{"sessionUpdate": "tool_call_update", "_meta": map[string]any{"terminal_exit": map[string]any{"exit_code": 0}}})
	e.has(map[string]any{"sessionUpdate": "tool_call_update", "content": []any{map[string]any{"type": "diff", "oldText": "one\ntwo", "newText": "one\n2"}}})
	e.has(map[string]any{"sessionUpdate": "tool_call_update", "status": "failed"})
	e.has(map[string]any{"sessionUpdate": "usage_update", "cost": map[string]any{"currency": "USD"}})
	context := 0.0
	for _, u := range e.updates {
		if used, _ := u["used"].(float64); u["sessionUpdate"] == "usage_update" {
			if used < context {
				t.Errorf("after %v tokens of context: %v", context, u)
			}
			context = used
		}
	}
	e.leaves()

	e = adapterAt(t, server, home, dir)
	var list struct {
		Sessions []struct {
			ID, Cwd, Title string
		}
	}
	e.request("session/list", map[string]any{"cwd": dir}, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].Title == "" || list.Sessions[0].Cwd != dir {
		t.Errorf("the list is %+v", list)
	}
	place := map[string]any{"sessionId": id, "cwd": dir, "mcpServers": []any{}}
	e.request("session/load", place, nil)
	e.reads("user_message_chunk", "Do it")
	e.reads("agent_message_chunk", "Let me see.All done.")
	e.has(map[string]any{"sessionUpdate": "tool_call", "title": "touch made && echo '# done'"})
	e.prompt(id, "Go on", "end_turn")
	e.reads("agent_message_chunk", "Let me see.All done.Loaded.")
	if !strings.Contains(string(played(server).Body), "All done.") {
		t.Error("the past is not there")
	}
}

// TestAdapterCancels cancels a command and a question. The session continues afterwards.
func TestAdapterCancels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := adapterAt(t, playing(t, bash("sleep 1000 # of the test"), bash("touch made"), llmtest.Say("Here.")), t.TempDir(), dir)
	id := e.open()
	n := e.begin("session/prompt", textPrompt(id, "run"))
	for commandIn(t, dir) == "" {
		if _, ended := e.results[n]; ended {
			t.Fatalf("%+v", e.results[n])
		}
		time.Sleep(10 * time.Millisecond)
	}
	cancel := map[string]any{"do": "notify", "method": "session/cancel", "params": map[string]any{"sessionId": id}}
	e.send(cancel)
	e.stops(n, "cancelled")
	if left := commandIn(t, dir); left != "" {
		t.Errorf("a command still runs: %s", left)
	}
	n = e.begin("session/prompt", textPrompt(id, "ask"))
	e.question("session/request_permission") // nobody answers it
	e.send(cancel)
	e.stops(n, "cancelled")
	e.prompt(id, "go on", "end_turn")
	e.reads("agent_message_chunk", "Here.")
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("a call ran that nobody allowed")
	}
}

// TestAdapterChoices changes mode, model and effort, goes through plan mode, follows tasks, asks with
// a form, and uses a server of the editor. A copy of the session continues it.
func TestAdapterChoices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("CONTENT"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := playing(t,
		llmtest.Call(llmtest.Use("", "ExitPlanMode", map[string]string{"plan": "1. Write the file"})),
		writeStep(filepath.Join(dir, "n.txt")),
		llmtest.Call(llmtest.Use("", "TodoWrite", map[string]any{"todos": []any{map[string]any{"content": "Look", "status": "in_progress", "activeForm": "Looking"}}})),
		llmtest.Call(llmtest.Use("", "TaskCreate", map[string]string{"subject": "Test", "description": "it"})),
		llmtest.Call(llmtest.Use("", "TaskUpdate", map[string]string{"id": "task_1", "status": "in_progress"})),
		llmtest.Call(llmtest.Use("", "mcp__files__Read", map[string]any{"file_path": filepath.Join(dir, "a.txt")})),
		llmtest.Call(llmtest.Use("", "AskUserQuestion", map[string]any{"questions": []any{map[string]any{"question": "Which colour?", "header": "Colour", "multiSelect": false,
			"options": []any{map[string]any{"label": "Red", "description": "warm"}, map[string]any{"label": "Blue", "description": "cold"}}}}})),
		llmtest.Say("Done."), llmtest.Say("Of the copy."))
	e := adapterAt(t, server, t.TempDir(), dir)
	var o openedSession
	e.request("session/new", map[string]any{"cwd": dir, "mcpServers": []any{
		map[string]any{"name": "files", "command": program, "args": []string{"mcp", "serve", "--tools", "Read"}, "env": []any{map[string]any{"name": "OPENAGENT_HOME", "value": t.TempDir()}, map[string]any{"name": "ANTHROPIC_API_KEY", "value": "k"}}}}}, &o)
	e.request("session/set_config_option", map[string]any{"sessionId": o.ID, "configId": "model", "value": "claude-opus-4-6"}, nil)
	e.request("session/set_config_option", map[string]any{"sessionId": o.ID, "configId": "effort", "value": "high"}, nil)
	e.request("session/set_mode", map[string]any{"sessionId": o.ID, "modeId": "plan"}, nil)
	n := e.begin("session/prompt", textPrompt(o.ID, "plan it"))
	q := e.question("session/request_permission")
	if !like(decoded(t, q.Params), map[string]any{"toolCall": map[string]any{"kind": "switch_mode", "content": []any{map[string]any{"content": map[string]any{"text": "1. Write the file"}}}}}) {
		t.Errorf("the question is %s", q.Params)
	}
	e.picks(q, "allow_once")
	e.picks(e.question("session/request_permission"), "allow_once") // the write
	q = e.question("session/request_permission")
	if !like(decoded(t, q.Params), map[string]any{"toolCall": map[string]any{"rawInput": map[string]any{"file_path": "a.txt"}}}) {
		t.Errorf("the question is %s", q.Params)
	}
	e.picks(q, "allow_once")
	q = e.question("elicitation/create")
	var form struct {
		Schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		} `json:"requestedSchema"`
	}
	if err := json.Unmarshal(q.Params, &form); err != nil {
		t.Fatal(err)
	}
	answers := map[string]any{}
	for name := range form.Schema.Properties {
		if !strings.Contains(name, "custom") && !strings.Contains(name, "other") {
			answers[name] = "Blue"
		}
	}
	e.answer(q, map[string]any{"action": "accept", "content": answers})
	e.stops(n, "end_turn")
	e.has(map[string]any{"sessionUpdate": "plan", "entries": []any{map[string]any{"content": "Look", "status": "in_progress"}}})
	e.has(map[string]any{"sessionUpdate": "plan", "entries": []any{map[string]any{"content": "Test", "status": "in_progress"}}})
	e.has(map[string]any{"sessionUpdate": "tool_call_update", "status": "completed", "content": []any{map[string]any{"content": map[string]any{"text": "CONTENT"}}}})
	last := played(server)
	if results := last.Results(); !strings.Contains(results[len(results)-1].Text, "Blue") {
		t.Errorf("%+v", results)
	}
	if !strings.Contains(string(last.Body), "claude-opus") {
		t.Errorf("the model is not changed: %.300s", last.Body)
	}
	var fork openedSession
	e.request("session/fork", map[string]any{"sessionId": o.ID, "cwd": dir, "mcpServers": []any{}}, &fork)
	e.prompt(fork.ID, "Copy", "end_turn")
	e.reads("agent_message_chunk", "Done.Of the copy.")
	e.request("session/close", map[string]any{"sessionId": fork.ID}, nil)
	e.request("session/delete", map[string]any{"sessionId": fork.ID}, nil)
}
