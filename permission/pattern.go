package permission

import (
	"slices"
	"strings"
)

// A pathPattern is a pattern of [MatchPath] taken apart.
type pathPattern struct {
	from   byte // '/' for the root of the file system, '~' for the home folder, 0 for a folder that is given
	ups    int  // how many folders above it the pattern starts
	pats   []string
	strict *pathPattern // with regard to case; nil if the pattern is so itself
}

// newPathPattern reads a pattern; with fold, case does not count.
func newPathPattern(pattern string, fold bool) *pathPattern {
	p := &pathPattern{}
	pattern = strings.TrimSpace(pattern)
	anchored := strings.Contains(strings.TrimSuffix(pattern, "/"), "/")
	switch {
	case strings.HasPrefix(pattern, "//"):
		p.from = '/'
	case pattern == "~" || strings.HasPrefix(pattern, "~/"):
		p.from, pattern, anchored = '~', pattern[1:], true
	}
	for s := range strings.SplitSeq(pattern, "/") {
		switch s {
		case "", ".":
		case "..":
			if len(p.pats) > 0 {
				p.pats = p.pats[:len(p.pats)-1]
			} else {
				p.ups++
			}
		default:
			p.pats = append(p.pats, s)
		}
	}
	if len(p.pats) > 0 && !anchored {
		p.pats = append([]string{"**"}, p.pats...)
	}
	if n := len(p.pats); n > 1 && p.pats[n-1] == "**" {
		p.pats[n-1] = "*" // something in the folder; all below it follows anyway
	}
	if fold {
		strict := *p
		p.strict, p.pats = &strict, lower(p.pats)
	}
	return p
}

// exact is the pattern with regard to case.
func (p *pathPattern) exact() *pathPattern {
	if p.strict != nil {
		return p.strict
	}
	return p
}

// start returns the folder that the pattern starts from, seen from dir.
func (p *pathPattern) start(dir []string) []string {
	switch p.from {
	case '/':
		dir = nil
	case '~':
		if dir = segments(home()); p.strict != nil {
			dir = lower(dir)
		}
	}
	return dir[:max(0, len(dir)-p.ups)]
}

// matches reports whether a file falls under the pattern, seen from dir.
func (p *pathPattern) matches(file, dir []string) bool {
	base := p.start(dir)
	return len(file) >= len(base) && slices.Equal(base, file[:len(base)]) && matchSegments(p.pats, file[len(base):])
}

// concerns reports whether a file or all that is in it falls under the pattern;
// inside is the file and then [inFolder].
func (p *pathPattern) concerns(inside, dir []string) bool {
	base, file := p.start(dir), inside[:len(inside)-1]
	if len(file)+1 < len(base) || len(file) >= len(base) && !slices.Equal(base, file[:len(base)]) {
		return false
	}
	if len(file) < len(base) { // what is in it may be the folder that the pattern starts from
		return slices.Equal(base[:len(file)], file) && base[len(file)] == inFolder && matchSegments(p.pats, nil)
	}
	return matchSegments(p.pats, file[len(base):]) || matchSegments(p.pats, inside[len(base):])
}
