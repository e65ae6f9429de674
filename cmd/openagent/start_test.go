package main

import (
	"os/exec"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// BenchmarkStart measures the whole life of the process.
func BenchmarkStart(b *testing.B) {
	path, err := exec.LookPath("openagent")
	if err != nil {
		b.Fatal(err)
	}
	for name, args := range map[string][]string{"version": {"version"}, "no key": {"-p", "hi"}, "help": {"--help"}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command(path, args...)
				cmd.Env = []string{"HOME=/nonexistent"}
				if err := cmd.Run(); exitCode(err) != 0 && exitCode(err) != cli.ExitKey {
					b.Fatal(err)
				}
			}
		})
	}
}
