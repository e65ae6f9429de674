package agent

import (
	"context"
	"sync"
	"time"
)

// A limited context has the values of another one, not its end, and a deadline
// of its own. Unlike context.WithTimeout it costs a timer only when somebody
// waits for it: each fact that is recorded has one.
type limited struct {
	context.Context
	end time.Time

	mu    sync.Mutex
	done  chan struct{}
	timer *time.Timer
}

func (l *limited) Deadline() (time.Time, bool) { return l.end, true }

func (l *limited) Err() error {
	if time.Now().Before(l.end) {
		return nil
	}
	return context.DeadlineExceeded
}

func (l *limited) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		done := make(chan struct{})
		l.done = done
		l.timer = time.AfterFunc(time.Until(l.end), func() { close(done) })
	}
	return l.done
}

// release stops the timer, if there is one.
func (l *limited) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
}
