package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/same"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// The methods of this file change what a session works with. They may be called while
// a prompt runs, which goes on with the change from its next request or decision, and
// while none runs; either way it holds for later prompts of the Session. They return
// once the change is on record: as a fact of its own in the run that goes on, else as
// what the next prompt is configured with. What makes no sense is refused with
// [ErrConfig] and changes nothing.
//
// A run that is resumed, also in another program, goes on with what its facts say of
// mode, model, thinking, fallbacks and budget, but for models that its agent does not
// have. A callback and tools are the program's own. A new prompt in another program
// begins with the Agent of that program. The mode in which the conversation was left stays
// where it is plan or dontAsk, or where the program is the same, see [Agent].Program.

// settings are what was set for a session since it was made, and what else few have.
type settings struct {
	mode    permission.Mode // for the next prompt; "" is what is in force
	changed altered         // of the agent
	gone    []tool.Tool     // that SetTools and ReplaceTool have taken away
	agents  *subagentSet    // not set, but as rare; nil: it has started no agents
}

// altered says what of the agent was changed; callback: and is not on record yet.
type altered struct{ model, fallbacks, budget, callback bool }

// settings returns what was set, to be changed. It is called with the lock.
func (s *Session) settings() *settings {
	if s.set == nil {
		s.set = new(settings)
	}
	return s.set
}

// Agent returns the session's agent: as it was when you made the session, with later
// changes. Do not change its lists. The current permission mode is in the events of a
// run.
func (s *Session) Agent() *Agent {
	own := *s.def()
	return &own
}

// alter makes the session's agent another one, and has the run that goes on told.
func (s *Session) alter(ctx context.Context, change func(a *Agent, did *altered), tell func(l *activeRun, now *Agent) error) error {
	s.mu.Lock()
	own, did := *s.def(), s.settings().changed
	change(&own, &did)
	err := own.check()
	if err == nil {
		s.set.changed = did
		s.agent.Store(&own)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	// Of changes that are made at once the last counts: each tells what is so by then.
	err = s.withRun(ctx, func(l *activeRun) error { return tell(l, s.def()) })
	if errors.Is(err, ErrNotRunning) {
		return nil
	}
	return err
}

// SetMode changes the permission mode, from the next call that is judged. The callback
// stays, see [Session.SetCanUseTool].
func (s *Session) SetMode(ctx context.Context, mode permission.Mode) error {
	if _, err := permission.ParseMode(string(mode)); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	s.mu.Lock()
	s.settings().mode = mode // for a prompt that begins meanwhile
	s.mu.Unlock()
	err := s.withRun(ctx, func(l *activeRun) error { return l.CommitHost(event.ModeChanged{Mode: mode}) })
	if errors.Is(err, ErrNotRunning) {
		return s.leaveIn(ctx, mode)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settings().mode == mode {
		s.settings().mode = "" // the run has it
	}
	return err
}

// leaveIn records the mode of a conversation that is open and at rest, so that it is what
// the conversation was left in.
func (s *Session) leaveIn(ctx context.Context, mode permission.Mode) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running || s.closed || s.fold == nil || s.fold.Last == 0 || s.fold.State.Mode() == mode {
		return nil
	}
	return s.append(ctx, s.fold.Last, event.ModeChanged{Mode: mode})
}

// Mode returns the permission mode: that of the running or interrupted run, or the one
// that the next prompt begins with.
func (s *Session) Mode(ctx context.Context) (permission.Mode, error) {
	var mode permission.Mode
	err := s.withRun(ctx, func(l *activeRun) error { mode = l.conv.State.Mode(); return nil })
	if !errors.Is(err, ErrNotRunning) {
		return mode, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(ctx, ""); err != nil {
		return "", err
	}
	if state := s.fold.State; s.settings().mode == "" && (state.Running() || state.Pending()) {
		return state.Mode(), nil
	}
	return s.modeInForce(), nil
}

// SetModel changes the model, from the next model call. It may be any model. Of tools
// that replace each other it gets those that suit it.
func (s *Session) SetModel(ctx context.Context, m llm.Model) error {
	return s.remodel(ctx, func(a *Agent) { a.Model = m })
}

// SetThinking changes how much the model thinks, from the next model call. The zero
// Thought leaves that to the provider. [llm.ThinkOff] turns thinking off.
func (s *Session) SetThinking(ctx context.Context, t llm.Thought) error {
	return s.remodel(ctx, func(a *Agent) { a.Thinking = t })
}

// SetEffort is SetThinking with one of the words low, medium, high and max.
func (s *Session) SetEffort(ctx context.Context, effort string) error {
	if effort == "" {
		return fmt.Errorf("agent: %w: the effort is empty; the efforts are low, medium, high and max", ErrConfig)
	}
	return s.SetThinking(ctx, llm.Thought{Effort: effort})
}

// SetMaxThinkingTokens is SetThinking with a number of tokens, at least 1. Nil turns
// thinking off.
func (s *Session) SetMaxThinkingTokens(ctx context.Context, tokens *int) error {
	switch {
	case tokens == nil:
		return s.SetThinking(ctx, llm.Thought{Mode: llm.ThinkOff})
	case *tokens <= 0:
		return fmt.Errorf("agent: %w: %d thinking tokens; it takes 1 at the least, and nil switches thinking off", ErrConfig, *tokens)
	}
	return s.SetThinking(ctx, llm.Thought{Budget: *tokens})
}

// remodel changes the model, or how it is asked.
func (s *Session) remodel(ctx context.Context, change func(a *Agent)) error {
	return s.alter(ctx, func(a *Agent, did *altered) { change(a); did.model = true }, func(l *activeRun, a *Agent) error {
		l.x.Models.Add(a.Model)
		l.x.Models.AddSecrets(a.Model)
		if want := llm.InfoOf(a.Model).Patches; want != l.x.patched {
			l.x.repick, l.x.patched = true, want
		}
		return l.CommitHost(a.modelChanged())
	})
}

func (a *Agent) modelChanged() event.Fact {
	return event.ModelChanged{Model: a.Model.Name(), Info: llm.InfoOf(a.Model), Thinking: a.Thinking, MaxTokens: a.maxTokens()}
}

// maxTokens is how many tokens an answer may have.
func (a *Agent) maxTokens() int {
	if a.MaxTokens == 0 {
		return defaultMaxTokens + a.Thinking.Tokens()
	}
	return a.MaxTokens
}

// SetFallback changes the models that are tried, in this order, if the model stays
// unavailable. Without any there are none. A run that uses one of them stays with it. Any
// other run returns to its model with the next call.
func (s *Session) SetFallback(ctx context.Context, models ...llm.Model) error {
	models = slices.Clone(models)
	return s.alter(ctx, func(a *Agent, did *altered) { a.Fallbacks = models; did.fallbacks = true }, func(l *activeRun, a *Agent) error {
		for _, m := range a.Fallbacks {
			l.x.Models.Add(m)
			l.x.Models.AddSecrets(m)
		}
		return l.CommitHost(a.fallbacksChanged())
	})
}

func (a *Agent) fallbacksChanged() event.Fact {
	f := event.FallbacksChanged{Fallbacks: a.fallbacks(), Models: map[string]llm.Info{}}
	for _, m := range a.Fallbacks {
		f.Models[m.Name()] = llm.InfoOf(m)
	}
	return f
}

// fallbacks are the names of the fallback models, each once.
func (a *Agent) fallbacks() []string {
	var names []string
	for _, m := range a.Fallbacks {
		if m.Name() != a.Model.Name() && !slices.Contains(names, m.Name()) {
			names = append(names, m.Name())
		}
	}
	return names
}

// SetBudget changes the budget of the current run and of later prompts. Earlier use
// counts: a run that has used up the new budget ends with its next check. The shares of
// working agents shrink. An agent whose share is used up is stopped.
func (s *Session) SetBudget(ctx context.Context, b Budget) error {
	var work []event.AgentStart
	err := s.alter(ctx, func(a *Agent, did *altered) { a.Budget = b; did.budget = true }, func(l *activeRun, a *Agent) error {
		err := l.CommitHost(event.BudgetChanged{Limits: a.limits()})
		work = l.conv.State.Agents().AtWork()
		return err
	})
	if err == nil && len(work) > 0 {
		s.boundAgents(context.WithoutCancel(ctx), event.Limits{Turns: b.Turns, ModelCalls: b.ModelCalls, USD: b.USD}, work)
	}
	return err
}

// limits are those of a run of the agent.
func (a *Agent) limits() event.Limits {
	b := a.Budget
	l := event.Limits{Turns: b.Turns, ModelCalls: b.ModelCalls, USD: b.USD, Time: b.Time}
	if a.parentLink != nil {
		l.OwnTurns = a.parentLink.turns
	}
	return l
}

// SetCanUseTool replaces the callback, from the next decision. Nil removes it. The
// permission mode has no effect on it. An open question stays open.
func (s *Session) SetCanUseTool(ctx context.Context, fn CanUseToolFunc) error {
	return s.alter(ctx, func(a *Agent, did *altered) { a.CanUseTool = fn; did.callback = s.prompted }, func(l *activeRun, a *Agent) error {
		s.mu.Lock()
		s.set.changed.callback = false
		s.mu.Unlock()
		return l.CommitHost(event.CallbackChanged{Set: a.CanUseTool != nil})
	})
}

// SetTools changes the agent's Tools, from the next request. The Toolsets stay, and so do
// the limits on visible tools and permitted calls. Earlier calls continue unchanged. A
// Toolset must not call it.
func (s *Session) SetTools(ctx context.Context, tools []tool.Tool) error {
	tools = slices.Clone(tools)
	for _, t := range tools {
		if t == nil {
			return fmt.Errorf("agent: %w: a tool is nil", ErrConfig)
		}
		if err := tool.Check(t); err != nil {
			return fmt.Errorf("agent: %w: %w", ErrConfig, err)
		}
	}
	for {
		before := s.def()
		own := *before
		own.Tools = tools
		done, err := s.retool(ctx, before, &own)
		if done || err != nil {
			return err
		}
	}
}

// retool changes over from an agent to one with other tools. It reports false where
// that is not the session's agent any more.
func (s *Session) retool(ctx context.Context, before, own *Agent) (done bool, err error) {
	if err := own.check(); err != nil {
		return false, err
	}
	s.mu.Lock()
	l, running := s.loop, s.running
	if !running {
		defer s.mu.Unlock()
		return s.swap(before, own), nil
	}
	s.mu.Unlock()
	fresh, err := l.x.gatherTools(ctx, own, own.Model)
	if err != nil {
		return false, err
	}
	err = s.withRun(ctx, func(now *activeRun) error {
		if now != l {
			return nil
		}
		if l.conv.State.Config().Output != nil && slices.ContainsFunc(fresh.pool, func(t tool.Tool) bool { return t.Spec().Name == engine.OutputTool }) {
			return fmt.Errorf("agent: %w: a tool is named %s, which is where answers of a schema are given", ErrConfig, engine.OutputTool)
		}
		s.mu.Lock()
		done = s.swap(before, own)
		s.mu.Unlock()
		if !done {
			return nil
		}
		l.x.patched = llm.InfoOf(own.Model).Patches
		return l.CommitHost(l.takeTools(fresh)...)
	})
	if !errors.Is(err, ErrNotRunning) {
		return done, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loop == l && s.swap(before, own), nil // it has just ended
}

// swap puts an agent with other tools in the place of the one before, if that is still
// the session's. It is called with the lock.
func (s *Session) swap(before, own *Agent) bool {
	if s.def() != before {
		return false
	}
	for _, t := range before.Tools {
		is := func(o tool.Tool) bool { return same.Value(o, t) }
		if _, ok := t.(sessionEnder); ok && !slices.ContainsFunc(own.Tools, is) && !slices.ContainsFunc(s.settings().gone, is) {
			s.settings().gone = append(s.settings().gone, t)
		}
	}
	s.agent.Store(own)
	return true
}

// ReplaceTool replaces the tool of the same name, from the next call that starts, and for
// later prompts of the session. A tool of one of the agent's Toolsets returns with the
// next prompt. Running calls continue.
func (s *Session) ReplaceTool(ctx context.Context, t tool.Tool) error {
	if err := tool.Check(t); err != nil {
		return fmt.Errorf("agent: %w: %w", ErrConfig, err)
	}
	name := t.Spec().Name
	found := false
	err := s.withRun(ctx, func(l *activeRun) error {
		if l.x.Tool(name) == nil {
			return nil
		}
		found = true
		l.x.Replace(t)
		return l.CommitHost(event.ToolChanged{Tool: describe(t)})
	})
	if err != nil && !errors.Is(err, ErrNotRunning) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	own := *s.def()
	own.Tools = slices.Clone(own.Tools)
	for i, old := range own.Tools {
		if old.Spec().Name == name {
			own.Tools[i], found = t, true
		}
	}
	if !found {
		return fmt.Errorf("agent: %w: there is no tool %q to replace", ErrConfig, name)
	}
	s.swap(s.def(), &own)
	return nil
}
