package mcpauth_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent/internal/authserver"
	"github.com/openagent-go/agent/internal/mcpauth"
)

// Without a store a program keeps the scopes that it has, and can ask for more.
func TestScopesWithoutStore(t *testing.T) {
	for _, kept := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "logins")
		if !kept {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		need := "read"
		s := serve(t, &authserver.Server{Clients: map[string]string{"robot": "robot-secret"}, Scopes: []string{"read", "write"}, Needs: func(*http.Request) string { return need }})
		c := &mcpauth.Client{Server: s.ResourceURL(), Logins: &mcpauth.Dir{Path: path},
			Config: mcpauth.Config{Grant: mcpauth.ClientCredentials, ClientID: "robot", ClientSecret: "robot-secret", Issuer: s.URL}}
		_, ask := get(t, s, "")
		ask.Scopes = []string{"read"}
		token, err := c.Obtain(t.Context(), ask, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Want(t.Context(), []string{"write"}); err != nil {
			t.Errorf("store %v: wanting more: %v", kept, err)
		}
		ask.Scopes = []string{"write"}
		if token, err = c.Obtain(t.Context(), ask, token); err != nil {
			t.Fatal(err)
		}
		for _, need = range []string{"write", "read"} {
			if status, _ := get(t, s, token); status != http.StatusOK {
				t.Errorf("store %v: the token does not have %s: %d", kept, need, status)
			}
		}
	}
}
