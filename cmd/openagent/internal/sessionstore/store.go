// Package sessionstore says where sessions are stored, and finds one by its id.
package sessionstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/claudelog"
	"github.com/openagent-go/agent/session"
)

// SessionsDir is the folder of the sessions of a project.
func SessionsDir(h *cli.IO, given, project string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	all, err := allSessions(h)
	return filepath.Join(all, projectName(project)), err
}

// allSessions is the folder of the projects' folders.
func allSessions(h *cli.IO) (string, error) {
	home, err := h.Home()
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

// Latest returns the newest session of a project.
func Latest(ctx context.Context, store session.Store, project string) (string, error) {
	list, err := session.Query{Dir: project, Limit: 1}.List(ctx, store)
	if err != nil {
		return "", err
	}
	if len(list) > 0 {
		return list[0].Session, nil
	}
	return "", cli.Usagef("--continue: %w of %s yet; leave the flag out to begin one", ErrNone, project)
}

// ErrNone is matched by the error of Latest if there is no session.
var ErrNone = errors.New("there is no session")

// Find returns the whole id of a session that is there. If it is not, the error says where it is.
func Find(ctx context.Context, h *cli.IO, shown string, store session.Store, id string) (string, error) {
	if err := session.CheckID(id); err != nil {
		return "", cli.Usagef("%s: %w", shown, err)
	}
	id, err := FullID(ctx, id, store)
	if err != nil {
		return "", cli.Usagef("%s: %w", shown, err)
	}
	_, err = session.Stat(ctx, store, id)
	if !errors.Is(err, session.ErrNotFound) {
		return id, err
	}
	if InDatabase(store) {
		return "", cli.Usagef("%s: there is no session %s in the database; openagent sessions list shows those there", shown, id)
	}
	others, _ := Projects(h) // a store that cannot be listed is skipped
	if id, err = FullID(ctx, id, others...); err != nil {
		return "", cli.Usagef("%s: %w", shown, err)
	}
	if info, _, ok := FindInOtherProjects(ctx, h, id); ok {
		return "", cli.Usagef("%s: session %s belongs to another folder; add --cwd %s", shown, id, info.Dir)
	}
	return "", cli.Usagef("%s: there is no session %s; openagent sessions list shows those of this folder", shown, id)
}

// FindInOtherProjects looks for a session in the folders of all projects.
func FindInOtherProjects(ctx context.Context, h *cli.IO, id string) (session.Info, session.Store, bool) {
	if session.CheckID(id) != nil {
		return session.Info{}, nil, false
	}
	stores, _ := Projects(h) // what cannot be listed has nothing to be found
	for _, store := range stores {
		if info, err := session.Stat(ctx, store, id); err == nil {
			return info, store, true
		}
	}
	return session.Info{}, nil, false
}

// FactSeq returns the number of the fact that a message id stands for: the uuid
// of a line, or the id that a message was sent with.
func FactSeq(ctx context.Context, store session.Store, id, message string) (int64, error) {
	for e, err := range store.Read(ctx, id, 0) {
		if err != nil {
			return 0, err
		}
		if m, ok := e.Data.(event.UserMessage); e.UUID() == claudelog.WholeID(message) || ok && m.ID == message {
			return e.Seq, nil
		}
	}
	return 0, cli.Usagef("--resume-at: session %s has no message %s; the uuid of a stream-json line is one", id, cli.Clip(message))
}

// DropsOnly returns an error unless the conversation after a fact is one turn: that of a prompt, and no
// other message.
func DropsOnly(ctx context.Context, store session.Store, id string, after int64, prompt string) error {
	all := map[int64]event.Event{}
	last := int64(0)
	for e, err := range store.Read(ctx, id, 0) {
		if err != nil {
			return err
		}
		all[e.Seq], last = e, e.Seq
	}
	refuse := func(what string, e event.Event) error {
		return cli.Usagef("Resume rejected by --resume-drops-turn: after the message of --resume-at there is %s (%s), which is not of the prompt %s", what, e.UUID(), cli.Clip(prompt))
	}
	dropped := []event.Event{} // the latest first
	for at := last; at > after; at = all[at].Prev {
		dropped = append(dropped, all[at])
	}
	begun := false
	for _, e := range slices.Backward(dropped) {
		switch d := e.Data.(type) {
		case event.UserMessage:
			if named := d.ID == prompt || e.UUID() == prompt; begun || !named {
				return refuse("another message", e)
			}
			begun = true
		case event.AssistantMessage, event.ToolResult:
			if !begun {
				return refuse("a part of the turn before", e)
			}
		}
	}
	return nil
}

// Projects returns the stores of all projects, ordered by name.
func Projects(h *cli.IO) ([]session.Store, error) {
	all, err := allSessions(h)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(all)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listing projects: %w", err)
	}
	var stores []session.Store
	for _, e := range entries {
		stores = append(stores, session.Dir(filepath.Join(all, e.Name())))
	}
	return stores, nil
}

// ClaudeDir returns the folder in which programs for Claude Code look for sessions.
func ClaudeDir(h *cli.IO) (string, error) {
	if dir := h.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", cli.Usagef("finding the home folder: %v; set CLAUDE_CONFIG_DIR", err)
	}
	return filepath.Join(home, ".claude"), nil
}
