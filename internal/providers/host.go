package providers

import (
	"slices"

	"github.com/openagent-go/agent/internal/chat"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/prompttools"
)

// profile returns what the host of p wants different, nil if it is none of Chat Completions.
func (p Provider) profile() *chat.Profile {
	if p.Name.Value == OpenAIName {
		return chat.ProfileAt(p.BaseURL.Value)
	}
	if slices.Contains(Hosts, p.Name.Value) {
		host, _ := chat.ProfileOf(p.Name.Value)
		return host
	}
	if p.ownHost() {
		host := *chat.ProfileAt(p.BaseURL.Value)
		host.Name, host.Keys, host.Keyless = p.Name.Value, Variables("API_KEY", p.Name.Value)[1:], true
		return &host
	}
	return nil
}

// ownHost reports whether the program has named this provider and its address.
func (p Provider) ownHost() bool {
	return p.BaseURLs[p.Name.Value] != "" && !slices.Contains(Names, p.Name.Value)
}

// KeyVariables are the variables that may hold the key, in the order in which they count.
func (p Provider) KeyVariables() []string {
	if IsPlatform(p.Name.Value) {
		return nil
	}
	names := Variables("API_KEY", "")
	if host := p.profile(); host != nil {
		names = append(names, host.Keys...)
	}
	for _, name := range Variables("API_KEY", p.Name.Value) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// StoredKey returns the key that the user has stored for the provider, or for the known host at
// its address.
func (p Provider) StoredKey() Setting {
	if IsPlatform(p.Name.Value) {
		return Setting{}
	}
	if host := p.profile(); host != nil && host.Name != p.Name.Value && host.Name != "" {
		if s := p.stored(host.Name); s.Value != "" {
			return s
		}
	}
	return p.stored(p.Name.Value)
}

func (p Provider) stored(name string) Setting {
	if p.Stored == nil {
		return Setting{}
	}
	return p.Stored(name)
}

// inPrompt returns m with its tools in the prompt, if that was asked for.
func (p Provider) inPrompt(m llm.Model) llm.Model {
	if p.ToolsInPrompt {
		return prompttools.Wrap(m)
	}
	return m
}
