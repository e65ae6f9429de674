package cmdline

import (
	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/internal/rules/shellword"
)

func (s *Line) Opened(read, written *[]string) (all bool) {
	all = s.Unclear == ""
	note := func(to *[]string, in []shellscan.Workdir, w shellword.Word) {
		words, ok := w.Meanings()
		all = all && ok
		for _, m := range words {
			files, open, ok := s.reach(in, m)
			*to = append(*to, files...)
			all = all && ok && len(open) == 0
		}
	}
	for _, r := range s.Redirects {
		if r.Write {
			note(written, r.In, r.Word)
		} else {
			note(read, r.In, r.Word)
		}
	}
	for i := range s.List {
		c := &s.List[i]
		if !opens(c, false) {
			continue
		}
		all = all && !effects.TakesList(c.Name, c.Args)
		for _, w := range c.Words {
			words, ok := w.Meanings()
			all = all && ok
			for _, m := range words {
				for _, v := range shellword.PathForms(m) {
					note(read, c.In, v)
				}
			}
		}
	}
	return all
}
