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

const sessionsWords = "list, show ID, cost ID, search TEXT, rename ID [TITLE], tag ID [TAG], export ID, trace ID, rewind ID, delete ID…, verify [ID…], repair ID…, import [PATH], answer ID or prune"

func sessionsCommand(h *host) (flags, action) {
	o := new(sessionsOptions)
	exports := []string{asMarkdown, asJSON, asHTML}
	fs := append(listFlags(&o.format),
		flag{name: "session-dir", arg: "DIR", path: true, help: "folder of the sessions", set: text(&o.dir)},
		flag{name: "all", help: "with list, search, verify and prune: the sessions of all folders", set: yes(&o.all)},
		flag{name: "tag", arg: "TAG", help: "with list, search and prune: the sessions with this tag", set: text(&o.tag)},
		flag{name: "limit", arg: "N", help: "with search: places to show (default 100)", set: count(&o.limit)},
		flag{name: "format", arg: choice(exports), words: exports, help: "with export: what is written (default by the file's name, else markdown)", set: oneOf(&o.as, exports)},
		flag{name: "output", short: 'o', arg: "FILE", path: true, help: "with export and trace: where to (default stdout)", set: text(&o.file)},
		flag{name: "chrome", help: "with trace: for the trace viewer of Chrome and ui.perfetto.dev, instead of a span a line of JSON", set: yes(&o.chrome)},
		flag{name: "older-than", arg: "AGE", help: "with prune: delete sessions that did not change for so long, such as 90d (default: none, checkpoints of files alone)", set: age(&o.olderThan)},
		flag{name: "context", help: "with show: what fills the model's context, by category", set: yes(&o.context)},
		flag{name: "cache", help: "with show: how the provider's prompt cache did, and what broke it", set: yes(&o.cache)},
		flag{name: "to", arg: "FACT|MESSAGE_ID|last", help: "with rewind: where to go back to: before a prompt, or after any other message or fact", set: text(&o.to)})
	fs = append(fs, o.rewinding.flags()...)
	fs = append(fs, o.answer.flags()...)
	return fs, func(ctx context.Context, args []string) error {
		verb := "list"
		if len(args) > 0 {
			verb, args = args[0], args[1:]
		}
		if err := o.checkVerb(verb); err != nil {
			return err
		}
		switch n := len(args); {
		case verb == "list" && n == 0:
			return h.listSessions(ctx, o)
		case verb == "show" && n == 1 && o.context && !o.cache:
			return h.showSpending(ctx, o, args[0], "context")
		case verb == "show" && n == 1 && o.cache && !o.context:
			return h.showSpending(ctx, o, args[0], "cache")
		case verb == "show" && o.context && o.cache:
			return usagef("--context and --cache exclude each other")
		case verb == "cost" && n == 1:
			return h.showSpending(ctx, o, args[0], "cost")
		case verb == "show" && n == 1:
			return h.showSession(ctx, o, args[0])
		case verb == "search" && n > 0:
			return h.searchSessions(ctx, o, strings.Join(args, " "))
		case (verb == "rename" || verb == "tag") && n > 0:
			return h.nameSession(ctx, o, verb, args[0], strings.Join(args[1:], " "))
		case verb == "export" && n == 1:
			return h.exportSession(ctx, o, args[0])
		case verb == "trace" && n == 1:
			return h.traceSession(ctx, o, args[0])
		case verb == "rewind" && n == 1:
			return h.rewindSession(ctx, o, args[0])
		case verb == "delete" && n > 0:
			return h.deleteSessions(ctx, o, args)
		case verb == "verify":
			return h.verifySessions(ctx, o, args)
		case verb == "repair" && n > 0:
			return h.repairSessions(ctx, o, args)
		case verb == "import" && n <= 1:
			return h.importSessions(ctx, o, args)
		case verb == "answer" && n == 1:
			return h.answerSession(ctx, o, args[0])
		case verb == "prune" && n == 0:
			return h.pruneSessions(ctx, o)
		}
		return usagef("write openagent sessions %s", sessionsWords)
	}
}

// checkVerb refuses flags that say nothing to a verb.
func (o *sessionsOptions) checkVerb(verb string) error {
	for _, c := range []struct {
		given bool
		flag  string
		verbs []string
	}{
		{o.all, "--all", []string{"list", "search", "verify", "prune"}},
		{o.tag != "", "--tag", []string{"list", "search", "prune"}},
		{o.limit != 0, "--limit", []string{"search"}},
		{o.as != "", "--format", []string{"export"}},
		{o.file != "", "--output", []string{"export", "trace"}},
		{o.chrome, "--chrome", []string{"trace"}},
		{o.olderThan != 0, "--older-than", []string{"prune"}},
		{o.to != "", "--to", []string{"rewind"}},
		{o.context, "--context", []string{"show"}},
		{o.cache, "--cache", []string{"show"}},
		{o.files, "--files", []string{"rewind"}},
		{o.conversation, "--conversation", []string{"rewind"}},
		{o.both, "--both", []string{"rewind"}},
		{o.diff, "--diff", []string{"rewind"}},
		{o.answer.given(), "--allow, --deny, --call or --input", []string{"answer"}},
		{o.dry, "--dry-run", []string{"prune", "rewind"}},
	} {
		if c.given && !slices.Contains(c.verbs, verb) {
			return usagef("%s goes with openagent sessions %s", c.flag, strings.Join(c.verbs, ", "))
		}
	}
	return nil
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
		return session.Dir{}, usagef("%w", err)
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
		return usagef("there is no session %s; openagent sessions list --all shows them", id)
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
			return usagef("sessions show: no agent %s worked for %s: %v", clip(id), path, err)
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
