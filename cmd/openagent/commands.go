package main

import (
	"context"
	"io"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// root is the tree of commands, in the order in which help shows them.
func root(h *host) cli.Command {
	c := promptCommand(h)
	c.Subcommands = []cli.Command{demoCommand(h), sessionsCommand(h), cronCommand(h), triggersCommand(h), toolsCommand(h), skillsCommand(h), agentsCommand(h),
		trustCommand(h), permissionsCommand(h), mcpCommand(h), modelsCommand(h), configCommand(h), doctorCommand(h), completionCommand(h), versionCommand(h)}
	c.Subcommands = append(c.Subcommands, helpCommand(h, c.Names()))
	return c
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

func helpCommand(h *host, names []string) cli.Command {
	return cli.Command{Name: "help", Args: "[COMMAND]", Choices: names, Summary: "Show the help of a command",
		Examples: []string{"openagent help mcp login"},
		Run: func(_ context.Context, args []string) error {
			call, err := root(h).Lookup(args...)
			if err != nil {
				return err
			}
			return h.show(call.Command.Page(call.Path))
		}}
}

func completionCommand(h *host) cli.Command {
	return cli.Command{Name: "completion", Args: cli.Choice(cli.Shells), Choices: cli.Shells, Summary: "Print a completion script for a shell",
		Details:  "Each script says in its first line how to load it.\n",
		Examples: []string{"openagent completion bash", "openagent completion powershell"},
		Run: func(_ context.Context, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("write openagent completion bash, zsh, fish or powershell")
			}
			script, err := cli.Completion(root(h), args[0])
			if err != nil {
				return err
			}
			return h.show(script)
		}}
}

// none refuses arguments where a command takes none.
func none(command string, args []string) error {
	if len(args) > 0 {
		return cli.Usagef("%s takes no argument %q; see openagent %s --help", command, cli.Clip(args[0]), command)
	}
	return nil
}

// show writes a page to stdout.
func (h *host) show(text string) error {
	_, err := io.WriteString(h.out, text)
	return writing(err)
}
