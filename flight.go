package agent

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/leash"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/limit"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A flight is an effect that is being carried out.
type flight struct {
	key     string
	job     job
	line    *line
	timer   *time.Timer   // in place of a goroutine, for an effect that only waits
	fact    event.Fact    // what came of it; nil: nothing
	news    *news         // likewise, of askNotices
	pool    *newPool      // likewise, of askToolsets
	wanted  bool          // by the engine, when it was last asked
	cut     bool          // it was cancelled
	closing bool          // it belongs to the end of a run that is being stopped
	giveUp  time.Time     // when it is waited for no longer; zero for never
	limit   time.Duration // the tool's timeout; 0 for none
	began   time.Time     // of RunTool
}

// flights are those of a run, in the order of their start.
type flights []*flight

// get returns the flight of an effect, nil if there is none.
func (fs flights) get(key string) *flight {
	for _, f := range fs {
		if f.key == key {
			return f
		}
	}
	return nil
}

func (fs *flights) drop(f *flight) {
	if i := slices.Index(*fs, f); i >= 0 {
		*fs = slices.Delete(*fs, i, i+1)
	}
}

// A line ties what carries out an effect to the loop: its context, and where it
// shows signals. A tool, a model and a callback may hold on to it for longer than
// they were asked to, so that each flight has a new one.
type line struct {
	leash.Leash
	loop  *loop
	key   string      // of the effect
	muted atomic.Bool // its signals are not shown any more
	span  openSpan    // of the effect
}

// Value lets tools find the run, see [ParentOf].
func (n *line) Value(key any) any {
	switch key {
	case runKey{}:
		return n.loop
	case limit.NoticeKey:
		return limit.NoticeFunc(n.waits)
	}
	return n.Leash.Value(key)
}

func (n *line) watched() bool { return n.loop.feed != nil }

func (n *line) show(sig event.Signal) {
	if n.watched() && !n.muted.Load() {
		n.loop.feed.put(event.Event{Session: n.loop.s.ID, Data: sig})
	}
}

func (n *line) text(key, text string) {
	if n.watched() && !n.muted.Load() && !n.loop.feed.more(key, text) {
		n.show(event.TextDelta{Key: key, Text: text})
	}
}

// flightFor returns a flight for an effect: a new one, or one that has landed.
func (l *loop) flightFor(e engine.Effect) *flight {
	var f *flight
	if n := len(l.spare); n > 0 {
		f, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		f = new(flight)
	}
	f.key, f.line, f.wanted = e.Key(), &line{loop: l, key: e.Key()}, true
	f.line.Parent = l.ctx
	f.job.effect, f.job.signals = e, f.line
	return f
}

// retire keeps a flight that has landed for another effect, if nothing that was
// started for it can look at it any more: these have copies of what they need.
func (l *loop) retire(f *flight) {
	switch f.job.effect.(type) {
	case engine.CallModel, engine.Authorize, engine.RunTool:
		if len(l.spare) < defaultParallel {
			*f = flight{}
			l.spare = append(l.spare, f)
		}
	}
}

func (f *flight) name() string {
	if f.job.call.Name != "" {
		return f.job.call.Name
	}
	return f.key
}

// ground cancels a flight. It reports whether nothing will come of it any more.
func (f *flight) ground() (over bool) {
	if f.timer != nil {
		return f.timer.Stop()
	}
	if !f.cut {
		f.cut, f.giveUp = true, time.Now().Add(grace+leeway)
		f.line.Cut()
	}
	return false
}

// hurry bounds the time of a flight that is not to be cancelled.
func (f *flight) hurry() {
	if f.giveUp.IsZero() {
		f.cut, f.giveUp = true, time.Now().Add(grace+leeway)
	}
}

// leeway is how much longer than the tools' own grace the loop waits for a
// cancelled effect.
const leeway = time.Second

// overdue returns the fact of a wait that was over before it began, nil if there
// is none: the time of a run that is resumed late.
func (l *loop) overdue(effects []engine.Effect) event.Fact {
	for _, e := range effects {
		if w, ok := e.(engine.Wait); ok && l.flights.get(w.Key()) == nil && time.Until(w.Until) <= 0 {
			return event.Waited{Key: w.Key()}
		}
	}
	return nil
}

// launch starts the effects that are not in flight, after recording their
// intents, and returns the one that is left for the caller to carry out. It
// reports whether the intents could not be recorded.
func (l *loop) launch(effects []engine.Effect) (mine *flight, failed bool) {
	var intents []event.Fact
	l.ready = l.ready[:0]
	for _, e := range effects {
		if l.flights.get(e.Key()) != nil {
			continue
		}
		f := l.flightFor(e)
		l.prepare(&f.job)
		if intent := e.Intent(); intent != nil {
			intents = append(intents, intent)
		}
		l.ready = append(l.ready, f)
	}
	if l.record(intents...) != nil {
		return nil, true
	}
	for _, f := range l.ready {
		l.depart(f)
		if f.timer != nil {
			continue
		}
		if mine != nil {
			go func(f *flight) {
				if l.fly(f) {
					l.drive()
				}
			}(mine)
		}
		mine = f
	}
	clear(l.ready)
	return mine, false
}

// depart puts a flight into the air.
func (l *loop) depart(f *flight) {
	l.flights = append(l.flights, f)
	switch e := f.job.effect.(type) {
	case engine.Wait:
		f.timer = time.AfterFunc(time.Until(e.Until), func() {
			f.fact = event.Waited{Key: e.Key()}
			if l.arrive(f) {
				l.drive()
			}
		})
	case engine.RunHooks, engine.GatherResults, engine.Fire:
		// Hooks may take secrets out of a result: those that are wanted to end a run
		// are not ended with it, and have a bounded time.
		f.closing = l.fold.state.Stopping()
		f.line.Loose = f.closing
	case engine.RunTool:
		f.began = time.Now()
		if f.limit = tool.Timeout(l.x.tool(f.job.call.Name)); f.limit > 0 {
			f.giveUp = f.began.Add(f.limit + grace)
		}
	}
}

// fly carries out a flight, without the baton, and takes the baton then. It
// reports false when the run is over meanwhile.
func (l *loop) fly(f *flight) (ok bool) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil { // runtime.Goexit: this goroutine is lost
			f.fact = l.broken(f, tool.Panicked, "it ended its goroutine without an answer (runtime.Goexit)")
			go func() {
				if l.arrive(f) {
					l.drive()
				}
			}()
			return
		}
		why := l.x.secrets.text(fmt.Sprintf("panic: %v", v))
		l.x.complain("an effect failed", "effect", f.key, "error", why, "stack", string(debug.Stack()))
		f.fact = l.broken(f, tool.Stuck, why)
		ok = l.arrive(f)
	}()
	switch f.job.effect.(type) {
	case askNotices:
		f.news.texts = l.x.notices()
		f.news.notes = l.x.notes(&f.line.Leash, f.news.place)
		l.fetch(f.line)
	case askToolsets:
		f.pool = l.x.refreshTools(&f.line.Leash, f.job.model)
	default:
		f.fact = l.x.do(f.line, &f.job)
	}
	returned = true
	return l.arrive(f)
}

// arrive hands over what came of a flight and takes the baton.
func (l *loop) arrive(f *flight) bool {
	l.mu.Lock()
	l.landed = append(l.landed, f)
	l.mu.Unlock()
	return l.take()
}

// land notes what came of the flights that have ended.
func (l *loop) land() {
	l.mu.Lock()
	landed := l.landed
	l.landed, l.taken = l.taken[:0], landed
	l.mu.Unlock()
	if len(landed) > 0 && l.ctx.Err() != nil && !l.stopped && !l.over { // what they report may come of that
		l.stop()
	}
	var facts []event.Fact
	for _, f := range landed {
		if !slices.Contains(l.flights, f) { // it was given up
			continue
		}
		l.flights.drop(f)
		if waits := l.unpark(f); len(waits) > 0 {
			facts = append(facts, waits...)
		} else if f.fact != nil && f.wanted && !l.over && !l.late(f.fact) {
			facts = append(append(facts, f.fact), f.job.more...)
		}
		if f.news != nil {
			for _, text := range f.news.texts {
				facts = append(facts, Input{Text: text}.message(event.AsNotice))
			}
			facts = append(facts, l.x.brief(l.fold.state, f.news.notes)...)
		}
		if f.pool != nil && !l.over {
			facts = append(facts, l.takeFresh(f.pool)...)
		}
		_, heard := f.job.effect.(askNotices)
		l.heard = l.heard || heard
		f.line.Cut()
		f.line.muted.Store(true)
		l.retire(f)
	}
	clear(landed)
	l.note(facts...)
}

// late reports whether a decision comes too late to count.
func (l *loop) late(f event.Fact) bool {
	switch f.(type) {
	case event.Authorized, event.Answered, event.Checkpointed:
		return l.fold.state.Stopping()
	}
	return false
}

// sweep cancels what is not wanted any more, and everything in flight when the
// run is being stopped.
func (l *loop) sweep(effects []engine.Effect) {
	stopping := l.fold.state.Stopping()
	l.flights = slices.DeleteFunc(l.flights, func(f *flight) (over bool) {
		switch f.job.effect.(type) {
		case askNotices, askToolsets:
			return false
		case engine.RunHooks, engine.GatherResults, engine.Fire:
			if f.closing {
				f.hurry()
				return false
			}
		}
		f.wanted = slices.ContainsFunc(effects, func(e engine.Effect) bool { return e.Key() == f.key })
		if !f.wanted {
			f.line.muted.Store(true)
		}
		return (stopping || !f.wanted) && f.ground()
	})
}

// arm sets the watch for the next flight that has to be given up.
func (l *loop) arm() {
	var next time.Time
	for _, f := range l.flights {
		if !f.giveUp.IsZero() && (next.IsZero() || f.giveUp.Before(next)) {
			next = f.giveUp
		}
	}
	switch {
	case next.IsZero() || !l.watched.IsZero() && !next.Before(l.watched): // it goes off early enough
		return
	case l.watch == nil:
		l.watch = time.AfterFunc(time.Until(next), func() {
			if l.take() {
				l.watched = time.Time{}
				l.guard(l.abandon)
				l.drive()
			}
		})
	default:
		l.watch.Reset(time.Until(next))
	}
	l.watched = next
}

// abandon gives up the flights that did not end in time after their cancellation
// or their timeout. Their goroutines live on until they return.
func (l *loop) abandon() error {
	var facts []event.Fact
	for _, f := range slices.Clone(l.flights) {
		if f.giveUp.IsZero() || time.Until(f.giveUp) > 0 {
			continue
		}
		l.flights.drop(f)
		f.line.muted.Store(true)
		f.line.Cut()
		var fact event.Fact
		if f.cut {
			l.stuck = fmt.Errorf("%w: %s", ErrToolStuck, f.name())
			fact = l.broken(f, tool.Stuck, "it did not end after its cancellation")
		} else {
			fact = l.broken(f, tool.Stuck, fmt.Sprintf("it timed out after %v and did not stop", f.limit))
		}
		f.line.span.end(fact)
		l.x.complain("an effect did not end in time", "effect", f.key, "name", f.name())
		if fact != nil && f.wanted && !l.over {
			facts = append(facts, fact)
		}
	}
	if len(facts) == 0 {
		return nil
	}
	return l.record(facts...)
}

// broken makes the fact of an effect that went wrong in the program itself.
func (l *loop) broken(f *flight, fault tool.Fault, why string) event.Fact {
	switch e := f.job.effect.(type) {
	case engine.CallModel:
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llm.Protocol, Message: "the model's client failed: " + why}
	case engine.RunTool:
		return event.ToolResult{Key: e.Key(), Call: e.Call, Cause: event.ByCancel, Fault: fault, Duration: time.Since(f.began),
			Result: *tool.Errorf("%s: %s; what it has done is not known", f.name(), why)}
	case engine.AskPerson:
		return event.ToolAmended{Key: e.Key(), Call: e.Call, Result: f.job.done.Result}
	case engine.Digest:
		return event.ToolAmended{Key: e.Key(), Call: e.Call, Result: f.job.done.Result}
	case engine.Compact:
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llm.Protocol, Message: "the summary failed: " + why}
	case engine.Cut:
		return event.Compacted{Key: e.Key(), Trigger: event.Overflow, Failed: "cutting failed: " + why, Before: e.Before, After: e.Before}
	case engine.Fire: // what hooks would have kept away is not known
		hooked := event.Hooked{Key: e.Key(), Event: e.Event, Message: e.Message}
		if e.Event.Guards() {
			hooked.Block = why
		}
		return hooked
	case engine.CheckOutput:
		return event.OutputChecked{Key: e.Key(), Call: e.Call, Problem: "it could not be checked: " + why}
	case engine.TakeCheckpoint:
		return event.Checkpointed{Key: e.Key(), Prompt: e.Prompt, Error: why}
	case engine.GatherResults:
		return event.ToolResult{Key: e.Key(), Call: e.Call, Cause: event.ByTool, Result: f.job.done.Result}
	case engine.RunHooks: // what they would have taken out is not known
		return event.ToolResult{Key: e.Key(), Call: e.Call, Cause: f.job.done.Cause, Fault: f.job.done.Fault,
			Result: *tool.Errorf("the result of %s is withheld: a hook that was to see it failed: %s", f.name(), why)}
	case engine.Authorize:
		return event.Authorized{Key: e.Key(), Call: e.Call, Decision: permission.Decision{Behavior: permission.Denied, Source: permission.FromDefault, Reason: why}}
	case engine.Ask:
		return event.Answered{Key: e.Key(), Call: e.Call, Decision: permission.Decision{Behavior: permission.Denied, Source: permission.FromDefault, Reason: why}}
	}
	return nil
}
