package executor

import (
	"encoding/json"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/jsonanswer"
	"github.com/openagent-go/agent/internal/toolschema"
)

// Candidate is an answer to check.
type Candidate struct {
	Schema json.RawMessage
	Texts  []string // the whole answer, and other readings of it
}

// checkOutput checks an answer against its schema.
func (x *Executor) checkOutput(e engine.CheckOutput, c *Candidate) event.Fact {
	f := fact.OutputChecked{Key: e.Key(), Call: e.Call}
	schema, err := toolschema.Parse(c.Schema)
	if err != nil { // unexpected: it was read when the run began
		f.Problem = "the schema cannot be read: " + err.Error()
		return f
	}
	for _, text := range c.Texts {
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
