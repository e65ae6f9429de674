package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/preview"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/tool"
)

// AddSkills finds the skills of a run: built-in, the user's, the project's and those of plugins.
// Later ones override earlier ones. Skills of projects and plugins need trust; with ask, it asks
// the user on the terminal. With tell, it reports invalid files and continues.
func AddSkills(ctx context.Context, h *cli.IO, s *App, ask, tell bool) error {
	s.Skills = skill.New(skill.BuiltIn(s.Project)...)
	var own []string
	for _, f := range s.SkillFolders(h) {
		found := f.Load()
		if found.Dir == "" && found.Problems == nil || f.Pinned && slices.Contains(own, found.Dir) { // if the project is the home folder, these are the user's
			continue
		}
		if !f.Pinned {
			own = append(own, found.Dir)
		}
		if tell {
			for _, p := range found.Problems {
				if p.Skipped {
					h.Warn("%v", p)
				}
			}
		}
		if f.Pinned && !s.trustsIn(f.Within) && !trustsSkills(h, found) {
			yes, err := offerSkills(ctx, h, found, ask, tell)
			if err != nil {
				return err
			}
			if !yes {
				continue
			}
		}
		s.Skills.Add(found)
		s.workspace.Readable = append(s.workspace.Readable, found.Dir)
	}
	return nil
}

// SkillFolders lists the skill folders, as far as --setting-sources includes them.
func (s *App) SkillFolders(h *cli.IO) []skill.Folder {
	layer := func(l config.Scope) bool {
		return s.Options.Layers == nil || slices.Contains(s.Options.Layers, string(l))
	}
	home, project := "", ""
	if layer(config.User) {
		home, _ = os.UserHomeDir()
	}
	if layer(config.Project) {
		project = s.Project
	}
	folders := skill.Folders(home, project)
	for _, dir := range s.Options.Plugins { // an untrusted plugin may have trusted skills
		if !s.trustsIn(dir) {
			folders = append(folders, skill.Folder{Path: filepath.Join(dir, "skills"), From: "the plugin " + dir, Within: dir, Pinned: true})
		}
	}
	for _, p := range s.plugins {
		folders = append(append(folders, p.CommandFolders()...), p.skillFolders()...)
	}
	return folders
}

func trustsSkills(h *cli.IO, found skill.Found) bool {
	if len(found.Skills) == 0 {
		return true
	}
	t, err := settings.ReadTrust(h)
	if err != nil {
		h.Warn("%v", err)
		return false
	}
	return t.Skills[found.Dir].Sum == found.Sum
}

// offerSkills asks the user about a skill folder. Without a terminal it warns that the skills are
// left out.
func offerSkills(ctx context.Context, h *cli.IO, found skill.Found, ask, tell bool) (bool, error) {
	if !ask {
		if tell {
			h.Warn("the skills in %s are left out: they are not trusted in their current state; review them, then run openagent trust add %s", found.Dir, text.QuoteShell(found.Dir))
		}
		return false, nil
	}
	if _, err := fmt.Fprintf(h.Err, "The folder %s contains skills, which are instructions that the agent would follow:\n%s", h.Visible(found.Dir), preview.SkillDocuments(h, found)); err != nil {
		return false, err
	}
	yes, err := settings.Confirm(ctx, h, "Do you trust them, as they are now? [y/N] ")
	if err != nil || !yes {
		return false, err
	}
	return true, TrustSkills(ctx, h, found)
}

// TrustSkills records a skill folder as trusted in its current state.
func TrustSkills(ctx context.Context, h *cli.IO, found skill.Found) error {
	var names []string
	for _, s := range found.Skills {
		names = append(names, s.Name)
	}
	return settings.ChangeTrust(ctx, h, func(t settings.Trusted) {
		t.Skills[found.Dir] = settings.TrustedFolder{Sum: found.Sum, Files: names, Since: settings.TrustTime()}
	})
}

// SkillNames formats the skills of a folder for a question.
func SkillNames(h *cli.IO, found skill.Found) string {
	var b strings.Builder
	for _, s := range found.Skills {
		fmt.Fprintf(&b, "  %s: %s\n", s.Name, h.Visible(s.Description))
	}
	return b.String()
}

// LoadSkillFolders finds the skill folders that trust in dir covers: the project's, the plugin's,
// or dir itself.
func LoadSkillFolders(dir string) []skill.Found {
	folders := append(skill.Folders("", dir), skill.Folder{Path: filepath.Join(dir, "skills"), Within: dir, Pinned: true}, skill.Folder{Path: dir, Pinned: true})
	if home, err := os.UserHomeDir(); err == nil && sameDir(home, dir) {
		return nil // the user's own skills
	}
	var out []skill.Found
	for i, f := range folders {
		found := f.Load()
		if len(found.Skills) == 0 || i == len(folders)-1 && len(out) > 0 { // folders below a project are not its own skills
			continue
		}
		out = append(out, found)
	}
	return out
}

func sameDir(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// SkillState returns the trust state of a skill folder.
func SkillState(dir string, t settings.TrustedFolder) string {
	switch found := (skill.Folder{Path: dir, Pinned: true}).Load(); {
	case found.Dir == "":
		return "gone"
	case found.Dir != dir || found.Sum != t.Sum:
		return "changed"
	}
	return "trusted"
}

// ExpandSkill expands a prompt that begins with a slash and a skill's name. It returns nil for
// other prompts. The first line holds the arguments; later lines are appended.
func (s *App) ExpandSkill(text string) (*tool.Expansion, error) {
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	word, args, _ := strings.Cut(line, " ")
	name, ok := strings.CutPrefix(word, "/")
	if !ok || name == "" || s.Skills == nil {
		return nil, nil
	}
	known := s.Skills.Get(name)
	switch {
	case known == nil:
		return nil, nil
	case known.Hidden:
		return nil, fmt.Errorf("only the agent can run the skill %s; ask it to do so", known.Name)
	}
	x, err := s.Skills.Expand(name, args)
	if err != nil {
		return nil, err
	}
	if rest = strings.TrimSpace(rest); rest != "" {
		x.Text += "\n\n" + rest
	}
	return x, nil
}

// SkillNames returns the skills that the model can run.
func (s *App) SkillNames() []string {
	names := []string{}
	if s.Skills != nil {
		for _, k := range s.Skills.List() {
			names = append(names, k.Name)
		}
	}
	slices.Sort(names)
	return names
}
