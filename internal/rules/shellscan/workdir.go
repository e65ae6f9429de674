package shellscan

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
)

// A Workdir is a folder, relative to where the line starts: the arguments of cd,
// one per line. An argument that begins with "~" is in the home folder.
// [Lost] is a folder that only the running shell knows.
type Workdir string

const Lost Workdir = shellword.Unknown

func (p Workdir) cd(w shellword.Word) Workdir {
	to, ok := w.Target()
	if !ok || p == Lost && !strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "~") || strings.Contains(to, "\n") {
		return Lost
	}
	if strings.HasPrefix(to, "/") || strings.HasPrefix(to, "~") || p == "" {
		return Workdir(to)
	}
	return p + "\n" + Workdir(to)
}

// union merges two sets of places.
func union(a, b []Workdir) []Workdir {
	switch { // sets of one are in order
	case len(a) == 1 && (len(b) == 0 || len(b) == 1 && a[0] == b[0]):
		return a[:1:1]
	case len(a) == 0 && len(b) == 1:
		return b[:1:1]
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > MaxDirs {
		return []Workdir{Lost}
	}
	return all
}
