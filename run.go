package agent

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/driver"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/watchers"
	"github.com/openagent-go/agent/permission"
)

// An activeRun is a run of a session. [driver.Run] drives it; activeRun is its host. Until
// the run is done, only the goroutine that holds its token uses the fields.
type activeRun struct {
	driver.Run
	s     *Session
	x     *runSetup
	state *sessionState
	conv  *conversation.Conversation // part of state

	span   *watchedRun              // nil without tracing
	to     atomic.Pointer[audience] // who may watch the run; nil until someone asks
	poll   noticePoll
	warned bool // about the budget
	told   toldExecutor
	over   atomic.Bool // the last fact is applied; anyone may read it
	hide   func()      // ends what [activeRun.provide] began

	// The outcome. Other goroutines read it once the run is done.
	result *Result // for the caller
	err    error   // for the caller
}

// toldExecutor is the state of the rules that the executor has.
type toldExecutor struct {
	restriction  *permission.Restriction // the tools that skills permit
	rulesChanged bool                    // hooks or a skill have changed the rules
}

// begin starts a run in the first goroutine, which holds the ownership token.
func (l *activeRun) begin(prompt bool, first []event.Fact) {
	ctx := l.observe(!prompt)
	var closing []event.Fact
	if prompt && (l.conv.State.Running() || l.conv.State.Pending()) {
		closing = closingFacts(l.x.Hooks.Events())
	}
	var restart func()
	if !prompt {
		waiting := l.conv.State.Agents().Waiting()
		restart = func() {
			for _, at := range waiting {
				l.restartAgent(at)
			}
		}
	}
	l.hide = l.provide()
	l.Begin(ctx, closing, first, restart)
}

// closingFacts returns the facts that close an earlier run.
//
//go:noinline // called from many places: every program stays smaller
func closingFacts(hooks []hook.Event) []event.Fact {
	return []event.Fact{event.Resumed{Hooks: hooks}, fact.Stopped{Reason: event.Interrupted, Message: fact.Superseded}}
}

// OwnEffect implements [driver.Host]. It asks tools for notices, and Toolsets for tools.
func (l *activeRun) OwnEffect(effects []engine.Effect) (own driver.OwnEffect, waits bool) {
	if notices, waits := l.pollNotices(effects); notices != nil {
		return notices, false
	} else if waits {
		return nil, true
	}
	if tools, waits := l.pollToolsets(effects); tools != nil {
		return tools, false
	} else if waits {
		return nil, true
	}
	return nil, false
}

// Applied implements [driver.Host]. It updates the executor's rules and stops background
// agents if the fact asks for it.
func (l *activeRun) Applied(f event.Fact) {
	l.poll.done = false
	if b := l.conv.State.Restriction(); b != l.told.restriction {
		l.told.restriction = b
		l.takeRules()
	}
	if l.stopsAgents(f) {
		l.s.interruptAgents()
	}
	switch f := f.(type) {
	case event.ToolStart:
		l.touch(f.Call)
	case event.PermissionsChanged, fact.Configured, event.Resumed:
		l.takeRules()
	case event.RunEnd:
		l.over.Store(!l.ClosesEarlier())
	}
}

// Recorded implements [driver.Host]. It logs facts, and keeps the result at the end of the
// run.
func (l *activeRun) Recorded(events []event.Event) {
	if l.x.agent.Log != nil {
		l.logged(events)
	}
	for _, e := range events {
		if end, ok := e.Data.(event.RunEnd); ok {
			l.ended(end)
		}
	}
	if l.Observed() {
		l.audience().facts(events)
	}
	l.warn()
	if n := l.state.torn; n > 0 && (l.Events() != nil || l.Observed()) {
		l.state.torn = 0
		l.Show(event.JournalCut{Bytes: n})
	}
}

// Observed implements [driver.Host].
func (l *activeRun) Observed() bool { return watchers.Any() && l.audience().watches() }

// Observe implements [driver.Host].
func (l *activeRun) Observe(e event.Event, soFar string) { l.audience().put(e, soFar) }

// audience returns those who may watch the run. It needs no token.
func (l *activeRun) audience() *audience {
	to := l.to.Load()
	if to == nil {
		to = l.s.audience()
		l.to.Store(to)
	}
	return to
}

// warnAt is the share of the budget from which on a warning comes.
const warnAt = 0.8

// warn shows, once in a run, that much of the budget is spent.
func (l *activeRun) warn() {
	if l.warned || l.Events() == nil {
		return
	}
	limit, spent := l.conv.State.Config().Limits.USD, l.conv.State.SpentUSD()
	if limit > 0 && spent >= warnAt*limit {
		l.warned = true
		l.Show(event.BudgetWarning{SpentUSD: spent, LimitUSD: limit})
	}
}

func (l *activeRun) ended(end event.RunEnd) {
	cause := l.x.Cause(end.Message)
	if end.Reason == event.Interrupted || end.Reason == event.TimedOut {
		cause = endOf(l.Context())
	}
	l.err = endError(end, cause)
	if l.span != nil {
		l.span.fact = end
	}
	l.result = &Result{Session: l.s.ID, RunEnd: end}
	l.s.mu.Lock()
	l.s.last = l.result
	l.s.mu.Unlock()
}

// endOf returns the cause of a context's end. It also matches the context's error.
func endOf(ctx context.Context) error {
	cause, err := context.Cause(ctx), ctx.Err()
	if cause == nil || errors.Is(cause, err) {
		return cause
	}
	return &contextEnd{cause, err}
}

// A contextEnd is the cause of a context's end. Its words are those of the cause.
type contextEnd struct{ cause, err error }

func (e *contextEnd) Error() string { return e.cause.Error() }

func (e *contextEnd) Unwrap() []error { return []error{e.cause, e.err} }

// takeRules gives the executor the rules that hooks have added, and the restriction of
// skills.
func (l *activeRun) takeRules() {
	more := l.conv.State.Rules()
	if len(more.Allow)+len(more.Ask)+len(more.Deny) == 0 && l.told.restriction == nil && !l.told.rulesChanged {
		return
	}
	l.told.rulesChanged = true
	p := l.x.agent.Permissions
	p.Allow, p.Ask, p.Deny = joinRules(p.Allow, more.Allow), joinRules(p.Ask, more.Ask), joinRules(p.Deny, more.Deny)
	p = policies.Restrict(p, l.told.restriction)
	l.x.Rules.Store(policies.Compile(p))
	l.x.Unreadable.Store(policies.Unreadable(p, l.x.agent.Deciders, l.x.Roots...))
}

//go:noinline // called from many places: every program stays smaller
func joinRules(a, b []permission.Rule) []permission.Rule { return slices.Concat(a, b) }

// Closed implements [driver.Host]. It sets the error of the run and frees the session for
// the next one.
func (l *activeRun) Closed() {
	l.hide()
	failed := l.Failed()
	if failed != nil {
		l.err = failed
	}
	if stuck := l.Stuck(); stuck != nil {
		l.err = errors.Join(l.err, stuck)
	}
	if l.span != nil {
		l.span.finish()
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.s.running = false
	if failed != nil {
		l.reportLost(failed)
	}
}

// reportLost closes the session after its log has failed. The next prompt opens and replays
// it again.
func (l *activeRun) reportLost(failed error) {
	end, ok := l.conv.State.SoFar()
	for _, e := range l.Unsaved() { // the end is not on record
		if f, is := e.Data.(event.RunEnd); is {
			end, ok = f, true
			end.Reason = event.Internal
		}
	}
	if ok {
		l.result = &Result{Session: l.s.ID, RunEnd: end}
		l.s.last = l.result
	}
	if l.s.state != nil {
		l.x.Complain("session log failed", "error", errors.Join(failed, l.s.state.log.Close()))
		l.s.state = nil
	}
}
