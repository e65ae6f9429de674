package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// What the command has recorded, a Go test plays. Keys are in none of its parts: they were in a
// header, in the address, in the prompt and in the answer.
func TestRecordForTests(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	const key, other = "plainkey0123456789abc", "sk-ant-api03-AAAABBBBCCCCDDDD"
	server := llmtest.NewServer(t, llmtest.Step{Text: "The keys are " + key + " and " + other + " here.", Pieces: 1})
	dir := t.TempDir()
	file := filepath.Join(dir, "testdata", "keys.json")
	cmd := exec.Command(path, "record", file, "--no-session-persistence", "--tools", "none", "--system-prompt", "Be brief.", "--model", "claude-sonnet-4-6", "Keep "+key+" and "+other+" to yourself.")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader("")
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=" + key, "ANTHROPIC_BASE_URL=" + server.URL}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	without := exec.Command(path, "record", filepath.Join(dir, "none.json"), "--no-session-persistence", "--provider", "demo", "hi")
	without.Dir, without.Stdin, without.Env = dir, strings.NewReader(""), []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	if out, err := without.CombinedOutput(); err == nil || !strings.Contains(string(out), "the provider demo got no request, so "+filepath.Join(dir, "none.json")+" is not written") {
		t.Errorf("a recording without traffic: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "none.json")); err == nil {
		t.Error("a recording without traffic is written")
	}
	tape, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{key, other, "plainkey", "AAAABBBB"} {
		if strings.Contains(string(tape), secret) {
			t.Errorf("%s is in the recording:\n%s", secret, tape)
		}
	}
	m := (&anthropic.Client{APIKey: "none", HTTP: llmtest.Replay(t, file, nil, key)}).Model("claude-sonnet-4-6")
	res, err := (&agent.Agent{Model: m, System: "Be brief."}).Prompt(t.Context(), "Keep "+key+" and "+other+" to yourself.")
	if err != nil || res.Text != "The keys are [redacted] and [redacted] here." {
		t.Errorf("%+v, %v", res, err)
	}
}
