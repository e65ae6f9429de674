package serve

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/connlimit"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/sessionhtml"
	"github.com/openagent-go/agent/internal/sharetext"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/turns"
	"github.com/openagent-go/agent/internal/watchers"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
)

// A sharedReader reads what a share may show: facts of one session within its scope, and pieces of
// answers. It can do nothing else.
type sharedReader struct {
	scope share
	// read yields the facts after the given one, and watch what happens after it as well.
	read, watch func(ctx context.Context, after int64) iter.Seq2[event.Event, error]
}

// newSharedReader returns the reader of a share.
func newSharedReader(store session.Store, sh share) sharedReader {
	return sharedReader{sh,
		func(ctx context.Context, after int64) iter.Seq2[event.Event, error] {
			return store.Read(ctx, sh.Session, after)
		},
		func(ctx context.Context, after int64) iter.Seq2[event.Event, error] {
			return watcher(store, sh.Session).Watch(ctx, after)
		}}
}

// facts yields the facts of the scope that are there.
func (r sharedReader) facts(ctx context.Context) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for e, err := range r.read(ctx, max(r.scope.From-1, 0)) {
			if err == nil && !r.scope.has(e.Seq) || !yield(e, err) {
				return
			}
		}
	}
}

// follow yields the facts of a live scope after the given one, and pieces of answers. Other signals may
// name files of the person, or are of other sessions.
func (r sharedReader) follow(ctx context.Context, after int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for e, err := range r.watch(ctx, after) {
			_, piece := e.Data.(event.TextDelta)
			if err == nil && !piece && !r.scope.has(e.Seq) {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// sameSession returns an error if the session was deleted, and another one has its id now.
func (r sharedReader) sameSession(ctx context.Context) error {
	began, err := beganAt(r.read(ctx, 0))
	if err != nil || !began.Equal(r.scope.Began) {
		return errDead
	}
	return nil
}

// beganAt returns the time of the first fact of a session.
func beganAt(facts iter.Seq2[event.Event, error]) (time.Time, error) {
	for e, err := range facts {
		return e.Time, err
	}
	return time.Time{}, session.ErrNotFound
}

// A feed is a share that somebody watches. It has a reader, not the session: it cannot change one.
type feed struct {
	share  share
	reader sharedReader
	newest func() (*ruleSet, error) // the rules of now; called without the lock
	over   func(reason string)      // ends the feed
	lasts  func() bool              // the share is still there

	uses, streams int // guarded by the mutex of sharing

	opening sync.Once
	failed  error // of opening

	mu       sync.Mutex // guards the fields below
	rules    *ruleSet
	view     view.State
	title    string // not redacted
	last     int64
	items    map[string]sharedItem
	side     map[string]bool          // keys of model calls for summaries, which may tell what is out of scope
	writing  map[string]*sharedAnswer // by key of the model call
	answers  int                      // names of answers
	viewers  map[*viewer]watching
	gone     string // why streams end
	stop     context.CancelFunc
	lingerer *time.Timer
}

// A sharedItem is an item without secrets, kept until it changes.
type sharedItem struct {
	version uint64
	shown   *view.Item // nil: shares do not show it
}

// A sharedAnswer is an answer that is being written.
type sharedAnswer struct {
	name string
	text *sharetext.Stream
	held bool // nothing of it is shown until it is on record
}

// watching says who watches a share.
type watching struct {
	Since   time.Time `json:"since"`
	Browser string    `json:"browser,omitempty"` // as it names itself
}

// feedOf returns the feed of a share, for a caller who calls leaveFeed later.
func (s *Server) feedOf(ctx context.Context, sh share) (*feed, error) {
	rules, err := s.shareRules()
	if err != nil {
		return nil, err
	}
	b := &s.sharing
	b.mu.Lock()
	if b.ended {
		b.mu.Unlock()
		return nil, errClosed
	}
	f := b.feeds[sh.ID]
	if f == nil {
		f = &feed{share: sh, reader: newSharedReader(s.store(sh.User), sh), rules: rules, items: map[string]sharedItem{}, side: map[string]bool{}, writing: map[string]*sharedAnswer{}, viewers: map[*viewer]watching{}}
		f.newest = s.shareRules
		f.over, f.lasts = func(reason string) { s.endFeed(f, reason) }, func() bool { return s.lasts(sh.ID) }
		if b.feeds == nil {
			b.feeds = map[string]*feed{}
		}
		b.feeds[sh.ID] = f
	}
	f.uses++
	b.mu.Unlock()
	f.opening.Do(func() { f.failed = f.open(context.WithoutCancel(ctx), s.spawn) })
	f.mu.Lock()
	f.use(rules)
	f.mu.Unlock()
	err = f.failed
	if err == nil {
		err = f.reader.sameSession(ctx)
	}
	if err == nil && !f.lasts() { // it was revoked meanwhile
		err = errDead
	}
	if err != nil {
		s.endFeed(f, "revoked")
		s.leaveFeed(f)
		return nil, err
	}
	return f, nil
}

// use makes the feed hide by rules that may have become more. What is shown of a running answer may have
// a new secret: it goes away until the answer is on record. It is called with the lock.
func (f *feed) use(rules *ruleSet) {
	if rules.known <= f.rules.known {
		return
	}
	f.rules = rules
	clear(f.items)
	for _, a := range f.writing {
		a.text, a.held = rules.Stream(), true
		f.broadcast("text", sharedPiece{Answer: a.name, Restart: true})
	}
}

// leaveFeed gives up the use of a feed. It ends some time after the last one has left.
func (s *Server) leaveFeed(f *feed) {
	b := &s.sharing
	b.mu.Lock()
	defer b.mu.Unlock()
	if f.uses--; f.uses > 0 || b.feeds[f.share.ID] != f {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lingerer != nil {
		f.lingerer.Stop()
	}
	f.lingerer = time.AfterFunc(linger, func() {
		b.mu.Lock()
		idle := f.uses == 0
		if idle && b.feeds[f.share.ID] == f {
			delete(b.feeds, f.share.ID)
		}
		b.mu.Unlock()
		if idle {
			f.over("idle")
		}
	})
}

// endFeed ends a feed and its streams.
func (s *Server) endFeed(f *feed, reason string) {
	b := &s.sharing
	b.mu.Lock()
	if b.feeds[f.share.ID] == f {
		delete(b.feeds, f.share.ID)
	}
	b.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone == "" {
		f.gone = reason
	}
	for v := range f.viewers {
		v.end(f.gone)
	}
	if f.stop != nil {
		f.stop()
	}
	if f.lingerer != nil {
		f.lingerer.Stop()
	}
}

// open reads the facts that are there, and starts to follow those of a live share.
func (f *feed) open(ctx context.Context, spawn func(func()) bool) error {
	if err := f.reader.sameSession(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = max(f.share.From-1, 0)
	for e, err := range f.reader.facts(ctx) {
		if err != nil {
			return err
		}
		f.fact(e)
	}
	following, stop := context.WithCancel(ctx)
	f.stop = stop
	if !spawn(func() { f.check(following) }) {
		return errClosed
	}
	if f.share.To != 0 {
		return nil
	}
	last, joined := f.last, make(chan struct{})
	if !spawn(func() { f.follow(watchers.WithJoined(following, func() { close(joined) }), last) }) {
		return errClosed
	}
	<-joined // the pieces of an answer before that would be lost, if no other follows
	return nil
}

// check ends the feed when its share is over: it has expired, or another program has revoked it.
func (f *feed) check(ctx context.Context) {
	expired := time.NewTimer(time.Until(f.share.Expires))
	defer expired.Stop()
	look := time.NewTicker(checkShares)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-expired.C:
			f.over("expired")
			return
		case <-look.C:
			if !f.lasts() {
				f.over("revoked")
				return
			}
		}
	}
}

// follow hands the events of a live share to its viewers.
func (f *feed) follow(ctx context.Context, after int64) {
	for e, err := range f.reader.follow(ctx, after) {
		if err != nil {
			if ctx.Err() == nil {
				f.over("deleted")
			}
			return
		}
		rules, err := f.newest()
		if err != nil {
			f.over("revoked")
			return
		}
		f.mu.Lock()
		f.use(rules)
		if d, ok := e.Data.(event.TextDelta); ok {
			f.piece(d)
		} else {
			f.fact(e)
			name := "changed"
			if _, back := e.Data.(event.Rewound); back { // items go away
				name = "reload"
			}
			f.broadcast(name, map[string]uint64{"version": f.view.Version})
		}
		f.mu.Unlock()
	}
}

// fact takes a fact in. It is called with the lock.
func (f *feed) fact(e event.Event) {
	switch d := e.Data.(type) {
	case fact.ModelStart:
		if d.Call != "" || d.Compacts != "" {
			f.side[d.Key] = true
		}
	case event.AssistantMessage:
		f.settle(d.Key)
	case event.ModelFailed:
		f.settle(d.Key)
	case event.RunEnd:
		for key := range f.writing {
			f.settle(key)
		}
		clear(f.side)
	case event.SessionNamed:
		f.title = cmp.Or(d.Title, f.title)
	}
	if prompt, ok := begins(e); ok && f.title == "" {
		f.title = prompt
	}
	f.view.Apply(e)
	f.last = e.Seq
}

// settle forgets an answer that is on record: it is an item now. It is called with the lock.
func (f *feed) settle(key string) {
	if a := f.writing[key]; a != nil {
		delete(f.writing, key)
		f.broadcast("text", sharedPiece{Answer: a.name, Restart: true})
	}
}

// piece takes a piece of an answer in. It is called with the lock.
func (f *feed) piece(d event.TextDelta) {
	if f.side[d.Key] { // none of today sends pieces
		return
	}
	a := f.writing[d.Key]
	if a == nil {
		f.answers++
		a = &sharedAnswer{name: "a" + strconv.Itoa(f.answers), text: f.rules.Stream()}
		f.writing[d.Key] = a
	} else if d.Restart {
		a.text, a.held = f.rules.Stream(), false
	} else if a.held {
		return
	}
	add, restart := a.text.Write(d.Text)
	if add != "" || restart || d.Restart {
		f.broadcast("text", sharedPiece{a.name, add, restart || d.Restart})
	}
}

// A sharedPiece is a piece of an answer.
type sharedPiece struct {
	Answer  string `json:"answer"`
	Text    string `json:"text"`
	Restart bool   `json:"restart,omitempty"` // it replaces the text so far
}

// broadcast hands a frame to all viewers. It is called with the lock.
func (f *feed) broadcast(name string, data any) {
	if len(f.viewers) == 0 {
		return
	}
	frame := jsonFrame(name, data)
	for v := range f.viewers {
		v.put(frame)
	}
}

// A sharedState is the first event of a stream of a share.
type sharedState struct {
	Version uint64        `json:"version"`
	Texts   []sharedPiece `json:"texts"`
}

// join makes a viewer get what comes from now on.
func (f *feed) join(v *viewer, as watching) frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	v.clear()
	f.viewers[v] = as
	if f.gone != "" {
		v.end(f.gone)
	}
	st := sharedState{Version: f.view.Version, Texts: []sharedPiece{}}
	for _, a := range f.writing {
		st.Texts = append(st.Texts, sharedPiece{a.name, a.text.Shown(), true})
	}
	slices.SortFunc(st.Texts, func(a, b sharedPiece) int { return cmp.Compare(a.Answer, b.Answer) })
	return jsonFrame("state", st)
}

func (f *feed) quit(v *viewer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.viewers, v)
}

// watchers returns who watches, the first one first.
func (f *feed) watchers() []watching {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []watching{}
	for _, w := range f.viewers {
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b watching) int { return a.Since.Compare(b.Since) })
	return out
}

// A sharedView is what the page of a share shows.
type sharedView struct {
	Title, State, Token string
	Version             uint64
	Live                bool
	Expires             time.Time
	Earlier             int
	Turns               []shownTurn
	Writing             string
}

// page draws the turns that have changed since a version, of the newest 200 items or of all.
func (f *feed) page(since uint64, all bool) (*sharedView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.redactor()
	v := &sharedView{Title: r.title(f.title), State: "idle", Version: f.view.Version, Live: f.share.To == 0, Expires: f.share.Expires}
	switch {
	case f.share.To != 0:
		v.State = "recorded"
	case len(f.view.Questions) > 0:
		v.State = "waiting"
	case f.view.Running:
		v.State = "running"
	}
	items := f.view.Items
	if !all {
		v.Earlier = firstShown(items)
		items = items[v.Earlier:]
	}
	var clean []*view.Item
	for _, it := range items {
		kept, ok := f.items[it.ID]
		if !ok || kept.version != it.Version {
			kept = sharedItem{it.Version, r.item(it)}
			f.items[it.ID] = kept
		}
		if kept.shown != nil {
			clean = append(clean, kept.shown)
		}
	}
	for t := range (&turns.Reader{Limit: maxText}).Turns("", clean) {
		from := t.From()
		if from.Version <= since {
			continue
		}
		html, err := sessionhtml.HTML(t)
		if err != nil {
			return nil, err
		}
		v.Turns = append(v.Turns, shownTurn{from.Item, html})
	}
	for _, a := range f.writing {
		v.Writing += a.text.Shown()
	}
	return v, nil
}

// redactor makes the items that the share shows.
func (f *feed) redactor() *redactor {
	return &redactor{rules: f.rules.Rules, omit: f.share.Results == omitResults, images: f.share.Images}
}

// streamShare answers with a stream of a share.
func (s *Server) streamShare(c *call, f *feed) error {
	quit, err := s.admitShared(f)
	if err != nil {
		return err
	}
	defer quit()
	connlimit.Admit(c.ctx())
	as := watching{Since: now(), Browser: text.Runes(text.OneLine(text.Clean(c.r.UserAgent())), 120)}
	v := newViewer()
	defer f.quit(v)
	out := newStream(c.w, 0)
	for {
		if err := out.write(f.join(v, as)); err != nil {
			return broken(err)
		}
		if over, err := out.pump(c.ctx(), v); over {
			return broken(err)
		}
	}
}

// admitShared is admit for the stream of a share. Those do not take the place of the user's own, and those of
// one share do not take all places of the others.
func (s *Server) admitShared(f *feed) (func(), error) {
	count := func(n int) error {
		s.sharing.mu.Lock()
		defer s.sharing.mu.Unlock()
		if n > 0 && (s.sharing.streams >= maxStreams || f.streams >= maxWatching) {
			return tooMany("share_streams", 10*time.Second, "too many people watch", "try again later")
		}
		s.sharing.streams += n
		f.streams += n
		return nil
	}
	if err := count(1); err != nil {
		return nil, err
	}
	s.toldWatched()
	return func() {
		_ = count(-1)
		s.toldWatched()
	}, nil
}
