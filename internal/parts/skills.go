package parts

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/front"
	"github.com/openagent-go/agent/skill"
)

// FindSkills adds the skills of the user, the project and the plugins to a registry. Later ones
// override earlier ones. It returns the folders of the added skills.
func (f *Finder) FindSkills(ctx context.Context, to *skill.Registry) (dirs []string, err error) {
	var own []string
	for _, folder := range f.SkillFolders() {
		found := folder.Load()
		if found.Dir == "" && found.Problems == nil || folder.Pinned && slices.Contains(own, found.Dir) { // if the project is the home folder, these are the user's
			continue
		}
		if !folder.Pinned {
			own = append(own, found.Dir)
		}
		for _, p := range found.Problems {
			if known := (*front.Problem)(nil); !errors.As(p, &known) || known.Skipped {
				f.Warn(Skills, p)
			}
		}
		if folder.Pinned && !f.within(folder.Within) && len(found.Skills) > 0 {
			yes, err := f.Trust(ctx, Source{Kind: Skills, Path: found.Dir, Sum: found.Sum, Content: found})
			if err != nil {
				return dirs, err
			}
			if !yes {
				continue
			}
		}
		to.Add(found)
		dirs = append(dirs, found.Dir)
	}
	return dirs, nil
}

// SkillFolders lists the folders of skills.
func (f *Finder) SkillFolders() []skill.Folder {
	home, project := "", ""
	if f.uses(config.User) {
		home = f.UserHome
	}
	if f.uses(config.Project) {
		project = f.Project
	}
	folders := skill.Folders(home, project)
	for _, dir := range f.Folders { // an untrusted plugin may have trusted skills
		if !f.within(dir) {
			folders = append(folders, skill.Folder{Path: filepath.Join(dir, "skills"), From: "the plugin " + dir, Within: dir, Pinned: true})
		}
	}
	for _, p := range f.Plugins {
		folders = append(append(folders, p.CommandFolders()...), p.SkillFolders()...)
	}
	return folders
}
