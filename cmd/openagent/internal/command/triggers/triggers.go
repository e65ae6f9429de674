// Package triggers is the command "openagent triggers". It manages triggers and serves them over HTTP.
package triggers

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/cron"
	"github.com/openagent-go/agent/trigger"
)

// triggerOptions are the flags of the command triggers: its own, and those of a
// prompt, under which triggers run.
type triggerOptions struct {
	settings.Options
	all, show, set bool
	url, schedule  string
	addr           string
	hosts          []string
	grace          time.Duration
}

// Command returns the command "openagent triggers".
func Command(h *cli.IO) cli.Command {
	o := &triggerOptions{addr: defaultAddress, grace: defaultGrace}
	verb := func(flags func() cli.Flags, c cli.Command, run func(ctx context.Context, args []string) error) cli.Command {
		c.Flags = func() cli.Flags { return append(cli.ListFlags(&o.Output), flags()...) }
		c.Run = func(ctx context.Context, args []string) error {
			if err := o.Check(); err != nil {
				return err
			}
			return run(ctx, args)
		}
		return c
	}
	named := func(names ...string) func() cli.Flags {
		return func() cli.Flags { return append(o.triggerFlags().Named(names...), o.LocationFlags()...) }
	}
	return cli.Command{Name: "triggers", Summary: "Run prompts when signed HTTP requests ask for them", Default: "list", Subcommands: []cli.Command{
		verb(named("all"), cli.Command{Name: "list", Summary: "List the triggers and how they last ended",
			Examples: []string{"openagent triggers list --all"}},
			func(ctx context.Context, _ []string) error { return triggersList(ctx, h, o) }),
		verb(named("url", "schedule"), cli.Command{Name: "add", Args: "NAME PROMPT", MinArgs: 2, MaxArgs: 2, Summary: "Add a trigger for this folder",
			Examples: []string{"openagent triggers add deploy 'Check the last deployment'"}},
			func(ctx context.Context, args []string) error { return triggersAdd(ctx, h, o, args[0], args[1]) }),
		verb(named("show", "set"), cli.Command{Name: "secret", Args: "ID", MinArgs: 1, MaxArgs: 1, Summary: "Show or set the secret that signs requests",
			Examples: []string{"openagent triggers secret trig_1a2b"}},
			func(ctx context.Context, args []string) error { return triggersSecret(ctx, h, o, args[0]) }),
		verb(named(), cli.Command{Name: "remove", Args: "ID…", MinArgs: 1, MaxArgs: cli.AnyCount, Summary: "Remove triggers",
			Examples: []string{"openagent triggers remove trig_1a2b"}},
			func(ctx context.Context, args []string) error { return triggersRemove(ctx, h, o, args) }),
		verb(func() cli.Flags {
			return append(o.triggerFlags().Named("addr", "host", "grace"), o.JobFlags()...)
		}, cli.Command{Name: "serve", Summary: "Answer requests and run their triggers, until you stop it",
			Details:  "The flags of a prompt apply to all runs.\n",
			Examples: []string{"openagent triggers serve --addr 127.0.0.1:8787"}},
			func(ctx context.Context, _ []string) error { return triggersServe(ctx, h, o) }),
	}}
}

// triggerFlags are the flags about triggers.
func (o *triggerOptions) triggerFlags() cli.Flags {
	return cli.Flags{
		{Name: "all", Help: "the triggers of all folders; else those of this one", Set: cli.SetTrue(&o.all)},
		{Name: "url", Arg: "URL", Help: "the trigger is another program's at this address, and the prompt is sent to it", Set: cli.Text(&o.url)},
		{Name: "schedule", Arg: "SCHEDULE", Help: "also start it at these times, as openagent cron does", Set: cli.Text(&o.schedule)},
		{Name: "show", Help: "show the secret even if stdout is not a terminal", Set: cli.SetTrue(&o.show)},
		{Name: "set", Help: "take the secret of the other side from stdin instead", Set: cli.SetTrue(&o.set)},
		{Name: "addr", Arg: "HOST:PORT", Help: "address that answers requests (default " + defaultAddress + ")", Set: cli.Text(&o.addr)},
		{Name: "host", Arg: "HOST,HOST", Help: "hosts in the URLs of requests that come through a proxy or to a name, with the port unless it is the usual one (default the address itself)", Set: cli.List(&o.hosts)},
		{Name: "grace", Arg: "DURATION", Help: "time that runs have to end after a signal (default 10s)", Set: cli.Duration(&o.grace)},
	}
}

// A triggerPlace is where the triggers of the working folder are.
type triggerPlace struct {
	home, dir string
	file      *trigger.File
	store     trigger.Store // those of the folder
	jobs      cron.Store    // with their schedules
}

func findTriggerPlace(h *cli.IO) (triggerPlace, error) {
	home, err := h.Home()
	if err != nil {
		return triggerPlace{}, err
	}
	dir, err := settings.WorkingDir()
	file := app.TriggerFile(home)
	return triggerPlace{home, dir, file, trigger.In(file, dir), cron.In(app.CronFile(home), dir)}, err
}

// noTrigger is the error for a trigger that is not there, or cannot be read.
func noTrigger(id string, err error) error {
	if errors.Is(err, trigger.ErrUnknown) {
		return cli.Usagef("there is no trigger %s here; openagent triggers list --all shows those of all folders", cli.Clip(id))
	}
	return triggerError(err)
}

// triggerError is the error for triggers that cannot be worked on.
func triggerError(err error) error {
	var file *fs.PathError
	if errors.As(err, &file) {
		return cli.Usagef("%w; set OPENAGENT_HOME to a folder that can be written", err)
	}
	return err
}
