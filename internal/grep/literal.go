package grep

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNeedles bounds the strings that are looked for before the pattern itself is tried.
const maxNeedles = 16

// A needle is a string to look for.
type needle struct {
	text string
	fold bool // ASCII letters match in either case; text is in lower case
	rare int  // index of the letter of text that is the least common, if fold
}

// needles returns strings of which each match of re holds at least one; nil if
// there are none. plain: where one of them is, there is a match.
func needles(re *syntax.Regexp) (list []needle, plain bool) {
	folded := hasFold(re)
	for _, s := range (extractor{fold: folded}).visit(re).best(folded) {
		n := needle{text: s, fold: folded && strings.ContainsFunc(s, unicode.IsLetter)}
		if n.fold {
			n.rare = rarest(s)
		}
		list = append(list, n)
	}
	// A line is searched without its "\r", and a needle is looked for with it.
	plain = re.Op == syntax.OpLiteral && len(list) == 1 && list[0].text == fold(string(re.Rune), folded) && !strings.Contains(list[0].text, "\r")
	return list, plain
}

func hasFold(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase != 0 {
		return true
	}
	for _, sub := range re.Sub {
		if hasFold(sub) {
			return true
		}
	}
	return false
}

// fold returns s with its ASCII letters in lower case, if folded. Other letters
// need not fold to what they look like.
func fold(s string, folded bool) string {
	if !folded {
		return s
	}
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r |= 0x20
		}
		return r
	}, s)
}

// A finding describes the strings that an expression matches: exactly these, if exact is
// not nil, and each holds at least one of some, if that is not nil.
type finding struct {
	exact []string
	some  []string
}

// best returns the strings to look for.
func (f finding) best(folded bool) []string {
	if exact := safe(f.exact, folded); better(exact, f.some) {
		return exact
	}
	return f.some
}

// safe returns the strings that can be searched byte by byte. Characters that fold beyond
// ASCII (k and s have a third form) cannot, nor U+FFFD, which stands for any invalid byte.
func safe(list []string, folded bool) []string {
	var out []string
	for _, s := range list {
		longest := ""
		for part := range strings.FieldsFuncSeq(s, func(r rune) bool {
			return r == utf8.RuneError || folded && (r == 'k' || r == 's' || r >= utf8.RuneSelf)
		}) {
			if len(part) > len(longest) {
				longest = part
			}
		}
		if longest == "" {
			return nil
		}
		out = append(out, longest)
	}
	return out
}

// better reports whether looking for a costs less than looking for b.
func better(a, b []string) bool {
	if a == nil || b == nil {
		return a != nil
	}
	return shortest(a)*len(b) > shortest(b)*len(a)
}

func shortest(list []string) int {
	n := len(list[0])
	for _, s := range list {
		n = min(n, len(s))
	}
	return n
}

// An extractor finds strings in an expression.
type extractor struct {
	fold bool // all strings are in lower case and stand for either
}

func (x extractor) visit(re *syntax.Regexp) finding {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return finding{exact: []string{""}}
	case syntax.OpLiteral:
		return finding{exact: []string{fold(string(re.Rune), x.fold)}}
	case syntax.OpCharClass:
		return finding{exact: x.class(re.Rune)}
	case syntax.OpCapture:
		return x.visit(re.Sub[0])
	case syntax.OpPlus:
		return finding{some: x.visit(re.Sub[0]).best(x.fold)}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return finding{some: x.visit(re.Sub[0]).best(x.fold)}
		}
	case syntax.OpConcat:
		return x.concat(re.Sub)
	case syntax.OpAlternate:
		return x.alternate(re.Sub)
	}
	return finding{}
}

// class lists the characters of a small class.
func (x extractor) class(ranges []rune) []string {
	var list []string
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if len(list) == 4 {
				return nil
			}
			list = append(list, fold(string(r), x.fold))
		}
	}
	return list
}

// concat joins exact neighbours as long as that gives few strings, and keeps the
// best strings on the way.
func (x extractor) concat(subs []*syntax.Regexp) finding {
	var f finding
	run, whole := []string{""}, true
	settle := func() {
		if s := safe(run, x.fold); better(s, f.some) {
			f.some = s
		}
	}
	for _, sub := range subs {
		next := x.visit(sub)
		if better(next.some, f.some) {
			f.some = next.some
		}
		if joined := product(run, next.exact); joined != nil {
			run = joined
			continue
		}
		settle()
		whole = false
		if run = next.exact; run == nil {
			run = []string{""}
		}
	}
	settle()
	if whole {
		f.exact = run
	}
	return f
}

// product returns every string of a followed by every one of b; nil if they are too many.
func product(a, b []string) []string {
	if len(a)*len(b) > maxNeedles {
		return nil
	}
	var list []string
	for _, s := range a {
		for _, t := range b {
			list = append(list, s+t)
		}
	}
	return list
}

func (x extractor) alternate(subs []*syntax.Regexp) finding {
	var f finding
	exact, some := true, true
	for _, sub := range subs {
		next := x.visit(sub)
		best := next.best(x.fold)
		f.exact = append(f.exact, next.exact...)
		f.some = append(f.some, best...)
		exact = exact && next.exact != nil && len(f.exact) <= maxNeedles
		some = some && best != nil && len(f.some) <= maxNeedles
		if !exact {
			f.exact = nil
		}
		if !some {
			f.some = nil
		}
	}
	return f
}

// common lists letters, the most common in texts and programs first.
const common = "etaoinsrlcdupmfhgbyvwxkqjz"

// rarest returns the index of the least common letter of s.
func rarest(s string) int {
	best, rank := 0, -1
	for i := range len(s) {
		if r := strings.IndexByte(common, s[i]); r > rank {
			best, rank = i, r
		}
	}
	return best
}

// index returns where n begins first in data, at or after from; -1 for nowhere.
func (n *needle) index(data []byte, from int) int {
	if !n.fold {
		if i := bytes.Index(data[from:], []byte(n.text)); i >= 0 {
			return from + i
		}
		return -1
	}
	end := len(data) - len(n.text) + n.rare + 1
	for i := from + n.rare; i < end; i += window {
		if at := n.indexFold(data, i, min(i+window, end)); at >= 0 {
			return at
		}
	}
	return -1
}

// window is how far one looks ahead for a letter in either case: if only one of
// the two occurs, looking for the other must not take long.
const window = 1024

// indexFold returns where n begins first whose rarest letter lies in data[from:to].
func (n *needle) indexFold(data []byte, from, to int) int {
	lower := n.text[n.rare]
	upper := lower &^ 0x20
	low, up := indexByte(data[:to], from, lower), indexByte(data[:to], from, upper)
	for low < to || up < to {
		at := min(low, up)
		if equalFold(data[at-n.rare:], n.text) {
			return at - n.rare
		}
		if at == low {
			low = indexByte(data[:to], at+1, lower)
		} else {
			up = indexByte(data[:to], at+1, upper)
		}
	}
	return -1
}

// indexByte returns where c is first in data at or after from, len(data) for nowhere.
func indexByte(data []byte, from int, c byte) int {
	if i := bytes.IndexByte(data[from:], c); i >= 0 {
		return from + i
	}
	return len(data)
}

// equalFold reports whether data begins with s, which is lower-case ASCII, in any case.
func equalFold(data []byte, s string) bool {
	for i := range len(s) {
		c := data[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != s[i] {
			return false
		}
	}
	return true
}

// A hunt looks for several needles at once in one piece of text.
type hunt struct {
	needles []needle
	next    []int // where each is next; len(data) for nowhere
}

func (h *hunt) start(needles []needle) {
	h.needles = needles
	h.next = h.next[:0]
	for range needles {
		h.next = append(h.next, -1)
	}
}

// find returns the first place at or after from that a needle begins at; -1 for
// none. from must not decrease between calls.
func (h *hunt) find(data []byte, from int) int {
	first := len(data)
	for i := range h.needles {
		if h.next[i] < from {
			if h.next[i] = h.needles[i].index(data, from); h.next[i] < 0 {
				h.next[i] = len(data)
			}
		}
		first = min(first, h.next[i])
	}
	if first == len(data) {
		return -1
	}
	return first
}
