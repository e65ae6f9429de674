package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/installed"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// The session functions of the official SDK for TypeScript list, read, rename, tag and fork a
// session that was exported for them.
func TestExportForClaude(t *testing.T) {
	t.Parallel()
	node, sdk := installed.Program(t, "node"), installed.ClaudeSDK(t)
	program, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join("testdata", "claude", "sessions.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	model := llmtest.NewServer(t,
		llmtest.Step{Thinking: "I look", Text: "Looking.", Calls: []llm.ToolUse{llmtest.Use("b1", "Read", map[string]any{"file_path": "a.txt"}),
			llmtest.Use("b2", "Read", map[string]any{"file_path": "missing.txt"})}},
		llmtest.Call(llmtest.Use("a1", "Agent", map[string]any{"prompt": "look at a.txt", "description": "look", "subagent_type": "Explore"})),
		llmtest.Say("the agent is done"), llmtest.Say("all is done, topsecretvalue"), llmtest.Say("second answer"))
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, home := filepath.Join(top, "the_work dir"), filepath.Join(top, "home")
	if err := errors.Join(os.Mkdir(work, 0o700), os.Mkdir(home, 0o700), os.WriteFile(filepath.Join(work, "a.txt"), []byte("hello"), 0o600)); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "HOME="+home, "OPENAGENT_HOME="+filepath.Join(home, ".openagent"), "CLAUDE_CONFIG_DIR="+filepath.Join(home, "claude"), "CLAUDE_SDK="+sdk,
			"GORACE="+quickEnd, "ANTHROPIC_API_KEY=k", "SOME_TOKEN=topsecretvalue", "ANTHROPIC_BASE_URL="+model.URL)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s%s", name, args, err, out, stderr.Bytes())
		}
		return string(out)
	}
	const id = "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000"
	run(program, "-p", "--session-id", id, "--permission-mode", "bypassPermissions", "look at both")
	run(program, "-p", "--resume", id, "more")
	run(program, "sessions", "rename", id, "Two files")
	path := strings.TrimSpace(run(program, "sessions", "export", id, "--format", "claude"))
	if want := filepath.Join(home, "claude", "projects", strings.NewReplacer("/", "-", "_", "-", " ", "-").Replace(work), id+".jsonl"); path != want {
		t.Errorf("it wrote %s, not %s", path, want)
	}
	chain(t, path)
	if data, err := os.ReadFile(path); err != nil || bytes.Contains(data, []byte("topsecretvalue")) {
		t.Errorf("%v: a secret is in the file", err)
	}
	out := run(node, script, id)
	run(program, "sessions", "export", id, "--format", "claude", "--output", filepath.Join(top, "elsewhere"))
	if _, err := os.Stat(filepath.Join(top, "elsewhere", "projects")); err != nil {
		t.Error(err)
	}
	t.Log(out)
}

// chain checks that each line of a session's file names the one before it.
func chain(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before := ""
	for _, raw := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		var line struct {
			Type, UUID string
			ParentUUID *string
		}
		if err := json.Unmarshal(raw, &line); err != nil {
			t.Fatal(err)
		}
		if line.Type != "user" && line.Type != "assistant" {
			continue
		}
		if parent := line.ParentUUID; parent == nil && before != "" || parent != nil && *parent != before {
			t.Errorf("after %s: %s", before, raw)
		}
		before = line.UUID
	}
}

// The program in TypeScript of the guide runs.
func TestGuideInTypeScript(t *testing.T) {
	t.Parallel()
	node, sdk := installed.Program(t, "node"), installed.ClaudeSDK(t)
	program, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "guide", "hosts.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```ts\n")
	text, _, _ = strings.Cut(text, "```")
	const named = `"/usr/local/bin/openagent"`
	if !found || !strings.Contains(text, named) {
		t.Fatal("the guide has no program in TypeScript")
	}
	model := llmtest.NewServer(t, llmtest.Call(llmtest.Use("w", "Write", map[string]any{"file_path": "NOTES", "content": "done\n"})), llmtest.Say("It is written."))
	work := t.TempDir()
	if err := errors.Join(os.Symlink(filepath.Join(filepath.Dir(sdk), "..", ".."), filepath.Join(work, "node_modules")),
		os.WriteFile(filepath.Join(work, "main.mjs"), []byte(strings.Replace(text, named, string(quotedJSON(t, program)), 1)), 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "main.mjs")
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "HOME="+work, "OPENAGENT_HOME="+filepath.Join(work, ".openagent"), "GORACE="+quickEnd, "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+model.URL)
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "asked about Write\nsuccess It is written.\n" {
		t.Errorf("%v\n%s", err, out)
	}
	if data, err := os.ReadFile(filepath.Join(work, "NOTES")); err != nil || string(data) != "done\n" {
		t.Errorf("%v, %q", err, data)
	}
}
