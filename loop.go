package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/leash"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A loop is one run: it asks the engine for effects, has them done, and records
// what came of them. It works while something has happened and rests while
// effects are carried out. Whoever has its baton works on it, and nobody else
// touches the fold, the log and the flights: the goroutine of an effect that has
// ended goes on with the run, so that a run that does one thing after the other
// needs one goroutine and no switch to another.
type loop struct {
	s        *Session
	x        *executor
	fold     *fold
	log      session.Log
	feed     *feed         // nil where nobody watches
	baton    chan struct{} // has room for one: it lies here while the loop rests
	flights  flights
	spare    []*flight       // have landed, and are used again
	ready    []*flight       // to be launched; reused
	unsaved  []event.Event   // are applied, and not on record yet; reused
	sync     bool            // one of them has to be on the disk
	ctx      context.Context // of the whole run; its end stops the run
	cancel   context.CancelCauseFunc
	ignore   func() bool        // stops looking for the end of ctx
	next     []event.Fact       // begin the run proper, once an earlier one is closed
	saving   *leash.Leash       // the context of appends; nil before the first
	watch    *time.Timer        // for flights that have to be given up
	watched  time.Time          // when it goes off; zero when it does not
	began    bool               // something is on record
	heard    bool               // tools were asked for notices, and nothing was recorded since
	at       time.Time          // when that was, with the monotonic clock
	stopped  bool               // the end of ctx is on record
	ruled    bool               // hooks have changed the rules, or a skill has
	touched  []string           // files, since the context was asked for
	bound    *permission.Bound  // what skills let run
	mode     permission.Mode    // that the executor knows of
	uncached *event.CacheBroken // to be shown
	over     bool               // flights are waited for, nothing else
	failed   error              // of the log: nothing can be recorded any more
	stuck    error
	done     chan struct{} // closed after everything else
	result   *Result       // for the consumer, with done
	err      error         // likewise
	span     *watchedRun   // nil where nobody traces

	mu     sync.Mutex
	landed []*flight // have ended, and wait for the baton
	taken  []*flight // the list before; reused
}

// begin is the first goroutine of a run; it has the baton.
func (l *loop) begin(prompt bool, first []event.Fact) {
	l.observe(!prompt)
	l.ignore = context.AfterFunc(l.ctx, func() {
		if l.take() {
			l.drive()
		}
	})
	l.guard(func() error {
		if prompt && (l.fold.state.Open() || l.fold.state.Pending()) {
			l.next = first
			first = []event.Fact{event.Resumed{Hooks: l.x.hooks.Events()}, event.Stopped{Reason: event.Interrupted, Message: "cut short, then prompted anew"}}
		}
		return l.record(first...)
	})
	l.drive()
}

// take waits for the baton. It reports false when the run is over.
func (l *loop) take() bool {
	select {
	case <-l.baton:
		return true
	default:
	}
	select {
	case <-l.baton:
		return true
	case <-l.done:
		return false
	}
}

// drive goes on with the run, with the baton, for as long as this goroutine has
// something to do for it.
func (l *loop) drive() {
	for f := l.advance(); f != nil && l.fly(f); f = l.advance() {
	}
}

// advance does all that can be done now, and gives the baton back. It returns a
// flight that is to be carried out by the caller, nil if there is none.
func (l *loop) advance() (mine *flight) {
	l.guard(func() error {
		l.land()
		for !l.over && mine == nil {
			switch {
			case l.failed != nil:
				l.wrapUp()
			case l.fold.state.Open():
				if resting := l.step(&mine); resting {
					return nil
				}
			case l.next != nil:
				first := l.next
				l.next, l.stopped = nil, false // that was about the earlier run
				l.record(first...)
			default:
				l.record()
				l.wrapUp()
			}
		}
		return nil
	})
	if l.over && len(l.flights) == 0 {
		l.close()
		return nil
	}
	l.arm()
	l.baton <- struct{}{}
	return mine
}

// step does one thing for an open run. It reports whether there is nothing to do
// but to wait.
func (l *loop) step(mine **flight) (resting bool) {
	effects := l.fold.state.Effects()
	for _, ask := range []func([]engine.Effect) (*flight, bool){l.askNews, l.askSets} {
		if asked, waiting := ask(effects); asked != nil || waiting {
			*mine = asked
			return l.record() == nil
		}
	}
	if r, ok := effects[0].(engine.Record); ok {
		l.record(r.Facts...)
		return false
	}
	l.sweep(effects)
	if !l.stopped && l.ctx.Err() != nil { // nothing is started for a caller that is gone
		l.stop()
		return false
	}
	if f := l.overdue(effects); f != nil { // before the model is paid for an answer that comes too late
		l.record(f)
		return false
	}
	recorded := false
	*mine, recorded = l.launch(effects)
	return !recorded
}

// guard keeps a panic of the loop itself from losing the run.
func (l *loop) guard(fn func() error) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		why := "runtime.Goexit"
		if v != nil {
			why = l.x.secrets.text(fmt.Sprintf("panic: %v", v))
		}
		l.x.complain("the loop failed", "error", why, "stack", string(debug.Stack()))
		l.collapse(why)
		if err = l.failed; v == nil { // this goroutine is lost, and the baton with it
			go l.drive()
		}
	}()
	err = fn()
	returned = true
	return err
}

// say records facts of the host. What they say also holds for the prompt that waits
// for the end of an earlier run.
func (l *loop) say(facts ...event.Fact) error {
	err := l.record(facts...)
	if err == nil && l.next != nil {
		l.next = append(l.next, facts...)
	}
	return err
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
	l.wrapUp()
}

// askNews has the notices of tools asked for before the model is called and before
// the run ends. It returns the flight that does, or that one is under way.
func (l *loop) askNews(effects []engine.Effect) (asked *flight, waiting bool) {
	if l.heard || !l.x.notifies() && len(l.touched) == 0 {
		return nil, false
	}
	due := false
	for _, e := range effects {
		switch e := e.(type) {
		case engine.CallModel:
			due = l.flights.get(e.Key()) == nil
		case engine.Record:
			end, ok := e.Facts[0].(event.RunEnd)
			due = ok && end.Reason == event.Completed
		}
	}
	switch {
	case !due || l.ctx.Err() != nil:
		return nil, false
	case l.flights.get(askNotices{}.Key()) != nil:
		return nil, true
	}
	f := l.flightFor(askNotices{})
	f.giveUp = time.Now().Add(grace)
	f.news = &news{place: Place{Dir: l.fold.state.Dir(), Touched: l.touched}}
	f.news.place.hide(l.x.unreadable)
	l.touched = nil
	l.flights = append(l.flights, f)
	return f, false
}

// fetch has the inbox looked into. What it holds is on record when the inbox gives it
// away.
func (l *loop) fetch(ctx context.Context) {
	inbox := l.x.agent.Inbox
	if inbox == nil {
		return
	}
	_, err := within(ctx, func() (struct{}, error) {
		return struct{}{}, inbox(ctx, l.s.ID, func(mail []Input) error {
			return l.s.tell(ctx, func(l *loop) error { return l.keep(mail) })
		})
	})
	if err != nil && ctx.Err() == nil {
		l.x.log.Warn("looking into the inbox", "error", err)
	}
}

// keep records messages that are not known yet.
func (l *loop) keep(mail []Input) error {
	var facts []event.Fact
	for _, in := range mail {
		if in.ID == "" || !l.fold.state.Known(in.ID) {
			facts = append(facts, in.message(event.AsNotice))
		}
	}
	return l.record(facts...)
}

// askNotices is an effect of the loop's own: tools are asked for their notices.
type askNotices struct{}

func (askNotices) Key() string        { return "notices" }
func (askNotices) Intent() event.Fact { return nil }

// note applies facts, which are on record with the next that are recorded: before
// anything is done about them, and before anybody is shown them.
func (l *loop) note(facts ...event.Fact) {
	if l.failed != nil {
		return
	}
	if len(l.unsaved) == 0 {
		l.at = time.Now()
	}
	at := l.at.UTC()
	for _, f := range facts {
		l.heard = false
		l.sync = l.sync || l.durable(f)
		e := event.Event{Seq: l.fold.last + 1, Prev: l.fold.last, Time: at, Session: l.s.ID, Data: f}
		l.unsaved = append(l.unsaved, e)
		l.fold.apply(e)
		if w := l.fold.cache; w != nil {
			if b := w.Apply(e, l.fold.state, &l.fold.transcript); b != nil {
				l.uncached = b
			}
		}
		if m := l.fold.state.Mode(); m != l.mode {
			l.mode = m
			l.x.mode.Store(new(m)) // &m would cost an allocation each time
		}
		if b := l.fold.state.Bound(); b != l.bound {
			l.bound = b
			l.takeRules()
		}
		switch f := f.(type) {
		case event.ToolStart:
			l.touch(f.Call)
		case event.AssistantMessage:
			l.x.adopt(f.Key, &l.fold.transcript)
		case event.PermissionsChanged, event.Configured, event.Resumed:
			l.takeRules()
		}
	}
}

// record appends facts to the log, those that were noted before them, and shows them.
func (l *loop) record(facts ...event.Fact) error {
	l.note(facts...)
	if l.failed != nil || len(l.unsaved) == 0 {
		return l.failed
	}
	events := l.unsaved
	if err := l.log.Append(l.writing(l.at.Add(grace)), events[0].Seq-1, l.sync, events...); err != nil {
		l.failed = fmt.Errorf("agent: recording in session %s: %w", l.s.ID, err)
		return l.failed
	}
	l.unsaved, l.sync, l.began = events[:0], false, true
	if l.x.agent.Log != nil {
		l.logged(events)
	}
	for _, e := range events {
		if l.feed != nil {
			l.feed.put(e)
		}
		if end, ok := e.Data.(event.RunEnd); ok {
			l.ended(end)
		}
	}
	clear(events) // what they hold may be large, and is held by nobody else
	if b := l.uncached; b != nil && l.feed != nil {
		l.uncached = nil
		l.feed.put(event.Event{Session: l.s.ID, Data: l.x.secrets.broken(*b)})
	}
	return nil
}

// writing returns the context of an append, which the end of the run does not cut
// short.
func (l *loop) writing(limit time.Time) context.Context {
	if l.saving != nil {
		if l.saving.Extend(limit) {
			return l.saving
		}
		l.saving.Cut()
	}
	l.saving = &leash.Leash{Parent: l.ctx, Loose: true, Limit: limit}
	return l.saving
}

// durable reports whether a fact has to be on the disk before it is acted upon.
func (l *loop) durable(f event.Fact) bool {
	switch f := f.(type) {
	case event.UserMessage, event.Stopped, event.Hooked, event.PermissionsChanged, event.ModeChanged, event.ModelChanged, event.FallbacksChanged, event.BudgetChanged, event.CallbackChanged, event.ToolChanged, event.ToolsChanged, event.Answered, event.ToolAmended, event.OutputChecked, event.Resumed, event.SessionNamed, event.CompactionRequested, event.Compacted, event.RunEnd:
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
	if l.span != nil {
		l.span.fact = end
	}
	l.result = newResult(l.s.ID, end)
	l.s.mu.Lock()
	l.s.last = l.result
	l.s.mu.Unlock()
}

// prepare adds to an effect what it needs of the conversation.
func (l *loop) prepare(j *job) {
	switch e := j.effect.(type) {
	case engine.CallModel:
		j.model = l.x.modelNamed(e.Model)
		j.request = l.fold.request(e)
		j.request.Session = l.s.ID
	case engine.Authorize:
		j.call = l.call(e.Call, e.Dir, e.Mode)
	case engine.Ask:
		j.call = l.open(e.Call)
		j.class, j.verdict = l.fold.state.Judged(e.Call)
	case engine.RunTool:
		j.call = l.call(e.Call, e.Dir, e.Mode)
		j.class, j.verdict = l.fold.state.Judged(e.Call)
		j.id = l.fold.transcript.Call(e.Call).Use.ID
	case engine.AskPerson:
		j.call = l.open(e.Call)
		j.done = l.fold.transcript.Call(e.Call).Done
	case engine.Digest:
		j.model = l.x.modelNamed(e.Model)
		j.call = l.open(e.Call)
		j.done = l.fold.transcript.Call(e.Call).Done
	case engine.Compact:
		j.model = l.x.modelNamed(e.Model)
		j.short = l.fold.shorten(e)
	case engine.Cut:
		j.cutting = l.fold.transcript.Cut(e)
	case engine.GatherResults:
		j.call = l.open(e.Call)
		j.done = &event.ToolDone{Result: l.fold.transcript.Gather(e.Call)}
	case engine.RunHooks:
		j.call = l.open(e.Call)
		j.done = l.fold.transcript.Call(e.Call).Done
	case engine.Fire:
		j.input = l.hookInput(e)
	case engine.CheckOutput:
		j.answer = l.candidate(e)
	}
}

// takeRules lets the executor know of the rules that hooks have added, and of what
// skills let run.
func (l *loop) takeRules() {
	more := l.fold.state.Rules()
	if len(more.Allow)+len(more.Ask)+len(more.Deny) == 0 && l.bound == nil && !l.ruled {
		return
	}
	l.ruled = true
	p := l.x.agent.Permissions
	p.Allow, p.Ask, p.Deny = slices.Concat(p.Allow, more.Allow), slices.Concat(p.Ask, more.Ask), slices.Concat(p.Deny, more.Deny)
	p.Bound = l.bound
	l.x.rules.Store(p.Compile())
	l.x.unreadable = p.Unreadable(l.x.roots...)
}

// request builds the next request from the conversation.
func (f *fold) request(e engine.CallModel) *llm.Request {
	t, c := &f.transcript, f.state.Config()
	forced := c.ToolChoice.Mode == llm.ChooseAny || c.ToolChoice.Mode == llm.ChooseTool
	if forced && f.state.Turns() > 0 { // only the first answer: later ones must be able to end the run
		c.ToolChoice = llm.ToolChoice{}
	}
	n := len(t.Messages)
	r := &llm.Request{System: t.System, Messages: t.Messages[:n:n], Tools: t.Tools, MaxTokens: e.MaxTokens,
		Temperature: c.Temperature, ToolChoice: c.ToolChoice, Stop: c.Stop, Thinking: c.Thinking, Cache: c.Cache, Memo: &f.memo}
	if o := f.state.Output(); o != nil {
		f.shaped(r, o)
	}
	return r
}

// open returns an open call, where the run is now.
func (l *loop) open(id string) tool.Call {
	return l.call(id, l.fold.state.Dir(), l.fold.state.Mode())
}

func (l *loop) call(id, dir string, mode permission.Mode) tool.Call {
	c := l.fold.transcript.Call(id)
	return tool.Call{ID: id, Name: c.Name, Input: slices.Clone(c.Input), Session: l.s.ID, Root: l.x.agent.rootSession(), Agent: l.x.agent.Name, Dir: dir, Mode: mode,
		State: l.fold.transcript.State(c.Name), Scopes: l.fold.state.Scopes(), Unreadable: l.x.unreadable}
}

// stop records the end of the caller's context.
func (l *loop) stop() {
	l.stopped = true
	if l.fold.state.Stopping() {
		return
	}
	l.record(event.Stopped{Reason: event.Interrupted, Message: context.Cause(l.ctx).Error(), Cleared: l.fold.state.Queued()})
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

// providerID is the provider's id of a call, "" if it is none of the last answer.
func (f *fold) providerID(call string) string {
	if c := f.transcript.Call(call); c != nil {
		return c.Use.ID
	}
	return ""
}

// question returns a call that a person is to decide about.
func (l *loop) question(id string) (call tool.Call, key string, ok bool) {
	if key, ok = l.fold.state.Question(id); !ok {
		return tool.Call{}, "", false
	}
	return l.open(id), key, true
}

// decided records an answer to a question, in place of the callback's.
func (l *loop) decided(f event.Answered) error {
	if _, key, ok := l.question(f.Call); !ok || key != f.Key {
		return ErrNoQuestion
	}
	if asking := l.flights.get(f.Key); asking != nil {
		asking.ground()
		asking.line.muted.Store(true)
		l.flights.drop(asking)
	}
	return l.record(f)
}

// answer settles a tool's questions in place of the callback.
func (l *loop) answer(id string, answers []tool.Answer) error {
	for _, f := range l.flights {
		ask, ok := f.job.effect.(engine.AskPerson)
		if !ok || ask.Call != id {
			continue
		}
		f.ground()
		f.line.muted.Store(true)
		l.flights.drop(f)
		return l.record(answered(f.key, id, f.job.done.Result.Questions, answers))
	}
	return ErrNoQuestion
}

// wrapUp ends the run: what is still in the air is cancelled and waited for.
func (l *loop) wrapUp() {
	l.over = true
	l.cancel(context.Canceled)
	l.flights = slices.DeleteFunc(l.flights, func(f *flight) (over bool) {
		f.line.muted.Store(true)
		return f.ground()
	})
}

// close lets the consumer see the end. The baton is kept for ever.
func (l *loop) close() {
	l.ignore()
	if l.watch != nil {
		l.watch.Stop()
	}
	if l.saving != nil {
		l.saving.Cut()
	}
	if l.failed != nil {
		l.err = l.failed
	}
	if l.stuck != nil {
		l.err = errors.Join(l.err, l.stuck)
	}
	if l.span != nil {
		l.span.finish()
	}
	l.s.mu.Lock()
	l.s.running = false
	if l.failed != nil {
		l.lost()
	}
	l.s.mu.Unlock()
	if l.feed != nil {
		l.feed.close()
	}
	close(l.done)
}

// lost takes the session out of use after its log has failed: it is opened and
// replayed anew by the next prompt.
func (l *loop) lost() {
	end, ok := l.fold.state.SoFar()
	for _, e := range l.unsaved { // the end itself could not be recorded
		if f, is := e.Data.(event.RunEnd); is {
			end, ok = f, true
			end.Reason = event.Internal
		}
	}
	if ok {
		l.result = newResult(l.s.ID, end)
		l.s.last = l.result
	}
	if l.s.fold != nil {
		l.x.complain("session log failed", "error", errors.Join(l.failed, l.s.fold.log.Close()))
		l.s.fold = nil
	}
}
