package main

import (
	"context"
	"slices"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/acp"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/agents"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/attach"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/auth"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/config"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/cron"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/doctor"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/eval"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/mcp"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/memory"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/models"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/permissions"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/record"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/serve"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/sessions"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/share"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/skills"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/tools"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/triggers"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/trust"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/worker"
	"github.com/openagent-go/agent/cmd/openagent/internal/demo"
)

// root returns the command tree. Help lists the commands in this order.
func root(h *cli.IO) cli.Command {
	c := promptCommand(h)
	c.Subcommands = []cli.Command{demo.Command(h), auth.Command(h), acp.Command(h, auth.Login), serve.Command(h), worker.Command(h), attach.Command(h), share.Command(h), sessions.Command(h), record.Command(h), eval.Command(h), cron.Command(h), triggers.Command(h), tools.Command(h), skills.Command(h), agents.Command(h), memory.Command(h),
		trust.Command(h), permissions.Command(h), mcp.Command(h), models.Command(h), config.Command(h), doctor.Command(h), completionCommand(h), versionCommand(h)}
	c.Subcommands = append(c.Subcommands, helpCommand(h, c.Names()))
	return c
}

const environmentHelp = `Environment variables (of several, the first that is set counts):
  key       OPENAGENT_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY; else the one that openagent auth login stored
  model     OPENAGENT_MODEL, ANTHROPIC_MODEL or OPENAI_MODEL
  small     OPENAGENT_SMALL_MODEL, the model that summarises web pages (default: a cheap model of the provider)
  search    BRAVE_API_KEY, TAVILY_API_KEY, EXA_API_KEY or SEARXNG_URL, for the tool WebSearch
  base URL  OPENAGENT_BASE_URL, ANTHROPIC_BASE_URL (without /v1) or OPENAI_BASE_URL (with it)
  provider  OPENAGENT_PROVIDER
  server    OPENAGENT_SERVE_TOKEN, the token for openagent attach
  home      OPENAGENT_HOME (default ~/.openagent); these variables override settings.json there and in the project: openagent config explain
  NO_COLOR  no colours
  plain     ACCESSIBLE, or CLAUDE_AX_SCREEN_READER: conversations in plain mode, for screen readers, as --plain shows them
`

// helpTopics are the pages that belong to no command.
var helpTopics = []string{"flags", "environment", "exit-codes"}

func helpCommand(h *cli.IO, names []string) cli.Command {
	return cli.Command{Name: "help", Args: "[COMMAND|TOPIC]", Choices: append(slices.Clip(names), helpTopics...), Summary: "Show the help of a command, or of a topic",
		Examples: []string{"openagent help mcp login", "openagent help flags"},
		Run: func(_ context.Context, args []string) error {
			if len(args) == 1 {
				switch args[0] {
				case "flags":
					return h.Show(h.Wrap(root(h).FlagsPage()))
				case "environment":
					return h.Show(h.Wrap(environmentHelp))
				case "exit-codes":
					return h.Show(h.Wrap(cli.ExitHelp))
				}
			}
			call, err := root(h).Lookup(args...)
			if err != nil {
				return err
			}
			return h.Show(h.Wrap(call.Command.Page(call.Path)))
		}}
}

func completionCommand(h *cli.IO) cli.Command {
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
			return h.Show(script)
		}}
}
