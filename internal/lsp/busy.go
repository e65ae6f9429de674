package lsp

import (
	"encoding/json"
	"sync"
)

// maxTasks is how many tasks of a server are kept count of.
const maxTasks = 1000

// busy keeps count of the tasks that a server reports ("Work Done Progress").
type busy struct {
	mu    sync.Mutex
	tasks map[string]bool
	rest  chan struct{} // closed when no task is left; nil if there is none
}

func (b *busy) progress(params json.RawMessage) {
	var p struct {
		Token json.RawMessage `json:"token"`
		Value struct {
			Kind string `json:"kind"`
		} `json:"value"`
	}
	if json.Unmarshal(params, &p) != nil {
		return // the value of another kind of progress
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch p.Value.Kind {
	case "begin":
		if len(b.tasks) == maxTasks {
			return
		}
		if b.tasks == nil {
			b.tasks = map[string]bool{}
		}
		if b.rest == nil {
			b.rest = make(chan struct{})
		}
		b.tasks[string(p.Token)] = true
	case "end":
		delete(b.tasks, string(p.Token))
		if len(b.tasks) == 0 && b.rest != nil {
			close(b.rest)
			b.rest = nil
		}
	}
}

// idle returns a channel that is closed when the pending tasks are done, nil if there are
// none.
func (b *busy) idle() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rest
}
