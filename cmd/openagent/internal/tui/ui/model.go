// Package ui is what the terminal UI knows and how it changes. It is pure: it reads no clock,
// does no I/O and starts nothing. Inputs come with their time, and each yields actions for the
// program to carry out.
//
//	m, actions := ui.Update(m, ui.Input{Time: now, Data: input.Key{Code: 'a', Text: "a"}})
package ui

import (
	"slices"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session/view"
)

// An Input is something that happened. Data is an input of package input, or one of the types
// below.
type Input struct {
	Time time.Time
	Data any
}

// Inputs from the program.
type (
	// Tick means that the time of Model.Wake has come.
	Tick struct{}
	// Painted means that a frame is on the screen. Mark and Card are those of the frame. Cut
	// says that the frame has no room for enough of the call that the card asks about, and Small
	// that it has none for the heading, the answers and a line of the call. Ahead are items
	// behind the mark that are shown already, in plain mode.
	Painted struct {
		Mark  Mark
		Card  int
		Cut   bool
		Small bool
		Ahead []string
	}
	// Pose asks the person a question.
	Pose struct{ Question Question }
	// Settled means that a question needs no answer any more.
	Settled struct{ ID int }
	// Started means that a run has begun that the person did not ask for.
	Started struct{}
	// Done means that the run is over. Stopped: the person stopped it.
	Done struct {
		Stopped bool
		Failed  bool
	}
	// Returned gives back messages that were not delivered.
	Returned struct{ Numbers []int }
	// Kept means that a message could not be taken back: the agent has got it.
	Kept struct{ N int }
	// Refused gives back a message that could not be sent. The run is over.
	Refused struct{ Message Message }
	// Recall is the end of what happened in the session before the program began. Messages is
	// the number of all its messages, 0 if the events are all.
	Recall struct {
		Events   []event.Event
		Messages int
	}
	// Spent is what the session has cost before the events of Recall.
	Spent struct {
		Context, CacheRead, Output int // tokens
		USD                        float64
		Unpriced                   bool // some cost is not known
	}
	// Late means that messages came after the run that they were for.
	Late struct{ Numbers []int }
	// Delivered means that the agent has got messages.
	Delivered struct{ Numbers []int }
	// Output is text for the person, such as that of a command.
	Output struct{ Lines []Line }
	// Files are the names that complete a query.
	Files struct {
		Query string
		Names []string
	}
	// Past is the history of messages.
	Past struct{ Entries []string }
	// Draft is a text that an earlier program did not send.
	Draft struct{ Text string }
	// Submit sends a text as if the person had written it.
	Submit struct{ Text string }
	// Edited is the text as the person's editor left it.
	Edited struct{ Text string }
	// Image tells about an image that was pasted. Note is its size; with Failed what was pasted
	// stays a text.
	Image struct {
		Path, Pasted, Note string
		Failed             bool
	}
	// Pictures are the images in the result of a call. They come before it.
	Pictures struct {
		Call string // its id
		List []Picture
	}
	// Watched says whether others see the session, by a word, and how many. "" means nobody can.
	Watched struct {
		Word    string
		Viewers int
	}
	// Trouble says that the session cannot be reached now; "": it can.
	Trouble struct{ Text string }
	// Suggested is the prompt that may come next, and what the suggestion has cost. "": none.
	Suggested struct {
		Text string
		Cost Spent
	}
	// Quit ends the program, as a command of the person does.
	Quit struct{}
	// Renewed changes what the open picker of that kind offers.
	Renewed struct{ Choice Choice }
	// Examined shows the details of an item of the open picker.
	Examined struct {
		Value string
		Lines []Line
	}
	// Uncovered means that the conversation is on the screen again.
	Uncovered struct{}
	// ListKeys shows the list of keys.
	ListKeys struct{}
	// Commands are those that begin with a slash.
	Commands struct{ List []CommandInfo }
)

// A Picture is an image of a result.
type Picture struct {
	Size          string // in pixels, such as 1200×800; "": not known
	ID            uint32 // the terminal knows it by this number; 0: it is only named
	Columns, Rows int    // its cells
	PNG           []byte // for the terminal, until it has it
}

// A CommandInfo describes a command.
type CommandInfo struct {
	Name string // without the slash
	Hint string // its arguments; "": none
	Help string
}

// A Mark says how much has gone to the history of the terminal.
type Mark struct {
	Items int  // items of the session
	Parts int  // of the text of the next one
	Notes int  // notes
	Head  bool // the line that begins the program's output
}

// A Note is text that is not part of the session, below the items that were there.
type Note struct {
	Items int // how many items come before it
	Lines []Line
}

// Facts are what the status line tells.
type Facts struct {
	Version, Model, Dir, Home, Branch, Mode string

	Window int     // of the model, in tokens; 0: not known
	Limit  float64 // in USD, per prompt; 0: none
}

// A Model is all that the UI knows.
type Model struct {
	State    *view.State // nil: the session has no events yet
	Editor   Editor
	History  History
	Search   *Search
	Menu     Menu
	Picker   *Picker   // nil: none is open
	Cards    []Card    // open questions, the first one is shown
	Queue    []Message // not delivered yet, the oldest first
	Notes    []Note
	Mark     Mark
	Running  bool
	Since    time.Time // when the run began
	Stopping bool
	Facts    Facts
	Watched  Watched
	Keys     bool      // the list of keys is shown
	Trouble  string    // why the session cannot be reached; "": it can
	Hint     string    // what the last key did or needs, such as "press ctrl+c again to leave"
	Recalled *Recalled // nil: the session is new
	Still    bool      // nothing moves but the clock
	Suggests bool      // the next prompt is suggested when a run is over
	Thinking bool      // the reasoning of the model is shown while it comes
	Plain    Plain     // plain mode

	Width, Height int
	Away          bool // the window is not focused
	Now           time.Time

	Pictures map[string][]Picture // by the id of the call

	commands []CommandInfo
	numbers  int // of messages
	choices  int // that were offered in plain mode
	lastKey  time.Time
	leaving  time.Time // ctrl+c was pressed once, until this time
	escaped  time.Time // esc was pressed once, until this time
	saveAt   time.Time // when the draft is saved
	saved    string
	kept     bool // the person left the card
	proses   map[string]*Prose
	upcoming suggestion
	before   Spent // before the first event of State
}

// Spent is what the session has cost.
func (m Model) Spent() Spent {
	if m.State == nil {
		return m.before
	}
	return m.before.Add(m.State)
}

// Add returns s with what the events of v have cost.
func (s Spent) Add(v *view.State) Spent {
	s.Context += v.Usage.Context()
	s.CacheRead += v.Usage.CacheRead
	s.Output += v.Usage.Output
	s.USD += v.CostUSD
	s.Unpriced = s.Unpriced || v.Unpriced
	return s
}

// Mode is the permission mode in force.
func (m Model) Mode() string {
	if m.State != nil && m.State.Mode != "" {
		return string(m.State.Mode)
	}
	return m.Facts.Mode
}

// New returns the model of a UI on a terminal of this size.
func New(width, height int) Model {
	return Model{Width: width, Height: height, History: NewHistory(nil)}
}

const (
	settleTime = 500 * time.Millisecond // before a key answers a question
	quietTime  = time.Second            // without keys, before a question takes the keyboard
	againTime  = 2 * time.Second        // for a second ctrl+c or esc
	saveTime   = time.Second            // before a draft is saved
)

// Wake returns when the model wants a Tick; zero: never.
func (m Model) Wake() time.Time {
	var at time.Time
	add := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	add(m.saveAt)
	add(m.leaving)
	add(m.escaped)
	if len(m.Cards) > 0 && !m.Cards[0].Focus && m.canFocus() && !m.Plain.On {
		add(m.lastKey.Add(quietTime))
	}
	if m.Running && !m.Plain.On {
		step := frameTime
		if m.Still || len(m.Cards) > 0 {
			step = time.Second // of the clock
		}
		add(m.Now.Add(step).Truncate(step))
	}
	return at
}

// frameTime is how long the spinner stays in one form.
const frameTime = 250 * time.Millisecond

// Spinner counts the forms of the spinner. It is 0 if nothing moves.
func (m Model) Spinner() int {
	if m.Still {
		return 0
	}
	return int(max(m.Now.UnixMilli(), 0) / frameTime.Milliseconds())
}

// Update changes the model by an input.
func Update(m Model, in Input) (Model, []Action) {
	if in.Time.After(m.Now) {
		m.Now = in.Time
	}
	if m.Plain.On {
		return m.updatePlain(in.Data)
	}
	m, actions := m.apply(in.Data)
	m = m.attend()
	m, more := m.draft()
	m, last := m.suggest(in.Data)
	return m, append(append(actions, more...), last...)
}

// updatePlain is Update in plain mode.
func (m Model) updatePlain(data any) (Model, []Action) {
	before := m.Editor
	m, actions, done := m.plainInput(data)
	if !done {
		m, actions = m.apply(data)
	}
	m, actions = m.track(before, data).account(actions)
	if m.Hint != "" {
		m = m.note(Line{DimLine, m.Hint})
		m.Hint = ""
	}
	m, more := m.draft()
	return m, append(actions, more...)
}

// apply changes the model by an input.
func (m Model) apply(data any) (Model, []Action) {
	var actions []Action
	switch d := data.(type) {
	case input.Key:
		m, actions = m.key(d)
		m.lastKey = m.Now
	case input.Paste:
		m, actions = m.paste(d)
		m.lastKey = m.Now
	case input.Resize:
		if len(m.Cards) > 0 && (d.W != m.Width || d.H != m.Height) { // until the next frame
			m.Cards = slices.Clone(m.Cards)
			m.Cards[0].Cut = true
		}
		m.Width, m.Height = d.W, d.H
	case input.Focus:
		m.Away = !d.In
	case event.Event:
		m = m.fold(d)
	case Tick:
	case Painted:
		m = m.painted(d)
	case Pose:
		m, actions = m.pose(d.Question)
	case Settled:
		m, actions = m.settled(d.ID)
	case Started:
		m = m.started()
	case Done:
		m, actions = m.done(d)
	case Returned:
		m = m.undelivered(d.Numbers)
	case Kept:
		m = m.stays(d.N)
	case Refused:
		m.Queue = append(slices.Clone(m.Queue), d.Message)
		m = m.returned([]int{d.Message.N})
		m.Running = m.Running && d.Message.Steer
	case Recall:
		m = m.recall(d)
	case Spent:
		m.before = d
	case Late:
		m, actions = m.late(d.Numbers)
	case Delivered:
		m = m.delivered(d.Numbers)
	case Output:
		m = m.note(d.Lines...)
	case Files:
		m = m.found(d)
	case Past:
		m.History = NewHistory(d.Entries)
	case Draft:
		if m.Editor.Empty() {
			m.Editor = m.Editor.recall(d.Text)
			m.saved = d.Text
		}
	case Submit:
		draft := m.Editor
		m.Editor = Editor{}.Set(d.Text)
		m, actions = m.send(false)
		m.Editor = draft
	case Edited:
		m.Editor = m.Editor.Set(d.Text)
	case Image:
		m = m.image(d)
	case Watched:
		m.Watched = d
	case Trouble:
		m.Trouble = d.Text
	case Quit:
		actions = []Action{Leave{}}
	case Choice:
		m = m.offer(d)
	case Renewed:
		m, actions = m.renew(d.Choice)
	case Examined:
		m = m.examined(d)
	case Uncovered:
		m.lastKey = m.Now
		if m.focused() {
			m = m.focus(true)
		}
	case ListKeys:
		m.Keys = true
	case Pictures:
		if m.Pictures == nil {
			m.Pictures = map[string][]Picture{}
		}
		m.Pictures[d.Call] = d.List
	case Commands:
		m.commands = d.List
		if n := m.Menu; n.Kind == CommandMenu { // they are what the open menu offers
			n.Items = m.matching(n.query)
			n.At = min(n.At, max(len(n.Items)-1, 0))
			m.Menu = n
		}
	case Facts:
		m.Facts = d
	}
	return m, actions
}

// note adds text below what is shown.
func (m Model) note(lines ...Line) Model {
	m.Notes = append(m.Notes[:len(m.Notes):len(m.Notes)], Note{m.items(), lines})
	return m
}

// items is the number of items of the session.
func (m Model) items() int {
	if m.State == nil {
		return 0
	}
	return len(m.State.Items)
}

// draft asks to save the text a while after it changed, and forgets presses that are too old.
func (m Model) draft() (Model, []Action) {
	if !m.leaving.IsZero() && !m.Now.Before(m.leaving) {
		m.leaving, m.Hint = time.Time{}, ""
	}
	if !m.escaped.IsZero() && !m.Now.Before(m.escaped) {
		m.escaped = time.Time{}
	}
	text := m.Unsent()
	switch {
	case text == m.saved:
		m.saveAt = time.Time{}
	case m.saveAt.IsZero():
		m.saveAt = m.Now.Add(saveTime)
	case !m.Now.Before(m.saveAt):
		m.saved, m.saveAt = text, time.Time{}
		return m, []Action{SaveDraft{text}}
	}
	return m, nil
}
