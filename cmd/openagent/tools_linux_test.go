package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/llm/llmtest"
)

const terminalTool = `#!/bin/sh
touch ran
case $1 in
describe) echo '{"description":"Says hello."}';;
run) echo hello;;
esac
`

// A person at a terminal is asked about the tools of a folder, once, and about
// calls that need permission; no is no.
func TestToolsOnATerminal(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), "HOME="+t.TempDir()
	folder := filepath.Join(dir, ".openagent", "tools")
	if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "hello"), []byte(terminalTool), 0o755)); err != nil {
		t.Fatal(err)
	}
	tools := func(args ...string) *person { return sit(t, dir, []string{home}, append([]string{"tools"}, args...)) }

	leaves := func(p *person, want int) {
		t.Helper()
		if got := p.leaves(); got != want {
			t.Errorf("exit code %d, want %d", got, want)
		}
	}

	p := tools()
	p.sees(`(?s)holds tools that the agent could run as programs:\r\n  hello\r\nDo you trust them, as they are now\? \[y/N\] `)
	p.types("\n")
	p.sees("not trusted: hello")
	leaves(p, cli.ExitDone)
	p = tools("list")
	p.sees(`\[y/N\] `)
	p.types("\x03")
	leaves(p, cli.ExitInterrupted)
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("it ran before it was trusted")
	}

	p = tools("run", "hello")
	p.sees(`\[y/N\] `)
	p.types("y\n")
	p.sees(`is not known to be read-only(?s).*hello\r\nallow\? \[y/N\] `)
	p.types("no\n")
	p.sees("refused by the user")
	leaves(p, cli.ExitStopped)
	p = tools("run", "hello")
	p.sees(`allow\? \[y/N\] `)
	p.types("yes\n")
	p.sees("hello\r\n")
	leaves(p, cli.ExitDone)
}

// Tools of folders are there in a conversation, once they are trusted, and
// "always" holds for them.
func TestCustomToolsInConversations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, ".openagent", "tools")
	if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "hello"), []byte(terminalTool), 0o755)); err != nil {
		t.Fatal(err)
	}
	use := llmtest.Call(llmtest.Use("", "hello", map[string]string{}))
	p := sit(t, dir, nil, nil, use, use, llmtest.Say("end"))
	p.sees(`Do you trust them, as they are now\? \[y/N\] `)
	p.types("y\n")
	p.sees("> ")
	p.types("greet\n")
	p.sees(`yes, always in this session: .*hello`)
	p.sees("explains: ")
	p.answers("always\n")
	p.sees(`(?s)\* .*hello.*end`) // the second is not asked about
	p.types("/quit\n")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The jobs of the folder run while a conversation goes on.
func TestScheduleInConversations(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), "HOME="+t.TempDir()
	add := sit(t, dir, []string{home}, []string{"cron", "add", "@every 1s", "touch fired", "--command", "--name", "mark"})
	if code := add.leaves(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	p := sit(t, dir, []string{home}, []string{"--allowed-tools", "Bash(touch *)"})
	p.sees("scheduled mark: done")
	p.types("/quit\n")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Stat(filepath.Join(dir, "fired")); err != nil {
		t.Error(err)
	}
}
