package streamjson

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
)

// Control requests whose members are of a wrong type are refused in words about them.
func TestMismatch(t *testing.T) {
	for request, want := range map[string]string{
		`{"subtype":"set_model","model":7}`:     "model is of the kind number, and it must be a string",
		`{"subtype":"set_model","model":["x"]}`: "model is of the kind array, and it must be a string",
		`{"subtype":["set_model"]}`:             "subtype is of the kind array, and it must be a string",
		`"interrupt"`:                           "it is of the kind string, and it must be an object",
		``:                                      "it is not JSON: unexpected end of JSON input",
		`{"subtype":"set_budget","max_turns":1.5}`:                                "max_turns is of the kind number 1.5, and it must be a whole number",
		`{"subtype":"set_budget","max_turns":1e30}`:                               "max_turns is of the kind number 1e30, and it must be a whole number",
		`{"subtype":"set_budget","max_budget_usd":"5"}`:                           "max_budget_usd is of the kind string, and it must be a number",
		`{"subtype":"set_max_thinking_tokens","max_thinking_tokens":"many"}`:      "max_thinking_tokens is of the kind string, and it must be a whole number",
		`{"subtype":"set_tools","tools":"Read"}`:                                  "tools is of the kind string, and it must be a list",
		`{"subtype":"set_tools","tools":[1]}`:                                     "tools is of the kind number, and it must be a string",
		`{"subtype":"interrupt","cancel_queued":"yes"}`:                           "cancel_queued is of the kind string, and it must be true or false",
		`{"subtype":"set_permission_mode","mode":true}`:                           "mode is true or false, and it must be a string",
		`{"subtype":"set_model","model":"x","unknown":{"deep":[1]},"tools":null}`: "",
	} {
		var o controlCommand
		err := json.Unmarshal([]byte(request), &o)
		got := ""
		if err != nil {
			got = mismatch(err).Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
	for _, line := range []string{`{"type":7}`, `{"type":"user","uuid":4,"message":{"role":"user","content":"x"}}`, `{"type":"user","message":"x"}`, `{"type":"control_request","request_id":17}`,
		`{"type":"control_response","response":"x"}`, `{"type":"control_response","response":{"subtype":"success","request_id":"x","response":7}}`, `[`, `7`} {
		if _, err := parseLine([]byte(line)); err == nil || strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "struct") {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, err := settings.ReadSchema(json.RawMessage(`[1]`)); err == nil || strings.Contains(err.Error(), "struct") {
		t.Errorf("a schema: %v", err)
	}
}
