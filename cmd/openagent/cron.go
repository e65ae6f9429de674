package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // zones of jobs, where the system knows none

	"github.com/openagent-go/agent/cron"
	"github.com/openagent-go/agent/internal/terminal"
)

const cronWords = "list, add SCHEDULE PROMPT, remove ID…, enable ID…, disable ID…, next [SCHEDULE] or run"

// cronOptions are the flags of the command cron: its own, and those of a prompt,
// under which jobs run.
type cronOptions struct {
	options
	all, once          bool
	command            bool
	name, zone, missed string
}

// notForJobs are the flags of a prompt that make no sense for what no person waits
// for.
var notForJobs = []string{"print", "output-format", "input-format", "include-partial-messages", "permission-prompt-tool",
	"resume", "continue", "fork-session", "resume-at", "session-id", "file"}

// flagsOfJobs are the flags of a prompt under which jobs run.
func (o *options) flagsOfJobs() flags {
	return slices.DeleteFunc(o.flags(), func(f flag) bool { return slices.Contains(notForJobs, f.name) })
}

func cronCommand(h *host) (flags, action) {
	o := new(cronOptions)
	policies := []string{string(cron.Once), string(cron.Skip), string(cron.All)}
	fs := append(listFlags(&o.output),
		flag{name: "all", help: "the jobs of all folders; else those of this one", set: yes(&o.all)},
		flag{name: "once", help: "with run: run what is due and end, for the timers of a system", set: yes(&o.once)},
		flag{name: "name", arg: "NAME", help: "with add: what the job is called", set: text(&o.name)},
		flag{name: "command", help: "with add: it is a command line, not a prompt", set: yes(&o.command)},
		flag{name: "zone", arg: "ZONE", help: "with add and next: time zone such as Europe/Berlin (default that of the system)", set: text(&o.zone)},
		flag{name: "missed", arg: choice(policies), words: policies, help: "with add: what is done about times at which nothing ran (default once)", set: oneOf(&o.missed, policies)})
	fs = append(fs, o.flagsOfJobs()...)
	return fs, func(ctx context.Context, args []string) error {
		verb := "list"
		if len(args) > 0 {
			verb, args = args[0], args[1:]
		}
		if err := o.checkVerb(verb); err != nil {
			return err
		}
		if err := o.check(); err != nil {
			return err
		}
		switch {
		case verb == "list" && len(args) == 0:
			return h.cronList(ctx, o)
		case verb == "add" && len(args) == 2:
			return h.cronAdd(ctx, o, args[0], args[1])
		case verb == "remove" && len(args) > 0:
			return h.cronChange(ctx, o, args, "removed", cron.Remove)
		case (verb == "enable" || verb == "disable") && len(args) > 0:
			return h.cronChange(ctx, o, args, verb+"d", func(ctx context.Context, s cron.Store, id string) (cron.Job, error) {
				return cron.Enable(ctx, s, id, verb == "enable")
			})
		case verb == "next" && len(args) == 0:
			return h.cronNext(ctx, o)
		case verb == "next" && len(args) == 1:
			return h.cronTry(o, args[0])
		case verb == "run" && len(args) == 0:
			return h.cronRun(ctx, o)
		}
		return usagef("write openagent cron %s", cronWords)
	}
}

// checkVerb refuses flags that say nothing to a verb.
func (o *cronOptions) checkVerb(verb string) error {
	return goWith("cron", verb, []verbFlag{
		{o.once, "--once", []string{"run"}},
		{o.name != "", "--name", []string{"add"}},
		{o.command, "--command", []string{"add"}},
		{o.missed != "", "--missed", []string{"add"}},
		{o.zone != "", "--zone", []string{"add", "next"}},
		{o.all, "--all", []string{"list", "remove", "enable", "disable", "next", "run"}},
	})
}

// cronFile is the schedule of all folders.
func cronFile(home string) cron.File {
	return cron.File{Path: filepath.Join(home, "cron", "jobs.json")}
}

// crontab is the part of the schedule that the flags speak of, and the working
// folder.
func (h *host) crontab(o *cronOptions) (cron.Store, string, error) {
	home, err := h.home()
	if err != nil {
		return nil, "", err
	}
	file := cronFile(home)
	if o.all {
		return file, "", nil
	}
	dir, err := workingDir()
	return cron.In(file, dir), dir, err
}

// A cronEntry is a job as the command shows it.
type cronEntry struct {
	cron.Job
	Next  *time.Time `json:"next,omitempty"`
	Due   bool       `json:"due,omitempty"`   // a time has come that nothing has run at
	Error string     `json:"error,omitempty"` // why it cannot run
}

func cronEntries(jobs []cron.Job) []cronEntry {
	entries := make([]cronEntry, len(jobs))
	now := time.Now()
	for i, j := range jobs {
		entries[i].Job, entries[i].Due = j, j.Due(now)
		if next := j.Next(now); !next.IsZero() {
			entries[i].Next = &next
		}
		if err := j.Check(); err != nil {
			entries[i].Error = err.Error()
		}
	}
	return entries
}

// when says in a word or a time when a job runs next.
func (e cronEntry) when() string {
	switch {
	case e.Error != "":
		return "never: " + e.Error
	case e.Disabled:
		return "disabled"
	case e.Next == nil:
		return "never"
	}
	return e.Next.Format(time.RFC3339)
}

func (e cronEntry) what() string {
	switch {
	case e.Command != "":
		return "$ " + e.Command
	case e.Trigger != "":
		return "trigger " + e.Trigger
	}
	return e.Prompt
}

func (e cronEntry) times() string { return e.Schedule + strings.TrimRight(" "+e.Zone, " ") }

func (h *host) cronList(ctx context.Context, o *cronOptions) error {
	store, _, err := h.crontab(o)
	if err != nil {
		return err
	}
	jobs, err := store.Load(ctx)
	if err != nil {
		return cronError(err)
	}
	entries := cronEntries(jobs)
	if len(entries) == 0 && o.output != formatJSON {
		h.complain("no jobs here yet; openagent cron add SCHEDULE PROMPT makes one, --all shows those of all folders")
	}
	header := "ID NAME SCHEDULE NEXT LAST RUNS"
	if o.all {
		header += " FOLDER"
	}
	var rows [][]string
	for _, e := range entries {
		last := "-"
		if l, ok := e.Last(); ok {
			last = string(l.Status)
		}
		if e.Run != nil {
			last = "running"
		}
		row := []string{e.ID, short(e.Name, 40), e.times(), e.when(), last, short(e.what(), 60)}
		if o.all {
			row = append(row, e.Dir)
		}
		rows = append(rows, row)
	}
	return h.list(o.output, entries, header, rows)
}

func (h *host) cronAdd(ctx context.Context, o *cronOptions, schedule, words string) error {
	store, dir, err := h.crontab(o)
	if err != nil {
		return err
	}
	j := cron.Job{Name: cmp.Or(o.name, short(strings.Join(strings.Fields(terminal.Text(words)), " "), 40)), Schedule: schedule, Zone: o.zone,
		Missed: cron.Missed(o.missed), Dir: dir, Prompt: words}
	if o.command {
		j.Prompt, j.Command = "", words
	}
	if err := j.Check(); err != nil {
		return usagef("cron add: %w", err)
	}
	if j, err = cron.Add(ctx, store, j); err != nil {
		return cronError(err)
	}
	e := cronEntries([]cron.Job{j})[0]
	if o.output == formatJSON {
		return h.list(o.output, e, "", nil)
	}
	return h.show(fmt.Sprintf("%s runs next at %s, while openagent cron run, or an agent that runs the schedule, lives.\n", j.ID, e.when()))
}

// cronChange does something to each of the jobs that are named.
func (h *host) cronChange(ctx context.Context, o *cronOptions, ids []string, done string, change func(context.Context, cron.Store, string) (cron.Job, error)) error {
	store, _, err := h.crontab(o)
	if err != nil {
		return err
	}
	var changed []cron.Job
	var rows [][]string
	for _, id := range ids {
		j, err := change(ctx, store, id)
		if errors.Is(err, cron.ErrNotFound) {
			return usagef("there is no job %s here; openagent cron list --all shows those of all folders", clip(id))
		}
		if errors.Is(err, cron.ErrOfTrigger) {
			return usagef("%s: %w; openagent triggers remove removes both", clip(id), err)
		}
		if err != nil {
			return cronError(err)
		}
		changed = append(changed, j)
		rows = append(rows, []string{j.ID, done, short(j.Name, 40)})
	}
	return h.list(o.output, cronEntries(changed), "", rows)
}

// cronNext lists the jobs that will run, the next one first.
func (h *host) cronNext(ctx context.Context, o *cronOptions) error {
	store, _, err := h.crontab(o)
	if err != nil {
		return err
	}
	jobs, err := store.Load(ctx)
	if err != nil {
		return cronError(err)
	}
	entries, rows := upcoming(jobs)
	return h.list(o.output, entries, "NEXT NAME ID RUNS", rows)
}

func upcoming(jobs []cron.Job) ([]cronEntry, [][]string) {
	entries := slices.DeleteFunc(cronEntries(jobs), func(e cronEntry) bool { return e.Next == nil })
	slices.SortStableFunc(entries, func(a, b cronEntry) int { return a.Next.Compare(*b.Next) })
	var rows [][]string
	for _, e := range entries {
		when := e.when()
		if e.Due && e.Run == nil {
			when = "due"
		}
		rows = append(rows, []string{when, short(e.Name, 40), e.ID, short(e.what(), 60)})
	}
	return entries, rows
}

const ticksShown = 5

// cronTry shows when a schedule would run.
func (h *host) cronTry(o *cronOptions, schedule string) error {
	now := time.Now().Truncate(time.Second)
	s, err := cron.Parse(schedule, o.zone, now)
	if err != nil {
		return usagef("cron next: %w", err)
	}
	var ticks []time.Time
	var rows [][]string
	for t := s.Next(now); !t.IsZero() && len(ticks) < ticksShown; t = s.Next(t) {
		ticks = append(ticks, t)
		rows = append(rows, []string{t.Format(time.RFC3339)})
	}
	return h.list(o.output, ticks, "", rows)
}

// cronError is the error for a schedule that cannot be worked on.
func cronError(err error) error {
	var file *fs.PathError
	switch {
	case errors.Is(err, cron.ErrUnreadable):
		return usagef("%w", err)
	case errors.As(err, &file):
		return usagef("%w; set OPENAGENT_HOME to a folder that can be written", err)
	}
	return err
}
