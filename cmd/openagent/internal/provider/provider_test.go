package provider

import (
	"errors"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
)

func TestProvider(t *testing.T) {
	for _, c := range []struct {
		name        string
		options     settings.Options
		env         string // NAME=value …
		want        string // provider model base key
		missing     bool
		wantSources string // of provider model base key
	}{
		{"nothing", settings.Options{}, "", "anthropic claude-sonnet-4-6 https://api.anthropic.com ", true, "default default default "},
		{"key", settings.Options{}, "ANTHROPIC_API_KEY=k", "anthropic claude-sonnet-4-6 https://api.anthropic.com k", false, "ANTHROPIC_API_KEY default default ANTHROPIC_API_KEY"},
		{"other key", settings.Options{}, "OPENAI_API_KEY=k", "openai gpt-5.2 https://api.openai.com/v1 k", false, ""},
		{"both keys", settings.Options{}, "OPENAI_API_KEY=o ANTHROPIC_API_KEY=a", "anthropic claude-sonnet-4-6 https://api.anthropic.com a", false, ""},
		{"model says", settings.Options{Model: "gpt-4.1"}, "OPENAI_API_KEY=o ANTHROPIC_API_KEY=a", "openai gpt-4.1 https://api.openai.com/v1 o", false, "model --model default OPENAI_API_KEY"},
		{"unheard of claude", settings.Options{Model: "claude-9"}, "OPENAI_API_KEY=o ANTHROPIC_API_KEY=a", "anthropic claude-9 https://api.anthropic.com a", false, ""},
		{"unheard of", settings.Options{Model: "qwen3"}, "OPENAI_API_KEY=o ANTHROPIC_API_KEY=a", "openai qwen3 https://api.openai.com/v1 o", false, ""},
		{"unheard of at anthropic's", settings.Options{Model: "glm-5"}, "ANTHROPIC_API_KEY=a ANTHROPIC_BASE_URL=https://glm.example", "anthropic glm-5 https://glm.example a", false, ""},
		{"claude elsewhere", settings.Options{Model: "anthropic/claude-x"}, "OPENAI_API_KEY=o OPENAI_BASE_URL=https://router.example/v1", "openai anthropic/claude-x https://router.example/v1 o", false, ""},
		{"model needs a key", settings.Options{Model: "gpt-4.1"}, "ANTHROPIC_API_KEY=a", "openai gpt-4.1 https://api.openai.com/v1 ", true, ""},
		{"ours first", settings.Options{}, "OPENAGENT_API_KEY=1 CODEANY_API_KEY=2 ANTHROPIC_API_KEY=3 OPENAGENT_MODEL=claude-a CODEANY_MODEL=claude-b CODEANY_BASE_URL=https://b.example ANTHROPIC_BASE_URL=https://c.example",
			"anthropic claude-a https://b.example 1", false, "model OPENAGENT_MODEL CODEANY_BASE_URL OPENAGENT_API_KEY"},
		{"named", settings.Options{Provider: "openai"}, "CODEANY_API_KEY=2 CODEANY_MODEL=m OPENAI_BASE_URL=https://c.example/v1", "openai m https://c.example/v1 2", false, "--provider CODEANY_MODEL OPENAI_BASE_URL CODEANY_API_KEY"},
		{"Responses", settings.Options{Provider: "openai-responses"}, "OPENAI_API_KEY=o", "openai-responses gpt-5.2 https://api.openai.com/v1 o", false, "--provider default default OPENAI_API_KEY"},
		{"named by variable", settings.Options{}, "OPENAGENT_PROVIDER=openai OPENAI_MODEL=x", "openai x https://api.openai.com/v1 ", true, "OPENAGENT_PROVIDER OPENAI_MODEL default "},
		{"this machine", settings.Options{BaseURL: "http://localhost:11434/v1", Provider: "openai", Model: "llama"}, "", "openai llama http://localhost:11434/v1 ", false, ""},
		{"this machine, guessed", settings.Options{Model: "llama"}, "OPENAI_BASE_URL=http://127.0.0.1:1/v1", "openai llama http://127.0.0.1:1/v1 ", false, ""},
		{"demo", settings.Options{Provider: "demo"}, "", "demo demo  ", false, ""},
	} {
		env := map[string]string{}
		for _, kv := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(kv, "=")
			env[name] = value
		}
		p, err := New(&c.options, func(name string) string { return env[name] }, settings.ProviderSettings{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := strings.Join([]string{p.Name.Value, p.Model.Value, p.BaseURL.Value, p.Key.Value}, " ")
		if got != c.want || p.NeedsKey() != c.missing {
			t.Errorf("%s: %q, needs a key: %v; want %q, %v", c.name, got, p.NeedsKey(), c.want, c.missing)
		}
		sources := strings.Join([]string{p.Name.Source, p.Model.Source, p.BaseURL.Source, p.Key.Source}, " ")
		if c.wantSources != "" && sources != c.wantSources {
			t.Errorf("%s: sources %q, want %q", c.name, sources, c.wantSources)
		}
	}
}

func TestProviderRefuses(t *testing.T) {
	for _, env := range []string{"OPENAGENT_PROVIDER=wild", "ANTHROPIC_BASE_URL=nowhere", "OPENAGENT_BASE_URL=file:///etc/passwd"} {
		name, value, _ := strings.Cut(env, "=")
		_, err := New(new(settings.Options), func(n string) string {
			if n == name {
				return value
			}
			return ""
		}, settings.ProviderSettings{})
		var e *cli.ExitError
		if !errors.As(err, &e) || e.Code != cli.ExitUsage || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", env, err)
		}
	}
}

func TestOtherModels(t *testing.T) {
	env := map[string]string{"ANTHROPIC_API_KEY": "a"}
	p, err := New(new(settings.Options), func(n string) string { return env[n] }, settings.ProviderSettings{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.FindModel("gpt-4.1"); err == nil || !strings.Contains(err.Error(), "OPENAI_API_KEY") {
		t.Errorf("a model without a key: %v", err)
	}
	env["OPENAI_API_KEY"] = "o"
	if m, err := p.FindModel(" gpt-4.1 "); err != nil || m.Name() != "gpt-4.1" {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := p.FindModel(" "); err == nil {
		t.Error("a model without a name")
	}
}
