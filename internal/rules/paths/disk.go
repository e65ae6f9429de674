package paths

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/openagent-go/agent/internal/worktrees"
)

// A disk is what was found out about files. Each is looked at once, so that all
// rules judge the same state, and nothing is kept for the next call, for which
// links may lead elsewhere.
type disk struct {
	links map[string]link
	few   [maxFew]*statCache    // the first that were asked for: most calls name no more
	many  map[string]*statCache // the others
	plain []string              // clean paths without links; nor are there any in their beginnings
	repos map[string]bool       // by folder: what [Context.GitSafe] found
	trees map[string][]string   // by folder: see [worktrees.Of]
}

// A link is what is known of a path.
type link struct {
	to   string // where it leads, "" for what is no link
	gone bool   // there is nothing
}

// A statCache is a path and where it really leads.
type statCache struct {
	path  string     // as it was asked for
	only  [1]string  // forms, where there are no links
	forms []string   // as it is written and where it leads, nil if links lead in a circle
	segs  [][]string // of each form, or of the path as written if there is none
	folds [][]string // as segs, for rules that forbid: then "_", for what is in it
}

const maxFew = 8

// known returns the facts about a path, and looks at the disk the first time.
func (d *disk) known(p string) *statCache {
	free := 0
	for ; free < maxFew && d.few[free] != nil; free++ {
		if d.few[free].path == p {
			return d.few[free]
		}
	}
	if s := d.many[p]; s != nil {
		return s
	}
	s := &statCache{path: p}
	clean := filepath.Clean(p)
	switch real := d.real(p, clean); real {
	case "":
	case clean:
		s.only[0] = clean
		s.forms = s.only[:]
	default:
		s.forms = []string{clean, real}
	}
	switch {
	case free < maxFew:
		d.few[free] = s
	case d.many == nil:
		d.many = map[string]*statCache{p: s}
	default:
		d.many[p] = s
	}
	return s
}

// real is [RealPath], for a path and the same cleaned.
func (d *disk) real(p, clean string) string {
	if os.PathSeparator != '/' || clean[0] != '/' || goesUp(p) {
		return realPath(p, d.readlink)
	}
	if slices.ContainsFunc(d.plain, func(p string) bool { return Below(clean, p) }) {
		return clean
	}
	if straight(clean) {
		d.plain = append(d.plain, clean)
		return clean
	}
	for i := 1; i < len(clean); i++ {
		if end := i + 1; end == len(clean) || clean[end] == '/' {
			if d.look(clean[:end]).to != "" {
				return realPath(p, d.readlink)
			}
		}
	}
	return clean
}

// worktrees is [worktrees.Of], asked once.
func (d *disk) worktrees(folder string) []string {
	list, ok := d.trees[folder]
	if !ok {
		if d.trees == nil {
			d.trees = map[string][]string{}
		}
		list = worktrees.Of(folder)
		d.trees[folder] = list
	}
	return list
}

// goesUp reports whether a path has a step "..".
func goesUp(p string) bool {
	for rest := p; ; {
		i := strings.Index(rest, "..")
		if i < 0 {
			return false
		}
		before := i == 0 || rest[i-1] == '/'
		if rest = rest[i+2:]; before && (rest == "" || rest[0] == '/') {
			return true
		}
		rest = strings.TrimLeft(rest, ".")
	}
}

func (d *disk) readlink(p string) (string, error) {
	if to := d.look(p).to; to != "" {
		return to, nil
	}
	return "", os.ErrInvalid
}

// look looks at a path whose folder has been looked at. Nothing is in a folder that
// is not there.
func (d *disk) look(p string) link {
	l, ok := d.links[p]
	if ok {
		return l
	}
	if d.links == nil {
		d.links = map[string]link{}
	}
	if i := strings.LastIndexByte(p, filepath.Separator); i > 0 && d.links[p[:i]].gone {
		l.gone = true
	} else {
		to, err := os.Readlink(p)
		l.to = to
		if e, ok := err.(*os.PathError); ok {
			l.gone = e.Err == syscall.ENOENT
		}
	}
	d.links[p] = l
	return l
}

// exact returns the segments of each form.
func (s *statCache) exact() [][]string {
	if s.segs == nil {
		for _, f := range s.forms {
			s.segs = append(s.segs, Segments(f))
		}
	}
	return s.segs
}

// folded returns the segments of each form, or of the path p as it is written if
// there is none, as rules that forbid compare them, and then "_".
func (s *statCache) folded(p string) [][]string {
	if s.folds == nil {
		for _, f := range s.either(p) {
			segs := Segments(f)
			if FoldCase {
				segs = Lower(segs)
			}
			s.folds = append(s.folds, append(slices.Clip(segs), InFolder))
		}
	}
	return s.folds
}

// InFolder stands for anything that is in a folder.
const InFolder = "_"

// either returns the forms of the path p, or p as it is written if there is none.
func (s *statCache) either(p string) []string {
	if s.forms == nil {
		return []string{filepath.Clean(p)}
	}
	return s.forms
}
