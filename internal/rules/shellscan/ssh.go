package shellscan

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/shellword"
	"github.com/openagent-go/agent/internal/text"
)

// ssh follows the command that runs on another machine: its words become one text
// for a shell there. A rule that allows has to name ssh.
func (s *shell) ssh(at int) {
	words := s.List[at].Words
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
		w := words[0]
		words = words[1:]
		if w.Text == "--" {
			break
		}
		letters := strings.TrimLeftFunc(w.Text[1:], func(r rune) bool { return isSSHOption(r, effects.PlainOption) })
		if letters == "" && w.Text != "-" && !w.Unknown() && w.Glob == "" {
			continue
		}
		if letters == "" || !isSSHOption(rune(letters[0]), effects.TextOption) {
			s.fail("what ssh does with %s is not followed", text.Bytes(w.Text, shellword.MaxShown))
			return
		}
		value := letters[1:]
		if value == "" && len(words) > 0 {
			value, words = words[0].Text, words[1:]
		}
		name, _, _ := strings.Cut(strings.ReplaceAll(value, " ", "="), "=")
		if letters[0] == 'o' && !effects.SSHSetting(strings.ToLower(name)) {
			s.fail("ssh may run another program with -o %s", text.Bytes(value, shellword.MaxShown))
		}
	}
	if len(words) < 2 {
		return // the host alone: a shell that a person types into
	}
	if words[0].Unknown() || words[0].Glob != "" || strings.HasPrefix(words[1].Text, "-") {
		s.fail("what ssh runs cannot be told")
		return
	}
	src, known := literal(words[1:])
	if !known {
		s.fail("what ssh runs is only known when it runs")
		return
	}
	outer, lost, evaluates := s.outer, s.lost, s.evaluates
	s.outer = at + 1
	form, _ := s.text(src, func(stmts []*syntax.Stmt) { s.apart(stmts, []Workdir{Lost}) })
	if form.Bash {
		s.fail("the shell at the other end may read in another way what only bash understands")
	}
	s.rewrite(words[1:], src, form)
	s.outer, s.lost, s.evaluates = outer, lost, evaluates
}

func isSSHOption(letter rune, kind byte) bool {
	k, known := effects.SSHOption(byte(letter))
	return known && k == kind && letter < 0x80
}
