package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/internal/same"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// The methods of this file change the settings of a session. You may call them at any time.
// A running prompt uses the change from its next request or decision. Later prompts of the
// Session use it too. During a run, a method returns once the change is on record as a
// fact. Otherwise the change becomes part of the next prompt's configuration. An invalid
// change fails with [ErrConfig] and has no effect.
//
// A resumed run takes mode, model, thinking, fallbacks and budget from its facts, also in
// another program. It cannot use models that its agent does not have. The callback and the
// tools always come from the program. A new prompt in another program begins with the Agent
// of that program. The mode of the conversation stays if it is plan or dontAsk, or if the
// program is the same, see [Agent].Program.

// overrides are changes made to a session, and rarely used state.
type overrides struct {
	mode    permission.Mode // for the next prompt; "": the mode in force
	changed altered         // which settings of the agent changed
	gone    []tool.Tool     // removed by SetTools and ReplaceTool
	agents  *subagentSet    // not a setting, but as rarely used; nil: the session has started no agents
}

// altered says which settings of the agent were changed. callback: the change is not on
// record yet. modelSet: SetModel was called since the last prompt began.
type altered struct{ model, modelSet, fallbacks, budget, callback bool }

// overrides returns the changes to the settings. The caller holds s.mu.
//
//go:noinline // called from many places: every program stays smaller
func (s *Session) overrides() *overrides {
	if s.lazyOverrides == nil {
		s.lazyOverrides = new(overrides)
	}
	return s.lazyOverrides
}

// Agent returns a copy of the session's current agent, with all changes to settings. Do not
// change its lists. The events of a run have the current permission mode.
func (s *Session) Agent() *Agent {
	own := *s.definition()
	return &own
}

// alter changes the session's agent. During a run it also calls tell, with the run's token
// and the current agent.
func (s *Session) alter(ctx context.Context, change func(a *Agent, did *altered), tell func(l *activeRun, now *Agent) error) error {
	s.mu.Lock()
	own, did := *s.definition(), s.overrides().changed
	change(&own, &did)
	err := own.check()
	if err == nil && s.running {
		err = s.active.x.limits.alter(&own, did.modelSet)
	}
	if err == nil {
		s.lazyOverrides.changed = did
		s.agent.Store(&own)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	// If several changes happen at once, the last one counts. Each call of tell gets the
	// agent with all of them.
	err = s.withRun(ctx, func(l *activeRun) error { return tell(l, l.x.definition()) })
	if errors.Is(err, ErrNotRunning) {
		return nil
	}
	return err
}

// SetMode changes the permission mode. It holds from the next call that is judged. The
// callback stays, see [Session.SetCanUseTool].
func (s *Session) SetMode(ctx context.Context, mode permission.Mode) error {
	if _, err := permission.ParseMode(string(mode)); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	s.mu.Lock()
	s.overrides().mode = mode // for a prompt that begins now
	s.mu.Unlock()
	err := s.withRun(ctx, func(l *activeRun) error {
		l.x.limits.sessionMode(mode)
		return l.CommitHost(modeChanged(l.conv.State, mode))
	})
	if errors.Is(err, ErrNotRunning) {
		return s.leaveIn(ctx, mode)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.overrides().mode == mode {
		s.overrides().mode = "" // the run has it
	}
	return err
}

// leaveIn records the mode of an open conversation without a run, so that the next program
// finds it.
func (s *Session) leaveIn(ctx context.Context, mode permission.Mode) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running || s.closed || s.state == nil || s.state.Last == 0 || s.state.State.Mode() == mode && s.state.State.SessionMode() == mode {
		return nil
	}
	return s.append(ctx, s.state.Last, modeChanged(s.state.State, mode))
}

// ChangePermissions changes the session's rules, as hooks can. Rules that it adds hold for
// this session and its sub-agents, from the next decision, also after a resume. It replaces
// and removes only rules that hooks or ChangePermissions have added. An invalid update fails
// and has no effect. For another mode, use [Session.SetMode].
func (s *Session) ChangePermissions(ctx context.Context, updates ...hook.Update) error {
	for _, u := range updates {
		if u.Type == hookconst.SetMode {
			return errors.New("agent: ChangePermissions cannot set a mode; call SetMode")
		}
		if err := hookrun.CheckUpdate(u); err != nil {
			return fmt.Errorf("agent: changing permissions: %w", err)
		}
	}
	return s.withSession(ctx, func(_ *conversation.Conversation, record func(...event.Fact) error) error {
		return record(event.PermissionsChanged{Updates: updates})
	})
}

// modeChanged returns the fact of a change by the host.
func modeChanged(state *engine.State, mode permission.Mode) event.Fact {
	prompt := state.Config().Prompt
	return event.ModeChanged{Mode: mode, Lasts: prompt != nil && prompt.Mode != ""}
}

// Mode returns the permission mode of the running or interrupted run. Without one it
// returns the mode of the next prompt.
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
	if state := s.state.State; s.overrides().mode == "" && (state.Running() || state.Pending()) {
		return state.Mode(), nil
	}
	return s.modeInForce(), nil
}

// SetModel changes the model, from the next model call. It accepts any model. If tools
// replace each other, the model gets those that suit it.
func (s *Session) SetModel(ctx context.Context, m llm.Model) error {
	return s.remodel(ctx, true, func(a *Agent) { a.Model = m })
}

// SetThinking changes how much the model thinks, from the next model call. Set the Effort
// of t to low, medium, high or max, or its Budget to a number of tokens. With the zero
// Thought the provider decides. [llm.ThinkOff] turns thinking off.
func (s *Session) SetThinking(ctx context.Context, t llm.Thought) error {
	return s.remodel(ctx, false, func(a *Agent) { a.Thinking = t })
}

// remodel changes the model, or the settings of its requests. model: it is the model, which
// replaces that of the prompt too.
func (s *Session) remodel(ctx context.Context, model bool, change func(a *Agent)) error {
	return s.alter(ctx, func(a *Agent, did *altered) {
		change(a)
		did.model, did.modelSet = true, did.modelSet || model
	}, func(l *activeRun, a *Agent) error {
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

// maxTokens returns the most tokens of one answer.
func (a *Agent) maxTokens() int {
	if a.MaxTokens == 0 {
		return defaultMaxTokens + a.Thinking.Tokens()
	}
	return a.MaxTokens
}

// SetFallback changes the models to try, in this order, if the model stays unavailable.
// Without arguments there are none. A run that uses one of them stays with it. Any other
// run returns to its model with the next call.
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
	f := fact.FallbacksChanged{Fallbacks: a.fallbacks(), Models: map[string]llm.Info{}}
	for _, m := range a.Fallbacks {
		f.Models[m.Name()] = llm.InfoOf(m)
	}
	return f
}

// fallbacks returns the names of the fallback models, each once.
func (a *Agent) fallbacks() []string {
	var names []string
	for _, m := range a.Fallbacks {
		if m.Name() != a.Model.Name() && !slices.Contains(names, m.Name()) {
			names = append(names, m.Name())
		}
	}
	return names
}

// SetBudget changes the budget of the current run and of later prompts. Earlier use counts,
// so a run that has used up the new budget ends soon. The shares of working agents shrink.
// An agent whose share is used up is stopped.
func (s *Session) SetBudget(ctx context.Context, b Budget) error {
	var limits fact.Limits
	var work []event.AgentStart
	err := s.alter(ctx, func(a *Agent, did *altered) { a.Budget = b; did.budget = true }, func(l *activeRun, a *Agent) error {
		limits = a.limits()
		err := l.CommitHost(fact.BudgetChanged{Limits: limits})
		work = l.conv.State.Agents().AtWork()
		return err
	})
	if err == nil && len(work) > 0 {
		s.boundAgents(context.WithoutCancel(ctx), limits, work)
	}
	return err
}

// limits returns the limits of a run of the agent.
func (a *Agent) limits() fact.Limits {
	b := a.Budget
	l := fact.Limits{Turns: b.Turns, ModelCalls: b.ModelCalls, USD: b.USD, Time: b.Time}
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
		s.lazyOverrides.changed.callback = false
		s.mu.Unlock()
		return l.CommitHost(fact.CallbackChanged{Set: a.CanUseTool != nil})
	})
}

// SetTools changes the agent's Tools, from the next request. The Toolsets stay. So do
// AllowedTools, DisallowedTools and permissions: rules may still name a tool that is gone.
// Running calls continue unchanged. A Toolset must not call SetTools.
func (s *Session) SetTools(ctx context.Context, tools []tool.Tool) error {
	tools = slices.Clone(tools)
	for _, t := range tools {
		if t == nil {
			return fmt.Errorf("agent: %w: a tool is nil", ErrConfig)
		}
		if err := toolrun.Check(t); err != nil {
			return fmt.Errorf("agent: %w: %w", ErrConfig, err)
		}
	}
	for {
		before := s.definition()
		own := *before
		own.Tools = tools
		done, err := s.retool(ctx, before, &own)
		if done || err != nil {
			return err
		}
	}
}

// retool replaces the agent before by own, which has other tools. It reports false if
// before is no longer the session's agent.
func (s *Session) retool(ctx context.Context, before, own *Agent) (done bool, err error) {
	if err := own.check(); err != nil {
		return false, err
	}
	s.mu.Lock()
	l, running := s.active, s.running
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
		if l.conv.State.Config().Output != nil && slices.ContainsFunc(fresh.tools, func(t tool.Tool) bool { return t.Spec().Name == engine.OutputTool }) {
			return fmt.Errorf("agent: %w: a tool is named %s, which is reserved for answers of a schema; rename the tool", ErrConfig, engine.OutputTool)
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
	return s.active == l && s.swap(before, own), nil // the run has just ended
}

// swap replaces the agent before by own, which has other tools. It reports false if before
// is no longer the session's agent. The caller holds s.mu.
func (s *Session) swap(before, own *Agent) bool {
	if s.definition() != before {
		return false
	}
	known := &own.Permissions.KnownTools // rules may still name the tools
	for _, t := range before.Tools {
		if name := t.Spec().Name; !slices.Contains(*known, name) {
			*known = append(slices.Clip(*known), name)
		}
		is := func(o tool.Tool) bool { return same.Value(o, t) }
		if _, ok := t.(sessionEnder); ok && !slices.ContainsFunc(own.Tools, is) && !slices.ContainsFunc(s.overrides().gone, is) {
			s.overrides().gone = append(s.overrides().gone, t)
		}
	}
	s.agent.Store(own)
	return true
}

// ReplaceTool replaces the tool of the same name, from the next call that starts, and for
// later prompts of the session. A tool of one of the agent's Toolsets returns with the
// next prompt. Running calls continue.
func (s *Session) ReplaceTool(ctx context.Context, t tool.Tool) error {
	if err := toolrun.Check(t); err != nil {
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
		return l.CommitHost(fact.ToolChanged{Tool: describe(t)})
	})
	if err != nil && !errors.Is(err, ErrNotRunning) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	own := *s.definition()
	own.Tools = slices.Clone(own.Tools)
	for i, old := range own.Tools {
		if old.Spec().Name == name {
			own.Tools[i], found = t, true
		}
	}
	if !found {
		return fmt.Errorf("agent: %w: there is no tool %q to replace", ErrConfig, name)
	}
	s.swap(s.definition(), &own)
	return nil
}
