package provider

import (
	"slices"

	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/prompttools"
)

// profile returns what the host of p wants different, nil if it is none of Chat Completions.
func (p Provider) profile() *openai.Profile {
	if p.Name.Value == settings.OpenAIName {
		return openai.ProfileAt(p.BaseURL.Value)
	}
	if slices.Contains(settings.Hosts, p.Name.Value) {
		host, _ := openai.ProfileOf(p.Name.Value)
		return host
	}
	return nil
}

// keyVariables are the variables that may hold the key, in the order in which they count.
func (p Provider) keyVariables() []string {
	if IsPlatform(p.Name.Value) {
		return nil
	}
	names := variables("API_KEY", "")
	if host := p.profile(); host != nil {
		names = append(names, host.Keys...)
	}
	for _, name := range variables("API_KEY", p.Name.Value) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// inPrompt returns m with its tools in the prompt, if that was asked for.
func (p Provider) inPrompt(m llm.Model) llm.Model {
	if p.ToolsInPrompt {
		return prompttools.Wrap(m)
	}
	return m
}
