// Package memory is the command "openagent memory". It shows what agents learned, and lets a person
// decide about it.
package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/memory"
)

// byPerson is the reason of a change that the command makes.
func byPerson(did string) memory.Reason { return memory.Reason{By: "person", Why: did} }

// memoryOptions are the flags of openagent memory.
type memoryOptions struct {
	settings.Options
	format        string
	user, project bool // only this store
	all           bool // list: retired entries too
	limit         int  // log
}

// Command returns the command "openagent memory".
func Command(h *cli.IO) cli.Command {
	o := &memoryOptions{format: cli.FormatText}
	verb := func(flags cli.Flags, c cli.Command, run func(ctx context.Context, stores []memory.Named, args []string) error) cli.Command {
		c.Flags = func() cli.Flags {
			return slices.Concat(cli.ListFlags(&o.format), o.storeFlags(), flags, o.Flags().Named("cwd"))
		}
		c.Run = o.RunChecked(&o.format, func(ctx context.Context, args []string) error {
			stores, err := o.stores(h)
			if err != nil {
				return err
			}
			return run(ctx, stores, args)
		})
		return c
	}
	decide := func(name, summary, done string, d decision) cli.Command {
		c := cli.Command{Name: name, Args: "ID…", MinArgs: 1, MaxArgs: cli.AnyCount, Summary: summary, Examples: []string{"openagent memory " + name + " run-the-tests-with-race-1a2b3c"}}
		return verb(nil, c, func(ctx context.Context, stores []memory.Named, args []string) error {
			return decideAll(ctx, h, o, stores, args, done, d)
		})
	}
	return cli.Command{Name: "memory", Summary: "See what agents learned, and decide what later sessions know", Default: "list",
		Details: "An ID may be shortened, as long as it names one entry.\n",
		Subcommands: []cli.Command{
			verb(cli.Flags{{Name: "all", Help: "retired entries too", Set: cli.SetTrue(&o.all)}},
				cli.Command{Name: "list", Summary: "List the entries", Examples: []string{"openagent memory list --all"}},
				func(_ context.Context, stores []memory.Named, _ []string) error { return listEntries(h, o, stores) }),
			verb(nil, cli.Command{Name: "show", Args: "ID", MinArgs: 1, MaxArgs: 1, Summary: "Show an entry", Examples: []string{"openagent memory show run-the-tests"}},
				func(_ context.Context, stores []memory.Named, args []string) error {
					return showEntry(h, o, stores, args[0])
				}),
			verb(nil, cli.Command{Name: "pending", Summary: "Show the entries that wait for your decision", Examples: []string{"openagent memory pending"}},
				func(_ context.Context, stores []memory.Named, _ []string) error { return showPending(h, o, stores) }),
			decide("accept", "Accept entries: later sessions get them", "accepted", accept),
			decide("reject", "Reject entries that wait for your decision", "rejected", reject),
			decide("retire", "Retire entries: later sessions do not get them any more", "retired", retire),
			verb(nil, cli.Command{Name: "undo", Args: "[N]", MaxArgs: 1, Summary: "Undo the latest change, or change N of the log", Examples: []string{"openagent memory undo", "openagent memory undo 12"}},
				func(ctx context.Context, stores []memory.Named, args []string) error {
					return undo(ctx, h, o, stores, args)
				}),
			verb(o.Flags().Named("max-budget-usd", "provider", "base-url", "session-dir", "store", "settings", "setting-sources", "log-level"),
				cli.Command{Name: "review", Args: "[SESSION…]", MaxArgs: cli.AnyCount, Summary: "Let the small model propose entries from sessions",
					Details:  "Without a SESSION it reviews those that have ended since reviews were switched on (memory.review).\nIt proposes skills, and changes of skills, as well: see openagent skills pending.\n",
					Examples: []string{"openagent memory review", "openagent memory review 01J9ZQ --max-budget-usd 0.10"}},
				func(ctx context.Context, stores []memory.Named, args []string) error {
					return review(ctx, h, o, stores, args)
				}),
			verb(cli.Flags{{Name: "limit", Arg: "N", Help: "number of changes to show (default 20)", Set: cli.Count(&o.limit)}},
				cli.Command{Name: "log", Summary: "List the changes, the latest first", Examples: []string{"openagent memory log"}},
				func(_ context.Context, stores []memory.Named, _ []string) error { return listChanges(h, o, stores) }),
		}}
}

func (o *memoryOptions) storeFlags() cli.Flags {
	return cli.Flags{
		{Name: "user", Help: "only your own entries, which all your projects share", Set: cli.SetTrue(&o.user)},
		{Name: "project", Help: "only the entries of this project", Set: cli.SetTrue(&o.project)},
	}
}

// stores opens the stores that the flags select.
func (o *memoryOptions) stores(h *cli.IO) ([]memory.Named, error) {
	if o.user && o.project {
		return nil, cli.Usagef("use --user or --project, not both")
	}
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	home, err := h.Home()
	if err != nil {
		return nil, err
	}
	stores := coding.MemoryStores(dir, home)
	if o.user {
		stores = slices.DeleteFunc(stores, func(n memory.Named) bool { return n.Name != coding.UserMemory })
	}
	if o.project {
		if stores = slices.DeleteFunc(stores, func(n memory.Named) bool { return n.Name != coding.ProjectMemory }); len(stores) == 0 {
			return nil, cli.Usagef("the folder %s has only your own entries; change to a project, or use --user", dir)
		}
	}
	return stores, nil
}

// failed returns the user's version of an error from changing an entry.
func failed(ctx context.Context, e app.KeptEntry, err error) error {
	switch {
	case errors.Is(err, memory.ErrSuspicious):
		return cli.Usagef("%w; if it is meant well, say it in other words in %s", err, e.Store.Store.File(e.ID))
	case errors.Is(err, memory.ErrUnknown):
		return cli.Usagef("%w", err)
	case err != nil:
		return cli.CommandError(ctx, fmt.Errorf("changing entry %s: %w", e.ID, err))
	}
	return nil
}
