package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// sessionsDir is the folder of the sessions of a project.
func (h *host) sessionsDir(given, project string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	all, err := h.allSessions()
	return filepath.Join(all, projectName(project)), err
}

// allSessions is the folder of the projects' folders.
func (h *host) allSessions() (string, error) {
	home, err := h.home()
	return filepath.Join(home, "sessions"), err
}

// projectName makes a folder's name out of a path: the end of the path, for
// people, and a hash of all of it, so that two paths never share one.
func projectName(path string) string {
	readable := strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return '-'
	}, path)
	readable = strings.Trim(readable[max(0, len(readable)-48):], "-.")
	sum := sha256.Sum256([]byte(path))
	return strings.TrimPrefix(readable+"-"+hex.EncodeToString(sum[:5]), "-")
}

// latest returns the newest session of a project.
func latest(ctx context.Context, store session.Store, project string) (string, error) {
	list, err := store.List(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range list {
		if s.Dir == project {
			return s.Session, nil
		}
	}
	return "", cli.Usagef("--continue: there is no session of %s yet; leave the flag out to begin one", project)
}

// find reports whether the session is there, and if not, where it is.
func (h *host) find(ctx context.Context, shown string, store session.Store, id string) error {
	if err := session.CheckID(id); err != nil {
		return cli.Usagef("%s: %w", shown, err)
	}
	_, err := session.Stat(ctx, store, id)
	if !errors.Is(err, session.ErrNotFound) {
		return err
	}
	if info, _, ok := h.elsewhere(ctx, id); ok {
		return cli.Usagef("%s: session %s belongs to another folder; add --cwd %s", shown, id, info.Dir)
	}
	return cli.Usagef("%s: there is no session %s; openagent sessions list shows those of this folder", shown, id)
}

// elsewhere looks for a session in the folders of all projects.
func (h *host) elsewhere(ctx context.Context, id string) (session.Info, session.Dir, bool) {
	if session.CheckID(id) != nil {
		return session.Info{}, session.Dir{}, false
	}
	stores, _ := h.projects() // what cannot be listed has nothing to be found
	for _, store := range stores {
		if info, err := store.Stat(ctx, id); err == nil {
			return info, store, true
		}
	}
	return session.Info{}, session.Dir{}, false
}

// A chosen session is the one that a run works in.
type chosen struct {
	store    session.Store
	id       string
	existing bool
	rewindTo int64 // go on from this fact; 0: from the last
}

// choose finds or makes the session that the flags ask for: first which one,
// then a copy of it, then from where.
func (h *host) choose(ctx context.Context, o *options, project string) (chosen, error) {
	if o.ephemeral && o.resume == "" && !o.latest {
		if o.id != "" && session.CheckID(o.id) != nil {
			return chosen{}, cli.Usagef("--session-id: %w", session.CheckID(o.id))
		}
		return chosen{store: new(session.Memory), id: o.id}, nil
	}
	path, err := h.sessionsDir(o.sessionDir, project)
	if err != nil {
		return chosen{}, err
	}
	dir := session.Dir{Path: path}
	c := chosen{store: dir, id: o.id}
	if o.id != "" {
		if err := o.checkNew(ctx, dir); err != nil {
			return c, err
		}
	}
	from := o.resume
	if o.latest {
		if from, err = latest(ctx, dir, project); err != nil {
			return c, err
		}
	}
	if from == "" {
		return c, nil
	}
	c.existing = true
	if err := h.find(ctx, "--resume", dir, from); err != nil {
		return c, err
	}
	seq := int64(0)
	if o.resumeAt != "" {
		if seq, err = factOf(ctx, dir, from, o.resumeAt); err != nil {
			return c, err
		}
	}
	if o.ephemeral {
		memory := new(session.Memory)
		if err := session.Copy(ctx, dir, memory, from); err != nil {
			return c, err
		}
		c.store = memory
	}
	if !o.fork {
		c.id, c.rewindTo = from, seq
		return c, nil
	}
	if c.id == "" {
		c.id = session.NewID()
	}
	if err := session.Fork(ctx, c.store, from, c.id, seq); err != nil {
		return c, err
	}
	if !o.ephemeral {
		h.forkKept(ctx, dir, from, c.id, seq)
		h.forkTeam(ctx, dir, from, c.id)
	}
	return c, nil
}

// checkNew reports why a session with the given id cannot be made.
func (o *options) checkNew(ctx context.Context, store session.Store) error {
	if err := session.CheckID(o.id); err != nil {
		return cli.Usagef("--session-id: %w", err)
	}
	if _, err := session.Stat(ctx, store, o.id); err == nil {
		return cli.Usagef("--session-id: there is a session %s already; use --resume %s to go on with it", o.id, o.id)
	}
	return nil
}

// factOf returns the number of the fact that a message id stands for: the uuid
// of a line, or the id that a message was sent with.
func factOf(ctx context.Context, store session.Store, id, message string) (int64, error) {
	for e, err := range store.Read(ctx, id, 0) {
		if err != nil {
			return 0, err
		}
		if m, ok := e.Data.(event.UserMessage); e.UUID() == message || ok && m.ID == message {
			return e.Seq, nil
		}
	}
	return 0, cli.Usagef("--resume-at: session %s has no message %s; the uuid of a stream-json line is one", id, cli.Clip(message))
}

// projects returns the stores of all projects, ordered by name.
func (h *host) projects() ([]session.Dir, error) {
	all, err := h.allSessions()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(all)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listing projects: %w", err)
	}
	var stores []session.Dir
	for _, e := range entries {
		stores = append(stores, session.Dir{Path: filepath.Join(all, e.Name())})
	}
	return stores, nil
}
