// Package firstrun helps a person whose run has no model: it finds model servers on this machine,
// lists the providers whose keys can be entered, and keeps what the person chooses. [AskInLines] asks
// in lines of plain text; a drawn screen uses the functions behind it.
//
//	if name, ok := provider.Keyless(err); ok {
//		servers := firstrun.FindServers(ctx)
//		…
//		said, err := firstrun.UseServer(ctx, h, servers[0], servers[0].Models[0])
//	}
//
// What it keeps goes into the settings of the user, and keys into package keys. Open the run again
// then.
package firstrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/keys"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/chat"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/llm/helper"
)

// A Provider takes an API key.
type Provider struct {
	Name     string // as --provider takes it
	Title    string // for people
	Variable string // the environment variable of its key
	Model    string // that runs use without further words; "": one must be named
}

// titles are the names of providers for people.
var titles = map[string]string{
	providers.AnthropicName: "Anthropic", providers.OpenAIName: "OpenAI", "openrouter": "OpenRouter", "vercel": "Vercel AI Gateway", "deepseek": "DeepSeek",
	"glm": "GLM", "kimi": "Kimi", "groq": "Groq", "xai": "xAI", "mistral": "Mistral", "gemini": "Gemini", "huggingface": "Hugging Face", "avian": "Avian",
	"ollama": "Ollama", "llamacpp": "llama.cpp", "vllm": "vLLM", "lmstudio": "LM Studio",
}

// Providers lists the providers whose keys a person can enter, the usual ones first.
func Providers() []Provider {
	var all []Provider
	for _, name := range keys.Providers() {
		if name == providers.AzureName {
			continue // it needs the address of a resource too
		}
		p := Provider{Name: name, Title: titles[name], Model: providers.DefaultModel(name).Value}
		if host, ok := chat.ProfileOf(name); ok && slices.Contains(providers.Hosts, name) {
			if host.Keyless {
				continue
			}
			p.Variable = host.Keys[0]
		} else {
			p.Variable = providers.Variables("API_KEY", name)[1]
		}
		all = append(all, p)
	}
	return all
}

// SaveKey stores the key of a provider, and makes the provider that of the user's settings. Model is
// needed for a provider without one of its own. It returns a sentence about what it has kept.
func SaveKey(ctx context.Context, h *cli.IO, name, key, model string) (said string, err error) {
	key = strings.TrimSpace(key)
	at := slices.IndexFunc(Providers(), func(p Provider) bool { return p.Name == name })
	switch {
	case at < 0:
		return "", cli.Usagef("there is no provider %q that takes a key%s", cli.Clip(name), cli.Suggestion(name, keys.Providers()))
	case model == "" && Providers()[at].Model == "":
		return "", cli.Usagef("%w", provider.NoModelError(name))
	}
	if err := keys.Check(key); err != nil {
		return "", cli.Usagef("the key of %s: %w", name, err)
	}
	h.Secrets = append(h.Secrets, key)
	store, err := keys.Open(h)
	if err != nil {
		return "", err
	}
	place, err := store.Set(ctx, name, key, keys.Anywhere)
	if err != nil {
		return "", cli.Usagef("storing the key of %s: %w", name, err)
	}
	where := "the keyring of the system"
	if place != keys.Keyring {
		home, _ := h.Home() // it was found before
		where = filepath.Join(home, string(place)) + ", which only you can read"
	}
	changes := []change{{"provider", name}}
	if model != "" {
		changes = append(changes, change{"model", model})
	}
	file, err := save(ctx, h, changes...)
	if err != nil {
		return "", fmt.Errorf("the key of %s is stored in %s, but not the provider: %w", name, where, err)
	}
	return fmt.Sprintf("Stored the key of %s in %s. %s has the provider.", name, where, file), nil
}

// SaveKeyCommand keeps a command that prints the key, after it has run once. It returns a sentence
// about what it has kept.
func SaveKeyCommand(ctx context.Context, h *cli.IO, command string) (said string, err error) {
	if command = strings.TrimSpace(command); command == "" {
		return "", cli.Usagef("the command is empty; write one that prints the key, such as pass show anthropic")
	}
	key, err := (&helper.Helper{Command: command, TTL: -1}).Key(ctx)
	if err == nil {
		err = keys.Check(key)
	}
	if err != nil {
		return "", cli.Usagef("the key command: %w", err)
	}
	h.Secrets = append(h.Secrets, key)
	file, err := save(ctx, h, change{"apiKeyHelper", command})
	if err != nil {
		return "", err
	}
	return "The command printed a key. " + file + " has the command.", nil
}

// UseServer makes a server and one of its models those of the user's settings. It returns a sentence
// about what it has kept.
func UseServer(ctx context.Context, h *cli.IO, s Server, model string) (said string, err error) {
	if !slices.Contains(s.Models, model) {
		return "", cli.Usagef("%s has no model %q%s", s.Title, cli.Clip(model), cli.Suggestion(model, s.Models))
	}
	base := s.BaseURL
	if providers.DefaultBase(s.Provider).Value == base {
		base = "" // one that is kept would be that of another provider
	}
	file, err := save(ctx, h, change{"provider", s.Provider}, change{"model", model}, change{"base_url", base})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s has %s with %s.", file, s.Title, model), nil
}

// A change sets a setting. "" removes it.
type change struct{ key, value string }

// save changes the settings of the user. It returns their file.
func save(ctx context.Context, h *cli.IO, changes ...change) (file string, err error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return "", err
	}
	f, ok := settings.ConfigOptions(h, new(settings.Options), dir).File(config.User)
	if !ok {
		return "", cli.Usagef("the home folder is unknown; set OPENAGENT_HOME")
	}
	var errs []error
	for _, c := range changes {
		var value json.RawMessage
		if c.value != "" {
			value = settings.EncodeValue(c.value)
		}
		_, err := config.Set(ctx, f, c.key, value)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return "", cli.Usagef("%w", err)
	}
	return f.Path, nil
}
