// Mcp-oauth uses an MCP server that requires a login. The program registers itself, the user agrees
// in a browser, and expired tokens are renewed. Here the MCP server and the authorisation server
// are in this program (login.go), and the browser is an HTTP request. Any server on the network works.
//
// Run it with: go run ./examples/24-mcp-oauth
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/mcp/oauth"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

type note struct {
	Name string `json:"name"`
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	guard := serve()
	defer guard.Close()
	dir, err := os.MkdirTemp("", "logins")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	servers := mcp.New(map[string]mcp.Config{"notes": {URL: guard.URL + "/mcp", AlwaysLoad: true}}, mcp.Options{
		Logins: oauth.Dir(filepath.Join(dir, "logins")), // kept for the next time
		Changed: func(s mcp.Status) {
			if s.State == "needs-auth" || s.State == "connected" {
				fmt.Fprintf(out, "%s is %s\n", s.Name, s.State)
			}
		},
		Login: func(ctx context.Context, server, page string) (string, error) {
			fmt.Fprintf(out, "To log in to %s, open %s…\n", server, page[len(guard.URL):strings.Index(page, "?")])
			return "", browse(ctx, page)
		},
	})
	defer servers.Close()
	if err := servers.Reconnect(ctx, "notes"); err != nil { // waits for the login
		return err
	}
	a := &agent.Agent{
		Model:       model(),
		Toolsets:    []tool.Set{servers},
		Permissions: permission.Policy{Allow: []permission.Rule{"mcp__notes"}},
	}
	s := a.Session("")
	defer s.Close()
	for _, prompt := range []string{"How much milk shall I buy?", "And now?"} {
		res, err := s.Prompt(ctx, prompt)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "> %s\n%s\n", prompt, res.Text)
		guard.expire() // the access token ends; nobody notices
	}
	fmt.Fprintf(out, "%d login, %d renewal\n", guard.logins, guard.renewals)
	return nil
}

// serve starts the server behind its authorisation server.
func serve() *loginServer {
	server := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "read", Description: "Reads a note."},
		func(_ context.Context, _ *sdk.CallToolRequest, in note) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Name + ": two bottles"}}}, nil, nil
		})
	return newLoginServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
}

// browse is the person's browser.
func browse(ctx context.Context, page string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
