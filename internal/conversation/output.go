package conversation

import (
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
)

// askForOutput makes a request ask for an answer that satisfies the prompt's schema.
func (c *Conversation) askForOutput(r *llm.Request, o *fact.Output) {
	native, force := c.State.Formats()
	if native {
		r.Format = o.Schema
		return
	}
	r.Tools = append(r.Tools[:len(r.Tools):len(r.Tools)], llm.Tool{Name: engine.OutputTool, Input: o.Schema,
		Description: "Gives the user your final answer. Call it once, when everything else is done: its input is the whole answer. An answer in plain text does not count."})
	if force && r.ToolChoice.Mode == "" {
		r.ToolChoice = llm.ToolChoice{Mode: llm.ChooseTool, Name: engine.OutputTool}
	}
}

// candidate returns the answer that an effect checks.
func (c *Conversation) candidate(e engine.CheckOutput) *executor.Candidate {
	out := &executor.Candidate{Schema: c.State.Output().Schema}
	if e.Call == "" {
		whole, last := c.State.Answer()
		out.Texts = append(out.Texts, whole)
		if last != whole { // a model that should continue its JSON may start it again
			out.Texts = append(out.Texts, last)
		}
		return out
	}
	if call := c.Transcript.Call(e.Call); call != nil {
		text := call.Use.Invalid
		if text == "" {
			text = string(call.Input)
		}
		out.Texts = append(out.Texts, text)
	}
	return out
}
