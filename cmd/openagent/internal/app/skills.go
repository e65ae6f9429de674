package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/trusted"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/tool"
)

// FindSkills returns the skills of a folder, outside of a run.
func FindSkills(ctx context.Context, f *parts.Finder) (*skill.Registry, error) {
	all := skill.New(skill.BuiltIn(f.Project)...)
	_, err := f.FindSkills(ctx, all)
	return all, err
}

// TrustSkills records a skill folder as trusted in its current state.
func TrustSkills(ctx context.Context, h *cli.IO, found skill.Found) error {
	var names []string
	for _, s := range found.Skills {
		names = append(names, s.Name)
	}
	return settings.ChangeTrust(ctx, h, func(t trusted.List) {
		t.Skills[found.Dir] = trusted.Folder{Sum: found.Sum, Files: names, Since: trusted.Now()}
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
	folders := append(skill.Folders("", dir), skill.Folder{Path: filepath.Join(dir, "skills"), Within: dir, Pinned: true}, pinned(dir))
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

// pinned is a folder of skills, or of commands by its name.
func pinned(dir string) skill.Folder {
	return skill.Folder{Path: dir, Pinned: true, Files: filepath.Base(dir) == "commands"}
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
func SkillState(dir string, t trusted.Folder) string {
	switch found := pinned(dir).Load(); {
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
