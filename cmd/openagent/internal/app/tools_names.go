package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/toolnames"
	"github.com/openagent-go/agent/permission"
)

// RuleFindings returns the rules of the options that have no effect or an unexpected one. Unless
// strict, it ignores invalid settings.
func RuleFindings(ctx context.Context, h *cli.IO, o *ToolsOptions, strict bool) (found []permission.Finding, err error) {
	b, err := LoadTools(ctx, h, o, strict)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	names := toolnames.All()
	for _, t := range b.All {
		names = append(append(names, t.Spec().Name), t.Spec().Aliases...)
	}
	return append([]permission.Finding{}, Policy(h, &o.Options).Lint(names)...), nil
}

// checkTools reports misspelt names of tools. Names that should forbid something are an error.
func (s *App) checkTools(ctx context.Context, h *cli.IO) error {
	warnings, err := s.Agent.CheckTools(ctx)
	if err != nil {
		return cli.Usagef("%s", plainConfig(err))
	}
	for _, text := range warnings {
		h.Warn("%s", text)
	}
	for _, d := range s.Definitions {
		if d.From == "built-in" {
			continue
		}
		warnings, err := s.with(agent.Agent{AllowedTools: d.Agent.AllowedTools, DisallowedTools: d.Agent.DisallowedTools, Permissions: d.Agent.Permissions}).CheckTools(ctx)
		if err != nil {
			h.Warn("the agent %s of %s cannot work: %s", d.Agent.Name, d.Source, plainConfig(err))
		}
		for _, text := range warnings {
			h.Warn("the agent %s of %s: %s", d.Agent.Name, d.Source, text)
		}
	}
	if s.Skills == nil {
		return nil
	}
	for _, k := range s.Skills.All() {
		warnings, _ := s.with(agent.Agent{Permissions: permission.Policy{Restriction: &permission.Restriction{By: fmt.Sprintf("the skill %s of %s", k.Name, k.File()), Only: k.Tools}}}).CheckTools(ctx)
		for _, text := range warnings {
			h.Warn("%s", text)
		}
	}
	return nil
}

// plainConfig returns the mistakes of a configuration as one line.
func plainConfig(err error) string {
	text := strings.ReplaceAll(err.Error(), "agent: "+agent.ErrConfig.Error()+": ", "")
	return strings.ReplaceAll(text, "\n", "; ")
}

// with returns an agent with the lists of names of a, and the tools of the App.
func (s *App) with(a agent.Agent) *agent.Agent {
	a.Tools, a.Toolsets = s.Agent.Tools, s.Agent.Toolsets
	a.Permissions.KnownTools = s.Agent.Permissions.KnownTools
	for _, e := range s.Builtins { // its own tools may be fewer
		a.Tools = append(a.Tools[:len(a.Tools):len(a.Tools)], e.Tool)
	}
	return &a
}
