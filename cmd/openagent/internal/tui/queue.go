package tui

import "sync"

// A queue holds what the loop was told, without a limit: who tells must not wait for a
// terminal that is slow.
type queue struct {
	ready chan struct{} // holds a value while the queue does

	mu    sync.Mutex
	once  sync.Once
	items []any // guarded by mu
}

func (q *queue) init() { q.once.Do(func() { q.ready = make(chan struct{}, 1) }) }

func (q *queue) put(data any) {
	q.init()
	q.mu.Lock()
	q.items = append(q.items, data)
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take returns all items and empties the queue.
func (q *queue) take() []any {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = nil
	return items
}
