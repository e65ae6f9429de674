package shellscan

import (
	"strings"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellword"
	"mvdan.cc/sh/v3/syntax"
)

// Redirections.

func (s *shell) redirect(r *syntax.Redirect, in []Workdir) {
	w := s.word(r.Word, in)
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		s.setVar(strings.Trim(r.N.Value, "{}"), in)
	}
	f := Redirect{Path: w.Text, Write: true, Word: w, In: in}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc != nil {
			s.word(r.Hdoc, in)
		}
		return
	case syntax.WordHdoc:
		return
	case syntax.DplIn, syntax.DplOut:
		if t := strings.TrimSuffix(w.Text, "-"); t == "" || shellword.IsDigits(t) {
			return
		}
		f.Write = r.Op == syntax.DplOut
	case syntax.RdrIn:
		f.Write = false
	}
	if strings.HasPrefix(w.Text, "/dev/tcp/") || strings.HasPrefix(w.Text, "/dev/udp/") {
		s.fail("it opens a connection")
	}
	if paths.IsStream(w.Text) {
		return
	}
	s.Redirects = append(s.Redirects, f)
}
