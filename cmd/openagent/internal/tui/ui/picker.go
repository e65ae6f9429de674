package ui

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/fuzzy"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// A Picker lets the person choose one of several things. What they type narrows the list.
type Picker struct {
	Choice
	Query Editor
	At    int
	Found []int // indices of the items that have what was typed
}

// A Choice is what a picker offers.
type Choice struct {
	Kind  string // what the program does with the item
	Title string
	Items []Item
	About []Line // above the items
}

// An Item of a choice.
type Item struct {
	Text, Note string
	Value      string // for the program
}

// offer opens a picker.
func (m Model) offer(c Choice) Model {
	p := Picker{Choice: c}.find()
	m.Picker, m.Menu, m.Keys = &p, Menu{}, false
	return m
}

// find narrows the list to what was typed.
func (p Picker) find() Picker {
	texts := make([]string, len(p.Items))
	for i, it := range p.Items {
		texts[i] = it.Text + " " + it.Note
	}
	query, _ := p.Query.Content()
	p.Found, p.At = nil, 0
	for _, m := range fuzzy.Find(query, texts, len(texts)) {
		p.Found = append(p.Found, m.Index)
	}
	return p
}

// pickerKey applies a key to the picker.
func (m Model) pickerKey(k input.Key) (Model, []Action) {
	p := *m.Picker
	switch k.String() {
	case "esc", "ctrl+c":
		m.Picker = nil
		return m, nil
	case "up", "ctrl+p":
		p.At = max(p.At-1, 0)
	case "down", "ctrl+n":
		p.At = max(min(p.At+1, len(p.Found)-1), 0)
	case "pageup":
		p.At = max(p.At-8, 0)
	case "pagedown":
		p.At = max(min(p.At+8, len(p.Found)-1), 0)
	case "enter":
		if len(p.Found) == 0 {
			return m, nil
		}
		m.Picker = nil
		return m, []Action{Picked{p.Kind, p.Items[p.Found[p.At]].Value}}
	default:
		e, ok := p.Query.Key(k)
		if !ok {
			return m, nil
		}
		p.Query = e
		p = p.find()
	}
	m.Picker = &p
	return m, nil
}
