package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/claudelog"
	"github.com/openagent-go/agent/session"
)

// A ChosenSession is the session that a run uses.
type ChosenSession struct {
	Store    session.Store
	ID       string
	Existing bool
	RewindTo int64 // continue from this fact; 0: from the last
}

// ChooseSession finds or creates the session that the flags ask for. It picks the session, then
// forks it if asked, then picks the fact to continue from.
func ChooseSession(ctx context.Context, h *cli.IO, o *settings.Options, project string) (ChosenSession, error) {
	if o.Ephemeral && o.Resume == "" && !o.Latest {
		if o.ID != "" && session.CheckID(o.ID) != nil {
			return ChosenSession{}, cli.Usagef("--session-id: %w", session.CheckID(o.ID))
		}
		return ChosenSession{Store: session.Memory(), ID: o.ID}, nil
	}
	dir, err := sessionstore.Open(ctx, h, o.Place(), project)
	if err != nil {
		return ChosenSession{}, err
	}
	c := ChosenSession{Store: dir, ID: o.ID}
	if o.ID != "" {
		if err := checkNew(ctx, o, dir); err != nil {
			return c, err
		}
	}
	from := o.Resume
	if o.Latest {
		from, err = sessionstore.Latest(ctx, dir, project)
		if o.Driven() && errors.Is(err, sessionstore.ErrNone) {
			return c, nil
		}
		if err != nil {
			return c, err
		}
	}
	if from == "" {
		return c, nil
	}
	c.Existing = true
	if o.Driven() {
		if err := takeFork(ctx, h, dir, project, from); err != nil {
			return c, err
		}
	}
	if from, err = sessionstore.Find(ctx, h, "--resume", dir, from); err != nil {
		return c, err
	}
	seq := int64(0)
	if o.ResumeAt != "" {
		if seq, err = sessionstore.FactSeq(ctx, dir, from, o.ResumeAt); err != nil {
			return c, err
		}
	}
	if o.DropsTurn != "" {
		if err := sessionstore.DropsOnly(ctx, dir, from, seq, o.DropsTurn); err != nil {
			return c, err
		}
	}
	if o.Ephemeral {
		memory := session.Memory()
		if err := session.Copy(ctx, dir, memory, from); err != nil {
			return c, err
		}
		c.Store = memory
	}
	if !o.Fork {
		c.ID, c.RewindTo = from, seq
		return c, nil
	}
	if c.ID == "" {
		c.ID = session.NewID()
	}
	if o.Ephemeral {
		return c, session.Fork(ctx, c.Store, from, c.ID, seq)
	}
	return c, ForkSession(ctx, h, dir, from, c.ID, seq)
}

// takeFork copies a session if a Claude Agent SDK has copied its exported file, and the session is not
// there yet.
func takeFork(ctx context.Context, h *cli.IO, store session.Store, project, id string) error {
	if session.CheckID(id) != nil {
		return nil // the search for it says so
	}
	if _, err := session.Stat(ctx, store, id); !errors.Is(err, session.ErrNotFound) {
		return err
	}
	config, err := sessionstore.ClaudeDir(h)
	if err != nil {
		return err
	}
	path, err := claudelog.Path(config, project, id)
	if err != nil {
		return nil // no file of an SDK has such a name
	}
	from, message, err := claudelog.ForkOf(path)
	if err != nil {
		return fmt.Errorf("--resume: looking for a copy of session %s: %w", id, err)
	}
	if from == "" {
		return nil
	}
	if _, err := session.Stat(ctx, store, from); err != nil {
		if errors.Is(err, session.ErrNotFound) {
			return nil
		}
		return err
	}
	seq, err := sessionstore.FactSeq(ctx, store, from, message)
	if err != nil {
		return err
	}
	return ForkSession(ctx, h, store, from, id, seq)
}

// checkNew returns an error if no session with the given id can be created.
func checkNew(ctx context.Context, o *settings.Options, store session.Store) error {
	if err := session.CheckID(o.ID); err != nil {
		return cli.Usagef("--session-id: %w", err)
	}
	if _, err := session.Stat(ctx, store, o.ID); err == nil {
		return cli.Usagef("--session-id: the session %s exists already; use --resume %s to continue it", o.ID, o.ID)
	}
	return nil
}
