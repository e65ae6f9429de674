package conversation

import (
	"encoding/json"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/hookconst"
)

// hookInput returns the input of hooks for an event of the engine.
func (c *Conversation) hookInput(x *executor.Executor, e engine.CallHooks) *hook.Input {
	t := &c.Transcript
	in := new(hook.Input)
	if fields, err := json.Marshal(e.Fields); err == nil && len(e.Fields) > 0 {
		_ = json.Unmarshal(fields, in) // fields of the wrong type are left out
		in.Fields = hookconst.Known(e.Fields)
	}
	in.Event, in.Session, in.Transcript, in.Dir, in.Mode, in.Agent = e.Event, x.Session, x.Transcript, c.State.Dir(), c.State.Mode(), x.Kind
	in.AgentID, in.Active = x.AgentID, e.Active
	switch {
	case e.Event == hook.UserPromptSubmit, e.Event == hook.UserPromptExpansion:
		in.Prompt = t.Message(e.Message).Text()
	case e.Event == hook.PostToolBatch:
		for _, r := range t.Results() {
			in.Calls = append(in.Calls, hook.Call{Tool: r.Name, Input: r.Input, ID: r.ID, Result: r.Text, IsError: r.IsError})
		}
	case e.Event == hookconst.FileChanged:
		in.Fields["event"] = "change"
	case e.Call != "":
		if p := t.Call(e.Call); p != nil {
			in.Tool, in.Input, in.Call = p.Name, p.Input, e.Call
		}
	}
	return in
}
