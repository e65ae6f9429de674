package ui

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/fuzzy"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// A Picker lets the person choose one of several things, or enter a text.
type Picker struct {
	Choice
	Query Editor // narrows the list, or is the text
	At    int
	Found []int // indices of the items that have what was typed
	Skip  int   // lines of About that are scrolled away

	Looking  bool    // the marked item is shown in more detail
	Look     []Line  // its details, once they are known
	Naming   *Editor // the new name of the marked item; nil: it keeps its name
	Deleting bool    // the next key says whether the marked item is deleted
	Busy     bool    // the person has chosen, and the program works on it

	looked string // value of the item that Look is about
}

// A Choice is what a picker offers.
type Choice struct {
	Kind  string // what the program does with the item
	Title string
	Items []Item
	About []Line // above the items
	Scope string // which items are offered, in a few words
	Warn  string // what went wrong, until the next key
	First int    // the item that is marked at first

	Form  Form
	Tools bool // the person can look at items, rename and delete them, and ask for more
	Alone bool // there is no conversation: closing the picker leaves the program
	Back  bool // with Alone: closing it goes back to the question before
	Wary  bool // a secret may be pasted that belongs elsewhere: it is neither taken nor shown
}

// A Form says how a picker takes its answer.
type Form int

// The forms of pickers.
const (
	Searched Form = iota // what is typed narrows the list
	Numbered             // a digit marks an item
	Entered              // the answer is a text
	Hidden               // likewise, and the text is not shown
)

// pageRows is how far a page key goes.
const pageRows = 8

// An Item of a choice.
type Item struct {
	Text, Note string
	Cells      []string // columns behind the text, the most important one first
	Value      string   // for the program
}

// offer opens a picker.
func (m Model) offer(c Choice) Model {
	p := Picker{Choice: c}.find()
	p.At = max(min(c.First, len(p.Found)-1), 0)
	m.Picker, m.Menu, m.Keys = &p, Menu{}, false
	return m
}

// renew changes what the open picker offers. What was typed and marked stays.
func (m Model) renew(c Choice) (Model, []Action) {
	if m.Picker == nil || m.Picker.Kind != c.Kind {
		return m, nil
	}
	p := *m.Picker
	marked := p.marked().Value
	if c.Warn != "" {
		p.Busy = false
	} else {
		c.Warn = p.Warn
	}
	p.Choice = c
	at := p.At
	p = p.find()
	p.At = max(min(at, len(p.Found)-1), 0)
	if i := slices.IndexFunc(p.Found, func(n int) bool { return p.Items[n].Value == marked }); i >= 0 {
		p.At = i
	} else {
		p.Naming, p.Deleting = nil, false // it was about another item
	}
	return m.look(p)
}

// marked is the item that a key is about. It has no Value if there is none.
func (p Picker) marked() Item {
	if p.At < len(p.Found) {
		return p.Items[p.Found[p.At]]
	}
	return Item{}
}

// Concealed reports whether dots stand for what was typed. A terminal that does not tell pastes
// from keys types a secret into a wary list: what is in no item may be one.
func (p Picker) Concealed() bool {
	return p.Form == Hidden || p.Wary && len(p.Found) == 0
}

// find narrows the list to what was typed.
func (p Picker) find() Picker {
	texts := make([]string, len(p.Items))
	for i, it := range p.Items {
		texts[i] = it.Text + " " + it.Note + " " + strings.Join(it.Cells, " ")
	}
	query := ""
	if p.Form == Searched {
		query, _ = p.Query.Content()
	}
	p.Found, p.At = nil, 0
	for _, m := range fuzzy.Find(query, texts, len(texts)) {
		p.Found = append(p.Found, m.Index)
	}
	return p
}

// look shows a picker. It asks for the details of the marked item if they are wanted.
func (m Model) look(p Picker) (Model, []Action) {
	m.Picker = &p
	value := p.marked().Value
	if !p.Looking || value == p.looked {
		return m, nil
	}
	p.Look, p.looked = nil, value
	m.Picker = &p
	if value == "" {
		return m, nil
	}
	return m, []Action{Examine{p.Kind, value}}
}

// examined shows the details of the marked item.
func (m Model) examined(d Examined) Model {
	if m.Picker != nil && m.Picker.Looking && m.Picker.looked == d.Value {
		p := *m.Picker
		p.Look = d.Lines
		m.Picker = &p
	}
	return m
}

// closePicker closes the picker without an answer.
func (m Model) closePicker() (Model, []Action) {
	p := *m.Picker
	m.Picker = nil
	actions := []Action{Unpicked{p.Kind}}
	if p.Alone {
		actions = append(actions, Leave{})
	}
	return m, actions
}

// pickerKey applies a key to the picker.
func (m Model) pickerKey(k input.Key) (Model, []Action) {
	p := *m.Picker
	p.Warn = ""
	switch name := k.String(); {
	case p.Busy:
		if name == "esc" || name == "ctrl+c" {
			return m.closePicker()
		}
		return m, nil
	case p.Naming != nil:
		return m.namingKey(p, k)
	case p.Deleting:
		p.Deleting = false
		m.Picker = &p
		if name == "y" {
			return m, []Action{Erase{p.Kind, p.marked().Value}}
		}
		return m, nil
	case p.Tools:
		if after, actions, taken := m.toolKey(p, k); taken {
			return after, actions
		}
	}
	switch name := k.String(); name {
	case "esc", "ctrl+c":
		return m.closePicker()
	case "up", "ctrl+p":
		p.At = max(p.At-1, 0)
	case "down", "ctrl+n":
		p.At = max(min(p.At+1, len(p.Found)-1), 0)
	case "pageup":
		if len(p.About) > 0 {
			p.Skip = max(p.Skip-m.Height/4, 0)
			break
		}
		p.At = max(p.At-pageRows, 0)
	case "pagedown":
		if len(p.About) > 0 {
			p.Skip = min(p.Skip+m.Height/4, len(p.About))
			break
		}
		p.At = max(min(p.At+pageRows, len(p.Found)-1), 0)
	case "enter":
		return m.pick(p)
	default:
		if p.Form == Numbered {
			if len(name) == 1 && name[0] >= '1' && int(name[0]-'1') < len(p.Found) {
				p.At = int(name[0] - '1')
			}
			m.Picker = &p
			return m, nil
		}
		e, ok := p.Query.Key(k)
		if !ok {
			m.Picker = &p
			return m, nil
		}
		p.Query = e
		p = p.find()
	}
	return m.look(p)
}

// pick gives the answer to the program.
func (m Model) pick(p Picker) (Model, []Action) {
	value := p.marked().Value
	if p.Form == Entered || p.Form == Hidden {
		value, _ = p.Query.Content()
	} else if len(p.Found) == 0 {
		m.Picker = &p
		return m, nil
	}
	m.Picker = nil
	if p.Alone || p.Tools { // the program says what follows
		p.Busy = true
		m.Picker = &p
	}
	return m, []Action{Picked{p.Kind, value}}
}

// toolKey applies a key that works on the items. It reports false for other keys.
func (m Model) toolKey(p Picker, k input.Key) (Model, []Action, bool) {
	name, none := k.String(), len(p.Found) == 0
	switch {
	case name == "ctrl+a":
		m.Picker = &p
		return m, []Action{Widen{p.Kind}}, true
	case name == "tab" && !none, name == "space" && p.Query.Empty() && !none:
		p.Looking, p.looked, p.Look = !p.Looking, "", nil
		m, actions := m.look(p)
		return m, actions, true
	case name == "ctrl+r" && !none:
		e := Editor{}.Set(p.marked().Text)
		p.Naming = &e
	case name == "ctrl+d" && !none:
		p.Deleting = true
	case name == "esc" && p.Looking:
		p.Looking = false
	default:
		return m, nil, false
	}
	m.Picker = &p
	return m, nil, true
}

// namingKey applies a key to the new name of an item.
func (m Model) namingKey(p Picker, k input.Key) (Model, []Action) {
	var actions []Action
	switch k.String() {
	case "esc", "ctrl+c":
		p.Naming = nil
	case "enter":
		name, _ := p.Naming.Content()
		actions, p.Naming = []Action{Rename{p.Kind, p.marked().Value, name}}, nil
	default:
		if e, ok := p.Naming.Key(k); ok {
			p.Naming = &e
		}
	}
	m.Picker = &p
	return m, actions
}

// pickerPaste inserts a pasted text into what the picker takes.
func (m Model) pickerPaste(text string) (Model, []Action) {
	p := *m.Picker
	p.Warn = ""
	switch {
	case p.Busy:
		return m, nil
	case p.Wary:
		p.Warn = "nothing was pasted: choose first"
	case p.Naming != nil:
		e := p.Naming.Paste(text)
		p.Naming = &e
	case p.Deleting || p.Form == Numbered:
		p.Deleting = false
	case p.Form == Hidden: // a label would show how much it is
		p.Query = p.Query.Insert(strings.TrimRight(text, "\r\n"))
	default:
		p.Query = p.Query.Paste(text)
		p = p.find()
		return m.look(p)
	}
	m.Picker = &p
	return m, nil
}
