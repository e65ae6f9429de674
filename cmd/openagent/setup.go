package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// A setup is what a run, or a conversation, works with.
type setup struct {
	options   *options
	provider  provider
	project   string // the working folder
	workspace *workspace.Workspace
	agent     *agent.Agent
	session   *agent.Session
	store     session.Store
	past      bool // the session was there before
}

// setup makes what the options ask for; ask is nil where nobody can be asked.
// A missing key is found out before anything costs time.
func (h *host) setup(ctx context.Context, o *options, ask agent.AskUserFunc) (*setup, error) {
	p, err := newProvider(o, h.getenv)
	if err != nil {
		return nil, err
	}
	if p.needsKey() {
		return nil, p.noKey()
	}
	h.secrets = p.secrets()
	dir, err := workingDir()
	if err != nil {
		return nil, err
	}
	s := &setup{options: o, provider: p, project: dir, workspace: &workspace.Workspace{Root: dir, Dirs: o.dirs}}
	if s.agent, err = h.newAgent(s); err != nil {
		return nil, err
	}
	s.agent.AskUser = ask
	chosen, err := h.choose(ctx, o, dir)
	if err != nil {
		return nil, notBegun(ctx, err)
	}
	s.store, s.past = chosen.store, chosen.existing
	s.agent.Sessions = s.store
	s.session = s.agent.Session(chosen.id)
	if chosen.rewindTo > 0 {
		if err := s.session.Rewind(ctx, chosen.rewindTo); err != nil {
			return nil, errors.Join(notBegun(ctx, err), s.close())
		}
	}
	return s, nil
}

// newAgent makes the agent that the options describe.
func (h *host) newAgent(s *setup) (*agent.Agent, error) {
	o := s.options
	a := &agent.Agent{
		Dir: s.project, Dirs: o.dirs,
		Permissions: permission.Policy{Mode: permission.Mode(o.mode), Allow: o.allow, Deny: o.deny},
		Budget:      agent.Budget{Turns: o.turns, USD: o.usd, Time: o.timeout},
		MaxTokens:   o.maxTokens,
		Thinking:    llm.Thought{Budget: o.thinking, Effort: o.effort},
		Secrets:     h.secrets,
		Log:         h.logger(o),
	}
	var err error
	if a.Model, err = s.provider.llm(s.provider.model.value); err != nil {
		return nil, usagef("%s: %v", s.provider.model.source, err)
	}
	if a.Small, err = s.provider.llm(s.provider.small.value); err != nil {
		return nil, usagef("%s: %v", s.provider.small.source, err)
	}
	for _, name := range o.fallbacks {
		m, err := s.provider.llm(name)
		if err != nil {
			return nil, usagef("--fallback-model: %v", err)
		}
		a.Fallbacks = append(a.Fallbacks, m)
	}
	if a.System, err = o.instructions(s.project); err != nil {
		return nil, err
	}
	a.Tools = h.chooseTools(s)
	return a, nil
}

// chooseTools returns the tools that --tools names. Without a search engine
// WebSearch could only say that there is none, so it has to be named.
func (h *host) chooseTools(s *setup) []tool.Tool {
	all := tools.Core(s.workspace)
	wanted := s.options.tools
	every := len(wanted) == 0 || slices.Contains(wanted, "all") || slices.Contains(wanted, "core")
	var chosen []tool.Tool
	var names []string
	for _, t := range all {
		names = append(names, t.Spec().Name)
		if every && (t.Spec().Name != searchName || h.searchEngine().value != "") || slices.Contains(wanted, t.Spec().Name) {
			chosen = append(chosen, t)
		}
	}
	for _, name := range wanted {
		if !slices.Contains([]string{"all", "core", "none"}, name) && !slices.Contains(names, name) {
			h.complain("--tools: there is no tool %q%s; there are %s", clip(name), likely(name, names), strings.Join(names, ", "))
		}
	}
	return chosen
}

// close ends the session, its shells and background commands.
func (s *setup) close() error {
	return errors.Join(s.session.Close(), s.workspace.Close())
}
