// Skills loads a skill from a folder and runs it like a user, by name with arguments. While the
// skill is active, the agent can use only the tools that the skill names. The agent's rules cannot
// allow more. The skill ends with the run.
//
// Run it with: go run ./examples/29-skills
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

const countSkill = `---
name: count
description: Counts the lines of a file
argument-hint: "FILE"
allowed-tools: Read, Bash(wc *)
---
Count the lines of $1 and say the number.
`

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "skills")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{".agents/skills/count/SKILL.md": countSkill, "poem.txt": "one\ntwo\nthree\n"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	skills := skill.New(skill.BuiltIn(dir)...)
	found, problems := skills.Discover(skill.Folders("", dir)) // what a project brings: only where you trust it
	fmt.Fprintf(out, "%d skill found, %d problems\n", found, len(problems))

	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()
	a := &agent.Agent{
		Model:       model(),
		Dir:         dir,
		Permissions: permission.Policy{Mode: permission.Bypass},
		Tools:       append(tools.Core(ws), tools.Skill(skills)), // models run skills too
	}
	s := a.Session("")
	defer s.Close()
	expansion, err := skills.Expand("count", "poem.txt") // what a person's "/count poem.txt" stands for
	if err != nil {
		return err
	}
	for _, in := range []agent.Input{{Text: "/count poem.txt", Expansion: expansion}, {Text: "Delete the poem."}} {
		res, err := s.Do(ctx, in)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, res.Text)
		for _, d := range res.Denials {
			fmt.Fprintf(out, "  refused: %s\n", d.Reason)
		}
		_, err = os.Stat(filepath.Join(dir, "poem.txt"))
		fmt.Fprintf(out, "  the poem is there: %v\n", err == nil)
	}
	return nil
}
