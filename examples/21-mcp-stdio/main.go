// Mcp-stdio uses the tools of an MCP server that runs as a process. Here the server is this program
// itself, started with the argument serve. Any server command works, such as npx with an official
// server.
//
// Run it with: go run ./examples/21-mcp-stdio
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

type word struct {
	Word string `json:"word"`
}

func main() {
	do := run
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		do = serve
	}
	if err := do(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// serve is the server.
func serve(ctx context.Context, _ io.Writer) error {
	server := sdk.NewServer(&sdk.Implementation{Name: "words", Version: "1.0.0"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "length", Description: "Counts the letters of a word."},
		func(_ context.Context, _ *sdk.CallToolRequest, in word) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(len([]rune(in.Word)))}}}, nil, nil
		})
	return server.Run(ctx, &sdk.StdioTransport{})
}

func run(ctx context.Context, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ws := &workspace.Workspace{}
	defer ws.Close()
	servers := mcp.New(map[string]mcp.Config{
		"words":  {Command: self, Args: []string{"serve"}, AlwaysLoad: true},
		"absent": {Command: "no-such-server", AlwaysLoad: true}, // holds up nothing
	}, mcp.Options{Workspace: ws})
	defer servers.Close()
	servers.Start()
	a := &agent.Agent{
		Model:       model(),
		Toolsets:    []tool.Set{servers},
		Permissions: permission.Policy{Allow: []permission.Rule{"mcp__words"}}, // all tools of the server
	}
	res, err := a.Prompt(ctx, "How many letters has Größe?")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, res.Text)
	for _, s := range servers.Status() {
		fmt.Fprintf(out, "%s: %s %s\n", s.Name, s.State, strings.Join(s.Tools, " "))
	}
	return nil
}
