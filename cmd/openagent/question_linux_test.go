package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm/llmtest"
)

func bashStep(id, line string) llmtest.Step {
	return llmtest.Call(llmtest.Use(id, "Bash", map[string]string{"command": line}))
}

// What is typed before a question answers none, be it a line or a part of one.
func TestTypedAheadAnswersNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready")
	p := sit(t, dir, nil, []string{"--allowed-tools", "Bash(sleep *) Bash([ *)"}, bashStep("b1", "until [ -e typed ]; do sleep 0.05; done"), bashStep("b2", "touch ready"), llmtest.Say("end"))
	p.sees("> ")
	p.types("go\n")
	p.sees(`working`)
	p.types("1\n") // a message to the agent
	p.sees("the agent reads it after its current step")
	p.types("1")                                                                  // and the begin of another line
	if err := os.WriteFile(filepath.Join(dir, "typed"), nil, 0o600); err != nil { // the command ends
		t.Fatal(err)
	}
	p.sees(`explains: |\? .*Bash`)
	p.types("\n")
	p.sees("does not answer it")
	p.sees("explains: ")
	p.answers("3\n")
	p.sees("end")
	if _, err := os.Stat(ready); err == nil {
		t.Error("what was typed before the question has answered it")
	}
	p.types("/quit\n")
	p.leaves()
}

// A question on a terminal shows the end of a long command, each line of one with
// several, and characters that cannot be seen.
func TestQuestionOnATerminal(t *testing.T) {
	t.Parallel()
	p := sit(t, t.TempDir(), nil, nil, bashStep("b1", "echo "+strings.Repeat("a", 3000)+" && rm -rf ./important"),
		bashStep("b2", "ls -la # list\nrm -rf ./im\u200bportant\x1b[2J"), llmtest.Say("end"))
	p.sees("> ")
	p.types("go\n")
	p.sees(`! rm -rf \./important: rm deletes`)
	p.sees(`    echo a{900}a* && rm -rf \./important`)
	p.sees("explains: ")
	p.answers("1\n")
	p.sees(`! rm -rf \./important: rm deletes`)
	p.sees("type yes to allow it: ")
	p.answers("y\n")
	p.sees("only the word yes allows it")
	p.answers("n\n")
	p.sees(`\? .*Bash(?s).*a command of 2 lines:`)
	p.sees(`1 \| ls -la # list\r\n`)
	p.sees(`2 \| rm -rf \./im\\u\{200b\}portant\\u\{1b\}\[2J`)
	p.sees("explains: ")
	p.answers("n\n")
	p.sees("end")
	p.types("/quit\n")
	p.leaves()
	if strings.Contains(p.all.String(), "\x1b[2J") {
		t.Error("the command drives the terminal")
	}
}

// What a model says drives no terminal, as text, as JSON, and in errors.
func TestAnswersDriveNoTerminal(t *testing.T) {
	t.Parallel()
	const evil = "\x1b]52;c;aGVsbG8=\a\x1b[2J\u009b31m\u202eevil\u202c\x7f\b"
	for _, format := range []string{"text", "json", "stream-json"} {
		p := sit(t, t.TempDir(), nil, []string{"-p", "go", "--output-format", format}, bashStep("b1", "mkdir "+evil), llmtest.Say("said "+evil))
		p.sees("evil")
		p.leaves()
		for _, bad := range []string{"\x1b", "\u009b", "\u202e", "\x7f", "\b", "\a"} {
			if strings.Contains(p.all.String(), bad) {
				t.Errorf("%s: %q is in %q", format, bad, p.all.String())
			}
		}
	}
}
