// Package glob matches slash-separated paths against globs: "*", "?", classes, braces and
// "**". It uses doublestar to match single names. Beyond doublestar it tells which folders
// are worth entering, leaves hidden files out, and bounds the cost of a pattern.
package glob

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Bounds on a pattern.
const (
	maxLength = 4096 // bytes
	maxAlts   = 256  // after expanding braces
	maxDepth  = 62   // names in one alternative
)

// A Pattern is a parsed glob.
type Pattern struct {
	// Hidden lets wildcards match names that begin with a dot. Otherwise only a
	// name in the pattern that begins with a dot itself does.
	Hidden bool

	alts [][]segment
}

// A segment matches one name of a path, or, if deep, any number of them.
type segment struct {
	deep          bool
	dotted        bool // text begins with a dot
	text          string
	form          form
	before, after string // around the star, unescaped; a literal is all before
}

// A form is how a segment is matched: most need no doublestar.
type form uint8

const (
	general form = iota
	literal
	oneStar
)

// Parse reads a glob for relative paths. "**" as a whole name stands for any
// number of folders, at the end of the pattern for all files below; a slash at the
// end means the same as "/**". A backslash takes the special meaning of the
// next character away.
func Parse(pattern string) (*Pattern, error) {
	if len(pattern) > maxLength {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxLength)
	}
	alts, err := expand(pattern)
	if err != nil {
		return nil, err
	}
	p := &Pattern{}
	for _, alt := range alts {
		segs, err := split(alt)
		if err != nil {
			return nil, err
		}
		p.alts = append(p.alts, segs)
	}
	return p, nil
}

// Match reports whether p matches the path, which is relative and clean.
func (p *Pattern) Match(path string) bool {
	for _, segs := range p.alts {
		if p.reach(segs, path)&(1<<len(segs)) != 0 {
			return true
		}
	}
	return false
}

// Enter reports whether p may match something below the folder.
func (p *Pattern) Enter(folder string) bool {
	for _, segs := range p.alts {
		if p.reach(segs, folder)&(1<<len(segs)-1) != 0 {
			return true
		}
	}
	return false
}

// Base splits a pattern at the folders that it begins with, up to the first
// special character: "src/*/a.go" is "src" and "*/a.go", "/a.go" is "/" and
// "a.go", "*.go" is "" and "*.go". Backslashes are gone from folder.
func Base(pattern string) (folder, rest string) {
	end := strings.IndexAny(pattern, "*?[{")
	if end < 0 {
		end = len(strings.TrimRight(pattern, "/"))
	}
	i := strings.LastIndexByte(pattern[:end], '/')
	if i < 0 {
		return "", pattern
	}
	folder, rest = unescape(pattern[:i]), pattern[i+1:]
	if i == 0 {
		folder = "/"
	}
	return folder, rest
}

// Join returns a pattern for the paths that pattern matches below the folder.
func Join(folder, pattern string) string {
	return escaper.Replace(folder) + "/" + pattern
}

var escaper = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`, "}", `\}`)

// reach returns the set of the positions in segs that are reached when all of
// path is matched; bit len(segs) is the end.
func (p *Pattern) reach(segs []segment, path string) uint64 {
	set := closure(segs, 1)
	for set != 0 && path != "" {
		name, rest, _ := strings.Cut(path, "/")
		path = rest
		hidden := name[:min(1, len(name))] == "." && !p.Hidden
		var next uint64
		for s := set &^ (1 << len(segs)); s != 0; s &= s - 1 {
			i := bits.TrailingZeros64(s)
			switch seg := &segs[i]; {
			case seg.deep:
				if !hidden {
					next |= 1 << i
				}
			case seg.match(name) && (!hidden || seg.dotted):
				next |= 1 << (i + 1)
			}
		}
		set = closure(segs, next)
	}
	return set
}

// closure adds the positions behind each "**", which may stand for nothing.
func closure(segs []segment, set uint64) uint64 {
	for i := range segs {
		if segs[i].deep && set&(1<<i) != 0 {
			set |= 1 << (i + 1)
		}
	}
	return set
}

func (s *segment) match(name string) bool {
	switch s.form {
	case literal:
		return s.before == name
	case oneStar:
		return len(name) >= len(s.before)+len(s.after) && strings.HasPrefix(name, s.before) && strings.HasSuffix(name, s.after)
	}
	return doublestar.MatchUnvalidated(s.text, name)
}

// split makes segments of a pattern without braces.
func split(pattern string) ([]segment, error) {
	if pattern == "" {
		return nil, errors.New("the pattern is empty")
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	var segs []segment
	for name := range strings.SplitSeq(pattern, "/") {
		switch {
		case name == "" || name == ".":
		case name == "..":
			return nil, fmt.Errorf(`".." can only stand at the beginning of a pattern, not in %q`, pattern)
		case name == "**":
			if n := len(segs); n == 0 || !segs[n-1].deep {
				segs = append(segs, segment{deep: true})
			}
		case !doublestar.ValidatePattern(name):
			return nil, fmt.Errorf("%q is not a name, wildcard or class: a bracket is not closed, or a backslash escapes nothing (write \\[ for a literal bracket)", name)
		default:
			segs = append(segs, newSegment(name))
		}
	}
	if n := len(segs); n > 0 && segs[n-1].deep {
		segs = append(segs, newSegment("*"))
	}
	if len(segs) > maxDepth {
		return nil, fmt.Errorf("the pattern is deeper than %d folders", maxDepth)
	}
	return segs, nil
}

func newSegment(text string) segment {
	s := segment{text: text, dotted: strings.HasPrefix(unescape(text), ".")}
	before, after, star := strings.Cut(text, "*")
	switch {
	case strings.ContainsAny(text, "?[") || star && strings.ContainsAny(text, `\`) || strings.Contains(after, "*"):
	case star:
		s.form, s.before, s.after = oneStar, before, after
	default:
		s.form, s.before = literal, unescape(text)
	}
	return s
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
