package ui

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// key applies a key.
func (m Model) key(k input.Key) (Model, []Action) {
	if k.AfterEsc && m.meansEsc(k) {
		m, actions := m.key(input.Key{Code: input.Esc})
		m, more := m.key(k.Apart())
		return m, append(actions, more...)
	}
	name := k.String()
	m.Hint = ""
	if name != "ctrl+c" {
		m.leaving = time.Time{}
	}
	if name != "esc" {
		m.escaped = time.Time{}
	}
	if m.Picker != nil {
		return m.pickerKey(k)
	}
	switch name {
	case "ctrl+c":
		return m.cancel()
	case "esc":
		return m.escape()
	case "ctrl+z":
		return m, []Action{Suspend{}}
	case "ctrl+l":
		return m, []Action{Repaint{}}
	case "ctrl+o":
		return m, []Action{ShowWhole{}}
	case "ctrl+t":
		return m, []Action{ShowTimes{}}
	case "ctrl+d":
		if m.Editor.Empty() && !m.focused() {
			return m, []Action{Leave{}}
		}
	}
	if m.focused() {
		after, actions, taken := m.cardKey(k)
		if m = after; taken {
			return m, actions
		}
	}
	if m.Search != nil {
		after, taken := m.searchKey(k)
		if m = after; taken {
			return m, nil
		}
	}
	if m.Menu.Open() {
		after, actions, taken := m.menuKey(k)
		if m = after; taken {
			return m, actions
		}
	}
	m, actions := m.inputKey(k)
	m, more := m.complete()
	return m, append(actions, more...)
}

// meansEsc reports whether a key with Alt was Esc and the key: while a question or a run waits
// for Esc, unless Alt means something with the key.
func (m Model) meansEsc(k input.Key) bool {
	switch name := k.String(); {
	case m.focused():
		return true
	case !m.Running || m.Stopping:
		return false
	case slices.Contains([]string{"alt+t", "alt+m", "alt+c", "alt+up", "alt+enter"}, name):
		return false
	case name == "alt+q" || edits[name] != nil:
		return m.Editor.Empty()
	}
	return true
}

// inputKey applies a key to the input.
func (m Model) inputKey(k input.Key) (Model, []Action) {
	switch k.String() {
	case "enter":
		return m.enter()
	case "alt+q":
		return m.queue()
	case "alt+up":
		return m.takeBack()
	case "tab":
		if len(m.Cards) > 0 {
			m.kept = false
			return m.focus(true), nil
		}
		return m.takeSuggestion(), nil
	case "right":
		if m.Suggestion() != "" {
			return m.takeSuggestion(), nil
		}
	case "alt+t":
		m.Thinking = !m.Thinking
		return m, nil
	case "alt+m":
		return m, []Action{Command{"/model"}}
	case "alt+c":
		return m, []Action{Command{"/copy"}}
	case "shift+tab":
		return m, []Action{CycleMode{}}
	case "ctrl+g":
		text, _ := m.Editor.Content()
		return m, []Action{EditOutside{text}}
	case "ctrl+r":
		m.History = m.History.leave(m.Editor)
		s := m.History.search(Search{}, len(m.History.entries))
		m.Search = &s
		return m, nil
	case "up", "ctrl+p":
		return m.vertical(-1), nil
	case "down", "ctrl+n":
		return m.vertical(1), nil
	case "?":
		if m.Editor.Empty() && !m.Keys {
			m.Keys = true
			return m, nil
		}
	}
	m.Keys = false
	e, ok := m.Editor.Key(k)
	if !ok {
		return m, nil
	}
	m.Editor = e
	return m, nil
}

// vertical moves the caret by a row, or to another entry of the history.
func (m Model) vertical(by int) Model {
	if e, ok := m.Editor.vertical(by, m.InputWidth()); ok {
		m.Editor = e
		return m
	}
	m.History, m.Editor, _ = m.History.move(m.Editor, by)
	return m
}

// InputWidth is the number of cells of a row of the input.
func (m Model) InputWidth() int {
	if m.Plain.On { // a text is one row
		return 1 << 30
	}
	return max(m.Width-2, 2)
}

// cancel is ctrl+c: it clears the input, stops the run, or leaves.
func (m Model) cancel() (Model, []Action) {
	switch {
	case m.Search != nil:
		return m.unsearch(), nil
	case m.focused() && m.Cards[0].Write != nil && len(m.Cards[0].Ask) == 0:
		return m.unwrite()
	case !m.Editor.Empty():
		text, _ := m.Editor.Content()
		var actions []Action
		m.History, actions = m.History.add(text)
		m.Editor, m.Menu = m.Editor.Clear(), Menu{}
		m.Hint = "↑ brings the text back"
		return m, actions
	case m.Running && !m.Stopping:
		m.Stopping = true
		return m, []Action{Interrupt{}}
	case m.leaving.IsZero():
		m.leaving, m.Hint = m.Now.Add(againTime), "press ctrl+c again to leave"
		return m, nil
	}
	return m, []Action{Leave{}}
}

// unwrite leaves the text that a card asks for.
func (m Model) unwrite() (Model, []Action) {
	m, actions := m.rescue(m.Cards[0])
	cards := append([]Card(nil), m.Cards...)
	cards[0].Write = nil
	m.Cards = cards
	return m, actions
}

// escape is esc: it closes the menu, leaves the question, or stops the run. Pressed twice
// while nothing runs and nothing is written, it goes back to an earlier prompt.
func (m Model) escape() (Model, []Action) {
	switch {
	case m.Search != nil:
		return m.unsearch(), nil
	case m.Menu.Open():
		m.Menu = Menu{closed: m.Menu.from + 1}
	case m.Keys:
		m.Keys = false
	case m.focused() && m.Cards[0].Write != nil && len(m.Cards[0].Ask) == 0:
		return m.unwrite()
	case m.focused():
		m.kept = true
		return m.focus(false), nil
	case m.Running && !m.Stopping:
		m.Stopping = true
		return m, []Action{Interrupt{}}
	case m.Running || !m.Editor.Empty():
	case m.escaped.IsZero():
		m.escaped, m.Hint = m.Now.Add(againTime), "press esc again to go back to an earlier prompt"
	default:
		m.escaped = time.Time{}
		return m, []Action{Command{"/rewind"}}
	}
	return m, nil
}

// searchKey applies a key to the search in the history.
func (m Model) searchKey(k input.Key) (Model, bool) {
	s := *m.Search
	switch k.String() {
	case "ctrl+r", "up":
		s = m.History.search(s, s.at)
	case "enter", "tab", "right", "left", "home", "end":
		m = m.unsearch()
		if s.Found != "" {
			m.History, m.Editor, _ = m.History.show(m.Editor, s.at)
		}
		return m, true
	default:
		e, ok := s.Query.Key(k)
		if !ok {
			return m, true
		}
		s.Query = e
		s = m.History.search(s, len(m.History.entries))
	}
	m.Search = &s
	return m, true
}

// unsearch leaves the search. A query that was found nowhere was meant for the input.
func (m Model) unsearch() Model {
	if m.Search == nil {
		return m
	}
	if query, _ := m.Search.Query.Content(); m.Search.Found == "" {
		m.Editor = m.Editor.Paste(query)
	}
	m.Search = nil
	return m
}

// paste inserts a pasted text where the caret is. It never answers a question.
func (m Model) paste(p input.Paste) (Model, []Action) {
	m.Hint = ""
	if m.Picker != nil {
		return m.pickerPaste(p.Text)
	}
	if p.Cut {
		m.Hint = "the paste was too long: its end is missing"
	}
	if m.focused() && m.ready() && m.Cards[0].Write != nil {
		cards := append([]Card(nil), m.Cards...)
		e := cards[0].Write.Paste(p.Text)
		cards[0].Write = &e
		m.Cards = cards
		return m, nil
	}
	if m.focused() {
		m = m.focus(false)
	}
	m = m.unsearch()
	var actions []Action
	for _, pasted := range dropped(p.Text) {
		if path, ok := imagePath(pasted); ok {
			actions = append(actions, LoadImage{path, pasted})
		}
	}
	m.Editor = m.Editor.Paste(p.Text)
	m, more := m.complete()
	return m, append(actions, more...)
}

// dropped splits a paste into the paths of several images. A paste that is something else stays
// whole.
func dropped(text string) []string {
	whole := []string{strings.TrimSpace(text)}
	words := word.FindAllString(text, maxDropped+1)
	if len(words) < 2 || len(words) > maxDropped {
		return whole
	}
	for _, w := range words {
		if _, ok := imagePath(w); !ok {
			return whole
		}
	}
	return words
}

// maxDropped is how many images may be dropped at once.
const maxDropped = 20

// word is a word of a command line: in quotes, or without blanks but those behind a backslash.
var word = regexp.MustCompile(`'[^']*'|"[^"]*"|(?:\\.|[^\\\s])+`)

// imagePath returns the path of an image if a paste is nothing else. A file that is dropped on a
// terminal comes as a path in quotes or with backslashes, or as a URL.
func imagePath(text string) (string, bool) {
	path := strings.TrimSpace(text)
	rest, isURL := strings.CutPrefix(path, "file://")
	switch {
	case isURL:
		var err error
		if path, err = url.PathUnescape(strings.TrimPrefix(rest, "localhost")); err != nil {
			return "", false
		}
	case len(path) > 1 && (path[0] == '"' || path[0] == '\'') && path[len(path)-1] == path[0]:
		path = path[1 : len(path)-1]
	default:
		path = unescaped.ReplaceAllString(path, "$1")
	}
	if !strings.HasPrefix(path, "/") || strings.Contains(path, "\n") {
		return "", false
	}
	for _, end := range []string{".png", ".jpg", ".jpeg", ".gif", ".webp"} {
		if strings.HasSuffix(strings.ToLower(path), end) {
			return path, true
		}
	}
	return "", false
}

// unescaped are characters behind the backslash of a shell.
var unescaped = regexp.MustCompile(`\\(.)`)

// image replaces the pasted path of an image by the image.
func (m Model) image(d Image) Model {
	if d.Failed {
		return m
	}
	if e := m.Editor; d.Pasted != "" {
		if at := strings.LastIndex(e.Text, d.Pasted); at >= 0 {
			m.Editor = e.change(at, at+len(d.Pasted), "", opOther).AddImage(d.Path, d.Note)
		}
	}
	return m
}
