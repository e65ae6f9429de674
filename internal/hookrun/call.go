package hookrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookctx"
)

// call calls one hook in a goroutine of its own: one that never returns holds up
// nothing. It returns when the hook does, when its time is over and when ctx ends,
// whichever is first.
func (c *compiled) call(ctx context.Context, in *hook.Input, index, depth int, watch func(Step)) (out hook.Output, err error) {
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	began := time.Now()
	limit := began.Add(c.Timeout)
	limited, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	var progress func(line string)
	if watch != nil {
		progress = func(line string) { watch(Step{Name: c.Name, Index: index, Phase: Going, Line: line}) }
		watch(Step{Name: c.Name, Index: index, Phase: Started})
	}
	answers := make(chan answer, 1)
	go c.run(hookctx.New(limited, depth, progress), in, answers)
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
		err = checkOutput(&out)
	}
	if watch != nil {
		watch(Step{Name: c.Name, Index: index, Phase: Ended, Output: out, Err: err, Duration: time.Since(began)})
	}
	return out, err
}

// An answer is what a hook's function has returned.
type answer struct {
	out hook.Output
	err error
}

// run calls the function. A panic and a Goexit are errors.
func (c *compiled) run(ctx context.Context, in *hook.Input, answers chan<- answer) {
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
