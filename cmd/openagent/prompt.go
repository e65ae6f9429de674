package main

import (
	"context"
	"slices"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/oneshot"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/cmd/openagent/internal/streamjson"
	"github.com/openagent-go/agent/internal/text"
)

// promptCommand is the unnamed command, which runs a prompt.
func promptCommand(h *cli.IO) cli.Command {
	o, version := new(settings.Options), false
	flags := func() cli.Flags {
		return append(o.Flags(), cli.Flag{Name: "version", Short: 'v', Help: "print the version and exit", Set: cli.SetTrue(&version)})
	}
	return cli.Command{Name: "openagent", Args: "[prompt]", Summary: "Run an agent on a prompt",
		Details: `On a terminal it starts a conversation. With -p, or without a terminal, it runs one prompt.
Text on stdin is added to the prompt, or replaces a missing one.
`,
		Examples: []string{"openagent", "openagent -p 'Why does the build fail?'", "git diff | openagent -p 'Review this change'"},
		Footer:   "More: openagent COMMAND --help, openagent help flags, help environment, help exit-codes\n",
		Common:   []string{"print", "model", "max-budget-usd", "permission-mode", "resume", "continue"}, Flags: flags,
		CheckWords: func(words []string) error {
			if o.Print {
				return nil
			}
			return mistyped(h, words)
		},
		Run: func(ctx context.Context, args []string) error {
			if version {
				return showNumber(h)
			}
			return prompt(ctx, h, o, args)
		}}
}

// reserved are words that a later version may have as commands. A script that sends one as a prompt
// would change its meaning then.
var reserved = map[string]string{
	"export": "the command is openagent sessions export ID",
}

// mistyped refuses words if the first is reserved or resembles a command: a typo should not cost
// money.
func mistyped(h *cli.IO, args []string) error {
	if len(args) == 0 || strings.ContainsAny(args[0], " \t\n") {
		return nil
	}
	as := "To use it as a prompt, add -p"
	if len(args) > 1 {
		as = "Put quotes around a prompt"
	}
	if instead, ok := reserved[args[0]]; ok {
		return cli.Usagef("%s. %s, or write openagent -- %s", instead, as, text.QuoteShell(cli.Clip(strings.Join(args, " "))))
	}
	name := text.Nearest(args[0], root(h).Names())
	switch name {
	case "":
		return nil
	case args[0]:
		return cli.Usagef("the command %s comes before all flags: openagent %[1]s. %s", name, as)
	}
	return cli.Usagef("there is no command %q; did you mean openagent %s? %s", cli.Clip(args[0]), name, as)
}

// prompt runs the program when no command is given.
func prompt(ctx context.Context, h *cli.IO, o *settings.Options, args []string) error {
	talk := converses(h, o, len(args) > 0) // Check fills in formats
	if err := o.Check(); err != nil {
		return err
	}
	if o.Claude() { // hosts pass values of flags that take none
		args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "" })
	}
	if _, err := cli.PromptArg(args); err != nil {
		return err
	}
	if talk {
		return converse(ctx, h, o, args)
	}
	if o.Live {
		return cli.Usagef("--live shows a conversation on a terminal; leave out --print and the formats, or use openagent serve")
	}
	if o.Pick {
		return cli.Usagef("without an ID, --resume lets you choose a session on a terminal only; add the ID of one, openagent sessions list shows them")
	}
	var d *streamjson.Session
	var ask app.AskFunc
	if o.Input == cli.FormatStream {
		d = streamjson.New(h)
		if o.PromptTool == settings.AskByStdio {
			ask = d.AskUser
		}
	}
	s, err := open(ctx, h, o, ask, d, len(args) == 0 && len(o.Files) == 0)
	if err != nil {
		return err
	}
	defer func() {
		if err := s.Close(); err != nil {
			h.Warn("%v", err)
		}
	}()
	blocks, err := s.AttachFiles(o.Files)
	if err != nil {
		return abandon(ctx, d, err)
	}
	if o.Input == cli.FormatStream {
		return d.Serve(ctx, s, args, blocks)
	}
	text, err := cli.PromptText(ctx, h, args, s.Existing || len(blocks) > 0)
	if err != nil {
		return err
	}
	said := text
	if len(args) == 1 {
		said, _ = cli.PromptArg(args)
	}
	in, err := app.ExpandPart(ctx, h, s, agent.Input{Text: text, Blocks: blocks}, said)
	if err != nil {
		return cli.StartError(ctx, cli.Usagef("%w", err))
	}
	return oneshot.Run(ctx, h, s, in)
}

// open opens the app. With wait, the first message of a host comes before: d reads it.
func open(ctx context.Context, h *cli.IO, o *settings.Options, ask app.AskFunc, d *streamjson.Session, wait bool) (*app.App, error) {
	var host *app.Host
	var err error
	if d != nil && wait {
		if host, err = d.Prepare(ctx, o); err != nil {
			return nil, d.Abandon(ctx, err)
		}
	}
	s, err := app.Open(ctx, h, o, ask, host)
	return s, abandon(ctx, d, err)
}

// abandon ends the output of a session that does not start; err is the reason.
func abandon(ctx context.Context, d *streamjson.Session, err error) error {
	if d == nil || err == nil {
		return err
	}
	return d.Abandon(ctx, err)
}
