// Package skills is the command "openagent skills". It lists, shows, creates and checks skills.
package skills

import (
	"context"
	"slices"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/skill"
)

// skillsOptions are the flags of openagent skills.
type skillsOptions struct {
	settings.Options
	format string
	user   bool // new: create a user skill, not a project skill
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
	user := cli.Flags{{Name: "user", Help: "create it in ~/.agents/skills, for all projects", Set: cli.SetTrue(&o.user)}}
	return cli.Command{Name: "skills", Summary: "List, show, create and check skills", Default: "list", Subcommands: []cli.Command{
		verb(nil, cli.Command{Name: "list", Summary: "List the skills", Examples: []string{"openagent skills list"},
			Run: func(ctx context.Context, _ []string) error {
				return withSkills(ctx, h, o, func(all *skill.Registry) error { return listSkills(h, all, o.format) })
			}}),
		verb(nil, cli.Command{Name: "show", Args: "NAME", MinArgs: 1, MaxArgs: 1, Summary: "Show a skill", Examples: []string{"openagent skills show release"},
			Run: func(ctx context.Context, args []string) error {
				return withSkills(ctx, h, o, func(all *skill.Registry) error { return showSkill(h, all, o.format, args[0]) })
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

// withSkills finds the skills outside a run and calls use.
func withSkills(ctx context.Context, h *cli.IO, o *skillsOptions, use func(*skill.Registry) error) error {
	dir, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	f := app.NewFinder(h, &o.Options, dir, false, true)
	if err := app.FindPlugins(ctx, f); err != nil {
		return err
	}
	all, err := app.FindSkills(ctx, f)
	if err != nil {
		return err
	}
	return use(all)
}
