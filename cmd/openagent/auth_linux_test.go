package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/openagent-go/agent/llm/llmtest"
)

// echoes reports whether the terminal shows what is typed.
func (p *person) echoes() bool {
	p.t.Helper()
	state, err := unix.IoctlGetTermios(int(p.control.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// TestAuthOnTerminal types a key, which the terminal never shows.
func TestAuthOnTerminal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := sitAt(t, llmtest.NewServer(t), t.TempDir(), []string{"OPENAGENT_HOME=" + home, "ANTHROPIC_API_KEY="}, []string{"auth", "login", "--file"})
	p.sees(`API key of anthropic \(it is not shown\): `)
	p.types("sk-typed-SECRETSECRET\r")
	p.sees(`Stored the key of anthropic in .*keys.json`)
	if code := p.leaves(); code != 0 {
		t.Error("exit code", code)
	}
	if !p.echoes() || strings.Contains(p.all.String(), "SECRET") {
		t.Errorf("echo: %v, shown: %q", p.echoes(), p.all.String())
	}
	data, err := os.ReadFile(filepath.Join(home, "keys.json"))
	if err != nil || !strings.Contains(string(data), "sk-typed-SECRETSECRET") {
		t.Errorf("%s, %v", data, err)
	}
}

// TestAuthInterrupted ends the program while it asks. The terminal is as before, and nothing is stored.
func TestAuthInterrupted(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := sitAt(t, llmtest.NewServer(t), t.TempDir(), []string{"OPENAGENT_HOME=" + home, "ANTHROPIC_API_KEY="}, []string{"auth", "login", "--file"})
	p.sees(`it is not shown\): `)
	if p.echoes() {
		t.Error("the terminal shows what is typed")
	}
	p.types("sk-half")
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := p.leaves(); code != 130 {
		t.Error("exit code", code)
	}
	if !p.echoes() {
		t.Error("the terminal no longer shows what is typed")
	}
	if _, err := os.Stat(filepath.Join(home, "keys.json")); err == nil {
		t.Error("a key was stored")
	}
}
