package ui

import (
	"maps"
	"slices"
	"strings"
)

// A History holds the messages that were written earlier, the oldest first. While a person
// looks through it, changed entries keep their changes.
type History struct {
	entries []string
	at      int            // the entry in the editor; len(entries): none
	changed map[int]string // texts as they were left, by entry
}

const maxHistory = 1000

// NewHistory returns a history with these entries.
func NewHistory(entries []string) History {
	entries = slices.Clone(entries[max(0, len(entries)-maxHistory):])
	return History{entries: entries, at: len(entries)}
}

// add appends an entry, unless it is the last one already, and leaves the history. What was
// changed in it before becomes entries too. It returns all new entries.
func (h History) add(text string) (History, []Action) {
	var texts []string
	for _, i := range slices.Sorted(maps.Keys(h.changed)) {
		if t := h.changed[i]; i != h.at && (i >= len(h.entries) || t != h.entries[i]) {
			texts = append(texts, t)
		}
	}
	h.entries = slices.Clone(h.entries)
	var actions []Action
	for _, t := range append(texts, text) {
		if n := len(h.entries); t == "" || n > 0 && h.entries[n-1] == t {
			continue
		}
		h.entries, actions = append(h.entries, t), append(actions, Remember{t})
	}
	h.entries = h.entries[max(0, len(h.entries)-maxHistory):]
	h.at, h.changed = len(h.entries), nil
	return h, actions
}

// move shows the entry before or after the present one in the editor.
func (h History) move(e Editor, by int) (History, Editor, bool) { return h.show(e, h.at+by) }

// show shows an entry in the editor.
func (h History) show(e Editor, to int) (History, Editor, bool) {
	if to < 0 || to > len(h.entries) {
		return h, e, false
	}
	h = h.leave(e)
	h.at = to
	return h, e.recall(h.text(to)), true
}

// leave notes the text in the editor.
func (h History) leave(e Editor) History {
	h.changed = maps.Clone(h.changed)
	if h.changed == nil {
		h.changed = map[int]string{}
	}
	h.changed[h.at], _ = e.Content()
	return h
}

// text returns an entry as it is shown: as it was left, unless it was cleared.
func (h History) text(i int) string {
	if text := h.changed[i]; text != "" || i == len(h.entries) {
		return text
	}
	return h.entries[i]
}

// recall replaces the text by one of the history. A long one is a chip.
func (e Editor) recall(text string) Editor {
	if long(text) {
		e, text = e.chip(Chip{Text: text})
	} else {
		e, text = e.safe(text)
	}
	return e.change(0, len(e.Text), text, opOther)
}

// A Search looks for an entry of the history that holds a text.
type Search struct {
	Query Editor
	Found string // the entry found; "": none
	at    int    // its place
}

// search finds the entry before a place that holds the query.
func (h History) search(s Search, before int) Search {
	query, _ := s.Query.Content()
	query = strings.ToLower(query)
	for i := min(before, len(h.entries)) - 1; i >= 0; i-- {
		if text := h.text(i); strings.Contains(strings.ToLower(text), query) {
			s.Found, s.at = text, i
			return s
		}
	}
	if before >= len(h.entries) {
		s.Found, s.at = "", len(h.entries)
	}
	return s
}
