package executor

import (
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Broken returns the fact of an effect that failed because of a fault in the program. after
// is the time since the effect's start. It returns nil for effects that the executor does
// not carry out.
func (j *Input) Broken(fault toolrun.Fault, why string, after time.Duration) event.Fact {
	switch e := j.Effect.(type) {
	case engine.CallModel:
		return brokenCall(e.Key(), e.Model, "the model's client failed: "+why)
	case engine.RunTool:
		return brokenResult(e.Key(), e.Call, fact.ByCancel, fault, after, tool.Errorf("%s: %s; what it has done is not known", j.Name(), why))
	case engine.AskPerson:
		return amended(e.Key(), e.Call, &j.Done.Result)
	case engine.Digest:
		return amended(e.Key(), e.Call, &j.Done.Result)
	case engine.Compact:
		return brokenCall(e.Key(), e.Model, "the summary failed: "+why)
	case engine.Cut:
		return event.Compacted{Key: e.Key(), Trigger: fact.Overflow, Failed: "cutting failed: " + why, Before: e.Before, After: e.Before}
	case engine.CallHooks: // unknown what the hooks would have blocked
		hooked := fact.Hooked{Key: e.Key(), Event: e.Event, Message: e.Message}
		if hookrun.Guards(e.Event) {
			hooked.Block = why
		}
		return hooked
	case engine.CheckOutput:
		return fact.OutputChecked{Key: e.Key(), Call: e.Call, Problem: "it could not be checked: " + why}
	case engine.TakeCheckpoint:
		return fact.Checkpointed{Key: e.Key(), Prompt: e.Prompt, Error: why}
	case engine.GatherResults:
		return brokenResult(e.Key(), e.Call, fact.ByTool, toolrun.NoFault, 0, &j.Done.Result)
	case engine.RunHooks: // unknown what they would have removed
		return brokenResult(e.Key(), e.Call, j.Done.Cause, j.Done.Fault, 0,
			tool.Errorf("the result of %s is withheld: a hook that was to see it failed: %s", j.Name(), why))
	case engine.Authorize:
		return fact.Authorized{Key: e.Key(), Call: e.Call, Decision: denied(why)}
	case engine.Ask:
		return fact.Answered{Key: e.Key(), Call: e.Call, Decision: denied(why)}
	}
	return nil
}

//go:noinline // called from many places: every program stays smaller
func brokenCall(key, model, why string) event.Fact {
	return event.ModelFailed{Key: key, Model: model, Class: llmconst.Protocol, Message: why}
}

//go:noinline // called from many places: every program stays smaller
func brokenResult(key, call string, cause event.Cause, fault toolrun.Fault, after time.Duration, r *tool.Result) event.Fact {
	return event.ToolResult{Key: key, Call: call, Cause: cause, Fault: fault, Duration: after, Result: *r}
}

// amended returns the fact of a result that took the place of another one.
//
//go:noinline // called from many places: every program stays smaller
func amended(key, call string, r *tool.Result) event.Fact {
	return fact.ToolAmended{Key: key, Call: call, Result: *r}
}

//go:noinline // called from many places: every program stays smaller
func denied(why string) permission.Decision {
	return permission.Decision{Behavior: permission.Denied, Source: policies.FromDefault, Reason: why}
}

// Name returns the name of an effect for messages: the tool of its call, otherwise its key.
func (j *Input) Name() string {
	if j.Call.Name != "" {
		return j.Call.Name
	}
	return j.Effect.Key()
}
