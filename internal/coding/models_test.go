//go:build unix

package coding_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/internal/modelinfo"
	"github.com/openagent-go/agent/models"
)

// Models are reached as the settings say: at an address, with certificates, and with the key that
// a command prints. The key of the command is for one provider; keys of the program come first.
func TestReachedAsSettingsSay(t *testing.T) {
	var key string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key = r.Header.Get("X-Api-Key")
		http.Error(w, `{"type":"error","error":{"type":"invalid_request_error","message":"seen"}}`, http.StatusBadRequest)
	}))
	defer server.Close()
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	home(t)
	for _, c := range []struct {
		name, model string
		settings    map[string]any
		source      models.Source
		key         string
	}{
		{"provider of the settings", "claude-haiku-4-5", map[string]any{"provider": "anthropic"}, models.Source{}, "printed"},
		{"provider of the name", "anthropic/claude-haiku-4-5", map[string]any{}, models.Source{BaseURLs: map[string]string{"anthropic": server.URL}}, "printed"},
		{"guessed provider", "claude-haiku-4-5", map[string]any{}, models.Source{BaseURLs: map[string]string{"anthropic": server.URL}}, "printed"},
		{"key of the program", "claude-haiku-4-5", map[string]any{"provider": "anthropic"}, models.Source{Keys: map[string]string{"anthropic": "own"}}, "own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.settings["base_url"], c.settings["caFile"], c.settings["apiKeyHelper"] = server.URL, ca, "echo printed"
			text, err := json.Marshal(c.settings)
			if err != nil {
				t.Fatal(err)
			}
			own := t.TempDir()
			if err := os.WriteFile(filepath.Join(own, "settings.json"), text, 0o600); err != nil {
				t.Fatal(err)
			}
			key = ""
			a, err := coding.New(t.Context(), coding.Options{Dir: t.TempDir(), Home: own, Model: c.model, Models: c.source, Sandbox: coding.Off})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if _, err := a.Prompt(t.Context(), "hi"); err == nil || !strings.Contains(err.Error(), "seen") {
				t.Error(err)
			}
			if key != c.key {
				t.Errorf("the key is %q", key)
			}
			if _, err := a.Agent.Models("openai/gpt-5-mini"); err == nil {
				t.Error("the key of the command opens another provider")
			}
		})
	}
}

// A proxy that cannot be used is told before the first prompt.
func TestWrongProxy(t *testing.T) {
	home(t)
	own := t.TempDir()
	if err := os.WriteFile(filepath.Join(own, "settings.json"), []byte(`{"caFile":"/nowhere/ca.pem"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	o := coding.Options{Dir: t.TempDir(), Home: own, Model: "anthropic/claude-haiku-4-5", Models: models.Source{Keys: map[string]string{"anthropic": "k"}}, Sandbox: coding.Off}
	if _, err := coding.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "/nowhere/ca.pem") {
		t.Error(err)
	}
	o.Models.HTTP = http.DefaultClient // the program's own counts
	c, err := coding.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := modelinfo.Of(c.Agent.Model).Provider; got != "anthropic" {
		t.Error(got)
	}
}
