package driver

import (
	"context"
	"slices"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/llmconst"
)

// A detacher stops a run without recording an end, so that the run can be resumed. It is an
// interface so that programs that never detach do not contain [detachment].
type detacher interface {
	// holds reports whether the run must start nothing more.
	holds() bool
	// rest records what has ended. waits: effects are pending. Otherwise the run is over.
	rest() (waits bool)
	// outcome returns the fact to record for a cancelled effect, nil for none.
	outcome(*pendingEffect) event.Fact
	// hurry cancels all pending effects.
	hurry()
	// leave is called at the end of the run, before [Host.Closed], and what it returns after it.
	leave() func()
}

// Detach stops the run without recording an end. No new effect starts. A model call, a
// question and a wait are cancelled; other pending effects may end until ctx ends. Detach
// does not wait for the end of the run. If it detaches the run before its end, left is called,
// and after [Host.Closed] what it returns. Call release when the run is over.
func (r *Run) Detach(ctx context.Context, left func() func()) (release func() bool) {
	ok, _ := r.With(context.Background(), func() error {
		if r.detached == nil {
			r.detached = &detachment{run: r, left: left}
		}
		return nil
	})
	if !ok {
		return func() bool { return true }
	}
	return context.AfterFunc(ctx, func() {
		if r.takeToken() {
			r.detached.hurry()
			r.drive()
		}
	})
}

// A detachment implements [detacher]. Only the goroutine that holds the run's token uses it.
type detachment struct {
	run  *Run
	left func() func()
	late bool // the time for pending effects is over
	over bool // the run was detached before its end
}

// holds implements [detacher]. A run that still closes an earlier one, or that is being
// stopped, comes to its end first.
func (d *detachment) holds() bool {
	r := d.run
	return r.next == nil && r.conv.State.Running() && !r.conv.State.Stopping()
}

func (d *detachment) rest() (waits bool) {
	r := d.run
	r.pending = slices.DeleteFunc(r.pending, func(f *pendingEffect) (over bool) {
		return (d.late || endsAtOnce(f.input.Effect)) && f.cancel()
	})
	if r.Commit() != nil {
		return false
	}
	if len(r.pending) > 0 {
		return true
	}
	d.over = true
	r.wrapUp()
	return false
}

// endsAtOnce reports whether an effect is cancelled as soon as the run is detached. The
// resumed run repeats it.
func endsAtOnce(e engine.Effect) bool {
	switch e.(type) {
	case engine.CallModel, engine.Compact, engine.Wait, engine.Ask, engine.AskPerson:
		return true
	}
	return false
}

// outcome implements [detacher]. Effects that may be repeated have no outcome, as if the
// program had died.
func (d *detachment) outcome(f *pendingEffect) event.Fact {
	if !d.holds() {
		return f.fact
	}
	switch f := f.fact.(type) {
	case event.AssistantMessage, event.Compacted:
		return f
	case event.ModelFailed:
		f.Class, f.Retry, f.RetryAt = llmconst.Detached, true, time.Now()
		return f
	case event.ToolResult:
		if !d.run.conv.State.Call(f.Call).Repeatable {
			return f
		}
	case fact.ToolDone:
		if !d.run.conv.State.Call(f.Call).Repeatable {
			return f
		}
	}
	return nil
}

func (d *detachment) hurry() { d.late = true }

// leave returns what sets the outcome of the run, for its caller. The state that it reads belongs
// to the run until [Host.Closed].
func (d *detachment) leave() func() {
	if d.over && d.run.committer.failed == nil {
		return d.left()
	}
	return func() {}
}
