package watchers

import (
	"context"
	"slices"
	"sync"

	"github.com/openagent-go/agent/event"
)

// A Source returns what is under way in a run, as signals, for a watcher who joins later. They
// belong behind the fact with the number through; 0: they belong behind all facts so far.
type Source func(ctx context.Context) (through int64, signals []event.Event)

var (
	sourcesMu sync.Mutex
	sources   = map[any][]*Source{}
)

// Provide registers the source of a run under a key of those who may watch it. Call remove at the
// end of the run.
func Provide(key any, s Source) (remove func()) {
	if key == nil {
		return func() {}
	}
	at := &s
	sourcesMu.Lock()
	defer sourcesMu.Unlock()
	sources[key] = append(sources[key], at)
	return func() {
		sourcesMu.Lock()
		defer sourcesMu.Unlock()
		left := slices.DeleteFunc(slices.Clone(sources[key]), func(o *Source) bool { return o == at })
		if len(left) == 0 {
			delete(sources, key)
		} else {
			sources[key] = left
		}
	}
}

// SourcesOf returns the sources of a key, the oldest first.
func SourcesOf(key any) []*Source {
	if key == nil {
		return nil
	}
	sourcesMu.Lock()
	defer sourcesMu.Unlock()
	return sources[key]
}
