// Package skills is the command "openagent skills". It lists, shows, creates and checks skills.
package skills

import (
	"context"
	"slices"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/skill/learn"
)

// skillsOptions are the flags of openagent skills.
type skillsOptions struct {
	settings.Options
	format string
	user   bool // new: create a user skill, not a project skill
	all    bool // stats: sessions of all folders; pending: decided proposals too
	limit  int  // stats: sessions of a folder
	days   int  // stats: without a call until a skill is stale
	why    string
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
	statistics := cli.Flags{
		{Name: "all", Help: "sessions of all folders", Set: cli.SetTrue(&o.all)},
		{Name: "limit", Arg: "N", Help: "how many sessions of a folder are read, the newest ones (default 500)", Set: cli.Count(&o.limit)},
		{Name: "days", Arg: "N", Help: "a skill without a call for so many days is stale (default 60)", Set: cli.Count(&o.days)},
	}
	statistics = append(statistics, o.Flags().Named("session-dir", "store")...)
	user := cli.Flags{{Name: "user", Help: "create it in ~/.agents/skills, for all projects", Set: cli.SetTrue(&o.user)}}
	return cli.Command{Name: "skills", Summary: "List, show, create, check and improve skills", Default: "list", Subcommands: []cli.Command{
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
		verb(statistics, cli.Command{Name: "stats", Summary: "Show how often skills were used, by whom and with what outcome", Examples: []string{"openagent skills stats --all"},
			Run: func(ctx context.Context, _ []string) error {
				return withSkills(ctx, h, o, func(all *skill.Registry) error { return showUsage(ctx, h, o, all, false) })
			}}),
		verb(statistics, cli.Command{Name: "stale", Summary: "List skills that nobody uses", Details: "It deletes nothing.\n", Examples: []string{"openagent skills stale --days 90"},
			Run: func(ctx context.Context, _ []string) error {
				return withSkills(ctx, h, o, func(all *skill.Registry) error { return showUsage(ctx, h, o, all, true) })
			}}),
		verb(o.Flags().Named("model", "provider", "max-budget-usd", "session-dir", "store"), cli.Command{Name: "review", Args: "SESSION", MinArgs: 1, MaxArgs: 1, Summary: "Have the small model propose new skills, and changes, from a session",
			Details: "What it proposes waits for you: see openagent skills pending.\n", Examples: []string{"openagent skills review 01J9ZQ"},
			Run: func(ctx context.Context, args []string) error { return review(ctx, h, o, args[0]) }}),
		verb(cli.Flags{{Name: "all", Help: "proposals that were decided too", Set: cli.SetTrue(&o.all)}}, cli.Command{Name: "pending", Summary: "List the proposals that wait for your decision", Examples: []string{"openagent skills pending"},
			Run: func(_ context.Context, _ []string) error { return showPending(h, o) }}),
		verb(nil, cli.Command{Name: "show-proposal", Args: "ID", MinArgs: 1, MaxArgs: 1, Summary: "Show what a proposal would change", Examples: []string{"openagent skills show-proposal 1a2b"},
			Run: func(_ context.Context, args []string) error { return showProposal(h, o, args[0]) }}),
		verb(nil, cli.Command{Name: "accept", Args: "ID…", MinArgs: 1, MaxArgs: cli.AnyCount, Summary: "Accept proposals: their files are written", Examples: []string{"openagent skills accept 1a2b"},
			Run: func(ctx context.Context, args []string) error {
				return decide(ctx, h, args, "accepted", func(s *learn.Store, p *learn.Proposal) (*learn.Proposal, error) { return s.Accept(ctx, p.ID) })
			}}),
		verb(cli.Flags{{Name: "why", Arg: "TEXT", Help: "your reason", Set: cli.Text(&o.why)}}, cli.Command{Name: "reject", Args: "ID…", MinArgs: 1, MaxArgs: cli.AnyCount, Summary: "Reject proposals: they do not come back", Examples: []string{"openagent skills reject 1a2b --why 'we do not tag'"},
			Run: func(ctx context.Context, args []string) error {
				return decide(ctx, h, args, "rejected", func(s *learn.Store, p *learn.Proposal) (*learn.Proposal, error) {
					return s.Reject(ctx, p.ID, o.why)
				})
			}}),
		verb(nil, cli.Command{Name: "undo", Args: "ID", MinArgs: 1, MaxArgs: 1, Summary: "Undo an accepted proposal: its file becomes what it was", Examples: []string{"openagent skills undo 1a2b"},
			Run: func(ctx context.Context, args []string) error {
				return decide(ctx, h, args, "undone", func(s *learn.Store, p *learn.Proposal) (*learn.Proposal, error) { return s.Undo(ctx, p.ID) })
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
