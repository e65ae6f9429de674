package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A loop is one run: it asks the engine for effects, has them done, and records
// what came of them. Its goroutine alone owns the fold and the log.
type loop struct {
	s        *Session
	x        *executor
	fold     *fold
	log      session.Log
	feed     *feed
	controls chan control
	reports  chan report
	work     chan *flight // to workers that wait for more
	flights  map[string]*flight
	events   []event.Event   // being recorded; reused
	ctx      context.Context // of the whole run; its end stops the run
	cancel   context.CancelCauseFunc
	stopped  bool  // the end of ctx is on record
	failed   error // of the log: nothing can be recorded any more
	stuck    error
	done     chan struct{} // closed after everything else
	err      error         // for the consumer, with done
}

// A flight is an effect that is being carried out.
type flight struct {
	effect engine.Effect
	job    job
	ctx    context.Context
	cancel context.CancelFunc
	wanted bool        // by the engine, when it was last asked
	muted  atomic.Bool // its signals are not shown any more
	since  time.Time   // when it was cancelled; zero while it was not
}

type report struct {
	flight *flight
	fact   event.Fact // nil: nothing came of it
}

// run is the loop's goroutine.
func (l *loop) run(prompt bool, first []event.Fact) {
	defer func() {
		if v := recover(); v != nil {
			why := l.x.secrets.text(fmt.Sprintf("panic: %v", v))
			l.x.log.Error("the loop failed", "error", why, "stack", string(debug.Stack()))
			l.collapse(why)
		}
		l.finish()
	}()
	if prompt && (l.fold.state.Open() || l.fold.state.Pending()) {
		l.record(event.Resumed{}, event.Stopped{Reason: event.Interrupted, Message: "cut short, then prompted anew"})
		l.steps()
		l.stopped = false // that was about the earlier run
	}
	if l.failed == nil {
		l.record(first...)
		l.steps()
	}
}

// collapse records that the loop itself has failed, as far as that is possible.
func (l *loop) collapse(why string) {
	failed := fmt.Errorf("agent: %w: %s", ErrInternal, why)
	safely(func() error {
		if end, open := l.fold.state.SoFar(); open {
			end.Message = why
			return l.record(end)
		}
		return nil
	}, nil)
	l.failed = failed
}

// steps goes on until the run has ended or cannot be recorded any more.
func (l *loop) steps() {
	for l.failed == nil && l.fold.state.Open() {
		effects := l.fold.state.Effects()
		if l.news(effects) {
			continue
		}
		if r, ok := effects[0].(engine.Record); ok {
			l.record(r.Facts...)
			continue
		}
		l.sweep(effects)
		if !l.stopped && l.ctx.Err() != nil { // nothing is started for a caller that is gone
			l.stop()
			continue
		}
		if l.launch(effects) {
			continue
		}
		l.await()
	}
}

// news takes in the notices of tools before the model is called and before the
// run ends.
func (l *loop) news(effects []engine.Effect) bool {
	due := false
	for _, e := range effects {
		switch e := e.(type) {
		case engine.CallModel:
			due = l.flights[e.Key()] == nil
		case engine.Record:
			end, ok := e.Facts[0].(event.RunEnd)
			due = ok && end.Reason == event.Completed
		}
	}
	if !due {
		return false
	}
	var facts []event.Fact
	for _, text := range l.x.notices() {
		facts = append(facts, Input{Text: text}.message(event.AsNotice))
	}
	if facts == nil {
		return false
	}
	l.record(facts...)
	return true
}

// record appends facts to the log, applies and shows them.
func (l *loop) record(facts ...event.Fact) error {
	if l.failed != nil {
		return l.failed
	}
	events := l.events[:0]
	sync := false
	seq, prev, at := l.fold.last, l.fold.last, now()
	for _, f := range facts {
		events = append(events, event.Event{Seq: seq + 1, Prev: prev, Time: at, Session: l.s.ID, Data: f})
		seq, prev = seq+1, seq+1
		sync = sync || l.durable(f)
	}
	ctx := &limited{Context: l.ctx, end: at.Add(grace)}
	err := l.log.Append(ctx, l.fold.last, sync, events...)
	ctx.release()
	if err != nil {
		l.failed = fmt.Errorf("agent: recording in session %s: %w", l.s.ID, err)
		return l.failed
	}
	l.events = events
	for _, e := range events {
		l.fold.apply(e)
		if f, ok := e.Data.(event.AssistantMessage); ok {
			l.x.adopt(f.Key, l.fold.transcript.Calls())
		}
		l.feed.put(e)
		if end, ok := e.Data.(event.RunEnd); ok {
			l.ended(end)
		}
	}
	return nil
}

// durable reports whether a fact has to be on the disk before it is acted upon.
func (l *loop) durable(f event.Fact) bool {
	switch f := f.(type) {
	case event.UserMessage, event.Stopped, event.ModeChanged, event.ModelChanged, event.Answered, event.ToolAmended, event.Resumed, event.RunEnd:
		return true
	case event.ToolStart:
		return !l.fold.state.ReadOnly(f.Call)
	}
	return false
}

func (l *loop) ended(end event.RunEnd) {
	var cause error
	if end.Reason == event.Interrupted || end.Reason == event.TimedOut {
		cause = context.Cause(l.ctx)
	}
	l.err = endError(end, cause)
	r := newResult(l.s.ID, end)
	l.s.mu.Lock()
	l.s.last = r
	l.s.mu.Unlock()
}

// sweep cancels what is not wanted any more, and everything in flight when the
// run is being stopped.
func (l *loop) sweep(effects []engine.Effect) {
	stopping := l.fold.state.Stopping()
	for key, f := range l.flights {
		f.wanted = slices.ContainsFunc(effects, func(e engine.Effect) bool { return e.Key() == key })
		if !f.wanted {
			f.muted.Store(true)
		}
		if f.since.IsZero() && (stopping || !f.wanted) {
			f.since = time.Now()
			f.cancel()
		}
	}
}

// launch starts the effects that are not in flight, after recording their
// intents. It reports whether something was recorded instead, or could not be, so
// that the engine is to be asked anew: calls about which only rules and mode have
// a say are judged on the spot.
func (l *loop) launch(effects []engine.Effect) bool {
	if l.x.judgesAlone() {
		var judged []event.Fact
		for _, e := range effects {
			if a, ok := e.(engine.Authorize); ok {
				judged = append(judged, l.x.authorizeSafely(a, l.call(a.Call, a.Dir, a.Mode)))
			}
		}
		if judged != nil {
			l.record(judged...)
			return true
		}
	}
	var intents []event.Fact
	var jobs []job
	for _, e := range effects {
		if l.flights[e.Key()] != nil {
			continue
		}
		j := l.prepare(e)
		if run, ok := e.(engine.RunTool); ok {
			if d, denied := l.x.recheck(run, j.call); denied {
				l.record(event.ToolResult{Key: e.Key(), Call: run.Call, Cause: event.ByDenial, Fault: tool.Refused,
					Result: *tool.Errorf("Permission denied: %s", d.Reason)})
				return true
			}
		}
		if intent := e.Intent(); intent != nil {
			intents = append(intents, intent)
		}
		jobs = append(jobs, j)
	}
	if len(intents) > 0 && l.record(intents...) != nil {
		return true
	}
	for _, j := range jobs {
		l.fly(j)
	}
	return false
}

// fly carries out a job in a goroutine of its own, or in one that has carried out
// another before: its stack has grown already.
func (l *loop) fly(j job) {
	f := &flight{effect: j.effect, wanted: true, job: j}
	f.ctx, f.cancel = context.WithCancel(l.ctx)
	f.job.emit = func(sig event.Signal) {
		if !f.muted.Load() {
			l.feed.put(event.Event{Session: l.s.ID, Data: sig})
		}
	}
	l.flights[j.effect.Key()] = f
	select {
	case l.work <- f:
	default:
		go l.worker(f)
	}
}

// worker carries out flights until the loop is over.
func (l *loop) worker(f *flight) {
	for {
		l.carryOut(f)
		select {
		case f = <-l.work:
		case <-l.done:
			return
		}
	}
}

// carryOut carries out a flight and reports what came of it.
func (l *loop) carryOut(f *flight) {
	r := report{flight: f}
	defer func() {
		if v := recover(); v != nil {
			why := l.x.secrets.text(fmt.Sprintf("panic: %v", v))
			l.x.log.Error("an effect failed", "effect", f.effect.Key(), "error", why, "stack", string(debug.Stack()))
			r.fact = l.broken(f, why)
		}
		select {
		case l.reports <- r:
		case <-l.done:
		}
	}()
	r.fact = l.x.do(f.ctx, f.job)
}

// prepare adds to an effect what it needs of the conversation.
func (l *loop) prepare(e engine.Effect) job {
	j := job{effect: e}
	switch e := e.(type) {
	case engine.CallModel:
		j.model = l.x.models[e.Model]
		j.request = l.fold.request(e, l.x.memo)
	case engine.Authorize:
		j.call = l.call(e.Call, e.Dir, e.Mode)
	case engine.Ask:
		j.call = l.open(e.Call)
		j.class, j.verdict = l.fold.state.Judged(e.Call)
	case engine.RunTool:
		j.call = l.call(e.Call, e.Dir, e.Mode)
		j.id = l.fold.transcript.Call(e.Call).Use.ID
	case engine.AskPerson:
		j.call = l.open(e.Call)
		j.done = l.fold.transcript.Call(e.Call).Done
	case engine.Digest:
		j.model = l.x.models[e.Model]
		j.call = l.open(e.Call)
		j.done = l.fold.transcript.Call(e.Call).Done
	case engine.RunHooks:
		j.call = l.open(e.Call)
		j.done = l.fold.transcript.Call(e.Call).Done
	}
	return j
}

// request builds the next request from the conversation.
func (f *fold) request(e engine.CallModel, memo *llm.Memo) *llm.Request {
	t, c := &f.transcript, f.state.Config()
	forced := c.ToolChoice.Mode == llm.ChooseAny || c.ToolChoice.Mode == llm.ChooseTool
	if forced && f.state.Turns() > 0 { // only the first answer: later ones must be able to end the run
		c.ToolChoice = llm.ToolChoice{}
	}
	n := len(t.Messages)
	return &llm.Request{System: t.System, Messages: t.Messages[:n:n], Tools: t.Tools, MaxTokens: e.MaxTokens,
		Temperature: c.Temperature, ToolChoice: c.ToolChoice, Stop: c.Stop, Thinking: c.Thinking, Memo: memo}
}

// open returns an open call, where the run is now.
func (l *loop) open(id string) tool.Call {
	return l.call(id, l.fold.state.Dir(), l.fold.state.Mode())
}

func (l *loop) call(id, dir string, mode permission.Mode) tool.Call {
	c := l.fold.transcript.Call(id)
	return tool.Call{ID: id, Name: c.Name, Input: c.Input, Session: l.s.ID, Agent: l.x.agent.Name, Dir: dir, Mode: mode,
		State: l.fold.transcript.State(c.Name), Unreadable: l.x.unreadable}
}

// await waits for something to happen and records it.
func (l *loop) await() {
	var ended <-chan struct{}
	if !l.stopped {
		ended = l.ctx.Done()
	}
	var overdue <-chan time.Time
	if next := l.overdue(); !next.IsZero() {
		t := time.NewTimer(time.Until(next))
		defer t.Stop()
		overdue = t.C
	}
	select {
	case r := <-l.reports:
		if ended != nil && l.ctx.Err() != nil { // what it reports may come of that
			l.stop()
		}
		l.land(r)
	case c := <-l.controls:
		c.reply <- c.do(l)
	case <-ended:
		l.stop()
	case <-overdue:
		l.abandon()
	}
}

// stop records the end of the caller's context.
func (l *loop) stop() {
	l.stopped = true
	l.record(event.Stopped{Reason: event.Interrupted, Message: context.Cause(l.ctx).Error(), Cleared: l.fold.state.Queued()})
}

// land records what came of a flight, and of those that have landed meanwhile.
func (l *loop) land(r report) {
	var facts []event.Fact
	for {
		key := r.flight.effect.Key()
		if l.flights[key] == r.flight {
			delete(l.flights, key)
			if r.fact != nil && r.flight.wanted {
				facts = append(facts, r.fact)
			}
			if !r.flight.since.IsZero() && stuck(r.fact) {
				l.stuck = fmt.Errorf("%w: %s", ErrToolStuck, r.flight.name())
			}
		}
		r.flight.cancel()
		r.flight.muted.Store(true)
		select {
		case r = <-l.reports:
			continue
		default:
		}
		break
	}
	if len(facts) > 0 {
		l.record(facts...)
	}
}

// stuck reports whether a tool did not return.
func stuck(f event.Fact) bool {
	switch f := f.(type) {
	case event.ToolResult:
		return f.Fault == tool.Stuck
	case event.ToolDone:
		return f.Fault == tool.Stuck
	}
	return false
}

// leeway is how much longer than the tools' own grace the loop waits for a
// cancelled effect.
const leeway = time.Second

// overdue returns when the first cancelled flight is given up, zero if none is
// cancelled.
func (l *loop) overdue() time.Time {
	var first time.Time
	for _, f := range l.flights {
		if f.since.IsZero() {
			continue
		}
		if at := f.since.Add(grace + leeway); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// abandon gives up the flights that did not end in time after their
// cancellation. Their goroutines live on until they return.
func (l *loop) abandon() {
	var facts []event.Fact
	for key, f := range l.flights {
		if f.since.IsZero() || time.Since(f.since) < grace+leeway {
			continue
		}
		delete(l.flights, key)
		f.muted.Store(true)
		l.stuck = fmt.Errorf("%w: %s", ErrToolStuck, f.name())
		l.x.log.Error("effect did not end after its cancellation", "effect", key)
		if fact := l.broken(f, "it did not end after its cancellation"); fact != nil && f.wanted {
			facts = append(facts, fact)
		}
	}
	l.record(facts...)
}

func (f *flight) name() string {
	if f.job.call.Name != "" {
		return f.job.call.Name
	}
	return f.effect.Key()
}

// broken makes the fact of an effect that went wrong in the program itself.
func (l *loop) broken(f *flight, why string) event.Fact {
	switch e := f.effect.(type) {
	case engine.CallModel:
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llm.Protocol, Message: "the model's client failed: " + why}
	case engine.RunTool:
		return event.ToolResult{Key: e.Key(), Call: e.Call, Cause: event.ByCancel, Fault: tool.Stuck,
			Result: *tool.Errorf("%s: %s; what it has done is not known", f.name(), why)}
	case engine.AskPerson:
		return event.ToolAmended{Key: e.Key(), Call: e.Call, Result: f.job.done.Result}
	case engine.Digest:
		return event.ToolAmended{Key: e.Key(), Call: e.Call, Result: f.job.done.Result}
	case engine.RunHooks:
		return event.ToolResult{Key: e.Key(), Call: e.Call, Cause: f.job.done.Cause, Result: f.job.done.Result, Fault: f.job.done.Fault}
	case engine.Authorize:
		return event.Authorized{Key: e.Key(), Call: e.Call, Decision: permission.Decision{Behavior: permission.Denied, Source: permission.FromDefault, Reason: why}}
	case engine.Ask:
		return event.Answered{Key: e.Key(), Call: e.Call, Decision: permission.Decision{Behavior: permission.Denied, Source: permission.FromDefault, Reason: why}}
	}
	return nil
}

// pending returns the questions that wait.
func (l *loop) pending() []func() event.PermissionRequest {
	var out []func() event.PermissionRequest
	for _, id := range l.fold.state.Asking() {
		class, verdict := l.fold.state.Judged(id)
		call := l.open(id)
		out = append(out, func() event.PermissionRequest { return l.x.request(call, class, verdict) })
	}
	return out
}

// decide settles a question in place of the callback.
func (l *loop) decide(id string, d permission.Decision) error {
	if d.Source == "" {
		d.Source = permission.FromPerson
	}
	for key, f := range l.flights {
		ask, ok := f.effect.(engine.Ask)
		if !ok || ask.Call != id {
			continue
		}
		f.cancel()
		f.muted.Store(true)
		delete(l.flights, key)
		return l.record(l.x.answer(key, l.x.tools[f.job.call.Name], f.job.call, d))
	}
	return ErrNoQuestion
}

// answer settles a tool's questions in place of the callback.
func (l *loop) answer(id string, answers []tool.Answer) error {
	for key, f := range l.flights {
		ask, ok := f.effect.(engine.AskPerson)
		if !ok || ask.Call != id {
			continue
		}
		f.cancel()
		f.muted.Store(true)
		delete(l.flights, key)
		return l.record(answered(key, id, f.job.done.Result.Questions, answers))
	}
	return ErrNoQuestion
}

// finish ends the loop: it cancels what is left, waits for it, and lets the
// consumer see the end.
func (l *loop) finish() {
	l.cancel(context.Canceled)
	for _, f := range l.flights {
		f.cancel()
		f.muted.Store(true)
	}
	timeout := time.NewTimer(grace + leeway)
	defer timeout.Stop()
	for len(l.flights) > 0 {
		select {
		case r := <-l.reports:
			delete(l.flights, r.flight.effect.Key())
			continue
		case c := <-l.controls:
			c.reply <- ErrNotRunning
			continue
		case <-timeout.C:
			for key, f := range l.flights {
				l.stuck = fmt.Errorf("%w: %s", ErrToolStuck, f.name())
				delete(l.flights, key)
			}
		}
	}
	if l.failed != nil {
		l.err = l.failed
	}
	if l.stuck != nil {
		l.err = errors.Join(l.err, l.stuck)
	}
	l.s.mu.Lock()
	l.s.loop = nil
	if l.failed != nil {
		l.lost()
	}
	l.s.mu.Unlock()
	l.feed.close()
	close(l.done)
}

// lost takes the session out of use after its log has failed: it is opened and
// replayed anew by the next prompt.
func (l *loop) lost() {
	if end, ok := l.fold.state.SoFar(); ok {
		l.s.last = newResult(l.s.ID, end)
	}
	if l.s.log != nil {
		l.x.log.Error("session log failed", "session", l.s.ID, "error", errors.Join(l.failed, l.s.log.Close()))
		l.s.log = nil
	}
}
