// Worktree lets an agent change files in its own git worktree. Its result lists the changes. The
// project stays unchanged until you merge the agent's branch.
//
// Run it with: go run ./examples/30-worktree
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "worktree")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "hello.txt")
	if err := os.WriteFile(file, []byte("hello\n"), 0o644); err != nil {
		return err
	}
	for _, args := range []string{"init -q", "add .", "commit -q -m first"} {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, strings.Fields(args)...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args, err, text)
		}
	}
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()

	manager := &subagent.Manager{Worktrees: ws}
	a := &agent.Agent{
		Model:       model(),
		Dir:         dir,
		Permissions: permission.Policy{Mode: permission.AcceptEdits, Allow: []permission.Rule{"Agent"}}, // to make worktrees, which is asked about
		Tools:       append(tools.Core(ws), tools.Agent(manager)),
	}
	res, err := a.Prompt(ctx, "Have the greeting made friendlier, apart from my files.")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, res.Text)
	mine, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the project's: %s", mine)
	its, err := filepath.Glob(filepath.Join(dir, ".openagent", "worktrees", "*", "hello.txt"))
	if err != nil || len(its) != 1 {
		return fmt.Errorf("worktrees: %v, %w", its, err)
	}
	apart, err := os.ReadFile(its[0])
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the worktree's: %s", apart)
	return nil
}
