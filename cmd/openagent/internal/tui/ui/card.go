package ui

import (
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// A Card is an open question and how far the person is with it.
type Card struct {
	Question
	Focus bool      // the keyboard belongs to the card
	ready time.Time // when keys may answer; zero: the card with the keyboard is not painted yet
	lost  bool      // the keyboard went to the input
	back  time.Time // until then tab means the card, which took the keyboard back; zero: it leaves the card

	At      int     // the marked line
	Width   int     // of the rule
	Scope   int     // index of the place where the rule is kept
	Whys    bool    // the reasons are shown
	Write   *Editor // text that the card asks for
	Writing Writing // what the text is
	Missed  bool    // enter was pressed on a text that is no answer
	Cut     bool    // not enough of the call is on the screen
	Small   bool    // the screen is too small to allow anything

	Nth     int    // the question of a tool that is shown
	Chosen  []bool // its options
	answers []Answer
	choice  *Choice // the question of plain mode for a choice
}

// Writing says what a text on a card is.
type Writing int

// The texts of a card.
const (
	WriteReason  Writing = iota // of a denial
	WriteYes                    // the word that a grave call needs
	WriteOther                  // an answer in one's own words
	WriteCommand                // the command, changed
)

// The lines of a permission card.
const (
	LineOnce = iota
	LineAlways
	LineNo
	LineLater
)

// Scopes names the places where the chosen rule can be kept.
func (c Card) Scopes() []string {
	if len(c.Widths) == 0 {
		return nil
	}
	return c.Widths[c.Width].Scopes
}

// Rules are the rules of the chosen width.
func (c Card) Rules() []string {
	if len(c.Widths) == 0 {
		return nil
	}
	return c.Widths[c.Width].Rules
}

// Lines is the number of lines that can be marked.
func (c Card) Lines() int {
	if len(c.Ask) > 0 {
		return len(c.Ask[c.Nth].Options) + 1
	}
	return LineLater + 1
}

// Current is the question of a tool that is shown.
func (c Card) Current() Asked { return c.Ask[c.Nth] }

// pose puts a question behind the open ones.
func (m Model) pose(q Question) (Model, []Action) {
	c := Card{Question: q, Width: min(max(q.Usual, 0), max(0, len(q.Widths)-1))}
	m.Cards = append(m.Cards[:len(m.Cards):len(m.Cards)], c.begin())
	if m.Away {
		return m, []Action{Notify{"openagent asks: " + q.Tool}}
	}
	return m, nil
}

// begin shows the next question of a tool.
func (c Card) begin() Card {
	if len(c.Ask) > 0 {
		c.At, c.Chosen, c.Write = 0, make([]bool, len(c.Ask[c.Nth].Options)), nil
		if len(c.Chosen) == 0 {
			c = c.write(WriteOther, "")
		}
	}
	return c
}

func (c Card) write(what Writing, text string) Card {
	e := Editor{}.Set(text)
	c.Write, c.Writing, c.Missed = &e, what, false
	return c
}

// settled removes a question.
func (m Model) settled(id int) (Model, []Action) {
	i := slices.IndexFunc(m.Cards, func(c Card) bool { return c.ID == id })
	if i < 0 {
		return m, nil
	}
	m, actions := m.rescue(m.Cards[i])
	m.Cards = slices.Delete(slices.Clone(m.Cards), i, i+1)
	if i == 0 {
		m.kept = false
	}
	return m, actions
}

// rescue keeps what was written on a card. A reason or an answer was for the agent: it goes into
// the input. Other texts are no messages: they go to the history.
func (m Model) rescue(c Card) (Model, []Action) {
	text := c.written()
	if text == "" {
		return m, nil
	}
	if c.Writing == WriteCommand || c.Writing == WriteYes {
		var actions []Action
		m.History, actions = m.History.add(text)
		m.Hint = "↑ in the input brings the text back"
		return m, actions
	}
	if !m.Editor.Empty() {
		text = "\n" + text
	}
	m.Editor = m.Editor.moveTo(len(m.Editor.Text))
	m.Editor = m.Editor.Paste(text)
	return m, nil
}

// canFocus reports whether a question may take the keyboard once no key has come for a while.
func (m Model) canFocus() bool {
	return m.Editor.Empty() && !m.Menu.Open() && m.Picker == nil && m.Search == nil && !m.kept
}

// attend gives the keyboard to the first question, if nobody uses it.
func (m Model) attend() Model {
	if len(m.Cards) == 0 || m.Cards[0].Focus || !m.canFocus() || m.Now.Before(m.lastKey.Add(quietTime)) {
		return m
	}
	m = m.focus(true)
	if m.Cards[0].lost {
		m.Cards[0].back = m.Now.Add(quietTime)
	}
	return m
}

// focus gives the keyboard to the first question, or takes it back.
func (m Model) focus(on bool) Model {
	m.Cards = slices.Clone(m.Cards)
	c := &m.Cards[0]
	c.Focus, c.ready, c.lost, c.back = on, time.Time{}, c.lost || !on, time.Time{}
	return m
}

func (m Model) focused() bool { return len(m.Cards) > 0 && m.Cards[0].Focus }

// painted starts the time after which keys answer, once the card with the keyboard can be seen.
func (m Model) painted(p Painted) Model {
	m.Mark = p.Mark
	m.forget()
	if p.Ahead != nil {
		m.Plain.ahead = append(m.Plain.ahead[:len(m.Plain.ahead):len(m.Plain.ahead)], p.Ahead...)
	}
	if len(m.Cards) > 0 && m.Cards[0].ID == p.Card {
		m.Cards = slices.Clone(m.Cards)
		m.Cards[0].Small = p.Small
		if m.Cards[0].Write == nil {
			m.Cards[0].Cut = p.Cut
		}
	}
	if len(m.Cards) > 0 && (m.Cards[0].Focus || m.Plain.On) && m.Cards[0].ID == p.Card && m.Cards[0].ready.IsZero() {
		m.Cards = slices.Clone(m.Cards)
		m.Cards[0].ready = m.Now.Add(settleTime)
	}
	return m
}

// ready reports whether keys answer the card now.
func (m Model) ready() bool {
	at := m.Cards[0].ready
	return !at.IsZero() && !m.Now.Before(at)
}

// cardKey applies a key to the card that has the keyboard. It reports false for keys that
// belong to the input.
func (m Model) cardKey(k input.Key) (Model, []Action, bool) {
	if k.Is(input.Tab, 0) && (!m.ready() || m.Now.Before(m.Cards[0].back)) {
		m.Cards = slices.Clone(m.Cards)
		m.Cards[0].back = time.Time{}
		return m, nil, true
	}
	if !m.ready() {
		return m.focus(false), nil, false
	}
	if k.Is(input.Tab, 0) {
		m.kept = true
		return m.focus(false), nil, true
	}
	c := m.Cards[0]
	c.back = time.Time{}
	if k.Text != "" && c.Write == nil && !c.means(k) { // a word for the agent begins
		return m.focus(false), nil, false
	}
	var actions []Action
	switch {
	case c.Write != nil:
		c, actions = c.writeKey(k)
	case len(c.Ask) > 0:
		c, actions = c.askKey(k)
	default:
		c, actions = c.permissionKey(k)
	}
	m.Cards = slices.Clone(m.Cards)
	m.Cards[0] = c
	for _, a := range actions {
		switch a.(type) {
		case Decide, Reply:
			m.Cards, m.kept = m.Cards[1:], false
		}
	}
	return m, actions, true
}

// means reports whether a key that types text is one of the card's.
func (c Card) means(k input.Key) bool {
	if n := digit(k); n > 0 {
		return n <= c.Lines()
	}
	switch k.String() {
	case "space":
		return len(c.Ask) > 0
	case "s":
		return len(c.Ask) == 0 && len(c.Scopes()) > 0
	case "e":
		return len(c.Ask) == 0 && c.Command != ""
	case "?":
		return len(c.Ask) == 0
	}
	return false
}

// move marks another line.
func (c Card) move(to int) Card {
	c.At = min(max(to, 0), c.Lines()-1)
	return c
}

func digit(k input.Key) int {
	if len(k.Text) != 1 || k.Text < "1" || k.Text > "9" {
		return 0
	}
	return int(k.Text[0] - '0')
}

// permissionKey applies a key to a permission question.
func (c Card) permissionKey(k input.Key) (Card, []Action) {
	switch name := k.String(); {
	case name == "up":
		return c.move(c.At - 1), nil
	case name == "down":
		return c.move(c.At + 1), nil
	case digit(k) > 0:
		return c.move(digit(k) - 1), nil
	case name == "left" && len(c.Widths) > 0:
		c.Width = min(c.Width+1, len(c.Widths)-1)
		c.Scope = min(c.Scope, len(c.Scopes())-1)
		return c.move(LineAlways), nil
	case name == "right" && len(c.Widths) > 0:
		c.Width = max(c.Width-1, 0)
		c.Scope = min(c.Scope, len(c.Scopes())-1)
		return c.move(LineAlways), nil
	case name == "s" && len(c.Scopes()) > 0:
		c.Scope = (c.Scope + 1) % len(c.Scopes())
		return c.move(LineAlways), nil
	case name == "?":
		c.Whys = !c.Whys
	case name == "e" && c.Command != "":
		return c.write(WriteCommand, c.Command), nil
	case name == "enter":
		return c.choose()
	}
	return c, nil
}

// choose acts on the marked line.
func (c Card) choose() (Card, []Action) {
	switch {
	case c.At == LineNo:
		return c.write(WriteReason, ""), nil
	case c.At == LineLater:
		return c, []Action{Decide{c.ID, Decision{Later: true}}}
	case c.At == LineAlways && len(c.Widths) == 0:
		return c, nil
	case c.Small: // the card says so
		return c, nil
	case c.word() != "":
		return c.write(WriteYes, ""), nil
	}
	return c, []Action{Decide{c.ID, c.allow()}}
}

// word returns why the marked line needs the word yes; "": it does not.
func (c Card) word() string {
	why := c.Grave
	if c.At == LineAlways && why == "" {
		why = c.Widths[c.Width].Wide
	}
	if why == "" && c.Cut {
		why = "a part of the call is not on the screen, ctrl+o shows it"
	}
	return why
}

// Word returns why the card asks for the word yes.
func (c Card) Word() string { return c.word() }

// allow is the decision of the marked line.
func (c Card) allow() Decision {
	d := Decision{Allow: true}
	if c.At == LineAlways {
		d.Keep, d.Width, d.Scope = true, c.Width, "session"
		if scopes := c.Scopes(); c.Scope < len(scopes) {
			d.Scope = scopes[c.Scope]
		}
	}
	return d
}

// writeKey applies a key to the text that the card asks for.
func (c Card) writeKey(k input.Key) (Card, []Action) {
	text, _ := c.Write.Content()
	switch {
	case !k.Is(input.Enter, 0):
		e, _ := c.Write.Key(k)
		c.Write, c.Missed = &e, false
		return c, nil
	case c.Writing == WriteReason:
		return c, []Action{Decide{c.ID, Decision{Reason: strings.TrimSpace(text)}}}
	case c.Small: // the card says so
		return c, nil
	case c.Writing == WriteYes:
		if strings.TrimSpace(text) == "yes" {
			return c, []Action{Decide{c.ID, c.allow()}}
		}
		c.Missed = true
		return c, nil
	case c.Writing == WriteCommand:
		if text = strings.TrimSpace(text); text == "" {
			c.Missed = true
			return c, nil
		}
		if text == c.Command && c.Cut { // it was not changed, nor seen
			return c.move(LineOnce).write(WriteYes, ""), nil
		}
		return c, []Action{Decide{c.ID, Decision{Allow: true, Edited: text}}}
	}
	return c.answer(strings.TrimSpace(text))
}

// askKey applies a key to a question of a tool.
func (c Card) askKey(k input.Key) (Card, []Action) {
	options := len(c.Current().Options)
	switch name := k.String(); {
	case name == "up":
		return c.move(c.At - 1), nil
	case name == "down":
		return c.move(c.At + 1), nil
	case digit(k) > 0 && digit(k) <= options+1:
		c = c.move(digit(k) - 1)
		if c.Current().Multiple && c.At < options {
			return c.toggle(), nil
		}
		return c, nil
	case name == "space" && c.Current().Multiple && c.At < options:
		return c.toggle(), nil
	case name == "enter" && c.At == options:
		return c.write(WriteOther, ""), nil
	case name == "enter":
		if !c.Current().Multiple || !slices.Contains(c.Chosen, true) {
			c = c.toggle()
		}
		return c.answer("")
	}
	return c, nil
}

func (c Card) toggle() Card {
	c.Chosen = slices.Clone(c.Chosen)
	c.Chosen[c.At] = !c.Chosen[c.At]
	return c
}

// answer answers the question that is shown, and goes to the next one.
func (c Card) answer(text string) (Card, []Action) {
	a := Answer{Text: text}
	for i, on := range c.Chosen {
		if on {
			a.Chosen = append(a.Chosen, i)
		}
	}
	c.answers = append(c.answers[:len(c.answers):len(c.answers)], a)
	if c.Nth++; c.Nth < len(c.Ask) {
		c.ready = time.Time{} // the next question has to be seen first
		return c.begin(), nil
	}
	return c, []Action{Reply{c.ID, c.answers}}
}
