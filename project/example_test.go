package project_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/project"
)

// Load finds the files of instructions of a folder.
func ExamplePlace_Load() {
	dir, err := os.MkdirTemp("", "project")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("Run make test before a commit.\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range (project.Place{Dir: dir}).Load() {
		fmt.Println(filepath.Base(f.Path), f.Kind)
		fmt.Print(f.Text)
	}
	// Output:
	// AGENTS.md Project
	// Run make test before a commit.
}
