package parts

import (
	"slices"
	"testing"

	"github.com/openagent-go/agent/mcp"
)

// What is secret in the configuration of a server is hidden wherever the server is shown.
func TestServerSecrets(t *testing.T) {
	c := mcp.Config{URL: "https://me:passw0rd@example.com/mcp?key=k3y-of-mine&page=2", Headers: map[string]string{"Authorization": "Bearer t0ken-of-mine"}, Env: map[string]string{"API_TOKEN": "env-of-mine"}}
	got := ServerSecrets(c)
	for _, want := range []string{"passw0rd", "k3y-of-mine", "t0ken-of-mine", "env-of-mine"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is shown: %q", want, got)
		}
	}
	if slices.Contains(got, "2") {
		t.Errorf("the page is a secret: %q", got)
	}
}
