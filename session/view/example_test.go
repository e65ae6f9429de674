package view_test

import (
	"context"
	"fmt"
	"log"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session/view"
	"github.com/openagent-go/agent/tool"
)

// A program shows a run item by item, each when it is final.
func ExampleState() {
	clock := tool.Func(tool.Spec{Name: "Clock", Description: "Tells the time.", ReadOnly: true},
		func(context.Context, struct{}) (string, error) { return "12:00", nil })
	a := &agent.Agent{
		Model: llmtest.Script(llmtest.Step{Text: "I look.", Calls: []llm.ToolUse{llmtest.Use("u1", "Clock", nil)}}, llmtest.Step{Text: "It is noon."}),
		Tools: []tool.Tool{clock},
	}
	var v view.State
	shown := 0
	for e, err := range a.Stream(context.Background(), "How late is it?") {
		if err != nil {
			log.Fatal(err)
		}
		v.Apply(e)
		for ; shown < len(v.Items) && v.Items[shown].Final; shown++ {
			switch d := v.Items[shown].Data.(type) {
			case *view.Prompt:
				fmt.Println(">", d.Message.Message.Text())
			case *view.Answer:
				fmt.Println(d.Text())
			case *view.Call:
				fmt.Println("*", d.Use.Name, "->", d.Result.Result.Text())
			case *view.End:
				fmt.Println("end:", d.Fact.Reason, d.Fact.Turns, "turns,", d.Calls, "call")
			}
		}
	}
	// Output:
	// > How late is it?
	// I look.
	// * Clock -> 12:00
	// It is noon.
	// end: completed 2 turns, 1 call
}
