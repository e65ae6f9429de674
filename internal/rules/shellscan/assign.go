package shellscan

import (
	"strings"

	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/shellword"
	"mvdan.cc/sh/v3/syntax"
)

// Assignments.

func (s *shell) assignName(name string) {
	if strings.Contains(name, shellword.Unknown) {
		s.fail("it sets a variable by a computed name")
	} else if effects.IsComputed(name) {
		s.fail("it sets %s, whose value the shell computes", name)
	} else if effects.Steers(name) {
		s.fail("it sets %s, which decides what programs do", name)
	}
	if !effects.IsInert(name) {
		s.stain("it sets the variable " + name)
	}
}

// setVar notes a variable that is set in another way than by an assignment. A
// rule has to allow it if programs may see it.
func (s *shell) setVar(name string, in []Workdir) {
	s.assignName(name)
	if !effects.IsInert(name) {
		s.add(Command{Env: []string{name + "=" + shellword.Unknown}, Raw: name, In: in, Set: []string{name}, Outer: s.outer})
	}
}

// assign returns an assignment as text, and the variable.
func (s *shell) assign(a *syntax.Assign, in []Workdir) (text, name string) {
	if a.Name == nil {
		return "", ""
	}
	name = a.Name.Value
	s.assignName(name)
	if a.Index != nil {
		s.fail("it sets an element of a variable")
		s.substitutions(a.Index, in)
	}
	text = name + "="
	if a.Value != nil {
		text += s.word(a.Value, in).Text
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				s.fail("it sets an element of a variable")
				s.substitutions(e.Index, in)
			}
			if e.Value != nil {
				text += s.listed(e.Value, in).Text + " "
			}
		}
	}
	return text, name
}

func (s *shell) declare(c *syntax.DeclClause, in []Workdir) {
	cmd := Command{Name: c.Variant.Value, Path: c.Variant.Value, In: in, Outer: s.outer}
	if c.Variant.Value == "nameref" {
		s.fail("it makes a variable another name of one")
	}
	for _, a := range c.Args {
		if a.Name != nil && !a.Naked {
			text, _ := s.assign(a, in)
			cmd.Args, cmd.Words, cmd.Set = append(cmd.Args, text), append(cmd.Words, shellword.Word{Text: text}), append(cmd.Set, a.Name.Value)
			continue
		}
		w := shellword.Word{}
		switch {
		case a.Name != nil:
			w.Text = a.Name.Value
			s.assignName(a.Name.Value)
			if a.Index != nil {
				s.fail("it declares an element of a variable")
			}
		case a.Value != nil:
			w = s.word(a.Value, in)
		}
		if w.Unknown() || strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "in") || strings.ContainsAny(w.Text, "[=") {
			s.fail("it declares a variable in a way that may run code")
		}
		cmd.Args, cmd.Words = append(cmd.Args, w.Text), append(cmd.Words, w)
	}
	cmd.Raw = s.source(c)
	s.add(cmd)
}
