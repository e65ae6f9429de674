// Package cron is the command "openagent cron". It manages the jobs of the schedule and runs them.
package cron

import (
	"context"
	"strings"
	"time"
	_ "time/tzdata" // time zones, for systems without a zone database

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/cronstore"
)

// cronOptions are the flags of the command cron: its own, and the prompt flags that apply to jobs.
type cronOptions struct {
	settings.Options
	all, once          bool
	command            bool
	name, zone, missed string
}

// Command returns the command "openagent cron".
func Command(h *cli.IO) cli.Command {
	o := new(cronOptions)
	verb := func(flags cli.Flags, c cli.Command, run func(ctx context.Context, args []string) error) cli.Command {
		if c.Flags == nil {
			c.Flags = func() cli.Flags { return append(append(cli.ListFlags(&o.Output), flags...), o.LocationFlags()...) }
		}
		c.Run = func(ctx context.Context, args []string) error {
			if err := o.Check(); err != nil {
				return err
			}
			return run(ctx, args)
		}
		return c
	}
	change := func(name, done, example string, to func(context.Context, cronstore.Store, string) (cronstore.Job, error)) cli.Command {
		c := cli.Command{Name: name, Args: "ID…", MinArgs: 1, MaxArgs: cli.AnyCount, Summary: strings.ToUpper(name[:1]) + name[1:] + " jobs", Examples: []string{example}}
		return verb(o.cronFlags().Named("all"), c, func(ctx context.Context, args []string) error {
			return cronChange(ctx, h, o, args, done, to)
		})
	}
	switchTo := func(on bool) func(context.Context, cronstore.Store, string) (cronstore.Job, error) {
		return func(ctx context.Context, s cronstore.Store, id string) (cronstore.Job, error) {
			return cronstore.Enable(ctx, s, id, on)
		}
	}
	return cli.Command{Name: "cron", Summary: "Run prompts and commands at set times", Default: "list", Subcommands: []cli.Command{
		verb(o.cronFlags().Named("all"), cli.Command{Name: "list", Summary: "List the jobs",
			Examples: []string{"openagent cron list --all"}},
			func(ctx context.Context, _ []string) error { return cronList(ctx, h, o) }),
		verb(o.cronFlags().Named("name", "command", "zone", "missed"), cli.Command{Name: "add", Args: "SCHEDULE PROMPT", MinArgs: 2, MaxArgs: 2, Summary: "Add a job for this folder",
			Details:  "SCHEDULE is five fields as in crontab, or a word such as @daily.\n",
			Examples: []string{"openagent cron add '0 9 * * 1-5' 'Summarise the open issues'", "openagent cron add @daily --command 'make test'"}},
			func(ctx context.Context, args []string) error { return cronAdd(ctx, h, o, args[0], args[1]) }),
		change("remove", "removed", "openagent cron remove cron_1a2b", cronstore.Remove),
		change("enable", "enabled", "openagent cron enable cron_1a2b", switchTo(true)),
		change("disable", "disabled", "openagent cron disable cron_1a2b", switchTo(false)),
		verb(o.cronFlags().Named("all", "zone"), cli.Command{Name: "next", Args: "[SCHEDULE]", MaxArgs: 1, Summary: "Show when jobs run next, or the next times of a schedule",
			Examples: []string{"openagent cron next '0 9 * * 1-5' --zone Europe/Berlin"}},
			func(ctx context.Context, args []string) error {
				if len(args) == 1 {
					return cronTry(h, o, args[0])
				}
				return cronNext(ctx, h, o)
			}),
		verb(nil, cli.Command{Name: "run", Summary: "Run jobs when they are due, until you stop it",
			Details:  "The flags of a prompt apply to all jobs.\n",
			Examples: []string{"openagent cron run", "openagent cron run --once --max-budget-usd 1"},
			Flags: func() cli.Flags {
				return append(append(cli.ListFlags(&o.Output), o.cronFlags().Named("all", "once")...), o.JobFlags()...)
			}},
			func(ctx context.Context, _ []string) error { return cronRun(ctx, h, o) }),
	}}
}

// cronFlags are the flags about jobs.
func (o *cronOptions) cronFlags() cli.Flags {
	policies := []string{string(cronstore.Once), string(cronstore.Skip), string(cronstore.All)}
	return cli.Flags{
		{Name: "all", Help: "jobs of all folders (default: only this folder)", Set: cli.SetTrue(&o.all)},
		{Name: "once", Help: "run the due jobs and exit, for use with a system timer", Set: cli.SetTrue(&o.once)},
		{Name: "name", Arg: "NAME", Help: "name of the job", Set: cli.Text(&o.name)},
		{Name: "command", Help: "the job is a command line, not a prompt", Set: cli.SetTrue(&o.command)},
		{Name: "zone", Arg: "ZONE", Help: "time zone such as Europe/Berlin (default: the system's)", Set: cli.Text(&o.zone)},
		{Name: "missed", Arg: cli.Choice(policies), Words: policies, Help: "how to treat missed times (default once)", Set: cli.OneOf(&o.missed, policies)},
	}
}

// crontab returns the part of the schedule that the flags select, and the working folder.
func crontab(h *cli.IO, o *cronOptions) (cronstore.Store, string, error) {
	home, err := h.Home()
	if err != nil {
		return nil, "", err
	}
	file := app.CronFile(home)
	if o.all {
		return file, "", nil
	}
	dir, err := settings.WorkingDir()
	return cronstore.In(file, dir), dir, err
}

// loadJobs returns the selected store and its jobs.
func loadJobs(ctx context.Context, h *cli.IO, o *cronOptions) (cronstore.Store, []cronstore.Job, error) {
	store, _, err := crontab(h, o)
	if err != nil {
		return nil, nil, err
	}
	jobs, err := store.Load(ctx)
	if err != nil {
		return nil, nil, app.CronError(err)
	}
	return store, jobs, nil
}

// A cronEntry is a job in the command's output.
type cronEntry struct {
	cronstore.Job
	Next  *time.Time `json:"next,omitempty"`
	Due   bool       `json:"due,omitempty"`   // a scheduled time has passed without a run
	Error string     `json:"error,omitempty"` // why it cannot run
}

func cronEntries(jobs []cronstore.Job) []cronEntry {
	entries := make([]cronEntry, len(jobs))
	now := time.Now()
	for i, j := range jobs {
		entries[i].Job, entries[i].Due = j, j.Due(now)
		if next := j.Next(now); !next.IsZero() {
			entries[i].Next = &next
		}
		if err := j.Check(); err != nil {
			entries[i].Error = err.Error()
		}
	}
	return entries
}

// when returns the next time of a job, or a word such as "never".
func (e cronEntry) when() string {
	switch {
	case e.Error != "":
		return "never: " + e.Error
	case e.Disabled:
		return "disabled"
	case e.Next == nil:
		return "never"
	}
	return e.Next.Format(time.RFC3339)
}

func (e cronEntry) what() string {
	switch {
	case e.Command != "":
		return "$ " + e.Command
	case e.Trigger != "":
		return "trigger " + e.Trigger
	}
	return e.Prompt
}

func (e cronEntry) times() string { return e.Schedule + strings.TrimRight(" "+e.Zone, " ") }
