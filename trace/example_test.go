package trace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/trace"
)

// A recorder writes a line of JSON for each span. trace.Create does so in a file.
func ExampleNewRecorder() {
	var lines bytes.Buffer
	recorder := trace.NewRecorder(&lines)
	a := &agent.Agent{Model: llmtest.Script(llmtest.Say("Paris.")), Trace: recorder.Trace}
	if _, err := a.Prompt(context.Background(), "What is the capital of France?"); err != nil {
		fmt.Println(err)
		return
	}
	if err := recorder.Close(); err != nil {
		fmt.Println(err)
		return
	}
	for d := json.NewDecoder(&lines); d.More(); {
		var r struct{ Kind trace.Kind }
		if err := d.Decode(&r); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r.Kind)
	}
	// Output:
	// model
	// run
}
