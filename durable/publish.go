package durable

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/eventqueue"
)

// A publisher sends the signals of a session in batches to those who watch it.
type publisher struct {
	worker  *Worker
	session string

	mu      sync.Mutex
	waiting []event.Event
	wake    chan struct{} // capacity one
	done    chan struct{}
	stopped chan struct{}
}

// How signals are published.
const (
	publishEvery = 50 * time.Millisecond // at most one batch in this time
	publishMax   = 1000                  // signals of a batch; more are lost
	publishLimit = 2 * time.Second       // time for one batch
)

func (w *Worker) publisher(sessionID string) *publisher {
	p := &publisher{worker: w, session: sessionID, wake: make(chan struct{}, 1), done: make(chan struct{}), stopped: make(chan struct{})}
	go p.send()
	return p
}

// add takes a signal. It does not wait.
func (p *publisher) add(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.waiting); n > 0 && eventqueue.Join(&p.waiting[n-1], e) {
		return
	}
	if len(p.waiting) < publishMax {
		p.waiting = append(p.waiting, e)
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *publisher) send() {
	defer close(p.stopped)
	for {
		select {
		case <-p.done:
			return
		case <-p.wake:
		}
		p.mu.Lock()
		batch := p.waiting
		p.waiting = nil
		p.mu.Unlock()
		if len(batch) > 0 {
			ctx, stop := context.WithTimeout(context.Background(), publishLimit)
			if err := p.worker.Backend.Publish(ctx, p.session, batch); err != nil {
				p.worker.log().Debug("publishing signals failed", "session", p.session, "error", err)
			}
			stop()
		}
		select {
		case <-p.done:
			return
		case <-time.After(publishEvery):
		}
	}
}

// close ends the publisher. Signals that wait are of no use any more: their facts are on record.
func (p *publisher) close() {
	close(p.done)
	<-p.stopped
}

// hostname returns the name of the machine.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
