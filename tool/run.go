package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"runtime/debug"
	"strings"
	"time"
)

// DefaultTimeout is how long a tool may run whose Spec says nothing.
const DefaultTimeout = 10 * time.Minute

// ErrStuck is matched by the error for a tool that did not return after its
// context had ended.
var ErrStuck = errors.New("tool did not return after its context had ended")

// ErrTimeout is what a tool that bounds its own time returns beside its result
// when the time was over: the call then counts as timed out.
var ErrTimeout = errors.New("the tool's own time limit is over")

// An Outcome is what came of running a tool.
type Outcome struct {
	Result *Result // what the model sees; never nil
	Fault  Fault
	// Err is nil, or matches ErrStuck and names tool and call. The tool's goroutine
	// then lives on until the tool returns, which closes Left.
	Err  error
	Left <-chan struct{}
}

// Run calls t as every driver should: with the timeout of its Spec, in a
// goroutine of its own, so that a panic or a runtime.Goexit in the tool becomes
// an error result, as does an error and a missing result. It returns when the
// tool does; a tool that goes on for longer than grace after ctx or its timeout
// ended is given up, with Fault Stuck.
//
// A tool that completes in spite of its timeout has completed. What it answers
// after ctx ended is the result as well; ctx's error becomes "cancelled".
func Run(ctx context.Context, t Tool, call Call, grace time.Duration) Outcome {
	timeout := timeoutOf(t)
	toolCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	if timeout > 0 {
		toolCtx, cancel = context.WithTimeoutCause(toolCtx, timeout, &timeoutError{timeout})
		defer cancel()
	}

	done := make(chan Outcome, 1)
	left := make(chan struct{})
	go attempt(toolCtx, t, call, done, left)
	select {
	case out := <-done:
		return out
	case <-toolCtx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case out := <-done:
		return out
	case <-timer.C:
	}
	why := "was cancelled"
	if late(toolCtx) {
		why = context.Cause(toolCtx).Error()
	}
	return Outcome{
		Result: Errorf("%s %s and did not stop; what it has done is not known", call.Name, why),
		Fault:  Stuck,
		Err:    fmt.Errorf("running %s (call %s): %w", call.Name, call.ID, ErrStuck),
		Left:   left,
	}
}

// timeoutOf returns the timeout of t's Spec, 0 for none.
func timeoutOf(t Tool) (d time.Duration) {
	defer func() {
		if recover() != nil {
			d = DefaultTimeout // Run meets the same panic where it is reported
		}
	}()
	switch d := t.Spec().Timeout; {
	case d == 0:
		return DefaultTimeout
	case d < 0:
		return 0
	default:
		return d
	}
}

// A timeoutError is the cause of a context that ended by a tool's timeout.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("timed out after %v", e.limit) }
func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }

// late reports whether ctx ended by the tool's own timeout.
func late(ctx context.Context) bool {
	var e *timeoutError
	return errors.As(context.Cause(ctx), &e)
}

// attempt runs t to its end, whichever way it ends, and closes left.
func attempt(ctx context.Context, t Tool, call Call, done chan<- Outcome, left chan<- struct{}) {
	var out Outcome
	returned := false
	defer close(left)
	defer func() {
		if !returned {
			if v := recover(); v != nil {
				out = Outcome{Result: Errorf("%s panicked: %v\n%s", call.Name, v, stack()), Fault: Panicked}
			} else {
				out = Outcome{Result: Errorf("%s ended its goroutine without an answer (runtime.Goexit)", call.Name), Fault: Panicked}
			}
		}
		done <- out
	}()
	r, err := t.Run(ctx, call)
	out = judge(ctx, call, r, err)
	returned = true
}

// judge turns what a tool returned into an Outcome.
func judge(ctx context.Context, call Call, r *Result, err error) Outcome {
	var input *InputError
	switch {
	case errors.As(err, &input):
		return Outcome{Result: Errorf("%s", err), Fault: InvalidInput}
	case r != nil && errors.Is(err, ErrTimeout):
		return Outcome{Result: r, Fault: TimedOut}
	case err != nil && late(ctx):
		return Outcome{Result: Errorf("%s %v", call.Name, context.Cause(ctx)), Fault: TimedOut}
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return Outcome{Result: Errorf("%s was cancelled", call.Name)}
	case err != nil:
		return Outcome{Result: Errorf("%s: %v", call.Name, err)}
	case r == nil:
		return Outcome{Result: Errorf("%s returned no result", call.Name)}
	case r.IsError && late(ctx):
		out := *r
		out.Content = append(out.Content[:len(out.Content):len(out.Content)], Errorf("\n%s %v", call.Name, context.Cause(ctx)).Content...)
		return Outcome{Result: &out, Fault: TimedOut}
	}
	if len(r.Details) > 0 && !json.Valid(r.Details) {
		out := *r
		out.Details = nil // it could not be recorded
		r = &out
	}
	return Outcome{Result: r}
}

// maxFrames is how many functions of a panic's stack the model sees.
const maxFrames = 8

// stack returns the functions that a panic came through, innermost first,
// without the folders of their files.
func stack() string {
	_, trace, _ := strings.Cut(string(debug.Stack()), "\npanic(")
	lines := strings.Split(trace, "\n")
	var b strings.Builder
	for i := 2; i+1 < len(lines) && i < 2+2*maxFrames; i += 2 {
		function, _, _ := strings.Cut(path.Base(lines[i]), "(")
		where, _, _ := strings.Cut(path.Base(strings.TrimSpace(lines[i+1])), " +")
		fmt.Fprintf(&b, "\tat %s (%s)\n", function, where)
	}
	return strings.TrimRight(b.String(), "\n")
}
