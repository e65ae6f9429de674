package jsonanswer_test

import (
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/jsonanswer"
	"github.com/openagent-go/agent/internal/toolschema"
)

func TestFind(t *testing.T) {
	schema, err := toolschema.Parse([]byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]struct {
		out   string
		found bool
	}{
		`{"n":1}`:                              {`{"n":1}`, false},
		"Here it is:\n```json\n{\"n\":2}\n```": {`{"n":2}`, true},
		`first {"m":1}, then {"n":3}`:          {`{"n":3}`, true},
		`{"n":1} or {"n":2}`:                   {"", false},
		`{"m":1}`:                              {"", false},
		`{broken {"n":4}`:                      {`{"n":4}`, true},
		`no JSON at all`:                       {"", false},
	} {
		out, found, err := jsonanswer.Find(schema, text)
		if string(out) != want.out && !(want.out == "" && err != nil) || found != want.found || (err == nil) != (want.out != "") {
			t.Errorf("%s: %s, %v, %v", text, out, found, err)
		}
	}
	if _, _, err := jsonanswer.Find(schema, `{"n":1} or {"n":2}`); err == nil || !strings.Contains(err.Error(), "2 JSON objects") {
		t.Errorf("two objects: %v", err)
	}
}
