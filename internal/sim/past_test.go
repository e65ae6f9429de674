package sim

import (
	"context"
	"time"

	"github.com/openagent-go/agent"
)

// Detach stops a run so that it can be resumed, and closes the session.
type Detach struct {
	Session int
	Within  time.Duration // how long tools may run on
}

func (o Detach) run(w *world) {
	h := w.session(o.Session)
	ctx, cancel := context.WithTimeout(w.life.ctx, o.Within)
	defer cancel()
	w.note("detach", h.open.Detach(ctx))
	w.await(h)
	h.open = nil
	w.showTools()
}

// Rewind lets a conversation continue from an earlier fact.
type Rewind struct {
	Session int
	Back    int // how many facts are taken back
}

func (o Rewind) run(w *world) {
	h := w.session(o.Session)
	w.ledger.mu.Lock()
	n := len(w.ledger.facts[h.id])
	w.ledger.mu.Unlock()
	if n == 0 {
		return
	}
	w.note("rewind", h.open.Rewind(w.life.ctx, int64(max(1, n-o.Back))))
}

// Compact asks for a compaction of the conversation.
type Compact struct{ Session int }

func (o Compact) run(w *world) {
	h := w.session(o.Session)
	w.do(h, "compact", func(ctx context.Context, s *agent.Session) error { return s.Compact(ctx, "Keep the names of prompts.") })
}

// Again prompts a session with a prompt that it may know already.
type Again struct {
	Session int
	Name    string
}

func (o Again) run(w *world) {
	w.meet("prompt again")
	Prompt{Session: o.Session, Name: o.Name}.run(w)
}

// Reopen closes a session, which ends its run.
type Reopen struct{ Session int }

func (o Reopen) run(w *world) {
	h := w.session(o.Session)
	w.note("close", h.open.Close())
	w.await(h)
	h.open = nil
	w.showTools()
}
