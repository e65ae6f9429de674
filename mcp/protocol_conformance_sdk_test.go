package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// official is a server of the official SDK with a tool that says what it is told:
// at MCP_TEST_ADDRESS by streamable HTTP, else over stdio.
func official() {
	server := sdk.NewServer(&sdk.Implementation{Name: "official", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	sdk.AddTool(server, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, x in) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: x.Text}}}, nil, nil
	})
	var err error
	if address := os.Getenv("MCP_TEST_ADDRESS"); address != "" {
		err = http.ListenAndServe(address, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	} else {
		err = server.Run(context.Background(), &sdk.StdioTransport{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
