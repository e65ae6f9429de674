package serve

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// watcher returns a Session to watch with. It opens nothing.
func watcher(store session.Store, id string) *agent.Session {
	return (&agent.Agent{Sessions: store}).Session(id)
}

// An eventPage is a part of a journal.
type eventPage struct {
	Events []event.Event `json:"events"`
	Last   int64         `json:"last"` // continue after this fact
	More   bool          `json:"more"` // there are more facts
}

const (
	defaultPage = 1000
	maxPage     = 10000
	pageBytes   = 8 << 20 // of a page, unless its first fact is larger
)

// number returns a number of the query, or the default.
func (c *call) number(name string, otherwise int64) (int64, error) {
	given := c.r.URL.Query().Get(name)
	if given == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(given, 10, 64)
	if err != nil || n < 0 {
		return 0, bad("%s must be a number that is not negative", name)
	}
	return n, nil
}

// sessionEvents answers with a page or a stream of events.
func sessionEvents(s *Server, c *call) (any, error) {
	after, err := c.number("after", 0)
	if err != nil {
		return nil, err
	}
	if given := c.r.Header.Get("Last-Event-ID"); given != "" {
		if after, err = strconv.ParseInt(given, 10, 64); err != nil || after < 0 {
			return nil, bad("Last-Event-ID must be the number of a fact")
		}
	}
	if strings.Contains(c.r.Header.Get("Accept"), "text/event-stream") {
		return nil, s.stream(c, after)
	}
	limit, err := c.number("limit", defaultPage)
	if err != nil {
		return nil, err
	}
	var types []string
	if given := c.r.URL.Query().Get("types"); given != "" {
		types = strings.Split(given, ",")
	}
	return s.page(c, after, int(min(max(limit, 1), maxPage)), types)
}

// page reads facts from the store.
func (s *Server) page(c *call, after int64, limit int, types []string) (any, error) {
	p, bytes := eventPage{Events: []event.Event{}, Last: after}, 0
	for e, err := range s.store(c.user).Read(c.ctx(), c.place().id, after) {
		if err != nil {
			return nil, err
		}
		if !isShown(e) || types != nil && !slices.Contains(types, event.Type(e.Data)) {
			p.Last = e.Seq
			continue
		}
		if bytes += len(factFrame(e).data); len(p.Events) == limit || len(p.Events) > 0 && bytes > pageBytes {
			p.More = true
			break
		}
		p.Events, p.Last = append(p.Events, e), e.Seq
	}
	return p, nil
}

// admit counts a stream of a user, for a caller who calls the returned function at its end.
func (s *Server) admit(user string) (func(), error) {
	count := func(n int) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case n > 0 && s.closed:
			return errClosed
		case n > 0 && s.streams >= s.streamLimit():
			return tooMany("streams", time.Second, "too many streams are open", "close some pages of this server, or start it with a higher limit")
		}
		s.streams += n
		return nil
	}
	if err := s.takeStream(user); err != nil {
		return nil, err
	}
	if err := count(1); err != nil {
		s.freeStream(user)
		return nil, err
	}
	s.toldWatched()
	return func() {
		_ = count(-1)
		s.freeStream(user)
		s.toldWatched()
	}, nil
}

// stream answers with the facts after the given one, what is under way, and then all that comes. A
// viewer that is too slow gets facts from the store again, and loses signals.
func (s *Server) stream(c *call, after int64) error {
	leave, err := s.admit(c.user)
	if err != nil {
		return err
	}
	defer leave()
	l := s.live(c.place())
	defer l.leave()
	if err := l.read(c.ctx()); err != nil {
		return err
	}
	if err := l.has(c.ctx(), after); err != nil {
		return err
	}
	v := newViewer()
	defer l.quit(v)
	out := newStream(c.w, after)
	for {
		through, state := l.join(v)
		if s.isClosed() {
			v.end("shutdown")
		}
		if err := l.catchUp(c.ctx(), out, through); err != nil {
			return broken(err)
		}
		if err := out.write(state); err != nil {
			return broken(err)
		}
		if over, err := out.pump(c.ctx(), v); over {
			return broken(err)
		}
	}
}

// broken is for an answer that has begun: nothing can be said any more.
func broken(error) error { return nil }

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// has returns an error unless the session has a fact.
func (l *live) has(ctx context.Context, seq int64) error {
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	if seq <= last {
		return nil
	}
	latest, err := session.Last(ctx, l.store, l.at.id, 1, nil) // the reader may be behind
	if err != nil {
		return err
	}
	if len(latest) == 0 || seq > latest[0].Seq {
		return &Error{http.StatusNotFound, "no_such_fact", "the session does not have this fact", "begin with after=0: it may be another session with the same id"}
	}
	return nil
}

// catchUp writes facts from the store up to the given one.
func (l *live) catchUp(ctx context.Context, out *stream, through int64) error {
	if through <= out.sent {
		return nil
	}
	written := 0
	for e, err := range l.store.Read(ctx, l.at.id, out.sent) {
		switch {
		case errors.Is(err, session.ErrNotFound):
			return nil // the reader tells
		case err != nil:
			return err
		case e.Seq > through:
			return out.flush()
		case !isShown(e):
			continue
		}
		f := factFrame(e)
		if err := out.write(f); err != nil {
			return err
		}
		if written += len(f.data); written > 64<<10 {
			written = 0
			if err := out.flush(); err != nil {
				return err
			}
		}
	}
	return out.flush()
}

// A listChange is the data of an event of the list of sessions.
type listChange struct {
	Session string `json:"session"`
	State   string `json:"state"` // running, waiting, idle or deleted
	Title   string `json:"title,omitempty"`
}

// tellList tells those who watch the list of sessions of a change. It is called with the lock.
func (l *live) tellList(e event.Event) {
	change := listChange{Session: l.at.id, State: "idle"}
	switch {
	case l.inflight.asking() > 0:
		change.State = "waiting"
	case l.inflight.running:
		change.State = "running"
	}
	d, named := e.Data.(event.SessionNamed)
	if change.State == l.state && !(named && d.Title != "") {
		return
	}
	l.state, change.Title = change.State, d.Title
	l.server.list.tell(l.at.user, change)
}

// listViewers are the viewers of lists of sessions, with the names of the users.
type listViewers struct {
	mu      sync.Mutex
	viewers map[*viewer]string
	gone    string // why streams end
}

func (l *listViewers) add(v *viewer, user string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.viewers == nil {
		l.viewers = map[*viewer]string{}
	}
	l.viewers[v] = user
	if l.gone != "" {
		v.end(l.gone)
	}
}

func (l *listViewers) remove(v *viewer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.viewers, v)
}

func (l *listViewers) end(reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = reason
	for v := range l.viewers {
		v.end(reason)
	}
}

// tell tells those who watch a user's list of sessions of a change.
func (l *listViewers) tell(user string, change listChange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var f frame
	for v, whose := range l.viewers {
		if whose != user {
			continue
		}
		if f.data == nil {
			f = jsonFrame("session", change)
		}
		v.put(f)
	}
}

// listEvents answers with a stream of changes of the list of sessions.
func listEvents(s *Server, c *call) (any, error) {
	leave, err := s.admit(c.user)
	if err != nil {
		return nil, err
	}
	defer leave()
	v := newViewer()
	s.list.add(v, c.user)
	defer s.list.remove(v)
	out := newStream(c.w, 0)
	for {
		v.clear()
		if err := out.write(jsonFrame("state", map[string]bool{"reload": true})); err != nil { // read the list now
			return nil, nil
		}
		if over, _ := out.pump(c.ctx(), v); over {
			return nil, nil
		}
	}
}

// A spent is the cost of a session.
type spent struct {
	USD    *float64                  `json:"usd"` // null: a price is not known
	Runs   int                       `json:"runs"`
	Turns  int                       `json:"turns"`
	Calls  int                       `json:"model_calls"`
	Models map[string]event.Spending `json:"models"`
}

// cost adds up the ends of the runs.
func cost(s *Server, c *call) (any, error) {
	total, known := 0.0, true
	out := spent{Models: map[string]event.Spending{}}
	var open *event.RunEnd // of a run that was suspended: its next end is about all of it
	add := func(d event.RunEnd) {
		out.Runs++
		out.Turns += d.Turns
		out.Calls += d.ModelCalls
		if d.CostUSD == nil {
			known = false
		} else {
			total += *d.CostUSD
		}
		for name, m := range d.Models {
			have, ok := out.Models[name]
			have.Usage = have.Usage.Add(m.Usage)
			if (!ok || have.CostUSD != nil) && m.CostUSD != nil {
				sum := *m.CostUSD
				if have.CostUSD != nil {
					sum += *have.CostUSD
				}
				have.CostUSD = &sum
			} else {
				have.CostUSD = nil
			}
			out.Models[name] = have
		}
	}
	for e, err := range s.store(c.user).Read(c.ctx(), c.place().id, 0) {
		if err != nil {
			return nil, err
		}
		switch d := e.Data.(type) {
		case event.Resumed:
			open = nil
		case event.UserMessage:
			if open != nil && cmp.Or(string(d.Delivery), "prompt") == "prompt" {
				add(*open)
				open = nil
			}
		case event.RunEnd:
			if d.Reason == event.Suspended {
				open = &d
				continue
			}
			open = nil
			add(d)
		}
	}
	if open != nil {
		add(*open)
	}
	if known {
		out.USD = &total
	}
	return out, nil
}
