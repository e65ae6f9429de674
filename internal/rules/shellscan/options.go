package shellscan

import (
	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellword"
)

// Programs that a command runs, and files that it writes, because of its options. A rule
// that allows a program with any arguments does not cover them.

// options follows what the options of a command run and write.
func (s *shell) options(at int, in []Workdir) {
	c := &s.List[at]
	use := effects.UseOf(c.Name, c.Words)
	if use.Runs != "" {
		c.Spell = append(c.Spell, use.Runs)
	}
	c.Steered, c.Outputs = use.Unknown, use.Outputs
	if use.ScriptRuns {
		s.fail("the script of %s runs a command", c.Name)
	}
	for _, f := range use.Files {
		if f.Write {
			s.writes(f.Name, in)
		} else {
			s.Redirects = append(s.Redirects, Redirect{Path: f.Name.Text, Word: f.Name, In: in})
		}
	}
	if use.Inner != nil { // a rule for the program covers it
		outer := s.outer
		s.outer = at + 1
		s.call(use.Inner, nil, nil, in)
		s.outer = outer
	}
}

// writes notes a file that a program writes.
//
//go:noinline // called from many places: every program stays smaller
func (s *shell) writes(w shellword.Word, in []Workdir) {
	if w.Text != "-" && !paths.IsStream(w.Text) {
		s.Redirects = append(s.Redirects, Redirect{Path: w.Text, Write: true, Word: w, In: in})
	}
}
