package agent

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A HookEvent is a point of a run at which hooks are called.
type HookEvent string

const (
	PreToolUse  HookEvent = "PreToolUse"  // before rules and mode judge a call
	PostToolUse HookEvent = "PostToolUse" // after a call, before the model sees the result
)

// A Hook is called at points of a run. Hooks of one event are called one after
// the other, in order, and each sees what the ones before it changed. A
// PreToolUse hook that fails, panics or is late denies the call; a PostToolUse
// hook that does is logged and changes nothing. A hook may be called again for
// the same call after a crash.
type Hook struct {
	On      HookEvent
	Match   string        // regular expression for the tool's whole name; "" is every tool
	Timeout time.Duration // 0: 60 s
	Func    func(ctx context.Context, in HookInput) (HookOutput, error)
}

// A HookInput is what a hook is told.
type HookInput struct {
	Event  HookEvent
	Call   tool.Call
	Result *tool.Result // with PostToolUse
}

// A HookOutput is what a hook wants. The zero HookOutput changes nothing.
type HookOutput struct {
	// Decision, with PreToolUse: deny is final; allow spares the question that the
	// mode would ask, but lifts no deny or ask rule and not plan mode; ask asks.
	// Input replaces the call's input and is judged again.
	Decision permission.Decision
	Result   *tool.Result // with PostToolUse: replaces the result
	Stop     string       // not empty: the run is stopped, for this reason
}

const hookTimeout = time.Minute

func (h Hook) check() error {
	switch {
	case h.On != PreToolUse && h.On != PostToolUse:
		return fmt.Errorf("there is no hook event %q; the events are %s and %s", h.On, PreToolUse, PostToolUse)
	case h.Func == nil:
		return fmt.Errorf("a hook for %s has no Func", h.On)
	}
	if _, err := regexp.Compile(h.Match); err != nil {
		return fmt.Errorf("a hook for %s: Match: %w", h.On, err)
	}
	return nil
}

// call calls the hook; late hooks are left behind.
func (h Hook) call(ctx context.Context, in HookInput) (HookOutput, error) {
	timeout := h.Timeout
	if timeout <= 0 {
		timeout = hookTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the %s hook took longer than %v", h.On, timeout))
	defer cancel()
	return within(ctx, func() (HookOutput, error) { return h.Func(ctx, in) })
}

// within calls fn in a goroutine of its own and returns when fn does or ctx
// ends, whichever is first. A panic or a Goexit in fn is an error.
func within[T any](ctx context.Context, fn func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		out := outcome{err: errors.New("the callback ended its goroutine")}
		defer func() {
			if v := recover(); v != nil {
				out.err = fmt.Errorf("the callback panicked: %v", v)
			}
			done <- out
		}()
		out.value, out.err = fn()
	}()
	select {
	case out := <-done:
		return out.value, out.err
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}

// hooks are the hooks of an agent, compiled.
type hooks []compiledHook

type compiledHook struct {
	Hook
	match *regexp.Regexp
}

func compileHooks(hs []Hook) hooks {
	var out hooks
	for _, h := range hs {
		out = append(out, compiledHook{h, regexp.MustCompile(`^(?:` + h.Match + `)$`)})
	}
	return out
}

func (hs hooks) on(e HookEvent, toolName string) hooks {
	var out hooks
	for _, h := range hs {
		if h.On == e && (h.Match == "" || h.match.MatchString(toolName)) {
			out = append(out, h)
		}
	}
	return out
}

// after runs the PostToolUse hooks over a result.
func (x *executor) after(ctx context.Context, key string, j *job) event.Fact {
	call, done := j.call, j.done
	result := done.Result
	stop := ""
	for _, h := range x.hooks.on(PostToolUse, call.Name) {
		shown := result
		out, err := h.call(ctx, HookInput{Event: PostToolUse, Call: call, Result: &shown})
		if ctx.Err() != nil {
			// The run is being stopped. What the hook would have taken out is not known.
			withheld := *tool.Errorf("%s ran; its result is withheld, since the run was stopped before a hook had seen it", call.Name)
			withheld.Patch = result.Patch
			result = withheld
			break
		}
		if err != nil {
			x.log.Warn("PostToolUse hook failed", "tool", call.Name, "call", call.ID, "error", x.secrets.text(err.Error()))
			continue
		}
		if out.Result != nil {
			patch := result.Patch
			result = *x.finish(call, out.Result)
			result.Patch = patch
		}
		if out.Stop != "" {
			stop = out.Stop
		}
	}
	return event.ToolResult{Key: key, Call: call.ID, Cause: done.Cause, Result: result, Fault: done.Fault, Duration: done.Duration, Stop: stop}
}
