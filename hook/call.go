package hook

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// hookContext is the ctx of a hook, one for each call.
type hookContext struct {
	context.Context
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

// call calls one hook in a goroutine of its own: one that never returns holds up
// nothing. It returns when the hook does, when its time is over and when ctx ends,
// whichever is first.
func (c *compiled) call(ctx context.Context, in *Input, index, depth int, watch func(Step)) (out Output, err error) {
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	began := time.Now()
	limit := began.Add(c.Timeout)
	limited, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	hc := &hookContext{Context: limited, depth: depth}
	if watch != nil {
		hc.progress = func(line string) { watch(Step{Name: c.Name, Index: index, Phase: Going, Line: line}) }
		watch(Step{Name: c.Name, Index: index, Phase: Started})
	}
	answers := make(chan answer, 1)
	go c.run(hc, in, answers)
	select {
	case a := <-answers:
		out, err = a.out, a.err
	case <-limited.Done():
		err = context.Cause(limited)
	}
	if d, _ := limited.Deadline(); err != nil && limited.Err() == context.DeadlineExceeded && d.Equal(limit) {
		err = fmt.Errorf("it did not end within its timeout of %v", c.Timeout)
	}
	if err == nil {
		err = out.check()
	}
	if watch != nil {
		watch(Step{Name: c.Name, Index: index, Phase: Ended, Output: out, Err: err, Duration: time.Since(began)})
	}
	return out, err
}

// An answer is what a hook's function has returned.
type answer struct {
	out Output
	err error
}

// run calls the function. A panic and a Goexit are errors.
func (c *compiled) run(ctx context.Context, in *Input, answers chan<- answer) {
	var a answer
	returned := false
	defer func() {
		if !returned {
			a.err = errors.New("it called runtime.Goexit instead of returning")
			if v := recover(); v != nil {
				a.err = fmt.Errorf("it panicked: %v", v)
			}
		}
		answers <- a
	}()
	a.out, a.err = c.Func(ctx, in)
	returned = true
}
