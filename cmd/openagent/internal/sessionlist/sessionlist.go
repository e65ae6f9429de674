// Package sessionlist offers past sessions in a picker of the terminal UI: it lists, shows, renames
// and deletes them.
//
//	l := &sessionlist.List{H: h, Here: store, Dir: dir, Tell: loop.Tell}
//	l.Offer(ctx)             // the picker
//	l.Do(ctx, action)        // what the person does in it
//	s, err := l.Chosen(ctx, value)
package sessionlist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session"
)

// Kind is the kind of the picker.
const Kind = "session"

// A List is the sessions that a picker offers. Fill in the fields that begin with a capital.
type List struct {
	H       *cli.IO
	Here    session.Store // of the working folder
	Dir     string        // the working folder
	Given   bool          // Here is of --session-dir: it has the sessions of all folders
	Current string        // the session that is open, which is left out
	Alone   bool          // there is no conversation
	Tell    func(any)     // gives an input to the UI

	work sync.Mutex // one change of the list at a time

	mu     sync.Mutex // guards what follows
	all    bool       // the sessions of all folders
	listed []listed
	stop   context.CancelFunc // ends the reading of details

	reading sync.WaitGroup
}

// A listed session is one of the list.
type listed struct {
	store session.Store
	info  session.Info
	more  *details // nil: not read yet
}

const maxListed = 500 // sessions that are offered

// value identifies a session in the picker: two stores may have one of the same id.
func (s listed) value() string { return s.info.Session + "\n" + s.info.Dir }

// Offer opens the picker. It reports false if there is no session to offer.
func (l *List) Offer(ctx context.Context) (bool, error) {
	c, some, err := l.First(ctx)
	if some {
		l.Tell(c)
		l.Details(ctx)
	}
	return some, err
}

// First returns what the picker shows at first. It reports false if there is no session to offer.
func (l *List) First(ctx context.Context) (ui.Choice, bool, error) {
	l.work.Lock()
	defer l.work.Unlock()
	if err := l.read(ctx); err != nil {
		return ui.Choice{}, false, err
	}
	c := l.choice("")
	return c, len(c.Items) > 0 || l.elsewhere(), nil
}

// elsewhere reports whether there may be sessions of other folders.
func (l *List) elsewhere() bool {
	if l.Given {
		return false
	}
	stores, err := sessionstore.Projects(l.H)
	return err == nil && len(stores) > 0
}

// read reads the list.
func (l *List) read(ctx context.Context) error {
	l.mu.Lock()
	all, before := l.all, map[string]*details{}
	for _, s := range l.listed {
		if s.more != nil && s.more.facts == s.info.Facts {
			before[s.value()] = s.more
		}
	}
	l.mu.Unlock()
	stores := []session.Store{l.Here}
	if all && !l.Given {
		var err error
		if stores, err = sessionstore.Projects(l.H); err != nil {
			return err
		}
	}
	var list []listed
	for _, store := range stores {
		infos, err := store.List(ctx)
		if err != nil && len(stores) == 1 {
			return err
		}
		for _, i := range infos { // a store that cannot be listed has none
			empty := i.Messages == 0 && i.Prompt == ""
			if i.Session == l.Current && i.Dir == l.Dir || empty || l.Given && !all && i.Dir != l.Dir {
				continue
			}
			list = append(list, listed{store: store, info: i})
		}
	}
	slices.SortStableFunc(list, func(a, b listed) int { return b.info.Updated.Compare(a.info.Updated) })
	list = list[:min(len(list), maxListed)]
	for i, s := range list {
		if d := before[s.value()]; d != nil && d.facts == s.info.Facts {
			list[i].more = d
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listed = list
	return nil
}

// choice is what the picker shows; warn says what went wrong.
func (l *List) choice(warn string) ui.Choice {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := ui.Choice{Kind: Kind, Title: "sessions", Scope: "this folder · ctrl+a all", Tools: true, Alone: l.Alone, Warn: warn}
	if l.all {
		c.Scope = "all folders · ctrl+a this one"
	}
	home := l.H.Getenv("HOME")
	now := time.Now()
	wide := 0 // letters of the longest number of prompts
	for _, s := range l.listed {
		if s.more != nil {
			wide = max(wide, len(cli.Plural(s.more.prompts, "prompt")))
		}
	}
	for _, s := range l.listed {
		where := terminal.Name(s.info.Branch)
		if l.all {
			if where = terminal.Name(s.info.Dir); home != "" && strings.HasPrefix(where, home+"/") {
				where = "~" + where[len(home):]
			}
			where = ending(where)
		}
		prompts, cost := "", ""
		if d := s.more; d != nil {
			prompts, cost = cli.Plural(d.prompts, "prompt"), money(d)
		}
		cells := []string{fmt.Sprintf("%-7s", s.state()), When(s.info.Updated, now), l.H.OneLine(where), fmt.Sprintf("%*s", max(wide, len("1 prompt")), prompts), fmt.Sprintf("%6s", cost)}
		c.Items = append(c.Items, ui.Item{Text: l.title(s.info), Cells: cells, Value: s.value()})
	}
	return c
}

// ending is the end of a long path, which tells folders apart.
func ending(path string) string {
	const most = 28
	if r := []rune(path); len(r) > most {
		return "…" + string(r[len(r)-most+1:])
	}
	return path
}

// title is what a session is called.
func (l *List) title(i session.Info) string {
	return terminal.Name(text.Runes(l.H.OneLine(cmp.Or(i.Title, i.Prompt, i.Session)), 200))
}

// Do carries out an action of the picker, and reports false for others. It may take a while.
func (l *List) Do(ctx context.Context, a ui.Action) bool {
	switch a := a.(type) {
	case ui.Unpicked:
		if a.Kind == Kind {
			l.Stop()
		}
		return a.Kind == Kind
	case ui.Examine:
		if a.Kind == Kind {
			l.examine(ctx, a.Value)
		}
		return a.Kind == Kind
	case ui.Widen:
		return a.Kind == Kind && l.change(ctx, func() error {
			l.mu.Lock()
			l.all = !l.all
			l.mu.Unlock()
			return nil
		})
	case ui.Rename:
		return a.Kind == Kind && l.change(ctx, func() error { return l.rename(ctx, a.Value, a.Name) })
	case ui.Erase:
		return a.Kind == Kind && l.change(ctx, func() error { return l.erase(ctx, a.Value) })
	}
	return false
}

// Close ends what is read in the background.
func (l *List) Close() {
	l.Stop()
	l.reading.Wait()
}

// Stop is Close, but does not wait.
func (l *List) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// change changes the list and shows it again.
func (l *List) change(ctx context.Context, do func() error) bool {
	l.work.Lock()
	defer l.work.Unlock()
	err := do()
	if failed := l.read(ctx); err == nil {
		err = failed
	}
	warn := ""
	if err != nil {
		warn = l.H.OneLine(err.Error())
	}
	l.Tell(ui.Renewed{Choice: l.choice(warn)})
	l.Details(ctx)
	return true
}

// find returns the session of a value.
func (l *List) find(value string) (listed, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.listed {
		if s.value() == value {
			return s, nil
		}
	}
	return listed{}, errors.New("this session is not in the list any more")
}

// told returns the person's version of an error about a session.
func told(err error) error {
	if errors.Is(err, session.ErrBusy) {
		return fmt.Errorf("this session is in use by %s; close it there first", cli.Holder(err))
	}
	return err
}

func (l *List) rename(ctx context.Context, value, name string) error {
	s, err := l.find(value)
	if err != nil {
		return err
	}
	return told(session.Rename(ctx, s.store, s.info.Session, strings.TrimSpace(text.OneLine(name))))
}

func (l *List) erase(ctx context.Context, value string) error {
	s, err := l.find(value)
	if err != nil {
		return err
	}
	if err := session.Delete(ctx, s.store, s.info.Session); err != nil {
		return told(err)
	}
	if err := app.DropCheckpoints(ctx, l.H, parts.CheckpointName(s.store, s.info.Session)); err != nil {
		return fmt.Errorf("the session is deleted, but not the kept files: %w; run openagent sessions prune", err)
	}
	return nil
}

// A Chosen is the session that the person goes to.
type Chosen struct{ ID, Dir string }

// Chosen returns the session of a value, if it can be opened.
func (l *List) Chosen(ctx context.Context, value string) (Chosen, error) {
	s, err := l.find(value)
	if err != nil {
		return Chosen{}, err
	}
	if _, err := session.Stat(ctx, s.store, s.info.Session); err != nil {
		return Chosen{}, err
	}
	log, err := s.store.Open(ctx, s.info.Session, s.info.Header)
	if err != nil {
		return Chosen{}, told(err)
	}
	return Chosen{s.info.Session, s.info.Dir}, log.Close()
}

// Again lets the person choose again, and says what went wrong.
func (l *List) Again(err error) { l.Tell(ui.Renewed{Choice: l.choice(l.H.OneLine(err.Error()))}) }

// When says when something was, as people do.
func When(at, now time.Time) string {
	at = at.In(now.Location())
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch d := now.Sub(at); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case !at.Before(today):
		return at.Format("15:04")
	case !at.Before(today.AddDate(0, 0, -1)):
		return "yesterday"
	case at.Year() == now.Year():
		return at.Format("2 Jan")
	}
	return at.Format("2 Jan 2006")
}
