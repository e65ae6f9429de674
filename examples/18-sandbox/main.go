// Sandbox confines shell commands with the operating system. Commands can write only in the
// project, cannot read hidden files, and have no network.
//
// Run it with: go run ./examples/18-sandbox
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
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
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
	dir, err := os.MkdirTemp("", "sandbox")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	project, secrets := filepath.Join(dir, "project"), filepath.Join(dir, "secrets")
	for _, d := range []string{project, secrets} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	key := filepath.Join(secrets, "key")
	if err := os.WriteFile(key, []byte("s3cret\n"), 0o600); err != nil {
		return err
	}

	box, err := sandbox.New(sandbox.Settings{
		Enabled:       true,
		AutoAllowBash: true, // confined commands need no question
		DeniedPaths:   []string{secrets},
	}, sandbox.Place{Dir: project})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	ws := &workspace.Workspace{Root: project, Confine: box.Confiner()}
	defer ws.Close()

	outside := filepath.Join(dir, "outside.txt")
	a := &agent.Agent{
		Model:       model(dir, outside),
		Tools:       []tool.Tool{tools.Bash(ws, box)},
		Dir:         project,
		Permissions: permission.Policy{AllowConfined: box.AutoAllow()},
		Deciders:    []permission.Decider{box}, // what a call says that it does is judged before it runs
	}
	s := a.Session("")
	defer s.Close()
	res, err := s.Prompt(ctx, "Look around, inside and outside of the project.")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, res.Text)
	ms, err := s.Messages(ctx)
	if err != nil {
		return err
	}
	conversation, err := json.Marshal(ms)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "the key was seen:", strings.Contains(string(conversation), "s3cret"))
	for _, f := range []string{filepath.Join(project, "notes.txt"), outside} {
		_, err := os.Stat(f)
		fmt.Fprintf(out, "%s was written: %v\n", filepath.Base(f), err == nil)
	}
	return nil
}
