package ui

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

// enter sends the text, or begins a new line behind a backslash.
func (m Model) enter() (Model, []Action) {
	e := m.Editor
	if e.Caret > 0 && e.Text[e.Caret-1] == '\\' {
		m.Editor = e.change(e.Caret-1, e.Caret, "\n", opOther)
		return m, nil
	}
	return m.send(m.Running)
}

// queue keeps the text until the run is over.
func (m Model) queue() (Model, []Action) {
	return m.send(false)
}

// send takes the text out of the input and gives it to whoever it is for.
func (m Model) send(steer bool) (Model, []Action) {
	text, images := m.Editor.Content()
	if strings.TrimSpace(text) == "" {
		return m, nil
	}
	m.Editor, m.Menu, m.Keys = Editor{kills: m.Editor.kills}, Menu{}, false
	var actions []Action
	m.History, actions = m.History.add(text)
	switch line := strings.TrimSpace(text); {
	case isCommand(line) && len(images) == 0: // a skill takes images with the message
		return m, append(actions, Command{line})
	case line[0] == '!' && len(line) > 1:
		return m, append(actions, Shell{strings.TrimSpace(line[1:])})
	case line[0] == '#' && len(line) > 1 && !strings.Contains(line, "\n") && line[1] != '#':
		return m, append(actions, AddNote{strings.TrimSpace(line[1:])})
	}
	m.numbers++
	msg := Message{N: m.numbers, Text: text, Images: images, Steer: steer}
	switch {
	case !m.Running:
		m, more := m.begin(msg)
		return m, append(actions, more...)
	case steer:
		actions = append(actions, Send{msg})
	}
	m.Queue = append(m.Queue[:len(m.Queue):len(m.Queue)], msg)
	return m, actions
}

// isCommand reports whether a line is a command: a slash and a name, but not a path.
func isCommand(line string) bool {
	if line[0] != '/' || len(line) == 1 {
		return false
	}
	name, _, _ := strings.Cut(line[1:], " ")
	return !strings.ContainsAny(name, "/\n")
}

// begin starts a run with a message.
func (m Model) begin(msg Message) (Model, []Action) {
	msg.Steer = false
	m.Running = false
	m = m.started()
	m.Stopping = false
	return m, []Action{Send{msg}}
}

// started begins a run.
func (m Model) started() Model {
	if m.Plain.On && !m.Running {
		m = m.note(Line{DimLine, "working"})
	}
	m.Running, m.Since = true, m.Now
	return m
}

// done ends a run. What waits for its end is sent now, unless the person stopped the run: then
// it comes back into the input.
func (m Model) done(d Done) (Model, []Action) {
	stopped := d.Stopped || m.Stopping
	m.Running, m.Stopping = false, false
	var actions []Action
	if m.Away {
		actions = append(actions, Notify{"openagent is done"})
	}
	if stopped || d.Failed {
		return m.returned(m.waiting()), actions
	}
	m, more := m.next()
	return m, append(actions, more...)
}

// waiting are the messages that wait for the end of the run.
func (m Model) waiting() []int {
	var numbers []int
	for _, msg := range m.Queue {
		if !msg.Steer {
			numbers = append(numbers, msg.N)
		}
	}
	return numbers
}

// undelivered handles messages that a stopped run has not got. Those that wait for its end come
// back with them, in the order in which they were written.
func (m Model) undelivered(numbers []int) Model {
	if m.Stopping {
		numbers = append(m.waiting(), numbers...)
	}
	return m.returned(numbers)
}

// next sends the first message that waits for the end of the run.
func (m Model) next() (Model, []Action) {
	for i, msg := range m.Queue {
		if !msg.Steer {
			m.Queue = slices.Delete(slices.Clone(m.Queue), i, i+1)
			return m.begin(msg)
		}
	}
	return m, nil
}

// late handles messages that came after the run they were for: the first one begins the next
// run, and the others wait for its end.
func (m Model) late(numbers []int) (Model, []Action) {
	m.Queue = slices.Clone(m.Queue)
	for i := range m.Queue {
		if slices.Contains(numbers, m.Queue[i].N) {
			m.Queue[i].Steer = false
		}
	}
	if m.Running {
		return m, nil
	}
	return m.next()
}

// returned puts messages back into the input, before what is written there.
func (m Model) returned(numbers []int) Model {
	var texts []string
	var rest []Message
	e := m.Editor
	for _, msg := range m.Queue {
		if !slices.Contains(numbers, msg.N) {
			rest = append(rest, msg)
			continue
		}
		texts = append(texts, msg.Text)
	}
	if len(texts) == 0 {
		return m
	}
	m.Queue = rest
	if m.Plain.Whole {
		for line := range strings.SplitSeq(strings.Join(texts, "\n"), "\n") {
			m = m.note(Line{WarnLine, "not sent: " + line})
		}
		return m
	}
	m.Hint = "back in the input: " + text.Count(len(texts), "message") + " that the agent has not seen"
	if !e.Empty() {
		e = e.moveTo(0)
		texts = append(texts, "")
	}
	m.Editor = e.Paste(strings.Join(texts, "\n")).toEnd()
	return m
}

func (e Editor) toEnd() Editor { return e.moveTo(len(e.Text)) }

// delivered removes messages that the agent has got.
func (m Model) delivered(numbers []int) Model {
	m.Queue = slices.DeleteFunc(slices.Clone(m.Queue), func(msg Message) bool { return slices.Contains(numbers, msg.N) })
	return m
}

// takeBack brings the last message that the agent has not got back into the input. One that
// waits for the end of the run is only here. The program has to take back one that was sent.
func (m Model) takeBack() (Model, []Action) {
	for i := len(m.Queue) - 1; i >= 0; i-- {
		msg := m.Queue[i]
		if !msg.Steer {
			return m.returned([]int{msg.N}), nil
		}
		if !msg.asked {
			m.Queue = slices.Clone(m.Queue)
			m.Queue[i].asked = true
			return m, []Action{TakeBack{msg.N}}
		}
	}
	return m, nil
}

// stays says that a message cannot be taken back.
func (m Model) stays(n int) Model {
	m.Hint = "too late to take it back: the agent has the message"
	m.Queue = slices.Clone(m.Queue)
	for i := range m.Queue {
		m.Queue[i].asked = m.Queue[i].asked && m.Queue[i].N != n
	}
	return m
}
