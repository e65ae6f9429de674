package agent

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/driver"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/eventqueue"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/hookctx"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// start begins a run. If watched, the run keeps its events for a reader. start returns nil
// for an input with a known id. The goroutine that drives the run does all the work. So
// callers that wait for a run do not need a deep stack.
func (s *Session) start(ctx context.Context, in *Input, watched bool) (l *activeRun, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if hookctx.Depth(ctx) > hookctx.MaxDepth {
		return nil, fmt.Errorf("agent: %w", hook.ErrDepth)
	}
	ready := make(chan struct{})
	go func() {
		var first []event.Fact
		func() {
			defer close(ready)
			returned := false
			defer func() {
				if !returned {
					err = s.notStarted(recover())
				}
			}()
			l, first, err = s.newRun(ctx, in, watched)
			returned = true
		}()
		if l != nil {
			l.begin(in != nil, first)
		}
	}()
	<-ready
	return l, err
}

// notStarted returns the error of a start that panicked or ended its goroutine in a tool, a
// store or a callback.
func (s *Session) notStarted(v any) error {
	why := "runtime.Goexit"
	if v != nil {
		why = fmt.Sprintf("panic: %v", v)
	}
	stack := string(debug.Stack())
	safecall.Or(func() bool {
		s.definition().logger().Error("a run could not begin", "session", s.ID, "error", why, "stack", stack)
		return true
	}, false)
	return fmt.Errorf("agent: %w: a run could not begin: %s", ErrInternal, why)
}

// newRun returns a run and its first facts: those that close an earlier run, the
// configuration and the prompt.
func (s *Session) newRun(ctx context.Context, in *Input, watched bool) (l *activeRun, first []event.Fact, err error) {
	prompt := in != nil && !in.Compact
	var output *fact.Output
	if prompt {
		if err := in.check(); err != nil {
			return nil, nil, err
		}
		var err error
		if output, err = in.output(); err != nil {
			return nil, nil, err
		}
	}
	x, offered, notes, err := s.prepareRun(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	defer s.mu.Unlock()
	if output != nil && x.Tool(engine.OutputTool) != nil {
		return nil, nil, fmt.Errorf("agent: %w: a tool is named %s, which is reserved for answers of a schema; rename the tool", ErrConfig, engine.OutputTool)
	}
	if err := s.open(ctx, x.Roots[0]); err != nil {
		return nil, nil, err
	}
	state := s.state.State
	switch {
	case in == nil && !state.Running() && !state.Pending():
		return nil, nil, ErrNotResumable
	case in == nil:
		first = append(append(s.resumption(x), s.callbackChanged()...), s.recoverAbandoned(ctx, x, false)...)
	case in.ID != "" && state.Known(in.ID):
		return nil, nil, nil
	case in.Compact && !state.Running() && state.Pending():
		return nil, nil, fmt.Errorf("agent: compacting: %w: first decide about the call and resume, or send a new prompt", ErrSuspended)
	default:
		if err := x.limits.inMode(s.modeInForce(), x.base); err != nil {
			return nil, nil, err
		}
		first = slices.Concat([]event.Fact{s.configured(x, offered, output)}, s.callbackChanged(), x.opening(state, notes), []event.Fact{x.beginning(in)}, s.recoverAbandoned(ctx, x, true))
	}
	x.settleBroken(ctx, s.ID, state)
	var events *eventqueue.Queue
	if watched {
		events = eventqueue.New(s.reread)
	}
	if x.agent.Log != nil {
		x.Log = x.logOf(s.state.Last + 1)
	}
	l = &activeRun{s: s, x: x, state: s.state, conv: &s.state.Conversation}
	if s.state.Cache == nil && (watched || l.Observed()) {
		s.state.Cache = new(engine.CacheWatch)
	}
	l.Init(ctx, driver.Config{Host: l, Executor: x.Executor, Conversation: l.conv, Log: s.state.log, Events: events, Errors: driver.Errors{Internal: ErrInternal, Stuck: ErrToolStuck}})
	mode := cmp.Or(s.overrides().mode, state.Mode())
	if in != nil {
		mode = x.limits.mode(s.modeInForce())
	}
	x.Mode.Store(&mode) // it limits background agents before the first fact
	s.allowAgents()
	if !s.prompted && l.Observed() {
		l.audience().began(s)
	}
	if prompt {
		s.lazyOverrides.changed.modelSet = false
	}
	s.lazyOverrides.mode, s.prompted = "", true
	s.active, s.running = l, true
	return l, first, nil
}

// prepareRun returns the setup of a run of the current agent, its tools and, for a prompt,
// its notes. in is nil for a resumed run. If prepareRun succeeds, it leaves s.mu locked, and
// the session has no run.
func (s *Session) prepareRun(ctx context.Context, in *Input) (x *runSetup, offered []fact.Tool, notes []Note, err error) {
	for {
		s.mu.Lock()
		base, first := s.definition(), !s.prompted
		s.mu.Unlock()
		limits, err := s.promptLimits(ctx, base, in)
		if err != nil {
			return nil, nil, nil, err
		}
		if x, offered, err = prepareSetup(ctx, s, base, limits, first); err != nil {
			return nil, nil, nil, err
		}
		if err := x.checkQuota(ctx); err != nil {
			return nil, nil, nil, err
		}
		if in != nil && !in.Compact {
			at := Place{Dir: x.Roots[0], Start: true}
			at.hide(x.Unreadable.Load())
			notes = x.notes(ctx, at)
		}
		if err := s.lockIdle(ctx); err != nil {
			return nil, nil, nil, err
		}
		if s.definition() == base {
			return x, offered, notes, nil
		}
		s.mu.Unlock() // the agent was changed in between: try again
	}
}

// callbackChanged returns the fact that the callback was changed since the last prompt, if
// it was.
func (s *Session) callbackChanged() []event.Fact {
	if s.lazyOverrides == nil || !s.lazyOverrides.changed.callback {
		return nil
	}
	s.lazyOverrides.changed.callback = false
	return []event.Fact{fact.CallbackChanged{Set: s.definition().CanUseTool != nil}}
}

// configured returns the fact with the configuration of the run.
func (s *Session) configured(x *runSetup, offered []fact.Tool, output *fact.Output) event.Fact {
	a, m := x.agent, x.agent.Model
	c := fact.Configured{Output: output, Model: m.Name(), Models: map[string]llm.Info{}, System: x.system, Tools: offered,
		Mode: x.limits.mode(s.modeInForce()), Dir: x.Roots[0], Roots: x.Roots, MaxTokens: a.maxTokens(), Fallbacks: a.fallbacks(), Temperature: a.Temperature, ToolChoice: a.ToolChoice, Stop: a.Stop,
		Program: a.Program, Awaits: a.AwaitAgents, Agent: a.kind(), Checkpoints: a.Checkpoint != nil, Hooks: x.Hooks.Events(), Start: s.beginning(x), Thinking: a.Thinking, Cache: a.Cache, Retries: a.retry().tries(), Parallel: a.MaxParallelCalls, Compaction: a.Compaction.configured(),
		Limits: a.limits(), Prompt: x.limits.recorded()}
	if roots := s.state.State.Config().Roots; len(roots) > 0 && roots[0] == x.Roots[0] {
		c.Dir = s.state.State.Dir() // where the last prompt left it
	}
	if a.Loop != (event.Loop{}) {
		c.Loop = &a.Loop
	}
	if c.Parallel == 0 {
		c.Parallel = defaultParallel
	}
	if a.SmallModel != nil {
		c.Small = a.SmallModel.Name()
	}
	for _, m := range x.Models.All() {
		if _, known := c.Models[m.Name()]; !known {
			c.Models[m.Name()] = llm.InfoOf(m)
		}
	}
	return c
}

// beginning returns how the session began, for its first run in this program. It is "" if
// there are no hooks and no rules of hooks, because nothing uses it then.
func (s *Session) beginning(x *runSetup) event.Start {
	rules := s.state.State.Rules()
	switch {
	case s.prompted || len(x.Hooks.Events())+len(rules.Allow)+len(rules.Ask)+len(rules.Deny) == 0:
		return ""
	case s.state.Last == 0:
		return fact.StartNew
	}
	if info, err := session.Stat(context.Background(), s.store(), s.ID); err == nil && info.Parent != nil && info.Parent.Seq == s.state.Last {
		return fact.StartFork
	}
	return fact.StartResume
}

const (
	defaultMaxTokens = 16384
	defaultParallel  = 10
)

// modeInForce returns the mode of the next prompt. That is the mode set since the last
// prompt, otherwise the mode in which this program left the conversation.
//
// If another program left the conversation, its mode counts only if it forbids more than
// the agent's mode. So neither an agent's mode nor a setting ends plan mode. A child uses
// the mode that its parent gives it.
func (s *Session) modeInForce() permission.Mode {
	had, own := s.state.State.SessionMode(), s.definition().Permissions.Mode
	switch {
	case s.overrides().mode != "":
		return s.lazyOverrides.mode
	case s.prompted, s.sameProgram():
		return had
	case s.definition().parentLink != nil && own != "":
		return own
	case had == permission.Plan, had == permission.DontAsk && own != permission.Plan:
		return had
	case own != "":
		return own
	}
	return permission.Default
}

// sameProgram reports whether this program ran the last prompt of the conversation.
func (s *Session) sameProgram() bool {
	program := s.definition().Program
	return program != "" && s.state.State.Config().Program == program
}

// resumption returns the first facts of a resumed run, with the settings changed since. It
// changes the model if the agent no longer has the run's model.
func (s *Session) resumption(x *runSetup) []event.Fact {
	facts := []event.Fact{event.Resumed{Hooks: x.Hooks.Events(), Start: s.beginning(x)}}
	a, did := x.agent, s.overrides().changed
	if x.Models.Named(s.state.State.Model()) == nil || did.model {
		facts = append(facts, a.modelChanged())
	}
	if did.fallbacks {
		facts = append(facts, a.fallbacksChanged())
	}
	if did.budget {
		facts = append(facts, fact.BudgetChanged{Limits: a.limits()})
	}
	if mode := s.lazyOverrides.mode; mode != "" && (mode != s.state.State.Mode() || mode != s.state.State.SessionMode()) {
		facts = append(facts, modeChanged(s.state.State, mode))
		x.limits.sessionMode(mode)
	}
	return facts
}

// beginning returns the first fact of a run: the prompt, or the request for a compaction.
func (x *runSetup) beginning(in *Input) event.Fact {
	if in.Compact {
		return in.compactRequest()
	}
	return x.prompt(in)
}

// prompt returns the fact of a prompt. A skill in it gets the model that it names.
func (x *runSetup) prompt(in *Input) event.Fact {
	m := in.message(fact.AsPrompt)
	if m.Expansion != nil {
		own := *m.Expansion                     // do not change the caller's
		if in.Model != "" && own.Scope != nil { // the prompt's model counts
			scope := *own.Scope
			scope.Model = ""
			own.Scope = &scope
		}
		own.Scope = x.Equipped(own.Scope)
		m.Expansion = &own
	}
	return m
}
