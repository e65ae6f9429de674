package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/subagents"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// promptLimits are the options of one prompt, see [Input]. Do not change them: replace them.
type promptLimits struct {
	fact.PromptOptions
	model llm.Model // of the option Model; nil: the agent's
	names []string  // of the option Tools, to be compared with the agent's tools; nil: no more
}

// liveLimits are the options of the prompt that runs. They change if the host changes the
// session. Nil: the prompt has no options.
type liveLimits struct {
	atomic.Pointer[promptLimits]
}

// bounded reports whether the input has options that bound its prompt.
func (in *Input) bounded() bool {
	return in.Model != "" || in.Budget != (Budget{}) || in.Tools != nil || in.Mode != ""
}

// limits returns the options of a prompt to the agent, nil if there are none.
func (in *Input) limits(a *Agent) (*promptLimits, error) {
	var above [][]string
	if a.parentLink != nil {
		above = a.parentLink.prompt
	}
	if !in.bounded() && above == nil {
		return nil, nil
	}
	bad := func(option string, err error) error {
		return fmt.Errorf("agent: %w: the prompt's %s: %w", ErrConfig, option, err)
	}
	if in.Compact && in.bounded() {
		return nil, fmt.Errorf("agent: %w: a request to compact takes no options of prompts", ErrConfig)
	}
	b := in.Budget
	if err := b.check(); err != nil {
		return nil, bad("Budget", err)
	}
	l := &promptLimits{names: in.Tools}
	l.Model, l.Mode, l.Tools = in.Model, in.Mode, slices.Clip(above)
	l.Limits = fact.Limits{Turns: b.Turns, ModelCalls: b.ModelCalls, USD: b.USD, Time: b.Time}
	if in.Tools != nil {
		l.Tools = append(l.Tools, slices.Clone(in.Tools))
	}
	if in.Mode != "" {
		if _, err := permission.ParseMode(string(in.Mode)); err != nil {
			return nil, bad("Mode", err)
		}
	}
	if in.Model != "" {
		var err error
		if l.model, err = a.model(in.Model); err != nil {
			return nil, bad("Model", err)
		}
	}
	return l, nil
}

// model returns the model of the given name, if the agent has it or can get it.
func (a *Agent) model(name string) (llm.Model, error) {
	return executor.FindModel(a.models(), a.Models, name)
}

// promptLimits returns the options of a prompt to the agent, nil if there are none. A
// resumed run, with nil for in, has those on record. If the agent no longer has their model,
// the run continues with the agent's.
func (s *Session) promptLimits(ctx context.Context, a *Agent, in *Input) (*promptLimits, error) {
	if in != nil {
		return in.limits(a)
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	if err := s.lockIdle(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := s.open(ctx, ""); err != nil {
		return nil, err
	}
	recorded := s.state.State.Config().Prompt
	if recorded == nil {
		return nil, nil
	}
	l := &promptLimits{PromptOptions: *recorded}
	if s.overrides().changed.modelSet {
		l.Model = ""
	}
	if l.Model != "" {
		l.model, _ = a.model(l.Model)
	}
	if a.parentLink != nil {
		l.Tools = slices.Concat(l.Tools, a.parentLink.prompt)
	}
	return l, nil
}

// inMode sets the mode of the session, which bounds that of the prompt.
func (live *liveLimits) inMode(session permission.Mode, a *Agent) error {
	if live == nil || live.Load().Mode == "" {
		return nil
	}
	live.sessionMode(session)
	l := live.Load()
	err := l.mayChange(l.Mode)
	if err == nil && a.AllowModeChange != nil && l.Mode != session {
		err = a.AllowModeChange(l.Mode)
	}
	if err != nil {
		return fmt.Errorf("agent: %w: the prompt's Mode: %w", ErrConfig, err)
	}
	return nil
}

// mode returns the mode of the prompt, given that of the session.
func (live *liveLimits) mode(session permission.Mode) permission.Mode {
	if live == nil {
		return session
	}
	return cmp.Or(live.Load().Mode, session)
}

// recorded returns the options for the record.
func (live *liveLimits) recorded() *fact.PromptOptions {
	if live == nil {
		return nil
	}
	return &live.Load().PromptOptions
}

// mayChange returns an error for a mode that permits more than that of the session.
func (l *promptLimits) mayChange(mode permission.Mode) error {
	if subagents.Stricter(mode, l.SessionMode) != mode {
		return fmt.Errorf("mode %s permits more than %s, the mode of the session", mode, l.SessionMode)
	}
	return nil
}

// live returns the options of a prompt that begins to run.
func (l *promptLimits) live() *liveLimits {
	if l == nil {
		return nil
	}
	live := new(liveLimits)
	live.Store(l)
	return live
}

// change replaces the options.
func (live *liveLimits) change(do func(l *promptLimits)) {
	if live == nil {
		return
	}
	own := *live.Load()
	do(&own)
	live.Store(&own)
}

// checked says that the agent has the tools that the options name.
func (live *liveLimits) checked() { live.change(func(l *promptLimits) { l.names = nil }) }

// sessionMode says that the host has changed the mode of the session.
func (live *liveLimits) sessionMode(mode permission.Mode) {
	live.change(func(l *promptLimits) { l.SessionMode = mode })
}

// alter checks a changed agent within the options. If the host has set its model, the model
// of the options no longer counts.
func (live *liveLimits) alter(a *Agent, modelSet bool) error {
	if live == nil {
		return nil
	}
	own := *live.Load()
	if modelSet {
		own.Model, own.model = "", nil
	}
	err := a.within(own.live()).check()
	if err == nil && modelSet {
		live.Store(&own)
	}
	return err
}

// A boundAgent says that an agent is another one within the options of a prompt.
type boundAgent struct {
	limits *promptLimits
	usual  llm.Model // the agent's own
}

// within returns the agent within the options of a prompt. Without options it is the agent
// itself.
func (a *Agent) within(live *liveLimits) *Agent {
	if live == nil {
		return a
	}
	own, l := *a, live.Load()
	own.bound = &boundAgent{limits: l, usual: a.Model}
	if l.model != nil {
		own.Model = l.model
	}
	own.Budget = a.Budget.within(l.Limits)
	if l.Mode != "" {
		own.Permissions.Mode = l.Mode
		own.AllowModeChange = func(mode permission.Mode) error {
			if err := live.Load().mayChange(mode); err != nil || a.AllowModeChange == nil {
				return err
			}
			return a.AllowModeChange(mode)
		}
	}
	return &own
}

// within returns the smaller limits.
func (b Budget) within(l fact.Limits) Budget {
	return Budget{Turns: subagents.Least(b.Turns, l.Turns), ModelCalls: subagents.Least(b.ModelCalls, l.ModelCalls),
		USD: subagents.Least(b.USD, l.USD), Time: subagents.Least(b.Time, l.Time)}
}

func (b Budget) check() error {
	if b.Turns < 0 || b.ModelCalls < 0 || b.USD < 0 || b.Time < 0 || b.USD != b.USD {
		return fmt.Errorf("a Budget must not be negative: %+v", b)
	}
	return nil
}

// promptTools returns the lists of tool names that bound the prompt.
func (a *Agent) promptTools() [][]string {
	if a.bound == nil {
		return nil
	}
	return a.bound.limits.Tools
}

// A subagentStarter is a tool that starts sub-agents with tools of their own.
type subagentStarter interface {
	SubagentTools(do func(kind string, tools []string))
}

// checkPromptTools returns an error if the option Tools of a new prompt names a tool that
// neither the agent nor a kind of sub-agents has. A server of MCP may be connected later. It
// warns of kinds that lose all their tools.
func (a *Agent) checkPromptTools(all []tool.Tool) error {
	if a.bound == nil || a.bound.limits.names == nil {
		return nil
	}
	var names []string
	for _, t := range all {
		s := t.Spec()
		if !a.offers(s) {
			continue
		}
		names = append(append(names, s.Name), s.Aliases...)
		if starter, ok := t.(subagentStarter); ok && a.advertises(s) {
			starter.SubagentTools(func(kind string, own []string) {
				names = append(names, own...)
				if !slices.ContainsFunc(own, func(name string) bool { return listed(a.promptTools(), tool.Spec{Name: name}) }) {
					a.logger().Warn("the prompt's Tools leave a sub-agent without any tool", "agent", kind, "lost", own)
				}
			})
		}
	}
	for _, name := range a.bound.limits.names {
		if strings.HasPrefix(name, "mcp__") || slices.ContainsFunc(names, func(n string) bool { return rules.NamesTool([]string{name}, n) }) {
			continue
		}
		err := fmt.Errorf("agent: %w: the prompt's Tools name %q, which is no tool of the agent", ErrConfig, name)
		if near := text.Nearest(name, names); near != "" {
			err = fmt.Errorf("%w; did you mean %s?", err, near)
		}
		return err
	}
	return nil
}

// errMessageOptions is the error for options in a message to a running prompt.
var errMessageOptions = fmt.Errorf("agent: %w: %w", ErrConfig, errors.New("Model, Budget, Tools and Mode are options of prompts; a message to a prompt that runs has those of the prompt"))
