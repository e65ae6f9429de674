// Container lets an agent work in a container: its files and commands are there, and the
// agent, its key and its session stay here. Without an argument, a shell in a temporary
// folder takes the place of the container.
//
// Run it with: go run ./examples/39-container [CONTAINER]
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

func main() {
	exec, root := workspace.ExecThrough("sh", "-c"), ""
	if len(os.Args) > 1 {
		exec, root = workspace.ExecThrough("docker", "exec", "-i", os.Args[1], "sh", "-c"), "/tmp"
	}
	if err := run(context.Background(), os.Stdout, exec, root); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, exec workspace.Exec, root string) (err error) {
	if root == "" {
		dir, err := os.MkdirTemp("", "container")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if root, err = filepath.EvalSymlinks(dir); err != nil {
			return err
		}
	}
	ws := &workspace.Workspace{Root: root, Exec: exec}
	defer func() { err = errors.Join(err, ws.Close()) }() // ends every process there

	a := &agent.Agent{
		Model: model(),
		Tools: tools.Core(ws),
		Dir:   root,
		// The container bounds what a command can do, so none needs a question.
		Permissions: permission.Policy{Mode: permission.AcceptEdits, Allow: []permission.Rule{"Bash"}},
	}
	res, err := a.Prompt(ctx, "Write a script that greets, and try it.")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, res.Text)

	// The files are in the container, and your program takes them out.
	folder, _, err := ws.OpenFolder(ctx, "", ".")
	if err != nil {
		return err
	}
	defer folder.Close()
	script, err := fs.ReadFile(folder, "greet.sh")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "greet.sh: %s", script)
	return nil
}
