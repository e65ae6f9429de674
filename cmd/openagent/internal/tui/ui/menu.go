package ui

import (
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// A Menu completes the word at the caret: a command or a file.
type Menu struct {
	Kind  MenuKind
	Items []MenuItem
	At    int

	query  string // what is completed
	stale  bool   // the items are those of an earlier query
	take   bool   // the first item of the query is taken as soon as it is known
	from   int    // where it begins in the text
	closed int    // the start of a word whose menu the person closed, plus 1
}

// A MenuKind says what a menu completes.
type MenuKind int

// The kinds of menus.
const (
	NoMenu MenuKind = iota
	CommandMenu
	FileMenu
)

// A MenuItem is a line of a menu.
type MenuItem struct {
	Text string // that completes the word
	Hint string // arguments of a command
	Note string
}

// Open reports whether the menu is shown.
func (n Menu) Open() bool { return n.Kind != NoMenu && len(n.Items) > 0 }

// complete opens, changes or closes the menu for the word at the caret.
func (m Model) complete() (Model, []Action) {
	if m.Plain.On {
		return m, nil
	}
	kind, from := m.word()
	if kind == NoMenu || m.Menu.closed == from+1 {
		closed := 0
		if kind != NoMenu {
			closed = m.Menu.closed
		}
		m.Menu = Menu{closed: closed}
		return m, nil
	}
	query := m.Editor.Text[from+1 : m.Editor.Caret]
	if kind == m.Menu.Kind && from == m.Menu.from && query == m.Menu.query {
		return m, nil
	}
	if kind == FileMenu {
		if m.Menu.Kind != FileMenu || m.Menu.from != from {
			m.Menu = Menu{Kind: FileMenu, from: from}
		}
		m.Menu.query, m.Menu.stale, m.Menu.take = query, true, false
		return m, []Action{ListFiles{query}}
	}
	m.Menu = Menu{Kind: kind, from: from, query: query, Items: m.matching(query)}
	return m, nil
}

// word finds the command or file at the caret.
func (m Model) word() (MenuKind, int) {
	e := m.Editor
	from := e.Caret
	for from > 0 && !strings.ContainsRune(" \t\n", rune(e.Text[from-1])) {
		from--
	}
	switch {
	case from == e.Caret || strings.ContainsFunc(e.Text[from:e.Caret], isChip):
	case from == 0 && e.Text[0] == '/' && !strings.Contains(e.Text[1:e.Caret], "/"):
		return CommandMenu, 0
	case e.Text[from] == '@':
		return FileMenu, from
	}
	return NoMenu, 0
}

// matching returns the commands for a query: its own, those that begin with it, then those that
// hold it.
func (m Model) matching(query string) []MenuItem {
	var first, second []MenuItem
	query = strings.ToLower(query)
	for _, c := range m.commands {
		item := MenuItem{Text: "/" + c.Name, Hint: c.Hint, Note: c.Help}
		switch name := strings.ToLower(c.Name); {
		case name == query:
			first = append([]MenuItem{item}, first...)
		case strings.HasPrefix(name, query):
			first = append(first, item)
		case strings.Contains(name, query):
			second = append(second, item)
		}
	}
	return append(first, second...)
}

// found shows files, if they are those that the menu waits for.
func (m Model) found(f Files) Model {
	n := m.Menu
	if n.Kind != FileMenu || n.query != f.Query {
		return m
	}
	n.Items, n.At, n.stale = nil, 0, false
	for _, name := range f.Names {
		n.Items = append(n.Items, MenuItem{Text: "@" + name})
	}
	take := n.take
	n.take = false
	if m.Menu = n; take && n.Open() {
		m = m.accept()
	}
	return m
}

// menuKey applies a key to the open menu. It reports false for keys of the input.
func (m Model) menuKey(k input.Key) (Model, []Action, bool) {
	n, name := len(m.Menu.Items), k.String()
	if m.Menu.stale && (name == "tab" || name == "enter") {
		m.Menu.take = true
		return m, nil, true
	}
	switch name {
	case "up", "ctrl+p":
		m.Menu.At = (m.Menu.At + n - 1) % n
	case "down", "ctrl+n":
		m.Menu.At = (m.Menu.At + 1) % n
	case "esc":
		m.Menu = Menu{closed: m.Menu.from + 1}
	case "tab":
		m = m.accept()
	case "enter":
		kind, item := m.Menu.Kind, m.Menu.Items[m.Menu.At]
		if kind == CommandMenu && (item.Hint == "" || m.Editor.Text == item.Text) {
			m = m.accept()
			m, actions := m.enter()
			return m, actions, true
		}
		m = m.accept()
	default:
		return m, nil, false
	}
	return m, nil, true
}

// accept puts the marked item into the text.
func (m Model) accept() Model {
	item := m.Menu.Items[m.Menu.At]
	text := item.Text
	if m.Menu.Kind == FileMenu && strings.ContainsAny(text, " \t") {
		text = `@"` + text[1:] + `"`
	}
	m.Editor = m.Editor.change(m.Menu.from, m.Editor.Caret, "", opOther)
	if m.Editor.Caret == len(m.Editor.Text) && (m.Menu.Kind == FileMenu && !strings.HasSuffix(text, "/") || item.Hint != "") {
		text += " "
	}
	m.Editor = m.Editor.Insert(text)
	m.Menu = Menu{}
	return m
}
