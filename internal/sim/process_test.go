package sim

import (
	"context"

	"github.com/openagent-go/agent"
)

// OtherProcess lets another process with the same agent come to a session: it answers open
// questions and continues the run, unless the first process has the session, and ends.
type OtherProcess struct {
	Session int
	Answer  bool // allow what is asked about
}

func (o OtherProcess) run(w *world) {
	first := w.session(o.Session)
	program := w.fault.program
	w.elsewhere.Store(true)
	h := &handle{id: first.id, open: w.newAgent(w.life).Session(first.id)}
	other := w.fault.program
	w.fault.program = program // the one that operations kill
	ctx := w.life.ctx
	open, err := h.open.CanResume(ctx)
	w.expect(err, "asking another process whether a run can be resumed")
	if open && err == nil {
		w.answerAll(h, o.Answer)
		j := w.do(h, "resume in another process", func(ctx context.Context, s *agent.Session) error { return resume(ctx, s) })
		w.await(h)
		if j.err == nil && !w.life.dead.Load() {
			w.meet("other process")
		}
	}
	err = h.open.Close()
	if w.life.dead.Load() {
		return
	}
	w.expect(err, "closing a session in another process", agent.ErrToolStuck)
	if err == nil && w.fault.disk != nil && (other.Locks() > 0 || len(other.Files()) > 0) {
		w.wrong("released", "another process that has closed its session holds %d locks, and %q", other.Locks(), other.Files())
	}
}
