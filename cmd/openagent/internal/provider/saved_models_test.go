package provider

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
)

// What settings.json says counts after flags and environment, and before defaults.
func TestSavedModels(t *testing.T) {
	for _, c := range []struct {
		name, file, env string
		options         settings.Options
		want            string // provider, model and its source, small model and its source
	}{
		{name: "no file", env: "ANTHROPIC_API_KEY=k", want: "anthropic claude-sonnet-4-6 default claude-haiku-4-5 default"},
		{name: "kept", file: `{"model":"claude-opus-4-6","small_model":"claude-sonnet-4-6"}`, env: "ANTHROPIC_API_KEY=k", want: "anthropic claude-opus-4-6 FILE:1 claude-sonnet-4-6 FILE:1"},
		{name: "the model says who", file: `{"model":"gpt-4.1"}`, env: "ANTHROPIC_API_KEY=k OPENAI_API_KEY=k", want: "openai gpt-4.1 FILE:1 gpt-5-mini default"},
		{name: "a flag counts before", file: `{"model":"gpt-4.1"}`, env: "ANTHROPIC_API_KEY=k", options: settings.Options{Model: "claude-opus-4-6"}, want: "anthropic claude-opus-4-6 --model claude-haiku-4-5 default"},
		{name: "the vendor's variable counts before", file: `{"model":"gpt-4.1"}`, env: "ANTHROPIC_API_KEY=k ANTHROPIC_MODEL=claude-opus-4-6", want: "anthropic claude-opus-4-6 ANTHROPIC_MODEL claude-haiku-4-5 default"},
		{name: "keys and the mode are no such settings", file: `{"api_key":"x","permission_mode":"bypassPermissions"}`, env: "ANTHROPIC_API_KEY=k", want: "anthropic claude-sonnet-4-6 default claude-haiku-4-5 default"},
	} {
		env := map[string]string{"OPENAGENT_HOME": t.TempDir()}
		for _, kv := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(kv, "=")
			env[name] = value
		}
		if c.file != "" {
			if err := os.WriteFile(filepath.Join(env["OPENAGENT_HOME"], "settings.json"), []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h := &cli.IO{Getenv: func(name string) string { return env[name] }, Err: io.Discard}
		o, err := settings.Configure(t.Context(), h, &c.options, t.TempDir(), false)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		p, err := Open(h, o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := strings.Join([]string{p.Name.Value, p.Model.Value, p.Model.Source, p.Small.Value, p.Small.Source}, " ")
		if got = strings.ReplaceAll(got, filepath.Join(env["OPENAGENT_HOME"], "settings.json"), "FILE"); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if p.Key.Value != "k" || o.Mode != "" {
			t.Errorf("%s: key %q, mode %q", c.name, p.Key.Value, o.Mode)
		}
	}
}
