package paths

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Pattern is a pattern of [MatchPath] taken apart.
type Pattern struct {
	From   byte // '/' for the root of the file system, '~' for the home folder, 0 for a folder that is given
	Ups    int  // how many folders above it the pattern starts
	Pats   []string
	strict *Pattern // with regard to case; nil if the pattern is so itself
	volume string   // the one that it names on Windows, see [volumeOf]; "" for none
}

// NewPattern reads a pattern; with fold, case does not count.
func NewPattern(pattern string, fold bool) *Pattern {
	p := &Pattern{}
	if drives {
		p.volume, pattern = patternVolume(pattern)
	}
	pattern = strings.TrimSpace(pattern)
	anchored := strings.Contains(strings.TrimSuffix(pattern, "/"), "/")
	switch {
	case strings.HasPrefix(pattern, "//"):
		p.From = '/'
	case pattern == "~" || strings.HasPrefix(pattern, "~/"):
		p.From, pattern, anchored = '~', pattern[1:], true
	}
	for s := range strings.SplitSeq(pattern, "/") {
		switch s {
		case "", ".":
		case "..":
			if len(p.Pats) > 0 {
				p.Pats = p.Pats[:len(p.Pats)-1]
			} else {
				p.Ups++
			}
		default:
			p.Pats = append(p.Pats, s)
		}
	}
	if len(p.Pats) > 0 && !anchored {
		p.Pats = append([]string{"**"}, p.Pats...)
	}
	if n := len(p.Pats); n > 1 && p.Pats[n-1] == "**" {
		p.Pats[n-1] = "*" // something in the folder; all below it follows anyway
	}
	if fold {
		strict := *p
		p.strict, p.Pats = &strict, Lower(p.Pats)
	}
	return p
}

// Exact is the pattern with regard to case.
func (p *Pattern) Exact() *Pattern {
	if p.strict != nil {
		return p.strict
	}
	return p
}

// Plain returns the file or folder that the pattern stands for with all that is in it, as
// a path that is absolute, begins with "~/", or is relative to the folder that the pattern
// starts from. It is false for a pattern that may stand for others as well.
func (p *Pattern) Plain() (string, bool) {
	steps := p.Exact().Pats
	if n := len(steps); n > 1 && steps[n-1] == "*" {
		steps = steps[:n-1]
	}
	if len(steps) == 0 || p.Ups > 0 || p.volume != "" {
		return "", false
	}
	plain := make([]string, len(steps))
	for i, step := range steps {
		if HasMagic(step) {
			return "", false
		}
		plain[i], _ = Unescape(step)
	}
	path := strings.Join(plain, "/")
	switch p.From {
	case '/':
		path = "/" + path
	case '~':
		path = "~/" + path
	}
	return path, !strings.ContainsAny(path, Magic)
}

// start returns the folder that the pattern starts from, seen from dir.
func (p *Pattern) start(dir []string) []string {
	switch p.From {
	case '/':
		dir = nil
	case '~':
		if dir = Segments(Home()); p.strict != nil {
			dir = Lower(dir)
		}
	}
	return dir[:max(0, len(dir)-p.Ups)]
}

// Matches reports whether a file falls under the pattern, seen from dir.
func (p *Pattern) Matches(file, dir []string) bool {
	base := p.start(dir)
	return len(file) >= len(base) && slices.Equal(base, file[:len(base)]) && MatchSegments(p.Pats, file[len(base):])
}

// concerns reports whether a file or all that is in it falls under the pattern;
// inside is the file and then [inFolder].
func (p *Pattern) concerns(inside, dir []string) bool {
	base, file := p.start(dir), inside[:len(inside)-1]
	if len(file)+1 < len(base) || len(file) >= len(base) && !slices.Equal(base, file[:len(base)]) {
		return false
	}
	if len(file) < len(base) { // what is in it may be the folder that the pattern starts from
		return slices.Equal(base[:len(file)], file) && base[len(file)] == InFolder && MatchSegments(p.Pats, nil)
	}
	return MatchSegments(p.Pats, file[len(base):]) || MatchSegments(p.Pats, inside[len(base):])
}

// MatchSegments reports whether pats match segs or the segments of a folder above.
func MatchSegments(pats, segs []string) bool {
	p, s, star, mark := 0, 0, -1, 0
	for {
		switch {
		case p == len(pats):
			return true
		case pats[p] == "**":
			star, mark = p, s
			p++
			continue
		case s < len(segs) && matchSegment(pats[p], segs[s]):
			p, s = p+1, s+1
			continue
		}
		if star < 0 || mark >= len(segs) {
			return false
		}
		mark++
		p, s = star+1, mark
	}
}

func matchSegment(pat, seg string) bool {
	switch {
	case pat == "*":
		return true
	case !strings.ContainsAny(pat, Magic):
		return pat == seg
	}
	ok, err := path.Match(strings.ReplaceAll(pat, "[!", "[^"), seg)
	return ok && err == nil
}

// CheckPattern reports a path pattern that cannot be matched.
func CheckPattern(pattern string) error {
	if drives {
		_, pattern = patternVolume(pattern)
		if stray := strayBackslash(pattern); stray != "" {
			return fmt.Errorf("in %q the backslash does not separate names; write / instead", stray)
		}
	}
	for s := range strings.SplitSeq(pattern, "/") {
		if _, err := path.Match(strings.ReplaceAll(s, "[!", "[^"), ""); err != nil {
			return err
		}
	}
	return nil
}

// Anchor rewrites pattern, meant from dir and without a drive, so that it holds wherever it is read.
func Anchor(pattern, dir string) string {
	p := NewPattern(pattern, false)
	base, pats := p.start(Segments(dir)), p.Pats
	all := make([]string, 0, len(base)+len(pats))
	for _, s := range base {
		all = append(all, EscapeGlob(s))
	}
	return Rooted(dir) + strings.Join(append(all, pats...), "/")
}
