package sim

import (
	"context"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/faultdisk"
)

// Rival lets two processes with the same agent prompt a session at the same moment. One of them
// gets it, and the other is told that it is in use.
type Rival struct {
	Session    int
	Name       string // of the prompt of the other process
	Turns      []Turn
	Same       bool // both have the same prompt
	OtherFirst bool
	Leaves     bool // the first process closes the session before, so that none has it
}

func (o Rival) run(w *world) {
	h := w.session(o.Session)
	if o.Leaves {
		w.note("close", h.open.Close())
		w.await(h)
		h.open = nil
		w.showTools()
		h = w.session(o.Session)
	}
	program := w.fault.program
	r := &rival{handle: &handle{id: h.id, open: w.newAgent(w.life).Session(h.id)}, program: w.fault.program}
	w.fault.program = program // the one that operations kill
	w.elsewhere.Store(true)
	own := o.Name
	if !o.Same {
		own += "first"
	}
	both := []func(){func() { w.prompt(h, own) }, func() { w.prompt(r.handle, o.Name) }}
	if o.OtherFirst {
		both[0], both[1] = both[1], both[0]
	}
	both[0]()
	both[1]()
	w.meet("two prompts at once")
	w.rivals = append(w.rivals, r)
}

// prompt prompts a session, which another process may have.
func (w *world) prompt(h *handle, name string) {
	w.do(h, "prompt "+name, func(ctx context.Context, s *agent.Session) error {
		_, err := s.Do(ctx, agent.Input{ID: name, Text: prompts + name})
		return err
	})
}

// A rival is another process with a session.
type rival struct {
	*handle
	program *faultdisk.Program // nil: it needs none
}

// endRivals ends the other processes of a life.
func (w *world) endRivals() {
	for _, r := range w.rivals {
		if w.life.dead.Load() && r.program != nil {
			r.program.Kill()
		}
		err := r.open.Close()
		w.await(r.handle)
		if w.life.dead.Load() {
			continue
		}
		w.expect(err, "closing a session in another process", agent.ErrToolStuck)
		if p := r.program; p != nil && (p.Locks() > 0 || len(p.Files()) > 0) {
			w.wrong("released", "another process that has closed its session holds %d locks, and %q", p.Locks(), p.Files())
		}
	}
	w.rivals = nil
}

// calm waits until nobody tries to lock a session any more, as long as there are other processes.
// A Session has its mutex while it tries, and virtual time stands still for those who wait for one.
func (w *world) calm() {
	if len(w.rivals) > 0 {
		time.Sleep(200 * time.Millisecond)
	}
}

// ForkCrash forks a session, and the program dies while it does so.
type ForkCrash struct {
	Session int
	Back    int
	At      int // a change of files, or a write to a session
	How     string
}

func (o ForkCrash) run(w *world) {
	w.session(o.Session)
	if w.fault.disk != nil {
		DiskKill{o.At, o.How == "torn"}.run(w)
	} else {
		Kill{1 + o.At%3, o.How}.run(w)
	}
	Fork{o.Session, o.Back}.run(w)
	if w.life.dead.Load() {
		w.meet("crash in a fork")
	}
}
