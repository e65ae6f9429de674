package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// sessionsOptions are the flags of the command sessions.
type sessionsOptions struct {
	answer      answerOptions
	format, dir string
	all         bool
	tag         string
	limit       int
	as, file    string
	olderThan   time.Duration
	chrome      bool
	context     bool
	cache       bool
	rewinding
}

func sessionsCommand(h *host) cli.Command {
	o := new(sessionsOptions)
	verb := func(flags cli.Flags, c cli.Command) cli.Command {
		c.Flags = func() cli.Flags { return append(o.commonFlags(), flags...) }
		return c
	}
	return cli.Command{Name: "sessions", Summary: "List, search, export, rewind, check and delete sessions", Default: "list", Subcommands: []cli.Command{
		verb(o.scopeFlags().Named("all", "tag"), cli.Command{Name: "list", Summary: "List the sessions, the latest first",
			Examples: []string{"openagent sessions list --all"},
			Run:      func(ctx context.Context, _ []string) error { return h.listSessions(ctx, o) }}),
		verb(o.showFlags(), cli.Command{Name: "show", Args: "ID", Least: 1, Most: 1, Summary: "Show the conversation of a session",
			Details:  "ID/AGENT_ID shows what a sub-agent of the session did.\n",
			Examples: []string{"openagent sessions show 01J9ZQ", "openagent sessions show 01J9ZQ --context"},
			Run:      func(ctx context.Context, args []string) error { return h.showOrMeasure(ctx, o, args[0]) }}),
		verb(nil, cli.Command{Name: "cost", Args: "ID", Least: 1, Most: 1, Summary: "Show the tokens and the cost of a session",
			Examples: []string{"openagent sessions cost 01J9ZQ"},
			Run:      func(ctx context.Context, args []string) error { return h.showSpending(ctx, o, args[0], "cost") }}),
		verb(o.scopeFlags().Named("all", "tag", "limit"), cli.Command{Name: "search", Args: "TEXT", Least: 1, Most: cli.Any, Summary: "Search the text of sessions",
			Examples: []string{"openagent sessions search 'retry budget' --all"},
			Run: func(ctx context.Context, args []string) error {
				return h.searchSessions(ctx, o, strings.Join(args, " "))
			}}),
		verb(nil, h.namingVerb(o, "rename", "ID [TITLE]", "Set or remove the title of a session", "openagent sessions rename 01J9ZQ 'Fix the parser'")),
		verb(nil, h.namingVerb(o, "tag", "ID [TAG]", "Set or remove the tag of a session", "openagent sessions tag 01J9ZQ release")),
		verb(o.exportFlags().Named("format", "output"), cli.Command{Name: "export", Args: "ID", Least: 1, Most: 1, Summary: "Export a session as Markdown, JSON or HTML",
			Examples: []string{"openagent sessions export 01J9ZQ --output talk.html"},
			Run:      func(ctx context.Context, args []string) error { return h.exportSession(ctx, o, args[0]) }}),
		verb(o.exportFlags().Named("output", "chrome"), cli.Command{Name: "trace", Args: "ID", Least: 1, Most: 1, Summary: "Write the spans of a session's runs",
			Examples: []string{"openagent sessions trace 01J9ZQ --chrome --output trace.json"},
			Run:      func(ctx context.Context, args []string) error { return h.traceSession(ctx, o, args[0]) }}),
		verb(append(cli.Flags{
			{Name: "to", Arg: "FACT|MESSAGE_ID|last", Help: "where to go back to: before a prompt, or after any other message or fact", Set: cli.Text(&o.to)}},
			o.rewinding.flags()...), cli.Command{Name: "rewind", Args: "ID", Least: 1, Most: 1, Summary: "Go back in a conversation, and bring files back",
			Details:  "Without --to it lists the prompts that you can go back to.\n",
			Examples: []string{"openagent sessions rewind 01J9ZQ", "openagent sessions rewind 01J9ZQ --to last --files"},
			Run:      func(ctx context.Context, args []string) error { return h.rewindSession(ctx, o, args[0]) }}),
		verb(nil, cli.Command{Name: "delete", Args: "ID…", Least: 1, Most: cli.Any, Summary: "Delete sessions",
			Examples: []string{"openagent sessions delete 01J9ZQ"},
			Run:      func(ctx context.Context, args []string) error { return h.deleteSessions(ctx, o, args) }}),
		verb(o.scopeFlags().Named("all"), cli.Command{Name: "verify", Args: "[ID…]", Most: cli.Any, Summary: "Check that sessions can be read",
			Examples: []string{"openagent sessions verify"},
			Run:      func(ctx context.Context, args []string) error { return h.verifySessions(ctx, o, args) }}),
		verb(nil, cli.Command{Name: "repair", Args: "ID…", Least: 1, Most: cli.Any, Summary: "Repair sessions that cannot be read",
			Examples: []string{"openagent sessions repair 01J9ZQ"},
			Run:      func(ctx context.Context, args []string) error { return h.repairSessions(ctx, o, args) }}),
		verb(nil, cli.Command{Name: "import", Args: "[PATH]", Most: 1, Summary: "Import sessions of the Swift SDK",
			Examples: []string{"openagent sessions import"},
			Run:      func(ctx context.Context, args []string) error { return h.importSessions(ctx, o, args) }}),
		verb(o.answer.flags(), cli.Command{Name: "answer", Args: "ID", Least: 1, Most: 1, Summary: "Show and answer the questions that a suspended run waits for",
			Examples: []string{"openagent sessions answer 01J9ZQ --allow", "openagent sessions answer 01J9ZQ --deny 'not on the main branch'"},
			Run:      func(ctx context.Context, args []string) error { return h.answerSession(ctx, o, args[0]) }}),
		verb(append(append(o.scopeFlags().Named("all", "tag"), o.rewinding.flags().Named("dry-run")...),
			cli.Flag{Name: "older-than", Arg: "AGE", Help: "delete sessions that did not change for so long, such as 90d (default: none, only checkpoints of files)", Set: age(&o.olderThan)}),
			cli.Command{Name: "prune", Summary: "Delete old sessions and checkpoints that nothing needs",
				Examples: []string{"openagent sessions prune --older-than 90d --dry-run"},
				Run:      func(ctx context.Context, _ []string) error { return h.pruneSessions(ctx, o) }}),
	}}
}

// namingVerb is a command that gives a session a title or a tag.
func (h *host) namingVerb(o *sessionsOptions, name, args, summary, example string) cli.Command {
	return cli.Command{Name: name, Args: args, Least: 1, Most: cli.Any, Summary: summary, Examples: []string{example},
		Run: func(ctx context.Context, args []string) error {
			return h.nameSession(ctx, o, name, args[0], strings.Join(args[1:], " "))
		}}
}

// commonFlags are the flags of every command about sessions.
func (o *sessionsOptions) commonFlags() cli.Flags {
	return append(listFlags(&o.format), cli.Flag{Name: "session-dir", Arg: "DIR", Path: true, Help: "folder of the sessions", Set: cli.Text(&o.dir)})
}

// scopeFlags say which sessions a command is about.
func (o *sessionsOptions) scopeFlags() cli.Flags {
	return cli.Flags{
		{Name: "all", Help: "the sessions of all folders", Set: cli.Yes(&o.all)},
		{Name: "tag", Arg: "TAG", Help: "only sessions with this tag", Set: cli.Text(&o.tag)},
		{Name: "limit", Arg: "N", Help: "how many places to show (default 100)", Set: cli.Count(&o.limit)},
	}
}

func (o *sessionsOptions) showFlags() cli.Flags {
	return cli.Flags{
		{Name: "context", Help: "show what fills the model's context, by category", Set: cli.Yes(&o.context)},
		{Name: "cache", Help: "show how well the provider's prompt cache worked, and what broke it", Set: cli.Yes(&o.cache)},
	}
}

// exportFlags are the flags of commands that write a file.
func (o *sessionsOptions) exportFlags() cli.Flags {
	exports := []string{asMarkdown, asJSON, asHTML}
	return cli.Flags{
		{Name: "format", Arg: cli.Choice(exports), Words: exports, Help: "format of the file (default by its name, else markdown)", Set: cli.OneOf(&o.as, exports)},
		{Name: "output", Short: 'o', Arg: "FILE", Path: true, Help: "file to write (default stdout)", Set: cli.Text(&o.file)},
		{Name: "chrome", Help: "write for the trace viewer of Chrome and ui.perfetto.dev, instead of a span a line of JSON", Set: cli.Yes(&o.chrome)},
	}
}

// showOrMeasure shows a session, or its use of the context or the cache.
func (h *host) showOrMeasure(ctx context.Context, o *sessionsOptions, id string) error {
	switch {
	case o.context && o.cache:
		return cli.Usagef("--context and --cache exclude each other")
	case o.context:
		return h.showSpending(ctx, o, id, "context")
	case o.cache:
		return h.showSpending(ctx, o, id, "cache")
	}
	return h.showSession(ctx, o, id)
}

// stores are the stores that the flags speak of: one, or those of all projects.
func (h *host) stores(o *sessionsOptions) ([]session.Dir, error) {
	if o.all && o.dir == "" {
		return h.projects()
	}
	project, err := workingDir()
	if err != nil {
		return nil, err
	}
	path, err := h.sessionsDir(o.dir, project)
	return []session.Dir{{Path: path}}, err
}

func (h *host) listSessions(ctx context.Context, o *sessionsOptions) error {
	stores, err := h.stores(o)
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
	if len(list) == 0 && o.format != formatJSON {
		h.complain("no sessions here yet; --all shows those of all folders")
	}
	var rows [][]string
	for _, s := range list {
		row := []string{s.Session, s.Updated.Local().Format(time.DateTime), strconv.FormatInt(s.Messages, 10), short(cmp.Or(s.Title, s.Prompt), 60)}
		if o.all {
			row = append(row, s.Dir)
		}
		rows = append(rows, row)
	}
	header := "SESSION UPDATED MESSAGES TITLE"
	if o.all {
		header += " FOLDER"
	}
	return h.list(o.format, list, header, rows)
}

// others reports whether a session is not one of those that the flags speak of.
func (o *sessionsOptions) others(info session.Info) bool { return o.tag != "" && info.Tag != o.tag }

// locate finds a session in the store that the flags name, else in any project.
func (h *host) locate(ctx context.Context, o *sessionsOptions, id string) (session.Dir, error) {
	stores, err := h.stores(&sessionsOptions{dir: o.dir})
	if err != nil {
		return session.Dir{}, err
	}
	if err := session.CheckID(id); err != nil {
		return session.Dir{}, cli.Usagef("%w", err)
	}
	_, err = stores[0].Stat(ctx, id)
	if !errors.Is(err, session.ErrNotFound) || o.dir != "" {
		return stores[0], notFound(id, err)
	}
	if _, store, ok := h.elsewhere(ctx, id); ok {
		return store, nil
	}
	return session.Dir{}, notFound(id, err)
}

func notFound(id string, err error) error {
	if errors.Is(err, session.ErrNotFound) {
		return cli.Usagef("there is no session %s; openagent sessions list --all shows them", id)
	}
	return err
}

// showSession shows a session. An id with others after slashes is that of an agent that
// worked for the session.
func (h *host) showSession(ctx context.Context, o *sessionsOptions, id string) error {
	id, rest, deeper := strings.Cut(id, "/")
	found, err := h.locate(ctx, o, id)
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
		if o.format == formatJSON {
			err = h.showFact(e)
		} else {
			err = h.showTurn(path, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// showFact writes a fact as a line of JSON, with the id that --resume-at takes.
func (h *host) showFact(e event.Event) error {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return err
	}
	line, err := encodeLine(struct {
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
	return h.show(string(line))
}

// showTurn writes what a fact adds to the conversation, for people.
func (h *host) showTurn(path string, e event.Event) error {
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
				fmt.Fprintf(&b, "\n* %s %s\n", terminal.Text(c.Name), short(h.oneLine(string(c.Input)), 160))
			}
		}
	case event.ToolResult:
		mark := "  "
		if d.Result.IsError {
			mark = "! "
		}
		fmt.Fprintf(&b, "%s%s\n", mark, short(h.oneLine(title(d)), 160))
	case event.Compacted:
		switch {
		case d.Failed != "":
			fmt.Fprintf(&b, "\n-- not compacted: %s\n", h.oneLine(d.Failed))
		case d.Until > 0:
			what := "this"
			if d.Cut {
				what = "this, which was cut off,"
			}
			fmt.Fprintf(&b, "\n-- compacted (%s): about %d tokens became %d; the model sees %s in place of what came before:\n%s\n", d.Trigger, d.Before, d.After, what, terminal.Text(d.Summary))
		case d.TooLarge != "":
			fmt.Fprintf(&b, "\n-- cut: %s\n", h.oneLine(d.TooLarge))
		default:
			cut := 0
			for _, c := range d.Cleared {
				if c.Keep > 0 {
					cut++
				}
			}
			fmt.Fprintf(&b, "\n-- compacted (%s): about %d tokens became %d, %s cleared", d.Trigger, d.Before, d.After, plural(len(d.Cleared)-cut, "old result"))
			if cut > 0 {
				fmt.Fprintf(&b, ", %s cut", plural(cut, "large part"))
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
		fmt.Fprintf(&b, "\n-- agent %s: %s, %s; sessions show %s/%s has what it did\n", h.oneLine(d.Agent), d.Reason, plural(d.Turns, "turn"), path, d.Session)
	case event.RunEnd:
		fmt.Fprintf(&b, "\n-- %s, %s, %s\n", d.Reason, plural(d.Turns, "turn"), money(d.CostUSD))
	}
	return h.show(b.String())
}

func (h *host) deleteSessions(ctx context.Context, o *sessionsOptions, ids []string) error {
	var gone []string
	var failed error
	for _, id := range ids {
		store, err := h.locate(ctx, o, id)
		if err == nil {
			err = h.told(ctx, id, store.Delete(ctx, id))
		}
		if failed = err; failed != nil {
			break
		}
		gone = append(gone, keptAs(store, id))
	}
	if err := h.dropKept(ctx, gone...); failed == nil && err != nil {
		failed = fmt.Errorf("the sessions are deleted, what was kept of their files is not: %w; openagent sessions prune tries again", err)
	}
	return failed
}

// title returns the line for people about a result.
func title(d event.ToolResult) string {
	if d.Result.Title != "" && !d.Result.IsError {
		return d.Result.Title
	}
	first, _, _ := strings.Cut(strings.TrimSpace(d.Result.Text()), "\n")
	return first
}

func money(usd *float64) string {
	if usd == nil {
		return "cost not known"
	}
	return fmt.Sprintf("$%.4f", *usd)
}
