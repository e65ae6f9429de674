package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/transcript"
)

// holding finds the store that has a session, which may be damaged.
func holding(ctx context.Context, h *cli.IO, o *SessionsOptions, id string) (session.Dir, error) {
	stores, err := sessionstore.Stores(h, o.Dir, false)
	if err != nil {
		return session.Dir{}, err
	}
	if o.Dir == "" {
		others, _ := sessionstore.Projects(h) // what cannot be listed has nothing to be found
		stores = append(stores, others...)
	}
	if err := session.CheckID(id); err != nil {
		return session.Dir{}, cli.Usagef("%w", err)
	}
	for _, s := range stores {
		if _, err = s.Stat(ctx, id); !errors.Is(err, session.ErrNotFound) {
			return s, nil
		}
	}
	return session.Dir{}, sessionstore.NotFound(id, err)
}

// A verified is what verify shows of a session. Error is why nothing could be found out.
type verified struct {
	*session.Report
	Session string `json:"session"`
	Damaged bool   `json:"damaged"`
	Error   string `json:"error,omitempty"`
}

// verifySessions checks the sessions named, or all. It fails if one is damaged.
func verifySessions(ctx context.Context, h *cli.IO, o *SessionsOptions, ids []string) error {
	list := []verified{}
	check := func(s session.Dir, id string) error {
		r, err := session.Verify(ctx, s, id)
		if ctx.Err() != nil {
			return cli.CommandError(ctx, err)
		}
		v := verified{Report: r, Session: id}
		if err != nil {
			v.Error = err.Error()
		} else {
			v.Damaged = r.Damaged()
		}
		list = append(list, v)
		return nil
	}
	for _, id := range ids {
		s, err := holding(ctx, h, o, id)
		if err == nil {
			err = check(s, id)
		}
		if err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		stores, err := sessionstore.Stores(h, o.Dir, o.All)
		if err != nil {
			return err
		}
		for _, s := range stores {
			found, err := s.IDs(ctx)
			if err != nil {
				return err
			}
			for _, id := range found {
				if err := check(s, id); err != nil {
					return err
				}
			}
		}
	}
	return showVerified(h, o, list)
}

func showVerified(h *cli.IO, o *SessionsOptions, list []verified) error {
	bad := 0
	var rows [][]string
	for _, v := range list {
		switch {
		case v.Error != "":
			rows = append(rows, []string{v.Session, "", "failed", v.Error})
			bad++
			continue
		case len(v.Problems) == 0:
			rows = append(rows, []string{v.Session, "", "ok", fmt.Sprintf("%d facts", v.Facts)})
		}
		if v.Damaged {
			bad++
		}
		for _, p := range v.Problems {
			kind := string(p.Kind)
			if p.Usable {
				kind += " (still usable)"
			}
			rows = append(rows, []string{v.Session, strconv.Itoa(p.Line), kind, p.Text})
		}
		if v.More > 0 {
			rows = append(rows, []string{v.Session, "", "more", fmt.Sprintf("%d further problems", v.More)})
		}
	}
	if err := h.WriteList(o.format, list, "SESSION LINE STATE DETAIL", rows); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d sessions are damaged; repair one with: openagent sessions repair ID", bad, len(list))
	}
	return nil
}

func repairSessions(ctx context.Context, h *cli.IO, o *SessionsOptions, ids []string) error {
	done := []*session.Repaired{}
	var rows [][]string
	for _, id := range ids {
		s, err := holding(ctx, h, o, id)
		if err != nil {
			return err
		}
		r, err := session.Repair(ctx, s, id)
		if err != nil {
			return told(ctx, h, id, err)
		}
		done = append(done, r)
		backup := r.Backup
		if backup == "" {
			backup = "nothing had to be repaired"
		}
		rows = append(rows, []string{id, strconv.FormatInt(r.Kept, 10), strconv.FormatInt(r.Rewritten, 10), backup})
	}
	return h.WriteList(o.format, done, "SESSION KEPT REWRITTEN DAMAGED-JOURNAL", rows)
}

// An imported is what import shows of a file.
type imported struct {
	File    string `json:"file"`
	Session string `json:"session,omitempty"`
	Dir     string `json:"cwd,omitempty"`
	State   string `json:"state"` // imported, exists, failed
	Skipped int    `json:"skipped,omitempty"`
	Error   string `json:"error,omitempty"`
}

// importSessions makes sessions of the Swift SDK's transcripts. Each goes to the
// sessions of the folder that it was held in.
func importSessions(ctx context.Context, h *cli.IO, o *SessionsOptions, args []string) error {
	path := ""
	if len(args) > 0 {
		path = args[0]
	} else {
		home, err := os.UserHomeDir()
		if err != nil {
			return cli.Usagef("finding the home folder: %v; name the folder of the sessions", err)
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

func importFile(ctx context.Context, h *cli.IO, o *SessionsOptions, name, project string) imported {
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
	path, err := sessionstore.SessionsDir(h, o.Dir, t.Dir)
	if err == nil {
		err = t.Store(ctx, session.Dir{Path: path})
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
