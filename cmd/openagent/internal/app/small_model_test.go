package app

import (
	"io"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
)

func TestSmallModel(t *testing.T) {
	for _, c := range []struct{ name, env, want, source string }{
		{"anthropic", "ANTHROPIC_API_KEY=k", "claude-haiku-4-5", "default"},
		{"openai", "OPENAI_API_KEY=k", "gpt-5-mini", "default"},
		{"another host", "OPENAI_API_KEY=k OPENAI_BASE_URL=https://c.example/v1 OPENAI_MODEL=qwen3", "qwen3", "model"},
		{"another maker at a host of anthropic's kind", "ANTHROPIC_API_KEY=k ANTHROPIC_BASE_URL=https://c.example ANTHROPIC_MODEL=glm-5", "glm-5", "model"},
		{"named", "ANTHROPIC_API_KEY=k OPENAGENT_SMALL_MODEL=claude-3-haiku", "claude-3-haiku", "OPENAGENT_SMALL_MODEL"},
		{"demo", "OPENAGENT_PROVIDER=demo", "demo", "model"},
	} {
		env := map[string]string{}
		for _, kv := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(kv, "=")
			env[name] = value
		}
		env["OPENAGENT_HOME"] = t.TempDir()
		h := &cli.IO{Getenv: func(name string) string { return env[name] }, Err: io.Discard}
		p, err := provider.New(new(settings.Options), h.Getenv, settings.ProviderSettings{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if p.Small.Value != c.want || p.Small.Source != c.source {
			t.Errorf("%s: %+v, want %s from %s", c.name, p.Small, c.want, c.source)
		}
		s := appFor(t, h, new(settings.Options))
		if m := s.Agent.SmallModel; m == nil || m.Name() != c.want {
			t.Errorf("%s: the agent has %v", c.name, m)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
