package skill

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/internal/text"
)

// A Registry is the skills of an agent. It may be used by several goroutines at once.
// The zero Registry is empty.
type Registry struct {
	mu     sync.RWMutex
	skills []*Skill // those that were added last come first
}

// New returns a registry with skills; of two with one name the later counts.
func New(skills ...*Skill) *Registry {
	r := new(Registry)
	for _, s := range skills {
		r.Replace(s)
	}
	return r
}

// Register adds a skill. It fails if a skill of that name exists, or if the name is not
// valid.
func (r *Registry) Register(s *Skill) error {
	if err := checkName(s.Name); err != nil {
		return fmt.Errorf("registering a skill: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.named(s.Name) >= 0 {
		return fmt.Errorf("registering the skill %s: a skill of that name exists; use Replace", s.Name)
	}
	r.skills = slices.Insert(r.skills, 0, s)
	return nil
}

// Replace adds a skill, and removes the one of its name if there is one. A skill with an
// invalid name is left out.
func (r *Registry) Replace(s *Skill) {
	if checkName(s.Name) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.named(s.Name); i >= 0 {
		r.skills = slices.Delete(r.skills, i, i+1)
	}
	r.skills = slices.Insert(r.skills, 0, s)
}

// Remove takes the skill of a name away and reports whether it was there.
func (r *Registry) Remove(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.named(name)
	if i < 0 {
		return false
	}
	r.skills = slices.Delete(r.skills, i, i+1)
	return true
}

// named returns the index of a skill by its own name, ignoring case.
func (r *Registry) named(name string) int {
	return slices.IndexFunc(r.skills, func(s *Skill) bool { return strings.EqualFold(s.Name, name) })
}

// Get returns the skill of a name or an alias, ignoring case, nil if there is none. A name
// counts before an alias. If several skills have an alias, the one added last counts.
func (r *Registry) Get(name string) *Skill {
	r.mu.RLock()
	defer r.mu.RUnlock()
	i := r.named(name)
	if i < 0 {
		i = slices.IndexFunc(r.skills, func(s *Skill) bool {
			return slices.ContainsFunc(s.Aliases, func(a string) bool { return strings.EqualFold(a, name) })
		})
	}
	if i < 0 {
		return nil
	}
	return r.skills[i]
}

// All returns the skills, those that were added last first.
func (r *Registry) All() []*Skill {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.skills)
}

// UserInvocable returns the skills that people can run by their names at the moment.
func (r *Registry) UserInvocable() []*Skill {
	return slices.DeleteFunc(r.All(), func(s *Skill) bool { return s.Hidden || !s.available() })
}

// Discover adds the skills of folders; a later folder overrides an earlier one. It returns
// how many were found, and the mistakes in others. With names, only those skills are added.
func (r *Registry) Discover(folders []Folder, names ...string) (n int, problems []error) {
	for _, f := range folders {
		found := f.Load()
		problems = append(problems, found.Problems...)
		n += r.Add(found, names...)
	}
	return n, problems
}

// Add adds the skills found in a folder, as Discover does.
func (r *Registry) Add(found Found, names ...string) (n int) {
	for _, s := range found.Skills {
		if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, s.Name) }) {
			r.Replace(s)
			n++
		}
	}
	return n
}

// List returns the skills that models can run at the moment.
func (r *Registry) List() []skillscope.Info {
	var out []skillscope.Info
	for _, s := range r.All() {
		if info := s.info(); !info.Manual {
			out = append(out, info)
		}
	}
	return out
}

// Find returns a skill as models see it listed.
func (r *Registry) Find(name string) (skillscope.Info, bool) {
	s := r.Get(name)
	if s == nil {
		return skillscope.Info{}, false
	}
	return s.info(), true
}

// Unknown returns the error for a skill that does not exist, with a similar name if there
// is one.
func (r *Registry) Unknown(name string) error {
	var names []string
	for _, s := range r.All() {
		names = append(append(names, s.Name), s.Aliases...)
	}
	if near := text.Nearest(name, names); near != "" {
		return fmt.Errorf("there is no skill %.80q; did you mean %s?", name, near)
	}
	return fmt.Errorf("there is no skill %.80q", name)
}
