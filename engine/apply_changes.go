package engine

import (
	"slices"

	"github.com/openagent-go/agent/event"
)

// Facts of what a run works with from now on.

func (s *State) modelChanged(f event.ModelChanged) bool {
	if c := s.compact; c != nil && f.Model != s.cfg.Model {
		c.misses = 0
	}
	s.cfg.Model, s.cfg.Thinking = f.Model, f.Thinking
	s.know(f.Model, f.Info)
	if f.MaxTokens > 0 {
		s.cfg.MaxTokens = f.MaxTokens
	}
	for i := range s.scopes {
		s.scopes[i].Model = "" // the host's word counts
	}
	s.model.fallback, s.model.tries = 0, 0
	s.model.changed = s.model.calling // what is under way is the other one's
	return true
}

// fallbacksChanged takes other fallback models. One that is in use stays in use as
// long as it is one of them.
func (s *State) fallbacksChanged(f event.FallbacksChanged) bool {
	moved := func(n int) int {
		if n == 0 || n > len(s.cfg.Fallbacks) {
			return 0
		}
		return slices.Index(f.Fallbacks, s.cfg.Fallbacks[n-1]) + 1
	}
	was := s.model.fallback
	s.model.fallback = moved(was)
	if was > 0 && s.model.fallback == 0 {
		s.model.tries, s.model.changed = 0, s.model.calling
	}
	s.scopes = slices.Clone(s.scopes)
	for i := range s.scopes {
		s.scopes[i].fallback = moved(s.scopes[i].fallback)
	}
	s.cfg.Fallbacks = f.Fallbacks
	for _, name := range f.Fallbacks {
		s.know(name, f.Models[name])
	}
	return true
}

// budgetChanged takes another budget. Agents at work share what it leaves: those that
// were not bounded get a part, and parts that are more than what is left shrink.
func (s *State) budgetChanged(f event.BudgetChanged) bool {
	if !s.open {
		return false
	}
	if f.Limits.Time != s.cfg.Limits.Time {
		s.run.alarms++
	}
	s.cfg.Limits = f.Limits
	s.agents = slices.Clone(s.agents)
	if l := f.Limits.USD; l > 0 {
		left, sum := max(0, l-s.run.cost-s.run.lost), 0.0
		for i := range s.agents {
			a := &s.agents[i]
			if a.ReservedUSD == 0 {
				a.ReservedUSD = left / float64(len(s.agents)+1)
			}
			sum = plus(sum, a.ReservedUSD)
		}
		for i := range s.agents {
			if a := &s.agents[i]; sum > left {
				a.ReservedUSD = amount(a.ReservedUSD * (left / sum))
			}
		}
	}
	s.shrink(f.Limits.ModelCalls-s.run.modelCalls, f.Limits.ModelCalls, func(a *event.AgentStart) *int { return &a.ModelCalls })
	s.shrink(f.Limits.Turns-s.run.turns-s.run.below, f.Limits.Turns, func(a *event.AgentStart) *int { return &a.Turns })
	return true
}

// shrink fits what agents at work may use of a number to what a new limit leaves.
func (s *State) shrink(left, limit int, part func(*event.AgentStart) *int) {
	if limit <= 0 {
		return
	}
	left = max(0, left)
	sum := 0
	for i := range s.agents {
		n := part(&s.agents[i])
		if *n == 0 {
			*n = left / (len(s.agents) + 1)
		}
		sum += *n
	}
	for i := range s.agents {
		if n := part(&s.agents[i]); sum > left {
			*n = *n * left / sum
		}
	}
}

// toolChanged puts a tool in the place of the one of its name. Calls that were
// proposed before go on with what the old one said of itself.
func (s *State) toolChanged(f event.ToolChanged) bool {
	tools, old, ok := s.tools().replace(f.Tool)
	if !ok {
		return false
	}
	s.cfg.Tools = tools
	if _, hidden := s.found[f.Tool.Name]; hidden {
		s.found[f.Tool.Name] = specTokens(&f.Tool)
	} else {
		s.size.configured(s.size.fixed - specTokens(&old) + specTokens(&f.Tool))
	}
	return true
}

// toolsChanged takes another list of tools. Those that were found stay found.
func (s *State) toolsChanged(f event.ToolsChanged) bool {
	if !s.open {
		return false
	}
	old, hidden := s.tools(), s.found
	fixed := textTokens(f.System)
	s.found = map[string]int{}
	for i := range f.Tools {
		t := &f.Tools[i]
		_, unfound := hidden[t.Name]
		if t.Deferred && (unfound || old.find(t.Name).Name == "") {
			s.found[t.Name] = specTokens(t)
			continue
		}
		fixed += specTokens(t)
	}
	s.size.configured(fixed)
	s.cfg.Tools = f.Tools
	return true
}

func specTokens(t *event.Tool) int {
	return textTokens(t.Name) + textTokens(t.Description) + textTokens(t.Input)
}
