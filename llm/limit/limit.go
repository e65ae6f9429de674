// Package limit keeps the requests of a program within the rate limits of a provider:
// requests and tokens a minute, and requests at a time. It waits before a request instead
// of being refused, and learns the limits from the provider's replies.
//
//	limiter := &limit.Limiter{} // one for each key
//	m := (&anthropic.Client{Limiter: limiter}).Model("claude-sonnet-4-6")
package limit

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/pace"
	"github.com/openagent-go/agent/llm"
)

// A Limiter bounds the requests of all agents that use it: one for each key, put into the
// clients of that key. The zero Limiter is adaptive: it obeys the provider's rate-limit
// headers and retry-after, and lets a single request through until the first reply has
// reported the limits. Its fields must not change once it is in use.
//
// Waiting calls are served in their order, for each model separately, so that small
// requests do not delay a large one for ever. Limits are those of each model, as the
// providers count them; Concurrent is that of all together.
type Limiter struct {
	Requests int // a minute; 0: the provider's limit. The same for the next three
	Input    int // tokens a minute that are not read from a cache
	Output   int // tokens a minute: max_tokens at first, the actual output in the end
	Tokens   int // a minute, input and output together, as OpenAI counts them

	Concurrent int // requests at a time; 0: any number
	Waiting    int // requests that may wait; one more fails. 0: any number
	// Hold is the longest retry-after to wait for, and a third of the longest wait for room
	// in a limit of the provider. While a wait would be longer, requests fail at once with
	// its length, so that you can use another model. 0: a minute.
	Hold time.Duration

	mu      sync.Mutex
	lanes   map[place]*lane
	busy    []*lane // those that have waiters
	active  int     // requests under way
	waiting int
	turn    uint64
	timer   *time.Timer
	wakes   time.Time // when it goes off; zero where it does not
}

// A permit is a [pace.Permit]. The zero permit is bound by nothing.
type permit struct {
	of       *Limiter
	lane     *lane
	need     needs
	taken    [2]needs // from the buckets
	answered needs    // of the lane, when this one was sent
	done     needs
	context  float64 // tokens as estimated, before correction
	state    state
}

type state uint8

const (
	sent  state = iota
	heard       // its header was read
	over
)

// A place is where limits hold.
type place struct{ host, model string }

type waiter struct {
	call  pace.Call
	turn  uint64
	lane  *lane
	ready chan error // has room for one
	given permit
}

// Wait waits until a call may be sent. The clients call it. It fails with ctx's error, and
// with an [*llm.APIError] of class [llm.RateLimit] if it would have to wait for longer than
// Hold or with too many others. A nil Limiter permits everything.
func (l *Limiter) Wait(ctx context.Context, c pace.Call) (pace.Permit, error) {
	if l == nil {
		return &permit{}, nil
	}
	p, err := l.wait(ctx, c)
	return &p, err
}

func (l *Limiter) wait(ctx context.Context, c pace.Call) (permit, error) {
	if err := ctx.Err(); err != nil {
		return permit{}, err
	}
	l.mu.Lock()
	now := time.Now()
	a := l.lane(place{c.Host, c.Model})
	if err := l.refused(a, now); err != nil {
		l.mu.Unlock()
		return permit{}, err
	}
	if len(a.queue) == 0 && !l.full() {
		if d, _ := a.wait(c, now); d <= 0 {
			p := l.admit(a, c, now)
			l.mu.Unlock()
			return p, nil
		}
	}
	if l.Waiting > 0 && l.waiting >= l.Waiting {
		l.mu.Unlock()
		return permit{}, &llm.APIError{Class: llm.RateLimit, RetryAfter: -1, Message: fmt.Sprintf("%d requests wait for the rate limit already", l.Waiting)}
	}
	w := &waiter{call: c, turn: l.turn, lane: a, ready: make(chan error, 1)}
	l.turn++
	l.waiting++
	told := pace.Waiting{Host: c.Host, Model: c.Model, Ahead: len(a.queue), Reason: pace.ForPlace}
	if !l.full() {
		told.Least, told.Reason = a.wait(c, now)
	}
	if len(a.queue) == 0 {
		l.busy = append(l.busy, a)
	}
	a.queue = append(a.queue, w)
	l.serve(now)
	l.mu.Unlock()

	if fn, ok := ctx.Value(pace.NoticeKey).(pace.NoticeFunc); ok && fn != nil {
		if done := fn(ctx, told); done != nil {
			defer done()
		}
	}
	select {
	case err := <-w.ready:
		return w.given, err
	case <-ctx.Done():
	}
	l.mu.Lock()
	select {
	case err := <-w.ready: // just now
		l.mu.Unlock()
		if err == nil {
			w.given.drop()
		}
		return permit{}, ctx.Err()
	default:
	}
	l.leave(w)
	l.serve(time.Now())
	l.mu.Unlock()
	return permit{}, ctx.Err()
}

// refused is the error of a call that would wait for too long for the provider.
func (l *Limiter) refused(a *lane, now time.Time) error {
	most := l.Hold
	if most <= 0 {
		most = time.Minute
	}
	if d := a.held.Sub(now); d > most {
		return &llm.APIError{Class: llm.RateLimit, RetryAfter: d, Message: fmt.Sprintf("the provider has asked to wait; %v are left", d.Round(time.Second))}
	}
	if d := a.exhausted(now); d > 3*most {
		return &llm.APIError{Class: llm.RateLimit, RetryAfter: d, Message: fmt.Sprintf("the provider's limit is used up; there is room in %v", d.Round(time.Second))}
	}
	return nil
}

func (l *Limiter) full() bool { return l.Concurrent > 0 && l.active >= l.Concurrent }

func (l *Limiter) lane(at place) *lane {
	a := l.lanes[at]
	if a == nil {
		a = newLane(l)
		if l.lanes == nil {
			l.lanes = map[place]*lane{}
		}
		l.lanes[at] = a
	}
	return a
}

// admit takes the needs of a call.
func (l *Limiter) admit(a *lane, c pace.Call, now time.Time) permit {
	l.active++
	p := permit{of: l, lane: a, context: float64(max(c.Input, 1))}
	a.take(&p, c, now)
	return p
}

// leave takes a waiter out of its queue.
func (l *Limiter) leave(w *waiter) {
	a := w.lane
	if i := slices.Index(a.queue, w); i >= 0 {
		a.queue = slices.Delete(a.queue, i, i+1)
		l.waiting--
	}
	l.idle(a)
}

// idle removes a lane from the busy ones once no call waits in it.
func (l *Limiter) idle(a *lane) {
	if len(a.queue) > 0 {
		return
	}
	if i := slices.Index(l.busy, a); i >= 0 {
		l.busy = slices.Delete(l.busy, i, i+1)
	}
}

// serve admits those whose turn has come, the first of each queue in the order of
// asking, and sets the timer for the next.
func (l *Limiter) serve(now time.Time) {
	for {
		var first *lane
		next := time.Duration(math.MaxInt64)
		for _, a := range slices.Clone(l.busy) {
			if err := l.refused(a, now); err != nil {
				for _, w := range a.queue {
					w.ready <- err
				}
				l.waiting -= len(a.queue)
				a.queue = nil
				l.idle(a)
				continue
			}
			d, _ := a.wait(a.queue[0].call, now)
			if d > 0 {
				next = min(next, d)
			} else if first == nil || a.queue[0].turn < first.queue[0].turn {
				first = a
			}
		}
		if first == nil || l.full() { // the end of a request continues with it
			l.arm(now, next, first == nil && len(l.busy) > 0)
			return
		}
		w := first.queue[0]
		first.queue[0] = nil
		first.queue = first.queue[1:]
		l.waiting--
		l.idle(first)
		w.given = l.admit(first, w.call, now)
		w.ready <- nil
	}
}

// arm has serve called when d is over.
func (l *Limiter) arm(now time.Time, d time.Duration, wanted bool) {
	if !wanted || d == math.MaxInt64 {
		if l.timer != nil {
			l.timer.Stop()
		}
		l.wakes = time.Time{}
		return
	}
	at := now.Add(d)
	if at.Equal(l.wakes) {
		return
	}
	l.wakes = at
	if l.timer == nil {
		l.timer = time.AfterFunc(d, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.wakes = time.Time{}
			l.serve(time.Now())
		})
		return
	}
	l.timer.Reset(d)
}

// Answered reads the header of the reply. retryAfter is its retry-after, negative if it has
// none.
func (p *permit) Answered(status int, h http.Header, retryAfter time.Duration) {
	if p.of == nil || p.state != sent {
		return
	}
	l := p.of
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	p.state = heard
	p.lane.hear(p, status, h, retryAfter, now)
	l.serve(now)
}

// Done reports the final usage of the request, nil if it is not known. A second call
// changes nothing.
func (p *permit) Done(u *llm.Usage) {
	if p.of == nil || p.state == over {
		return
	}
	l := p.of
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	p.lane.settle(p, u, now)
	p.state = over
	l.active--
	l.serve(now)
}

// drop gives everything back: the request was never sent.
func (p *permit) drop() {
	l := p.of
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	p.lane.unsend(p, now)
	p.state = over
	l.active--
	l.serve(now)
}
