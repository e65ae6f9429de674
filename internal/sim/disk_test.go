package sim

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/faultdisk"
	"github.com/openagent-go/agent/session"
)

// faulty is the disk of a program that loses what was not synced. The zero value is none.
type faulty struct {
	disk    *faultdisk.Disk
	program *faultdisk.Program // of the present life
	life    *life
	loss    bool // the power goes when the program is killed
	errors  diskErrors

	// By the path of a session. The ledger's mutex guards them.
	synced map[string]int           // how many of its facts no power loss may take
	begun  map[string]int           // how many were copied into it
	tried  map[string][]event.Event // that were to be written when the program died
}

// DiskKill kills the program at one of its next changes of files: before it, after it or in the
// middle of it. The power may go as well.
type DiskKill struct {
	Changes   int
	PowerLoss bool
}

func (o DiskKill) run(w *world) {
	if w.fault.disk == nil {
		return
	}
	w.fault.loss = o.PowerLoss
	w.fault.program.KillAt(o.Changes)
}

// new makes the disk.
func (f *faulty) new(w *world) session.Store {
	w.meet("fault")
	f.disk = faultdisk.New(w.Seed)
	f.disk.Name = "sim"
	f.disk.Ordered = true // else a person has to repair sessions
	f.errors.world = w
	f.disk.Ask = f.errors.ask
	f.synced, f.begun, f.tried = map[string]int{}, map[string]int{}, map[string][]event.Event{}
	return nil
}

// open starts a program on the disk.
func (f *faulty) open() session.Store {
	p := f.disk.Start()
	f.program = p
	p.OnKill(func() {
		if f.life != nil && f.program == p && !f.life.dead.Load() {
			f.life.die("killed at a change of files")
			f.life.w.meet("killed at a change of files")
		}
	})
	return session.Dir(p.Path("sessions"))
}

func (f *faulty) disarm() {
	if f.program != nil {
		f.program.KillAt(0)
	}
	f.errors.arm(DiskError{})
}

func (f *faulty) leave() {
	if f.disk != nil {
		f.life = nil
		f.disk.Leave()
	}
}

func (f *faulty) copied(path string, n int) {
	if f.disk != nil {
		f.begun[path] = n
	}
}

// durable notes that all facts of a session are on disk.
func (w *world) durable(path string) {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	if w.fault.disk != nil {
		w.fault.synced[path] = len(w.ledger.facts[path])
	}
}

// unsure notes facts that may have been stored when the program died, or the disk failed.
func (w *world) unsure(path string, es []event.Event) {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	if w.fault.disk != nil && w.fault.tried[path] == nil && (w.life.dead.Load() || w.fault.errors.since(time.Time{})) {
		w.fault.tried[path] = es
	}
}

// checkReleased checks that a program that has closed its sessions has nothing open.
func (w *world) checkReleased() {
	if w.fault.disk == nil || w.life.dead.Load() {
		return
	}
	if p := w.fault.program; p.Locks() > 0 || len(p.Files()) > 0 {
		w.wrong("released", "a program that has closed its sessions holds %d locks, and %q", p.Locks(), p.Files())
	}
}

// lookAgain looks what a dead program has left: all that was acknowledged, without a power loss
// also what was not synced, and perhaps what was about to be written.
func (w *world) lookAgain() {
	f := &w.fault
	if f.disk == nil {
		return
	}
	f.program.Kill() // it was killed in another way
	f.loss = f.loss && !f.errors.syncFailed
	loss := f.loss
	if f.loss = false; loss {
		w.meet("power loss")
		f.disk.PowerLoss()
	}
	left := map[string][]event.Event{}
	w.readAll(f.open(), "", left)
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	for _, p := range sorted(w.ledger.facts) {
		known := w.ledger.facts[p]
		promised := len(known)
		if loss {
			promised = f.synced[p]
		}
		root, _, nested := strings.Cut(p, "/")
		if _, whole := w.ledger.facts[root]; nested && !whole {
			continue // a fork that was cut short has agents, and does not exist
		}
		if n := len(left[p]); n < promised {
			w.wrong("journal", "%s has %d facts after a crash (power loss: %v), %d were promised", p, n, loss, promised)
		}
		if left[p] == nil {
			w.rebuild(p, nil)
		}
	}
	for _, p := range sorted(left) {
		es := left[p]
		if !strings.Contains(p, "/") && !slices.ContainsFunc(w.handles, func(h *handle) bool { return h.id == p }) {
			w.handles = append(w.handles, &handle{id: p}) // a fork whose maker has died
		}
		known := w.ledger.facts[p]
		for i, e := range es {
			text, err := json.Marshal(e)
			want := ""
			if i < len(known) {
				want = known[i]
			} else if i-len(known) < len(f.tried[p]) {
				tried, _ := json.Marshal(f.tried[p][i-len(known)])
				want = string(tried)
			}
			if err != nil || string(text) != want {
				w.wrong("journal", "fact %d of %s after a crash is %s, was %s", e.Seq, p, text, want)
			}
		}
		if len(es) != len(known) {
			w.rebuild(p, es)
		}
	}
	clear(f.tried)
}

// rebuild notes what a crash has left of a session. The ledger's mutex is held.
func (w *world) rebuild(p string, es []event.Event) {
	w.trace("a crash leaves %d facts of %s", len(es), path.Base(p))
	w.facts.seen = len(w.ledger.facts[p])
	defer func() { w.facts.seen = 0 }()
	delete(w.facts.of, p)
	delete(w.ledger.facts, p)
	begun := w.fault.begun[p]
	if begun == 0 && len(es) > 0 && len(w.fault.tried[p]) == len(es) && es[0].Seq == 1 && len(es) > 1 {
		begun = len(es) // it was made in one write
		w.fault.begun[p] = begun
	}
	for i, e := range es {
		text, _ := json.Marshal(e)
		w.ledger.facts[p] = append(w.ledger.facts[p], string(text))
		w.checkFacts(p, []event.Event{e}, i < begun)
	}
}

// readAll reads the facts of all sessions of a store.
func (w *world) readAll(store session.Store, under string, all map[string][]event.Event) {
	list, err := store.List(context.Background())
	if err != nil {
		w.wrong("journal", "listing %s: %v", under, err)
	}
	for _, info := range list {
		p := under + info.Session
		for e, err := range store.Read(context.Background(), info.Session, 0) {
			if err != nil && !errors.Is(err, session.ErrNotFound) {
				w.wrong("journal", "reading %s after a crash: %v", p, err)
			}
			if err != nil {
				break
			}
			all[p] = append(all[p], e)
		}
		w.readAll(session.Under(store, info.Session), p+"/", all)
	}
}
