package agent

import (
	"encoding/json"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/hook"
)

// hookInput is what hooks are told of an event that the engine knows of.
func (l *activeRun) hookInput(e engine.CallHooks) *hook.Input {
	t := &l.state.transcript
	in := new(hook.Input)
	if fields, err := json.Marshal(e.Fields); err == nil && len(e.Fields) > 0 {
		_ = json.Unmarshal(fields, in) // what a tool says of what is no text is left out
	}
	in.Event, in.Session, in.Transcript, in.Dir, in.Mode, in.Agent = e.Event, l.s.ID, l.x.Transcript, l.state.state.Dir(), l.state.state.Mode(), l.x.agent.kindOrName()
	in.AgentID = l.x.agent.childID(l.s.ID)
	in.Active = e.Active
	switch {
	case e.Event == hook.UserPromptSubmit, e.Event == hook.UserPromptExpansion:
		in.Prompt = t.Message(e.Message).Text()
	case e.Event == hook.PostToolBatch:
		for _, c := range t.Results() {
			in.Calls = append(in.Calls, hook.Call{Tool: c.Name, Input: c.Input, ID: c.ID, Result: c.Text, IsError: c.IsError})
		}
	case e.Event == hook.FileChanged:
		in.Change = "change"
	case e.Call != "":
		if c := t.Call(e.Call); c != nil {
			in.Tool, in.Input, in.Call = c.Name, c.Input, e.Call
		}
	}
	return in
}
