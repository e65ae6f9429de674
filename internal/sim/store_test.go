package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// errDead is what a program gets from its disk after it was killed. Nobody sees it: what a
// dead program does counts for nothing.
var errDead = errors.New("the program is dead")

// A death says when and how a program is killed.
type death struct {
	writes atomic.Int64 // appends until it comes; 0: never
	how    string       // before: nothing of the last append is stored; after: all of it; torn: a part of it
}

// A mortal store kills its program at a write, and shows all facts to the world.
type mortal struct {
	session.Store
	life  *life
	under string // the ids of the sessions above, each with a slash
}

func (m mortal) Under(id string) session.Store {
	return mortal{session.Under(m.Store, id), m.life, m.under + id + "/"}
}

func (m mortal) Stat(ctx context.Context, id string) (session.Info, error) {
	return session.Stat(ctx, m.Store, id)
}

func (m mortal) Delete(ctx context.Context, id string) error {
	return session.Delete(ctx, m.Store, id)
}

func (m mortal) Wait(ctx context.Context, id string, after int64) error {
	return session.Wait(ctx, m.Store, id, after)
}

func (m mortal) Open(ctx context.Context, id string, h session.Header) (session.Log, error) {
	if m.life.dead.Load() {
		return nil, errDead
	}
	log, err := m.Store.Open(ctx, id, h)
	if err != nil {
		return nil, err
	}
	m.life.w.reopened(m.under+id, log.Last())
	m.life.w.durable(m.under + id) // opening a session syncs what the last program has left
	return &mortalLog{Log: log, life: m.life, path: m.under + id}, nil
}

// Create makes a session in one write.
func (m mortal) Create(ctx context.Context, h session.Header, facts []event.Event) error {
	if m.life.dead.Load() {
		return errDead
	}
	dies := m.life.dies()
	if dies && m.life.death.how == "before" {
		return errDead
	}
	err := session.Create(ctx, m.Store, h, facts)
	if err == nil {
		m.life.w.recorded(m.under+h.Session, facts, true)
		m.life.w.durable(m.under + h.Session)
	} else {
		m.life.w.unsure(m.under+h.Session, facts)
	}
	if dies {
		return errDead
	}
	return err
}

type mortalLog struct {
	session.Log
	life *life
	path string
}

func (l *mortalLog) Append(ctx context.Context, after int64, sync bool, es ...event.Event) error {
	if l.life.dead.Load() {
		return errDead
	}
	dies := l.life.dies()
	if dies {
		switch l.life.death.how {
		case "before":
			return errDead
		case "torn":
			es = es[:len(es)/2]
		}
		ctx = context.WithoutCancel(ctx)
	}
	if len(es) > 0 {
		if err := l.Log.Append(ctx, after, sync, es...); err != nil {
			l.life.w.unsure(l.path, es)
			return err
		}
		l.life.w.recorded(l.path, es, false)
		if sync {
			l.life.w.durable(l.path)
		}
	}
	if dies {
		return errDead
	}
	return nil
}

// dies counts a write, and reports whether the program is killed at it.
func (l *life) dies() bool {
	if l.death.writes.Load() > 0 && l.death.writes.Add(-1) == 0 {
		l.die("killed " + l.death.how + " a write")
		return true
	}
	return false
}

// A ledger holds the facts that stores have acknowledged, by the path of their session.
type ledger struct {
	mu    sync.Mutex
	facts map[string][]string // as JSON
}

// recorded notes facts that are stored, and checks them.
func (w *world) recorded(path string, es []event.Event, copied bool) {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	for _, e := range es {
		text, err := json.Marshal(e)
		if err != nil {
			w.wrong("journal", "fact %d of %s does not marshal: %v", e.Seq, path, err)
		}
		w.ledger.facts[path] = append(w.ledger.facts[path], string(text))
		w.steps.Add(1)
	}
	if copied {
		w.fault.copied(path, len(es))
	}
	w.checkFacts(path, es, copied)
	w.seesTree(path, es, copied)
	w.seesApart(path, es, copied)
}

// checkJournals reads all sessions back and compares them with what was acknowledged.
func (w *world) checkJournals() {
	store := w.disk()
	var read func(store session.Store, under string)
	read = func(store session.Store, under string) {
		list, err := store.List(context.Background())
		if err != nil {
			w.wrong("journal", "listing %s: %v", under, err)
		}
		for _, info := range list {
			path := under + info.Session
			known := w.ledger.facts[path]
			for _, e := range w.fault.tried[path] { // the disk has failed, and nobody has opened the session since
				text, _ := json.Marshal(e)
				known = append(slices.Clip(known), string(text))
			}
			n := 0
			for e, err := range store.Read(context.Background(), info.Session, 0) {
				if err != nil {
					w.wrong("journal", "reading %s: %v", path, err)
					break
				}
				text, err := json.Marshal(e)
				switch {
				case err != nil:
					w.wrong("journal", "fact %d of %s does not marshal: %v", e.Seq, path, err)
				case n >= len(known):
					w.wrong("journal", "%s holds fact %d, which was never written", path, e.Seq)
				case known[n] != string(text):
					w.wrong("journal", "fact %d of %s was written as %s and is read as %s", e.Seq, path, known[n], text)
				}
				n++
			}
			if acked := len(w.ledger.facts[path]); n < acked {
				w.wrong("journal", "%s holds %d facts, %d were acknowledged", path, n, acked)
			}
			w.found[path] = true
			read(session.Under(store, info.Session), path+"/")
		}
	}
	read(store, "")
	for path := range w.ledger.facts {
		root, _, _ := strings.Cut(path, "/") // a fork that was cut short has agents, and does not exist
		if _, whole := w.ledger.facts[root]; whole && !w.found[path] {
			w.wrong("journal", "session %s is gone", path)
		}
	}
}

// journal returns the facts of a session, one a line.
func (w *world) journals() string {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	out := ""
	for _, path := range sorted(w.ledger.facts) {
		out += fmt.Sprintln(path)
		for _, f := range w.ledger.facts[path] {
			out += f + "\n"
		}
	}
	return out
}
