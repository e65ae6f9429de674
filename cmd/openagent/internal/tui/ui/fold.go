package ui

import (
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/markdown"
	"github.com/openagent-go/agent/session/view"
)

// A Prose is the text of an answer, split into blocks as it comes.
type Prose struct {
	Parts []markdown.Part // that do not change any more
	Open  []markdown.Part // that may still change

	stream markdown.Stream
	text   string // that was fed
	closed bool
}

// fold applies an event of the session.
func (m Model) fold(e event.Event) Model {
	if m.State == nil {
		m.State = new(view.State)
	}
	m.State.Apply(e)
	items := m.State.Items
	if _, ok := e.Data.(event.Rewound); ok { // what stays is in the history of the terminal
		m.Mark.Items, m.Mark.Parts, m.proses = max(0, len(items)-1), 0, nil
	}
	m.Mark.Items = min(m.Mark.Items, len(items))
	if m.Plain.On {
		m = m.skip(items[m.Mark.Items:])
	}
	for _, it := range items[m.Mark.Items:] {
		if a, ok := it.Data.(*view.Answer); ok {
			m = m.feed(it, a)
		}
	}
	return m
}

// recall applies the events of an earlier program.
func (m Model) recall(d Recall) Model {
	m.State = new(view.State)
	for _, e := range d.Events {
		m.State.Apply(e)
	}
	m.Recalled = &Recalled{Messages: d.Messages}
	return m
}

// Recalled is what happened in the session before the program began. The first frame shows its end.
type Recalled struct{ Messages int } // all messages, if there are more than those of State; else 0

// feed splits what is new of an answer.
func (m Model) feed(it *view.Item, a *view.Answer) Model {
	p := m.proses[it.ID]
	if p == nil {
		if m.proses == nil {
			m.proses = map[string]*Prose{}
		}
		p = new(Prose)
		m.proses[it.ID] = p
	}
	text := a.Text()
	if text == p.text && (p.closed || !it.Final) {
		return m
	}
	if !strings.HasPrefix(text, p.text) || p.closed { // the text was sent again
		if len(m.State.Items) > m.Mark.Items && m.State.Items[m.Mark.Items] == it {
			m.Mark.Parts = 0
		}
		*p = Prose{}
	}
	p.Parts = append(p.Parts, p.stream.Feed(text[len(p.text):])...)
	p.text = text
	if it.Final {
		p.Parts = append(p.Parts, p.stream.Close()...)
		p.closed = true
	}
	return m
}

// Settled returns the blocks of an answer that do not change any more.
func (m Model) Settled(it *view.Item) []markdown.Part {
	if p := m.proses[it.ID]; p != nil {
		return p.Parts
	}
	return nil
}

// Prose returns the blocks of an answer that has not gone to the history.
func (m Model) Prose(it *view.Item) Prose {
	if p := m.proses[it.ID]; p != nil {
		shown := *p
		if !p.closed {
			shown.Open = p.stream.Open()
		}
		return shown
	}
	var p Prose
	if a, ok := it.Data.(*view.Answer); ok {
		p.Parts = append(p.stream.Feed(a.Text()), p.stream.Close()...)
		p.closed = true
	}
	return p
}

// forget drops the texts of answers that are in the history.
func (m Model) forget() {
	if m.State == nil {
		return
	}
	for id := range m.proses {
		live := false
		for _, it := range m.State.Items[min(m.Mark.Items, len(m.State.Items)):] {
			live = live || it.ID == id
		}
		if !live {
			delete(m.proses, id)
		}
	}
}
