package executor

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/internal/secrets"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// A ModelSet is the models that a run may call. Goroutines may share it.
type ModelSet struct {
	secrets *secrets.Redactor
	find    func(name string) (llm.Model, error) // those that skills want; nil: none

	mu      sync.Mutex
	list    []llm.Model    // the first of a name counts
	fetched map[string]int // how many keys each model has got, where that changes
}

// All returns the models. Do not change the list.
func (s *ModelSet) All() []llm.Model {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// Add adds a model, in the place of the one of its name.
func (s *ModelSet) Add(m llm.Model) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := m.Name()
	others := slices.DeleteFunc(slices.Clone(s.list), func(o llm.Model) bool { return o.Name() == name })
	s.list = append(others, m)
}

// AddSecrets takes in the secrets of a model.
func (s *ModelSet) AddSecrets(m llm.Model) {
	if h, ok := m.(secrets.Holder); ok {
		s.secrets.Add(h.Secrets())
	}
}

// addRotatedSecrets takes in the keys that a model got for its last call.
func (s *ModelSet) addRotatedSecrets(m llm.Model) {
	k, ok := m.(secrets.Rotating)
	if !ok {
		return
	}
	n := k.Fetched()
	if n == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fetched[m.Name()] != n {
		if s.fetched == nil {
			s.fetched = map[string]int{}
		}
		s.fetched[m.Name()] = n
		s.secrets.Add(k.Secrets())
	}
}

// Named returns the model of a name, nil if it cannot be had.
func (s *ModelSet) Named(name string) llm.Model {
	m, err := s.Find(name)
	if err != nil {
		return nil
	}
	return m
}

// Find returns the model of a name: one of the run's, or one that a skill or an
// agent wants.
func (s *ModelSet) Find(name string) (llm.Model, error) {
	known := s.All()
	var m llm.Model
	if at := slices.IndexFunc(known, func(m llm.Model) bool { return m.Name() == name }); at >= 0 {
		m = known[at]
	}
	switch {
	case m != nil:
		return m, nil
	case name == "" || s.find == nil:
		return nil, fmt.Errorf("there is no model %q here", name)
	}
	err := errors.New("looking for it ended")
	m = safecall.Or(func() llm.Model {
		var m llm.Model
		if m, err = s.find(name); err == nil && (m == nil || m.Name() == "") {
			m, err = nil, fmt.Errorf("there is no model %q here", name)
		}
		return m
	}, nil)
	if err != nil {
		return nil, err
	}
	s.AddSecrets(m)
	s.Add(m)
	return m, nil
}

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
	m, err := x.Models.Find(own.Model)
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
