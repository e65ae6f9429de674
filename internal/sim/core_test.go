package sim

import (
	"time"

	"github.com/openagent-go/agent"
)

// A Prompt prompts a session. The name is in the prompt's text, and the model answers by it.
type Prompt struct {
	Session int
	Name    string
	Turns   []Turn
}

func (o Prompt) run(w *world) {
	w.prompt(w.session(o.Session), o.Name)
}

// Await waits for the runs of a session.
type Await struct{ Session int }

func (o Await) run(w *world) { w.await(w.session(o.Session)) }

// Kill kills the program at one of its next writes.
type Kill struct {
	Writes int
	How    string // see death
}

func (o Kill) run(w *world) {
	w.life.death.how = o.How
	w.life.death.writes.Store(int64(o.Writes))
}

// Resume continues the run of a session, if there is one to continue. It answers open
// questions first.
type Resume struct {
	Session int
	Answer  bool // allow what is asked about
}

func (o Resume) run(w *world) {
	h := w.session(o.Session)
	if open, err := h.open.CanResume(w.life.ctx); !open || err != nil {
		return
	}
	w.answerAll(h, o.Answer)
	w.do(h, "resume", resume)
	w.meet("resume")
}

// Steer sends a message to a run.
type Steer struct {
	Session  int
	FollowUp bool // when the run would stop
}

func (o Steer) run(w *world) {
	h := w.session(o.Session)
	send := h.open.Steer
	if o.FollowUp {
		send = h.open.FollowUp
	}
	_, err := send(w.life.ctx, agent.Input{Text: "Please hurry."})
	w.note("steering", err)
}

// Interrupt stops a run.
type Interrupt struct{ Session int }

func (o Interrupt) run(w *world) {
	_, err := w.session(o.Session).open.Interrupt(w.life.ctx)
	w.note("interrupt", err)
}

// Fork continues a session's past in a new one.
type Fork struct {
	Session int
	Back    int // facts that the fork does not get
}

func (o Fork) run(w *world) {
	h := w.session(o.Session)
	if len(w.handles) >= 5 {
		return
	}
	through := int64(0)
	if o.Back > 0 {
		w.ledger.mu.Lock()
		through = max(1, int64(len(w.ledger.facts[h.id])-o.Back))
		w.ledger.mu.Unlock()
	}
	f, err := h.open.Fork(w.life.ctx, through)
	if err != nil && len(w.ledger.facts[h.id]) == 0 {
		return // it has no past
	}
	w.note("fork", err)
	if err == nil {
		w.handles = append(w.handles, &handle{id: f.ID, open: f, own: h.own, opened: time.Now()})
		w.showTools()
		w.forkCheckpoints(h.id, f.ID, through)
	}
}

// note notes that a feature took part, or checks its error.
func (w *world) note(feature string, err error) {
	time.Sleep(time.Microsecond) // after the run that it has ended
	if w.life.dead.Load() {
		return
	}
	w.trace("%s: %v", feature, shortened(err))
	w.expect(err, feature)
	if err == nil {
		w.meet(feature)
	}
}
