package watchers

import (
	"sync"
	"testing"

	"github.com/openagent-go/agent/event"
)

// Watchers come and go while events are put. None gets events of another key, and nothing is
// left when all have gone.
func TestJoinAndLeave(t *testing.T) {
	var wg sync.WaitGroup
	for key := range 4 {
		for range 4 {
			wg.Go(func() {
				for range 200 {
					w := Join(key, func(e event.Event) bool { return e.Seq < 100 })
					Put(key, event.Event{Seq: int64(key) + 1, Data: event.Rewound{}}, "")
					Put(key, event.Event{Seq: 100, Data: event.Rewound{}}, "")
					events, _ := w.Take()
					w.Leave()
					w.Leave()
					if len(events) == 0 {
						t.Error("no event came")
					}
					for _, e := range events {
						if e.Seq != int64(key)+1 {
							t.Errorf("the watcher of %d got %d", key, e.Seq)
						}
					}
				}
			})
		}
	}
	wg.Wait()
	if Any() || len(byKey) != 0 {
		t.Errorf("%d watchers are left", len(byKey))
	}
	w := Join(nil, nil)
	Put(nil, event.Event{Seq: 1}, "")
	if events, _ := w.Take(); len(events) != 0 || Any() {
		t.Error("a watcher of nothing got an event")
	}
	w.Leave()
}
