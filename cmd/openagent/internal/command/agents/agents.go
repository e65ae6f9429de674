// Package agents is the command "openagent agents". It lists, shows, creates and checks sub-agents.
package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/subagent"
)

// agentsOptions are the flags of the command agents.
type agentsOptions struct {
	settings.Options
	user bool
}

// Command returns the command "openagent agents".
func Command(h *cli.IO) cli.Command {
	o := new(agentsOptions)
	verb := func(flags cli.Flags, c cli.Command) cli.Command {
		c.Flags = func() cli.Flags {
			return slices.Concat(cli.ListFlags(&o.Output), o.Flags().Named("cwd", "plugin-dir", "agents"), flags)
		}
		c.Run = o.RunChecked(&o.Output, c.Run)
		return c
	}
	user := cli.Flags{{Name: "user", Help: "for all projects", Set: cli.SetTrue(&o.user)}}
	return cli.Command{Name: "agents", Summary: "List, show, create and check sub-agents", Default: "list", Subcommands: []cli.Command{
		verb(nil, cli.Command{Name: "list", Summary: "List the sub-agents", Examples: []string{"openagent agents list"},
			Run: func(ctx context.Context, _ []string) error { return listKinds(ctx, h, o) }}),
		verb(nil, cli.Command{Name: "show", Args: "NAME", MinArgs: 1, MaxArgs: 1, Summary: "Show the definition of a sub-agent", Examples: []string{"openagent agents show Explore"},
			Run: func(ctx context.Context, args []string) error { return showKind(ctx, h, o, args[0]) }}),
		verb(user, cli.Command{Name: "new", Args: "NAME [DESCRIPTION]", MinArgs: 1, MaxArgs: 2, Summary: "Create the file of a sub-agent",
			Examples: []string{"openagent agents new reviewer 'Reviews changes before a commit'"},
			Run:      func(ctx context.Context, args []string) error { return newKind(ctx, h, o, args) }}),
		verb(nil, cli.Command{Name: "lint", Args: "[FILE…]", MaxArgs: cli.AnyCount, Summary: "Check files of sub-agents", Examples: []string{"openagent agents lint"},
			Run: func(ctx context.Context, args []string) error { return lintKinds(ctx, h, o, args) }}),
	}}
}

// kindsSetup finds the kinds of agents outside of a run. A person at a terminal is
// asked about what is not trusted.
func kindsSetup(ctx context.Context, h *cli.IO, o *agentsOptions) (*app.App, error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	s := app.New(&o.Options, provider.Provider{}, dir)
	if err = app.FindPlugins(ctx, h, s, h.InTerminal && h.ErrTerminal, true); err == nil {
		err = app.FindDefinitions(ctx, h, s, h.InTerminal && h.ErrTerminal, true)
	}
	return s, errors.Join(err, s.Close())
}

func listKinds(ctx context.Context, h *cli.IO, o *agentsOptions) error {
	s, err := kindsSetup(ctx, h, o)
	if err != nil {
		return err
	}
	slices.SortStableFunc(s.Definitions, func(a, b app.Definition) int {
		return cmp.Compare(strings.ToLower(a.Agent.Name), strings.ToLower(b.Agent.Name))
	})
	list := []app.DefinitionEntry{}
	var rows [][]string
	for _, k := range s.Definitions {
		e := k.Entry()
		list = append(list, e)
		rows = append(rows, []string{e.Name, e.From, e.Access(), cmp.Or(e.Model, "inherit"), app.FirstSentence(e.Description)})
	}
	return h.WriteList(o.Output, list, "NAME FROM DOES MODEL DESCRIPTION", rows)
}

func showKind(ctx context.Context, h *cli.IO, o *agentsOptions, name string) error {
	s, err := kindsSetup(ctx, h, o)
	if err != nil {
		return err
	}
	k, err := s.DefinitionNamed(name)
	if err != nil {
		return err
	}
	e := k.Entry()
	if o.Output == cli.FormatJSON {
		e.Prompt = k.Agent.System
		return h.WriteList(o.Output, e, "", nil)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s\n%s\n\n", e.Name, e.From, e.Access(), e.Description)
	for _, line := range [][2]string{
		{"file", e.File}, {"tools", cmp.Or(strings.Join(e.Tools, ", "), "all")}, {"without", strings.Join(e.Without, ", ")}, {"model", cmp.Or(e.Model, "that of its caller")},
		{"mode", string(e.Mode)}, {"turns", positive(e.Turns)}, {"effort", e.Effort}, {"skills", strings.Join(e.Skills, ", ")},
		{"servers", joinRaw(e.Servers)}, {"hooks", positive(e.Hooks)}, {"isolation", e.Isolation},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%-10s%s\n", line[0], h.OneLine(line[1]))
		}
	}
	if e.Background {
		b.WriteString("works in the background\n")
	}
	return h.Show(terminal.Text(b.String()) + "\n" + terminal.Text(k.Agent.System) + "\n")
}

func positive(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func joinRaw[T ~[]byte](list []T) string {
	var words []string
	for _, w := range list {
		words = append(words, strings.Trim(string(w), `"`))
	}
	return strings.Join(words, ", ")
}

const kindTemplate = `---
name: %s
description: %s
# tools: Read, Grep, Glob, Bash(git diff *)   (without this line: all of its caller's)
# model: inherit
# maxTurns: 20
---

You %s for another agent. All that you know of the work is the message that you get.

- Find out before you act.
- Your last answer is all that the other agent gets: say what you found or did, with path:line, and what you did not check.
`

// newKind writes a file to begin with.
func newKind(ctx context.Context, h *cli.IO, o *agentsOptions, args []string) error {
	name, description := args[0], "Use it to …"
	if err := subagent.CheckName(name); err != nil {
		return cli.Usagef("agents new: %w", err)
	}
	if len(args) > 1 {
		description = h.OneLine(args[1])
	}
	base, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	dir := filepath.Join(base, ".openagent", "agents")
	if o.user {
		home, err := h.Home()
		if err != nil {
			return err
		}
		dir = filepath.Join(home, "agents")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cli.Usagef("agents new: %w", err)
	}
	found := subagent.Folder{Path: dir}.Load()
	path := filepath.Join(dir, strings.ToLower(strings.NewReplacer(":", "-").Replace(name))+".md")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return cli.Usagef("agents new: %w", err)
	}
	_, err = fmt.Fprintf(f, kindTemplate, name, quotedYAML(description), "do one kind of work")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if !o.user {
		if err := keepTrust(ctx, h, found, dir); err != nil {
			return err
		}
	}
	return h.Show(fmt.Sprintf("%s\nEdit it, then look at it with: openagent agents lint; openagent agents show %s\n", path, name))
}

// quotedYAML is a text as YAML has it, in quotes: JSON's are YAML's.
func quotedYAML(s string) string {
	data, err := cli.EncodeLine(s)
	if err != nil {
		return `""`
	}
	return strings.TrimSpace(string(data))
}

// keepTrust keeps a folder trusted to which its user has added a file by this program:
// one that was empty, or was trusted before.
func keepTrust(ctx context.Context, h *cli.IO, before subagent.Found, dir string) error {
	if len(before.Files) > 0 {
		t, err := settings.ReadTrust(h)
		if err != nil {
			return err
		}
		if t.Files[before.Dir].Sum != before.Sum {
			return nil
		}
	}
	return app.TrustDefinitions(ctx, h, subagent.Folder{Path: dir}.Load())
}

// lintKinds says what is wrong with files of agents: those that are named, or all
// that a run would look at, trusted or not.
func lintKinds(ctx context.Context, h *cli.IO, o *agentsOptions, files []string) error {
	dir, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	s := app.New(&o.Options, provider.Provider{}, dir)
	defer s.Close()
	place := s.HookWorkspace()
	var problems []*subagent.Problem
	var kinds []subagent.Definition
	for _, f := range files {
		d, notes, err := subagent.ReadFile(f, place)
		problems = append(problems, notes...)
		if p := (*subagent.Problem)(nil); errors.As(err, &p) {
			problems = append(problems, p)
			continue
		} else if err != nil {
			return cli.Usagef("agents lint: %w", err)
		}
		kinds = append(kinds, d)
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
				kinds = append(kinds, found.Definitions...)
			}
		}
	}
	problems = append(problems, unknownTools(h, s, kinds)...)
	return tellProblems(h, o.Output, problems, len(kinds))
}

// unknownTools finds names of tools that there are none of.
func unknownTools(h *cli.IO, s *app.App, kinds []subagent.Definition) []*subagent.Problem {
	var names []string
	for _, e := range app.Builtins(h, s).Tools() {
		spec := e.Tool.Spec()
		names = append(append(names, spec.Name), spec.Aliases...)
	}
	var out []*subagent.Problem
	for _, d := range kinds {
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
