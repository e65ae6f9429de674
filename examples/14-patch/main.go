// Patch changes several files at once: either all changes are made, or none.
//
// Run it with: go run ./examples/14-patch
package main

import (
	"context"
	"encoding/json"
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
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "patch")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for name, text := range map[string]string{
		"greet.go": "package main\n\nfunc greet() string {\n\treturn \"hello\"\n}\n",
		"README":   "A program\nthat says hello.\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()
	a := &agent.Agent{
		Model:       model(),
		Tools:       []tool.Tool{tools.Read(ws), tools.ApplyPatch(ws)},
		Dir:         dir,
		Permissions: permission.Policy{Mode: permission.AcceptEdits},
	}
	for _, e := range []hook.Event{hook.PostToolUse, hook.PostToolUseFailure} {
		a.Hooks = append(a.Hooks, hook.Hook{On: e, Match: "ApplyPatch", Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
			return hook.Output{}, show(out, dir, in.Result)
		}})
	}
	res, err := a.Prompt(ctx, "Let the program wish a good morning, then a good night.")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, res.Text)
	text, err := os.ReadFile(filepath.Join(dir, "greet.go"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s", text)
	return nil
}

// show prints the diff of a patch, or why it was not applied.
func show(out io.Writer, dir string, r *tool.Result) error {
	text := r.Text()
	if !r.IsError {
		var d struct {
			Diff string `json:"diff"`
		}
		if err := json.Unmarshal(r.Details, &d); err != nil {
			return err
		}
		text = r.Title + "\n" + d.Diff
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, strings.ReplaceAll(text, real+string(filepath.Separator), ""))
	return nil
}
