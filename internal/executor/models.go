package executor

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/internal/secrets"
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/llm"
)

// A ModelSet holds the models that a run may call. It is safe for concurrent use.
type ModelSet struct {
	secrets *secrets.Redactor
	find    func(name string) (llm.Model, error) // finds models for skills; nil: none

	mu      sync.Mutex
	list    []llm.Model    // the first one with a name counts
	fetched map[string]int // for models whose keys change: the number of keys fetched so far
}

// All returns the models. Do not change the list.
func (s *ModelSet) All() []llm.Model {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// Add adds a model and replaces a model of the same name.
func (s *ModelSet) Add(m llm.Model) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := m.Name()
	others := slices.DeleteFunc(slices.Clone(s.list), func(o llm.Model) bool { return o.Name() == name })
	s.list = append(others, m)
}

// AddSecrets registers the secrets of a model for redaction.
func (s *ModelSet) AddSecrets(m llm.Model) {
	if h, ok := m.(secrets.Holder); ok {
		s.secrets.Add(h.Secrets())
	}
}

// addRotatedSecrets registers keys that a model fetched for its last call.
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

// Named returns the model with the given name, nil if Find fails.
func (s *ModelSet) Named(name string) llm.Model {
	m, err := s.Find(name)
	if err != nil {
		return nil
	}
	return m
}

// Find returns the model with the given name: one of the run's, or one found for a skill or
// a sub-agent.
func (s *ModelSet) Find(name string) (llm.Model, error) {
	m, known, err := find(s.All(), s.find, name)
	if err == nil && !known {
		s.AddSecrets(m)
		s.Add(m)
	}
	return m, err
}

// FindModel returns the model with the given name: a known one, or one that lookup finds.
// lookup may be nil.
func FindModel(known []llm.Model, lookup func(name string) (llm.Model, error), name string) (llm.Model, error) {
	m, _, err := find(known, lookup, name)
	return m, err
}

// find is FindModel. It reports whether the model is one of the known models.
func find(all []llm.Model, lookup func(name string) (llm.Model, error), name string) (m llm.Model, known bool, err error) {
	if at := slices.IndexFunc(all, func(m llm.Model) bool { return m.Name() == name }); at >= 0 {
		return all[at], true, nil
	}
	if name == "" || lookup == nil {
		return nil, false, fmt.Errorf("there is no model %q here", name)
	}
	err = errors.New("the model lookup failed")
	m = safecall.Or(func() llm.Model {
		var m llm.Model
		if m, err = lookup(name); err == nil && (m == nil || m.Name() == "") {
			m, err = nil, fmt.Errorf("there is no model %q here", name)
		}
		return m
	}, nil)
	if err != nil {
		return nil, false, err
	}
	return m, false, nil
}

// Equipped returns the scope of a skill with the model that it names. It omits a model that
// is unavailable, or that has no known price when the budget limits the cost.
func (x *Executor) Equipped(sc *skillscope.Scope) *skillscope.Scope {
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
