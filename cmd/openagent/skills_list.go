package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/skill"
)

var skillVerbs = []string{"list", "show", "new", "lint"}

// skillsOptions are the flags of openagent skills.
type skillsOptions struct {
	options
	format string
	user   bool // new: for the user, not for the project
}

func (o *skillsOptions) flags() flags {
	fs := append(listFlags(&o.format), flag{name: "user", help: "new: in ~/.agents/skills, for all projects", set: yes(&o.user)})
	for _, f := range o.options.flags() {
		if slices.Contains([]string{"cwd", "plugin-dir", "setting-sources"}, f.name) {
			fs = append(fs, f)
		}
	}
	return fs
}

func skillsCommand(h *host) (flags, action) {
	o := new(skillsOptions)
	return o.flags(), func(ctx context.Context, args []string) error {
		verb := "list"
		if len(args) > 0 {
			verb, args = args[0], args[1:]
		}
		if o.format == "" {
			o.format = formatText
		}
		format := o.format
		if err := o.check(); err != nil {
			return err
		}
		dir, err := workingDir()
		if err != nil {
			return err
		}
		switch {
		case verb == "new" && len(args) == 1:
			return h.newSkill(o, dir, args[0])
		case verb == "lint":
			return h.lintSkills(o, dir, args)
		case verb == "list" && len(args) > 0, verb == "show" && len(args) != 1, !slices.Contains(skillVerbs, verb) || verb == "new":
			return usagef("write openagent skills list, show NAME, new NAME or lint [DIR…]%s", likely(verb, skillVerbs))
		}
		s := newSetup(&o.options, provider{}, dir)
		defer s.close()
		if err := h.findPlugins(ctx, s, false, true); err != nil {
			return err
		}
		if err := h.addSkills(ctx, s, false, true); err != nil {
			return err
		}
		if verb == "show" {
			return h.showSkill(s, format, args[0])
		}
		return h.listSkills(s, format)
	}
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

func entryOf(s *setup, k *skill.Skill) skillEntry {
	e := skillEntry{Name: k.Name, Description: k.Description, When: k.When, Aliases: k.Aliases, Hint: k.Hint, Model: k.Model, From: k.From, File: k.File(), Who: "nobody"}
	for _, r := range k.Tools {
		e.Tools = append(e.Tools, string(r))
	}
	user, model := slices.Contains(s.skills.UserInvocable(), k), slices.Contains(s.skillNames(), k.Name)
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

func (h *host) listSkills(s *setup, format string) error {
	list := []skillEntry{}
	var rows [][]string
	for _, k := range s.skills.All() {
		e := entryOf(s, k)
		list = append(list, e)
		rows = append(rows, []string{"/" + e.Name, e.Who, h.oneLine(e.From), h.oneLine(short(e.Description, 100))})
	}
	return h.list(format, list, "SKILL RUN-BY FROM FOR", rows)
}

func (h *host) showSkill(s *setup, format, name string) error {
	k := s.skills.Get(strings.TrimPrefix(name, "/"))
	if k == nil {
		return usagef("%w", s.skills.Unknown(name))
	}
	e := entryOf(s, k)
	e.Files = k.Files()
	if text, err := s.skills.Text(k.Name); err == nil {
		e.Text = text
	} else {
		e.Text = err.Error()
	}
	if format == formatJSON {
		return h.list(format, e, "", nil)
	}
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-14s%s\n", name, h.oneLine(text))
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
	return h.show(b.String() + "\n" + terminal.Text(e.Text) + "\n")
}

// newSkill writes the SKILL.md of a new skill.
func (h *host) newSkill(o *skillsOptions, dir, name string) error {
	base := filepath.Join(dir, ".agents", "skills")
	if o.user {
		home, err := os.UserHomeDir()
		if err != nil {
			return usagef("skills new: finding the home folder: %w", err)
		}
		base = filepath.Join(home, ".agents", "skills")
	}
	if err := skill.New().Register(&skill.Skill{Name: name}); err != nil {
		return usagef("skills new: %w", err)
	}
	file := filepath.Join(base, name, skill.FileName)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return usagef("skills new: %w", err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return usagef("skills new: %s is there already", file)
	}
	if err != nil {
		return usagef("skills new: %w", err)
	}
	_, err = fmt.Fprintf(f, newSkillText, name)
	if err := errors.Join(err, f.Close()); err != nil {
		return usagef("skills new: %w", err)
	}
	next := "edit it, then: openagent skills lint"
	if !o.user {
		next += "; and so that it counts: openagent trust add " + quote(dir)
	}
	return h.show(file + "\n" + next + "\n")
}

const newSkillText = `---
name: %s
description: What it is for, in a line; models choose by it
when-to-use: what the user asks for when it fits
argument-hint: "[what comes after the name]"
# The only tools that may be used meanwhile; without the line, any.
allowed-tools: [Read, Grep, Glob]
---
What to do, step by step. The user said: $ARGUMENTS

Name other files of this folder where they are needed, and they are read then: references/details.md
`

// lintSkills checks the folders of skills, or those that are named.
func (h *host) lintSkills(o *skillsOptions, dir string, dirs []string) error {
	s := newSetup(&o.options, provider{}, dir)
	defer s.close()
	folders := s.skillFolders(h)
	for _, dir := range o.options.plugins {
		p, err := readPlugin(dir)
		if err != nil {
			return usagef("skills lint: %w", err)
		}
		folders = append(folders, p.commandFolders()...)
	}
	if len(dirs) > 0 {
		folders = nil
		for _, d := range dirs {
			if err := needDir("skills lint", d); err != nil {
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
			rows = append(rows, []string{h.oneLine(p.Error())})
		}
	}
	if len(rows) == 0 && o.format != formatJSON {
		return h.show(fmt.Sprintf("%s, nothing to mend\n", plural(n, "skill")))
	}
	if err := h.list(o.format, problems, "", rows); err != nil {
		return err
	}
	if len(problems) > 0 {
		return ended(exitUsage)
	}
	return nil
}
