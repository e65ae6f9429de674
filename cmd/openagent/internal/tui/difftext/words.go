package difftext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

const (
	maxWords = 4000 // of a change: a larger one has no words marked
	common   = 0.4  // how much of a line has to be the same for its words to be marked
)

// markWords marks the words that differ between lines that were removed and the lines that
// came in their place.
func markWords(old, new []line) {
	before, after := wordsOf(old), wordsOf(new)
	if len(before)+len(after) > maxWords {
		return
	}
	// Each word becomes a letter, so that a diff of letters is one of words.
	letters := map[string]rune{}
	spell := func(words []word) string {
		var b strings.Builder
		for _, w := range words {
			r, ok := letters[w.text]
			if !ok {
				r = 0x10000 + rune(len(letters))
				letters[w.text] = r
			}
			b.WriteRune(r)
		}
		return b.String()
	}
	const size = 4 // bytes of such a letter
	a, b := spell(before), spell(after)
	at := 0 // in b
	last := 0
	for _, e := range udiff.Strings(a, b) {
		at += e.Start - last
		for i := e.Start / size; i < e.End/size; i++ {
			before[i].changed = true
		}
		for i := at / size; i < (at+len(e.New))/size; i++ {
			after[i].changed = true
		}
		at += len(e.New)
		last = e.End
	}
	mark(old, before)
	mark(new, after)
}

// A word is a part of a line: letters and digits in a row, blanks in a row, or a sign.
type word struct {
	text     string
	line, at int
	changed  bool
}

func wordsOf(lines []line) []word {
	var out []word
	for n, l := range lines {
		for i := 0; i < len(l.text) && len(out) <= maxWords; {
			class := classOf(l.text[i:])
			_, j := utf8.DecodeRuneInString(l.text[i:])
			for j += i; class != sign && j < len(l.text) && classOf(l.text[j:]) == class; {
				_, size := utf8.DecodeRuneInString(l.text[j:])
				j += size
			}
			out = append(out, word{text: l.text[i:j], line: n, at: i})
			i = j
		}
		out = append(out, word{text: "\n", line: n, at: len(l.text)})
	}
	return out
}

type class byte

const (
	sign class = iota
	letter
	blank
)

func classOf(s string) class {
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case r == ' ':
		return blank
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana): // each is a word
		return sign
	case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
		return letter
	}
	return sign
}

// mark marks the words that changed in their lines. It skips lines that changed almost completely,
// because marks would not help there. A blank between two marked words is marked with them.
func mark(lines []line, words []word) {
	for from := 0; from < len(words); {
		to := from
		kept, changed := 0, 0
		for words[to].text != "\n" {
			if w := words[to]; classOf(w.text) != blank {
				if w.changed {
					changed += len(w.text)
				} else {
					kept += len(w.text)
				}
			}
			to++
		}
		l := &lines[words[from].line]
		if changed > 0 && float64(kept) >= common*float64(kept+changed) {
			l.words = make([]bool, len(l.text))
			for i := from; i < to; i++ {
				w := words[i]
				between := classOf(w.text) == blank && i > from && i+1 < to && words[i-1].changed && words[i+1].changed
				for at := w.at; (w.changed || between) && at < w.at+len(w.text); at++ {
					l.words[at] = true
				}
			}
		}
		from = to + 1
	}
}
