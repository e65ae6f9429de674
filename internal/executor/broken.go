package executor

import (
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Broken makes the fact of an effect that went wrong in the program itself, some time
// after its start. It is nil for effects that are not carried out here.
func (j *Input) Broken(fault tool.Fault, why string, after time.Duration) event.Fact {
	switch e := j.Effect.(type) {
	case engine.CallModel:
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llm.Protocol, Message: "the model's client failed: " + why}
	case engine.RunTool:
		return event.ToolResult{Key: e.Key(), Call: e.Call, Cause: event.ByCancel, Fault: fault, Duration: after,
			Result: *tool.Errorf("%s: %s; what it has done is not known", j.Name(), why)}
	case engine.AskPerson:
		return event.ToolAmended{Key: e.Key(), Call: e.Call, Result: j.Done.Result}
	case engine.Digest:
		return event.ToolAmended{Key: e.Key(), Call: e.Call, Result: j.Done.Result}
	case engine.Compact:
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llm.Protocol, Message: "the summary failed: " + why}
	case engine.Cut:
		return event.Compacted{Key: e.Key(), Trigger: event.Overflow, Failed: "cutting failed: " + why, Before: e.Before, After: e.Before}
	case engine.CallHooks: // what hooks would have kept away is not known
		hooked := event.Hooked{Key: e.Key(), Event: e.Event, Message: e.Message}
		if e.Event.Guards() {
			hooked.Block = why
		}
		return hooked
	case engine.CheckOutput:
		return event.OutputChecked{Key: e.Key(), Call: e.Call, Problem: "it could not be checked: " + why}
	case engine.TakeCheckpoint:
		return event.Checkpointed{Key: e.Key(), Prompt: e.Prompt, Error: why}
	case engine.GatherResults:
		return event.ToolResult{Key: e.Key(), Call: e.Call, Cause: event.ByTool, Result: j.Done.Result}
	case engine.RunHooks: // what they would have taken out is not known
		return event.ToolResult{Key: e.Key(), Call: e.Call, Cause: j.Done.Cause, Fault: j.Done.Fault,
			Result: *tool.Errorf("the result of %s is withheld: a hook that was to see it failed: %s", j.Name(), why)}
	case engine.Authorize:
		return event.Authorized{Key: e.Key(), Call: e.Call, Decision: permission.Decision{Behavior: permission.Denied, Source: permission.FromDefault, Reason: why}}
	case engine.Ask:
		return event.Answered{Key: e.Key(), Call: e.Call, Decision: permission.Decision{Behavior: permission.Denied, Source: permission.FromDefault, Reason: why}}
	}
	return nil
}

// Name is what an effect is called in messages: by the tool of its call, else by its key.
func (j *Input) Name() string {
	if j.Call.Name != "" {
		return j.Call.Name
	}
	return j.Effect.Key()
}
