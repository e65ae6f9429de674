// Package share is the command "openagent share". It makes a read-only link to a session for others.
package share

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/live"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/sessiondir"
	"github.com/openagent-go/agent/serve"
	"github.com/openagent-go/agent/session"
)

// options are the flags of the command.
type options struct {
	settings.Options
	place    settings.Place
	request  live.Request
	password bool
	omit     bool
	list     bool
	revoke   string
	yes      bool
	port     int
	hosts    []string
}

// Command returns the command "openagent share".
func Command(h *cli.IO) cli.Command {
	o := new(options)
	return cli.Command{Name: "share", Args: "ID", MinArgs: 0, MaxArgs: 1, Summary: "Make a read-only link to a session for others",
		Details: `It lists what the page hides, and asks before the link works. Patterns can miss things.
If openagent serve runs in this folder, the link is one of that server, and stays.
Otherwise this command serves the link on this machine until you stop it.
For people elsewhere, use a tunnel of yours with --host.
`,
		Examples: []string{"openagent share 01J9ZQ --expires 2h", "openagent share 01J9ZQ --live --password", "openagent share --list", "openagent share --revoke 9c41a0"},
		Flags:    o.flags,
		Run:      func(ctx context.Context, args []string) error { return run(ctx, h, o, args) }}
}

func (o *options) flags() cli.Flags {
	return append(append(cli.ListFlags(&o.Output), o.place.Flags()...), cli.Flags{
		{Name: "live", Help: "show what happens later as well", Set: cli.SetTrue(&o.request.Live)},
		{Name: "from", Arg: "FACT", Help: "number of the first fact to show", Set: number(&o.request.From)},
		{Name: "to", Arg: "FACT", Help: "number of the last fact to show", Set: number(&o.request.To)},
		{Name: "expires", Arg: "DURATION", Help: "how long the link works (default 24h)", Set: cli.Text(&o.request.Lasts)},
		{Name: "password", Help: "ask for a password that viewers need", Set: cli.SetTrue(&o.password)},
		{Name: "omit-results", Help: "leave out inputs and results above 4 KB", Set: cli.SetTrue(&o.omit)},
		{Name: "yes", Short: 'y', Help: "make the link without a question", Set: cli.SetTrue(&o.yes)},
		{Name: "list", Help: "list the links that outlast a server", Set: cli.SetTrue(&o.list)},
		{Name: "revoke", Arg: "SHARE", Help: "end a link of the list", Set: cli.Text(&o.revoke)},
		{Name: "port", Arg: "PORT", Help: "port on this machine if no server runs (default: a free one)", Set: cli.Count(&o.port)},
		{Name: "host", Arg: "HOST,HOST", Help: "names of your tunnel if no server runs", Set: cli.List(&o.hosts)},
	}...)
}

// number sets the number of a fact.
func number(to *int64) func(string) error {
	var n int
	set := cli.Count(&n)
	return func(given string) error {
		err := set(given)
		*to = int64(n)
		return err
	}
}

func run(ctx context.Context, h *cli.IO, o *options, args []string) error {
	project, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	store, err := sessionstore.Open(ctx, h, o.place, project)
	if err != nil {
		return err
	}
	folder := sessiondir.Path(store)
	if o.list || o.revoke != "" {
		if len(args) > 0 || o.list && o.revoke != "" {
			return cli.Usagef("--list and --revoke stand alone")
		}
		return manage(ctx, h, o, project, folder, store)
	}
	if len(args) == 0 {
		return cli.Usagef("which session? openagent sessions list shows them; openagent share ID shares one")
	}
	if !o.yes && !h.InTerminal {
		return cli.Usagef("a link needs your yes after the preview: run it on a terminal, or give --yes")
	}
	if o.request.Session, err = sessionstore.Find(ctx, h, "share", store, args[0]); err != nil {
		return err
	}
	if o.omit {
		o.request.Results = "omit"
	}
	if o.password {
		if o.request.Password, err = h.AskSecret(ctx, "Password for viewers (8 characters or more): "); err != nil {
			return err
		}
		if o.request.Password == "" {
			return cli.Usagef("--password needs a password")
		}
	}
	address := live.Running(h, folder)
	s, err := server(ctx, h, o, project, folder, store, address != "")
	if err != nil {
		return err
	}
	defer func() {
		if err := s.Close(); err != nil {
			h.Warn("%v", err)
		}
	}()
	p, err := s.Preview(ctx, o.request)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	for _, line := range p.Lines(h) {
		fmt.Fprintln(h.Err, line)
	}
	if !o.yes {
		said, err := h.AskLine(ctx, "Make the link? [y]es, [n]o: ")
		if ctx.Err() != nil {
			return cli.ExitCode(cli.SignalCode(ctx))
		}
		if said = strings.ToLower(strings.TrimSpace(said)); err != nil || said != "y" && said != "yes" {
			return h.Show("No link was made.\n")
		}
	}
	if address == "" {
		if err := s.Listen(ctx, o.port); err != nil {
			return err
		}
	}
	made, err := s.Confirm(ctx, p.Code)
	if err != nil {
		return cli.CommandError(ctx, err)
	}
	if address != "" {
		return h.Show(made.Link(address) + "\nIt works until " + made.Until() + ". openagent share --revoke " + made.ID + " ends it.\n")
	}
	links := made.Link(s.Address) + "\n"
	for _, name := range o.hosts {
		links += made.Link("https://"+h.OneLine(name)) + "\n"
	}
	if err := h.Show(links + "It works until " + made.Until() + ", or until you stop this program.\n"); err != nil {
		return err
	}
	ctx, cancel := context.WithDeadline(ctx, made.Expires)
	defer cancel()
	<-ctx.Done()
	if cli.IsSignal(ctx) {
		return cli.ExitCode(cli.SignalCode(ctx))
	}
	return nil
}

// server returns a server of shares. With keep, they are those of the servers of the folder.
func server(ctx context.Context, h *cli.IO, o *options, project, folder string, store session.Store, keep bool) (*live.Server, error) {
	shares, err := live.Shares(ctx, h, &o.Options, project, folder, keep, nil)
	if err != nil {
		return nil, err
	}
	return live.New(&serve.Server{Sessions: func(string) session.Store { return store }, Shares: shares,
		Watched: func(n int) { fmt.Fprintln(h.Err, cli.Plural(n, "viewer")) }}, slices.Clone(o.hosts)), nil
}

// manage lists the shares of the servers of the folder, or revokes one.
func manage(ctx context.Context, h *cli.IO, o *options, project, folder string, store session.Store) error {
	s, err := server(ctx, h, o, project, folder, store, true)
	if err != nil {
		return err
	}
	defer s.Close()
	if o.revoke != "" {
		if err := s.Revoke(ctx, o.revoke); err != nil {
			return cli.Usagef("%w", err)
		}
		return h.Show("The link does not work any more.\n")
	}
	list, err := s.List(ctx)
	if err != nil {
		return cli.CommandError(ctx, err)
	}
	rows := make([][]string, len(list))
	for i, sh := range list {
		scope := fmt.Sprintf("facts %d to %d", sh.From, sh.To)
		if sh.Live {
			scope = "live"
		}
		rows[i] = []string{sh.ID, sh.Session, scope, sh.Until()}
	}
	return h.WriteList(o.Output, list, "SHARE SESSION SHOWS UNTIL", rows)
}
