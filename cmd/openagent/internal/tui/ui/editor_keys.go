package ui

import "github.com/openagent-go/agent/cmd/openagent/internal/tui/input"

// edits are the keys that every editor understands, as readline has them.
var edits = map[string]func(Editor) Editor{
	"left":           func(e Editor) Editor { return e.moveTo(e.prev(e.Caret)) },
	"right":          func(e Editor) Editor { return e.moveTo(e.next(e.Caret)) },
	"ctrl+b":         func(e Editor) Editor { return e.moveTo(e.prev(e.Caret)) },
	"ctrl+f":         func(e Editor) Editor { return e.moveTo(e.next(e.Caret)) },
	"home":           func(e Editor) Editor { return e.moveTo(e.lineStart(e.Caret)) },
	"end":            func(e Editor) Editor { return e.moveTo(e.lineEnd(e.Caret)) },
	"ctrl+a":         func(e Editor) Editor { return e.moveTo(e.lineStart(e.Caret)) },
	"ctrl+e":         func(e Editor) Editor { return e.moveTo(e.lineEnd(e.Caret)) },
	"ctrl+home":      func(e Editor) Editor { return e.moveTo(0) },
	"ctrl+end":       func(e Editor) Editor { return e.moveTo(len(e.Text)) },
	"alt+b":          func(e Editor) Editor { return e.moveTo(e.prevWord(e.Caret)) },
	"alt+f":          func(e Editor) Editor { return e.moveTo(e.nextWord(e.Caret)) },
	"ctrl+left":      func(e Editor) Editor { return e.moveTo(e.prevWord(e.Caret)) },
	"ctrl+right":     func(e Editor) Editor { return e.moveTo(e.nextWord(e.Caret)) },
	"alt+left":       func(e Editor) Editor { return e.moveTo(e.prevWord(e.Caret)) },
	"alt+right":      func(e Editor) Editor { return e.moveTo(e.nextWord(e.Caret)) },
	"backspace":      func(e Editor) Editor { return e.delete(e.prev(e.Caret), e.Caret) },
	"ctrl+h":         func(e Editor) Editor { return e.delete(e.prev(e.Caret), e.Caret) },
	"delete":         func(e Editor) Editor { return e.delete(e.Caret, e.next(e.Caret)) },
	"ctrl+d":         func(e Editor) Editor { return e.delete(e.Caret, e.next(e.Caret)) },
	"ctrl+w":         func(e Editor) Editor { return e.cut(e.spaceBefore(e.Caret), e.Caret) },
	"alt+backspace":  func(e Editor) Editor { return e.cut(e.prevWord(e.Caret), e.Caret) },
	"ctrl+backspace": func(e Editor) Editor { return e.cut(e.prevWord(e.Caret), e.Caret) },
	"alt+d":          func(e Editor) Editor { return e.cut(e.Caret, e.nextWord(e.Caret)) },
	"ctrl+u":         func(e Editor) Editor { return e.cut(e.lineStart(e.Caret), e.Caret) },
	"ctrl+k":         Editor.cutToEnd,
	"ctrl+y":         Editor.paste,
	"alt+y":          Editor.rotate,
	"ctrl+_":         Editor.Undo,
	"ctrl+/":         Editor.Undo,
	"alt+e":          Editor.expand,
	"alt+enter":      func(e Editor) Editor { return e.Insert("\n") },
	"shift+enter":    func(e Editor) Editor { return e.Insert("\n") },
	"ctrl+j":         func(e Editor) Editor { return e.Insert("\n") },
}

// cutToEnd cuts the rest of the line, or the line end if nothing is left of it.
func (e Editor) cutToEnd() Editor {
	to := e.lineEnd(e.Caret)
	if to == e.Caret && to < len(e.Text) {
		to++
	}
	return e.cut(e.Caret, to)
}

// Key applies a key. It reports false for a key that no editor understands.
func (e Editor) Key(k input.Key) (Editor, bool) {
	if k.Text != "" {
		return e.Insert(k.Text), true
	}
	if edit := edits[k.String()]; edit != nil {
		return edit(e), true
	}
	return e, false
}
