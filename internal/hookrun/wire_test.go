package hookrun_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// An answer that is written is read as the same answer.
func TestFormat(t *testing.T) {
	for _, c := range []struct {
		event hook.Event
		out   hook.Output
		want  *hook.Output // nil: the same
	}{
		{hook.PreToolUse, hook.Output{}, nil},
		{hook.PreToolUse, hook.Output{Permission: permission.Denied, Reason: "no", Context: "c", Message: "m", Quiet: true}, nil},
		{hook.PreToolUse, hook.Output{Permission: permission.Allowed, Input: json.RawMessage(`{"a":1}`)}, nil},
		{hook.PreToolUse, hook.Output{Block: true, Reason: "no"}, &hook.Output{Permission: permission.Denied, Reason: "no"}},
		{hook.PermissionRequest, hook.Output{Permission: permission.Denied, Reason: "no", Interrupt: true}, nil},
		{hook.PermissionRequest, hook.Output{Block: true, Reason: "no"}, &hook.Output{Permission: permission.Denied, Reason: "no"}},
		{hook.PermissionRequest, hook.Output{Permission: permission.Allowed, Input: json.RawMessage(`{}`),
			Updates: []hook.Update{update(t, `{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":"go *"}],"destination":"session"}`)}}, nil},
		{hook.PermissionRequest, hook.Output{Permission: permission.Allowed, Updates: []hook.Update{{Type: "setMode", Mode: permission.Plan}}},
			&hook.Output{Permission: permission.Allowed, Updates: []hook.Update{update(t, `{"type":"setMode","mode":"plan","destination":"session"}`)}}},
		{hook.UserPromptSubmit, hook.Output{Block: true, Reason: "no", Title: "t"}, nil},
		{hook.Stop, hook.Output{Stop: true, StopReason: "enough"}, nil},
		{hook.PostToolUse, hook.Output{Result: tool.Text("other")}, nil},
		{hook.PostToolUse, hook.Output{Result: &tool.Result{IsError: true, Content: llm.Blocks{llm.Text{Text: "a"}, llm.Image{MediaType: "image/png", Data: []byte{1}}}}}, nil},
		{hook.PermissionDenied, hook.Output{Retry: true}, nil},
		{hook.MessageDisplay, hook.Output{Display: new("")}, nil},
		{hook.Elicitation, hook.Output{Action: "accept", Content: json.RawMessage(`{"a":1}`)}, nil},
		{hook.Notification, hook.Output{Async: true, Notification: &hook.Notice{Body: "b"}}, nil},
	} {
		data, err := hookrun.Format(c.event, c.out)
		if err != nil {
			t.Errorf("%s: %v", c.event, err)
			continue
		}
		want := c.out
		if c.want != nil {
			want = *c.want
		}
		if got, err := hookrun.Parse(c.event, data); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s: %v\n%+v\n%+v", c.event, data, err, got, want)
		}
	}
	if data, err := hookrun.Format(hook.PreToolUse, hook.Output{Permission: "perhaps"}); err == nil {
		t.Errorf("%s", data)
	}
}

func update(t *testing.T, text string) (u hook.Update) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &u); err != nil {
		t.Fatal(err)
	}
	return u
}

// An input that is written is read as the same input, and so are results of other programs.
func TestReadInput(t *testing.T) {
	in := hook.Input{Event: hook.PostToolUse, Session: "s", Dir: "/d", Mode: permission.Plan, Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`), Call: "c", Duration: 7,
		Result: &tool.Result{Content: llm.Blocks{llm.Text{Text: "a"}}, Title: "ls"}, Calls: []hook.Call{{Tool: "Bash", Input: json.RawMessage(`{}`), ID: "c", Result: "a"}},
		Suggestions: []permission.Rule{"Bash(ls)"}, Fields: map[string]string{"file_path": "/f"}}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := hookrun.ReadInput(data); err != nil || !reflect.DeepEqual(got, in) {
		t.Errorf("%v\n%+v\n%+v", err, got, in)
	}
	for raw, want := range map[string]*tool.Result{
		`"text"`:                           tool.Text("text"),
		`{"stdout":"a"}`:                   {Content: llm.Blocks{llm.Text{Text: `{"stdout":"a"}`}}, Details: json.RawMessage(`{"stdout":"a"}`)},
		`[{"type":"text","text":"b"}]`:     tool.Text("b"),
		`7`:                                tool.Text("7"),
		`null`:                             nil,
		`{"content":[{"type":"strange"}]}`: {Content: llm.Blocks{llm.Text{Text: `{"content":[{"type":"strange"}]}`}}, Details: json.RawMessage(`{"content":[{"type":"strange"}]}`)},
	} {
		got, err := hookrun.ReadInput(json.RawMessage(`{"hook_event_name":"PostToolUse","tool_response":` + raw + `}`))
		if err != nil || !reflect.DeepEqual(got.Result, want) {
			t.Errorf("%s: %v, %+v", raw, err, got.Result)
		}
	}
	got, err := hookrun.ReadInput(json.RawMessage(`{"tool_name":"Bash","prompt_id":"p","effort":{"level":"low"}}`))
	if want := (hook.Input{Tool: "Bash", Fields: map[string]string{"prompt_id": "p"}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %+v", err, got)
	}
	for _, bad := range []string{``, `7`, `{"tool_name":7}`, `{"tool_calls":7}`, `{"permission_suggestions":7}`} {
		if got, err := hookrun.ReadInput(json.RawMessage(bad)); err == nil {
			t.Errorf("%s: %+v", bad, got)
		}
	}
}
