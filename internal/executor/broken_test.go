package executor_test

import (
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// An effect whose execution fails in the program itself still gets a fact, or the run
// would wait for it forever. Records and waits are not executed.
func TestEveryEffectGetsAFactWhenItFails(t *testing.T) {
	for _, e := range engine.EffectTypes() {
		switch e.(type) {
		case engine.Record, engine.Wait:
			continue
		}
		in := executor.Input{Effect: e, Done: new(fact.ToolDone)}
		if in.Broken(toolrun.Panicked, "it panicked", time.Second) == nil {
			t.Errorf("Broken makes no fact of %T", e)
		}
	}
}

// What went wrong in the program permits nothing and shows nothing.
func TestBrokenIsSafe(t *testing.T) {
	done := &fact.ToolDone{Result: *tool.Text("secret")}
	broken := func(e engine.Effect) event.Fact {
		in := executor.Input{Effect: e, Done: done, Call: tool.Call{Name: "double"}}
		return in.Broken(toolrun.Panicked, "it panicked", time.Second)
	}
	if f := broken(engine.Authorize{}).(fact.Authorized); f.Decision.Behavior != permission.Denied {
		t.Errorf("a call is %s", f.Decision.Behavior)
	}
	if f := broken(engine.Ask{}).(fact.Answered); f.Decision.Behavior != permission.Denied {
		t.Errorf("a question is answered as %s", f.Decision.Behavior)
	}
	if f := broken(engine.RunHooks{}).(event.ToolResult); !f.Result.IsError || f.Result.Text() != "the result of double is withheld: a hook that was to see it failed: it panicked" {
		t.Errorf("a result that no hook has seen is %q", f.Result.Text())
	}
	if f := broken(engine.CallHooks{Event: hook.UserPromptSubmit}).(fact.Hooked); f.Block == "" {
		t.Error("a prompt goes to the model though its hooks failed")
	}
	if f := broken(engine.CallHooks{Event: hook.SessionStart}).(fact.Hooked); f.Block != "" {
		t.Errorf("hooks that guard nothing block: %s", f.Block)
	}
	if f := broken(engine.RunTool{}).(event.ToolResult); !f.Result.IsError || f.Duration != time.Second || f.Fault != toolrun.Panicked {
		t.Errorf("a call is %+v", f)
	}
}
