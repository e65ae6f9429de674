// Script-tool gives an agent a tool that is a shell script in a folder. Nothing in the folder runs
// before you trust it.
//
// Run it with: go run ./examples/09-script-tool
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools/custom"
	"github.com/openagent-go/agent/workspace"
)

//go:embed tools/tides.sh
var tides []byte

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "script-tool")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	folder := filepath.Join(dir, ".openagent", "tools")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "tides.sh"), tides, 0o755); err != nil {
		return err
	}

	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()
	trust := false
	set := &custom.Set{
		Workspace: ws,
		Folders:   []custom.Folder{{Path: folder}},
		// A program asks a person once and remembers the sum: when a file changes it is another one.
		Trusted: func(dir string, files []string, sum string) bool {
			if !trust {
				fmt.Fprintln(out, "not trusted yet:", files)
			}
			return trust
		},
		Warn: func(err error) {
			if !errors.Is(err, custom.ErrUntrusted) {
				fmt.Fprintln(out, err)
			}
		},
	}
	a := &agent.Agent{
		Model:    model(),
		Toolsets: []tool.Set{set},
		Dir:      dir,
	}
	for range 2 {
		ts, err := a.ResolveTools(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, "tools:", len(ts))
		trust = true // somebody has looked at the files and agreed
	}
	res, err := a.Prompt(ctx, "When is high tide at Brest, and at Bern?")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, res.Text)
	fmt.Fprintf(out, "%d calls, %d failed\n", res.Tools["tides"].Calls, res.Tools["tides"].Failures)
	return nil
}
