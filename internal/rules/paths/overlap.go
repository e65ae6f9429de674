package paths

import (
	"slices"
	"strings"
)

// Which files a pattern that forbids may concern, where the files are patterns themselves.

// A Denial is a pattern of a rule that forbids, from one of the folders that it
// may start from.
type Denial struct{ base, pats []string }

func (g *Context) Denials(pattern *Pattern) []Denial {
	starts := g.starts()
	out := make([]Denial, len(starts))
	for i, dir := range starts {
		out[i] = Denial{pattern.start(dir), pattern.Pats}
	}
	return out
}

// Covers reports whether a file or all that is in it is denied.
func (d Denial) Covers(segs []string) bool {
	if len(segs) < len(d.base) || !slices.Equal(d.base, segs[:len(d.base)]) {
		return false
	}
	below := segs[len(d.base):]
	return MatchSegments(d.pats, below) || MatchSegments(d.pats, append(slices.Clone(below), "_"))
}

// mayCover reports whether a path of the form segs, whose segments are patterns,
// "**" for any number of segments, may be denied.
func (d Denial) mayCover(segs []string) bool {
	pats := make([]string, 0, len(d.base)+len(d.pats))
	for _, b := range d.base {
		pats = append(pats, EscapeGlob(b))
	}
	return meetSegments(append(pats, d.pats...), segs)
}

// MayDeny reports whether a deny or ask pattern may concern a file of the form file, a path
// whose segments are patterns.
func (g *Context) MayDeny(pattern *Pattern, file string) bool {
	if !pattern.MayBeOn(file) {
		return false
	}
	segs := Segments(file)
	if FoldCase {
		segs = Lower(segs)
	}
	return slices.ContainsFunc(g.Denials(pattern), func(d Denial) bool {
		return d.mayCover(segs) || d.mayCover(append(slices.Clone(segs), "_"))
	})
}

// meetSegments reports whether a path is of the form segs and matched, itself or
// a folder above it, by pats.
func meetSegments(pats, segs []string) bool {
	// meets[j]: pats from i on and segs from j on may match.
	meets, next := make([]bool, len(segs)+1), make([]bool, len(segs)+1)
	for j := range next {
		next[j] = true
	}
	for i := len(pats) - 1; i >= 0; i-- {
		for j := len(segs); j >= 0; j-- {
			more := j < len(segs)
			switch {
			case pats[i] == "**":
				meets[j] = next[j] || more && meets[j+1]
			case !more:
				meets[j] = false
			case segs[j] == "**":
				meets[j] = meets[j+1] || next[j]
			default:
				meets[j] = meetText(pats[i], segs[j]) && next[j+1]
			}
		}
		meets, next = next, meets
	}
	return next[0]
}

// meetText reports whether some text may match both patterns of a segment.
func meetText(a, b string) bool {
	p, q := tokens(a), tokens(b)
	meets, next := make([]bool, len(q)+1), make([]bool, len(q)+1)
	for i := len(p); i >= 0; i-- {
		for j := len(q); j >= 0; j-- {
			switch {
			case i == len(p) && j == len(q):
				meets[j] = true
			case i < len(p) && p[i] < 0:
				meets[j] = next[j] || j < len(q) && takes(p[i], q[j]) && meets[j+1]
			case j < len(q) && q[j] < 0:
				meets[j] = meets[j+1] || i < len(p) && takes(q[j], p[i]) && next[j]
			default:
				meets[j] = i < len(p) && j < len(q) && p[i] == q[j] && next[j+1]
			}
		}
		meets, next = next, meets
	}
	return next[0]
}

// Tokens of a pattern of a segment are bytes, or stand for any number of them.
const (
	anyText   = -1
	anyNumber = -2
)

// takes reports whether a token that stands for bytes may stand for another token.
func takes(any, t int) bool {
	return any == anyText || t < 0 || t == '-' || '0' <= t && t <= '9'
}

// tokens takes a pattern of a segment apart. "?" and brackets stand for one
// character, which may be several bytes, and are taken for any text.
func tokens(pattern string) []int {
	var out []int
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], Number):
			out = append(out, anyNumber)
			i += len(Number) - 1
		case c == '*', c == '?':
			out = append(out, anyText)
		case c == '[':
			out = append(out, anyText)
			if end := strings.LastIndexByte(pattern, ']'); end > i {
				i = end
			}
		case c == '\\' && i+1 < len(pattern):
			i++
			out = append(out, int(pattern[i]))
		default:
			out = append(out, int(c))
		}
	}
	return out
}

// MayHold reports whether anything below dir can be denied.
func MayHold(denials []Denial, dir string) bool {
	var segs []string
	for _, x := range Segments(dir) {
		segs = append(segs, EscapeGlob(x))
	}
	if FoldCase {
		segs = Lower(segs)
	}
	segs = append(segs, "**")
	return slices.ContainsFunc(denials, func(d Denial) bool { return d.mayCover(segs) })
}

// Number stands in a file pattern for digits and signs, or none.
const Number = "[0-9-]"
