package llmtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
)

// A scripted model has a price, so that a test can check costs and budgets.
func ExampleScript() {
	m := llmtest.Script(llmtest.Say("Hello."))
	a := &agent.Agent{Model: m, Budget: agent.Budget{USD: 1}}
	res, err := a.Prompt(context.Background(), "Greet me.")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s $%.5f\n", res.Text, *res.CostUSD)
	fmt.Println(m.Requests()[0].Prompt())
	// Output:
	// Hello. $0.00002
	// Greet me.
}

// Two agents share a model. Each gets the answers of its part, in any order.
func ExampleCast() {
	m := &llmtest.Model{Rule: llmtest.Cast(map[string]llmtest.Rule{
		"You review": llmtest.Steps(llmtest.Say("The change is fine.")),
		"You write":  llmtest.Steps(llmtest.Say("The text is written.")),
	})}
	for _, system := range []string{"You write documentation.", "You review code."} {
		res, err := (&agent.Agent{Model: m, System: system}).Prompt(context.Background(), "Begin.")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(res.Text)
	}
	// Output:
	// The text is written.
	// The change is fine.
}

// A server with a rule, and with the rules of a host of Chat Completions.
func ExampleServer_Start() {
	test := func(t *testing.T) {
		server := &llmtest.Server{Host: "groq", Rule: func(r *llmtest.Request, n int) llmtest.Step {
			return llmtest.Say("You said: " + r.Prompt())
		}}
		server.Start(t)
		// Point your client at server.URL.
	}
	_ = test
}
