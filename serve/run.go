package serve

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// hosted is a session that is open here.
type hosted struct {
	session atomic.Pointer[agent.Session] // nil: it is not open
	place   Place

	mu    sync.Mutex    // guards the fields below
	run   string        // id of the input that runs; "": none runs
	begun chan struct{} // closed when the run is on record
	done  chan struct{} // closed when that run is closed, also if it never began
	timer *time.Timer
	runs  sync.WaitGroup
}

func (h *hosted) get() *agent.Session { return h.session.Load() }

// open returns the session. It opens it first if it is not open here.
func (l *live) open(ctx context.Context, dir string) (*agent.Session, error) {
	l.opening.Lock()
	defer l.opening.Unlock()
	if open := l.hosted.get(); open != nil {
		return open, nil
	}
	s := l.server
	if s.Workers != nil {
		return nil, errWorkers
	}
	if err := s.reserve(); err != nil {
		return nil, err
	}
	at := Place{User: l.at.user, ID: l.at.id, Dir: dir}
	if dir == "" {
		if info, err := session.Stat(ctx, l.store, l.at.id); err == nil {
			at.Dir = info.Dir
		}
	}
	a, err := s.Agent(ctx, at)
	if err != nil {
		s.release()
		return nil, err
	}
	own := *a
	own.Sessions = l.store
	if own.CanUseTool == nil {
		own.CanUseTool = askUsers
	}
	if own.AskUser == nil {
		own.AskUser = func(ctx context.Context, _ tool.Call, _ []tool.Question) ([]tool.Answer, error) {
			<-ctx.Done() // an answer of the API ends it
			return nil, context.Cause(ctx)
		}
	}
	open := own.Session(l.at.id)
	if err := narrow(ctx, open, own.Permissions.Mode); err != nil {
		err = errors.Join(err, open.Close())
		if s.Closed != nil {
			s.Closed(at)
		}
		s.release()
		return nil, err
	}
	l.hosted.place = at
	l.hosted.session.Store(open)
	s.mu.Lock()
	l.uses++
	s.mu.Unlock()
	l.hosted.later(l)
	return open, nil
}

// narrow takes a session out of the mode that asks nothing, unless the agent has this mode itself. A
// person may have left the session in it at a terminal.
func narrow(ctx context.Context, open *agent.Session, mode permission.Mode) error {
	if mode == permission.Bypass {
		return nil
	}
	left, err := open.Mode(ctx)
	if err != nil || left != permission.Bypass {
		return err
	}
	return open.SetMode(ctx, cmp.Or(mode, permission.Default))
}

// askUsers leaves questions to the users of the API, whose answer ends ctx.
func askUsers(ctx context.Context, _ tool.Call, verdict permission.Decision) (permission.Decision, error) {
	if verdict.Behavior != permission.Asked {
		return permission.Decision{}, nil
	}
	<-ctx.Done()
	return permission.Decision{}, context.Cause(ctx)
}

// reserve counts an open session. If there are too many, it closes one that does nothing.
func (s *Server) reserve() error {
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return errClosed
		}
		if s.opened < s.limit() {
			s.opened++
			s.mu.Unlock()
			return nil
		}
		var all []*live
		for _, l := range s.lives {
			all = append(all, l)
		}
		s.mu.Unlock()
		if !closeOne(all) {
			return tooMany("sessions", time.Second, "too many sessions are open on this server", "wait for the end of a run")
		}
	}
}

// closeOne closes a session that does nothing, and reports whether there was one.
func closeOne(all []*live) bool {
	for _, l := range all {
		if l.opening.TryLock() {
			closed := l.closeIdle()
			l.opening.Unlock()
			if closed {
				return true
			}
		}
	}
	return false
}

func (s *Server) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened--
}

// later closes the session when it has done nothing for a while.
func (h *hosted) later(l *live) {
	if l.lent() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.run != "" {
		return
	}
	if h.timer != nil {
		h.timer.Stop()
	}
	h.timer = time.AfterFunc(linger, func() {
		l.opening.Lock()
		defer l.opening.Unlock()
		l.closeIdle()
	})
}

// closeIdle closes the session if nothing runs in it. It is called with opening.
func (l *live) closeIdle() bool {
	h := &l.hosted
	h.mu.Lock()
	busy := h.run != ""
	h.mu.Unlock()
	open := h.get()
	if open == nil || busy || l.lent() {
		return false
	}
	if err := open.Close(); err != nil {
		l.server.log().Error("closing a session failed", "session", l.at.id, "error", err)
	}
	l.closed()
	return true
}

// closed notes that the session is closed. It is called with opening.
func (l *live) closed() {
	h := &l.hosted
	h.mu.Lock()
	if h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
	h.mu.Unlock()
	h.session.Store(nil)
	if l.server.Closed != nil {
		l.server.Closed(h.place)
	}
	l.server.release()
	l.leave()
}

// detach closes the session so that its run can be continued.
func (l *live) detach(ctx context.Context) error {
	l.opening.Lock()
	defer l.opening.Unlock()
	open := l.hosted.get()
	if open == nil || l.lent() {
		return nil
	}
	err := open.Detach(ctx)
	l.hosted.runs.Wait()
	l.closed()
	return err
}

// begin starts a run and returns once it has begun. work returns at the end of the run. If it began
// nothing, began is false and err is the error of work.
func (l *live) begin(ctx context.Context, id, dir string, work func(context.Context, *agent.Session) error) (began bool, err error) {
	if l.lent() {
		return false, errLent
	}
	user := l.at.user
	if l.hosted.get() == nil {
		if err := l.server.mayRun(user); err != nil {
			return false, err
		}
	}
	open, err := l.open(ctx, dir)
	if err != nil {
		return false, err
	}
	if err := l.read(ctx); err != nil {
		return false, err
	}
	if err := l.ending(ctx); err != nil {
		return false, err
	}
	if err := l.server.takeRun(user); err != nil {
		return false, err
	}
	started := false
	defer func() {
		if !started {
			l.server.freeRun(user)
		}
	}()
	begun, err := l.claim(open, id)
	if err != nil {
		return false, err
	}
	before, err := l.lastFact(ctx) // no other run adds facts from here to unclaim
	if err != nil {
		l.unclaim()
		return false, err
	}
	ended, added := make(chan error, 1), false
	l.mu.Lock()
	l.begun = append(l.begun, beginning{before, begun})
	l.mu.Unlock()
	if started = l.server.spawn(func() {
		err := work(context.WithoutCancel(ctx), open)
		after, failed := l.lastFact(context.WithoutCancel(ctx))
		added = failed == nil && after > before
		l.server.freeRun(user)
		l.unclaim()
		l.ended(err)
		ended <- err
	}); !started {
		l.unclaim()
		return false, errClosed
	}
	select {
	case <-begun:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case err = <-ended:
	}
	if added {
		return true, nil // its events tell how it ended
	}
	if errors.Is(err, session.ErrBusy) { // it is open elsewhere
		l.opening.Lock()
		defer l.opening.Unlock()
		l.closeIdle()
	}
	return false, err
}

// errRuns is the error of claim if the run of the same input has begun meanwhile.
var errRuns = errors.New("the input runs already")

// claim notes that a run begins. The reader closes begun when it sees the first fact of the run.
func (l *live) claim(open *agent.Session, id string) (begun chan struct{}, err error) {
	h := &l.hosted
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.get() != open:
		return nil, &Error{http.StatusConflict, "session_busy", "the session was just closed", "send the request again"}
	case h.run == id:
		return nil, errRuns
	case h.run != "":
		return nil, session.ErrBusy
	}
	l.mu.Lock()
	l.over = false
	l.mu.Unlock()
	h.run, h.begun, h.done = id, make(chan struct{}), make(chan struct{})
	h.runs.Add(1)
	l.server.counts.runs.Add(1)
	return h.begun, nil
}

// unclaim notes the end of a run.
func (l *live) unclaim() {
	h := &l.hosted
	h.mu.Lock()
	h.run = ""
	close(h.done)
	h.mu.Unlock()
	h.later(l)
	h.runs.Done()
}

// ending waits for a run whose end is on record already until it is closed.
func (l *live) ending(ctx context.Context) error {
	l.mu.Lock()
	over := l.over
	l.mu.Unlock()
	l.hosted.mu.Lock()
	run, closed := l.hosted.run, l.hosted.done
	l.hosted.mu.Unlock()
	if !over || run == "" {
		return nil
	}
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lastFact returns the number of the last fact in the store.
func (l *live) lastFact(ctx context.Context) (int64, error) {
	latest, err := session.Last(ctx, l.store, l.at.id, 1, nil)
	if errors.Is(err, session.ErrNotFound) || err == nil && len(latest) == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return latest[0].Seq, nil
}

// ended logs the end of a run that did not complete.
func (l *live) ended(err error) {
	if err != nil && !errors.Is(err, agent.ErrDetached) && !errors.Is(err, agent.ErrInterrupted) {
		l.server.counts.failed.Add(1)
		l.server.log().Warn("a run did not complete", "session", l.at.id, "error", err)
	}
}

// running returns the session and the id of the input that runs in it here.
func (l *live) running() (*agent.Session, string) {
	l.hosted.mu.Lock()
	defer l.hosted.mu.Unlock()
	return l.hosted.get(), l.hosted.run
}

// prompt starts a run for an input. known: the session has had it before.
func (l *live) prompt(ctx context.Context, dir string, in agent.Input) (known bool, err error) {
	if l.server.Workers != nil {
		return l.promptWorker(ctx, dir, in)
	}
	for {
		if known, err := l.runs(ctx, in.ID); known || err != nil {
			return known, err
		}
		var recorded atomic.Bool // the input has a result
		began, err := l.begin(ctx, in.ID, dir, func(ctx context.Context, open *agent.Session) error {
			res, err := open.Do(ctx, in)
			recorded.Store(res != nil)
			return err
		})
		switch {
		case errors.Is(err, errRuns):
		case !began && recorded.Load():
			return true, nil
		default:
			return false, err
		}
	}
}

// runs reports whether the run of an input is on record and has no end yet. Another request may be
// beginning it at this moment: then runs waits, because that request can still fail.
func (l *live) runs(ctx context.Context, id string) (bool, error) {
	l.hosted.mu.Lock()
	run, begun, closed := l.hosted.run, l.hosted.begun, l.hosted.done
	l.hosted.mu.Unlock()
	if run != id {
		return false, nil
	}
	select {
	case <-begun:
		return true, nil
	case <-closed:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// resume continues a run.
func (l *live) resume(ctx context.Context, dir string) error {
	if w := l.server.Workers; w != nil {
		return w.Engine.Wake(ctx, l.at.id)
	}
	_, err := l.begin(ctx, session.NewID(), dir, func(ctx context.Context, open *agent.Session) error {
		for _, err := range open.Resume(ctx) {
			if err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// use returns the session for a change. It is opened if it is not open here.
func (l *live) use(ctx context.Context) (*agent.Session, error) {
	if _, err := session.Stat(ctx, l.store, l.at.id); err != nil && l.hosted.get() == nil {
		return nil, err
	}
	open, err := l.open(ctx, "")
	if err != nil {
		return nil, err
	}
	return open, l.read(ctx)
}
