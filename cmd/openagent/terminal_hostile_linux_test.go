package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/llm/llmtest"
)

// hostile drives a terminal wherever it gets there as it is.
const hostile = "\x1b]0;OWNED\x07\x1b[2J\u009b31m\u202eEVIL\u200f"

var colourCodes = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// drivesTerminal returns what of an output would drive a terminal, "" for nothing.
// Colours are ours.
func drivesTerminal(output string) string {
	output = colourCodes.ReplaceAllString(output, "")
	i := strings.IndexFunc(output, func(r rune) bool {
		return r < 0x20 && !strings.ContainsRune("\r\n\t", r) || 0x7f <= r && r <= 0x9f || r == 0x200e || r == 0x200f || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
	})
	if i < 0 {
		return ""
	}
	return output[max(0, i-40):min(len(output), i+40)]
}

// No subcommand passes on what files, servers, models and sessions say as it is.
func TestHostileTextOnTerminal(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	home, dir, plug := filepath.Join(base, "home"), filepath.Join(base, "work"+hostile), filepath.Join(base, "plug"+hostile)
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	quoted := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	document := "---\nname: evil\ndescription: " + quoted("about "+hostile) + "\n" + quoted("key"+hostile) + ": x\n---\nBe " + hostile + "\n"
	hooks := quoted(map[string]any{"PreToolUse": []any{map[string]any{"matcher": "None" + hostile, "hooks": []any{map[string]string{"type": "command", "command": "true " + hostile}}}}})
	servers := quoted(map[string]any{"mcpServers": map[string]any{"srv" + hostile: map[string]any{"command": "/none" + hostile, "args": []string{hostile}}}})
	write(filepath.Join(home, ".openagent", "settings.json"), `{"unknown`+strings.Trim(quoted(hostile), `"`)+`": 1, "permissions": {"deny": [`+quoted("Bash(x"+hostile+")")+`]}, "hooks": `+hooks+`, "env": {"A": `+quoted(hostile)+`}}`, 0o600)
	write(filepath.Join(home, ".openagent", "tools", "t"+hostile), "#!/bin/sh\nprintf '"+hostile+"' >&2; exit 1\n", 0o755)
	write(filepath.Join(home, ".agents", "agents", "evil.md"), document, 0o644)
	write(filepath.Join(home, ".agents", "skills", "evil"+hostile, "SKILL.md"), document, 0o644)
	write(filepath.Join(home, ".openagent", "mcp.json"), servers, 0o600)
	write(filepath.Join(dir, ".openagent", "settings.json"), `{"model": `+quoted(hostile)+`, "hooks": `+hooks+`, "bad`+strings.Trim(quoted(hostile), `"`)+`": 2}`, 0o644)
	write(filepath.Join(dir, ".openagent", "tools", "p"+hostile), "#!/bin/sh\n", 0o755)
	write(filepath.Join(dir, ".mcp.json"), servers, 0o644)
	write(filepath.Join(dir, ".agents", "skills", "s"+hostile, "SKILL.md"), document, 0o644)
	write(filepath.Join(dir, ".agents", "agents", "a"+hostile+".md"), document, 0o644)
	write(filepath.Join(dir, "AGENTS.md"), "See @missing"+hostile+"\n", 0o644)
	write(filepath.Join(dir, "f"+hostile), "x\n", 0o644)
	write(filepath.Join(plug, "hooks", "hooks.json"), `{"hooks": `+hooks+`}`, 0o644)
	write(filepath.Join(plug, "commands", "c"+hostile+".md"), document, 0o644)
	env := []string{"HOME=" + home, "ANTHROPIC_MODEL=claude-sonnet-4-6"}
	work := func(name string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", name, map[string]string{"command": "echo " + hostile, "file_path": "f" + hostile, "pattern": hostile}))
	}
	run := func(t *testing.T, args []string, steps ...llmtest.Step) {
		t.Helper()
		p := sit(t, dir, env, args, steps...)
		done := make(chan struct{})
		go func() { // answers every question: what is typed before it is dropped
			for {
				select {
				case <-done:
					return
				case <-time.After(20 * time.Millisecond):
					_, _ = p.control.WriteString("n\n")
				}
			}
		}()
		stuck := time.AfterFunc(20*time.Second, func() { p.cmd.Process.Kill() })
		if p.leaves(); !stuck.Stop() {
			t.Errorf("%q does not end: %q", args, p.all.String())
		}
		close(done)
		all := p.all.String()
		if wrong := drivesTerminal(all); wrong != "" {
			t.Errorf("%q: %q reached the terminal", args, wrong)
		}
		if strings.Contains(all, "panic:") {
			t.Errorf("%q: %s", args, all)
		}
	}
	run(t, []string{"-p", "--session-id", "s1", "prompt " + hostile}, work("Bash"), work("Read"), work("Nothing"+hostile), llmtest.Say("answer "+hostile))
	run(t, []string{"-p", "--session-id", "s2", "--permission-prompt-tool", "defer", "write"}, llmtest.Call(llmtest.Use("", "Bash", map[string]string{"command": "rm x" + hostile})), llmtest.Say("end"))
	for _, args := range [][]string{
		{"trust", "add", plug}, {"trust", "add", dir}, {"trust", "list"}, {"trust", "remove", "none" + hostile},
		{"sessions", "rename", "s1", "title " + hostile}, {"sessions", "tag", "s1", "tag" + hostile},
		{"sessions"}, {"sessions", "list", "--all"}, {"sessions", "show", "s1"}, {"sessions", "cost", "s1"}, {"sessions", "search", "EVIL"}, {"sessions", "export", "s1"},
		{"sessions", "trace", "s1"}, {"sessions", "rewind", "s1"}, {"sessions", "verify"}, {"sessions", "answer", "s2"}, {"sessions", "show", "none" + hostile}, {"sessions", "answer", "s2", "--output-format", "json"},
		{"sessions", "show", "s1", "--output-format", "json"}, {"sessions", "prune", "--older-than", "x" + hostile},
		{"cron", "add", "0 0 1 1 *", "do " + hostile}, {"cron", "list"}, {"cron", "add", hostile, "x"}, {"cron", "remove", hostile},
		{"triggers", "add", "t1", "do " + hostile}, {"triggers", "list"}, {"triggers", "remove", hostile},
		{"tools"}, {"tools", "show", hostile}, {"tools", "run", "Bash", quoted(map[string]string{"command": "echo " + hostile})}, {"tools", "stats", "--all"}, {"tools", "run", "Read", quoted(map[string]string{"file_path": hostile})},
		{"skills"}, {"skills", "list", "--plugin-dir", plug}, {"skills", "show", "evil"}, {"skills", "lint"}, {"skills", "show", hostile},
		{"agents"}, {"agents", "list", "--plugin-dir", plug}, {"agents", "show", "evil"}, {"agents", "lint"}, {"agents", "show", hostile},
		{"permissions"}, {"permissions", "explain", "Bash", "rm " + hostile}, {"permissions", "lint"}, {"permissions", "suggest"},
		{"mcp", "list"}, {"mcp", "get", "srv" + hostile}, {"mcp", "test", "srv" + hostile}, {"mcp", "get", hostile}, {"mcp", "login", hostile},
		{"models", "show", hostile}, {"config"}, {"config", "get", hostile}, {"config", "explain"}, {"config", "explain", "hooks"}, {"config", "set", "model", hostile},
		{"doctor"}, {"completion", hostile}, {"help", hostile}, {"-p", "--plugin-dir", plug, "--" + hostile}, {"-p", "--plugin-dir", plug, "--model", hostile, "x"}, {"-p", "--resume", hostile, "x"},
	} {
		run(t, args, llmtest.Say("answer "+hostile))
	}
}
