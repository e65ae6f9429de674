package permission

import (
	"slices"
	"strings"
)

// gitShows names the commands of git that people allow because they show something, and
// that write a file with --output.
var gitShows = setOf(strings.Fields("log show diff shortlog reflog whatchanged range-diff diff-tree diff-index diff-files stash rev-list format-patch"))

// gitOutput notes the file that a command of git writes its output to, so that a rule
// for the command alone does not allow it. Git takes any unambiguous beginning of a flag.
func (s *shell) gitOutput(c Command, in []place) {
	if !slices.ContainsFunc(c.Args, func(a string) bool { return gitShows[a] }) {
		return
	}
	for i, w := range c.words {
		if w.text == "--" {
			return
		}
		flag, value, has := strings.Cut(w.text, "=")
		if len(flag) < len("--o") || !strings.HasPrefix("--output", flag) {
			continue
		}
		to := word{text: value}
		if !has {
			if i+1 == len(c.words) {
				return
			}
			to = c.words[i+1]
		}
		s.Redirects = append(s.Redirects, Redirect{Path: to.text, Write: true, word: to, in: in})
	}
}
