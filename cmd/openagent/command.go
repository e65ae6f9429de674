package main

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// A command is one of the words that the program's first argument can be. The
// one without a name is a prompt.
type command struct {
	name, args, summary string
	words               []string // the arguments to choose from, where there is such a list
	// prepare returns the command's flags, and what is done once they are read.
	prepare func(h *host) (flags, action)
}

type action func(ctx context.Context, args []string) error

// commands lists the commands in the order in which help shows them.
func commands() []command {
	return []command{
		{name: "demo", args: "[fix|survey|chaos|team] [--dir DIR]", summary: "see an agent at work: no key, no network"},
		{name: "sessions", args: "[list | show ID | cost ID | search TEXT | rename ID [TITLE] | tag ID [TAG] | export ID | trace ID | rewind ID | delete ID… | verify [ID…] | repair ID… | import [PATH] | answer ID | prune]",
			words:   []string{"list", "show", "cost", "search", "rename", "tag", "export", "trace", "rewind", "delete", "verify", "repair", "import", "answer", "prune"},
			summary: "list, show, find, name, export, rewind, check and delete sessions", prepare: sessionsCommand},
		{name: "cron", args: "[list | add SCHEDULE PROMPT | remove ID… | enable ID… | disable ID… | next [SCHEDULE] | run]", words: []string{"list", "add", "remove", "enable", "disable", "next", "run"}, summary: "run prompts and commands at set times", prepare: cronCommand},
		{name: "triggers", args: "[list | add NAME PROMPT | secret ID | remove ID… | serve]", words: []string{"list", "add", "secret", "remove", "serve"}, summary: "run prompts when signed HTTP requests ask for them", prepare: triggersCommand},
		{name: "tools", args: "[list | show NAME | run NAME JSON | stats]", words: []string{"list", "show", "run", "stats"}, summary: "list the tools, show and run one, count their calls", prepare: toolsCommand},
		{name: "skills", args: "[list | show NAME | new NAME | lint [DIR…]]", words: []string{"list", "show", "new", "lint"}, summary: "list the skills, show, begin and check one", prepare: skillsCommand},
		{name: "agents", args: "[list | show NAME | new NAME [DESCRIPTION] | lint [FILE…]]", words: []string{"list", "show", "new", "lint"}, summary: "list the agents that can be put to work, show, write and check one", prepare: agentsCommand},
		{name: "trust", args: "[list | add DIR | remove DIR]", words: []string{"list", "add", "remove"}, summary: "say which projects' tools, skills, agents and settings count", prepare: trustCommand},
		{name: "permissions", args: "[list | explain [TOOL] INPUT | suggest | lint]", words: []string{"list", "explain", "suggest", "lint"}, summary: "show the rules with their sources, explain what they make of a call, find rules", prepare: permissionsCommand},
		{name: "mcp", args: "list | add | add-json | remove | get | test | login | logout NAME | serve", words: []string{"list", "add", "add-json", "remove", "get", "test", "login", "logout", "serve"}, summary: "MCP servers: have them, try them, log in to them; be one for other programs", prepare: mcpCommand},
		{name: "models", args: "[list | show NAME]", words: []string{"list", "show"}, summary: "list the models that are known, with windows and prices; show what is known of one", prepare: modelsCommand},
		{name: "config", args: "[list | get KEY | set KEY VALUE | explain [KEY] | path]", words: []string{"list", "get", "set", "explain", "path"}, summary: "show and change settings, and say where each comes from", prepare: configCommand},
		{name: "doctor", summary: "check what the program needs", prepare: doctorCommand},
		{name: "completion", args: "bash|zsh|fish", words: []string{"bash", "zsh", "fish"}, summary: "print a completion script for a shell", prepare: completionCommand},
		{name: "version", summary: "print the version", prepare: versionCommand},
		{name: "help", args: "[COMMAND]", summary: "show help", prepare: helpCommand},
	}
}

func commandNamed(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

// run reads the flags and does the command.
func (c command) run(ctx context.Context, h *host, args []string) error {
	fs, do := c.prepare(h)
	help := false
	fs = append(fs, flag{name: "help", short: 'h', help: "show this", set: yes(&help)})
	rest, err := fs.parse(args)
	switch {
	case help:
		return h.show(c.help(h))
	case err != nil:
		return err
	}
	return do(ctx, rest)
}

// help is the page of a command.
func (c command) help(h *host) string {
	var b strings.Builder
	line := strings.Join(strings.Fields("openagent "+c.name+" [flags] "+c.args), " ")
	if c.prepare == nil {
		return "Usage: openagent " + c.name + " " + c.args + "\n\n" + c.summary + "\n"
	}
	fmt.Fprintf(&b, "Usage: %s\n\n", line)
	if c.name == "" {
		b.WriteString("Runs an agent on a prompt: a conversation on a terminal; with -p, or without a terminal, one prompt.\nText on stdin is added to the prompt, or is it.\n\nCommands:\n")
		for _, c := range commands() {
			fmt.Fprintf(&b, "  %-12s%s\n", c.name, c.summary)
		}
		b.WriteString("\n")
	} else {
		b.WriteString(c.summary + "\n\n")
	}
	fs, _ := c.prepare(h)
	fs = append(fs, flag{name: "help", short: 'h', help: "show this"})
	b.WriteString("Flags:\n")
	fs.usage(&b)
	if c.name == "" {
		b.WriteString("\n" + exitHelp + "\n" + environmentHelp)
	}
	return b.String()
}

const environmentHelp = `Environment, the first that is set counts:
  key       OPENAGENT_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY
  model     OPENAGENT_MODEL, ANTHROPIC_MODEL or OPENAI_MODEL
  small     OPENAGENT_SMALL_MODEL, the model that digests web pages (default a cheap one of the provider)
  search    BRAVE_API_KEY, TAVILY_API_KEY, EXA_API_KEY or SEARXNG_URL, for the tool WebSearch
  base URL  OPENAGENT_BASE_URL, ANTHROPIC_BASE_URL (without /v1) or OPENAI_BASE_URL (with it)
  provider  OPENAGENT_PROVIDER
  home      OPENAGENT_HOME (default ~/.openagent); its settings.json, and that of the project, count after these: openagent config explain
  NO_COLOR  no colours
`

func helpCommand(h *host) (flags, action) {
	return nil, func(_ context.Context, args []string) error {
		switch len(args) {
		case 0:
			return h.show(root().help(h))
		case 1:
			c, ok := commandNamed(args[0])
			if !ok {
				return usagef("there is no command %q%s", clip(args[0]), likely(args[0], commandNames()))
			}
			return h.show(c.help(h))
		}
		return usagef("help takes the name of one command")
	}
}

func commandNames() []string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

// none refuses arguments where a command takes none.
func none(command string, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument %q; see openagent %s --help", command, clip(args[0]), command)
	}
	return nil
}

// show writes a page to stdout.
func (h *host) show(text string) error {
	_, err := io.WriteString(h.out, text)
	return writing(err)
}
