// Secure-agent combines the layers that restrict an agent: policies that deny a tool and all
// changes, a sandbox with rules for paths and commands, and hooks that watch calls. The session
// resumes later under the same rules.
//
// Run it with: go run ./examples/20-secure-agent
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "secure")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	project := filepath.Join(dir, "project")
	if err := os.MkdirAll(filepath.Join(project, "private"), 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"main.go": "package main\n", "private/plan.txt": "the plan\n"} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o644); err != nil {
			return err
		}
	}

	box, err := sandbox.New(sandbox.Settings{
		Enabled:         true,
		AllowUnconfined: true, // where there is no sandbox, a person is asked about commands
		DeniedPaths:     []string{"private"},
		DeniedCommands:  []string{"rm", "sudo", "chmod", "chown"},
	}, sandbox.Place{Dir: project})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	ws := &workspace.Workspace{Root: project, Confine: box.Confiner()}
	defer ws.Close()

	watch := func(format string, args ...any) (hook.Output, error) {
		fmt.Fprintf(out, "  "+format+"\n", args...)
		return hook.Output{}, nil
	}
	a := &agent.Agent{
		Model:  model(),
		System: "You analyse code. You read files and change nothing.",
		Tools:  tools.Core(ws),
		Dir:    project,
		// Nothing is asked: what is denied is denied by the layers below, in every mode.
		Permissions: permission.Policy{Mode: permission.Bypass},
		Deciders:    []permission.Decider{permission.Composite(permission.DenyList("Bash"), permission.ReadOnly()), box},
		Hooks: []hook.Hook{
			{On: hook.SessionStart, Func: func(context.Context, *hook.Input) (hook.Output, error) { return watch("session starts") }},
			{On: hook.PostToolUse, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) { return watch("%s ran", in.Tool) }},
			{On: hook.PermissionDenied, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
				return watch("%s was denied: %s", in.Tool, strings.ReplaceAll(in.Reason, project, "…"))
			}},
			{On: hook.SessionEnd, Func: func(context.Context, *hook.Input) (hook.Output, error) { return watch("session ends") }},
		},
		Budget:   agent.Budget{Turns: 10},
		Sessions: session.Dir(filepath.Join(dir, "sessions")),
	}
	for _, prompt := range []string{"What is in this project?", "Add a file."} {
		s := a.Session("analysis") // the second time it goes on where it ended
		res, err := s.Prompt(ctx, prompt)
		if err != nil {
			return errors.Join(err, s.Close())
		}
		if err := s.Close(); err != nil {
			return err
		}
		fmt.Fprintln(out, res.Text)
	}
	return nil
}
