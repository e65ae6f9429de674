package project_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/project"
)

// The model gets AGENTS.md of the working directory before the first prompt.
func ExampleNotes() {
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
	notes := new(project.Notes)
	defer notes.Close()
	a := &agent.Agent{Model: llmtest.Script(llmtest.Say("Done.")), Dir: dir, Context: notes.Context}
	if _, err := a.Prompt(context.Background(), "Fix the build."); err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range notes.Loaded() {
		fmt.Println(filepath.Base(path))
	}
	// Output: AGENTS.md
}

// Load shows the files of a folder without an agent.
func ExampleNotes_Load() {
	for _, f := range new(project.Notes).Load(agent.Place{Dir: os.TempDir()}) {
		fmt.Println(f.Path, f.Kind)
		fmt.Print(f.Text)
	}
}
