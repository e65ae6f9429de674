// Package hookrun calls hooks at an event and joins their answers, and reads what commands
// answer.
package hookrun

import (
	"context"
	"fmt"
	"time"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookctx"
	"github.com/openagent-go/agent/permission"
)

// A Step is something that is seen of a hook while it is called.
type Step struct {
	Name     string
	Index    int // among those of the event
	Phase    Phase
	Line     string      // Going
	Output   hook.Output // Ended
	Err      error       // Ended
	Duration time.Duration
}

// A Phase is how far a hook is.
type Phase int

const (
	Started Phase = iota
	Going
	Ended
)

// An Outcome is the joint answer of the hooks of one event.
type Outcome struct {
	hook.Outcome
	By string // name of the hook whose Permission counts
}

// Run calls the hooks of in.Event, one after the other, and joins their answers. watch, if
// not nil, sees each; it may be called from other goroutines while a hook runs. When ctx
// ends Run returns soon, and the hooks that have not been called count as failed.
func (s *Set) Run(ctx context.Context, in hook.Input, watch func(Step)) Outcome {
	if s == nil {
		return Outcome{}
	}
	return s.run(ctx, &in, watch)
}

func (s *Set) run(ctx context.Context, in *hook.Input, watch func(Step)) (all Outcome) {
	hooks, subject, depth := s.on[in.Event], subjectOf(in), hookctx.Depth(ctx)+1
	for i := range hooks {
		h := &hooks[i]
		if !h.matches(subject) {
			continue
		}
		out, err := h.call(ctx, in, i, depth, watch)
		if err != nil {
			err = fmt.Errorf("the %s hook %q failed: %w", in.Event, h.Name, err)
			all.Errors = append(all.Errors, err)
			if !Guards(in.Event) {
				continue
			}
			out = hook.Output{Block: true, Reason: err.Error()}
		}
		if add(&all, in.Event, &out) {
			all.By = h.Name
		}
		if out.Input != nil || out.Result != nil {
			next := *in // one that was left behind may look at the other
			if in = &next; out.Input != nil {
				in.Input = out.Input
			}
			if out.Result != nil {
				in.Result = out.Result
			}
		}
	}
	return all
}

// add joins the answer of one more hook. It reports whether its Permission counts from now
// on.
func add(all *Outcome, e hook.Event, out *hook.Output) (decides bool) {
	if out.Block && (e == hook.PreToolUse || e == hook.PermissionRequest) || out.Permission == permission.Denied {
		out.Block, out.Permission = true, permission.Denied
	}
	if stricter(out.Permission, all.Permission) {
		decides = true
		all.Permission = out.Permission
		if out.Reason != "" || !all.Block {
			all.Reason = out.Reason
		}
	}
	if out.Block {
		all.Reason = joined(blockReason(all), out.Reason)
		all.Block = true
	}
	if out.Stop {
		all.Stop, all.StopReason = true, joined(all.StopReason, out.StopReason)
	}
	if out.Input != nil {
		all.Input = out.Input
	}
	if out.Result != nil {
		all.Result = out.Result
	}
	if out.Display != nil {
		all.Display = out.Display
	}
	if out.Title != "" {
		all.Title = out.Title
	}
	if out.Action != "" {
		all.Action, all.Content = out.Action, out.Content
	}
	all.Context, all.Message = joined(all.Context, out.Context), joined(all.Message, out.Message)
	all.Updates = append(all.Updates, out.Updates...)
	all.Interrupt, all.Retry = all.Interrupt || out.Interrupt, all.Retry || out.Retry
	return decides
}

// blockReason is why the hooks so far block.
func blockReason(all *Outcome) string {
	if all.Block {
		return all.Reason
	}
	return ""
}

// stricter reports whether a permission counts before the one there was.
func stricter(a, b permission.Behavior) bool {
	rank := func(p permission.Behavior) int {
		switch p {
		case permission.Denied:
			return 3
		case permission.Asked, permission.Deferred:
			return 2
		case permission.Allowed:
			return 1
		}
		return 0
	}
	return rank(a) > 0 && rank(a) >= rank(b) && a != b
}
