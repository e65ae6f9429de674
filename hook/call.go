package hook

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/internal/lazyctx"
)

// hookContext is the ctx of a hook, one for each call.
type hookContext struct {
	lazyctx.Context
	depth    int
	progress func(line string)
}

type contextKey struct{}

func (c *hookContext) Value(key any) any {
	if key == (contextKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// A turn is one call of one hook, in its own goroutine: one that never returns
// holds up nothing. It is used again, but where the hook was left behind.
type turn struct {
	hook  *compiled
	ctx   *hookContext
	in    *Input
	out   Output
	err   error
	began func()      // run, made once
	over  atomic.Bool // the function has returned, or was left behind
	done  chan bool   // has room for one: whether the function has returned
	stop  func() bool // ends the watch over ctx, nil for none; the watch's lock holds it
	next  *turn       // of those that go on
	last  **turn      // what leads here
}

func newTurn() *turn {
	t := &turn{done: make(chan bool, 1)}
	t.began = t.run
	return t
}

// call calls one hook. It returns when the hook does, when its time is over and
// when ctx ends, whichever is first.
func (s *Set) call(ctx context.Context, c *compiled, in *Input, index, depth int, watch func(Step)) (out Output, err error) {
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	began := time.Now()
	hc := &hookContext{depth: depth}
	hc.Parent, hc.Until = ctx, began.Add(c.Timeout)
	defer hc.Cancel()
	if watch != nil {
		hc.progress = func(line string) { watch(Step{Name: c.Name, Index: index, Phase: Going, Line: line}) }
		watch(Step{Name: c.Name, Index: index, Phase: Started})
	}
	t, ok := s.turns.Get().(*turn)
	if !ok {
		t = newTurn()
	}
	t.hook, t.ctx, t.in = c, hc, in
	s.watch.add(t)
	go t.began()
	returned := <-t.done
	alone := s.watch.remove(t)
	switch {
	case returned:
		if out, err = t.out, t.err; alone {
			t.hook, t.ctx, t.in, t.out, t.err = nil, nil, nil, Output{}, nil
			t.over.Store(false)
			s.turns.Put(t)
		}
		if err != nil && hc.Expired() {
			err = c.late()
		}
	case hc.Expired():
		err = c.late()
	default:
		err = context.Cause(ctx)
	}
	if err == nil {
		err = out.check()
	}
	if watch != nil {
		watch(Step{Name: c.Name, Index: index, Phase: Ended, Output: out, Err: err, Duration: time.Since(began)})
	}
	return out, err
}

func (c *compiled) late() error {
	return fmt.Errorf("it did not end within its timeout of %v", c.Timeout)
}

// run calls the function. A panic and a Goexit are errors.
func (t *turn) run() {
	returned := false
	defer func() {
		if !returned {
			t.err = errors.New("it called runtime.Goexit instead of returning")
			if v := recover(); v != nil {
				t.err = fmt.Errorf("it panicked: %v", v)
			}
		}
		if t.over.CompareAndSwap(false, true) {
			t.done <- true
		}
	}()
	t.out, t.err = t.hook.Func(t.ctx, t.in) // nothing reads the turn of an abandoned hook
	returned = true
}

// leave has the call go on without the function.
func (t *turn) leave() {
	if t.over.CompareAndSwap(false, true) {
		t.done <- false
	}
}

// A watch looks for calls that go on when their ctx ends. Most are over before it
// begins to look, and pay for no timer and no entry in a context.
type watch struct {
	mu    sync.Mutex
	going *turn // a list of those that go on
	timer *time.Timer
	armed bool
}

// patience is how long a call may go on before the end of its ctx is waited for.
const patience = 2 * time.Millisecond

func (w *watch) add(t *turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.next, t.last = w.going, &w.going; t.next != nil {
		t.next.last = &t.next
	}
	w.going = t
	switch {
	case w.armed:
		return
	case w.timer == nil:
		w.timer = time.AfterFunc(patience, w.look)
	default:
		w.timer.Reset(patience)
	}
	w.armed = true
}

// remove reports whether nothing reads the turn any more.
func (w *watch) remove(t *turn) (alone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	alone = t.stop == nil || t.stop()
	if *t.last = t.next; t.next != nil {
		t.next.last = t.last
	}
	t.next, t.last, t.stop = nil, nil, nil
	return alone
}

// look waits for the ends of the ctx of all calls that go on.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = false
	for t := w.going; t != nil; t = t.next {
		if t.stop == nil {
			t.stop = context.AfterFunc(t.ctx, t.leave)
		}
	}
}
