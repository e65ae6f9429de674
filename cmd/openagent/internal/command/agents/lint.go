package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/front"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/toolnames"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/workspace"
)

// lintAgents checks the named agent files, or all that a run would find, trusted or not.
func lintAgents(ctx context.Context, h *cli.IO, o *agentsOptions, files []string) error {
	dir, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	place := &workspace.Workspace{Root: dir} // no hook runs
	defer place.Close()
	var problems []error
	var definitions []subagent.Definition
	for _, f := range files {
		d, notes, err := subagent.ReadFile(f, place)
		problems = append(problems, notes...)
		if p := (*front.Problem)(nil); errors.As(err, &p) {
			problems = append(problems, p)
			continue
		} else if err != nil {
			return cli.Usagef("agents lint: %w", err)
		}
		definitions = append(definitions, d)
	}
	if len(files) == 0 {
		f := app.NewFinder(h, &o.Options, dir, false, false)
		for _, name := range o.Options.Plugins {
			p, err := parts.ReadPlugin(name)
			if err != nil {
				return cli.Usagef("agents lint: %w", err)
			}
			f.Plugins = append(f.Plugins, p)
		}
		for _, p := range f.DefinitionFolders() {
			for _, f := range p.Folders {
				f.Hooks = place
				found := f.Load()
				problems = append(problems, found.Problems...)
				definitions = append(definitions, found.Definitions...)
			}
		}
	}
	unknown, err := unknownTools(ctx, h, dir, definitions)
	if err != nil {
		return err
	}
	problems = append(problems, unknown...)
	return tellProblems(h, o.Output, problems, len(definitions))
}

// unknownTools reports unknown tool names.
func unknownTools(ctx context.Context, h *cli.IO, dir string, definitions []subagent.Definition) ([]error, error) {
	names, err := app.ToolNames(ctx, h, dir)
	if err != nil {
		return nil, err
	}
	names = append(names, toolnames.All()...)
	var out []error
	for _, d := range definitions {
		for _, name := range slices.Concat(d.Agent.AllowedTools, d.Agent.DisallowedTools) {
			if !strings.HasPrefix(name, "mcp__") && !strings.Contains(name, "*") && !slices.Contains(names, name) {
				out = append(out, &front.Problem{File: d.Source, Text: fmt.Sprintf("there is no built-in tool %q%s", cli.Clip(name), cli.Suggestion(name, names))})
			}
		}
	}
	return out, nil
}

func tellProblems(h *cli.IO, format string, problems []error, good int) error {
	type entry struct {
		File    string `json:"file"`
		Line    int    `json:"line,omitempty"`
		Problem string `json:"problem"`
		Skipped bool   `json:"skipped"`
	}
	list := []entry{}
	skipped := 0
	for _, err := range problems {
		var p *front.Problem
		if !errors.As(err, &p) {
			p = &front.Problem{Text: err.Error()}
		}
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
