// Package mcp is the command "openagent mcp". It manages MCP servers, and runs openagent as one.
package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/mcp"
)

// mcpOptions are the flags of the command mcp: its own, and the prompt flags that apply to calls
// and prompts of clients.
type mcpOptions struct {
	settings.Options
	noBrowser bool

	format           string
	scope, transport string
	vars, headers    []string

	agent bool
	addr  string
	hosts []string
}

// Command returns the command "openagent mcp".
func Command(h *cli.IO) cli.Command {
	o := new(mcpOptions)
	verb := func(flags func() cli.Flags, c cli.Command, run func(ctx context.Context, args []string) error) cli.Command {
		c.Flags = flags
		c.Run = func(ctx context.Context, args []string) error {
			if err := o.Check(); err != nil {
				return err
			}
			return run(ctx, args)
		}
		return c
	}
	editing := func(names ...string) func() cli.Flags {
		return func() cli.Flags { return append(o.serverFlags().Named(names...), o.LocationFlags()...) }
	}
	using := func(flags cli.Flags) func() cli.Flags {
		return func() cli.Flags {
			fs := slices.Concat(flags, o.Flags().Named("mcp-config", "strict-mcp-config", "plugin-dir"))
			return append(fs, o.LocationFlags()...)
		}
	}
	return cli.Command{Name: "mcp", Summary: "Manage MCP servers, or run openagent as one", Default: "list", Subcommands: []cli.Command{
		verb(using(cli.ListFlags(&o.format)), cli.Command{Name: "list", Summary: "List the servers and whether they answer",
			Examples: []string{"openagent mcp list"}},
			func(ctx context.Context, _ []string) error { return listServers(ctx, h, &o.Options, o.format) }),
		verb(editing("scope", "transport", "env", "header"), cli.Command{Name: "add", Args: "NAME URL | NAME -- COMMAND ARGS", MinArgs: 2, MaxArgs: cli.AnyCount, Summary: "Add a server: a URL or a command",
			Examples: []string{"openagent mcp add docs https://example.com/mcp", "openagent mcp add files --scope project -- npx -y @modelcontextprotocol/server-filesystem ."}},
			func(ctx context.Context, args []string) error {
				raw, err := o.server(args[1], args[2:])
				if err != nil {
					return err
				}
				return app.AddServer(ctx, h, o.scopeOr(app.LocalScope), args[0], raw)
			}),
		verb(editing("scope"), cli.Command{Name: "add-json", Args: "NAME JSON", MinArgs: 2, MaxArgs: 2, Summary: "Add a server as .mcp.json describes it",
			Examples: []string{`openagent mcp add-json docs '{"type":"http","url":"https://example.com/mcp"}'`}},
			func(ctx context.Context, args []string) error {
				return app.AddServer(ctx, h, o.scopeOr(app.LocalScope), args[0], json.RawMessage(args[1]))
			}),
		verb(editing("scope"), cli.Command{Name: "remove", Args: "NAME", MinArgs: 1, MaxArgs: 1, Summary: "Remove a server",
			Examples: []string{"openagent mcp remove docs"}},
			func(ctx context.Context, args []string) error { return app.RemoveServer(ctx, h, o.scope, args[0]) }),
		verb(using(nil), cli.Command{Name: "get", Args: "NAME", MinArgs: 1, MaxArgs: 1, Summary: "Show how a server is configured",
			Examples: []string{"openagent mcp get docs"}},
			func(ctx context.Context, args []string) error { return getServer(ctx, h, &o.Options, args[0]) }),
		verb(using(nil), cli.Command{Name: "test", Args: "NAME", MinArgs: 1, MaxArgs: 1, Summary: "Connect to a server and list its tools",
			Examples: []string{"openagent mcp test docs"}},
			func(ctx context.Context, args []string) error { return testServer(ctx, h, &o.Options, args[0]) }),
		verb(using(cli.Flags{{Name: "no-browser", Help: "show the address of the login page without opening it", Set: cli.SetTrue(&o.noBrowser)}}),
			cli.Command{Name: "login", Args: "NAME", MinArgs: 1, MaxArgs: 1, Summary: "Log in to a server with OAuth",
				Examples: []string{"openagent mcp login docs"}},
			func(ctx context.Context, args []string) error {
				return serverLogin(ctx, h, &o.Options, args[0], !o.noBrowser)
			}),
		verb(using(nil), cli.Command{Name: "logout", Args: "NAME", MinArgs: 1, MaxArgs: 1, Summary: "Log out of a server",
			Examples: []string{"openagent mcp logout docs"}},
			func(ctx context.Context, args []string) error { return serverLogout(ctx, h, &o.Options, args[0]) }),
		verb(o.serveFlags, cli.Command{Name: "serve", Summary: "Serve the tools, or the agent, to MCP clients",
			Details:  "The flags of a prompt apply to calls and prompts of clients.\n",
			Examples: []string{"openagent mcp serve", "openagent mcp serve --agent --http 127.0.0.1:8080"}},
			func(ctx context.Context, _ []string) error {
				if o.hosts != nil && o.addr == "" {
					return cli.Usagef("--host needs --http; add it")
				}
				return mcpServe(ctx, h, o)
			}),
	}}
}

// serverFlags are the flags that describe a server.
func (o *mcpOptions) serverFlags() cli.Flags {
	return cli.Flags{
		{Name: "scope", Arg: cli.Choice(app.ServerScopes), Words: app.ServerScopes, Help: "owner of the server: you for this folder (local, the default), the project, or you everywhere", Set: cli.OneOf(&o.scope, app.ServerScopes)},
		{Name: "transport", Arg: cli.Choice(app.ServerTransports), Words: app.ServerTransports, Help: "how to reach the server (default stdio; with a URL http)", Set: cli.OneOf(&o.transport, app.ServerTransports)},
		{Name: "env", Arg: "NAME=VALUE", Help: "environment variable for the server; ${NAME} inserts one of yours; may be repeated", Set: cli.Append(&o.vars)},
		{Name: "header", Arg: "NAME: VALUE", Help: "header of requests; ${NAME} as with --env; may be repeated", Set: cli.Append(&o.headers)},
	}
}

// serveFlags are the flags of mcp serve.
func (o *mcpOptions) serveFlags() cli.Flags {
	own := cli.Flags{
		{Name: "agent", Help: "offer one tool that prompts the agent, instead of the agent's tools", Set: cli.SetTrue(&o.agent)},
		{Name: "http", Arg: "HOST:PORT", Help: "serve streamable HTTP at this address instead of stdin; clients send the token in " + TokenVar + ", or the generated one", Set: cli.Text(&o.addr)},
		{Name: "host", Arg: "HOST,HOST", Help: "with --http: more host names, without ports, that clients use (addresses and localhost always work)", Set: cli.List(&o.hosts)},
	}
	prompt := slices.DeleteFunc(o.JobFlags(), func(f cli.Flag) bool { return f.Name == "agent" }) // ours differs
	return append(own, prompt...)
}

func (o *mcpOptions) scopeOr(otherwise string) string {
	if o.scope != "" {
		return o.scope
	}
	return otherwise
}

// server returns the configuration from the flags of add.
func (o *mcpOptions) server(what string, args []string) (json.RawMessage, error) {
	remote := o.transport == mcpnames.HTTP || o.transport == mcpnames.SSE || o.transport == "" && (strings.HasPrefix(what, "https://") || strings.HasPrefix(what, "http://"))
	c := mcp.Config{Type: o.transport}
	switch {
	case !remote && o.headers != nil:
		return nil, cli.Usagef("--header needs a server with a URL; leave it out")
	case remote && o.vars != nil:
		return nil, cli.Usagef("--env needs a server that is a command; leave it out")
	case remote && len(args) > 0:
		return nil, cli.Usagef("a server with a URL takes no arguments; remove %q", cli.Clip(strings.Join(args, " ")))
	case remote:
		c.URL = what
	default:
		c.Command, c.Args = what, args
	}
	var err error
	if c.Env, err = pairs("--env", o.vars, "="); err != nil {
		return nil, err
	}
	if c.Headers, err = pairs("--header", o.headers, ":"); err != nil {
		return nil, err
	}
	return json.Marshal(c)
}

func pairs(shown string, list []string, sign string) (map[string]string, error) {
	var table map[string]string
	for _, s := range list {
		name, value, ok := strings.Cut(s, sign)
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, cli.Usagef("%s: write NAME%sVALUE", shown, sign)
		}
		if table == nil {
			table = map[string]string{}
		}
		table[name] = strings.TrimSpace(value)
	}
	return table, nil
}
