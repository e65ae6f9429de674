package skills

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/skill"
)

// lintSkills checks the named folders, or all skill folders.
func lintSkills(h *cli.IO, o *skillsOptions, dir string, dirs []string) error {
	folders := app.NewFinder(h, &o.Options, dir, false, false).SkillFolders()
	for _, dir := range o.Options.Plugins {
		p, err := parts.ReadPlugin(dir)
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
			if _, err := os.Stat(filepath.Join(d, skillscope.FileName)); err == nil { // a single skill, not a folder of skills
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
