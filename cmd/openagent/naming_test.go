package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

// variablesOf makes an environment of NAME=value ….
func variablesOf(text string) environ {
	env := map[string]string{}
	for _, kv := range strings.Fields(text) {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return func(name string) string { return env[name] }
}

// TestNames goes through names of models as people give them.
func TestNames(t *testing.T) {
	const all = "ANTHROPIC_API_KEY=a OPENAI_API_KEY=o DEEPSEEK_API_KEY=d MISTRAL_API_KEY=m OPENROUTER_API_KEY=r"
	for _, c := range []struct {
		begin options
		env   string
		name  string
		want  string // provider, its model, the name that leads there again, or ! and words of the error
	}{
		// The provider in use.
		{options{}, all, "claude-opus-5", "anthropic claude-opus-5 claude-opus-5"},
		{options{}, all, "anthropic:claude-opus-5", "anthropic claude-opus-5 claude-opus-5"},
		{options{}, all, "anthropic:claude-99-secret", "anthropic claude-99-secret claude-99-secret"},
		{options{}, all, "anthropic:secret", "anthropic secret anthropic:secret"},
		// Another one.
		{options{}, all, "deepseek:deepseek-chat", "deepseek deepseek-chat deepseek:deepseek-chat"},
		{options{}, all, "openai:gpt-4.1", "openai gpt-4.1 gpt-4.1"},
		{options{}, all, "openai-responses:gpt-4.1", "openai-responses gpt-4.1 openai-responses:gpt-4.1"},
		{options{}, all, "openrouter:moonshotai/kimi-k2:free", "openrouter moonshotai/kimi-k2:free openrouter:moonshotai/kimi-k2:free"},
		{options{}, all, "ollama:llama3.3:70b", "ollama llama3.3:70b ollama:llama3.3:70b"},
		{options{}, all, "ollama:mistral:7b", "ollama mistral:7b ollama:mistral:7b"},
		{options{}, all, "mistral:mistral-large-latest", "mistral mistral-large-latest mistral:mistral-large-latest"},
		{options{}, all, "bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0", "bedrock us.anthropic.claude-haiku-4-5-20251001-v1:0 bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0"},
		{options{}, all, "demo:demo", "demo demo demo:demo"},
		{options{provider: "deepseek", model: "deepseek-chat"}, all, "claude-opus-5", "anthropic claude-opus-5 claude-opus-5"},
		{options{provider: "deepseek", model: "deepseek-chat"}, all, "anything", "deepseek anything anything"},
		{options{provider: "deepseek", model: "deepseek-chat"}, all, "deepseek:deepseek-chat", "deepseek deepseek-chat deepseek-chat"},
		{options{provider: "deepseek", model: "deepseek-chat"}, all, "openai:deepseek-chat", "openai deepseek-chat openai:deepseek-chat"},
		{options{model: "deepseek:deepseek-chat"}, all, "deepseek-chat", "deepseek deepseek-chat deepseek-chat"},
		{options{provider: "bedrock"}, all, "gpt-4.1", "openai gpt-4.1 gpt-4.1"},
		// Names with colons of their own.
		{options{provider: "ollama", model: "mistral:7b"}, all, "mistral:7b", "ollama mistral:7b mistral:7b"},
		{options{provider: "ollama", model: "qwen3:8b"}, all, "mistral:latest", "ollama mistral:latest mistral:latest"},
		{options{provider: "ollama", model: "qwen3:8b"}, all, "llama3.3:70b", "ollama llama3.3:70b llama3.3:70b"},
		{options{model: "mistral:7b"}, all + " OPENAI_BASE_URL=http://localhost:11434/v1", "llama3.3:70b", "openai llama3.3:70b llama3.3:70b"},
		{options{provider: "openai", base: "http://localhost:11434/v1", model: "mistral:7b"}, all, "mistral:7b", "openai mistral:7b mistral:7b"},
		{options{provider: "bedrock"}, all, "us.anthropic.claude-haiku-4-5-20251001-v1:0", "bedrock us.anthropic.claude-haiku-4-5-20251001-v1:0 us.anthropic.claude-haiku-4-5-20251001-v1:0"},
		{options{provider: "openai"}, all, "ft:gpt-4.1:me::x", "openai ft:gpt-4.1:me::x ft:gpt-4.1:me::x"},
		// Sizes.
		{options{}, all, "opus", "anthropic claude-opus-5-5 claude-opus-5-5"},
		{options{provider: "openai"}, all, "Haiku", "anthropic claude-haiku-4-5 claude-haiku-4-5"},
		{options{provider: "bedrock"}, all, "opus", "bedrock global.anthropic.claude-opus-5-5 global.anthropic.claude-opus-5-5"},
		{options{provider: "bedrock"}, all, "haiku", "bedrock global.anthropic.claude-haiku-4-5-20251001-v1:0 global.anthropic.claude-haiku-4-5-20251001-v1:0"},
		{options{provider: "vertex"}, all, "sonnet", "vertex claude-sonnet-5-5 claude-sonnet-5-5"},
		{options{provider: "vertex"}, all, "haiku", "vertex claude-haiku-4-5@20251001 claude-haiku-4-5@20251001"},
		{options{provider: "openrouter", model: "x/y"}, all, "opus", "openrouter anthropic/claude-opus-5.5 anthropic/claude-opus-5.5"},
		{options{}, all, "vertex:opus", "vertex claude-opus-5-5 vertex:claude-opus-5-5"},
		{options{model: "opus"}, all, "opus", "anthropic claude-opus-5-5 claude-opus-5-5"},
		{options{provider: "groq", model: "x"}, all, "opus", "! what the latest opus is called at groq is not known; name a model, or write anthropic:opus"},
		{options{provider: "groq", model: "x"}, all, "anthropic:opus", "anthropic claude-opus-5-5 anthropic:claude-opus-5-5"},
		// What cannot be.
		{options{}, all, "deepseek:", "! in deepseek:MODEL the model is missing"},
		{options{}, all, "deepsek:deepseek-chat", "! did you mean deepseek:deepseek-chat?"},
		{options{}, all, "deepseek-chat", "! did you mean deepseek:deepseek-chat?"},
		{options{}, all, "claud-opus-5", "! did you mean claude-opus-5?"},
		{options{}, all, "nobody", "! nothing is known of a model nobody; write PROVIDER:MODEL to say who has it, such as anthropic:nobody"},
		{options{}, all, "anthropic/claude-opus-5", "! write openrouter:anthropic/claude-opus-5"},
		{options{}, all, "us.anthropic.claude-opus-5", "! write bedrock:us.anthropic.claude-opus-5"},
		{options{provider: "bedrock"}, all, "claude-opus-5", "! at Bedrock it is global.anthropic.claude-opus-5"},
		{options{}, "ANTHROPIC_API_KEY=a", "openai:gpt-4.1", "! the model openai:gpt-4.1: it is reached through openai, and OPENAI_API_KEY is not set"},
		{options{}, "ANTHROPIC_API_KEY=a", "kimi:k2", "! MOONSHOT_API_KEY or KIMI_API_KEY"},
		{options{}, "ANTHROPIC_API_KEY=a OPENAGENT_API_KEY=x CODEANY_API_KEY=y", "openai:gpt-4.1", "! OPENAI_API_KEY is not set"},
		{options{}, "ANTHROPIC_API_KEY=a", "azure:mine", "! AZURE_OPENAI_ENDPOINT is not set"},
		{options{model: "nobody"}, "OPENAI_API_KEY=o", "nobody", "! write PROVIDER:MODEL"},
		{options{model: "nobody", provider: "openai"}, "OPENAI_API_KEY=o", "nobody", "openai nobody nobody"},
	} {
		p, err := newProvider(&c.begin, variablesOf(c.env), kept{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		at, model, err := p.find(c.name)
		got := ""
		if err != nil {
			got = "! " + err.Error()
		} else {
			got = strings.Join([]string{at.name.value, model, p.label(at, model)}, " ")
		}
		want, wrong := strings.CutPrefix(c.want, "! ")
		if wrong && (err == nil || !strings.Contains(got, want)) || !wrong && got != want {
			t.Errorf("%s in a run with %s of %s: %s, want %s", c.name, p.model.value, p.name.value, got, c.want)
		}
		if err != nil {
			continue
		}
		again, same, err := p.find(p.label(at, model))
		if err != nil || again.name.value != at.name.value || same != model {
			t.Errorf("%s: %s leads to %s of %s, %v", c.name, p.label(at, model), same, again.name.value, err)
		}
	}
}

// TestNameOfBeginning has --model say whose the model is.
func TestNameOfBeginning(t *testing.T) {
	const keys = "ANTHROPIC_API_KEY=a OPENAI_API_KEY=o DEEPSEEK_API_KEY=d OPENAGENT_API_KEY= "
	for _, c := range []struct {
		o     options
		env   string
		files kept
		want  string // provider model base key, or ! and words of the error
	}{
		{options{model: "deepseek:deepseek-chat"}, keys, kept{}, "deepseek deepseek-chat https://api.deepseek.com d"},
		{options{model: "deepseek:deepseek-chat", provider: "deepseek"}, keys, kept{}, "deepseek deepseek-chat https://api.deepseek.com d"},
		{options{model: "deepseek:deepseek-chat"}, keys + "OPENAGENT_PROVIDER=openai", kept{}, "deepseek deepseek-chat https://api.deepseek.com d"},
		{options{}, keys + "OPENAGENT_MODEL=deepseek:deepseek-chat", kept{}, "deepseek deepseek-chat https://api.deepseek.com d"},
		{options{}, keys, kept{model: keptSetting{setting: setting{"deepseek:deepseek-chat", "FILE:1"}}}, "deepseek deepseek-chat https://api.deepseek.com d"},
		{options{model: "vertex:opus"}, keys, kept{}, "vertex claude-opus-5-5  "},
		{options{model: "ollama:mistral:7b"}, keys, kept{}, "ollama mistral:7b http://localhost:11434/v1 "},
		{options{model: "mistral:7b", provider: "ollama"}, keys, kept{}, "ollama mistral:7b http://localhost:11434/v1 "},
		{options{model: "deepseek:deepseek-chat", provider: "openai"}, keys, kept{}, "! --provider says that the provider is openai, and --model names a model of deepseek"},
		{options{provider: "openai"}, keys, kept{model: keptSetting{setting: setting{"deepseek:deepseek-chat", "FILE:1"}}}, "! FILE:1 names a model of deepseek; leave one out, or name another model"},
		{options{model: "deepseek:x"}, keys, kept{name: keptSetting{setting: setting{"openai", "MANAGED:1"}, above: true, managed: true}}, "! MANAGED:1 says that the provider is openai"},
		{options{model: "deepseek:"}, keys, kept{}, "! in deepseek:MODEL the model is missing"},
		// An address of a file that names another provider is not this one's.
		{options{model: "deepseek:deepseek-chat"}, keys, kept{name: keptSetting{setting: setting{"openai", "FILE:1"}}, base: keptSetting{setting: setting{"https://corp.example/v1", "FILE:2"}}}, "deepseek deepseek-chat https://api.deepseek.com d"},
		{options{model: "gpt-4.1"}, keys, kept{name: keptSetting{setting: setting{"openai", "FILE:1"}}, base: keptSetting{setting: setting{"https://corp.example/v1", "FILE:2"}}}, "openai gpt-4.1 https://corp.example/v1 o"},
	} {
		p, err := newProvider(&c.o, variablesOf(c.env), c.files)
		got := strings.Join([]string{p.name.value, p.model.value, p.base.value, p.key.value}, " ")
		if err != nil {
			got = "! " + err.Error()
		}
		want, wrong := strings.CutPrefix(c.want, "! ")
		if wrong && (err == nil || !strings.Contains(got, want)) || !wrong && got != want {
			t.Errorf("%+v: %s, want %s", c.o.model, got, c.want)
		}
	}
}

// TestHeldModels has managed settings say where models are.
func TestHeldModels(t *testing.T) {
	const keys = "ANTHROPIC_API_KEY=a OPENAI_API_KEY=o DEEPSEEK_API_KEY=d"
	managed := func(value string) keptSetting {
		return keptSetting{setting: setting{value, "MANAGED:1"}, above: true, managed: true}
	}
	for _, files := range []kept{{name: managed("anthropic")}, {base: managed("https://corp.example")}} {
		p, err := newProvider(new(options), variablesOf(keys), files)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"deepseek:deepseek-chat", "openai:gpt-4.1"} {
			if m, err := p.llm(name); err == nil || !strings.Contains(err.Error(), "MANAGED:1 says where models are") {
				t.Errorf("%s: %v, %v", name, m, err)
			}
		}
		if files.name.managed {
			if _, err := p.llm("gpt-4.1"); err == nil {
				t.Error("a name that tells its maker goes around managed settings")
			}
		}
		if _, err := p.llm("anthropic:claude-opus-5"); err != nil {
			t.Error(err)
		}
	}
}

// TestOtherKeys sees to it that no provider gets what is another's.
func TestOtherKeys(t *testing.T) {
	p, err := newProvider(new(options), variablesOf("ANTHROPIC_API_KEY=a OPENAI_API_KEY=o DEEPSEEK_API_KEY=d OPENAGENT_API_KEY=ours CODEANY_BASE_URL=https://ours.example"), kept{})
	if err != nil {
		t.Fatal(err)
	}
	p.helper = func(context.Context) (string, error) { return "helped", nil }
	for name, want := range map[string]string{"deepseek:x": "d https://api.deepseek.com", "openai:gpt-4.1": "o https://api.openai.com/v1"} {
		at, _, err := p.find(name)
		if err != nil || at.helper != nil || at.key.value+" "+at.base.value != want {
			t.Errorf("%s: key %q at %s, a helper: %v, %v", name, at.key.value, at.base.value, at.helper != nil, err)
		}
	}
	if list := strings.Join(p.secrets(), " "); !strings.Contains(list+" ", "d ") || !strings.Contains(list, "ours") {
		t.Errorf("not all keys are secrets: %s", list)
	}
}

// TestPlaces keeps the list of providers that names of models may begin with.
func TestPlaces(t *testing.T) {
	for _, name := range providers {
		if got := wire.ModelOf(name + ":m"); got != "m" {
			t.Errorf("%s:m is taken for the model %s", name, got)
		}
	}
}

func TestNamedModel(t *testing.T) {
	p, err := newProvider(new(options), variablesOf("ANTHROPIC_API_KEY=a DEEPSEEK_API_KEY=deepseek-secret OPENAI_API_KEY=o"), kept{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.llm("deepseek:deepseek-chat")
	if err != nil || m.Name() != "deepseek:deepseek-chat" || llm.DescribeModel(m).Value != m.Name() {
		t.Fatalf("%v, %v", m, err)
	}
	if s := m.(interface{ Secrets() []string }).Secrets(); len(s) == 0 || s[0] != "deepseek-secret" {
		t.Error("its key is no secret")
	}
	if _, ok := m.(llm.Counter); ok {
		t.Error("it counts tokens")
	}
	p.name.value, p.base = openaiName, setting{"https://corp.example", "--base-url"}
	counted, err := p.llm("anthropic:claude-opus-5")
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
	settings := toolSettings{h: &host{getenv: os.Getenv}, options: new(options), project: filepath.Join(t.TempDir())}
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

// TestUnthinking has what is said where an effort has no effect.
func TestUnthinking(t *testing.T) {
	for _, c := range []struct {
		name  string
		think llm.Thought
		tools int
		said  bool
	}{
		{"openai:gpt-5.4", llm.Thought{Effort: "high"}, 1, true},
		{"openai:gpt-5.4", llm.Thought{Budget: 1}, 1, true},
		{"openai:gpt-5.4", llm.Thought{Mode: llm.ThinkOff}, 1, false},
		{"openai:gpt-5.4", llm.Thought{}, 1, false},
		{"openai:gpt-5.4", llm.Thought{Effort: "high"}, 0, false},
		{"openai-responses:gpt-5.4", llm.Thought{Effort: "high"}, 1, false},
		{"openrouter:openai/gpt-5.4", llm.Thought{Effort: "high"}, 1, false},
		{"openai:gpt-5.2", llm.Thought{Effort: "high"}, 1, false},
		{"anthropic:claude-opus-5", llm.Thought{Effort: "high"}, 1, false},
	} {
		p, err := newProvider(new(options), variablesOf("ANTHROPIC_API_KEY=a OPENAI_API_KEY=o OPENROUTER_API_KEY=r"), kept{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := p.llm(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := unthinking(m, c.think, c.tools); (got != "") != c.said {
			t.Errorf("%s with %+v and %d tools: %q", c.name, c.think, c.tools, got)
		}
		p.toolsInPrompt = true
		if m, err = p.llm(c.name); err != nil || unthinking(m, c.think, c.tools) != "" {
			t.Errorf("%s with its tools in the prompt: %v", c.name, err)
		}
	}
}
