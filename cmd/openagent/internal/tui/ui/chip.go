package ui

import (
	"fmt"
	"strings"
)

// A Chip stands for a long paste or an image in the text of an editor, as one letter. It is
// sent whole.
type Chip struct {
	Text  string // of a paste
	Image string // path of an image; Text is empty
	Note  string // about an image, such as its size
}

// Long pastes become chips.
const (
	chipLines = 10
	chipBytes = 1000
)

// Chips are the letters of a private area that no keyboard types. A text from outside that
// holds such a letter becomes a chip itself, so that the letters cannot be faked.
const (
	firstChip = 0x100000
	lastChip  = 0x10fffd
)

func isChip(r rune) bool { return firstChip <= r && r <= lastChip }

// long reports whether a pasted text becomes a chip.
func long(text string) bool {
	return len(text) > chipBytes || strings.Count(text, "\n") > chipLines
}

// safe returns text without letters that stand for chips: it becomes a chip if it holds any.
func (e Editor) safe(text string) (Editor, string) {
	if strings.ContainsFunc(text, isChip) {
		return e.chip(Chip{Text: text})
	}
	return e, text
}

// chip returns the letter for a new chip.
func (e Editor) chip(c Chip) (Editor, string) {
	if len(e.chips) > lastChip-firstChip {
		return e, strings.ToValidUTF8(c.Text, "")
	}
	e.chips = append(e.chips[:len(e.chips):len(e.chips)], c)
	return e, string(rune(firstChip + len(e.chips) - 1))
}

// Chip returns the chip that a letter of the text stands for.
func (e Editor) Chip(r rune) (Chip, bool) {
	if i := int(r) - firstChip; isChip(r) && i < len(e.chips) {
		return e.chips[i], true
	}
	return Chip{}, false
}

// Label is the text that stands for a chip on the screen.
func (e Editor) Label(r rune) string {
	c, ok := e.Chip(r)
	if !ok {
		return ""
	}
	nth := 1
	for _, other := range e.chips[:int(r)-firstChip] {
		if (other.Image == "") == (c.Image == "") {
			nth++
		}
	}
	switch lines := strings.Count(strings.TrimSuffix(c.Text, "\n"), "\n") + 1; {
	case c.Image != "" && c.Note != "":
		return fmt.Sprintf("[image %d · %s]", nth, c.Note)
	case c.Image != "":
		return fmt.Sprintf("[image %d]", nth)
	case lines > 1:
		return fmt.Sprintf("[paste %d · %d lines]", nth, lines)
	default:
		return fmt.Sprintf("[paste %d · %d characters]", nth, len([]rune(c.Text)))
	}
}

// Paste inserts a pasted text. A long one becomes a chip.
func (e Editor) Paste(text string) Editor {
	if long(text) {
		e, text = e.chip(Chip{Text: text})
	} else {
		e, text = e.safe(text)
	}
	return e.change(e.Caret, e.Caret, text, opOther)
}

// AddImage inserts an image.
func (e Editor) AddImage(path, note string) Editor {
	e, text := e.chip(Chip{Image: path, Note: note})
	return e.change(e.Caret, e.Caret, text, opOther)
}

// expand replaces the paste at the caret, or else the nearest one before it or behind it, by
// its text.
func (e Editor) expand() Editor {
	from, to := -1, 0
	for i, r := range e.Text {
		c, ok := e.Chip(r)
		if !ok || c.Image != "" || strings.ContainsFunc(c.Text, isChip) || i > e.Caret && from >= 0 {
			continue
		}
		from, to = i, i+len(string(r))
	}
	if from < 0 {
		return e
	}
	return e.change(from, to, e.chips[[]rune(e.Text[from:to])[0]-firstChip].Text, opOther)
}

// Content returns the text as it is sent, pastes included, and the paths of its images. An
// image is named in the text at its place.
func (e Editor) Content() (text string, images []string) {
	return e.content(e.Text)
}

func (e Editor) content(s string) (text string, images []string) {
	if !strings.ContainsFunc(s, isChip) {
		return s, nil
	}
	var b strings.Builder
	for _, r := range s {
		switch c, ok := e.Chip(r); {
		case !ok:
			b.WriteRune(r)
		case c.Image != "":
			images = append(images, c.Image)
			b.WriteString(e.Label(r))
		default:
			b.WriteString(c.Text)
		}
	}
	return b.String(), images
}
