package permission

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Redirections.

func (s *shell) redirect(r *syntax.Redirect, in []workdir) {
	w := s.word(r.Word, in)
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		s.setVar(strings.Trim(r.N.Value, "{}"), in)
	}
	f := Redirect{Path: w.text, Write: true, word: w, in: in}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc != nil {
			s.word(r.Hdoc, in)
		}
		return
	case syntax.WordHdoc:
		return
	case syntax.DplIn, syntax.DplOut:
		if t := strings.TrimSuffix(w.text, "-"); t == "" || isDigits(t) {
			return
		}
		f.Write = r.Op == syntax.DplOut
	case syntax.RdrIn:
		f.Write = false
	}
	if strings.HasPrefix(w.text, "/dev/tcp/") || strings.HasPrefix(w.text, "/dev/udp/") {
		s.fail("it opens a connection")
	}
	if slices.Contains(streams, w.text) {
		return
	}
	s.Redirects = append(s.Redirects, f)
}

// streams are files that everybody may read from and write to.
var streams = []string{"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/0", "/dev/fd/1", "/dev/fd/2", "/dev/fd/63"}
