package models_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/models"
)

// environment returns the Getenv of "NAME=value …".
func environment(text string) func(string) string {
	env := map[string]string{}
	for _, kv := range strings.Fields(text) {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return func(name string) string { return env[name] }
}

func TestOpen(t *testing.T) {
	const all = "ANTHROPIC_API_KEY=a OPENAI_API_KEY=o DEEPSEEK_API_KEY=d OPENROUTER_API_KEY=r AZURE_OPENAI_ENDPOINT=https://r.openai.azure.com AZURE_OPENAI_API_KEY=z"
	for _, c := range []struct{ env, name, want string }{ // want: name and provider, or ! and words of the error
		{all, "anthropic/claude-sonnet-4-6", "claude-sonnet-4-6 anthropic"},
		{all, "anthropic:claude-sonnet-4-6", "claude-sonnet-4-6 anthropic"},
		{all, " claude-sonnet-4-6 ", "claude-sonnet-4-6 anthropic"},
		{all, "gpt-5.2", "gpt-5.2 openai"},
		{all, "openai/gpt-5.2", "gpt-5.2 openai"},
		{all, "openai-responses/gpt-5.2", "openai-responses:gpt-5.2 openai-responses"},
		{all, "azure/gpt-5.2", "azure:gpt-5.2 openai"},
		{all, "deepseek/deepseek-chat", "deepseek:deepseek-chat openai"},
		{all, "openrouter/anthropic/claude-opus-5", "openrouter:anthropic/claude-opus-5 openai"},
		{all, "openrouter:moonshotai/kimi-k2:free", "openrouter:moonshotai/kimi-k2:free openai"},
		{all, "bedrock/global.anthropic.claude-sonnet-4-6", "bedrock:global.anthropic.claude-sonnet-4-6 bedrock"},
		{all, "vertex/claude-sonnet-5-5", "vertex:claude-sonnet-5-5 vertex"},
		{all, "vertex/sonnet", "vertex:claude-sonnet-5-5 vertex"},
		{all, "opus", "claude-opus-5-5 anthropic"},
		{all, "anthropic/a-new-model", "anthropic:a-new-model anthropic"},
		{"", "ollama/llama3.3:70b", "ollama:llama3.3:70b openai"},
		{"", "lmstudio/qwen3", "lmstudio:qwen3 openai"},
		{"OPENAI_BASE_URL=http://localhost:8000/v1", "meta-llama/Llama-3.3-70B", "meta-llama/Llama-3.3-70B openai"},
		{"OPENAI_API_KEY=o", "", "gpt-5.2 openai"},
		{"ANTHROPIC_API_KEY=a", "", "claude-sonnet-4-6 anthropic"},
		{"ANTHROPIC_API_KEY=a ANTHROPIC_MODEL=claude-opus-5", "", "claude-opus-5 anthropic"},

		{"", "", "! the provider anthropic needs ANTHROPIC_API_KEY"},
		{"", "anthropic/claude-sonnet-4-6", "! the provider anthropic needs ANTHROPIC_API_KEY"},
		{"OPENAGENT_API_KEY=x OPENAI_API_KEY=o", "claude-opus-5", "! the provider anthropic needs ANTHROPIC_API_KEY"},
		{"", "kimi/k2", "! the provider kimi needs MOONSHOT_API_KEY or KIMI_API_KEY"},
		{"", "azure/x", "! the provider azure needs AZURE_OPENAI_ENDPOINT"},
		{all, "antropic/claude-opus-5", "! there is no provider antropic; did you mean anthropic/claude-opus-5?"},
		{"", "antropic/claude-opus-5", "! there is no provider antropic; did you mean anthropic/claude-opus-5?"},
		{all, "claud-opus-5", "! did you mean claude-opus-5?"},
		{all, "nobody", "! unknown model nobody"},
		{all, "anthropic", "! anthropic is a provider; write a model after anthropic/"},
		{all, "deepseek/", "! write a model after deepseek/"},
		{all, "demo/demo", "! demo"},
		{all, "groq/opus", "! GROQ_API_KEY"},
		{all + " GROQ_API_KEY=g", "groq/opus", "! the name of the latest opus at groq is unknown"},
		{"DEEPSEEK_API_KEY=d DEEPSEEK_BASE_URL=nowhere", "deepseek/x", `! DEEPSEEK_BASE_URL: "nowhere" is not an address`},
	} {
		s := models.Source{Getenv: environment(c.env)}
		m, err := s.Open(c.name)
		want, wrong := strings.CutPrefix(c.want, "! ")
		if wrong {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, %v, want %s", c.name, m, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.name, err)
			continue
		}
		if got := m.Name() + " " + llm.InfoOf(m).Provider; got != want {
			t.Errorf("%q: %s, want %s", c.name, got, want)
		}
		again, err := s.Open(m.Name())
		if err != nil || again.Name() != m.Name() {
			t.Errorf("%q: its name %s leads to %v, %v", c.name, m.Name(), again, err)
		}
	}
}

func TestNoKey(t *testing.T) {
	s := models.Source{Getenv: environment("")}
	const want = "opening the default model: the provider anthropic needs ANTHROPIC_API_KEY; set it; or set the key of another provider, or name a model"
	if _, err := s.Open(""); !errors.Is(err, models.ErrNoKey) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := s.Open("openai/gpt-5.2"); !errors.Is(err, models.ErrNoKey) {
		t.Errorf("%v", err)
	}
	if _, err := s.Open("nobody/x"); errors.Is(err, models.ErrNoKey) == strings.Contains(err.Error(), "unknown") {
		t.Errorf("%v", err)
	}
	s.Getenv = environment("ANTHROPIC_API_KEY=a")
	if _, err := s.Open("nobody"); err == nil || errors.Is(err, models.ErrNoKey) {
		t.Errorf("%v", err)
	}
}

// A sent request shows where a model is reached, and with which key.
type sent struct{ url, key string }

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.url, s.key = r.URL.String(), r.Header.Get("Authorization")+r.Header.Get("X-Api-Key")+r.Header.Get("Api-Key")
	return &http.Response{StatusCode: 400, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

// Requests go to the address and with the key that the source says.
func TestWhere(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "of the process")
	t.Setenv("OPENAGENT_API_KEY", "of the command")
	t.Setenv("AWS_REGION", "eu-west-1")
	fetched := func(context.Context) (string, error) { return "fetched", nil }
	for _, c := range []struct {
		source          models.Source
		name, url, keys string
	}{
		{models.Source{Getenv: environment("ANTHROPIC_API_KEY=a")}, "anthropic/claude-opus-5", "https://api.anthropic.com/v1/messages", "a"},
		{models.Source{Getenv: environment("ANTHROPIC_API_KEY=a"), Keys: map[string]string{"anthropic": "mine"}}, "claude-opus-5", "https://api.anthropic.com/v1/messages", "mine"},
		{models.Source{Getenv: environment("ANTHROPIC_API_KEY=a"), Keys: map[string]string{"anthropic": "mine"}, KeyFuncs: map[string]llm.KeyFunc{"anthropic": fetched}}, "claude-opus-5", "https://api.anthropic.com/v1/messages", "fetched"},
		{models.Source{Getenv: environment("DEEPSEEK_API_KEY=d DEEPSEEK_BASE_URL=https://proxy.example")}, "deepseek/x", "https://proxy.example/chat/completions", "Bearer d"},
		{models.Source{Getenv: environment("DEEPSEEK_API_KEY=d DEEPSEEK_BASE_URL=https://proxy.example"), BaseURLs: map[string]string{"deepseek": "https://other.example"}}, "deepseek/x", "https://other.example/chat/completions", "Bearer d"},
		{models.Source{Getenv: environment("")}, "ollama/x", "http://localhost:11434/v1/chat/completions", ""},
		// A host of one's own gets no key of another provider.
		{models.Source{Getenv: environment("OPENAI_API_KEY=o"), BaseURLs: map[string]string{"corp": "https://llm.corp.example/v1"}}, "corp/qwen3", "https://llm.corp.example/v1/chat/completions", ""},
		{models.Source{Getenv: environment("MY_CORP_API_KEY=c"), BaseURLs: map[string]string{"my-corp": "https://llm.corp.example/v1"}}, "my-corp/qwen3", "https://llm.corp.example/v1/chat/completions", "Bearer c"},
		{models.Source{Getenv: environment(""), Keys: map[string]string{"corp": "k"}, BaseURLs: map[string]string{"corp": "https://llm.corp.example/v1"}}, "corp:org/qwen3", "https://llm.corp.example/v1/chat/completions", "Bearer k"},
		{models.Source{Getenv: environment(""), Keys: map[string]string{"bedrock": "k"}, BaseURLs: map[string]string{"bedrock": "https://aws.example"}}, "bedrock/global.anthropic.claude-sonnet-4-6", "https://aws.example/model/global.anthropic.claude-sonnet-4-6/invoke-with-response-stream", "Bearer k"},
	} {
		var s sent
		c.source.HTTP = &http.Client{Transport: &s}
		m, err := c.source.Open(c.name)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if _, err := llm.Collect(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.UserText("hi")}, MaxTokens: 10}); err == nil {
			t.Errorf("%s: a refusal is no error", c.name)
		}
		if s.url != c.url || s.key != c.keys {
			t.Errorf("%s: %s with key %q, want %s with %q", c.name, s.url, s.key, c.url, c.keys)
		}
	}
}

func TestCatalog(t *testing.T) {
	var table catalog.Table
	price := &llm.Price{Input: 1, Output: 2}
	if err := table.Register(catalog.Entry{Name: "house-model", Provider: "openai", Window: 12_345, Price: price}); err != nil {
		t.Fatal(err)
	}
	if err := table.Register(catalog.Entry{Name: "its-model", Provider: "corp", Window: 12_345, Price: price}); err != nil {
		t.Fatal(err)
	}
	s := models.Source{Getenv: environment("OPENAI_API_KEY=o"), Catalog: &table, BaseURLs: map[string]string{"corp": "https://llm.corp.example/v1"}}
	for name, want := range map[string]string{"openai/house-model": "house-model", "house-model": "house-model", "corp/house-model": "corp:house-model", "corp/its-model": "its-model", "its-model": "its-model"} {
		m, err := s.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if i := llm.InfoOf(m); i.Window != 12_345 || i.Price == nil || m.Name() != want {
			t.Errorf("%s: %s, %+v", name, m.Name(), i)
		}
	}
}

func TestProviders(t *testing.T) {
	all := map[string]models.Provider{}
	for _, p := range models.Providers() {
		all[p.Name] = p
		if len(p.BaseURLs) == 0 || (len(p.Keys) == 0) != (p.Name == "bedrock" || p.Name == "vertex") {
			t.Errorf("%+v", p)
		}
		for _, name := range append(p.Keys, p.BaseURLs...) {
			if strings.HasPrefix(name, "OPENAGENT_") {
				t.Errorf("%s has a variable of the command: %s", p.Name, name)
			}
		}
		// Each can be opened with a key and an address.
		if _, err := (models.Source{Getenv: environment(""), Keys: map[string]string{p.Name: "k"}, BaseURLs: map[string]string{p.Name: "https://host.example"}}).Open(p.Name + "/some-model"); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	if k := all["kimi"]; k.BaseURL != "https://api.moonshot.ai/v1" || k.Keys[0] != "MOONSHOT_API_KEY" || k.BaseURLs[0] != "KIMI_BASE_URL" || k.Keyless {
		t.Errorf("%+v", k)
	}
	if o := all["ollama"]; !o.Keyless {
		t.Errorf("%+v", o)
	}
	if len(all) < 21 || all["demo"].Name != "" {
		t.Errorf("%d providers", len(all))
	}
}
