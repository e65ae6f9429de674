package durabletest

import (
	"context"
	"sync"
	"time"

	"github.com/openagent-go/agent/durable"
)

// A Queue is an engine in memory, for the workers of one program.
type Queue struct {
	// Beat is how long a worker may be silent until its sessions are given to others. 0: 10 s.
	Beat time.Duration

	mu    sync.Mutex
	wakes map[string]*queued
	rung  chan struct{} // closed and replaced when a worker should look
}

// A queued session has work to do.
type queued struct {
	rings   int
	due     time.Time // when it may be taken; of one at work, when its worker counts as dead
	holder  *queueWorker
	failed  int    // times in a row
	place   string // that it is bound to, if a worker elsewhere has found out
	moved   time.Time
	waiting bool // for that place
}

// Wake implements [durable.Engine].
func (q *Queue) Wake(ctx context.Context, session string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.init()
	w := q.wakes[session]
	if w == nil {
		w = &queued{due: time.Now()}
		q.wakes[session] = w
	}
	w.rings++
	q.ring()
	return nil
}

func (q *Queue) init() {
	if q.wakes == nil {
		q.wakes, q.rung = map[string]*queued{}, make(chan struct{})
		if q.Beat == 0 {
			q.Beat = 10 * time.Second
		}
	}
}

// ring lets the workers look. The caller holds the lock.
func (q *Queue) ring() {
	close(q.rung)
	q.rung = make(chan struct{})
}

// A queueWorker is one worker of a Queue.
type queueWorker struct {
	queue  *Queue
	worker *durable.Worker
	drain  chan struct{}
	dead   <-chan struct{}
	all    sync.WaitGroup
}

// Run lets a worker work until drain ends, and then until it has left its sessions. The end of
// dead means that the process dies: Run returns at once, and the worker's calls into its
// backend fail if their connection is killed too.
func (q *Queue) Run(drain, dead context.Context, w *durable.Worker) {
	q.mu.Lock()
	q.init()
	q.mu.Unlock()
	qw := &queueWorker{queue: q, worker: w, drain: make(chan struct{}), dead: dead.Done()}
	beats := time.NewTicker(q.Beat / 3)
	defer beats.Stop()
	for {
		q.mu.Lock()
		next := qw.take(dead)
		rung := q.rung
		q.mu.Unlock()
		timer := time.NewTimer(next)
		select {
		case <-rung:
		case <-timer.C:
		case <-beats.C:
			qw.beat()
		case <-dead.Done():
			timer.Stop()
			return
		case <-drain.Done():
			timer.Stop()
			close(qw.drain)
			left := make(chan struct{})
			go func() { defer close(left); qw.all.Wait() }()
			for {
				select {
				case <-left:
					return
				case <-dead.Done():
					return
				case <-beats.C:
					qw.beat()
				}
			}
		}
		timer.Stop()
	}
}

// take takes the sessions that are due. It returns when the next one is. The caller holds the
// lock.
func (w *queueWorker) take(dead context.Context) time.Duration {
	next, now := time.Hour, time.Now()
	for id, q := range w.queue.wakes {
		moved := q.waiting && !now.Before(q.moved)
		if q.waiting && !moved && q.place != w.worker.Place {
			next = min(next, q.moved.Sub(now))
			continue
		}
		if d := q.due.Sub(now); d > 0 {
			next = min(next, d)
			continue
		}
		q.holder, q.due, q.waiting = w, now.Add(w.queue.Beat), false
		rings := q.rings
		w.all.Go(func() { w.work(dead, id, rings, durable.Wake{Drain: w.drain, Moved: moved}) })
	}
	return next
}

// work continues one session, and notes how it was left.
func (w *queueWorker) work(dead context.Context, id string, rings int, wake durable.Wake) {
	out, err := w.worker.Work(context.WithoutCancel(dead), id, wake)
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	q := w.queue.wakes[id]
	if q == nil || q.holder != w || dead.Err() != nil {
		return
	}
	q.holder = nil
	switch {
	case err != nil:
		q.failed++
		q.due = time.Now().Add(min(100*time.Millisecond<<min(q.failed, 10), 30*time.Second))
		return
	case out == durable.Elsewhere:
		place, err := w.worker.Backend.Place(context.WithoutCancel(dead), id)
		if err != nil {
			place = ""
		}
		q.place, q.waiting, q.moved = place, true, time.Now().Add(3*w.queue.Beat)
	case out != durable.Yielded && q.rings == rings:
		delete(w.queue.wakes, id)
		return
	}
	q.failed, q.due = 0, time.Now()
	w.queue.ring()
}

// beat says that the worker is alive.
func (w *queueWorker) beat() {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	for _, q := range w.queue.wakes {
		if q.holder == w {
			q.due = time.Now().Add(w.queue.Beat)
		}
	}
}
