package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// TestManual checks that the index of the manual names every command.
func TestManual(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "command", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := root(&cli.IO{}).Subcommands
	if len(commands) < 10 {
		t.Fatal("only", len(commands), "commands")
	}
	for _, c := range commands {
		if !strings.Contains(string(page), "`openagent "+c.Name) {
			t.Errorf("docs/command/README.md does not name openagent %s", c.Name)
		}
	}
}
