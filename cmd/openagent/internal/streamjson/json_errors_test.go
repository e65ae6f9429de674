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
		`{"subtype":"set_model","model":7}`:     "model must be a string, not number",
		`{"subtype":"set_model","model":["x"]}`: "model must be a string, not array",
		`{"subtype":["set_model"]}`:             "subtype must be a string, not array",
		`"interrupt"`:                           "the message must be an object, not string",
		``:                                      "the line is not JSON: unexpected end of JSON input",
		`{"subtype":"set_budget","max_turns":1.5}`:                                "max_turns must be a whole number, not number 1.5",
		`{"subtype":"set_budget","max_turns":1e30}`:                               "max_turns must be a whole number, not number 1e30",
		`{"subtype":"set_budget","max_budget_usd":"5"}`:                           "max_budget_usd must be a number, not string",
		`{"subtype":"set_max_thinking_tokens","max_thinking_tokens":"many"}`:      "max_thinking_tokens must be a whole number, not string",
		`{"subtype":"set_tools","tools":"Read"}`:                                  "tools must be a list, not string",
		`{"subtype":"set_tools","tools":[1]}`:                                     "tools must be a string, not number",
		`{"subtype":"interrupt","cancel_queued":"yes"}`:                           "cancel_queued must be true or false, not string",
		`{"subtype":"set_permission_mode","mode":true}`:                           "mode must be a string, not true or false",
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
		`{"type":"control_response","response":"x"}`, `[`, `7`} {
		if _, err := parseLine([]byte(line)); err == nil || strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "struct") {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, err := settings.ReadSchema(json.RawMessage(`[1]`)); err == nil || strings.Contains(err.Error(), "struct") {
		t.Errorf("a schema: %v", err)
	}
}
