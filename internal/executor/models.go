package executor

import (
	"errors"
	"fmt"
	"slices"

	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// Equipped returns what is in force with a skill, with the model that it wants. One
// that cannot be had, or whose cost a budget could not bound, is left out.
func (x *Executor) Equipped(sc *tool.Scope) *tool.Scope {
	if sc == nil {
		return nil
	}
	own := *sc
	own.Info = llm.Info{}
	if own.Model == "" {
		return &own
	}
	m, err := x.FindModel(own.Model)
	if err == nil {
		own.Model, own.Info = m.Name(), llm.InfoOf(m)
		if x.Driver.BoundsCost() && own.Info.Price == nil {
			err = errors.New("its price is not known, and there is a budget")
		}
	}
	if err != nil {
		x.Log.Warn("the model that a skill wants is not used", "skill", own.Skill, "model", own.Model, "error", x.Secrets.Text(err.Error()))
		own.Model, own.Info = "", llm.Info{}
	}
	return &own
}

// ModelNamed returns the model of a name, nil if it cannot be had.
func (x *Executor) ModelNamed(name string) llm.Model {
	m, err := x.FindModel(name)
	if err != nil {
		return nil
	}
	return m
}

// FindModel returns the model of a name: one of the run's, or one that a skill or an
// agent wants.
func (x *Executor) FindModel(name string) (llm.Model, error) {
	x.mu.Lock()
	known := x.Models
	x.mu.Unlock()
	var m llm.Model
	if at := slices.IndexFunc(known, func(m llm.Model) bool { return m.Name() == name }); at >= 0 {
		m = known[at]
	}
	switch {
	case m != nil:
		return m, nil
	case name == "" || x.FindByName == nil:
		return nil, fmt.Errorf("there is no model %q here", name)
	}
	err := errors.New("looking for it ended")
	m = safecall.Or(func() llm.Model {
		var m llm.Model
		if m, err = x.FindByName(name); err == nil && (m == nil || m.Name() == "") {
			m, err = nil, fmt.Errorf("there is no model %q here", name)
		}
		return m
	}, nil)
	if err != nil {
		return nil, err
	}
	x.AddSecrets(m)
	x.AddModel(m)
	return m, nil
}
