package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A question whose answer would be checked without end is not asked.
func TestEndlessForm(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","$ref":"#"}`)
	_, err := (&Client{}).Ask(t.Context(), sdk.InputRequestMap{"answer": &sdk.ElicitParams{Mode: "form", Message: "?", RequestedSchema: schema}})
	if err == nil || !strings.Contains(err.Error(), "the schema of the question refers to itself") {
		t.Error(err)
	}
	if err := checkForm(schema, nil); err == nil || !strings.Contains(err.Error(), "refers to itself") {
		t.Error(err)
	}
}
