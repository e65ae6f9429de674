package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/subagent"
)

// lintAgents checks the named agent files, or all that a run would find, trusted or not.
func lintAgents(ctx context.Context, h *cli.IO, o *agentsOptions, files []string) error {
	dir, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	s := app.New(&o.Options, provider.Provider{}, dir)
	defer s.Close()
	place := s.HookWorkspace()
	var problems []*subagent.Problem
	var definitions []subagent.Definition
	for _, f := range files {
		d, notes, err := subagent.ReadFile(f, place)
		problems = append(problems, notes...)
		if p := (*subagent.Problem)(nil); errors.As(err, &p) {
			problems = append(problems, p)
			continue
		} else if err != nil {
			return cli.Usagef("agents lint: %w", err)
		}
		definitions = append(definitions, d)
	}
	if len(files) == 0 {
		var plugins []*app.Plugin
		for _, name := range o.Options.Plugins {
			p, err := app.ReadPlugin(name)
			if err != nil {
				return cli.Usagef("agents lint: %w", err)
			}
			plugins = append(plugins, p)
		}
		for _, p := range app.DefinitionFolders(h, &o.Options, dir, plugins) {
			for _, f := range p.Folders {
				f.Hooks = place
				found := f.Load()
				problems = append(problems, found.Problems...)
				definitions = append(definitions, found.Definitions...)
			}
		}
	}
	problems = append(problems, unknownTools(h, s, definitions)...)
	return tellProblems(h, o.Output, problems, len(definitions))
}

// unknownTools reports unknown tool names.
func unknownTools(h *cli.IO, s *app.App, definitions []subagent.Definition) []*subagent.Problem {
	var names []string
	for _, e := range app.Builtins(h, s).Tools() {
		spec := e.Tool.Spec()
		names = append(append(names, spec.Name), spec.Aliases...)
	}
	var out []*subagent.Problem
	for _, d := range definitions {
		for _, name := range slices.Concat(d.Agent.AllowedTools, d.Agent.DisallowedTools) {
			if !strings.HasPrefix(name, "mcp__") && !strings.Contains(name, "*") && !slices.Contains(names, name) {
				out = append(out, &subagent.Problem{File: d.Source, Text: fmt.Sprintf("there is no built-in tool %q%s", cli.Clip(name), cli.Suggestion(name, names))})
			}
		}
	}
	return out
}

func tellProblems(h *cli.IO, format string, problems []*subagent.Problem, good int) error {
	type entry struct {
		File    string `json:"file"`
		Line    int    `json:"line,omitempty"`
		Problem string `json:"problem"`
		Skipped bool   `json:"skipped"`
	}
	list := []entry{}
	skipped := 0
	for _, p := range problems {
		list = append(list, entry{p.File, p.Line, p.Text, p.Skipped})
		if p.Skipped {
			skipped++
		}
		if format != cli.FormatJSON {
			if err := h.Show(terminal.Text(h.OneLine(p.Error())) + "\n"); err != nil {
				return err
			}
		}
	}
	if format == cli.FormatJSON {
		if err := h.WriteList(format, list, "", nil); err != nil {
			return err
		}
	} else if len(problems) == 0 {
		if err := h.Show(fmt.Sprintf("%s, no problems\n", cli.Plural(good, "agent"))); err != nil {
			return err
		}
	}
	if skipped > 0 {
		return cli.ExitCode(cli.ExitInternal)
	}
	return nil
}
