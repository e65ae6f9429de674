package agent

import (
	"encoding/json"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/jsonanswer"
	"github.com/openagent-go/agent/tool"
)

// candidate is an answer that is to be checked.
type candidate struct {
	schema json.RawMessage
	texts  []string // the whole of it, and other readings
}

// checkOutput makes the verdict about an answer.
func (x *executor) checkOutput(e engine.CheckOutput, c *candidate) event.Fact {
	f := event.OutputChecked{Key: e.Key(), Call: e.Call}
	schema, err := tool.ReadSchema(c.schema)
	if err != nil { // it was read when the run began
		f.Problem = "the schema cannot be read: " + err.Error()
		return f
	}
	for _, text := range c.texts {
		out, found, err := jsonanswer.Find(schema, text)
		if err == nil {
			f.Output, f.Found, f.Problem = out, found, ""
			return f
		}
		if f.Problem == "" {
			f.Problem = err.Error()
		}
	}
	return f
}
