// Package attach is the command "openagent attach". It shows a session of a server in the terminal UI.
package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/attached"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/dialog"
	"github.com/openagent-go/agent/cmd/openagent/internal/localserver"
	"github.com/openagent-go/agent/cmd/openagent/internal/remote"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
)

// tokenVariable holds the token of a server on another machine.
const tokenVariable = "OPENAGENT_SERVE_TOKEN"

// Command returns the command "openagent attach".
func Command(h *cli.IO) cli.Command {
	tokenFile := ""
	return cli.Command{Name: "attach", Args: "[URL|ID]", MaxArgs: 1, Summary: "Show a session of openagent serve in this terminal, live",
		Details: `Without an argument: the server of this folder on this machine, and its session that runs.
URL is the address of a server or of a session. ID is a session, or the first 8 characters of one.
The token of a server elsewhere is in --token-file, in ` + tokenVariable + `, or asked for.
Ctrl-D leaves, and the run continues. docs/command/attach.md has the rest.
`,
		Examples: []string{"openagent attach", "openagent attach 01J9ZQ8D", "openagent attach https://agents.example.com/s/01J9ZQ8D --token-file token"},
		Flags: func() cli.Flags {
			return cli.Flags{{Name: "token-file", Arg: "FILE", Help: "file with the server's token; only you may be able to read it", Set: cli.Text(&tokenFile)}}
		},
		Run: func(ctx context.Context, args []string) error {
			where := ""
			if len(args) > 0 {
				where = args[0]
			}
			return run(ctx, h, where, tokenFile)
		}}
}

func run(ctx context.Context, h *cli.IO, where, tokenFile string) error {
	if !dialog.Possible(h) || !h.InTerminal || !h.OutTerminal {
		return cli.Usagef("openagent attach needs a terminal; programs use the API of the server: docs/serve.md")
	}
	c, id, err := connect(ctx, h, where, tokenFile)
	if err != nil {
		return err
	}
	h.Secrets = append(h.Secrets, c.Token)
	if err := c.Check(ctx); err != nil {
		return failure(err)
	}
	for {
		info, err := choose(ctx, h, c, id)
		if err != nil || info.Session == "" {
			return failure(err)
		}
		id, err = attached.New(h, c, info).Run(ctx)
		if err != nil || id == "" {
			return failure(err)
		}
	}
}

// failure is an error of a server as one of the command.
func failure(err error) error {
	var refused *remote.Error
	switch {
	case !errors.As(err, &refused):
		return err
	case refused.Status == http.StatusUnauthorized:
		return cli.Usagef("the server refuses the token; its file is named when openagent serve starts")
	}
	return cli.Usagef("%w", err)
}

// connect finds the server, and the id of the session or the beginning of one; "": none is named.
func connect(ctx context.Context, h *cli.IO, where, tokenFile string) (*remote.Client, string, error) {
	if !strings.Contains(where, "://") {
		c, err := local(h, tokenFile)
		return c, where, err
	}
	address, id, err := split(where)
	if err != nil {
		return nil, "", err
	}
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, "", err
	}
	servers, err := localserver.Running(h, dir)
	if err != nil {
		return nil, "", err
	}
	if tokenFile == "" && slices.ContainsFunc(servers, func(s localserver.Server) bool { return s.Address == address }) {
		c, err := client(h, address)
		return c, id, err
	}
	token, err := tokenOf(ctx, h, address, tokenFile)
	return &remote.Client{URL: address, Token: token}, id, err
}

// split splits an address into that of the server and the id of a session.
func split(where string) (address, id string, err error) {
	u, err := url.Parse(where)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", "", cli.Usagef("%s is not the address of a server or a session, such as https://agents.example.com/s/ID", cli.Clip(where))
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && !ip.IsLoopback() && !ip.IsUnspecified() {
		return "", "", cli.Usagef("http to another machine would show your token to the network; use https, or a tunnel to this machine")
	}
	path := strings.TrimSuffix(u.Path, "/")
	if before, after, ok := strings.Cut(path, "/s/"); ok {
		path, id = before, after
	}
	if strings.Contains(id, "/") {
		return "", "", cli.Usagef("%s is not the address of a session; it ends in /s/ID", cli.Clip(where))
	}
	return u.Scheme + "://" + u.Host + path, id, nil
}

// local returns the client of the server on this machine.
func local(h *cli.IO, tokenFile string) (*remote.Client, error) {
	if tokenFile != "" {
		return nil, cli.Usagef("--token-file goes with the address of a server")
	}
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	servers, err := localserver.Running(h, dir)
	switch {
	case err != nil:
		return nil, err
	case len(servers) == 0:
		return nil, cli.Usagef("no server runs on this machine; start one with: openagent serve")
	case servers[0].Dir != dir && len(servers) > 1:
		list := ""
		for _, s := range servers {
			list += "\n  " + s.Address + "  " + h.OneLine(s.Dir)
		}
		return nil, cli.Usagef("several servers run, and none of this folder; name one:%s", list)
	}
	return client(h, servers[0].Address)
}

// client returns the client of a server on this machine. Its address has to be one that a person could
// type. Before each request it makes sure that the server still runs: its address could be another
// program's.
func client(h *cli.IO, address string) (*remote.Client, error) {
	if plain, id, err := split(address); err != nil {
		return nil, err
	} else if plain != address || id != "" {
		return nil, cli.Usagef("%s is not the address of a server; restart openagent serve", cli.Clip(address))
	}
	_, token, err := localserver.OpenToken(h)
	if err != nil {
		return nil, err
	}
	trusted := func() error {
		servers, err := localserver.Running(h, "")
		if err == nil && !slices.ContainsFunc(servers, func(s localserver.Server) bool { return s.Address == address }) {
			err = fmt.Errorf("%s does not run; start it with: openagent serve", address)
		}
		return err
	}
	return &remote.Client{URL: address, Token: token, Trusted: trusted}, nil
}

// tokenOf returns the token for a server that is not one of this machine.
func tokenOf(ctx context.Context, h *cli.IO, address, file string) (string, error) {
	if file != "" {
		token, err := localserver.ReadToken(file)
		if errors.Is(err, fs.ErrNotExist) {
			err = cli.Usagef("--token-file: %w", err)
		}
		return token, err
	}
	if token := h.Getenv(tokenVariable); token != "" {
		return token, nil
	}
	token, err := h.AskSecret(ctx, "Token of "+h.OneLine(address)+": ")
	if err == nil && strings.TrimSpace(token) == "" {
		err = cli.Usagef("the server needs its token")
	}
	return strings.TrimSpace(token), err
}

// minPrefix is the least number of characters that may stand for a whole id.
const minPrefix = 8

// choose returns the session that is named, the only one that runs, or the one that the person
// chooses; one without an id: they have left.
func choose(ctx context.Context, h *cli.IO, c *remote.Client, id string) (remote.Info, error) {
	if id != "" {
		return named(ctx, c, id)
	}
	list, err := c.Sessions(ctx)
	if err != nil {
		return remote.Info{}, err
	}
	if len(list) == 0 {
		return remote.Info{}, cli.Usagef("the server has no sessions; begin one in a browser, or with POST /v1/sessions")
	}
	running := slices.DeleteFunc(slices.Clone(list), func(i remote.Info) bool { return !attached.Runs(i) })
	if len(running) == 1 {
		return running[0], nil
	}
	d, err := dialog.Open(h)
	if err != nil {
		return remote.Info{}, err
	}
	picked, ok, err := d.Ask(ctx, attached.Choice(h, list, ""), nil)
	if failed := d.Close(); err != nil || failed != nil || !ok {
		return remote.Info{}, cmp.Or(err, failed)
	}
	return c.Session(ctx, picked)
}

// named returns the session with an id, or the one whose id begins with it.
func named(ctx context.Context, c *remote.Client, id string) (remote.Info, error) {
	info, err := c.Session(ctx, id)
	if !remote.IsCode(err, "not_found") || len(id) < minPrefix {
		return info, err
	}
	list, failed := c.Sessions(ctx)
	if failed != nil {
		return info, failed
	}
	list = slices.DeleteFunc(list, func(i remote.Info) bool { return !strings.HasPrefix(i.Session, id) })
	switch len(list) {
	case 0:
		return info, cli.Usagef("the server has no session %s; openagent attach without an id lists them", cli.Clip(id))
	case 1:
		return list[0], nil
	}
	return info, cli.Usagef("%d sessions have ids that begin with %s; write more of the id", len(list), cli.Clip(id))
}
