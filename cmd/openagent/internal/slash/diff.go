package slash

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/rewind"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/internal/checkpoint"
	"github.com/openagent-go/agent/internal/terminal"
)

// Changes returns how the files have changed since a prompt, "" for the first one.
func (c *Commands) Changes(ctx context.Context, since string) ([]checkpoint.Change, error) {
	return rewind.Diff(ctx, c.App.Store, c.App.Checkpoints, c.App.Session.ID, since)
}

// diff shows how the files have changed.
func (c *Commands) diff(ctx context.Context, since string) error {
	changes, err := c.Changes(ctx, since)
	switch {
	case errors.Is(err, agent.ErrNoCheckpoint):
		return fmt.Errorf("%w; git diff may show the changes", err)
	case err != nil:
		return err
	case len(changes) == 0:
		c.Screen.Line(term.Dim, "no file has changed")
	}
	for _, f := range changes {
		c.Screen.Line(term.Plain, "%-8s %s", f.Kind, checkpoint.Shown(c.App.ShortPath(filepath.Join(f.Root, filepath.FromSlash(f.Path)))))
		for line := range strings.Lines(f.Diff) {
			c.Screen.Line(term.Plain, "  %s", terminal.Text(strings.TrimSuffix(line, "\n")))
		}
		if f.DiffCut {
			c.Screen.Line(term.Dim, "  … and more")
		}
	}
	return nil
}
