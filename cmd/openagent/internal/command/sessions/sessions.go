// Package sessions is the command "openagent sessions". It lists, shows, searches, repairs and rewinds sessions.
package sessions

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/rewind"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/session"
)

// sessionsOptions are the flags of the command sessions.
type sessionsOptions struct {
	answer     answerOptions
	replay     replayOptions
	place      settings.Place
	format     string
	All        bool
	tag, state string
	limit      int
	as, file   string
	olderThan  time.Duration
	chrome     bool
	html       bool
	context    bool
	cache      bool
	rewind.Options
}

// Command returns the command "openagent sessions".
func Command(h *cli.IO) cli.Command {
	o := new(sessionsOptions)
	verb := func(flags cli.Flags, c cli.Command) cli.Command {
		c.Flags = func() cli.Flags { return append(o.commonFlags(), flags...) }
		return c
	}
	return cli.Command{Name: "sessions", Summary: "List, search, export, rewind, check and delete sessions", Default: "list", Subcommands: []cli.Command{
		verb(append(o.scopeFlags().Named("all", "tag"), o.stateFlag()), cli.Command{Name: "list", Summary: "List the sessions, the latest first",
			Details:  "Questions that wait for a decision follow the list. Answer them with: openagent sessions answer ID\n",
			Examples: []string{"openagent sessions list --all", "openagent sessions list --state waiting"},
			Run:      func(ctx context.Context, _ []string) error { return listSessions(ctx, h, o) }}),
		verb(o.showFlags(), cli.Command{Name: "show", Args: "ID", MinArgs: 1, MaxArgs: 1, Summary: "Show the conversation of a session",
			Details:  "ID/AGENT_ID shows what a sub-agent of the session did.\n",
			Examples: []string{"openagent sessions show 01J9ZQ", "openagent sessions show 01J9ZQ --context"},
			Run:      func(ctx context.Context, args []string) error { return showOrMeasure(ctx, h, o, args[0]) }}),
		verb(nil, cli.Command{Name: "cost", Args: "ID", MinArgs: 1, MaxArgs: 1, Summary: "Show the tokens and the cost of a session",
			Examples: []string{"openagent sessions cost 01J9ZQ"},
			Run:      func(ctx context.Context, args []string) error { return showSpending(ctx, h, o, args[0], "cost") }}),
		verb(o.scopeFlags().Named("all", "tag", "limit"), cli.Command{Name: "search", Args: "TEXT", MinArgs: 1, MaxArgs: cli.AnyCount, Summary: "Search the text of sessions",
			Examples: []string{"openagent sessions search 'retry budget' --all"},
			Run: func(ctx context.Context, args []string) error {
				return searchSessions(ctx, h, o, strings.Join(args, " "))
			}}),
		verb(nil, namingVerb(h, o, "rename", "ID [TITLE]", "Set or remove the title of a session", "openagent sessions rename 01J9ZQ 'Fix the parser'")),
		verb(nil, namingVerb(h, o, "tag", "ID [TAG]", "Set or remove the tag of a session", "openagent sessions tag 01J9ZQ release")),
		verb(o.exportFlags().Named("format", "output"), cli.Command{Name: "export", Args: "ID", MinArgs: 1, MaxArgs: 1, Summary: "Export a session as Markdown, JSON or HTML, or for Claude's SDKs",
			Details: "With --format claude it writes files that the Claude Agent SDKs read, and prints the name of one.\n" +
				"They are below the folder --output (default: $CLAUDE_CONFIG_DIR, else ~/.claude).\n",
			Examples: []string{"openagent sessions export 01J9ZQ --output talk.html", "openagent sessions export 01J9ZQ --format claude"},
			Run:      func(ctx context.Context, args []string) error { return exportSession(ctx, h, o, args[0]) }}),
		verb(o.exportFlags().Named("output", "chrome", "html"), cli.Command{Name: "trace", Args: "ID", MinArgs: 1, MaxArgs: 1, Summary: "Write the spans of a session's runs",
			Examples: []string{"openagent sessions trace 01J9ZQ --html --output trace.html", "openagent sessions trace 01J9ZQ --chrome --output trace.json"},
			Run:      func(ctx context.Context, args []string) error { return traceSession(ctx, h, o, args[0]) }}),
		o.replayCommand(h),
		verb(append(cli.Flags{
			{Name: "to", Arg: "FACT|MESSAGE_ID|last", Help: "the point to go back to: before a prompt, or after any other message or fact", Set: cli.Text(&o.To)}},
			o.Options.Flags()...), cli.Command{Name: "rewind", Args: "ID", MinArgs: 1, MaxArgs: 1, Summary: "Go back in a conversation, and restore files",
			Details:  "Without --to it lists the prompts that you can go back to.\n",
			Examples: []string{"openagent sessions rewind 01J9ZQ", "openagent sessions rewind 01J9ZQ --to last --files"},
			Run:      func(ctx context.Context, args []string) error { return rewindSession(ctx, h, o, args[0]) }}),
		verb(nil, cli.Command{Name: "delete", Args: "ID…", MinArgs: 1, MaxArgs: cli.AnyCount, Summary: "Delete sessions",
			Examples: []string{"openagent sessions delete 01J9ZQ"},
			Run:      func(ctx context.Context, args []string) error { return deleteSessions(ctx, h, o, args) }}),
		verb(o.scopeFlags().Named("all"), cli.Command{Name: "verify", Args: "[ID…]", MaxArgs: cli.AnyCount, Summary: "Check that sessions can be read",
			Examples: []string{"openagent sessions verify"},
			Run:      func(ctx context.Context, args []string) error { return verifySessions(ctx, h, o, args) }}),
		verb(nil, cli.Command{Name: "repair", Args: "ID…", MinArgs: 1, MaxArgs: cli.AnyCount, Summary: "Repair sessions that cannot be read",
			Examples: []string{"openagent sessions repair 01J9ZQ"},
			Run:      func(ctx context.Context, args []string) error { return repairSessions(ctx, h, o, args) }}),
		verb(nil, cli.Command{Name: "import", Args: "[PATH]", MaxArgs: 1, Summary: "Import sessions of the Swift SDK",
			Examples: []string{"openagent sessions import"},
			Run:      func(ctx context.Context, args []string) error { return importSessions(ctx, h, o, args) }}),
		verb(o.answer.flags(), cli.Command{Name: "answer", Args: "ID", MinArgs: 1, MaxArgs: 1, Summary: "Show and answer the questions that a suspended run waits for",
			Examples: []string{"openagent sessions answer 01J9ZQ --allow", "openagent sessions answer 01J9ZQ --deny 'not on the main branch'"},
			Run:      func(ctx context.Context, args []string) error { return answerSession(ctx, h, o, args[0]) }}),
		verb(append(append(o.scopeFlags().Named("all", "tag"), o.Options.Flags().Named("dry-run")...),
			cli.Flag{Name: "older-than", Arg: "AGE", Help: "delete sessions unchanged for this long, such as 90d (default: delete only file checkpoints)", Set: age(&o.olderThan)}),
			cli.Command{Name: "prune", Summary: "Delete old sessions and unneeded checkpoints",
				Examples: []string{"openagent sessions prune --older-than 90d --dry-run"},
				Run:      func(ctx context.Context, _ []string) error { return pruneSessions(ctx, h, o) }}),
	}}
}

// namingVerb returns a command that sets a session's title or tag.
func namingVerb(h *cli.IO, o *sessionsOptions, name, args, summary, example string) cli.Command {
	return cli.Command{Name: name, Args: args, MinArgs: 1, MaxArgs: cli.AnyCount, Summary: summary, Examples: []string{example},
		Run: func(ctx context.Context, args []string) error {
			return nameSession(ctx, h, o, name, args[0], strings.Join(args[1:], " "))
		}}
}

// commonFlags are the flags of every command about sessions.
func (o *sessionsOptions) commonFlags() cli.Flags {
	return append(cli.ListFlags(&o.format), o.place.Flags()...)
}

// scopeFlags are the flags that select a command's sessions.
func (o *sessionsOptions) scopeFlags() cli.Flags {
	return cli.Flags{
		{Name: "all", Help: "sessions of all folders", Set: cli.SetTrue(&o.All)},
		{Name: "tag", Arg: "TAG", Help: "only sessions with this tag", Set: cli.Text(&o.tag)},
		{Name: "limit", Arg: "N", Help: "number of matches to show (default 100)", Set: cli.Count(&o.limit)},
	}
}

func (o *sessionsOptions) showFlags() cli.Flags {
	return cli.Flags{
		{Name: "context", Help: "show the model's context by category", Set: cli.SetTrue(&o.context)},
		{Name: "cache", Help: "show the use of the provider's prompt cache, and why it broke", Set: cli.SetTrue(&o.cache)},
	}
}

func (o *sessionsOptions) stateFlag() cli.Flag {
	states := []string{string(session.StateIdle), string(session.StateRunning), string(session.StateUnfinished), string(session.StateWaiting)}
	return cli.Flag{Name: "state", Arg: cli.Choice(states), Words: states, Help: "only sessions in this state", Set: cli.OneOf(&o.state, states)}
}

// exportFlags are the flags of the commands that write a file.
func (o *sessionsOptions) exportFlags() cli.Flags {
	exports := []string{asMarkdown, asJSON, asHTML, asClaude}
	return cli.Flags{
		{Name: "format", Arg: cli.Choice(exports), Words: exports, Help: "format of the file (default: from its name, else markdown)", Set: cli.OneOf(&o.as, exports)},
		{Name: "output", Short: 'o', Arg: "FILE", Path: true, Help: "file to write (default stdout)", Set: cli.Text(&o.file)},
		{Name: "chrome", Help: "write the format of Chrome's trace viewer and ui.perfetto.dev (default: one span per line, as JSON)", Set: cli.SetTrue(&o.chrome)},
		{Name: "html", Help: "write a page that shows each run as a waterfall, without scripts", Set: cli.SetTrue(&o.html)},
	}
}

// age returns the Set function of a flag that takes an age; d means days.
func age(to *time.Duration) func(string) error {
	return func(s string) error {
		const form = "write a number of days such as 90d, or hours such as 12h"
		if days, ok := strings.CutSuffix(s, "d"); ok {
			n, err := strconv.ParseUint(days, 10, 16)
			if err != nil || n == 0 {
				return fmt.Errorf("%q is not an age; %s", cli.Clip(s), form)
			}
			*to = time.Duration(n) * 24 * time.Hour
			return nil
		}
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return fmt.Errorf("%q is not an age; %s", cli.Clip(s), form)
		}
		*to = d
		return nil
	}
}
