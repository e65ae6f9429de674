package main

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

func TestProvider(t *testing.T) {
	for _, c := range []struct {
		name        string
		options     options
		env         string // NAME=value …
		want        string // provider model base key
		missing     bool
		wantSources string // of provider model base key
	}{
		{"nothing", options{}, "", "anthropic claude-sonnet-4-6 https://api.anthropic.com ", true, "default default default "},
		{"key", options{}, "ANTHROPIC_API_KEY=k", "anthropic claude-sonnet-4-6 https://api.anthropic.com k", false, "ANTHROPIC_API_KEY default default ANTHROPIC_API_KEY"},
		{"other key", options{}, "OPENAI_API_KEY=k", "openai gpt-5.2 https://api.openai.com/v1 k", false, ""},
		{"both keys", options{}, "OPENAI_API_KEY=o ANTHROPIC_API_KEY=a", "anthropic claude-sonnet-4-6 https://api.anthropic.com a", false, ""},
		{"model says", options{model: "gpt-4.1"}, "OPENAI_API_KEY=o ANTHROPIC_API_KEY=a", "openai gpt-4.1 https://api.openai.com/v1 o", false, "model --model default OPENAI_API_KEY"},
		{"unheard of claude", options{model: "claude-9"}, "OPENAI_API_KEY=o ANTHROPIC_API_KEY=a", "anthropic claude-9 https://api.anthropic.com a", false, ""},
		{"unheard of", options{model: "qwen3"}, "OPENAI_API_KEY=o ANTHROPIC_API_KEY=a", "openai qwen3 https://api.openai.com/v1 o", false, ""},
		{"unheard of at anthropic's", options{model: "glm-5"}, "ANTHROPIC_API_KEY=a ANTHROPIC_BASE_URL=https://glm.example", "anthropic glm-5 https://glm.example a", false, ""},
		{"claude elsewhere", options{model: "anthropic/claude-x"}, "OPENAI_API_KEY=o OPENAI_BASE_URL=https://router.example/v1", "openai anthropic/claude-x https://router.example/v1 o", false, ""},
		{"model needs a key", options{model: "gpt-4.1"}, "ANTHROPIC_API_KEY=a", "openai gpt-4.1 https://api.openai.com/v1 ", true, ""},
		{"ours first", options{}, "OPENAGENT_API_KEY=1 CODEANY_API_KEY=2 ANTHROPIC_API_KEY=3 OPENAGENT_MODEL=claude-a CODEANY_MODEL=claude-b CODEANY_BASE_URL=https://b.example ANTHROPIC_BASE_URL=https://c.example",
			"anthropic claude-a https://b.example 1", false, "model OPENAGENT_MODEL CODEANY_BASE_URL OPENAGENT_API_KEY"},
		{"named", options{provider: "openai"}, "CODEANY_API_KEY=2 CODEANY_MODEL=m OPENAI_BASE_URL=https://c.example/v1", "openai m https://c.example/v1 2", false, "--provider CODEANY_MODEL OPENAI_BASE_URL CODEANY_API_KEY"},
		{"Responses", options{provider: "openai-responses"}, "OPENAI_API_KEY=o", "openai-responses gpt-5.2 https://api.openai.com/v1 o", false, "--provider default default OPENAI_API_KEY"},
		{"named by variable", options{}, "OPENAGENT_PROVIDER=openai OPENAI_MODEL=x", "openai x https://api.openai.com/v1 ", true, "OPENAGENT_PROVIDER OPENAI_MODEL default "},
		{"this machine", options{base: "http://localhost:11434/v1", provider: "openai", model: "llama"}, "", "openai llama http://localhost:11434/v1 ", false, ""},
		{"this machine, guessed", options{model: "llama"}, "OPENAI_BASE_URL=http://127.0.0.1:1/v1", "openai llama http://127.0.0.1:1/v1 ", false, ""},
		{"demo", options{provider: "demo"}, "", "demo demo  ", false, ""},
	} {
		env := map[string]string{}
		for _, kv := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(kv, "=")
			env[name] = value
		}
		p, err := newProvider(&c.options, func(name string) string { return env[name] }, kept{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := strings.Join([]string{p.name.value, p.model.value, p.base.value, p.key.value}, " ")
		if got != c.want || p.needsKey() != c.missing {
			t.Errorf("%s: %q, needs a key: %v; want %q, %v", c.name, got, p.needsKey(), c.want, c.missing)
		}
		sources := strings.Join([]string{p.name.source, p.model.source, p.base.source, p.key.source}, " ")
		if c.wantSources != "" && sources != c.wantSources {
			t.Errorf("%s: sources %q, want %q", c.name, sources, c.wantSources)
		}
	}
}

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
		h := &host{getenv: func(name string) string { return env[name] }, err: io.Discard}
		p, err := newProvider(new(options), h.getenv, kept{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if p.small.value != c.want || p.small.source != c.source {
			t.Errorf("%s: %+v, want %s from %s", c.name, p.small, c.want, c.source)
		}
		a, err := h.newAgent(newSetup(new(options), p, t.TempDir()))
		if err != nil || a.SmallModel == nil || a.SmallModel.Name() != c.want {
			t.Errorf("%s: the agent has %v, %v", c.name, a.SmallModel, err)
		}
	}
}

func TestProviderRefuses(t *testing.T) {
	for _, env := range []string{"OPENAGENT_PROVIDER=wild", "ANTHROPIC_BASE_URL=nowhere", "OPENAGENT_BASE_URL=file:///etc/passwd"} {
		name, value, _ := strings.Cut(env, "=")
		_, err := newProvider(new(options), func(n string) string {
			if n == name {
				return value
			}
			return ""
		}, kept{})
		var e *cli.ExitError
		if !errors.As(err, &e) || e.Code != cli.ExitUsage || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", env, err)
		}
	}
}

func TestOtherModels(t *testing.T) {
	env := map[string]string{"ANTHROPIC_API_KEY": "a"}
	p, err := newProvider(new(options), func(n string) string { return env[n] }, kept{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.llm("gpt-4.1"); err == nil || !strings.Contains(err.Error(), "OPENAI_API_KEY") {
		t.Errorf("a model without a key: %v", err)
	}
	env["OPENAI_API_KEY"] = "o"
	if m, err := p.llm(" gpt-4.1 "); err != nil || m.Name() != "gpt-4.1" {
		t.Errorf("%v, %v", m, err)
	}
	for name, want := range map[string]string{"gpt-4.1": "openai", "claude-opus-5": "anthropic", "never-heard-of": "anthropic"} {
		if at := p.serving(name); at != want {
			t.Errorf("%s is shown as one of %s, want %s", name, at, want)
		}
	}
	if _, err := p.llm(" "); err == nil {
		t.Error("a model without a name")
	}
}

func TestProjectName(t *testing.T) {
	seen := map[string]string{}
	for _, path := range []string{"/", "/a/b", "/a-b", "/a/b/", "/a.b", "/ä", "/ö", "/" + strings.Repeat("x", 300), "/" + strings.Repeat("x", 301), `C:\a`} {
		name := projectName(path)
		if other, taken := seen[name]; taken {
			t.Errorf("%s and %s are both %s", path, other, name)
		}
		seen[name] = path
		if !filepath.IsLocal(name) || len(name) > 80 || strings.HasPrefix(name, "-") || strings.HasPrefix(name, ".") {
			t.Errorf("%s: %q", path, name)
		}
	}
}
