package draw

import (
	"encoding/json"
	"testing"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session/view"
)

// The task of an agent is found by its call, also within a batch.
func TestTask(t *testing.T) {
	call := func(id, input string, items ...*view.Item) *view.Item {
		return &view.Item{Data: &view.Call{ID: id, Use: llm.ToolUse{Name: "Agent", Input: json.RawMessage(input)}, Items: items}}
	}
	s := &view.State{Items: []*view.Item{{Data: &view.Prompt{}}, call("c1.0", `{"description":"read\nthe spec"}`), call("c1.1", `{}`, call("c1.1.0", `{"description":"slow one"}`))}}
	for id, want := range map[string]string{"c1.0": "read the spec", "c1.1": "", "c1.1.0": "slow one", "c9": ""} {
		if got := Task(s, id); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	if got := Task(nil, "c1.0"); got != "" {
		t.Errorf("%q", got)
	}
}
