package app

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/triggerstore"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A schedule that the model makes for a trigger is a job that goes with it.
func TestTriggerScheduledByTool(t *testing.T) {
	t.Parallel()
	o := new(settings.Options)
	o.Tools = []string{"RemoteTrigger", "CronList"}
	a, _ := agentFor(t, o)
	a.CanUseTool = func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
		return permission.Allow(), nil
	}
	call := func(name, input string) *tool.Result {
		t.Helper()
		r, err := a.CallTool(t.Context(), name, json.RawMessage(input))
		if err != nil || r == nil {
			t.Fatalf("%s: %v", input, err)
		}
		return r
	}
	r := call("RemoteTrigger", `{"action":"create","name":"look","prompt":"Look.","schedule":"@every 90m"}`)
	if r.IsError || !strings.Contains(r.Text(), "`openagent triggers serve` run in this folder, not by this program") {
		t.Fatal(r.Text())
	}
	var d struct{ Triggers []triggerstore.Trigger }
	if err := json.Unmarshal(r.Details, &d); err != nil {
		t.Fatal(err)
	}
	if got := call("CronList", `{}`).Text(); !strings.Contains(got, `"look", @every 90m, trigger "`+d.Triggers[0].ID) {
		t.Error(got)
	}
	id := `"id":"` + d.Triggers[0].ID + `"`
	if r := call("RemoteTrigger", `{"action":"update",`+id+`,"enabled":false}`); r.IsError {
		t.Error(r.Text())
	}
	if got := call("CronList", `{}`).Text(); !strings.Contains(got, "disabled") {
		t.Error(got)
	}
	if r := call("RemoteTrigger", `{"action":"update",`+id+`,"schedule":"61 * * * *"}`); !r.IsError || !strings.Contains(r.Text(), "minute") {
		t.Error(r.Text())
	}
	if r := call("RemoteTrigger", `{"action":"update",`+id+`,"schedule":"","enabled":true}`); r.IsError {
		t.Error(r.Text())
	}
	if got := call("CronList", `{}`).Text(); !strings.Contains(got, "No jobs") {
		t.Error(got)
	}
	if r := call("RemoteTrigger", `{"action":"run",`+id+`}`); !r.IsError || !strings.Contains(r.Text(), "in conversations only") {
		t.Error(r.Text())
	}
}
