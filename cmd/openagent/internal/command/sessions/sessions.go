// Package sessions is the command "openagent sessions". It lists, shows, searches, repairs and rewinds sessions.
package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/rewind"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// SessionsOptions are the flags of the command sessions.
type SessionsOptions struct {
	answer      answerOptions
	format, Dir string
	All         bool
	tag         string
	limit       int
	as, file    string
	olderThan   time.Duration
	chrome      bool
	context     bool
	cache       bool
	rewind.Options
}

// Command returns the command "openagent sessions".
func Command(h *cli.IO) cli.Command {
	o := new(SessionsOptions)
	verb := func(flags cli.Flags, c cli.Command) cli.Command {
		c.Flags = func() cli.Flags { return append(o.commonFlags(), flags...) }
		return c
	}
	return cli.Command{Name: "sessions", Summary: "List, search, export, rewind, check and delete sessions", Default: "list", Subcommands: []cli.Command{
		verb(o.scopeFlags().Named("all", "tag"), cli.Command{Name: "list", Summary: "List the sessions, the latest first",
			Examples: []string{"openagent sessions list --all"},
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
		verb(o.exportFlags().Named("format", "output"), cli.Command{Name: "export", Args: "ID", MinArgs: 1, MaxArgs: 1, Summary: "Export a session as Markdown, JSON or HTML",
			Examples: []string{"openagent sessions export 01J9ZQ --output talk.html"},
			Run:      func(ctx context.Context, args []string) error { return exportSession(ctx, h, o, args[0]) }}),
		verb(o.exportFlags().Named("output", "chrome"), cli.Command{Name: "trace", Args: "ID", MinArgs: 1, MaxArgs: 1, Summary: "Write the spans of a session's runs",
			Examples: []string{"openagent sessions trace 01J9ZQ --chrome --output trace.json"},
			Run:      func(ctx context.Context, args []string) error { return traceSession(ctx, h, o, args[0]) }}),
		verb(append(cli.Flags{
			{Name: "to", Arg: "FACT|MESSAGE_ID|last", Help: "where to go back to: before a prompt, or after any other message or fact", Set: cli.Text(&o.To)}},
			o.Options.Flags()...), cli.Command{Name: "rewind", Args: "ID", MinArgs: 1, MaxArgs: 1, Summary: "Go back in a conversation, and bring files back",
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
			cli.Flag{Name: "older-than", Arg: "AGE", Help: "delete sessions that did not change for so long, such as 90d (default: none, only checkpoints of files)", Set: age(&o.olderThan)}),
			cli.Command{Name: "prune", Summary: "Delete old sessions and checkpoints that nothing needs",
				Examples: []string{"openagent sessions prune --older-than 90d --dry-run"},
				Run:      func(ctx context.Context, _ []string) error { return pruneSessions(ctx, h, o) }}),
	}}
}

// namingVerb is a command that gives a session a title or a tag.
func namingVerb(h *cli.IO, o *SessionsOptions, name, args, summary, example string) cli.Command {
	return cli.Command{Name: name, Args: args, MinArgs: 1, MaxArgs: cli.AnyCount, Summary: summary, Examples: []string{example},
		Run: func(ctx context.Context, args []string) error {
			return nameSession(ctx, h, o, name, args[0], strings.Join(args[1:], " "))
		}}
}

// commonFlags are the flags of every command about sessions.
func (o *SessionsOptions) commonFlags() cli.Flags {
	return append(cli.ListFlags(&o.format), cli.Flag{Name: "session-dir", Arg: "DIR", Path: true, Help: "folder that holds the sessions", Set: cli.Text(&o.Dir)})
}

// scopeFlags say which sessions a command is about.
func (o *SessionsOptions) scopeFlags() cli.Flags {
	return cli.Flags{
		{Name: "all", Help: "the sessions of all folders", Set: cli.SetTrue(&o.All)},
		{Name: "tag", Arg: "TAG", Help: "only sessions with this tag", Set: cli.Text(&o.tag)},
		{Name: "limit", Arg: "N", Help: "how many places to show (default 100)", Set: cli.Count(&o.limit)},
	}
}

func (o *SessionsOptions) showFlags() cli.Flags {
	return cli.Flags{
		{Name: "context", Help: "show the model's context by category", Set: cli.SetTrue(&o.context)},
		{Name: "cache", Help: "show the use of the provider's prompt cache, and why it broke", Set: cli.SetTrue(&o.cache)},
	}
}

// exportFlags are the flags of commands that write a file.
func (o *SessionsOptions) exportFlags() cli.Flags {
	exports := []string{asMarkdown, asJSON, asHTML}
	return cli.Flags{
		{Name: "format", Arg: cli.Choice(exports), Words: exports, Help: "format of the file (default by its name, else markdown)", Set: cli.OneOf(&o.as, exports)},
		{Name: "output", Short: 'o', Arg: "FILE", Path: true, Help: "file to write (default stdout)", Set: cli.Text(&o.file)},
		{Name: "chrome", Help: "write for the trace viewer of Chrome and ui.perfetto.dev, instead of a span a line of JSON", Set: cli.SetTrue(&o.chrome)},
	}
}

// showOrMeasure shows a session, or its use of the context or the cache.
func showOrMeasure(ctx context.Context, h *cli.IO, o *SessionsOptions, id string) error {
	switch {
	case o.context && o.cache:
		return cli.Usagef("--context and --cache exclude each other")
	case o.context:
		return showSpending(ctx, h, o, id, "context")
	case o.cache:
		return showSpending(ctx, h, o, id, "cache")
	}
	return showSession(ctx, h, o, id)
}

func listSessions(ctx context.Context, h *cli.IO, o *SessionsOptions) error {
	stores, err := sessionstore.Stores(h, o.Dir, o.All)
	if err != nil {
		return err
	}
	list := []session.Info{}
	for _, s := range stores {
		infos, err := s.List(ctx)
		if err != nil {
			return err
		}
		list = append(list, slices.DeleteFunc(infos, o.others)...)
	}
	slices.SortFunc(list, func(a, b session.Info) int { return b.Updated.Compare(a.Updated) })
	if len(list) == 0 && o.format != cli.FormatJSON {
		h.Warn("no sessions here yet; --all shows those of all folders")
	}
	var rows [][]string
	for _, s := range list {
		row := []string{s.Session, s.Updated.Local().Format(time.DateTime), strconv.FormatInt(s.Messages, 10), text.Runes(cmp.Or(s.Title, s.Prompt), 60)}
		if o.All {
			row = append(row, s.Dir)
		}
		rows = append(rows, row)
	}
	header := "SESSION UPDATED MESSAGES TITLE"
	if o.All {
		header += " FOLDER"
	}
	return h.WriteList(o.format, list, header, rows)
}

// others reports whether a session is not one of those that the flags speak of.
func (o *SessionsOptions) others(info session.Info) bool { return o.tag != "" && info.Tag != o.tag }

// showSession shows a session. An id with others after slashes is that of an agent that
// worked for the session.
func showSession(ctx context.Context, h *cli.IO, o *SessionsOptions, id string) error {
	id, rest, deeper := strings.Cut(id, "/")
	found, err := sessionstore.Locate(ctx, h, o.Dir, id)
	if err != nil {
		return err
	}
	path, store := id, session.Store(found)
	for deeper {
		store = session.Under(store, id)
		id, rest, deeper = strings.Cut(rest, "/")
		if _, err := session.Stat(ctx, store, id); err != nil {
			return cli.Usagef("sessions show: no agent %s worked for %s: %v", cli.Clip(id), path, err)
		}
		path += "/" + id
	}
	for e, err := range store.Read(ctx, id, 0) {
		if err != nil {
			return err
		}
		if o.format == cli.FormatJSON {
			err = showFact(h, e)
		} else {
			err = showTurn(h, path, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// showFact writes a fact as a line of JSON, with the id that --resume-at takes.
func showFact(h *cli.IO, e event.Event) error {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return err
	}
	line, err := cli.EncodeLine(struct {
		UUID    string          `json:"uuid"`
		Session string          `json:"session_id"`
		Seq     int64           `json:"seq"`
		Time    time.Time       `json:"time"`
		Type    string          `json:"type"`
		Data    json.RawMessage `json:"data"`
	}{e.UUID(), e.Session, e.Seq, e.Time, event.Type(e.Data), data})
	if err != nil {
		return err
	}
	return h.Show(string(line))
}

// showTurn writes what a fact adds to the conversation, for people.
func showTurn(h *cli.IO, path string, e event.Event) error {
	var b strings.Builder
	switch d := e.Data.(type) {
	case event.UserMessage:
		fmt.Fprintf(&b, "\n> %s\n", terminal.Text(d.Message.Text()))
	case event.AssistantMessage:
		for _, c := range d.Response.Message.Content {
			switch c := c.(type) {
			case llm.Text:
				fmt.Fprintf(&b, "\n%s\n", terminal.Text(c.Text))
			case llm.ToolUse:
				fmt.Fprintf(&b, "\n* %s %s\n", terminal.Text(c.Name), text.Runes(h.OneLine(string(c.Input)), 160))
			}
		}
	case event.ToolResult:
		mark := "  "
		if d.Result.IsError {
			mark = "! "
		}
		fmt.Fprintf(&b, "%s%s\n", mark, text.Runes(h.OneLine(app.ResultTitle(d)), 160))
	case event.Compacted:
		switch {
		case d.Failed != "":
			fmt.Fprintf(&b, "\n-- not compacted: %s\n", h.OneLine(d.Failed))
		case d.Until > 0:
			what := "this"
			if d.Cut {
				what = "this, which was cut off,"
			}
			fmt.Fprintf(&b, "\n-- compacted (%s): about %d tokens became %d; the model sees %s in place of what came before:\n%s\n", d.Trigger, d.Before, d.After, what, terminal.Text(d.Summary))
		case d.TooLarge != "":
			fmt.Fprintf(&b, "\n-- cut: %s\n", h.OneLine(d.TooLarge))
		default:
			cut := 0
			for _, c := range d.Cleared {
				if c.Keep > 0 {
					cut++
				}
			}
			fmt.Fprintf(&b, "\n-- compacted (%s): about %d tokens became %d, %s cleared", d.Trigger, d.Before, d.After, cli.Plural(len(d.Cleared)-cut, "old result"))
			if cut > 0 {
				fmt.Fprintf(&b, ", %s cut", cli.Plural(cut, "large part"))
			}
			b.WriteString("\n")
		}
	case event.Rewound:
		fmt.Fprintf(&b, "\n-- rewound to fact %d: what is between no longer counts\n", e.Prev)
	case event.Checkpointed:
		if d.Key == "" {
			fmt.Fprintf(&b, "\n-- files were rewound: rewind --to %d --files undoes it\n", e.Seq-1)
		}
	case event.AgentEnd:
		fmt.Fprintf(&b, "\n-- agent %s: %s, %s; sessions show %s/%s has what it did\n", h.OneLine(d.Agent), d.Reason, cli.Plural(d.Turns, "turn"), path, d.Session)
	case event.RunEnd:
		fmt.Fprintf(&b, "\n-- %s, %s, %s\n", d.Reason, cli.Plural(d.Turns, "turn"), app.CostText(d.CostUSD))
	}
	return h.Show(b.String())
}

func deleteSessions(ctx context.Context, h *cli.IO, o *SessionsOptions, ids []string) error {
	var gone []string
	var failed error
	for _, id := range ids {
		store, err := sessionstore.Locate(ctx, h, o.Dir, id)
		if err == nil {
			err = told(ctx, h, id, store.Delete(ctx, id))
		}
		if failed = err; failed != nil {
			break
		}
		gone = append(gone, app.CheckpointName(store, id))
	}
	if err := app.DropCheckpoints(ctx, h, gone...); failed == nil && err != nil {
		failed = fmt.Errorf("the sessions are deleted, what was kept of their files is not: %w; openagent sessions prune tries again", err)
	}
	return failed
}
