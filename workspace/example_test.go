//go:build unix

package workspace_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/openagent-go/agent/workspace"
)

// A workspace has a shell for each session. It keeps directory and variables.
func ExampleWorkspace_Run() {
	dir, err := os.MkdirTemp("", "workspace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close() // ends every process

	for _, line := range []string{"greeting=hello", `echo "$greeting, $(printf %s world)"`, "exit 3"} {
		out, err := ws.Run(context.Background(), workspace.CommandLine{Session: "s", Command: line})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d %q\n", out.Code, out.Text)
	}
	// Output:
	// 0 ""
	// 0 "hello, world\n"
	// 3 ""
}

// The tools work on texts that no disk holds.
func ExampleWorkspace_inMemory() {
	ctx := context.Background()
	ws := &workspace.Workspace{InMemory: true}
	if err := ws.WriteFile(ctx, "", "notes/a.md", []byte("Buy milk.\n")); err != nil {
		fmt.Println(err)
		return
	}
	folder, path, err := ws.OpenFolder(ctx, "", ".")
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := fs.ReadFile(folder, "notes/a.md")
	fmt.Printf("%s %q %v\n", path, text, err)
	// Output:
	// / "Buy milk.\n" <nil>
}

// The files and commands of an agent are in a container. Here, a shell of this machine takes
// the place of: docker exec -i box sh -c
func ExampleWorkspace_container() {
	dir, err := os.MkdirTemp("", "container")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ws := &workspace.Workspace{Root: dir, Exec: workspace.ExecThrough("sh", "-c")}
	defer ws.Close() // ends every process

	ctx := context.Background()
	if err := ws.WriteFile(ctx, "", "name", []byte("world")); err != nil {
		fmt.Println(err)
		return
	}
	out, err := ws.Run(ctx, workspace.CommandLine{Session: "s", Command: `echo "hello, $(cat name)"`})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d %q\n", out.Code, out.Text)
	// Output:
	// 0 "hello, world\n"
}
