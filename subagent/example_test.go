package subagent_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/subagent"
)

// Load reads definitions of sub-agents from folders.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "agents")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	err = os.WriteFile(filepath.Join(dir, "reviewer.md"), []byte(`---
name: reviewer
description: Use it after changes, before a commit.
tools: Read, Grep
maxTurns: 20
---

You review changes.
`), 0o600)
	if err != nil {
		fmt.Println(err)
		return
	}
	definitions, problems := subagent.Load(subagent.Folder{Path: dir})
	for _, d := range definitions {
		fmt.Println(d.Agent.Name, "-", d.Description)
		fmt.Println(d.Agent.AllowedTools, d.ReadOnly)
	}
	fmt.Println(len(problems), "problems")
	_ = &subagent.Manager{Definitions: definitions} // for tools.Agent
	// Output:
	// reviewer - Use it after changes, before a commit.
	// [Read Grep] true
	// 0 problems
}
