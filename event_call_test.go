package agent_test

import (
	"context"
	"encoding/json"
	"testing"

	agent "github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// Each event about a call carries the name of the tool and the input that it ran with. The
// store and the JSON do not get them.
func TestEventCall(t *testing.T) {
	changed := llmtest.Use("t1", "step", number{1})
	works := tool.New(tool.Spec{Name: "step"}, func(ctx context.Context, _ tool.Call, n number) (*tool.Result, error) {
		tool.Progress(ctx, tool.Status{Text: "working"})
		return tool.Text("ok"), nil
	})
	ask := func(_ context.Context, c tool.Call, _ permission.Decision) (permission.Decision, error) {
		d := permission.Allow()
		d.Input = json.RawMessage(`{"n":2}`)
		return d, nil
	}
	a := &agent.Agent{Model: llmtest.Script(llmtest.Call(changed), say("end")), Tools: []tool.Tool{works}, CanUseTool: ask}
	const model, person = `{"n":1}`, `{"n":2}`
	inputs := map[string]string{"authorized": model, "permission_request": model, "answered": person, "tool_start": person, "tool_progress": person, "tool_result": person}
	seen := map[string]bool{}
	store := session.Memory()
	a.Sessions = store
	s := a.Session("")
	defer s.Close()
	for e, err := range s.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		want, is := inputs[event.Type(e.Data)]
		switch {
		case !is && e.Call != nil:
			t.Errorf("%s is about %+v", event.Type(e.Data), e.Call)
		case is && (e.Call == nil || e.Call.Tool != "step" || e.Call.ID != "t1" || string(e.Call.Input) != want):
			t.Errorf("%s is about %+v", event.Type(e.Data), e.Call)
		case is:
			seen[event.Type(e.Data)] = true
			line, err := json.Marshal(e)
			e.Call = nil
			if without, _ := json.Marshal(e); err != nil || string(line) != string(without) {
				t.Errorf("the JSON changed: %s", line)
			}
		}
	}
	if len(seen) != len(inputs) {
		t.Errorf("events came of %v only", seen)
	}
	for e := range store.Read(t.Context(), s.ID, 0) {
		if e.Call != nil {
			t.Errorf("the store keeps the call of %s", event.Type(e.Data))
		}
	}
}
