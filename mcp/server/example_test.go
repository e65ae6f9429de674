package server_test

import (
	"context"
	"fmt"

	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/mcp/server"
	"github.com/openagent-go/agent/tool"
)

// A server within the program: an agent has its tools without a protocol.
func ExampleNew() {
	type city struct {
		Name string `json:"name"`
	}
	weather := tool.New(tool.Spec{Name: "weather", ReadOnly: true}, func(_ context.Context, _ tool.Call, in city) (*tool.Result, error) {
		return tool.Text("It is sunny in " + in.Name + "."), nil
	})
	s, err := server.New(server.Options{Name: "weather", Tools: []tool.Tool{weather}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	all := mcp.New(map[string]mcp.Config{"weather": s.Config()}, mcp.Options{})
	defer all.Close()
	tools, err := all.Tools(context.Background())
	fmt.Println(tools[0].Spec().Name, err)
	_, err = server.New(server.Options{Name: "bad__name"})
	fmt.Println(err != nil)
	// Output:
	// mcp__weather__weather <nil>
	// true
}
