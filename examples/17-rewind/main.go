// Rewind restores the files and the conversation to their state before a prompt. This includes
// changes made by shell commands.
//
// Run it with: go run ./examples/17-rewind
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
	"github.com/openagent-go/agent/checkpoint"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
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
	dir, err := os.MkdirTemp("", "rewind")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	project := filepath.Join(dir, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		return err
	}
	ws := &workspace.Workspace{Root: project}
	defer ws.Close()

	kept := &checkpoint.Store{Dir: filepath.Join(dir, "checkpoints")}
	a := &agent.Agent{
		Model:       model(),
		Tools:       []tool.Tool{tools.Bash(ws)},
		Dir:         project,
		Permissions: permission.Policy{Mode: permission.Bypass},
		Sessions:    session.Dir(filepath.Join(dir, "sessions")),
		// Called before the first call of a prompt that may change files.
		Checkpoint: func(ctx context.Context, at agent.CheckpointPlace) (string, error) {
			return kept.Take(ctx, at.Session, at.Prompt, at.Roots...)
		},
	}
	s := a.Session("notes")
	defer s.Close()
	if _, err := ask(ctx, s, "Begin notes."); err != nil {
		return err
	}
	before, err := ask(ctx, s, "Make a folder of them.")
	if err != nil {
		return err
	}
	if err := show(out, "after the second prompt", project); err != nil {
		return err
	}

	// First see how the files would change.
	id, err := s.CheckpointBefore(ctx, before)
	if err != nil {
		return err
	}
	changes, err := kept.Changes(ctx, s.ID, "", id)
	if err != nil {
		return err
	}
	for _, c := range changes {
		fmt.Fprintln(out, "  would be", c.Kind, strings.TrimPrefix(c.Path, project+string(filepath.Separator)))
	}

	restore := func(ctx context.Context, id string, record func(undo string) error) error {
		_, err := kept.Restore(ctx, s.ID, id, record)
		return err
	}
	if err := s.RewindFiles(ctx, before, restore); err != nil {
		return err
	}
	if err := s.Rewind(ctx, before); err != nil {
		return err
	}
	if err := show(out, "rewound", project); err != nil {
		return err
	}
	ms, err := s.Messages(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the last word is %q\n", ms[len(ms)-1].Text())
	return nil
}

// ask prompts the session and returns the number of the last fact before that.
func ask(ctx context.Context, s *agent.Session, prompt string) (before int64, err error) {
	first := int64(0)
	for e, err := range s.Stream(ctx, prompt) {
		if err != nil {
			return 0, err
		}
		if _, ok := e.Data.(event.Fact); ok && first == 0 {
			first = e.Seq
		}
	}
	return first - 1, nil
}

// show prints the files of a folder.
func show(out io.Writer, when, dir string) error {
	fmt.Fprintln(out, when)
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, " ", filepath.Base(name), map[bool]string{true: "(a folder)"}[info.IsDir()])
	}
	return nil
}
