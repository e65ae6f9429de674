package durable

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// A visit is the time in which a worker has a session.
type visit struct {
	worker  *Worker
	wake    Wake
	session *agent.Session
	id      string
	taken   <-chan struct{} // closed when the engine takes the session away
	lost    chan struct{}   // closed when another worker has opened the session
	once    sync.Once       // closes lost
	bound   bool
	mode    permission.Mode // of the worker's agent
	publish func(event.Event)
	posted  <-chan struct{} // gets a value when a command comes

	modeKept bool // a mode is kept that no run has recorded yet

	mu      sync.Mutex
	prompt  string // id of the prompt or compaction whose run is at work; "" if it is not known yet
	stopped bool   // the work was cancelled
}

// errDrained means that the worker is to end before it got the session.
var errDrained = errors.New("the worker is to end")

// A letter is a command of the inbox.
type letter struct {
	id      string
	command Command
}

// open opens the session. One whose worker died is free at the end of its lease. It is never
// taken by force: a worker that was taken for dead would do the same when it wakes up.
func (v *visit) open(ctx context.Context) error {
	for {
		_, err := v.session.CanResume(ctx)
		if !errors.Is(err, session.ErrBusy) {
			return err
		}
		select {
		case <-time.After(busyPause):
		case <-v.wake.Drain:
			return errDrained
		case <-ctx.Done():
			return errDrained
		}
	}
}

// busyPause is the pause before a session that is open elsewhere is opened again.
const busyPause = 100 * time.Millisecond

// leaveWhenAsked waits until the worker has to leave the session, or done is closed.
func (v *visit) leaveWhenAsked(ctx context.Context, done <-chan struct{}) {
	free := context.WithoutCancel(ctx)
	select {
	case <-done:
	case <-v.taken:
		if v.wake.Cancelled == nil || !v.wake.Cancelled(ctx) {
			_ = v.session.Detach(ctx)
			return
		}
		v.mu.Lock()
		v.stopped = true
		v.mu.Unlock()
		_, _ = v.session.Interrupt(free)
	case <-v.lost: // nothing that it does from now on can be recorded
		now, stop := context.WithCancel(free)
		stop()
		_ = v.session.Detach(now)
	case <-v.wake.Drain:
		grace, stop := context.WithTimeout(ctx, orDefault(v.worker.Grace, 30*time.Second))
		defer stop()
		_ = v.session.Detach(grace)
	}
}

// left reports whether the worker has to leave the session.
func (v *visit) left() bool {
	select {
	case <-v.wake.Drain:
		return true
	case <-v.taken:
		return true
	case <-v.lost:
		return true
	default:
		return false
	}
}

// all works until there is nothing left to do.
func (v *visit) all(ctx context.Context) (Outcome, error) {
	for {
		out, err := v.step(ctx)
		v.mu.Lock()
		stopped := v.stopped
		v.mu.Unlock()
		switch {
		case stopped:
			return Idle, nil
		case v.left():
			return Yielded, nil
		case err != nil:
			return "", err
		case out == "":
		case out != Idle:
			return out, nil
		default:
			if came, err := v.keep(ctx); !came || err != nil {
				return out, err
			}
		}
	}
}

// A lender is a store that can lend sessions, see [Backend].
type lender interface {
	Lend(ctx context.Context, id string) error
	Recall(ctx context.Context, id string) error
}

// keep waits for a command while a session stays open after a run. It reports whether one may have
// come. Meanwhile anybody else can have the session: then this worker leaves it.
func (v *visit) keep(ctx context.Context) (came bool, err error) {
	d := orDefault(v.worker.Keep, 5*time.Minute)
	if !v.bound || d < 0 {
		return false, nil
	}
	if store, ok := v.session.Agent().Sessions.(lender); ok {
		if err := store.Lend(ctx, v.id); err != nil {
			return false, err
		}
		defer func() {
			if !came {
				return
			}
			if err = store.Recall(ctx, v.id); errors.Is(err, session.ErrLost) {
				came, err = false, nil // a command that came has woken a worker
			}
		}()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-v.posted:
		return true, nil
	case <-timer.C:
	case <-v.wake.Drain:
	case <-v.taken:
	case <-v.lost:
	}
	return false, nil
}

// step does the next thing. It returns an outcome if there is none.
func (v *visit) step(ctx context.Context) (Outcome, error) {
	letters, err := v.letters(ctx)
	if err != nil {
		return "", err
	}
	open, err := v.session.CanResume(ctx)
	if err != nil {
		return "", err
	}
	if open {
		waiting, err := v.decide(ctx, letters)
		if err != nil {
			return "", err
		}
		if waiting {
			if told, err := v.whileWaiting(ctx, letters); err != nil || !told {
				return Waiting, err
			}
		}
		return "", unlessRecorded(v.follow(ctx, v.session.Resume(ctx), ""))
	}
	for _, l := range letters {
		if in, ok := input(l.id, l.command); ok {
			return "", v.prompted(ctx, in)
		}
		if waitsFor(l, letters) {
			continue
		}
		return "", v.settleWith(ctx, l, v.change(ctx, l))
	}
	return Idle, nil
}

// letters returns the commands of the inbox. Those that cannot be read are rejected.
func (v *visit) letters(ctx context.Context) ([]letter, error) {
	mail, err := v.worker.Backend.Inbox(ctx, v.id)
	if err != nil {
		return nil, err
	}
	var out []letter
	for _, m := range mail {
		c, err := unmarshal(m.Body)
		if err != nil {
			if err := v.reject(ctx, m.ID, err); err != nil {
				return nil, err
			}
			continue
		}
		out = append(out, letter{m.ID, c})
	}
	return out, nil
}
