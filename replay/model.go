package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// Model returns a model that answers as on record, in the order of the record: answers,
// summaries, shortened results, and failures that no further try has made good. facts are
// those of a session, of more sessions those of its sub-agents. It has the name, the window and
// the prices of the recorded model.
//
// The session that sends the first request gets the answers of facts. Another one gets those
// of the sub-agent whose task it has. A request beyond the record fails.
func Model(facts []event.Event, subagents ...[]event.Event) llm.Model {
	m := &scripted{playing: map[string]*script{}}
	for _, facts := range append([][]event.Event{facts}, subagents...) {
		m.scripts = append(m.scripts, scriptOf(facts))
	}
	return m
}

// scripted is the model of [Model].
type scripted struct {
	mu      sync.Mutex
	scripts []*script          // that of the session first
	playing map[string]*script // by session
}

// A script has the answers to the requests of a session.
type script struct {
	name    string
	info    llm.Info
	task    string       // the text of the first prompt
	answers []event.Fact // of the conversation
	digests []fact.ToolAmended
	taken   bool
}

func scriptOf(facts []event.Event) *script {
	s := new(script)
	for i, e := range facts {
		switch f := e.Data.(type) {
		case fact.Configured:
			if s.name == "" {
				s.name, s.info = f.Model, f.Models[f.Model]
			}
		case event.UserMessage:
			if s.task == "" && f.Delivery == fact.AsPrompt {
				s.task = f.Message.Text()
			}
		case event.AssistantMessage:
			s.answers = append(s.answers, f)
		case event.ModelFailed:
			if !repeated(facts[i+1:], f) {
				s.answers = append(s.answers, f)
			}
		case event.Compacted:
			if f.Model != "" {
				s.answers = append(s.answers, f)
			}
		case fact.ToolAmended:
			if f.Model != "" {
				s.digests = append(s.digests, f)
			}
		}
	}
	return s
}

// repeated reports whether a failed call of the model was tried again.
func repeated(later []event.Event, f event.ModelFailed) bool {
	if !f.Retry {
		return false
	}
	for _, e := range later {
		switch e.Data.(type) {
		case fact.ModelStart:
			return true
		case event.RunEnd, event.Resumed:
			return false
		}
	}
	return false
}

func (m *scripted) Name() string   { return m.scripts[0].name }
func (m *scripted) Info() llm.Info { return m.scripts[0].info }

func (m *scripted) Stream(_ context.Context, r *llm.Request) iter.Seq2[llm.Delta, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Session == "" { // the request to shorten a result belongs to no conversation
		for _, s := range m.scripts {
			if len(s.digests) > 0 {
				f := s.digests[0]
				s.digests = s.digests[1:]
				answer, err := digestResponse(f, nil)
				if err != nil {
					return failing(err)
				}
				return streamed(answer)
			}
		}
		return failing(beyond("a result that is to be shortened"))
	}
	s := m.script(r)
	if s == nil {
		return failing(beyond("session " + r.Session))
	}
	if len(s.answers) == 0 {
		return failing(beyond("another request"))
	}
	f := s.answers[0]
	s.answers = s.answers[1:]
	switch f := f.(type) {
	case event.ModelFailed:
		f.Retry = false
		return failedAfter(f)
	case event.Compacted:
		return streamed(summaryResponse(f))
	}
	return streamed(f.(event.AssistantMessage).Response)
}

// script returns the answers for the session of a request.
func (m *scripted) script(r *llm.Request) *script {
	if s := m.playing[r.Session]; s != nil {
		return s
	}
	free := m.scripts[0]
	if free.taken {
		task := lastText(r)
		at := slices.IndexFunc(m.scripts, func(s *script) bool { return !s.taken && s.task == task })
		if at < 0 {
			return nil
		}
		free = m.scripts[at]
	}
	free.taken = true
	m.playing[r.Session] = free
	return free
}

// lastText is the text of the last message of a request.
func lastText(r *llm.Request) string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Text()
}

func beyond(what string) error {
	return &llm.APIError{Class: llm.Invalid, Provider: "replay", RetryAfter: -1, Message: "the record has no answer for " + what}
}

// Tools returns the tools, which answer calls as on record instead of running. They describe,
// check and classify calls as before. A call with the same name and input as one on record gets
// its result. If there are several, it gets the first that no call had before. Other calls get
// an error. facts are those of a session and of its sub-agents. Not on record are the results
// of calls that were denied.
func Tools(tools []tool.Tool, facts ...[]event.Event) []tool.Tool {
	shared := &results{list: map[string][]outcome{}}
	for _, facts := range facts {
		shared.read(facts)
	}
	out := make([]tool.Tool, len(tools))
	for i, t := range tools {
		out[i] = &recordedTool{Tool: t, results: shared}
		if _, search := t.(interface {
			Over(deferred []tool.Spec) tool.Tool
		}); search {
			out[i] = t // it only finds other tools
		}
	}
	return out
}

// results are the recorded outcomes of calls, by tool and input.
type results struct {
	mu   sync.Mutex
	list map[string][]outcome
}

type outcome struct {
	result tool.Result
	fault  string
}

// read takes in the results of a session.
func (r *results) read(facts []event.Event) {
	if len(facts) == 0 {
		return
	}
	var transcript engine.Transcript
	state := new(engine.State)
	done := map[string]bool{}
	for _, e := range path(facts) {
		if state.Apply(e) {
			transcript.Apply(e)
		}
		var call string
		var o outcome
		switch f := e.Data.(type) {
		case fact.ToolDone:
			call, o = f.Call, outcome{f.Result, string(f.Fault)}
		case event.ToolResult:
			call, o = f.Call, outcome{f.Result, string(f.Fault)}
			if f.Cause != fact.ByTool {
				continue
			}
		default:
			continue
		}
		if c := transcript.Call(call); c != nil && !done[call] {
			done[call] = true
			k := callKey(c.Name, c.Input)
			r.list[k] = append(r.list[k], o)
		}
	}
}

// callKey identifies calls that are the same for a tool.
func callKey(name string, input json.RawMessage) string {
	var v any
	if json.Unmarshal(input, &v) == nil {
		if sorted, err := json.Marshal(v); err == nil {
			input = sorted
		}
	}
	return name + " " + string(input)
}

// take returns the next outcome of a call.
func (r *results) take(call tool.Call) (outcome, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := callKey(call.Name, call.Input)
	list := r.list[k]
	if len(list) == 0 {
		return outcome{}, false
	}
	r.list[k] = list[1:]
	return list[0], true
}

// A recordedTool answers calls of a tool as on record.
type recordedTool struct {
	tool.Tool
	results *results
}

// Run gives the recorded result.
func (t *recordedTool) Run(_ context.Context, call tool.Call) (*tool.Result, error) {
	o, ok := t.results.take(call)
	if !ok {
		return nil, fmt.Errorf("the record has no result of a call of %s with this input", call.Name)
	}
	if o.fault == string(toolrun.TimedOut) {
		return &o.result, tool.ErrTimeout
	}
	return &o.result, nil
}

// Validate checks the input as the tool does.
func (t *recordedTool) Validate(call tool.Call) error {
	if v, ok := t.Tool.(toolrun.Validator); ok {
		return v.Validate(call)
	}
	return nil
}

// Repair repairs the input as the tool does.
func (t *recordedTool) Repair(call tool.Call) json.RawMessage {
	if r, ok := t.Tool.(toolrun.Repairer); ok {
		return r.Repair(call)
	}
	return call.Input
}

// Classify says what the call would do.
func (t *recordedTool) Classify(call tool.Call) tool.Traits { return toolrun.Classify(t.Tool, call) }

// Preview shows the call to a person as the tool does.
func (t *recordedTool) Preview(call tool.Call) string {
	if p, ok := t.Tool.(tool.Previewer); ok {
		return p.Preview(call)
	}
	return ""
}
