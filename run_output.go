package agent

import (
	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/llm"
)

// shaped makes a request ask for an answer of the prompt's schema.
func (f *sessionState) shaped(r *llm.Request, o *event.Output) {
	native, force := f.state.Formats()
	if native {
		r.Format = &llm.Format{Name: "answer", Schema: o.Schema}
		return
	}
	r.Tools = append(r.Tools[:len(r.Tools):len(r.Tools)], llm.Tool{Name: engine.OutputTool, Input: o.Schema,
		Description: "Gives the user your final answer. Call it once, when everything else is done: its input is the whole answer. An answer in plain text does not count."})
	if force && r.ToolChoice.Mode == llm.ChooseAuto {
		r.ToolChoice = llm.ToolChoice{Mode: llm.ChooseTool, Name: engine.OutputTool}
	}
}

// candidate is the answer that an effect checks.
func (l *activeRun) candidate(e engine.CheckOutput) *executor.Candidate {
	c := &executor.Candidate{Schema: l.state.state.Output().Schema}
	if e.Call == "" {
		whole, last := l.state.state.Answer()
		c.Texts = append(c.Texts, whole)
		if last != whole { // a model that is to go on with its JSON may begin again
			c.Texts = append(c.Texts, last)
		}
		return c
	}
	if call := l.state.transcript.Call(e.Call); call != nil {
		text := call.Use.Invalid
		if text == "" {
			text = string(call.Input)
		}
		c.Texts = append(c.Texts, text)
	}
	return c
}
