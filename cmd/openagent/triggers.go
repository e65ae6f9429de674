package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/openagent-go/agent/cron"
	"github.com/openagent-go/agent/trigger"
)

const triggerWords = "list, add NAME PROMPT, secret ID, remove ID… or serve"

// triggerOptions are the flags of the command triggers: its own, and those of a
// prompt, under which triggers run.
type triggerOptions struct {
	options
	all, show, set bool
	url, schedule  string
	addr           string
	hosts          []string
	grace          time.Duration
}

func triggersCommand(h *host) (flags, action) {
	o := &triggerOptions{addr: defaultAddress, grace: defaultGrace}
	addr := ""
	fs := append(listFlags(&o.output),
		flag{name: "all", help: "with list: the triggers of all folders; else those of this one", set: yes(&o.all)},
		flag{name: "url", arg: "URL", help: "with add: it is a trigger of others at this address, and the prompt is sent to it", set: text(&o.url)},
		flag{name: "schedule", arg: "SCHEDULE", help: "with add: also start it at these times, as openagent cron does", set: text(&o.schedule)},
		flag{name: "show", help: "with secret: show it even if stdout is no terminal", set: yes(&o.show)},
		flag{name: "set", help: "with secret: take the secret of the other side from stdin instead", set: yes(&o.set)},
		flag{name: "addr", arg: "HOST:PORT", help: "with serve: where requests are answered (default " + defaultAddress + ")", set: text(&addr)},
		flag{name: "host", arg: "HOST,HOST", help: "with serve: the hosts in the URLs of requests that come through a proxy or to a name, with the port unless it is the usual one (default the address itself)", set: list(&o.hosts)},
		flag{name: "grace", arg: "DURATION", help: "with serve: how long runs may go on after a signal before they are ended (default 10s)", set: duration(&o.grace)})
	fs = append(fs, o.flagsOfJobs()...)
	return fs, func(ctx context.Context, args []string) error {
		verb := "list"
		if len(args) > 0 {
			verb, args = args[0], args[1:]
		}
		err := goWith("triggers", verb, []verbFlag{
			{o.all, "--all", []string{"list"}},
			{o.url != "", "--url", []string{"add"}},
			{o.schedule != "", "--schedule", []string{"add"}},
			{o.show, "--show", []string{"secret"}},
			{o.set, "--set", []string{"secret"}},
			{addr != "", "--addr", []string{"serve"}},
			{o.hosts != nil, "--host", []string{"serve"}},
			{o.grace != defaultGrace, "--grace", []string{"serve"}},
		})
		if err == nil {
			err = o.check()
		}
		if err != nil {
			return err
		}
		if addr != "" {
			o.addr = addr
		}
		switch {
		case verb == "list" && len(args) == 0:
			return h.triggersList(ctx, o)
		case verb == "add" && len(args) == 2:
			return h.triggersAdd(ctx, o, args[0], args[1])
		case verb == "secret" && len(args) == 1:
			return h.triggersSecret(ctx, o, args[0])
		case verb == "remove" && len(args) > 0:
			return h.triggersRemove(ctx, o, args)
		case verb == "serve" && len(args) == 0:
			return h.triggersServe(ctx, o)
		}
		return usagef("write openagent triggers %s", triggerWords)
	}
}

// triggerFile has the triggers of all folders.
func triggerFile(home string) *trigger.File {
	return &trigger.File{Path: filepath.Join(home, "triggers.json")}
}

// A triggerPlace is where the triggers of the working folder are.
type triggerPlace struct {
	home, dir string
	file      *trigger.File
	store     trigger.Store // those of the folder
	jobs      cron.Store    // with their schedules
}

func (h *host) triggerPlace() (triggerPlace, error) {
	home, err := h.home()
	if err != nil {
		return triggerPlace{}, err
	}
	dir, err := workingDir()
	file := triggerFile(home)
	return triggerPlace{home, dir, file, trigger.In(file, dir), cron.In(cronFile(home), dir)}, err
}

// scheduleTrigger makes a trigger's schedule a job, or has it no longer.
func scheduleTrigger(ctx context.Context, jobs cron.Store, dir string, t trigger.Trigger) error {
	_, err := cron.Put(ctx, jobs, cron.Job{Name: t.Name, Schedule: t.Schedule, Trigger: t.ID, Dir: dir, Disabled: !t.Enabled})
	return err
}

// A triggerEntry is a trigger as the command shows it.
type triggerEntry struct {
	trigger.Trigger
	Last *triggerOutcome `json:"last,omitempty"` // of a run that a request, or a conversation, started
}

// by says in a word or two what starts a trigger.
func (e triggerEntry) by() string {
	by := "requests"
	switch {
	case !e.Enabled:
		return "off"
	case e.URL != "":
		by = "us, at " + e.URL
	}
	if e.Schedule != "" {
		by += ", " + e.Schedule
	}
	return by
}

func (h *host) triggersList(ctx context.Context, o *triggerOptions) error {
	place, err := h.triggerPlace()
	if err != nil {
		return err
	}
	store := place.store
	if o.all {
		store = place.file
	}
	records, err := store.List(ctx)
	if err != nil {
		return triggerError(err)
	}
	last, err := lastOutcomes(place.home)
	if err != nil {
		return err
	}
	if len(records) == 0 && o.output != formatJSON {
		h.complain("no triggers here yet; openagent triggers add NAME PROMPT makes one, --all shows those of all folders")
	}
	header := "ID NAME STARTED-BY LAST PROMPT"
	if o.all {
		header += " FOLDER"
	}
	entries := []triggerEntry{}
	var rows [][]string
	for _, r := range records {
		e := triggerEntry{Trigger: r.Trigger}
		was := "-"
		if l, ok := last[r.ID]; ok {
			e.Last, was = &l, string(l.Status)
		}
		entries = append(entries, e)
		row := []string{e.ID, short(e.Name, 40), short(e.by(), 60), was, short(e.Prompt, 60)}
		if o.all {
			row = append(row, e.Dir)
		}
		rows = append(rows, row)
	}
	return h.list(o.output, entries, header, rows)
}

func (h *host) triggersAdd(ctx context.Context, o *triggerOptions, name, prompt string) error {
	place, err := h.triggerPlace()
	if err != nil {
		return err
	}
	r := trigger.Record{Secrets: []trigger.Secret{trigger.NewSecret()}, Trigger: trigger.Trigger{ID: trigger.NewID(), Name: name, Prompt: prompt,
		URL: o.url, Schedule: o.schedule, Dir: place.dir, Enabled: true, Created: time.Now().UTC().Truncate(time.Second)}}
	if err := r.Check(); err != nil {
		return usagef("triggers add: %w", err)
	}
	if strings.TrimSpace(prompt) == "" && r.URL == "" {
		return usagef("triggers add: the prompt is empty")
	}
	if r.Schedule != "" {
		if err := scheduleTrigger(ctx, place.jobs, place.dir, r.Trigger); err != nil {
			return usagef("triggers add: --schedule: %w", err)
		}
	}
	if err := place.store.Update(ctx, r.ID, func(*trigger.Record) (*trigger.Record, error) { return &r, nil }); err != nil {
		r.Schedule = ""
		return errors.Join(triggerError(err), scheduleTrigger(ctx, place.jobs, place.dir, r.Trigger))
	}
	if o.output == formatJSON {
		return h.list(o.output, triggerEntry{Trigger: r.Trigger}, "", nil)
	}
	says := r.ID + " is started by signed POST requests to /triggers/" + r.ID + " while openagent triggers serve lives in this folder.\nopenagent triggers secret " + r.ID + " shows the secret that they are signed with.\n"
	if r.URL != "" {
		says = r.ID + " is run by the tool RemoteTrigger.\nIts secret has to be that of the other side: openagent triggers secret --set " + r.ID + "\n"
	}
	if r.Schedule != "" {
		says += "Its schedule runs while openagent cron run, or a conversation in this folder, lives.\n"
	}
	return h.show(says)
}

// triggersSecret shows the secret of a trigger to a person, or takes another one.
func (h *host) triggersSecret(ctx context.Context, o *triggerOptions, id string) error {
	place, err := h.triggerPlace()
	if err != nil {
		return err
	}
	if o.set {
		return h.takeSecret(ctx, place, id)
	}
	if !o.show && !h.outTerminal {
		return usagef("a secret is shown on a terminal only; --show shows it all the same")
	}
	r, err := place.store.Get(ctx, id)
	if err != nil {
		return noTrigger(id, err)
	}
	return h.show(string(r.Secrets[0]) + "\n")
}

func (h *host) takeSecret(ctx context.Context, place triggerPlace, id string) error {
	if _, err := place.store.Get(ctx, id); err != nil {
		return noTrigger(id, err)
	}
	text, err := h.readStdin(ctx, false)
	if err != nil {
		return err
	}
	secret := trigger.Secret(strings.TrimSpace(text))
	err = place.store.Update(ctx, id, func(r *trigger.Record) (*trigger.Record, error) {
		if r == nil {
			return nil, trigger.ErrUnknown
		}
		r.Secrets = []trigger.Secret{secret}
		if err := r.Check(); err != nil {
			return nil, usagef("triggers secret --set: %w", err)
		}
		return r, nil
	})
	if err != nil {
		return noTrigger(id, err)
	}
	return nil
}

func (h *host) triggersRemove(ctx context.Context, o *triggerOptions, ids []string) error {
	place, err := h.triggerPlace()
	if err != nil {
		return err
	}
	removed := []triggerEntry{}
	var rows [][]string
	for _, id := range ids {
		r, err := place.store.Get(ctx, id)
		if err != nil {
			return noTrigger(id, err)
		}
		t := r.Trigger
		t.Schedule = ""
		if err := scheduleTrigger(ctx, place.jobs, place.dir, t); err != nil {
			return cronError(err)
		}
		if err := place.store.Update(ctx, id, func(*trigger.Record) (*trigger.Record, error) { return nil, nil }); err != nil {
			return noTrigger(id, err)
		}
		removed = append(removed, triggerEntry{Trigger: r.Trigger})
		rows = append(rows, []string{id, "removed", short(r.Name, 40)})
	}
	return h.list(o.output, removed, "", rows)
}

// noTrigger is the error for a trigger that is not there, or cannot be read.
func noTrigger(id string, err error) error {
	if errors.Is(err, trigger.ErrUnknown) {
		return usagef("there is no trigger %s here; openagent triggers list --all shows those of all folders", clip(id))
	}
	return triggerError(err)
}

// triggerError is the error for triggers that cannot be worked on.
func triggerError(err error) error {
	var file *fs.PathError
	if errors.As(err, &file) {
		return usagef("%w; set OPENAGENT_HOME to a folder that can be written", err)
	}
	return err
}
