package attach

import (
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// The token goes to no address that a person could not type either, also if a file about a running
// server names it.
func TestAddressOfRunningServer(t *testing.T) {
	home := t.TempDir()
	h := &cli.IO{Getenv: func(name string) string { return map[string]string{"OPENAGENT_HOME": home, "HOME": home}[name] }}
	for address, want := range map[string]bool{
		"http://127.0.0.1:4777": true, "http://[::1]:4777": true, "http://localhost:4777": true, "http://0.0.0.0:4777": true, "http://[::]:4777": true, "https://192.0.2.1:4777": true,
		"http://192.0.2.1:4777": false, "http://example.com": false, "http://127.0.0.1.example.com": false, "http://127.0.0.1@example.com": false,
		"ftp://127.0.0.1": false, "http://127.0.0.1:4777/s/x": false, "http://127.0.0.1:4777?x=": false, "": false,
	} {
		if c, err := client(h, address); (err == nil) != want || want && (c.URL != address || c.Token == "") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
