package main

import "context"

const mcpWords = "login NAME, logout NAME or serve"

// mcpOptions are the flags of the command mcp: its own, and those of a prompt,
// under which calls and prompts of clients run.
type mcpOptions struct {
	options
	noBrowser bool

	agent bool
	addr  string
	hosts []string
}

func mcpCommand(h *host) (flags, action) {
	o := new(mcpOptions)
	fs := append(flags{
		{name: "no-browser", help: "with login: only show the page, do not open it", set: yes(&o.noBrowser)},
		{name: "agent", help: "with serve: offer one tool, which prompts the agent; else its tools", set: yes(&o.agent)},
		{name: "http", arg: "HOST:PORT", help: "with serve: answer streamable HTTP here instead of stdin; clients send the token in " + tokenVar + ", or the one that is shown", set: text(&o.addr)},
		{name: "host", arg: "HOST,HOST", help: "with serve --http: names, without ports, by which it is reached beside addresses and localhost", set: list(&o.hosts)},
	}, o.flagsOfJobs()...)
	return fs, func(ctx context.Context, args []string) error {
		verb := ""
		if len(args) > 0 {
			verb, args = args[0], args[1:]
		}
		err := goWith("mcp", verb, []verbFlag{
			{o.noBrowser, "--no-browser", []string{"login"}},
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
