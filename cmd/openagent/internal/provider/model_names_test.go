package provider

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/chat"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/modelinfo"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

// TestNames goes through names of models as people give them.
func TestNames(t *testing.T) {
	const all = "ANTHROPIC_API_KEY=a OPENAI_API_KEY=o DEEPSEEK_API_KEY=d MISTRAL_API_KEY=m OPENROUTER_API_KEY=r"
	for _, c := range []struct {
		begin settings.Options
		env   string
		name  string
		want  string // provider, its model, the name that leads there again, or ! and words of the error
	}{
		// The provider in use.
		{settings.Options{}, all, "claude-opus-5", "anthropic claude-opus-5 claude-opus-5"},
		{settings.Options{}, all, "anthropic:claude-opus-5", "anthropic claude-opus-5 claude-opus-5"},
		{settings.Options{}, all, "anthropic:claude-99-secret", "anthropic claude-99-secret claude-99-secret"},
		{settings.Options{}, all, "anthropic:secret", "anthropic secret anthropic:secret"},
		// Another one.
		{settings.Options{}, all, "deepseek:deepseek-chat", "deepseek deepseek-chat deepseek:deepseek-chat"},
		{settings.Options{}, all, "openai:gpt-4.1", "openai gpt-4.1 gpt-4.1"},
		{settings.Options{}, all, "openai-responses:gpt-4.1", "openai-responses gpt-4.1 openai-responses:gpt-4.1"},
		{settings.Options{}, all, "openrouter:moonshotai/kimi-k2:free", "openrouter moonshotai/kimi-k2:free openrouter:moonshotai/kimi-k2:free"},
		{settings.Options{}, all, "ollama:llama3.3:70b", "ollama llama3.3:70b ollama:llama3.3:70b"},
		{settings.Options{}, all, "ollama:mistral:7b", "ollama mistral:7b ollama:mistral:7b"},
		{settings.Options{}, all, "mistral:mistral-large-latest", "mistral mistral-large-latest mistral:mistral-large-latest"},
		{settings.Options{}, all, "bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0", "bedrock us.anthropic.claude-haiku-4-5-20251001-v1:0 bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0"},
		{settings.Options{}, all, "demo:demo", "demo demo demo:demo"},
		{settings.Options{Provider: "deepseek", Model: "deepseek-chat"}, all, "claude-opus-5", "anthropic claude-opus-5 claude-opus-5"},
		{settings.Options{Provider: "deepseek", Model: "deepseek-chat"}, all, "anything", "deepseek anything anything"},
		{settings.Options{Provider: "deepseek", Model: "deepseek-chat"}, all, "deepseek:deepseek-chat", "deepseek deepseek-chat deepseek-chat"},
		{settings.Options{Provider: "deepseek", Model: "deepseek-chat"}, all, "openai:deepseek-chat", "openai deepseek-chat openai:deepseek-chat"},
		{settings.Options{Model: "deepseek:deepseek-chat"}, all, "deepseek-chat", "deepseek deepseek-chat deepseek-chat"},
		{settings.Options{Provider: "bedrock"}, all, "gpt-4.1", "openai gpt-4.1 gpt-4.1"},
		// Names with colons of their own.
		{settings.Options{Provider: "ollama", Model: "mistral:7b"}, all, "mistral:7b", "ollama mistral:7b mistral:7b"},
		{settings.Options{Provider: "ollama", Model: "qwen3:8b"}, all, "mistral:latest", "ollama mistral:latest mistral:latest"},
		{settings.Options{Provider: "ollama", Model: "qwen3:8b"}, all, "llama3.3:70b", "ollama llama3.3:70b llama3.3:70b"},
		{settings.Options{Model: "mistral:7b"}, all + " OPENAI_BASE_URL=http://localhost:11434/v1", "llama3.3:70b", "openai llama3.3:70b llama3.3:70b"},
		{settings.Options{Provider: "openai", BaseURL: "http://localhost:11434/v1", Model: "mistral:7b"}, all, "mistral:7b", "openai mistral:7b mistral:7b"},
		{settings.Options{Provider: "bedrock"}, all, "us.anthropic.claude-haiku-4-5-20251001-v1:0", "bedrock us.anthropic.claude-haiku-4-5-20251001-v1:0 us.anthropic.claude-haiku-4-5-20251001-v1:0"},
		{settings.Options{Provider: "openai"}, all, "ft:gpt-4.1:me::x", "openai ft:gpt-4.1:me::x ft:gpt-4.1:me::x"},
		// Sizes.
		{settings.Options{}, all, "opus", "anthropic claude-opus-5-5 claude-opus-5-5"},
		{settings.Options{Provider: "openai"}, all, "Haiku", "anthropic claude-haiku-4-5 claude-haiku-4-5"},
		{settings.Options{Provider: "bedrock"}, all, "opus", "bedrock global.anthropic.claude-opus-5-5 global.anthropic.claude-opus-5-5"},
		{settings.Options{Provider: "bedrock"}, all, "haiku", "bedrock global.anthropic.claude-haiku-4-5-20251001-v1:0 global.anthropic.claude-haiku-4-5-20251001-v1:0"},
		{settings.Options{Provider: "vertex"}, all, "sonnet", "vertex claude-sonnet-5-5 claude-sonnet-5-5"},
		{settings.Options{Provider: "vertex"}, all, "haiku", "vertex claude-haiku-4-5@20251001 claude-haiku-4-5@20251001"},
		{settings.Options{Provider: "openrouter", Model: "x/y"}, all, "opus", "openrouter anthropic/claude-opus-5.5 anthropic/claude-opus-5.5"},
		{settings.Options{}, all, "vertex:opus", "vertex claude-opus-5-5 vertex:claude-opus-5-5"},
		{settings.Options{Model: "opus"}, all, "opus", "anthropic claude-opus-5-5 claude-opus-5-5"},
		{settings.Options{Provider: "groq", Model: "x"}, all, "opus", "! the name of the latest opus at groq is unknown; name a model, or write anthropic:opus"},
		{settings.Options{Provider: "groq", Model: "x"}, all, "anthropic:opus", "anthropic claude-opus-5-5 anthropic:claude-opus-5-5"},
		// What cannot be.
		{settings.Options{}, all, "deepseek:", "! write a model after deepseek:"},
		{settings.Options{}, all, "deepsek:deepseek-chat", "! did you mean deepseek:deepseek-chat?"},
		{settings.Options{}, all, "deepseek-chat", "! did you mean deepseek:deepseek-chat?"},
		{settings.Options{}, all, "claud-opus-5", "! did you mean claude-opus-5?"},
		{settings.Options{}, all, "nobody", "! unknown model nobody; write PROVIDER:MODEL to name its provider, such as anthropic:nobody"},
		{settings.Options{}, all, "anthropic/claude-opus-5", "! write openrouter:anthropic/claude-opus-5"},
		{settings.Options{}, all, "us.anthropic.claude-opus-5", "! write bedrock:us.anthropic.claude-opus-5"},
		{settings.Options{Provider: "bedrock"}, all, "claude-opus-5", "! at Bedrock it is global.anthropic.claude-opus-5"},
		{settings.Options{}, "ANTHROPIC_API_KEY=a", "openai:gpt-4.1", "! the model openai:gpt-4.1: the provider openai needs OPENAI_API_KEY; set it"},
		{settings.Options{}, "ANTHROPIC_API_KEY=a", "kimi:k2", "! MOONSHOT_API_KEY or KIMI_API_KEY"},
		{settings.Options{}, "ANTHROPIC_API_KEY=a OPENAGENT_API_KEY=x CODEANY_API_KEY=y", "openai:gpt-4.1", "! the provider openai needs OPENAI_API_KEY; set it"},
		{settings.Options{}, "ANTHROPIC_API_KEY=a", "azure:mine", "! the provider azure needs AZURE_OPENAI_ENDPOINT; set it"},
		{settings.Options{Model: "nobody"}, "OPENAI_API_KEY=o", "nobody", "! write PROVIDER:MODEL"},
		{settings.Options{Model: "nobody", Provider: "openai"}, "OPENAI_API_KEY=o", "nobody", "openai nobody nobody"},
	} {
		p, err := New(&c.begin, variablesOf(c.env), settings.ProviderSettings{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		at, model, err := p.Find(c.name)
		got := ""
		if err != nil {
			got = "! " + err.Error()
		} else {
			got = strings.Join([]string{at.Name.Value, model, p.Label(at, model)}, " ")
		}
		want, wrong := strings.CutPrefix(c.want, "! ")
		if wrong && (err == nil || !strings.Contains(got, want)) || !wrong && got != want {
			t.Errorf("%s in a run with %s of %s: %s, want %s", c.name, p.Model.Value, p.Name.Value, got, c.want)
		}
		if err != nil {
			continue
		}
		again, same, err := p.Find(p.Label(at, model))
		if err != nil || again.Name.Value != at.Name.Value || same != model {
			t.Errorf("%s: %s leads to %s of %s, %v", c.name, p.Label(at, model), same, again.Name.Value, err)
		}
	}
}

// TestNameOfBeginning has --model say whose the model is.
func TestNameOfBeginning(t *testing.T) {
	const keys = "ANTHROPIC_API_KEY=a OPENAI_API_KEY=o DEEPSEEK_API_KEY=d OPENAGENT_API_KEY= "
	for _, c := range []struct {
		o     settings.Options
		env   string
		files settings.ProviderSettings
		want  string // provider model base key, or ! and words of the error
	}{
		{settings.Options{Model: "deepseek:deepseek-chat"}, keys, settings.ProviderSettings{}, "deepseek deepseek-chat https://api.deepseek.com d"},
		{settings.Options{Model: "deepseek:deepseek-chat", Provider: "deepseek"}, keys, settings.ProviderSettings{}, "deepseek deepseek-chat https://api.deepseek.com d"},
		{settings.Options{Model: "deepseek:deepseek-chat"}, keys + "OPENAGENT_PROVIDER=openai", settings.ProviderSettings{}, "deepseek deepseek-chat https://api.deepseek.com d"},
		{settings.Options{}, keys + "OPENAGENT_MODEL=deepseek:deepseek-chat", settings.ProviderSettings{}, "deepseek deepseek-chat https://api.deepseek.com d"},
		{settings.Options{}, keys, settings.ProviderSettings{Model: settings.FileSetting{Setting: providers.Setting{Value: "deepseek:deepseek-chat", Source: "FILE:1"}}}, "deepseek deepseek-chat https://api.deepseek.com d"},
		{settings.Options{Model: "vertex:opus"}, keys, settings.ProviderSettings{}, "vertex claude-opus-5-5  "},
		{settings.Options{Model: "ollama:mistral:7b"}, keys, settings.ProviderSettings{}, "ollama mistral:7b http://localhost:11434/v1 "},
		{settings.Options{Model: "mistral:7b", Provider: "ollama"}, keys, settings.ProviderSettings{}, "ollama mistral:7b http://localhost:11434/v1 "},
		{settings.Options{Model: "deepseek:deepseek-chat", Provider: "openai"}, keys, settings.ProviderSettings{}, "! --provider sets the provider openai, but --model names a model of deepseek"},
		{settings.Options{Provider: "openai"}, keys, settings.ProviderSettings{Model: settings.FileSetting{Setting: providers.Setting{Value: "deepseek:deepseek-chat", Source: "FILE:1"}}}, "! FILE:1 names a model of deepseek; leave one out, or name another model"},
		{settings.Options{Model: "deepseek:x"}, keys, settings.ProviderSettings{Name: settings.FileSetting{Setting: providers.Setting{Value: "openai", Source: "MANAGED:1"}, Overrides: true, Managed: true}}, "! MANAGED:1 sets the provider openai"},
		{settings.Options{Model: "deepseek:"}, keys, settings.ProviderSettings{}, "! write a model after deepseek:"},
		// An address of a file that names another provider is not this one's.
		{settings.Options{Model: "deepseek:deepseek-chat"}, keys, settings.ProviderSettings{Name: settings.FileSetting{Setting: providers.Setting{Value: "openai", Source: "FILE:1"}}, Base: settings.FileSetting{Setting: providers.Setting{Value: "https://corp.example/v1", Source: "FILE:2"}}}, "deepseek deepseek-chat https://api.deepseek.com d"},
		{settings.Options{Model: "gpt-4.1"}, keys, settings.ProviderSettings{Name: settings.FileSetting{Setting: providers.Setting{Value: "openai", Source: "FILE:1"}}, Base: settings.FileSetting{Setting: providers.Setting{Value: "https://corp.example/v1", Source: "FILE:2"}}}, "openai gpt-4.1 https://corp.example/v1 o"},
	} {
		p, err := New(&c.o, variablesOf(c.env), c.files)
		got := strings.Join([]string{p.Name.Value, p.Model.Value, p.BaseURL.Value, p.Key.Value}, " ")
		if err != nil {
			got = "! " + err.Error()
		}
		want, wrong := strings.CutPrefix(c.want, "! ")
		if wrong && (err == nil || !strings.Contains(got, want)) || !wrong && got != want {
			t.Errorf("%+v: %s, want %s", c.o.Model, got, c.want)
		}
	}
}

// TestHeldModels has managed settings say where models are.
func TestHeldModels(t *testing.T) {
	const keys = "ANTHROPIC_API_KEY=a OPENAI_API_KEY=o DEEPSEEK_API_KEY=d"
	managed := func(value string) settings.FileSetting {
		return settings.FileSetting{Setting: providers.Setting{Value: value, Source: "MANAGED:1"}, Overrides: true, Managed: true}
	}
	for _, files := range []settings.ProviderSettings{{Name: managed("anthropic")}, {Base: managed("https://corp.example")}} {
		p, err := New(new(settings.Options), variablesOf(keys), files)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"deepseek:deepseek-chat", "openai:gpt-4.1"} {
			if m, err := p.FindModel(name); err == nil || !strings.Contains(err.Error(), "MANAGED:1 fixes the provider") {
				t.Errorf("%s: %v, %v", name, m, err)
			}
		}
		if files.Name.Managed {
			if _, err := p.FindModel("gpt-4.1"); err == nil {
				t.Error("a name that tells its maker goes around managed settings")
			}
		}
		if _, err := p.FindModel("anthropic:claude-opus-5"); err != nil {
			t.Error(err)
		}
	}
}

// TestOtherKeys sees to it that no provider gets what is another's.
func TestOtherKeys(t *testing.T) {
	p, err := New(new(settings.Options), variablesOf("ANTHROPIC_API_KEY=a OPENAI_API_KEY=o DEEPSEEK_API_KEY=d OPENAGENT_API_KEY=ours CODEANY_BASE_URL=https://ours.example"), settings.ProviderSettings{})
	if err != nil {
		t.Fatal(err)
	}
	p.Helper = func(context.Context) (string, error) { return "helped", nil }
	for name, want := range map[string]string{"deepseek:x": "d https://api.deepseek.com", "openai:gpt-4.1": "o https://api.openai.com/v1"} {
		at, _, err := p.Find(name)
		if err != nil || at.Helper != nil || at.Key.Value+" "+at.BaseURL.Value != want {
			t.Errorf("%s: key %q at %s, a helper: %v, %v", name, at.Key.Value, at.BaseURL.Value, at.Helper != nil, err)
		}
	}
	if list := strings.Join(p.Secrets(), " "); !strings.Contains(list+" ", "d ") || !strings.Contains(list, "ours") {
		t.Errorf("not all keys are secrets: %s", list)
	}
}

// TestPlaces keeps the list of providers that names of models may begin with.
// The settings accept each host of Chat Completions, and there is a client for it.
func TestHostsAreProviders(t *testing.T) {
	key, _, err := config.Find("provider")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range chat.Profiles() {
		if p.Name == "" {
			continue // any other host
		}
		if !slices.Contains(key.Words, p.Name) || !slices.Contains(settings.Providers, p.Name) {
			t.Errorf("add %s to the row provider of config/key.go", p.Name)
		}
		if got := wire.ModelOf(p.Name + ":m"); got != "m" {
			t.Errorf("add %s to internal/wire/maker.go", p.Name)
		}
	}
}

func TestPlaces(t *testing.T) {
	for _, name := range settings.Providers {
		if got := wire.ModelOf(name + ":m"); got != "m" {
			t.Errorf("%s:m is taken for the model %s", name, got)
		}
	}
}

func TestNamedModel(t *testing.T) {
	p, err := New(new(settings.Options), variablesOf("ANTHROPIC_API_KEY=a DEEPSEEK_API_KEY=deepseek-secret OPENAI_API_KEY=o"), settings.ProviderSettings{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.FindModel("deepseek:deepseek-chat")
	if err != nil || m.Name() != "deepseek:deepseek-chat" || modelinfo.Of(m).Value != m.Name() {
		t.Fatalf("%v, %v", m, err)
	}
	if s := m.(interface{ Secrets() []string }).Secrets(); len(s) == 0 || s[0] != "deepseek-secret" {
		t.Error("its key is no secret")
	}
	if _, ok := m.(llm.Counter); ok {
		t.Error("it counts tokens")
	}
	p.Name.Value, p.BaseURL = providers.OpenAIName, providers.Setting{Value: "https://corp.example", Source: "--base-url"}
	counted, err := p.FindModel("anthropic:claude-opus-5")
	if err != nil || counted.Name() != "anthropic:claude-opus-5" || llm.InfoOf(counted).Price == nil {
		t.Fatalf("%v, %v", counted, err)
	}
	if _, ok := counted.(llm.Counter); !ok {
		t.Error("it cannot count tokens any more")
	}
}

// TestConfigKeepsProvider sees to it that a model cannot choose whose models are used.
func TestConfigKeepsProvider(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "a")
	settings := ToolSettings{H: &cli.IO{Getenv: os.Getenv}, Options: new(settings.Options), Project: filepath.Join(t.TempDir())}
	for _, s := range settings.Known() {
		if s.Key == "no_color" {
			continue
		}
		for name, ok := range map[string]bool{"claude-opus-5": true, "llama3.3:70b": true, "deepseek:x": false, "ollama:x": false, "mistral:7b": false} {
			if err := s.Check(json.RawMessage(`"` + name + `"`)); (err == nil) != ok {
				t.Errorf("%s: %s: %v", s.Key, name, err)
			}
		}
	}
}
