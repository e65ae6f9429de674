package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session/view"
)

// Inputs of a model in plain mode.
type (
	// Typed is a line that came whole: from a program, or from a terminal that edits lines
	// itself. At is when it was read. Echoed: the person sees it already.
	Typed struct {
		Text   string
		At     time.Time
		Echoed bool
	}
	// Ended means that the input has ended.
	Ended struct{}
	// Ran means that a command, or another line that is no message, has been carried out.
	Ran struct{}
)

// Plain is what a model knows in plain mode: everything is a line that is written once, and
// questions are answered by lines.
type Plain struct {
	On     bool
	Whole  bool // lines come whole: the person cannot change one
	Nobody bool // nobody answers questions: lines are prompts
	Closed bool // no more input comes
	Busy   int  // commands that are being carried out

	begun   time.Time       // when the person began the text; zero: it came in another way
	pasted  bool            // a part of the text was pasted
	echoed  []string        // messages that the person sees already
	skipped map[string]bool // items that are such messages, by id
	ahead   []string        // items that are shown before their turn
	left    bool            // the program leaves
}

// NewPlain returns the model of a UI in plain mode. The lines of the person come key by key, or
// whole.
func NewPlain(whole bool) Model {
	m := New(0, 0)
	m.Plain.On, m.Plain.Whole = true, whole
	return m
}

// Idle reports whether the next line is a prompt.
func (m Model) Idle() bool {
	return !m.Running && m.Plain.Busy == 0 && len(m.Cards) == 0 && !m.Plain.Closed
}

// Typing reports whether the person is writing a text. A text that came back is none.
func (m Model) Typing() bool { return !m.Editor.Empty() && !m.Plain.begun.IsZero() }

// Answers reports whether the text that is being written, or the next one, answers the first
// question: one that was begun before the question does not.
func (m Model) Answers() bool {
	return len(m.Cards) > 0 && !m.Cards[0].ready.IsZero() && (m.Editor.Empty() || !m.Plain.begun.Before(m.Cards[0].ready))
}

// Skipped reports whether the person sees an item already: it is a message that they have typed.
func (m Model) Skipped(it *view.Item) bool { return m.Plain.skipped[it.ID] }

// Ahead reports whether an item was shown before its turn.
func (m Model) Ahead(it *view.Item) bool { return slices.Contains(m.Plain.ahead, it.ID) }

// plainInput applies an input that has another meaning in plain mode. It reports false for the
// others.
func (m Model) plainInput(data any) (Model, []Action, bool) {
	switch d := data.(type) {
	case input.Key:
		m, actions := m.plainKey(d)
		return m, actions, true
	case Typed:
		if m.Plain.Closed {
			return m, nil, true
		}
		if m.Editor.Empty() {
			m.Plain.begun = d.At
		}
		m.Editor = m.Editor.toEnd().Insert(d.Text)
		m, actions := m.plainEnter(d.At, d.Echoed)
		return m, actions, true
	case Submit:
		draft := m.Editor
		m.Editor = Editor{}.Set(d.Text)
		m, actions := m.plainSend(false, false)
		m.Editor = draft
		return m, actions, true
	case Ended:
		m, actions := m.plainEnd()
		return m, actions, true
	case Ran:
		m.Plain.Busy = max(m.Plain.Busy-1, 0)
		return m, nil, true
	case Pose:
		return m, nil, m.Plain.Closed || m.Plain.Nobody
	case Choice:
		return m.plainChoice(d), nil, true
	case Renewed:
		if d.Choice.Warn != "" {
			m = m.note(Line{WarnLine, "! " + d.Choice.Warn})
		}
		return m, nil, true
	case Draft:
		if m.Plain.Whole {
			return m.note(Line{WarnLine, "not sent: " + d.Text}), nil, true
		}
	case Files:
		if m = m.found(d); m.Menu.Kind == FileMenu && m.Menu.query == d.Query {
			m = m.completed()
		}
		return m, nil, true
	case Watched:
		if d.Word != "" && d.Viewers != m.Watched.Viewers {
			m = m.note(Line{DimLine, fmt.Sprintf("(%s: %s)", d.Word, text.Count(d.Viewers, "viewer"))})
		}
	case ListKeys:
		return m.note(plainHelp...), nil, true
	}
	return m, nil, false
}

// plainKey applies a key in plain mode.
func (m Model) plainKey(k input.Key) (Model, []Action) {
	name := k.String()
	if name != "ctrl+c" {
		m.leaving = time.Time{}
	}
	switch name {
	case "ctrl+c":
		return m.plainCancel()
	case "ctrl+z":
		return m, []Action{Suspend{}}
	case "ctrl+l":
		return m, []Action{Repaint{}}
	}
	if m.Plain.Closed {
		return m, nil
	}
	if m.Search != nil {
		after, taken := m.searchKey(k)
		if m = after; taken {
			return m, nil
		}
	}
	switch name {
	case "enter", "ctrl+j":
		return m.plainEnter(m.Now, true)
	case "alt+q":
		m, actions := m.plainSend(false, true)
		return m, actions
	case "ctrl+d":
		if m.Editor.Empty() {
			return m.plainEnd()
		}
	case "tab":
		return m.completePlain()
	case "ctrl+o", "ctrl+t", "alt+c":
		m.Hint = "not in plain mode: /export FILE writes the whole session to a file"
		return m, nil
	case "esc", "alt+t":
		return m, nil
	}
	if k.Text != "" {
		m.Editor = m.Editor.Insert(k.Text)
		return m, nil
	}
	return m.inputKey(k)
}

// track notes when the person began the text, and whether they have pasted a part of it.
func (m Model) track(before Editor, data any) Model {
	_, key := data.(input.Key)
	_, paste := data.(input.Paste)
	switch {
	case m.Editor.Empty():
		m.Plain.begun, m.Plain.pasted = time.Time{}, false
	case before.Empty() && (key || paste):
		m.Plain.begun = m.Now
	}
	m.Plain.pasted = m.Plain.pasted || paste && !m.Editor.Empty()
	return m
}

// plainCancel is ctrl+c in plain mode.
func (m Model) plainCancel() (Model, []Action) {
	var c Card
	if len(m.Cards) > 0 {
		c = m.Cards[0]
	}
	switch {
	case m.Search != nil:
		return m.unsearch(), nil
	case !m.Editor.Empty():
		text, _ := m.Editor.Content()
		var actions []Action
		m.History, actions = m.History.add(text)
		m.Editor, m.Hint = m.Editor.Clear(), "cleared; the up key brings it back"
		return m, actions
	case c.Write != nil && len(c.Ask) == 0:
		return m.plainCard(func(c *Card) { c.Write = nil }), nil
	case c.choice != nil:
		m.Cards = m.Cards[1:]
		return m, []Action{Unpicked{c.choice.Kind}}
	case m.Running && !m.Stopping:
		m.Stopping, m.Hint = true, "stopping; press ctrl+c again to leave"
		return m, []Action{Interrupt{}}
	case m.Running, !m.leaving.IsZero():
		return m, []Action{Leave{}}
	}
	m.leaving, m.Hint = m.Now.Add(againTime), "press ctrl+c again to leave"
	return m, nil
}

// plainEnd ends the input. The program leaves when nothing runs any more.
func (m Model) plainEnd() (Model, []Action) {
	if m.Plain.Closed {
		return m, nil
	}
	m.Plain.Closed, m.Cards = true, nil
	if m.Running {
		m.Hint = "the input has ended; openagent leaves when the agent has done its work"
	}
	return m, []Action{HangUp{}}
}

// account counts the commands that are being carried out, and leaves if the input has ended and
// nothing is to be done any more.
func (m Model) account(actions []Action) (Model, []Action) {
	for _, a := range actions {
		switch a.(type) {
		case Command, Shell, AddNote, Picked:
			m.Plain.Busy++
		}
	}
	if m.Plain.Closed && !m.Plain.left && !m.Running && m.Plain.Busy == 0 && len(m.Queue) == 0 {
		m.Plain.left = true
		actions = append(actions, Leave{})
	}
	return m, actions
}

// plainEnter takes the line that the person has ended: it answers a question, or is a message or a
// command.
func (m Model) plainEnter(began time.Time, echoed bool) (Model, []Action) {
	e := m.Editor
	said, _ := e.Content()
	line := strings.TrimSpace(said)
	if !e.Empty() {
		began = m.Plain.begun
	}
	asked := len(m.Cards) > 0 && !m.Cards[0].ready.IsZero()
	switch {
	case asked && strings.HasPrefix(line, ">"):
		m.Editor = e.Set(strings.TrimSpace(line[1:]))
		return m.plainSend(m.Running, echoed)
	case asked && len(m.Cards[0].Ask) == 0 && m.Cards[0].Write == nil && line != "" && isCommand(line):
		return m.plainSend(m.Running, echoed)
	case asked && !began.Before(m.Cards[0].ready):
		m.Editor = Editor{kills: e.kills}
		return m.plainAnswer(line)
	case asked && line != "":
		m = m.note(Line{DimLine, "this line was begun before the question could be read: it does not answer it"})
	case e.Caret > 0 && e.Text[e.Caret-1] == '\\':
		m.Editor = e.change(e.Caret-1, e.Caret, "\n", opOther)
		return m, nil
	case line == "?":
		m.Editor = Editor{kills: e.kills}
		return m.note(plainHelp...), nil
	}
	return m.plainSend(m.Running, echoed)
}

// plainHelp lists what a person can do in plain mode.
var plainHelp = []Line{
	{PlainLine, "enter            send; while the agent works: for its next step"},
	{PlainLine, `\ enter          new line, like alt+enter`},
	{PlainLine, "alt+q            send when the agent has done its work"},
	{PlainLine, "alt+up           take back the last message that waits"},
	{PlainLine, "up, down         earlier messages; ctrl+r searches them"},
	{PlainLine, "tab              complete a /command or a @file"},
	{PlainLine, "ctrl+c           clear the line, stop the agent, or leave"},
	{PlainLine, "ctrl+g           write in your editor"},
	{PlainLine, "shift+tab        next permission mode"},
	{PlainLine, "ctrl+d           leave"},
	{PlainLine, "/help            all commands; ! runs a command line, # adds a note to AGENTS.md"},
}

// plainSend sends the text to the agent, as a prompt or a message to its run, and says when the agent gets it.
func (m Model) plainSend(steer, echoed bool) (Model, []Action) {
	said, _ := m.Editor.Content()
	number, waiting, written := m.numbers, len(m.Queue), len(m.Notes)
	m, actions := m.send(steer)
	if m.numbers == number { // no message
		return m, actions
	}
	if !echoed {
		notes := m.Notes
		m.Notes = m.Notes[:written:written]
		m = m.note(spoken(said)...)
		m.Notes = append(m.Notes, notes[written:]...)
	}
	m.Plain.echoed = append(slices.Clone(m.Plain.echoed), said)
	switch {
	case len(m.Queue) == waiting:
	case steer:
		m = m.note(Line{DimLine, "sent: the agent reads it after its current step"})
	default:
		m = m.note(Line{DimLine, "queued: it is sent when the agent has done its work"})
	}
	return m, actions
}

// spoken is a message of the person in lines.
func spoken(said string) []Line {
	lines := []Line{{}}
	for i, l := range strings.Split(strings.TrimSpace(said), "\n") {
		mark := "  "
		if i == 0 {
			mark = "> "
		}
		lines = append(lines, Line{PlainLine, mark + l})
	}
	return lines
}

// skip notes which new items are messages that the person sees already.
func (m Model) skip(items []*view.Item) Model {
	for _, it := range items {
		p, ok := it.Data.(*view.Prompt)
		if !ok || !p.FromUser() || m.Plain.skipped[it.ID] {
			continue
		}
		said := p.Message.Message.Text() // what the program adds follows what was typed
		if i := slices.IndexFunc(m.Plain.echoed, func(typed string) bool { return strings.HasPrefix(said, typed) }); i >= 0 {
			m.Plain.echoed = slices.Delete(slices.Clone(m.Plain.echoed), i, i+1)
			if m.Plain.skipped == nil {
				m.Plain.skipped = map[string]bool{}
			}
			m.Plain.skipped[it.ID] = true
		}
	}
	return m
}

// completePlain completes the command or the file at the caret as far as it is certain, and lists
// what it could be.
func (m Model) completePlain() (Model, []Action) {
	kind, from := m.word()
	if kind == NoMenu {
		return m, nil
	}
	query := m.Editor.Text[from+1 : m.Editor.Caret]
	m.Menu = Menu{Kind: kind, from: from, query: query}
	if kind == FileMenu {
		return m, []Action{ListFiles{query}}
	}
	m.Menu.Items = m.matching(query)
	begin := slices.DeleteFunc(slices.Clone(m.Menu.Items), func(it MenuItem) bool { return !strings.HasPrefix(it.Text, "/"+query) })
	if len(begin) > 0 {
		m.Menu.Items = begin
	}
	return m.completed(), nil
}

// maxListed is how many completions are listed.
const maxListed = 20

// completed puts what all completions have in common into the text.
func (m Model) completed() Model {
	n := m.Menu
	if n.from+1+len(n.query) != m.Editor.Caret || !strings.HasSuffix(m.Editor.Text[:m.Editor.Caret], n.query) {
		m.Menu = Menu{}
		return m
	}
	switch len(n.Items) {
	case 0:
		m.Hint = "nothing completes this"
	case 1:
		return m.accept()
	default:
		common := n.Items[0].Text
		var list []Line
		for i, it := range n.Items {
			for !strings.HasPrefix(it.Text, common) {
				common = common[:len(common)-1]
			}
			if i < maxListed {
				list = append(list, Line{PlainLine, strings.TrimSpace("  " + it.Text + " " + it.Hint)})
			}
		}
		if more := len(n.Items) - maxListed; more > 0 {
			list = append(list, Line{DimLine, fmt.Sprintf("  and %d more", more)})
		}
		m = m.note(list...)
		if common = strings.ToValidUTF8(common, ""); len(common) > len(n.query)+1 {
			m.Editor = m.Editor.change(n.from, m.Editor.Caret, "", opOther).Insert(common)
		}
	}
	m.Menu = Menu{}
	return m
}
