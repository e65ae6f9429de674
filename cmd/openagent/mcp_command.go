package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/openagent-go/agent/mcp"
)

const mcpWords = "list, add NAME URL, add NAME -- COMMAND ARGS, add-json NAME JSON, remove NAME, get NAME, test NAME, login NAME, logout NAME or serve"

// mcpOptions are the flags of the command mcp: its own, and those of a prompt,
// under which calls and prompts of clients run.
type mcpOptions struct {
	options
	noBrowser bool

	format           string
	scope, transport string
	vars, headers    []string

	agent bool
	addr  string
	hosts []string
}

func mcpCommand(h *host) (flags, action) {
	o := new(mcpOptions)
	fs := append(listFlags(&o.format), flags{
		{name: "scope", arg: choice(serverScopes), words: serverScopes, help: "with add and remove: whose server it is: yours for this folder (local, the default), the project's, or yours everywhere", set: oneOf(&o.scope, serverScopes)},
		{name: "transport", arg: choice(serverTransports), words: serverTransports, help: "with add: how the server is reached (default stdio, http with a URL)", set: oneOf(&o.transport, serverTransports)},
		{name: "env", arg: "NAME=VALUE", help: "with add: a variable of the server's; ${NAME} stands for one of yours; may be repeated", set: more(&o.vars)},
		{name: "header", arg: "NAME: VALUE", help: "with add: a header of requests, ${NAME} as with --env; may be repeated", set: more(&o.headers)},
		{name: "no-browser", help: "with login: only show the page, do not open it", set: yes(&o.noBrowser)},
		{name: "agent", help: "with serve: offer one tool, which prompts the agent; else its tools", set: yes(&o.agent)},
		{name: "http", arg: "HOST:PORT", help: "with serve: answer streamable HTTP here instead of stdin; clients send the token in " + tokenVar + ", or the one that is shown", set: text(&o.addr)},
		{name: "host", arg: "HOST,HOST", help: "with serve --http: names, without ports, by which it is reached beside addresses and localhost", set: list(&o.hosts)},
	}...)
	fs = append(fs, o.flagsOfJobs()...)
	return fs, func(ctx context.Context, args []string) error {
		verb := ""
		if len(args) > 0 {
			verb, args = args[0], args[1:]
		}
		err := goWith("mcp", verb, []verbFlag{
			{o.noBrowser, "--no-browser", []string{"login"}},
			{o.scope != "", "--scope", []string{"add", "add-json", "remove"}},
			{o.transport != "", "--transport", []string{"add"}},
			{o.vars != nil, "--env", []string{"add"}},
			{o.headers != nil, "--header", []string{"add"}},
			{o.format != "", "--output-format", []string{"list"}},
			{o.agent, "--agent", []string{"serve"}},
			{o.addr != "", "--http", []string{"serve"}},
			{o.hosts != nil, "--host", []string{"serve"}},
		})
		if err == nil {
			err = o.check()
		}
		if err != nil {
			return err
		}
		switch {
		case (verb == "list" || verb == "") && len(args) == 0:
			return h.listServers(ctx, &o.options, o.format)
		case verb == "add" && len(args) >= 2:
			raw, err := o.server(args[1], args[2:])
			if err != nil {
				return err
			}
			return h.addServer(ctx, o.scopeOr(localScope), args[0], raw)
		case verb == "add-json" && len(args) == 2:
			return h.addServer(ctx, o.scopeOr(localScope), args[0], json.RawMessage(args[1]))
		case verb == "remove" && len(args) == 1:
			return h.removeServer(ctx, o.scope, args[0])
		case verb == "get" && len(args) == 1:
			return h.getServer(ctx, &o.options, args[0])
		case verb == "test" && len(args) == 1:
			return h.testServer(ctx, &o.options, args[0])
		case verb == "login" && len(args) == 1:
			return h.serverLogin(ctx, &o.options, args[0], !o.noBrowser)
		case verb == "logout" && len(args) == 1:
			return h.serverLogout(ctx, &o.options, args[0])
		case verb == "serve" && len(args) == 0 && o.hosts != nil && o.addr == "":
			return usagef("--host goes with --http")
		case verb == "serve" && len(args) == 0:
			return h.mcpServe(ctx, o)
		}
		return usagef("write openagent mcp %s", mcpWords)
	}
}

func (o *mcpOptions) scopeOr(otherwise string) string {
	if o.scope != "" {
		return o.scope
	}
	return otherwise
}

// server is the configuration that the flags of add describe.
func (o *mcpOptions) server(what string, args []string) (json.RawMessage, error) {
	remote := o.transport == mcp.HTTP || o.transport == mcp.SSE || o.transport == "" && (strings.HasPrefix(what, "https://") || strings.HasPrefix(what, "http://"))
	c := mcp.Config{Type: o.transport}
	switch {
	case !remote && o.headers != nil:
		return nil, usagef("--header goes with servers that have a URL")
	case remote && o.vars != nil:
		return nil, usagef("--env goes with servers that are a command")
	case remote && len(args) > 0:
		return nil, usagef("a server with a URL takes no arguments, and %q is left", clip(strings.Join(args, " ")))
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
			return nil, usagef("%s: write NAME%sVALUE", shown, sign)
		}
		if table == nil {
			table = map[string]string{}
		}
		table[name] = strings.TrimSpace(value)
	}
	return table, nil
}
