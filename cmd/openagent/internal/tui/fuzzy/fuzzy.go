// Package fuzzy finds texts by some of their letters, as menus and pickers do.
//
//	for _, m := range fuzzy.Find("tuifuz", files, 8) {
//		fmt.Println(files[m.Index], m.Score, fuzzy.Compile("tuifuz").At(files[m.Index]))
//	}
//
// The letters have to be there in their order. Letters at beginnings of words, letters in a
// row and letters in the name of a file count more. Small letters also stand for capital ones.
// Words that are apart are found in any order.
package fuzzy

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The scores of a letter. Those for places are added to that of a match.
const (
	match      = 16
	afterSlash = 10 // and at the beginning
	afterSign  = 8  // such as a hyphen or a blank
	camel      = 7  // a capital after a small letter, a digit after a letter
	inRow      = 5  // right behind the letter before it
	inName     = 2  // in the last part of a path
	firstTwice = 2  // how often the place of the first letter counts
	gap        = -3 // the first letter that is left out
	more       = -1 // each further one
)

const (
	maxTerm = 32   // letters of a term that count
	maxText = 2048 // letters of a text that count
)

// A Pattern is what a person typed.
type Pattern struct{ terms []term }

type term struct {
	letters []rune // small, unless exact
	exact   bool   // a capital was typed: case counts
}

// Compile reads what a person typed.
func Compile(typed string) Pattern {
	var p Pattern
	for word := range strings.FieldsSeq(typed) {
		t := term{exact: strings.ContainsFunc(word, unicode.IsUpper)}
		for _, r := range word {
			if len(t.letters) == maxTerm {
				break
			}
			if !t.exact {
				r = fold(r)
			}
			t.letters = append(t.letters, r)
		}
		p.terms = append(p.terms, t)
	}
	return p
}

// A Match is a text that was found.
type Match struct {
	Index int // among the texts
	Score int
}

// Find returns the texts that have what was typed, at most so many, the best first. Of two
// that are as good, the shorter one is first, and then the one before. If nothing was typed,
// it returns the first texts.
func Find(typed string, texts []string, limit int) []Match {
	p := Compile(typed)
	better := func(a, b Match) bool {
		if a.Score != b.Score {
			return a.Score > b.Score
		}
		if len(p.terms) == 0 || len(texts[a.Index]) == len(texts[b.Index]) {
			return a.Index < b.Index
		}
		return len(texts[a.Index]) < len(texts[b.Index])
	}
	var found []Match
	var s scorer
	for i, text := range texts {
		score, ok := s.score(p, text)
		if !ok {
			continue
		}
		m := Match{i, score}
		if len(found) >= limit {
			if limit <= 0 || !better(m, found[limit-1]) {
				continue
			}
			found = found[:limit-1]
		}
		at, _ := slices.BinarySearchFunc(found, m, func(a, b Match) int {
			if better(a, b) {
				return -1
			}
			return 1
		})
		found = slices.Insert(found, at, m)
	}
	return found
}

// Score says how well a text has what was typed, and whether it has it at all.
func (p Pattern) Score(text string) (int, bool) {
	var s scorer
	return s.score(p, text)
}

// At returns the places of the letters in a text that has what was typed: offsets of bytes,
// in order.
func (p Pattern) At(text string) []int {
	var s scorer
	if _, ok := s.score(p, text); !ok {
		return nil
	}
	letters := map[int]bool{}
	for _, t := range p.terms {
		for _, n := range s.trace(t) {
			letters[n] = true
		}
	}
	var out []int
	n := 0
	for at := range text {
		if letters[n] {
			out = append(out, at)
		}
		n++
	}
	return out
}

// A scorer has the memory for scoring one text after the other.
type scorer struct {
	text  []rune // its letters
	small []rune // the same, small
	bonus []int  // for the place of each letter
	last  []int  // scores of the letter before, by the place where it is
	next  []int
}

func (s *scorer) score(p Pattern, text string) (int, bool) {
	if len(p.terms) == 0 {
		return 0, true
	}
	for _, t := range p.terms {
		if !t.mayBeIn(text) {
			return 0, false
		}
	}
	s.read(text)
	total := 0
	for _, t := range p.terms {
		if !s.has(t) {
			return 0, false
		}
	}
	for _, t := range p.terms {
		total += slices.Max(s.rows(t, nil))
	}
	return total, true
}

// mayBeIn reports quickly whether a text may have the letters of a term in their order.
func (t term) mayBeIn(text string) bool {
	at := 0
	for _, r := range t.letters {
		if r >= utf8.RuneSelf {
			return true
		}
		c, other := byte(r), byte(r)
		if !t.exact && 'a' <= c && c <= 'z' {
			other -= 'a' - 'A'
		}
		for at < len(text) && text[at] != c && text[at] != other && text[at] < utf8.RuneSelf {
			at++
		}
		if at == len(text) {
			return false
		}
		if text[at] >= utf8.RuneSelf { // it may be of another case in a way that bytes do not show
			return true
		}
		at++
	}
	return true
}

// letters returns the letters of the text as a term compares them.
func (s *scorer) letters(t term) []rune {
	if t.exact {
		return s.text
	}
	return s.small
}

// has reports whether the text has the letters of a term in their order.
func (s *scorer) has(t term) bool {
	next := 0
	for _, r := range s.letters(t) {
		if r == t.letters[next] {
			if next++; next == len(t.letters) {
				return true
			}
		}
	}
	return false
}

// read notes the letters of a text and what their places are worth.
func (s *scorer) read(text string) {
	most := min(len(text), maxText)
	s.text, s.small, s.bonus = slices.Grow(s.text[:0], most)[:most], slices.Grow(s.small[:0], most)[:most], slices.Grow(s.bonus[:0], most)[:most]
	length := 0
	name := strings.LastIndexByte(strings.TrimRight(text, "/"), '/') + 1
	before := slash
	for at, r := range text {
		if length == maxText {
			break
		}
		is, n := sort(r), 0
		switch {
		case before == slash:
			n = afterSlash
		case before == sign && is != sign && is != slash:
			n = afterSign
		case is == capital && before != capital, is == digit && before != digit:
			n = camel
		}
		if at >= name {
			n += inName
		}
		s.text[length], s.small[length], s.bonus[length] = r, fold(r), n
		before = is
		length++
	}
	s.text, s.small, s.bonus = s.text[:length], s.small[:length], s.bonus[:length]
}

// The sorts of letters.
type letterSort byte

const (
	sign letterSort = iota
	slash
	small
	capital
	digit
)

func sort(r rune) letterSort {
	switch {
	case 'a' <= r && r <= 'z':
		return small
	case r == '/' || r == '\\':
		return slash
	case 'A' <= r && r <= 'Z':
		return capital
	case '0' <= r && r <= '9':
		return digit
	case r < utf8.RuneSelf:
		return sign
	case unicode.IsUpper(r):
		return capital
	case unicode.IsLetter(r):
		return small
	case unicode.IsDigit(r):
		return digit
	}
	return sign
}

func fold(r rune) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	case r < utf8.RuneSelf:
		return r
	}
	return unicode.ToLower(r)
}

// none is the score of a place where a letter cannot be.
const none = -1 << 30

// rows computes the best scores of a term by the place of its last letter, and returns them
// from the first place on where that can be. It shows the scores of each letter to each. The
// text has to have the letters.
func (s *scorer) rows(t term, each func(scores []int, first int)) []int {
	text := s.letters(t)
	n := len(text)
	s.last, s.next = slices.Grow(s.last[:0], n)[:n], slices.Grow(s.next[:0], n)[:n]
	first := 0
	for i, letter := range t.letters {
		before := first // where the letter before can be
		if i > 0 {
			first++
		}
		for text[first] != letter {
			first++
		}
		apart := none // the best score of the letter before, with a gap behind it
		for j := before; j < first-2; j++ {
			apart = max(apart+more, s.last[j]+gap)
		}
		for j := first; j < n; j++ {
			if j-2 >= before {
				apart = max(apart+more, s.last[j-2]+gap)
			}
			s.next[j] = none
			switch {
			case text[j] != letter:
			case i == 0:
				s.next[j] = match + s.bonus[j]*firstTwice
			default:
				if best := max(s.last[j-1]+max(s.bonus[j], inRow), apart+s.bonus[j]); best > none/2 {
					s.next[j] = match + best
				}
			}
		}
		s.last, s.next = s.next, s.last
		if each != nil {
			each(s.last[first:], first)
		}
	}
	return s.last[first:]
}

// trace returns the places of the letters of a term, as numbers of letters.
func (s *scorer) trace(t term) []int {
	type row struct {
		scores []int
		first  int
	}
	var all []row
	s.rows(t, func(scores []int, first int) { all = append(all, row{slices.Clone(scores), first}) })
	score := func(i, at int) int {
		if at < all[i].first {
			return none
		}
		return all[i].scores[at-all[i].first]
	}
	out := make([]int, len(all))
	last := all[len(all)-1]
	at := last.first + slices.Index(last.scores, slices.Max(last.scores))
	for i := len(all) - 1; ; i-- {
		if out[i] = at; i == 0 {
			return out
		}
		want := score(i, at) - match
		if score(i-1, at-1)+max(s.bonus[at], inRow) == want {
			at--
			continue
		}
		for k := at - 2; k >= 0; k-- {
			if score(i-1, k)+gap+more*(at-2-k)+s.bonus[at] == want {
				at = k
				break
			}
		}
	}
}
