package main

import (
	"slices"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/prompttools"
)

// hosts are the providers that speak OpenAI's Chat Completions in a way of their
// own. Azure is not among them, as it has no address that is known beforehand:
// --provider openai and its --base-url reach it.
var hosts = func() []string {
	var names []string
	for _, p := range openai.Profiles() {
		if p.Name != openaiName && p.BaseURL != "" {
			names = append(names, p.Name)
		}
	}
	return names
}()

// profile returns what the host of p wants different, nil if it is none of Chat Completions.
func (p provider) profile() *openai.Profile {
	if p.name.value == openaiName {
		return openai.ProfileAt(p.base.value)
	}
	if slices.Contains(hosts, p.name.value) {
		host, _ := openai.ProfileOf(p.name.value)
		return host
	}
	return nil
}

// keyVariables are the variables that may hold the key, in the order in which they count.
func (p provider) keyVariables() []string {
	if platform(p.name.value) {
		return nil
	}
	names := variables("API_KEY", "")
	if host := p.profile(); host != nil {
		names = append(names, host.Keys...)
	}
	for _, name := range variables("API_KEY", p.name.value) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// inPrompt returns m with its tools in the prompt, if that was asked for.
func (p provider) inPrompt(m llm.Model) llm.Model {
	if p.toolsInPrompt {
		return prompttools.Wrap(m)
	}
	return m
}
