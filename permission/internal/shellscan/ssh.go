package shellscan

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission/internal/shellword"
)

// sshFlags are those of OpenSSH's ssh(1): without a value, and with one in the same
// word or the next.
const (
	sshBools  = "46AaCGgKkMNnqsTtVvXxYy"
	sshValues = "BbcDeIiJLlmOoPpQRSWw"
)

// sshOptions are those of ssh_config(5) that start no program here.
var sshOptions = strings.Fields(`batchmode connecttimeout connectionattempts stricthostkeychecking user port identitiesonly identityfile loglevel
	serveraliveinterval serveralivecountmax compression requesttty userknownhostsfile preferredauthentications passwordauthentication`)

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
		letters := strings.TrimLeft(w.Text[1:], sshBools)
		if letters == "" && w.Text != "-" && !w.Unknown() && w.Glob == "" {
			continue
		}
		if letters == "" || strings.IndexByte(sshValues, letters[0]) < 0 {
			s.fail("what ssh does with %s is not followed", text.Bytes(w.Text, shellword.MaxShown))
			return
		}
		value := letters[1:]
		if value == "" && len(words) > 0 {
			value, words = words[0].Text, words[1:]
		}
		name, _, _ := strings.Cut(strings.ReplaceAll(value, " ", "="), "=")
		if letters[0] == 'o' && !slices.Contains(sshOptions, strings.ToLower(name)) {
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
