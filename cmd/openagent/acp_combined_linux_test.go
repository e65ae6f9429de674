package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/llm/llmtest"
)

func (e *editor) cancelPrompt(session string) {
	e.t.Helper()
	e.send(map[string]any{"do": "notify", "method": "session/cancel", "params": map[string]any{"sessionId": session}})
}

// TestEditorDuringQuestion closes, forks and changes a session while it asks for permission.
func TestEditorDuringQuestion(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	server := llmtest.NewServer(t)
	server.Rule = func(r *llmtest.Request, _ int) llmtest.Step {
		switch body := string(r.Body); {
		case strings.Contains(body, "of the copy"):
			return llmtest.Say("Copied.")
		case len(r.AllResults()) == 0:
			return llmtest.Call(llmtest.Use("", "Write", map[string]any{"file_path": filepath.Join(dir, "a.txt"), "content": "a"}))
		case len(r.AllResults()) == 1 && r.Prompt() != "again":
			return llmtest.Call(llmtest.Use("", "Write", map[string]any{"file_path": filepath.Join(dir, "b.txt"), "content": "b"}))
		}
		return llmtest.Say("Done.")
	}
	e := editorAt(t, server, home, dir)
	e.initialize()
	id := e.open()
	place := map[string]any{"sessionId": id, "cwd": dir, "mcpServers": []any{}}
	n := e.begin("session/prompt", textPrompt(id, "write"))
	q := e.question("session/request_permission")
	var fork openedSession
	e.request("session/fork", place, &fork)
	e.prompt(fork.ID, "of the copy", "end_turn")
	e.request("session/set_mode", map[string]any{"sessionId": id, "modeId": "acceptEdits"}, nil)
	e.chooses(q, "allow_once")
	e.stops(n, "end_turn") // the second write is not asked about
	for _, name := range []string{"a.txt", "b.txt"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	e.request("session/set_mode", map[string]any{"sessionId": id, "modeId": "default"}, nil)
	e.request("session/close", map[string]any{"sessionId": fork.ID}, nil)

	second := e.open()
	n = e.begin("session/prompt", textPrompt(second, "write more"))
	q = e.question("session/request_permission")
	e.request("session/close", map[string]any{"sessionId": second}, nil)
	e.stops(n, "cancelled")
	e.chooses(q, "allow_once") // too late
	e.request("session/load", map[string]any{"sessionId": second, "cwd": dir, "mcpServers": []any{}}, nil)
	e.prompt(second, "again", "end_turn")
	if code := e.leaves(); code != 0.0 {
		t.Error("exit code", code)
	}
}

// TestEditorLoadsAll loads a session with a sub-agent, a denied call and an image that a tool returned.
// Each call has an end.
func TestEditorLoadsAll(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	picture := filepath.Join(dir, "p.png")
	if err := os.WriteFile(picture, pngPixel(t), 0o600); err != nil {
		t.Fatal(err)
	}
	e := newEditor(t, home, dir, []llmtest.Step{
		llmtest.Call(llmtest.Use("", "Agent", map[string]any{"subagent_type": "general-purpose", "description": "look", "prompt": "Look."})),
		bash("ls"), llmtest.Say("Seen."),
		bash("touch made"),
		llmtest.Call(llmtest.Use("", "Read", map[string]any{"file_path": picture})),
		llmtest.Call(llmtest.Use("", "Nothing", map[string]any{})),
		llmtest.Say("All done."), llmtest.Say("Again."),
	})
	e.initialize()
	id := e.open()
	n := e.begin("session/prompt", textPrompt(id, "go"))
	e.chooses(e.question("session/request_permission"), "reject_once")
	e.stops(n, "end_turn")
	live := ends(e)
	e.leaves()

	e = newEditor(t, home, dir, nil)
	e.initialize()
	e.request("session/load", map[string]any{"sessionId": id, "cwd": dir, "mcpServers": []any{}}, nil)
	loaded := ends(e)
	if len(live) != 4 || len(loaded) != 4 {
		t.Fatalf("live: %v\nloaded: %v", live, loaded)
	}
	for call, end := range live {
		if loaded[call] != end {
			t.Errorf("%s: live %s, loaded %s", call, end, loaded[call])
		}
	}
	e.has(map[string]any{"status": "completed", "content": []any{map[string]any{"type": "content"}, map[string]any{"content": map[string]any{"type": "image", "mimeType": "image/png"}}}})
	e.reads("user_message_chunk", "go")
	e.reads("agent_message_chunk", "All done.")
}

// ends returns how the calls of all updates ended, by their titles.
func ends(e *editor) map[string]string {
	title, status := map[string]string{}, map[string]string{}
	for _, u := range e.updates {
		id, _ := u["toolCallId"].(string)
		if s, _ := u["title"].(string); s != "" {
			title[id] = s
		}
		if s, _ := u["status"].(string); s != "" {
			status[id] = s
		}
	}
	out := map[string]string{}
	for id, s := range status {
		out[title[id]] = s
	}
	return out
}

func pngPixel(t *testing.T) []byte {
	t.Helper()
	var data []byte
	if err := json.Unmarshal([]byte(`"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="`), &data); err != nil {
		t.Fatal(err)
	}
	return data
}

// TestEditorCompacts cancels a compaction, and compacts.
func TestEditorCompacts(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t)
	summaries := 0
	server.Rule = func(r *llmtest.Request, _ int) llmtest.Step {
		if strings.HasPrefix(r.Prompt(), "tell me") || strings.HasPrefix(r.Prompt(), "go on") {
			return llmtest.Say(strings.Repeat("A long answer. ", 400))
		}
		if summaries++; summaries == 1 {
			return llmtest.Step{Text: "too late", Delay: time.Hour}
		}
		return llmtest.Say("THE SUMMARY of what was said.")
	}
	e := editorAt(t, server, t.TempDir(), t.TempDir())
	e.initialize()
	id := e.open()
	for range 3 {
		e.prompt(id, "tell me", "end_turn")
	}
	n := e.begin("session/prompt", textPrompt(id, "/compact"))
	e.has(map[string]any{"sessionUpdate": "compaction_update", "status": "in_progress"})
	e.cancelPrompt(id)
	e.stops(n, "cancelled")
	e.prompt(id, "go on", "end_turn")
	e.prompt(id, "/compact", "end_turn")
	e.has(map[string]any{"sessionUpdate": "compaction_update", "status": "completed", "summary": []any{map[string]any{"text": "THE SUMMARY"}}})
	open := map[string]string{}
	for _, u := range e.updates {
		if u["sessionUpdate"] == "compaction_update" {
			open[u["compactionId"].(string)] = u["status"].(string)
		}
	}
	for c, status := range open {
		if status != "completed" && status != "cancelled" {
			t.Errorf("the compaction %s has no end", c)
		}
	}
}
