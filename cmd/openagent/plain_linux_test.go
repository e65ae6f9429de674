package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm/llmtest"
)

// A conversation in plain mode, as a person has it who listens: keys edit the line, long lines and
// pastes are whole, Markdown is readable, and without colours no control sequence is written.
func TestPlainConversation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := llmtest.NewServer(t, llmtest.Say("# Found\n\n- `one`\n- **two**\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"), bashStep("b1", "rm -rf ./made"), llmtest.Say("end"))
	p := sitDown(t, server, dir, []string{"ACCESSIBLE=1", "NO_COLOR=1"}, nil)
	p.sees(`asks before changes\. /help lists commands, \? lists keys\.\r\n> `)
	p.types("?\n")
	p.sees(`ctrl\+c +clear the line, stop the agent, or leave`)
	long := strings.Repeat("0123456789 ", 600) // more than a terminal's line
	p.types(long)
	p.sees(`\[paste \d`)
	p.types("yx\x1b[D\x7f\n") // left, backspace
	p.sees("working")
	p.sees("# Found\r\n\r\n- `one`\r\n- two\r\n\r\na \\| b\r\n--\\+--\r\n1 \\| 2\r\n")
	p.sees(`done, 1 turn, .*\r\n> `)
	p.types("first\nsecond\n") // as a paste without marks
	p.sees(`> first\r\n  second\r\n`)
	p.sees(`! rm -rf \./made: rm deletes`)
	p.sees("explains: ")
	p.answers("1\n")
	p.sees("type yes to allow it: ")
	p.answers("yes\n")
	p.sees(`\* Bash rm -rf \./made \(`)
	p.sees(`done, 2 turns, .*\r\n> `)
	p.types("\x1b[A\x1b[A\x1b[A") // earlier messages: two lines, and a long one
	p.sees(`\[paste 1 · \d+ characters\]`)
	p.types("\x15/quit\n")
	p.sees(`openagent --resume \S+ continues`)
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if at := regexp.MustCompile(`[\x00-\x07\x0b\x0c\x0e-\x1f\x7f]|\x{009b}`).FindString(p.all.String()); at != "" {
		t.Errorf("%q is written", at)
	}
	var said []string
	for _, r := range server.Requests() {
		said = append(said, r.Prompt())
	}
	if want := long + "x"; said[0] != want {
		t.Errorf("the first prompt has %d bytes, want %d: %.60q … %q", len(said[0]), len(want), said[0], said[0][max(0, len(said[0])-20):])
	}
}

// Where the terminal can do nothing but lines, they come whole. A pipe is a prompt a line.
func TestPlainLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := sitDown(t, llmtest.NewServer(t, bashStep("b1", "touch made"), llmtest.Say("end")), dir, []string{"TERM=dumb"}, nil)
	p.sees("> ")
	p.types("go\n")
	p.sees("explains: ")
	p.answers("1\n")
	p.sees(`end\r\n`)
	p.sees("> ")
	p.types("\x03")
	p.sees("press ctrl\\+c again to leave")
	p.types("\x03")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(p.all.String(), "\x1b") {
		t.Error("a control sequence is written")
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Error(err)
	}

	server := llmtest.NewServer(t, llmtest.Say("The first."), bashStep("b1", "touch denied"), llmtest.Say("The second."), llmtest.Say("The third."))
	path, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--plain")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "ANTHROPIC_API_KEY=sk-test-SECRETSECRET", "ANTHROPIC_BASE_URL=" + server.URL, "GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), "GORACE=" + quickEnd}
	cmd.Stdin = strings.NewReader("one\n/status\ntwo\n/clear\n1")
	out, err := cmd.CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?s)> one\n.*The first\..*done, 1 turn.*model    claude-sonnet-4-6.*> two\n.*\* Bash touch denied \(denied: .*The second\..*/help lists commands.*> 1\n.*The third\.`).Match(out) {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "denied")); err == nil {
		t.Error("a prompt has answered a question")
	}
}

// A narrow terminal shows lines. One that does not know its width is not narrow.
func TestPlainNarrow(t *testing.T) {
	t.Parallel()
	p := sitWide(t, llmtest.NewServer(t), t.TempDir(), nil, nil, 29)
	p.sees("lists keys")
	p.types("/quit\n")
	p.leaves()
	p = sitWide(t, llmtest.NewServer(t), t.TempDir(), nil, nil, 30)
	p.sees("\x1b")
	p.types("\x04")
	p.leaves()
}
