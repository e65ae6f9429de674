// Hooks calls functions and shell commands at events of a run. One hook protects files from calls,
// one adds context for the model, and one keeps the run going until the tests have run.
//
// Run it with: go run ./examples/19-hooks
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/hook/shell"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// protect is a script as Claude Code's hooks are: the call comes on standard
// input as JSON, exit code 2 keeps it from running, and the model reads why.
const protect = `case "$(cat)" in
*'"file_path":"secrets/'*) echo "secrets/ is not for you" >&2; exit 2 ;;
esac`

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "hooks")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()

	tested := false
	a := &agent.Agent{
		Model:       model(),
		Tools:       tools.Core(ws),
		Dir:         dir,
		Permissions: permission.Policy{Mode: permission.Bypass}, // hooks hold in every mode
		Hooks: []hook.Hook{
			shell.Hook(hook.PreToolUse, "Write|Edit", shell.Command{Workspace: ws, Line: protect}),
			{On: hook.UserPromptSubmit, Func: func(context.Context, *hook.Input) (hook.Output, error) {
				return hook.Output{Context: "The release is on Friday."}, nil
			}},
			{On: hook.PostToolUse, Match: "Bash", Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
				tested = true
				return hook.Output{}, nil
			}},
			{On: hook.Stop, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
				if tested || in.Active {
					return hook.Output{}, nil
				}
				return hook.Output{Block: true, Reason: "Run the test before you stop."}, nil
			}},
		},
	}
	s := a.Session("")
	defer s.Close()
	res, err := s.Prompt(ctx, "Write a greeting.")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, res.Text)
	for _, d := range res.Denials {
		fmt.Fprintf(out, "denied by a %s: %s: %s\n", d.Source, d.Tool, d.Reason)
	}
	ms, err := s.Messages(ctx)
	if err != nil {
		return err
	}
	for _, m := range ms[1:] { // after the prompt
		if m.Role == llm.User && m.Text() != "" {
			fmt.Fprintln(out, "the model was told:", m.Text())
		}
	}
	_, err = os.Stat(filepath.Join(dir, "secrets"))
	fmt.Fprintln(out, "secrets/ was made:", err == nil)
	return nil
}
