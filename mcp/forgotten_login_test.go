//go:build unix

package mcp_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/authserver"
	"github.com/openagent-go/agent/internal/mcpauth"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/mcp/oauth"
)

// After a restart, a server refuses a call because of the old access token, and then because of the old
// session. It has carried out nothing, so the call is made once more.
func TestForgottenSessionAndToken(t *testing.T) {
	t.Parallel()
	var handler atomic.Pointer[sdk.StreamableHTTPHandler]
	starts := func() {
		server := network()
		handler.Store(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
		t.Cleanup(func() {
			for session := range server.Sessions() {
				_ = session.Close() // its client is gone
			}
		})
	}
	starts()
	s := authserver.New(&authserver.Server{Clients: map[string]string{"robot": "robot-secret"}, Scopes: []string{"read"},
		Resource: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.Load().ServeHTTP(w, r) })})
	t.Cleanup(s.Close)
	all, _ := withLogin(t, mcp.Config{URL: s.ResourceURL(), OAuth: &oauth.Config{Grant: mcpauth.ClientCredentials, ClientID: "robot", ClientSecret: "robot-secret", Issuer: s.URL}}, mcp.Options{})
	tools := toolsOf(t, all)
	starts()
	s.Expire(true)
	if out := call(t, tools, "mcp__s__echo", `{"text":"hello"}`); out.Result.Text() != "hello" {
		t.Errorf("%q", out.Result.Text())
	}
}
