package serve

import (
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
)

// inflight is what a run shows and no fact tells yet: answers being written, progress of calls, open
// questions and messages that wait. The zero value is a session without a run.
type inflight struct {
	running   bool
	answers   []writing
	inputs    []input
	progress  []event.ToolProgress
	questions []event.Event // permission_request and user_question
	queue     []string      // ids of messages
	agents    []*agentInflight
}

// writing is an answer that is being written.
type writing struct {
	key            string
	text, thinking []byte
}

// input is an input of a call that is being written.
type input struct {
	event.ToolInputDelta // the first piece
	text                 []byte
}

// agentInflight is inflight of a sub-agent.
type agentInflight struct {
	as event.AgentEvent // without the event
	id string           // of its session
	inflight
}

// apply takes an event in.
func (f *inflight) apply(e event.Event) {
	switch d := e.Data.(type) {
	case event.TextDelta:
		a := f.answer(d.Key)
		if d.Restart {
			a.text = a.text[:0]
		}
		a.text = append(a.text, d.Text...)
	case event.ThinkingDelta:
		a := f.answer(d.Key)
		a.thinking = append(a.thinking, d.Text...)
	case event.ToolInputDelta:
		i := slices.IndexFunc(f.inputs, func(o input) bool { return o.Key == d.Key && o.ID == d.ID })
		if i < 0 {
			i = len(f.inputs)
			f.inputs = append(f.inputs, input{ToolInputDelta: d})
		}
		f.inputs[i].text = append(f.inputs[i].text, d.Text...)
	case event.ToolProgress:
		f.progress = slices.DeleteFunc(f.progress, func(o event.ToolProgress) bool { return o.ID == d.ID && (o.Call == d.Call || o.Call == "") })
		f.progress = append(f.progress, d)
	case event.PermissionRequest, event.UserQuestion:
		f.closeQuestion(askedBy(e))
		f.questions = append(f.questions, e)
	case event.AssistantMessage:
		f.settle(d.Key)
	case event.ModelFailed:
		f.settle(d.Key)
	case fact.Answered:
		f.closeQuestion(d.Call)
	case fact.ToolAmended:
		f.closeQuestion(d.Call)
	case event.ToolStart:
		f.closeQuestion(d.Call)
	case event.ToolResult:
		f.closeQuestion(d.Call)
		f.progress = slices.DeleteFunc(f.progress, func(o event.ToolProgress) bool { return o.Call == d.Call })
	case event.UserMessage:
		switch d.Delivery {
		case fact.AsPrompt:
			f.begin()
		case fact.AsSteer, fact.AsFollowUp:
			f.queue = append(f.queue, d.ID)
		}
	case fact.Delivered:
		f.unqueue(d.IDs)
	case fact.Retracted:
		f.unqueue(d.IDs)
	case event.Resumed:
		f.begin()
	case event.RunEnd:
		f.begin()
		f.running = false
		f.queue = slices.Clone(d.Queued)
	case event.AgentEvent:
		if d.Event != nil {
			f.agent(d).apply(*d.Event)
		}
	case event.AgentEnd:
		f.agents = slices.DeleteFunc(f.agents, func(a *agentInflight) bool { return a.id == d.Session })
	}
}

// unqueue takes messages out of the queue.
func (f *inflight) unqueue(ids []string) {
	f.queue = slices.DeleteFunc(f.queue, func(id string) bool { return slices.Contains(ids, id) })
}

// begin begins a run: what another one has left is void.
func (f *inflight) begin() {
	*f = inflight{running: true, agents: f.agents, queue: f.queue}
}

func (f *inflight) answer(key string) *writing {
	i := slices.IndexFunc(f.answers, func(a writing) bool { return a.key == key })
	if i < 0 {
		i = len(f.answers)
		f.answers = append(f.answers, writing{key: key})
	}
	return &f.answers[i]
}

// settle forgets an answer that is on record.
func (f *inflight) settle(key string) {
	f.answers = slices.DeleteFunc(f.answers, func(a writing) bool { return a.key == key })
	f.inputs = slices.DeleteFunc(f.inputs, func(in input) bool { return in.Key == key })
	f.progress = slices.DeleteFunc(f.progress, func(d event.ToolProgress) bool { return d.Call == "" })
}

func (f *inflight) closeQuestion(call string) {
	f.questions = slices.DeleteFunc(f.questions, func(e event.Event) bool { return askedBy(e) == call })
}

// askedBy returns the id of the call that a question is about.
func askedBy(e event.Event) string {
	switch d := e.Data.(type) {
	case event.PermissionRequest:
		return d.Call.ID
	case event.UserQuestion:
		return d.Call.ID
	}
	return ""
}

func (f *inflight) agent(d event.AgentEvent) *agentInflight {
	id := d.Event.Session
	i := slices.IndexFunc(f.agents, func(a *agentInflight) bool { return a.id == id })
	if i >= 0 {
		return f.agents[i]
	}
	d.Event = nil
	a := &agentInflight{as: d, id: id}
	f.agents = append(f.agents, a)
	return a
}

// signals returns what is under way as signals of the session, as if it all happened now.
func (f *inflight) signals(session string) []event.Event {
	out := []event.Event{}
	add := func(d event.Data) { out = append(out, event.Event{Session: session, Time: now(), Data: d}) }
	for _, a := range f.answers {
		if len(a.thinking) > 0 {
			add(event.ThinkingDelta{Key: a.key, Text: string(a.thinking)})
		}
		if len(a.text) > 0 {
			add(event.TextDelta{Key: a.key, Text: string(a.text), Restart: true})
		}
	}
	for _, in := range f.inputs {
		in.Text = string(in.text)
		add(in.ToolInputDelta)
	}
	for _, d := range f.progress {
		add(d)
	}
	out = append(out, f.questions...)
	for _, a := range f.agents {
		for _, e := range a.signals(a.id) {
			as := a.as
			as.Event = &e
			add(as)
		}
	}
	return out
}

// asking returns the open questions, also those of sub-agents.
func (f *inflight) asking() int {
	n := len(f.questions)
	for _, a := range f.agents {
		n += a.asking()
	}
	return n
}
