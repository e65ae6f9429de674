// Package plain shows the conversation as lines, each written once: for screen readers, for
// terminals that can do nothing else, and for pipes. A Console holds no goroutine and reads no
// clock: it turns inputs into bytes.
//
//	actions := c.Update(now, input)
//	for b := c.Take(); len(b) > 0; b = c.Take() {
//		out.Write(b)
//		c.Written(time.Now())
//	}
package plain

import (
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/draw"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/session/view"
)

// A Console is a conversation in plain mode. Set the first fields before the first Update.
type Console struct {
	Model ui.Model
	Theme draw.Theme
	Width int // of the terminal; 0: lines are as long as their texts

	// Edit says that keys come one by one, from a terminal in raw mode: the console shows the text
	// that is being written. Else lines come whole. Echo says that the terminal shows them, so a
	// mark stands before them.
	Edit, Echo bool

	// Asked, if set, is called before a question is written: to drop what was typed before it.
	Asked func()

	out   []byte
	waits []string // lines that are held back, as the person is typing
	row   row
	mark  string // that stands before the text of the input; without Edit, "": none is shown

	lastKey time.Time
	card    shown    // the question that was written last, or waits
	asks    int      // id of a question that waits to be written
	written int      // id of a question in out
	posed   struct { // when the first question came
		id int
		at time.Time
	}
	begun  bool // something was taken
	now    time.Time
	closed bool
	run    time.Time
	beat   time.Time       // of the next sign of life
	told   map[string]bool // calls of which the person knows that they run
	agents map[*view.Agent]int
}

// shown is what a question shows: it is written again when that changes.
type shown struct {
	id, nth int
	write   bool
	writing ui.Writing
}

const (
	holdTime    = 5 * time.Second // after the last key: output waits
	maxHeld     = 200             // lines
	firstBeat   = 30 * time.Second
	nextBeats   = time.Minute
	runTime     = 2 * time.Second        // after which a call is worth a line
	explainTime = 500 * time.Millisecond // that a question waits for the text before it
	minText     = 20                     // cells for the text that is written
)

// Update applies an input and returns the actions that follow.
func (c *Console) Update(now time.Time, data any) []ui.Action {
	key, isKey := data.(input.Key)
	if _, paste := data.(input.Paste); isKey || paste {
		c.lastKey = now
	}
	if ends(key) {
		c.show() // the row stays as it is
	}
	before, _ := c.Model.Editor.Content()
	asked := len(c.Model.Cards) > 0
	actions := c.update(now, data)
	if typed, ok := data.(ui.Typed); ok && typed.Echoed && !c.Edit {
		c.mark = "" // the terminal is on the next line
	}
	if isKey && !c.Edit && c.Echo {
		c.mark = key.String() // the terminal shows the key
	}
	if ends(key) && c.Edit && c.Model.Editor.Empty() && (before != "" || asked) {
		c.commit(before)
	}
	if c.now = now; c.begun {
		c.collect(now)
		c.flush(now)
	}
	return actions
}

func (c *Console) update(now time.Time, data any) []ui.Action {
	var actions []ui.Action
	c.Model, actions = ui.Update(c.Model, ui.Input{Time: now, Data: data})
	return actions
}

// ends reports whether a key ends a line.
func ends(k input.Key) bool {
	switch k.String() {
	case "enter", "ctrl+j", "alt+q":
		return true
	}
	return false
}

// Take returns what is to be written, and forgets it.
func (c *Console) Take() []byte {
	if !c.begun { // what came before belongs together
		c.begun = true
		c.collect(c.now)
		c.flush(c.now)
	}
	if !c.closed {
		c.show()
	}
	out := c.out
	c.out = nil
	return out
}

// Written says that what Take returned is on the terminal: a question in it can be answered from
// soon on.
func (c *Console) Written(now time.Time) {
	if c.written != 0 {
		c.update(now, ui.Painted{Mark: c.Model.Mark, Card: c.written})
		c.written = 0
	}
}

// Wake returns when the console wants a ui.Tick; zero: never.
func (c *Console) Wake() time.Time {
	at := c.Model.Wake()
	add := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if len(c.waits) > 0 {
		add(c.lastKey.Add(holdTime))
	}
	if len(c.Model.Cards) > 0 && c.early(c.now) {
		add(c.posed.at.Add(explainTime))
	}
	if c.Model.Running && len(c.Model.Cards) == 0 {
		add(c.beat)
		for _, call := range c.running() {
			if !c.told[call.ID] {
				add(call.Started.Add(runTime))
			}
		}
	}
	return at
}

// Resize tells the width of the terminal.
func (c *Console) Resize(width int) {
	if width != c.Width {
		c.Width = width
		c.Repaint()
	}
}

// Repaint shows the row of the input on a new line.
func (c *Console) Repaint() {
	if c.Edit && c.row.text != "" {
		c.out = append(c.out, c.row.leave()...)
	}
}

// Pause returns the bytes that remove the row of the input, for another program.
func (c *Console) Pause() []byte {
	c.hide()
	out := c.out
	c.out = nil
	return out
}

func (c *Console) hide() { c.out = append(c.out, c.row.hide()...) }

// Close writes what was held back. The cursor is at the beginning of a line then.
func (c *Console) Close(now time.Time) {
	c.collect(now)
	c.write()
	c.hide()
	c.unmark()
	c.closed = true
}

// unmark goes to the next line if the terminal waits for a line.
func (c *Console) unmark() {
	if !c.Edit && c.Echo && c.mark != "" {
		c.line("")
		c.mark = ""
	}
}

// commit ends the row of the input. A text that is not all on it is written in full.
func (c *Console) commit(said string) {
	if c.row.text == c.mark+said {
		c.out = append(c.out, c.row.leave()...)
		return
	}
	c.hide()
	for _, l := range draw.PlainMessage(said, c.Width, c.Theme) {
		c.line(l)
	}
}

// plain is a line of the program.
func (c *Console) plain(said string) string {
	return draw.PlainLine(ui.Line{Kind: ui.DimLine, Text: said}, c.Theme)
}

// collect adds the lines of everything that is new.
func (c *Console) collect(now time.Time) {
	c.children()
	lines, mark, ahead := draw.Plain(c.Model, c.Width, c.Theme)
	c.waits = append(c.waits, lines...)
	if mark != c.Model.Mark || ahead != nil {
		c.update(now, ui.Painted{Mark: mark, Ahead: ahead})
	}
	c.signs(now)
	if len(c.Model.Cards) == 0 {
		c.card = shown{}
		return
	}
	q := c.Model.Cards[0]
	if c.posed.id != q.ID {
		c.posed.id, c.posed.at = q.ID, now
	}
	if c.early(now) {
		return
	}
	is := shown{id: q.ID, nth: q.Nth, write: q.Write != nil, writing: q.Writing}
	if was := c.card; is != was {
		c.card = is
		if is.id == was.id && is.nth == was.nth && !is.write { // the choices are on the screen
			return
		}
		if lines := draw.PlainQuestion(c.Model, c.Width, c.Theme); len(lines) > 0 {
			c.waits, c.asks = append(c.waits, lines...), q.ID
		}
	}
}

// early reports whether the text that explains a question is on its way: the question waits for
// it a moment.
func (c *Console) early(now time.Time) bool {
	q, s := c.Model.Cards[0], c.Model.State
	if q.Agent != "" || s == nil || c.card.id == q.ID || !now.Before(c.posed.at.Add(explainTime)) {
		return false
	}
	for _, it := range s.Items[min(c.Model.Mark.Items, len(s.Items)):] {
		if a, ok := it.Data.(*view.Answer); ok && !it.Final && a.Failed == nil {
			return true
		}
	}
	return false
}

// children adds the lines of sub-agents.
func (c *Console) children() {
	if s := c.Model.State; s != nil {
		c.under(s.Agents, "")
	}
}

func (c *Console) under(agents []*view.Item, names string) {
	for _, it := range agents {
		a, ok := it.Data.(*view.Agent)
		if !ok || a.View == nil {
			continue
		}
		if c.agents == nil {
			c.agents = map[*view.Agent]int{}
		}
		c.under(a.View.Agents, names+"/"+a.Start.Agent)
		lines, upTo := draw.PlainAgent(c.Model, a, names, c.agents[a], c.Width, c.Theme)
		c.waits = append(c.waits, lines...)
		c.agents[a] = upTo
	}
}

// running are the calls that run and have no line yet.
func (c *Console) running() []*view.Call {
	s := c.Model.State
	if s == nil {
		return nil
	}
	var out []*view.Call
	for _, it := range s.Items[min(c.Model.Mark.Items, len(s.Items)):] {
		if call, ok := it.Data.(*view.Call); ok && call.Result == nil && !call.Started.IsZero() && call.Phase != "asking" && call.Use.Name != "AskUser" {
			out = append(out, call)
		}
	}
	return out
}

// signs adds signs of life: what runs for a while, and from time to time that something does.
func (c *Console) signs(now time.Time) {
	m := c.Model
	if !m.Running {
		c.run, c.told = time.Time{}, nil
		return
	}
	if !c.run.Equal(m.Since) {
		c.run, c.beat = m.Since, m.Since.Add(firstBeat)
	}
	due := !now.Before(c.beat)
	for !now.Before(c.beat) {
		c.beat = c.beat.Add(nextBeats)
	}
	if len(m.Cards) > 0 { // the person is asked, and knows
		return
	}
	for _, call := range c.running() {
		if c.told[call.ID] || now.Before(call.Started.Add(runTime)) {
			continue
		}
		if c.told == nil {
			c.told = map[string]bool{}
		}
		c.told[call.ID] = true
		c.waits = append(c.waits, c.plain("(running: "+draw.PlainCall(m, call)+")"))
	}
	if !due {
		return
	}
	said := "still working, " + age(now.Sub(m.Since))
	if doing := draw.PlainDoing(m); doing != "" {
		said += ": " + doing
	}
	c.waits = append(c.waits, c.plain("("+said+")"))
}

// age is a time in words that are read well.
func age(d time.Duration) string {
	d = d.Round(time.Second)
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return strings.TrimSuffix(fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60), " 0 s")
}

// flush writes the lines that wait, unless the person is typing.
func (c *Console) flush(now time.Time) {
	if len(c.waits) == 0 {
		return
	}
	typing := c.Edit && c.Model.Typing() && now.Before(c.lastKey.Add(holdTime))
	if !typing || len(c.waits) >= maxHeld {
		c.write()
	}
}

func (c *Console) write() {
	if len(c.waits) == 0 {
		return
	}
	if c.asks != 0 {
		if c.Asked != nil {
			c.Asked()
		}
		c.written, c.asks = c.asks, 0
	}
	c.hide()
	c.unmark()
	for _, l := range c.waits {
		c.line(l)
	}
	c.waits = nil
}

// line writes a line.
func (c *Console) line(l string) {
	c.out = append(c.out, strings.TrimRight(l, " ")...)
	if c.Edit {
		c.out = append(c.out, '\r')
	}
	c.out = append(c.out, '\n')
}

// columns is how wide the row of the input is.
func (c *Console) columns() int {
	if c.Width <= 0 {
		return 80
	}
	return c.Width
}

// show shows the row of the input.
func (c *Console) show() {
	mark := draw.PlainMark(c.Model)
	switch {
	case c.Edit:
		if mark == "" {
			c.hide()
			return
		}
		before, after := c.inputText()
		if frame.Width(mark) > c.columns()-minText {
			mark = "answer: "
		}
		text, caret := window(before, after, c.columns()-1-frame.Width(mark))
		c.mark = mark
		c.out = append(c.out, c.row.change(mark+text, frame.Width(mark)+caret)...)
	case !c.Echo: // what is expected is a line of its own
		if c.mark != mark && mark != "" && mark != "> " {
			c.line(mark)
		}
		c.mark = mark
	case mark != "" && mark != c.mark:
		c.unmark()
		c.out, c.mark = append(c.out, mark...), mark
	}
}

// inputText is what the row of the input shows, before and behind the caret.
func (c *Console) inputText() (before, after string) {
	if s := c.Model.Search; s != nil {
		query, _ := draw.PlainText(s.Query)
		found, _ := draw.PlainText(ui.Editor{}.Insert(s.Found))
		if found == "" {
			found = "nothing found"
		}
		return query, " = " + found
	}
	return draw.PlainText(c.Model.Editor)
}
