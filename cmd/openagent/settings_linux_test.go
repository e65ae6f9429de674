package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// A person at a terminal is asked about the settings of a project, and they count
// from the answer on, as they are.
func TestSettingsOnATerminal(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, ".openagent", "settings.json")
	write := func(text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("{\n\"model\": \"claude-opus-4-6\"}")
	start := func() *person {
		return sit(t, dir, []string{"HOME=" + home}, []string{"--no-session-persistence"})
	}
	quit := func(p *person) {
		t.Helper()
		p.types("/quit\n")
		if got := p.leaves(); got != cli.ExitDone {
			t.Errorf("exit code %d", got)
		}
	}
	p := start()
	p.sees(`has settings that need your trust:\r\n  model "claude-opus-4-6" \(line 2\)\r\nDo you trust them, as they are now\? \[y/N\] `)
	p.types("n\n")
	p.sees(`is not trusted, so these settings are ignored: model(?s).*, claude-sonnet-4-6, `)
	quit(p)
	p = start()
	p.sees(`\[y/N\] `)
	p.types("y\n")
	p.sees(`, claude-opus-4-6, `)
	quit(p)
	p = start()
	p.sees(`, claude-opus-4-6, `)
	quit(p)
	write("{\n\"model\": \"claude-opus-4-5\"}")
	p = start()
	p.sees(`claude-opus-4-5(?s).*\[y/N\] `)
	p.types("\n")
	p.sees(`, claude-sonnet-4-6, `)
	quit(p)
}
