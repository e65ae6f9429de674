// Package history makes facts from conversations of which only the messages are known:
// those of other programs, and the rest of a damaged session. An agent continues them
// like its own. Package internal/transcript uses it.
package history

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A Turn is one message of a conversation. A user's message may hold results of
// tools; each belongs to the call with its id in the answer before.
type Turn struct {
	Message llm.Message
	ID      string    // of a user's message; "" is a new one
	Time    time.Time // zero: that of the turn before
	// Of answers, where known:
	Model   string
	Usage   llm.Usage
	CostUSD *float64
}

// Texts in place of missing content.
const (
	noPrompt = "(What was said here is missing.)"
	noResult = "The result of this call is not on record. Whether it took effect is not known: check before you do it again."
)

// A Writer makes the facts that follow those of a session.
type Writer struct {
	session    string
	state      engine.State
	transcript engine.Transcript
	last, prev int64 // numbers of facts
	at         time.Time
	facts      []event.Event
}

// NewWriter returns a writer that continues the session with the facts past, on the path to
// fact number last. A call without a result gets the one under its id in results, or a
// result that says that it is missing.
func NewWriter(session string, past []event.Event, last int64, results map[string]tool.Result) *Writer {
	w := &Writer{session: session, last: last}
	for _, e := range past {
		w.prev, w.at = e.Seq, e.Time
		w.apply(e)
	}
	if w.prev != last {
		w.add(event.Rewound{})
	}
	w.settle(func(call string) (tool.Result, bool) { r, ok := results[call]; return r, ok })
	return w
}

// Facts returns the facts made so far.
func (w *Writer) Facts() []event.Event { return w.facts }

// add makes a fact if it counts.
func (w *Writer) add(d event.Fact) {
	e := event.Event{Seq: w.last + 1, Prev: w.prev, Time: w.at, Session: w.session, Data: d}
	if !w.apply(e) {
		return
	}
	w.last, w.prev = e.Seq, e.Seq
	w.facts = append(w.facts, e)
}

func (w *Writer) apply(e event.Event) bool {
	if !w.state.Apply(e) {
		return false
	}
	w.transcript.Apply(e)
	return true
}

// Write makes facts of turns. It corrects them: an answer's calls without results get one
// that says so; results without a call, and second results, are left out; consecutive
// answers become one; empty messages are dropped. At the end the conversation is closed.
// dir is recorded as the working directory if there is none yet.
func (w *Writer) Write(turns []Turn, model, dir string) {
	steps := arrange(turns)
	if len(steps) == 0 {
		return
	}
	tools := toolsOf(steps)
	for _, s := range steps {
		if !s.Time.IsZero() {
			w.at = s.Time.UTC()
		}
		if s.Message.Role == llm.Assistant {
			if !w.state.Running() {
				w.prompt(Turn{Message: llm.UserText(noPrompt)}, tools, model, dir)
			}
			w.answer(s, model)
		} else {
			w.prompt(s.Turn, tools, model, dir)
		}
	}
	if w.state.Running() {
		w.add(fact.Stopped{Reason: event.Interrupted, Message: "the conversation on record ends here"})
		w.settle(nothing)
	}
}

// prompt records a text of the user: a new prompt, or one more message of the run that
// continues.
func (w *Writer) prompt(t Turn, tools []string, model, dir string) {
	if t.ID == "" || w.state.Known(t.ID) {
		t.ID = fmt.Sprintf("history-%d", w.last+1)
	}
	if w.state.Running() {
		w.add(event.UserMessage{ID: t.ID, Delivery: fact.AsSteer, Message: t.Message})
		w.settle(nothing)
		return
	}
	w.add(w.configured(tools, model, dir))
	w.add(event.UserMessage{ID: t.ID, Delivery: fact.AsPrompt, Message: t.Message})
}

// configured is the configuration of the run: the last one, with all tools that are called
// and without limits.
func (w *Writer) configured(tools []string, model, dir string) fact.Configured {
	c := w.state.Config()
	c.System, c.Models = w.transcript.System, w.state.Models()
	c.Mode, c.Parallel, c.Limits, c.Compaction = permission.Default, 1, fact.Limits{}, &fact.Compaction{Off: true}
	if c.Model == "" {
		c.Model = model
	}
	if c.Dir == "" {
		c.Dir = dir
	}
	c.Tools = slices.Clone(c.Tools)
	for i := range c.Tools {
		c.Tools[i].Batch, c.Tools[i].Deferred, c.Tools[i].Barrier = false, false, false
	}
	for _, name := range tools {
		if !slices.ContainsFunc(c.Tools, func(t fact.Tool) bool { return t.Name == name || slices.Contains(t.Aliases, name) }) {
			c.Tools = append(c.Tools, fact.Tool{Tool: llm.Tool{Name: name, Input: []byte(`{"type":"object"}`)}})
		}
	}
	return c
}

// answer records an answer with the results of its calls.
func (w *Writer) answer(s step, model string) {
	call, ok := w.call()
	if !ok {
		return
	}
	if s.Model == "" {
		s.Model = model
	}
	r := llm.Response{Model: s.Model, Message: s.Message, Stop: llm.EndTurn, Usage: s.Usage}
	if len(s.results) > 0 {
		r.Stop = llm.UseTools
	}
	w.add(call.Intent())
	w.add(event.AssistantMessage{Key: call.Key(), Model: s.Model, Response: r, CostUSD: s.CostUSD})
	w.settle(func(call string) (tool.Result, bool) {
		_, index, _ := strings.Cut(call, ".")
		i, err := strconv.Atoi(index)
		if err != nil || i >= len(s.results) || s.results[i].Content == nil {
			return tool.Result{}, false
		}
		return tool.Result{Content: s.results[i].Content, IsError: s.results[i].IsError}, true
	})
}

// call returns the call to the model that the run wants.
func (w *Writer) call() (engine.Effect, bool) {
	for range 2 { // it may wait before a further try
		wait := ""
		for _, e := range w.state.Effects() {
			switch e := e.(type) {
			case engine.CallModel:
				return e, true
			case engine.Wait:
				wait = e.Key() // the limit of time comes before it
			}
		}
		w.add(fact.Waited{Key: wait})
	}
	return nil, false
}

// settle carries out effects until the run wants an answer or has ended.
func (w *Writer) settle(result func(call string) (tool.Result, bool)) {
	for w.state.Running() {
		before := w.last
		for _, e := range w.state.Effects() {
			if w.do(e, result); w.last != before {
				break
			}
		}
		if w.last == before {
			return
		}
	}
}

// do carries out an effect, but for calls to the model and waiting.
func (w *Writer) do(e engine.Effect, result func(call string) (tool.Result, bool)) {
	switch e := e.(type) {
	case engine.Record:
		for _, f := range e.Facts {
			w.add(f)
		}
	case engine.Authorize:
		w.add(fact.Authorized{Key: e.Key(), Call: e.Call, Decision: permission.Allow()})
	case engine.Ask:
		w.add(fact.Answered{Key: e.Key(), Call: e.Call, Decision: permission.Allow()})
	case engine.RunTool:
		r, ok := result(e.Call)
		cause := fact.ByTool
		if !ok {
			r, cause = *tool.Errorf("%s", noResult), fact.ByCrash
		}
		w.add(e.Intent())
		w.add(event.ToolResult{Key: e.Key(), Call: e.Call, Cause: cause, Result: r})
	case engine.RunHooks:
		w.add(event.ToolResult{Key: e.Key(), Call: e.Call, Result: w.done(e.Call)})
	case engine.Compact:
		w.add(e.Intent())
		w.add(event.Compacted{Key: e.Key(), Trigger: e.Trigger, Failed: engine.NothingToCompact, Before: e.Before, After: e.Before})
	case engine.Digest:
		w.add(fact.ToolAmended{Key: e.Key(), Call: e.Call, Result: w.done(e.Call)})
	case engine.AskPerson:
		w.add(fact.ToolAmended{Key: e.Key(), Call: e.Call, Result: w.done(e.Call)})
	case engine.GatherResults:
		w.add(event.ToolResult{Key: e.Key(), Call: e.Call, Result: w.transcript.Gather(e.Call)})
	}
}

// nothing knows no results.
func nothing(string) (tool.Result, bool) { return tool.Result{}, false }

// done is the recorded result of a tool that was not final.
func (w *Writer) done(call string) tool.Result {
	if c := w.transcript.Call(call); c != nil && c.Done != nil {
		r := c.Done.Result
		r.Questions, r.Digest = nil, ""
		return r
	}
	return *tool.Errorf("%s", noResult)
}
