package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/subagent"
)

// agentsOptions are the flags of the command agents.
type agentsOptions struct {
	options
	user bool
}

func agentsCommand(h *host) cli.Command {
	o := new(agentsOptions)
	verb := func(flags cli.Flags, c cli.Command) cli.Command {
		c.Flags = func() cli.Flags {
			return slices.Concat(listFlags(&o.output), o.flags().Named("cwd", "plugin-dir", "agents"), flags)
		}
		c.Run = o.checked(&o.output, c.Run)
		return c
	}
	user := cli.Flags{{Name: "user", Help: "for all projects", Set: cli.Yes(&o.user)}}
	return cli.Command{Name: "agents", Summary: "List, show, create and check sub-agents", Default: "list", Subcommands: []cli.Command{
		verb(nil, cli.Command{Name: "list", Summary: "List the sub-agents", Examples: []string{"openagent agents list"},
			Run: func(ctx context.Context, _ []string) error { return h.listKinds(ctx, o) }}),
		verb(nil, cli.Command{Name: "show", Args: "NAME", Least: 1, Most: 1, Summary: "Show the definition of a sub-agent", Examples: []string{"openagent agents show Explore"},
			Run: func(ctx context.Context, args []string) error { return h.showKind(ctx, o, args[0]) }}),
		verb(user, cli.Command{Name: "new", Args: "NAME [DESCRIPTION]", Least: 1, Most: 2, Summary: "Create the file of a sub-agent",
			Examples: []string{"openagent agents new reviewer 'Reviews changes before a commit'"},
			Run:      func(ctx context.Context, args []string) error { return h.newKind(ctx, o, args) }}),
		verb(nil, cli.Command{Name: "lint", Args: "[FILE…]", Most: cli.Any, Summary: "Check files of sub-agents", Examples: []string{"openagent agents lint"},
			Run: func(ctx context.Context, args []string) error { return h.lintKinds(ctx, o, args) }}),
	}}
}

// kindsSetup finds the kinds of agents outside of a run. A person at a terminal is
// asked about what is not trusted.
func (h *host) kindsSetup(ctx context.Context, o *agentsOptions) (*setup, error) {
	dir, err := workingDir()
	if err != nil {
		return nil, err
	}
	s := newSetup(&o.options, provider{}, dir)
	if err = h.findPlugins(ctx, s, h.inTerminal && h.errTerminal, true); err == nil {
		err = h.findKinds(ctx, s, h.inTerminal && h.errTerminal, true)
	}
	return s, errors.Join(err, s.close())
}

func (h *host) listKinds(ctx context.Context, o *agentsOptions) error {
	s, err := h.kindsSetup(ctx, o)
	if err != nil {
		return err
	}
	slices.SortStableFunc(s.kinds, func(a, b kind) int {
		return cmp.Compare(strings.ToLower(a.Agent.Name), strings.ToLower(b.Agent.Name))
	})
	list := []shownKind{}
	var rows [][]string
	for _, k := range s.kinds {
		e := k.shown()
		list = append(list, e)
		rows = append(rows, []string{e.Name, e.From, e.does(), cmp.Or(e.Model, "inherit"), firstSentence(e.Description)})
	}
	return h.list(o.output, list, "NAME FROM DOES MODEL DESCRIPTION", rows)
}

func (e shownKind) does() string {
	if e.ReadOnly {
		return "reads"
	}
	return "changes"
}

func (h *host) showKind(ctx context.Context, o *agentsOptions, name string) error {
	s, err := h.kindsSetup(ctx, o)
	if err != nil {
		return err
	}
	k, err := s.kindNamed(name)
	if err != nil {
		return err
	}
	e := k.shown()
	if o.output == formatJSON {
		e.Prompt = k.Agent.System
		return h.list(o.output, e, "", nil)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s\n%s\n\n", e.Name, e.From, e.does(), e.Description)
	for _, line := range [][2]string{
		{"file", e.File}, {"tools", cmp.Or(strings.Join(e.Tools, ", "), "all")}, {"without", strings.Join(e.Without, ", ")}, {"model", cmp.Or(e.Model, "that of its caller")},
		{"mode", string(e.Mode)}, {"turns", positive(e.Turns)}, {"effort", e.Effort}, {"skills", strings.Join(e.Skills, ", ")},
		{"servers", joinRaw(e.Servers)}, {"hooks", positive(e.Hooks)}, {"isolation", e.Isolation},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%-10s%s\n", line[0], h.oneLine(line[1]))
		}
	}
	if e.Background {
		b.WriteString("works in the background\n")
	}
	return h.show(terminal.Text(b.String()) + "\n" + terminal.Text(k.Agent.System) + "\n")
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
func (h *host) newKind(ctx context.Context, o *agentsOptions, args []string) error {
	name, description := args[0], "Use it to …"
	if err := subagent.CheckName(name); err != nil {
		return cli.Usagef("agents new: %w", err)
	}
	if len(args) > 1 {
		description = h.oneLine(args[1])
	}
	base, err := workingDir()
	if err != nil {
		return err
	}
	dir := filepath.Join(base, ".openagent", "agents")
	if o.user {
		home, err := h.home()
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
		if err := h.keepTrust(ctx, found, dir); err != nil {
			return err
		}
	}
	return h.show(fmt.Sprintf("%s\nEdit it, then look at it with: openagent agents lint; openagent agents show %s\n", path, name))
}

// quotedYAML is a text as YAML has it, in quotes: JSON's are YAML's.
func quotedYAML(s string) string {
	data, err := encodeLine(s)
	if err != nil {
		return `""`
	}
	return strings.TrimSpace(string(data))
}

// keepTrust keeps a folder trusted to which its user has added a file by this program:
// one that was empty, or was trusted before.
func (h *host) keepTrust(ctx context.Context, before subagent.Found, dir string) error {
	if len(before.Files) > 0 {
		t, err := h.readTrust()
		if err != nil {
			return err
		}
		if t.Files[before.Dir].Sum != before.Sum {
			return nil
		}
	}
	return h.trustKinds(ctx, subagent.Folder{Path: dir}.Load())
}

// lintKinds says what is wrong with files of agents: those that are named, or all
// that a run would look at, trusted or not.
func (h *host) lintKinds(ctx context.Context, o *agentsOptions, files []string) error {
	dir, err := workingDir()
	if err != nil {
		return err
	}
	s := newSetup(&o.options, provider{}, dir)
	defer s.close()
	place := s.hookPlace()
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
		var plugins []*plugin
		for _, name := range o.options.plugins {
			p, err := readPlugin(name)
			if err != nil {
				return cli.Usagef("agents lint: %w", err)
			}
			plugins = append(plugins, p)
		}
		for _, p := range h.kindPlaces(&o.options, dir, plugins) {
			for _, f := range p.folders {
				f.Hooks = place
				found := f.Load()
				problems = append(problems, found.Problems...)
				kinds = append(kinds, found.Definitions...)
			}
		}
	}
	problems = append(problems, h.unknownTools(s, kinds)...)
	return h.tellProblems(o.output, problems, len(kinds))
}

// unknownTools finds names of tools that there are none of.
func (h *host) unknownTools(s *setup, kinds []subagent.Definition) []*subagent.Problem {
	var names []string
	for _, e := range h.kit(s).Tools() {
		spec := e.Tool.Spec()
		names = append(append(names, spec.Name), spec.Aliases...)
	}
	var out []*subagent.Problem
	for _, d := range kinds {
		for _, name := range slices.Concat(d.Agent.AllowedTools, d.Agent.DisallowedTools) {
			if !strings.HasPrefix(name, "mcp__") && !strings.Contains(name, "*") && !slices.Contains(names, name) {
				out = append(out, &subagent.Problem{File: d.Source, Text: fmt.Sprintf("there is no built-in tool %q%s", cli.Clip(name), cli.Likely(name, names))})
			}
		}
	}
	return out
}

func (h *host) tellProblems(format string, problems []*subagent.Problem, good int) error {
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
		if format != formatJSON {
			if err := h.show(terminal.Text(h.oneLine(p.Error())) + "\n"); err != nil {
				return err
			}
		}
	}
	if format == formatJSON {
		if err := h.list(format, list, "", nil); err != nil {
			return err
		}
	} else if len(problems) == 0 {
		if err := h.show(fmt.Sprintf("%s, nothing to mend\n", plural(good, "agent"))); err != nil {
			return err
		}
	}
	if skipped > 0 {
		return cli.Ended(cli.ExitInternal)
	}
	return nil
}
