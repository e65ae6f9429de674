package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/eventqueue"
	"github.com/openagent-go/agent/internal/eventtable"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/watchers"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// pause is the least time between two frames with pieces of an answer.
const pause = 33 * time.Millisecond

// A live is a session that somebody watches, or that is open here. One goroutine reads its events
// and hands them to all viewers. It is there while it has users, see [Server.live].
type live struct {
	server *Server
	at     place
	store  session.Store

	uses int // requests and goroutines that use it; guarded by the server's mutex

	opening sync.Mutex // held while the session is opened, closed or read from its end
	hosted  hosted     // the session, if it is open here; see run.go
	folded  folded     // what pages show of it; see pages.go

	mu       sync.Mutex // guards the fields below
	viewers  map[*viewer]bool
	stop     context.CancelFunc // ends the reader; nil: there is none
	lostFor  string             // why the reader ended by itself
	last     int64              // number of the last fact that the reader has seen
	inflight inflight
	over     bool   // the end of the run here is on record
	state    string // that the list of sessions was told last
	batch    []event.Event
	timer    *time.Timer // flushes batch; nil: it is empty
	flushed  time.Time
	begun    []beginning
	decided  map[string]string
}

// A beginning is one that waits until the reader has seen a fact of its run.
type beginning struct {
	after int64         // the last fact before the run
	seen  chan struct{} // closed then
}

// live returns the live of a session, for a caller who calls leave later.
func (s *Server) live(at place) *live {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lives == nil {
		s.lives = map[place]*live{}
	}
	l := s.lives[at]
	if l == nil {
		l = &live{server: s, at: at, store: s.store(at.user), viewers: map[*viewer]bool{}, decided: map[string]string{}}
		if s.Session != nil && s.Session.ID == at.id {
			l.hosted.session.Store(s.Session)
		}
		s.lives[at] = l
	}
	l.uses++
	return l
}

// leave gives up the use of a live. The last one to leave ends its reader.
func (l *live) leave() {
	s := l.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.uses--; l.uses > 0 {
		return
	}
	delete(s.lives, l.at)
	l.halt()
}

// visible reports whether users may see facts of a type.
func visible(typ string) bool {
	d, ok := eventtable.Zero[typ].(event.Data)
	return ok && isShown(event.Event{Data: d})
}

// isShown reports whether users see an event. Of the agent's bookkeeping they see who answered a
// question, and what became of messages that waited: those who watch have no other way to learn it.
func isShown(e event.Event) bool {
	switch e.Data.(type) {
	case fact.Answered, fact.Delivered, fact.Stopped:
		return true
	}
	return !e.IsBookkeeping()
}

// read starts the reader from the end of the session, unless there is one.
func (l *live) read(ctx context.Context) error {
	l.opening.Lock()
	defer l.opening.Unlock()
	l.mu.Lock()
	there := l.stop != nil
	l.mu.Unlock()
	if there {
		return nil
	}
	last := int64(0)
	latest, err := session.Last(ctx, l.store, l.at.id, 1, nil)
	switch {
	case errors.Is(err, session.ErrNotFound) && l.hosted.get() != nil: // it has no facts yet
	case err != nil:
		return err
	case len(latest) > 0:
		last = latest[0].Seq
	}
	info, err := session.Stat(ctx, l.store, l.at.id)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return err
	}
	var questions []event.Event
	if info.State == session.StateWaiting {
		if questions, err = l.recorded(ctx); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.inflight = last, inflight{running: info.State == session.StateRunning || info.State == session.StateWaiting, questions: questions}
	l.state = string(info.State)
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	joined := make(chan struct{})
	if !l.server.spawn(func() { l.follow(watchers.WithJoined(reading, func() { close(joined) }), last) }) {
		stop()
		l.stop = nil
		return errClosed
	}
	<-joined // a signal before that, such as a question, would be lost
	return nil
}

// recorded returns the open questions that are on record, as signals.
func (l *live) recorded(ctx context.Context) ([]event.Event, error) {
	waiting, err := session.Waiting(ctx, l.store, l.at.id)
	if err != nil {
		return nil, err
	}
	var questions []event.Event
	for _, w := range waiting {
		call := tool.Call{ID: w.Call, Name: w.Tool, Input: w.Input}
		var d event.Data = event.PermissionRequest{Call: call, Reason: w.Text, Expires: w.Expires}
		if len(w.Questions) > 0 {
			d = event.UserQuestion{Call: call, Questions: w.Questions}
		}
		questions = append(questions, event.Event{Session: l.at.id, Time: w.Since, Data: d})
	}
	return questions, nil
}

// halt ends the reader.
func (l *live) halt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop != nil {
		l.stop()
		l.stop, l.lostFor = nil, "shutdown"
	}
	if l.timer != nil {
		l.timer.Stop()
	}
}

// follow hands the events after a fact to the viewers.
func (l *live) follow(ctx context.Context, after int64) {
	events := watcher(l.store, l.at.id).Watch(ctx, after)
	if w := l.server.Workers; w != nil {
		watchers.Joined(ctx)
		events = w.Events(ctx, l.at.id, after)
	}
	for e, err := range events {
		if err != nil {
			if ctx.Err() == nil {
				l.lost(err)
			}
			return
		}
		l.show(e)
	}
}

// lost ends the viewers: the session was deleted, or it cannot be read.
func (l *live) lost(err error) {
	reason := "failed"
	if errors.Is(err, session.ErrNotFound) {
		reason = "deleted"
	} else {
		l.server.log().Error("watching a session failed", "session", l.at.id, "error", err)
	}
	l.mu.Lock()
	if l.stop != nil {
		l.stop()
		l.stop, l.lostFor = nil, reason
	}
	l.mu.Unlock()
	l.end(reason)
}

// end ends all viewers with a reason.
func (l *live) end(reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for v := range l.viewers {
		v.end(reason)
	}
}

// show takes an event of the reader in and hands it to the viewers.
func (l *live) show(e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, missed := e.Data.(event.Missed); missed { // the server was slow itself
		for v := range l.viewers {
			v.drop()
		}
	}
	l.inflight.apply(e)
	if _, end := e.Data.(event.RunEnd); end {
		l.over = true
	}
	if e.Seq > 0 {
		l.last = e.Seq
		l.begun = slices.DeleteFunc(l.begun, func(b beginning) bool {
			if e.Seq <= b.after { // the reader was behind
				return false
			}
			close(b.seen)
			return true
		})
	}
	l.tellList(e)
	switch {
	case !isShown(e):
	case e.Seq > 0:
		l.flush()
		l.broadcast(factFrame(e))
	default:
		l.hold(e)
	}
}

// hold keeps a signal for the next frame, at most until pause has passed since the last one. It is
// called with the lock.
func (l *live) hold(e event.Event) {
	if len(l.viewers) == 0 {
		return
	}
	if n := len(l.batch); n == 0 || !eventqueue.Join(&l.batch[n-1], e) {
		l.batch = append(l.batch, e)
	}
	if l.timer != nil {
		return
	}
	wait := pause - time.Since(l.flushed)
	if wait <= 0 {
		l.flush()
		return
	}
	l.timer = time.AfterFunc(wait, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.flush()
	})
}

// flush hands the signals that wait to the viewers. It is called with the lock.
func (l *live) flush() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	for _, e := range l.batch {
		l.broadcast(signalFrame(e))
	}
	if len(l.batch) > 0 {
		l.flushed = time.Now()
	}
	l.batch = nil
}

// broadcast hands a frame to all viewers, who share it.
func (l *live) broadcast(f frame) {
	for v := range l.viewers {
		v.put(f)
	}
}

// A stateOf is the data of the event "state".
type stateOf struct {
	Seq     int64         `json:"seq"`     // the fact up to which facts have come
	Running bool          `json:"running"` // a run has no end yet
	Here    bool          `json:"here"`    // this server has the session open, or its workers run it
	Signals []event.Event `json:"signals"` // what is under way; it replaces all earlier signals
	Queue   []string      `json:"queue"`   // ids of messages that wait for the run
}

// join makes a viewer get what comes from now on. It returns the number of the last fact before
// that, and a frame with what is under way.
func (l *live) join(v *viewer) (through int64, state frame) {
	here := l.hosted.get() != nil || l.server.Workers != nil
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush() // what waits is in the state
	v.clear()
	l.viewers[v] = true
	if l.stop == nil {
		v.end(cmp.Or(l.lostFor, "failed"))
	}
	st := stateOf{Seq: l.last, Running: l.inflight.running, Here: here, Signals: l.inflight.signals(l.at.id), Queue: l.inflight.queue}
	if st.Queue == nil {
		st.Queue = []string{}
	}
	return l.last, jsonFrame("state", st)
}

// quit makes a viewer get nothing more.
func (l *live) quit(v *viewer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.viewers, v)
	if len(l.viewers) == 0 {
		l.flush()
	}
}

// A frame is one event of a stream, as it is sent.
type frame struct {
	seq  int64 // of a fact
	data []byte
}

func factFrame(e event.Event) frame {
	f := jsonFrame("fact", e)
	return frame{e.Seq, append(fmt.Appendf(nil, "id: %d\n", e.Seq), f.data...)}
}

func signalFrame(e event.Event) frame { return jsonFrame("signal", e) }

func jsonFrame(name string, data any) frame {
	b, err := json.Marshal(data)
	if err != nil { // an event that another version has written
		b, _ = json.Marshal(failure{&Error{Code: "internal", Message: err.Error()}})
		name = "error"
	}
	out := make([]byte, 0, len(name)+len(b)+20)
	out = append(out, "event: "...)
	out = append(out, name...)
	out = append(out, "\ndata: "...)
	out = append(out, b...)
	return frame{data: append(out, "\n\n"...)}
}

func now() time.Time { return time.Now().UTC() }
