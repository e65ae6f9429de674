package driver

import (
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/tool"
)

// A pendingEffect is an effect that is being carried out.
type pendingEffect struct {
	key       string
	input     executor.Input
	ctx       *Context
	timer     *time.Timer   // in place of a goroutine, for an effect that only waits
	fact      event.Fact    // what came of it; nil: nothing
	wanted    bool          // by the engine, when it was last asked
	cancelled bool          // it was cancelled
	closing   bool          // it belongs to the end of a run that is being stopped
	giveUp    time.Time     // when it is waited for no longer; zero for never
	limit     time.Duration // the tool's timeout; 0 for none
	began     time.Time     // of RunTool
}

// pendingEffects are those of a run, in the order of their start.
type pendingEffects []*pendingEffect

// get returns the pending effect of a key, nil if there is none.
func (fs pendingEffects) get(key string) *pendingEffect {
	for _, f := range fs {
		if f.key == key {
			return f
		}
	}
	return nil
}

func (fs *pendingEffects) drop(f *pendingEffect) {
	if i := slices.Index(*fs, f); i >= 0 {
		*fs = slices.Delete(*fs, i, i+1)
	}
}

// firstGiveUp is when the first of them has to be given up, zero for never.
func (fs pendingEffects) firstGiveUp() (next time.Time) {
	for _, f := range fs {
		if !f.giveUp.IsZero() && (next.IsZero() || f.giveUp.Before(next)) {
			next = f.giveUp
		}
	}
	return next
}

// completedEffects have ended, and wait for the holder of the token.
type completedEffects struct {
	mu   sync.Mutex
	list []*pendingEffect
}

func (c *completedEffects) add(f *pendingEffect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, f)
}

// take returns the effects that wait, and forgets them.
func (c *completedEffects) take() []*pendingEffect {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.list
	c.list = nil
	return list
}

// cancel cancels a pending effect. It reports whether nothing will come of it any more.
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

// setDeadline bounds the time of a pending effect that is not to be cancelled.
func (f *pendingEffect) setDeadline() {
	if f.giveUp.IsZero() {
		f.cancelled, f.giveUp = true, time.Now().Add(executor.Grace+leeway)
	}
}

// leeway is how much longer than the tools' own grace the loop waits for a
// cancelled effect.
const leeway = time.Second

// broken makes the fact of an effect that went wrong in the program itself.
func (f *pendingEffect) broken(fault tool.Fault, why string) event.Fact {
	return f.input.Broken(fault, why, time.Since(f.began))
}

// Pending reports whether an effect is being carried out.
func (r *Run) Pending(key string) bool { return r.pending.get(key) != nil }

// Find returns the input of the first pending effect that is is true of, nil if there is none.
func (r *Run) Find(is func(*executor.Input) bool) *executor.Input {
	for _, f := range r.pending {
		if is(&f.input) {
			return &f.input
		}
	}
	return nil
}

// Drop cancels a pending effect, if there is one of the key. Nothing comes of it.
func (r *Run) Drop(key string) {
	if f := r.pending.get(key); f != nil {
		f.cancel()
		f.ctx.muted.Store(true)
		r.pending.drop(f)
	}
}
