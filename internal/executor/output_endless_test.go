package executor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
)

// No answer is checked by a recorded schema that would check it without end.
func TestEndlessRecordedSchema(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`)
	var got event.Fact = (&Executor{}).checkOutput(engine.CheckOutput{}, &Candidate{Schema: schema, Texts: []string{`{}`}})
	f, ok := got.(fact.OutputChecked)
	if !ok || f.Output != nil || !strings.Contains(f.Problem, "refers to itself") {
		t.Errorf("%+v", got)
	}
}
