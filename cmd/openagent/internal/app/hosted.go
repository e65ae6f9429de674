package app

import (
	"context"
	"slices"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/session"
)

// A HostedSession is a session that a program with several sessions opens, such as for an editor.
type HostedSession struct {
	ID       string
	Dir      string   // the working folder, absolute and free of symlinks
	Dirs     []string // more folders, absolute
	Existing bool     // the session is in the store
	Servers  map[string]mcp.Config
	AskUser  AskFunc
}

// OpenHosted builds the App of a session. A user answers its questions, and nobody is asked about
// untrusted files. h belongs to the session alone, see [cli.IO.Fork].
func OpenHosted(ctx context.Context, h *cli.IO, flags *settings.Options, in HostedSession) (_ *App, err error) {
	given := *flags
	given.Dirs = append(slices.Clone(given.Dirs), in.Dirs...)
	s, err := configured(ctx, h, &given, in.Dir, false)
	if err != nil {
		return nil, err
	}
	if s.Store, err = sessionstore.Open(ctx, h, s.Options.Place(), in.Dir); err != nil {
		return nil, err
	}
	s.Existing = in.Existing
	defer s.CloseOnError(&err)
	if err := s.build(ctx, h, Build{Person: true, Tell: true, Sessions: s.Store, Servers: in.Servers}); err != nil {
		return nil, err
	}
	if err := s.checkTools(ctx, h); err != nil {
		return nil, err
	}
	warnOfBypass(h, s)
	warnOfModel(h, s.Provider, s.Agent.Model)
	s.Agent.AskUser = in.AskUser
	s.Agent.AwaitAgents = true // no later prompt might learn about them
	s.keepMode()
	s.Session = s.Agent.Session(in.ID)
	return s, nil
}

// ForkSession copies a session of a folder up to a fact, with its checkpoints, tasks and teams. 0 is the
// last fact.
func ForkSession(ctx context.Context, h *cli.IO, store session.Store, from, to string, seq int64) error {
	if err := session.Fork(ctx, store, from, to, seq); err != nil {
		return err
	}
	forkCheckpoints(ctx, h, store, from, to, seq)
	forkTeam(ctx, h, store, from, to)
	return nil
}
