package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/transcript"
	"github.com/openagent-go/agent/session"
)

// An imported is the import result of a file.
type imported struct {
	File    string `json:"file"`
	Session string `json:"session,omitempty"`
	Dir     string `json:"cwd,omitempty"`
	State   string `json:"state"` // imported, exists, failed
	Skipped int    `json:"skipped,omitempty"`
	Error   string `json:"error,omitempty"`
}

// importSessions imports transcripts of the Swift SDK as sessions. Each becomes a session of its
// original folder.
func importSessions(ctx context.Context, h *cli.IO, o *sessionsOptions, args []string) error {
	path := ""
	if len(args) > 0 {
		path = args[0]
	} else {
		home, err := os.UserHomeDir()
		if err != nil {
			return cli.Usagef("finding the home folder: %v; name the folder of the transcripts", err)
		}
		path = filepath.Join(home, ".open-agent-sdk", "sessions")
	}
	files, err := transcript.Find(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(files) == 0 {
		return cli.Usagef("there is no transcript in %s; name the folder or file to import", path)
	}
	if err != nil {
		return cli.Usagef("%w", err)
	}
	project, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	list, failed := []imported{}, 0
	for _, name := range files {
		i := importFile(ctx, h, o, name, project)
		if ctx.Err() != nil {
			return cli.CommandError(ctx, ctx.Err())
		}
		if i.State == "failed" {
			failed++
		}
		list = append(list, i)
	}
	var rows [][]string
	for _, i := range list {
		detail := i.Error
		if i.Skipped > 0 {
			detail = fmt.Sprintf("%d blocks of content were not understood", i.Skipped)
		}
		rows = append(rows, []string{i.File, i.Session, i.State, i.Dir, detail})
	}
	if err := h.WriteList(o.format, list, "FILE SESSION STATE FOLDER DETAIL", rows); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d transcripts were not imported", failed, len(list))
	}
	return nil
}

func importFile(ctx context.Context, h *cli.IO, o *sessionsOptions, name, project string) imported {
	i := imported{File: name, State: "failed"}
	t, err := transcript.Open(name)
	if err != nil {
		i.Error = err.Error()
		return i
	}
	if t.Dir == "" {
		t.Dir = project
	}
	i.Session, i.Dir, i.Skipped = t.ID, t.Dir, t.Skipped
	store, err := sessionstore.Open(ctx, h, o.place, t.Dir)
	if err == nil {
		err = t.Store(ctx, store)
	}
	switch {
	case errors.Is(err, session.ErrExists):
		i.State = "exists"
	case err != nil:
		i.Error = err.Error()
	default:
		i.State = "imported"
	}
	return i
}
