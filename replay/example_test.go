package replay_test

import (
	"context"
	"fmt"
	"log"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/replay"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

type refundInput struct {
	Order int `json:"order"`
}

// refunds is an agent that refunds orders.
func refunds(steps ...llmtest.Step) *agent.Agent {
	refund := tool.Func(tool.Spec{Name: "refund", ReadOnly: true}, func(_ context.Context, in refundInput) (string, error) {
		fmt.Println("refunding order", in.Order)
		return "refunded", nil
	})
	return &agent.Agent{Model: llmtest.Script(steps...), Tools: []tool.Tool{refund}, Sessions: session.Memory()}
}

// A session is replayed with another system prompt.
func Example() {
	ctx := context.Background()
	a := refunds(llmtest.Call(llmtest.Use("", "refund", refundInput{Order: 7})), llmtest.Say("Done."))
	s := a.Session("order-7")
	defer s.Close()
	if _, err := s.Prompt(ctx, "Refund order 7."); err != nil {
		log.Fatal(err)
	}

	a.System = "Be polite."
	again := replay.Session{Agent: a, ID: "order-7"}
	differences, err := again.Replay(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range differences {
		fmt.Println(d)
	}
	// Output:
	// refunding order 7
	// fact 1 (configured): system: recorded nothing, now "Be polite."
}

// A model and tools answer from the record.
func ExampleModel() {
	ctx := context.Background()
	a := refunds(llmtest.Call(llmtest.Use("", "refund", refundInput{Order: 7})), llmtest.Say("Done."))
	s := a.Session("order-7")
	defer s.Close()
	if _, err := s.Prompt(ctx, "Refund order 7."); err != nil {
		log.Fatal(err)
	}
	var facts []event.Event
	for e, err := range a.Sessions.Read(ctx, "order-7", 0) {
		if err != nil {
			log.Fatal(err)
		}
		facts = append(facts, e)
	}

	a.Model = replay.Model(facts)
	a.Tools = replay.Tools(a.Tools, facts)
	res, err := a.Prompt(ctx, "Refund order 7.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Text, res.Turns, "turns")
	// Output:
	// refunding order 7
	// Done. 2 turns
}
