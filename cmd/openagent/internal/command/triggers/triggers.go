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
	"github.com/openagent-go/agent/internal/cronstore"
	"github.com/openagent-go/agent/internal/triggerstore"
)

// triggerOptions are the flags of the command triggers: its own, and the prompt flags that apply to
// triggers.
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

// triggerFlags are the flags for triggers.
func (o *triggerOptions) triggerFlags() cli.Flags {
	return cli.Flags{
		{Name: "all", Help: "triggers of all folders (default: only this folder)", Set: cli.SetTrue(&o.all)},
		{Name: "url", Arg: "URL", Help: "the trigger belongs to another program at this address; send it the prompt", Set: cli.Text(&o.url)},
		{Name: "schedule", Arg: "SCHEDULE", Help: "also start the trigger at these times, like openagent cron", Set: cli.Text(&o.schedule)},
		{Name: "show", Help: "show the secret even if stdout is not a terminal", Set: cli.SetTrue(&o.show)},
		{Name: "set", Help: "read the other side's secret from stdin instead", Set: cli.SetTrue(&o.set)},
		{Name: "addr", Arg: "HOST:PORT", Help: "address to listen on (default " + defaultAddress + ")", Set: cli.Text(&o.addr)},
		{Name: "host", Arg: "HOST,HOST", Help: "hosts in the URLs of requests through a proxy or to a name, with a port if it is not the usual one (default: the address itself)", Set: cli.List(&o.hosts)},
		{Name: "grace", Arg: "DURATION", Help: "time for runs to end after a signal (default 10s)", Set: cli.Duration(&o.grace)},
	}
}

// A triggerPlace holds the triggers of the working folder.
type triggerPlace struct {
	home, dir string
	file      *triggerstore.File
	store     triggerstore.Store // the triggers of the folder
	jobs      cronstore.Store    // the jobs of their schedules
}

func findTriggerPlace(h *cli.IO) (triggerPlace, error) {
	home, err := h.Home()
	if err != nil {
		return triggerPlace{}, err
	}
	dir, err := settings.WorkingDir()
	file := app.TriggerFile(home)
	return triggerPlace{home, dir, file, triggerstore.In(file, dir), cronstore.In(app.CronFile(home), dir)}, err
}

// noTrigger returns the error for a trigger that does not exist or cannot be read.
func noTrigger(id string, err error) error {
	if errors.Is(err, triggerstore.ErrUnknown) {
		return cli.Usagef("there is no trigger %s here; openagent triggers list --all shows the triggers of all folders", cli.Clip(id))
	}
	return triggerError(err)
}

// triggerError returns the error for triggers that cannot be read or written.
func triggerError(err error) error {
	var file *fs.PathError
	if errors.As(err, &file) {
		return cli.Usagef("%w; set OPENAGENT_HOME to a writable folder", err)
	}
	return err
}
