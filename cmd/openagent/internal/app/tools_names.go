package app

import (
	"context"
	"errors"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/toolnames"
)

// RuleFindings returns the rules of the options that have no effect or an unexpected one. Unless
// strict, it ignores invalid settings.
func RuleFindings(ctx context.Context, h *cli.IO, o *ToolsOptions, strict bool) (found []rules.Finding, err error) {
	b, err := LoadTools(ctx, h, o, strict)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	names := toolnames.All()
	for _, t := range b.All {
		names = append(append(names, t.Spec().Name), t.Spec().Aliases...)
	}
	return append([]rules.Finding{}, policies.Lint(Policy(h, &o.Options), names)...), nil
}

// checkTools reports misspelt names of tools. Names that should forbid something are an error.
func (s *App) checkTools(ctx context.Context, h *cli.IO) error {
	warnings, err := s.Agent.CheckTools(ctx)
	if err != nil {
		return cli.Usagef("%s", coding.Plain(err))
	}
	for _, text := range warnings {
		h.Warn("%s", text)
	}
	return nil
}
