package agent

import (
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// beginning makes the fact that a run begins with.
func (x *executor) beginning(in *Input) event.Fact {
	if in.Compact {
		return in.wish()
	}
	return x.prompt(in)
}

// prompt makes the fact of a prompt. A skill that it begins gets its model.
func (x *executor) prompt(in *Input) event.Fact {
	m := in.message(event.AsPrompt)
	if m.Expansion != nil {
		own := *m.Expansion // the caller's stays as it is
		own.Scope = x.equipped(own.Scope)
		m.Expansion = &own
	}
	return m
}

// equipped returns what is in force with a skill, with the model that it wants. One
// that cannot be had, or whose cost a budget could not bound, is left out.
func (x *executor) equipped(sc *tool.Scope) *tool.Scope {
	if sc == nil {
		return nil
	}
	own := *sc
	own.Info = llm.Info{}
	if own.Model == "" {
		return &own
	}
	m := x.modelNamed(own.Model)
	if m != nil {
		own.Model, own.Info = m.Name(), llm.InfoOf(m)
	}
	if m == nil || x.def().Budget.USD > 0 && own.Info.Price == nil {
		x.log.Warn("the model that a skill wants is not used: it cannot be had, or its price is not known and there is a budget", "skill", own.Skill, "model", own.Model)
		own.Model, own.Info = "", llm.Info{}
	}
	return &own
}

// modelNamed returns the model of a name: one of the run's, or one that a skill
// wants. Nil: it cannot be had.
func (x *executor) modelNamed(name string) llm.Model {
	x.mu.Lock()
	m := x.models[name]
	x.mu.Unlock()
	if m != nil || name == "" || x.agent.Models == nil {
		return m
	}
	m = safely(func() llm.Model {
		m, err := x.agent.Models(name)
		if err != nil || m == nil || m.Name() == "" {
			return nil
		}
		return m
	}, nil)
	if m != nil {
		x.learn(m)
		x.addModel(m)
	}
	return m
}
