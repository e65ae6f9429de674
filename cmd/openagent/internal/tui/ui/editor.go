package ui

import (
	"slices"
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// An Editor is the text that a person is writing, with the caret in it. Its methods return
// the changed editor. They move and delete by grapheme clusters: what a person sees as one
// letter.
type Editor struct {
	// Text is the text as written. A chip is one letter in it, see Chip.
	Text  string
	Caret int // byte offset in Text, at the start of a letter

	chips []Chip
	undo  []state
	kills []string // what was cut, the newest last
	yank  span     // the text that the last key pasted from kills
	last  op       // what the last key did: typing and cutting continue
	goal  int      // the column that up and down keep; -1: that of the caret
}

type state struct {
	text  string
	caret int
}

type span struct{ from, to int }

type op int

const (
	opOther op = iota
	opType
	opCut
	opYank
	opVertical
)

const (
	maxUndo  = 200
	maxKills = 20
)

// Empty reports whether nothing is written.
func (e Editor) Empty() bool { return e.Text == "" }

// change replaces the text between from and to, and puts the caret behind the replacement.
// With the kind of the last change it belongs to the same step of undo.
func (e Editor) change(from, to int, with string, kind op) Editor {
	if kind == opOther || kind != e.last {
		e.undo = append(slices.Clone(e.undo[max(0, len(e.undo)-maxUndo+1):]), state{e.Text, e.Caret})
	}
	e.Text = e.Text[:from] + with + e.Text[to:]
	e.Caret = from + len(with)
	e.last, e.goal = kind, -1
	return e
}

// Insert types a text at the caret. Characters that no text needs are dropped by the reader
// of keys; letters that stand for chips become chips.
func (e Editor) Insert(text string) Editor {
	kind := opType
	if strings.ContainsAny(text, " \n") {
		kind = opOther // a word is a step of undo
	}
	e, text = e.safe(text)
	return e.change(e.Caret, e.Caret, text, kind)
}

// Undo takes the last change back.
func (e Editor) Undo() Editor {
	if len(e.undo) == 0 {
		return e
	}
	was := e.undo[len(e.undo)-1]
	e.undo = e.undo[:len(e.undo)-1]
	e.Text, e.Caret, e.last, e.goal = was.text, was.caret, opOther, -1
	return e
}

// Clear empties the editor. Undo brings the text back.
func (e Editor) Clear() Editor { return e.change(0, len(e.Text), "", opOther) }

// Set replaces the whole text. Undo brings the old one back.
func (e Editor) Set(text string) Editor {
	e, text = e.safe(text)
	return e.change(0, len(e.Text), text, opOther)
}

// prev returns the start of the letter before a place.
func (e Editor) prev(at int) int {
	from := strings.LastIndexByte(e.Text[:at], '\n') + 1 // letters do not cross lines
	if from == at {
		return max(0, at-1)
	}
	start := from
	for g := graphemes.FromString(e.Text[from:at]); g.Next(); {
		start = from + g.Start()
	}
	return start
}

// next returns the end of the letter at a place.
func (e Editor) next(at int) int {
	if g := graphemes.FromString(e.Text[at:]); g.Next() {
		return at + g.End()
	}
	return len(e.Text)
}

func (e Editor) lineStart(at int) int { return strings.LastIndexByte(e.Text[:at], '\n') + 1 }

func (e Editor) lineEnd(at int) int {
	if i := strings.IndexByte(e.Text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(e.Text)
}

func wordRune(s string) bool {
	for _, r := range s {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || isChip(r)
	}
	return false
}

// prevWord returns the start of the word before a place.
func (e Editor) prevWord(at int) int {
	for inside := false; at > 0; {
		start := e.prev(at)
		if wordRune(e.Text[start:at]) {
			inside = true
		} else if inside {
			break
		}
		at = start
	}
	return at
}

// nextWord returns the end of the word after a place.
func (e Editor) nextWord(at int) int {
	for inside := false; at < len(e.Text); {
		end := e.next(at)
		if wordRune(e.Text[at:end]) {
			inside = true
		} else if inside {
			break
		}
		at = end
	}
	return at
}

// spaceBefore returns the start of the text without blanks before a place.
func (e Editor) spaceBefore(at int) int {
	for inside := false; at > 0; {
		start := e.prev(at)
		if strings.TrimSpace(e.Text[start:at]) != "" {
			inside = true
		} else if inside {
			break
		}
		at = start
	}
	return at
}

func (e Editor) moveTo(at int) Editor {
	e.Caret, e.last, e.goal = at, opOther, -1
	return e
}

// delete removes a part of the text.
func (e Editor) delete(from, to int) Editor {
	if from == to {
		return e
	}
	return e.change(from, to, "", opOther)
}

// cut removes a part of the text and remembers it for yank. Cuts in a row are one.
func (e Editor) cut(from, to int) Editor {
	if from == to {
		return e
	}
	text := e.Text[from:to]
	e.kills = slices.Clone(e.kills)
	switch n := len(e.kills); {
	case e.last != opCut || n == 0:
		e.kills = append(e.kills[max(0, n-maxKills+1):], text)
	case to == e.Caret: // before the caret
		e.kills[n-1] = text + e.kills[n-1]
	default:
		e.kills[n-1] += text
	}
	return e.change(from, to, "", opCut)
}

// paste inserts what was cut last.
func (e Editor) paste() Editor {
	if len(e.kills) == 0 {
		return e
	}
	text, from := e.kills[len(e.kills)-1], e.Caret
	e = e.change(from, from, text, opOther)
	e.yank, e.last = span{from, e.Caret}, opYank
	return e
}

// rotate replaces what paste inserted by what was cut before it.
func (e Editor) rotate() Editor {
	if e.last != opYank || len(e.kills) < 2 {
		return e
	}
	n := len(e.kills) - 1
	e.kills = append([]string{e.kills[n]}, e.kills[:n]...)
	at := e.yank.from
	e = e.change(at, e.yank.to, e.kills[n], opYank)
	e.yank = span{at, e.Caret}
	return e
}
