package serve

import (
	"context"
	"fmt"
	"iter"
	"os/exec"
	"path/filepath"

	"github.com/openagent-go/agent/checkpoint"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	kept "github.com/openagent-go/agent/internal/checkpoint"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/serve"
	"github.com/openagent-go/agent/session"
)

// restore returns the function that brings the files of a session back. Its changes have diffs.
func restore(h *cli.IO, store session.Store, sessionsDir string) func(context.Context, serve.Place, string, func(string) error) ([]checkpoint.Change, error) {
	return func(ctx context.Context, at serve.Place, id string, saved func(string) error) ([]checkpoint.Change, error) {
		files, _, err := app.OpenCheckpoints(h)
		if err != nil {
			return nil, err
		}
		files.Apart = append(files.Apart, sessionsDir)
		name := parts.CheckpointName(store, at.ID)
		changes, err := files.Changes(ctx, name, "", id) // before the restore, which leaves none
		if err != nil {
			return nil, err
		}
		if saved != nil {
			if _, err := files.Restore(ctx, name, id, kept.Restoring{Kept: saved}); err != nil {
				return nil, err
			}
		}
		out := make([]checkpoint.Change, len(changes))
		for i, c := range changes {
			out[i] = checkpoint.Change{Path: filepath.Join(c.Root, filepath.FromSlash(c.Path)), Kind: string(c.Kind), Diff: c.Diff}
		}
		return out, nil
	}
}

// checks returns the lines of the page /doctor: what sessions need beside the server.
func checks(h *cli.IO) func(context.Context) iter.Seq2[string, error] {
	return func(context.Context) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for _, name := range []string{"git", "sh"} {
				path, err := exec.LookPath(name)
				if err != nil {
					err = fmt.Errorf("%s was not found; install it", name)
				}
				if !yield(name+" "+path, err) {
					return
				}
			}
			_, _, err := app.OpenCheckpoints(h)
			_ = yield("settings", err) && yield("for models, keys and the sandbox, run: openagent doctor", nil)
		}
	}
}
