package app

import (
	"context"
	"slices"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
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
	o, err := settings.Configure(ctx, h, &given, in.Dir, false)
	if err != nil {
		return nil, err
	}
	p, err := provider.Open(h, o)
	if err != nil {
		return nil, err
	}
	if p.NeedsKey() {
		return nil, p.MissingKey()
	}
	h.Secrets = append(p.Secrets(), o.SecretValues()...)
	settings.WarnOfSettings(h, o)
	path, err := sessionstore.SessionsDir(h, o.SessionDir, in.Dir)
	if err != nil {
		return nil, err
	}
	s := &App{Options: o, Provider: p, Project: in.Dir, Store: session.Dir(path), Existing: in.Existing}
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

// ForkSession copies a session of a folder, with its checkpoints, tasks and teams.
func ForkSession(ctx context.Context, h *cli.IO, store session.Store, from, to string) error {
	if err := session.Fork(ctx, store, from, to, 0); err != nil {
		return err
	}
	forkCheckpoints(ctx, h, store, from, to, 0)
	forkTeam(ctx, h, store, from, to)
	return nil
}
