package sim

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/openagent-go/agent/event"
)

// Watch watches a session until its program ends.
type Watch struct{ Session int }

func (o Watch) run(w *world) {
	h, l := w.session(o.Session), w.life
	s := h.open
	if len(w.watching) >= 2 {
		return
	}
	ctx, cancel := context.WithCancel(l.ctx)
	x := &watcher{path: h.id, done: make(chan struct{}), cancel: cancel}
	w.watching = append(w.watching, x)
	go func() {
		defer close(x.done)
		for e, err := range s.Watch(ctx, 0) {
			if err != nil {
				return
			}
			if _, fact := e.Data.(event.Fact); fact && e.Seq > 0 && !l.dead.Load() {
				x.seen = append(x.seen, e)
			}
		}
	}()
	w.meet("watch")
}

// A watcher is what somebody sees who watches a session.
type watcher struct {
	path   string
	seen   []event.Event
	done   chan struct{}
	cancel context.CancelFunc
}

// checkWatchers ends the watchers of a life, and checks that they saw each fact once and in
// order.
func (w *world) checkWatchers() {
	for _, x := range w.watching {
		x.cancel()
		<-x.done
		w.ledger.mu.Lock()
		known := slices.Clone(w.ledger.facts[x.path])
		for _, e := range w.fault.tried[x.path] { // written, and then the sync failed or the program died
			text, _ := json.Marshal(e)
			known = append(known, string(text))
		}
		w.ledger.mu.Unlock()
		for i, e := range x.seen {
			text, err := json.Marshal(e)
			if err != nil || i >= len(known) || known[i] != string(text) {
				w.wrong("watch", "who watches %s sees as fact %d: %s", x.path, i+1, text)
				break
			}
		}
	}
	w.watching = nil
}
