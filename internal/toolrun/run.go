// Package toolrun runs tools as every driver should, and asks them about calls.
package toolrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/openagent-go/agent/tool"
)

// DefaultTimeout is how long a tool may run whose Spec says nothing.
const DefaultTimeout = 10 * time.Minute

// An Outcome is the outcome of running a tool.
type Outcome struct {
	Result *tool.Result // the result for the model; never nil
	Fault  Fault
	// Err is nil, or matches ErrStuck and names tool and call. The tool's goroutine
	// then lives on until the tool returns, which closes Left.
	Err  error
	Left <-chan struct{}
}

// Run is [Do] in its own goroutine. It returns when the tool does; a tool
// that continues for longer than grace after ctx or its timeout ended is given up,
// with Fault Stuck.
func Run(ctx context.Context, t tool.Tool, call tool.Call, grace time.Duration) Outcome {
	l := newLimited(ctx, Timeout(t))
	done := make(chan Outcome, 1)
	left := make(chan struct{})
	go func() {
		defer close(left)
		defer l.cancel()
		var out Outcome
		defer func() { done <- out }() // after a runtime.Goexit too
		l.attempt(t, &call, &out)
	}()
	select {
	case out := <-done:
		return out
	case <-l.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case out := <-done:
		return out
	case <-timer.C:
	}
	why := "was cancelled"
	if l.expired() {
		why = timedOut(l.limit)
	}
	return Outcome{
		Result: GivenUp(call, why),
		Fault:  Stuck,
		Err:    fmt.Errorf("running %s (call %s): %w", call.Name, call.ID, ErrStuck),
		Left:   left,
	}
}

// Do calls t as every driver should: with the timeout of its Spec, and so that a
// panic in the tool becomes an error result, as does an error and a missing
// result. A runtime.Goexit in the tool ends the caller's goroutine.
//
// A tool that completes in spite of its timeout has completed. Its answer after the end of
// ctx is the result too; ctx's error becomes "cancelled".
func Do(ctx context.Context, t tool.Tool, call tool.Call) (out Outcome) {
	l := newLimited(ctx, Timeout(t))
	defer l.cancel()
	l.attempt(t, &call, &out)
	return out
}

// A limited is the context of a tool's run, which ends after a time limit.
type limited struct {
	context.Context
	cancel context.CancelFunc
	limit  time.Duration // 0 for none
	until  time.Time     // zero for none
}

func newLimited(ctx context.Context, limit time.Duration) limited {
	l := limited{limit: limit}
	if limit > 0 {
		l.until = time.Now().Add(limit)
		l.Context, l.cancel = context.WithDeadline(ctx, l.until)
	} else {
		l.Context, l.cancel = context.WithCancel(ctx)
	}
	return l
}

// expired reports whether it was the time limit that ended the context.
func (l *limited) expired() bool {
	d, _ := l.Deadline()
	return l.limit > 0 && l.Err() == context.DeadlineExceeded && d.Equal(l.until)
}

// GivenUp is the result of a tool that did not return, and why it should have.
func GivenUp(call tool.Call, why string) *tool.Result {
	return tool.Errorf("%s %s and did not stop; what it has done is not known", call.Name, why)
}

// Timeout returns the timeout of t's Spec, 0 for none.
func Timeout(t tool.Tool) time.Duration {
	switch d := specOf(t).Timeout; {
	case d == 0:
		return DefaultTimeout
	case d < 0:
		return 0
	default:
		return d
	}
}

// specOf returns the Spec of t, the zero one where that panics: the tool meets the
// same panic where it is reported.
func specOf(t tool.Tool) (s tool.Spec) {
	defer func() { _ = recover() }()
	return t.Spec()
}

func timedOut(limit time.Duration) string { return fmt.Sprintf("timed out after %v", limit) }

// attempt runs t to its end, whichever way it ends.
func (l *limited) attempt(t tool.Tool, call *tool.Call, out *Outcome) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			*out = Outcome{Result: tool.Errorf("%s panicked: %v\n%s", call.Name, v, stack()), Fault: Panicked}
		} else {
			*out = Outcome{Result: tool.Errorf("%s ended its goroutine without an answer (runtime.Goexit)", call.Name), Fault: Panicked}
		}
	}()
	r, err := t.Run(l.Context, *call)
	if err == nil {
		r = verified(t, call, r)
	}
	late := ""
	if (err != nil || r != nil && r.IsError) && l.expired() {
		late = timedOut(l.limit)
	}
	*out = judge(l.Context, call, r, err, late)
	returned = true
}

// judge turns the return values of a tool into an Outcome. late is the reason if the call's
// time was over, else "".
func judge(ctx context.Context, call *tool.Call, r *tool.Result, err error, late string) Outcome {
	switch {
	case isInputError(err):
		return Outcome{Result: tool.Errorf("%s", err), Fault: InvalidInput}
	case r != nil && errors.Is(err, tool.ErrTimeout):
		return Outcome{Result: r, Fault: TimedOut}
	case err != nil && late != "":
		return Outcome{Result: tool.Errorf("%s %s", call.Name, late), Fault: TimedOut}
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return Outcome{Result: tool.Errorf("%s was cancelled", call.Name)}
	case err != nil:
		return Outcome{Result: tool.Errorf("%s: %v", call.Name, err)}
	case r == nil:
		return Outcome{Result: tool.Errorf("%s returned no result", call.Name)}
	case r.IsError && late != "":
		out := *r
		out.Content = append(out.Content[:len(out.Content):len(out.Content)], tool.Errorf("\n%s %s", call.Name, late).Content...)
		return Outcome{Result: &out, Fault: TimedOut}
	}
	if len(r.Details) > 0 && !json.Valid(r.Details) {
		out := *r
		out.Details = nil // it could not be recorded
		r = &out
	}
	return Outcome{Result: r}
}

func isInputError(err error) bool {
	if err == nil {
		return false
	}
	var input *tool.InputError
	return errors.As(err, &input)
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
