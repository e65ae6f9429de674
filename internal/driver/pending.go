package driver

import (
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/toolrun"
)

// A pendingEffect is an effect that is being carried out.
type pendingEffect struct {
	input     executor.Input
	ctx       Context       // who keeps it keeps the effect: one allocation less (BenchmarkTurns)
	timer     *time.Timer   // used instead of a goroutine by an effect that only waits
	fact      event.Fact    // its result; nil: none
	wanted    bool          // the engine wanted it when last asked
	cancelled bool          // it was cancelled
	closing   bool          // it belongs to the end of a run that is being stopped
	borrowed  bool          // its context is from [Run.spare], and goes back there
	giveUp    time.Time     // when the run stops waiting for it; zero: never
	limit     time.Duration // the tool's timeout; 0 for none
	began     time.Time     // start time, for RunTool
}

// key returns the key of the effect.
func (f *pendingEffect) key() string { return f.ctx.key }

// pendingEffects are the pending effects of a run, in the order of their start.
type pendingEffects []*pendingEffect

// get returns the pending effect with the given key, nil if there is none.
func (fs pendingEffects) get(key string) *pendingEffect {
	for _, f := range fs {
		if f.key() == key {
			return f
		}
	}
	return nil
}

//go:noinline // called from many places: every program stays smaller
func (fs *pendingEffects) drop(f *pendingEffect) {
	if i := slices.Index(*fs, f); i >= 0 {
		*fs = slices.Delete(*fs, i, i+1)
	}
}

// firstGiveUp returns the earliest time at which an effect must be given up, zero for
// never.
func (fs pendingEffects) firstGiveUp() (next time.Time) {
	for _, f := range fs {
		if !f.giveUp.IsZero() && (next.IsZero() || f.giveUp.Before(next)) {
			next = f.giveUp
		}
	}
	return next
}

// completedEffects holds effects that have ended, until the holder of the token collects
// them.
type completedEffects struct {
	mu    sync.Mutex
	list  []*pendingEffect
	taken []*pendingEffect // the list that was taken last, to be used again
}

func (c *completedEffects) add(f *pendingEffect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, f)
}

// take returns the completed effects and empties the list. The result is valid until the
// next call.
func (c *completedEffects) take() []*pendingEffect {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list, c.taken = c.taken[:0], c.list
	return c.taken
}

// cancel cancels a pending effect. over: it will have no result, so nothing has to wait for
// it.
func (f *pendingEffect) cancel() (over bool) {
	if f.timer != nil {
		f.ctx.Cancel()
		return f.timer.Stop()
	}
	if !f.cancelled {
		f.cancelled, f.giveUp = true, time.Now().Add(executor.Grace+leeway)
		f.ctx.Cancel()
	}
	return false
}

// setDeadline limits the time of a pending effect that must not be cancelled.
func (f *pendingEffect) setDeadline() {
	if f.giveUp.IsZero() {
		f.cancelled, f.giveUp = true, time.Now().Add(executor.Grace+leeway)
	}
}

// leeway is added to the tools' own grace time: the run waits this much longer for a
// cancelled effect.
const leeway = time.Second

// broken returns the fact of an effect that failed because of a fault in the program.
func (f *pendingEffect) broken(fault toolrun.Fault, why string) event.Fact {
	return f.input.Broken(fault, why, time.Since(f.began))
}

// Pending reports whether an effect is being carried out.
func (r *Run) Pending(key string) bool { return r.pending.get(key) != nil }

// Find returns the input of the first pending effect for which is returns true, nil if
// there is none.
func (r *Run) Find(is func(*executor.Input) bool) *executor.Input {
	for _, f := range r.pending {
		if is(&f.input) {
			return &f.input
		}
	}
	return nil
}

// Drop cancels the pending effect with the given key, if there is one, and ignores its
// result.
func (r *Run) Drop(key string) {
	if f := r.pending.get(key); f != nil {
		f.cancel()
		f.ctx.muted.Store(true)
		r.pending.drop(f)
	}
}
