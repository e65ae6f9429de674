// Package skills is the command "openagent skills". It lists, shows, creates and checks skills.
package skills

import (
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
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/skill"
)

// skillsOptions are the flags of openagent skills.
type skillsOptions struct {
	settings.Options
	format string
	user   bool // new: for the user, not for the project
}

// Command returns the command "openagent skills".
func Command(h *cli.IO) cli.Command {
	o := &skillsOptions{format: cli.FormatText}
	verb := func(flags cli.Flags, c cli.Command) cli.Command {
		c.Flags = func() cli.Flags {
			return slices.Concat(cli.ListFlags(&o.format), flags, o.Flags().Named("cwd", "plugin-dir", "setting-sources"))
		}
		c.Run = o.RunChecked(&o.format, c.Run)
		return c
	}
	user := cli.Flags{{Name: "user", Help: "in ~/.agents/skills, for all projects", Set: cli.SetTrue(&o.user)}}
	return cli.Command{Name: "skills", Summary: "List, show, create and check skills", Default: "list", Subcommands: []cli.Command{
		verb(nil, cli.Command{Name: "list", Summary: "List the skills", Examples: []string{"openagent skills list"},
			Run: func(ctx context.Context, _ []string) error {
				return withSkills(ctx, h, o, func(s *app.App) error { return listSkills(h, s, o.format) })
			}}),
		verb(nil, cli.Command{Name: "show", Args: "NAME", MinArgs: 1, MaxArgs: 1, Summary: "Show a skill", Examples: []string{"openagent skills show release"},
			Run: func(ctx context.Context, args []string) error {
				return withSkills(ctx, h, o, func(s *app.App) error { return showSkill(h, s, o.format, args[0]) })
			}}),
		verb(user, cli.Command{Name: "new", Args: "NAME", MinArgs: 1, MaxArgs: 1, Summary: "Create a skill", Examples: []string{"openagent skills new release"},
			Run: func(_ context.Context, args []string) error {
				dir, err := settings.WorkingDir()
				if err != nil {
					return err
				}
				return newSkill(h, o, dir, args[0])
			}}),
		verb(nil, cli.Command{Name: "lint", Args: "[DIR…]", MaxArgs: cli.AnyCount, Summary: "Check skills", Examples: []string{"openagent skills lint"},
			Run: func(_ context.Context, args []string) error {
				dir, err := settings.WorkingDir()
				if err != nil {
					return err
				}
				return lintSkills(h, o, dir, args)
			}}),
	}}
}

// withSkills finds the skills outside of a run, for use.
func withSkills(ctx context.Context, h *cli.IO, o *skillsOptions, use func(s *app.App) error) error {
	dir, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	s := app.New(&o.Options, provider.Provider{}, dir)
	defer s.Close()
	if err := app.FindPlugins(ctx, h, s, false, true); err != nil {
		return err
	}
	if err := app.AddSkills(ctx, h, s, false, true); err != nil {
		return err
	}
	return use(s)
}

// A skillEntry is a skill as list and show tell of it.
type skillEntry struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	When        string   `json:"when_to_use,omitempty"`
	Aliases     []string `json:"aliases,omitempty"`
	Hint        string   `json:"argument_hint,omitempty"`
	Tools       []string `json:"allowed_tools,omitempty"`
	Model       string   `json:"model,omitempty"`
	Who         string   `json:"run_by"` // both, user, model or nobody
	From        string   `json:"from"`
	File        string   `json:"file,omitempty"`
	Files       []string `json:"files,omitempty"`
	Text        string   `json:"text,omitempty"` // what the model is told
}

func entryOf(s *app.App, k *skill.Skill) skillEntry {
	e := skillEntry{Name: k.Name, Description: k.Description, When: k.When, Aliases: k.Aliases, Hint: k.Hint, Model: k.Model, From: k.From, File: k.File(), Who: "nobody"}
	for _, r := range k.Tools {
		e.Tools = append(e.Tools, string(r))
	}
	user, model := slices.Contains(s.Skills.UserInvocable(), k), slices.Contains(s.SkillNames(), k.Name)
	switch {
	case user && model:
		e.Who = "both"
	case user:
		e.Who = "user"
	case model:
		e.Who = "model"
	}
	return e
}

func listSkills(h *cli.IO, s *app.App, format string) error {
	list := []skillEntry{}
	var rows [][]string
	for _, k := range s.Skills.All() {
		e := entryOf(s, k)
		list = append(list, e)
		rows = append(rows, []string{"/" + e.Name, e.Who, h.OneLine(e.From), h.OneLine(text.Runes(e.Description, 100))})
	}
	return h.WriteList(format, list, "SKILL RUN-BY FROM FOR", rows)
}

func showSkill(h *cli.IO, s *app.App, format, name string) error {
	k := s.Skills.Get(strings.TrimPrefix(name, "/"))
	if k == nil {
		return cli.Usagef("%w", s.Skills.Unknown(name))
	}
	e := entryOf(s, k)
	e.Files = k.Files()
	if text, err := s.Skills.Text(k.Name); err == nil {
		e.Text = text
	} else {
		e.Text = err.Error()
	}
	if format == cli.FormatJSON {
		return h.WriteList(format, e, "", nil)
	}
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-14s%s\n", name, h.OneLine(text))
		}
	}
	line("skill", e.Name)
	line("for", e.Description)
	line("when", e.When)
	line("aliases", strings.Join(e.Aliases, ", "))
	line("arguments", e.Hint)
	line("tools", strings.Join(e.Tools, ", "))
	line("model", e.Model)
	line("run by", e.Who)
	line("from", e.From)
	line("file", e.File)
	return h.Show(b.String() + "\n" + terminal.Text(e.Text) + "\n")
}

// newSkill writes the SKILL.md of a new skill.
func newSkill(h *cli.IO, o *skillsOptions, dir, name string) error {
	base := filepath.Join(dir, ".agents", "skills")
	if o.user {
		home, err := os.UserHomeDir()
		if err != nil {
			return cli.Usagef("skills new: finding the home folder: %w", err)
		}
		base = filepath.Join(home, ".agents", "skills")
	}
	if err := skill.New().Register(&skill.Skill{Name: name}); err != nil {
		return cli.Usagef("skills new: %w", err)
	}
	file := filepath.Join(base, name, skill.FileName)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return cli.Usagef("skills new: %w", err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return cli.Usagef("skills new: %s is there already", file)
	}
	if err != nil {
		return cli.Usagef("skills new: %w", err)
	}
	_, err = fmt.Fprintf(f, newSkillText, name)
	if err := errors.Join(err, f.Close()); err != nil {
		return cli.Usagef("skills new: %w", err)
	}
	next := "edit it, then: openagent skills lint"
	if !o.user {
		next += "; and so that it counts: openagent trust add " + text.QuoteShell(dir)
	}
	return h.Show(file + "\n" + next + "\n")
}

const newSkillText = `---
name: %s
description: What it is for, in a line; models choose by it
when-to-use: what the user asks for when it fits
argument-hint: "[what comes after the name]"
# The only tools that may be used while the skill is in force; without the line, any.
allowed-tools: [Read, Grep, Glob]
---
What to do, step by step. The user said: $ARGUMENTS

Name other files of this folder where they are needed, and they are read then: references/details.md
`

// lintSkills checks the folders of skills, or those that are named.
func lintSkills(h *cli.IO, o *skillsOptions, dir string, dirs []string) error {
	s := app.New(&o.Options, provider.Provider{}, dir)
	defer s.Close()
	folders := s.SkillFolders(h)
	for _, dir := range o.Options.Plugins {
		p, err := app.ReadPlugin(dir)
		if err != nil {
			return cli.Usagef("skills lint: %w", err)
		}
		folders = append(folders, p.CommandFolders()...)
	}
	if len(dirs) > 0 {
		folders = nil
		for _, d := range dirs {
			if err := settings.CheckDir("skills lint", d); err != nil {
				return err
			}
			if _, err := os.Stat(filepath.Join(d, skill.FileName)); err == nil { // a skill, not a folder of some
				d = filepath.Dir(filepath.Clean(d))
			}
			folders = append(folders, skill.Folder{Path: d})
		}
	}
	problems := []string{}
	var rows [][]string
	n := 0
	for _, f := range folders {
		found := f.Load()
		n += len(found.Skills)
		for _, p := range found.Problems {
			problems = append(problems, p.Error())
			rows = append(rows, []string{h.OneLine(p.Error())})
		}
	}
	if len(rows) == 0 && o.format != cli.FormatJSON {
		return h.Show(fmt.Sprintf("%s, no problems\n", cli.Plural(n, "skill")))
	}
	if err := h.WriteList(o.format, problems, "", rows); err != nil {
		return err
	}
	if len(problems) > 0 {
		return cli.ExitCode(cli.ExitUsage)
	}
	return nil
}
