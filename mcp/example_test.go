package mcp_test

import (
	"context"
	"fmt"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tool"
)

// Servers is a tool set. This server is in the same program. One that is a process has
// Command and Args, one on the network a URL.
func ExampleNew() {
	weather := tool.Func(tool.Spec{Name: "get_weather", Description: "Report the weather.", ReadOnly: true},
		func(ctx context.Context, in struct {
			City string `json:"city"`
		}) (string, error) {
			return "sunny in " + in.City, nil
		})
	servers := mcp.New(map[string]mcp.Config{
		"weather": {Tools: []tool.Tool{weather}, TrustReadOnly: true},
	}, mcp.Options{})
	defer servers.Close()
	servers.Start()

	a := &agent.Agent{
		Model: llmtest.Script(
			llmtest.Call(llmtest.Use("", "mcp__weather__get_weather", map[string]string{"city": "Paris"})),
			llmtest.Say("It is sunny.")),
		Toolsets: []tool.Set{servers},
	}
	res, err := a.Prompt(context.Background(), "How is the weather in Paris?")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range servers.Status() {
		fmt.Println(s.Name, s.State)
	}
	fmt.Println(res.Text)
	// Output:
	// weather connected
	// It is sunny.
}
