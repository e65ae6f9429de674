package engine

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A scope is a skill in force.
type scope struct {
	tool.Scope
	fallback int // that was in use when it began, if it changed the model
}

// Scopes returns the skills in force, the innermost last.
func (s *State) Scopes() []tool.Scope {
	if len(s.scopes) == 0 {
		return nil
	}
	out := make([]tool.Scope, len(s.scopes))
	for i := range s.scopes {
		out[i] = s.scopes[i].Scope
	}
	return out
}

// Bound returns what the skills in force let run, nil for anything. It is another
// one whenever that changes.
func (s *State) Bound() *permission.Restriction { return s.bound }

func (s *State) beginScope(sc tool.Scope, byUser bool) {
	sc.ByUser = byUser
	sc.Tools = s.tools().canonical(sc.Tools)
	f := scope{sc, s.model.fallback}
	if sc.Model != "" {
		s.model.fallback = 0 // it falls back from the skill's model
		s.know(sc.Model, sc.Info)
	}
	s.scopes = append(slices.Clip(s.scopes), f)
	s.bind()
}

// endScope ends the innermost skill, unless the user began it.
func (s *State) endScope() {
	if n := len(s.scopes); n > 0 && !s.scopes[n-1].ByUser {
		s.dropScope()
		s.bind()
	}
}

// endScopes ends all skills.
func (s *State) endScopes() {
	for len(s.scopes) > 0 {
		s.dropScope()
	}
	s.bind()
}

func (s *State) dropScope() {
	last := len(s.scopes) - 1
	if s.scopes[last].Model != "" {
		s.model.fallback = s.scopes[last].fallback
	}
	s.scopes = s.scopes[:last:last]
}

// bind settles what the skills in force let run: the list of the innermost that has
// one.
func (s *State) bind() {
	for _, sc := range slices.Backward(s.scopes) {
		if len(sc.Tools) == 0 {
			continue
		}
		s.bound = &permission.Restriction{By: "the skill " + sc.Skill, Only: sc.Tools}
		return
	}
	s.bound = nil
}

// canonical writes the names of tools in rules as the tools have them: a skill may
// say bash, or an alias. Who may use all the tools in whose place another one is
// offered may use that one.
func (ts toolset) canonical(rules []permission.Rule) []permission.Rule {
	if len(rules) == 0 {
		return nil
	}
	out := make([]permission.Rule, 0, len(rules))
	for _, r := range rules {
		if name, ok := ts.resolve(r.Tool()); ok {
			r = permission.Rule(name + strings.TrimPrefix(string(r), r.Tool()))
		}
		out = append(out, r)
	}
	for i := range ts {
		t := &ts[i]
		all := len(t.Replaces) > 0
		for _, name := range t.Replaces {
			all = all && slices.Contains(out, permission.Rule(name))
		}
		if all {
			out = append(out, permission.Rule(t.Name))
		}
	}
	return out
}
