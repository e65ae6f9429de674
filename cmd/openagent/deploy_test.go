package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// TestDeployFlags: the command has the flags that the files in deploy give it.
func TestDeployFlags(t *testing.T) {
	commands := map[string]cli.Command{}
	root(cli.NewIO()).Walk(func(path string, c cli.Command) { commands[path] = c })
	lines := 0
	for _, name := range []string{"compose.yaml", "kubernetes/workers.yaml", "kubernetes/front.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "deploy", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range regexp.MustCompile(`(?m)^ *(?:args|command): (\["(?:worker|serve)".*\])$`).FindAllSubmatch(text, -1) {
			lines++
			var args []string
			if err := json.Unmarshal(line[1], &args); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			c, ok := commands["openagent "+args[0]]
			if !ok {
				t.Fatalf("%s: no command openagent %s", name, args[0])
			}
			known := map[string]bool{}
			for _, f := range c.Flags() {
				known[f.Name] = true
			}
			for _, arg := range args[1:] {
				if flag, ok := strings.CutPrefix(arg, "--"); ok && !known[flag] {
					t.Errorf("%s: openagent %s has no flag --%s", name, args[0], flag)
				}
			}
		}
	}
	if lines != 4 {
		t.Errorf("%d commands in deploy, want 4", lines)
	}
}
