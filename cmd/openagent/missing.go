package main

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/llm/openai"
)

// A noKeyError says that there is no key, which variables were looked at, and
// what works without one.
type noKeyError struct {
	provider string
	looked   []string
	other    string // what would reach a host whose key is at hand, and which key
}

func (e *noKeyError) Error() string {
	try := "openagent demo"
	if e.other != "" {
		try = e.other + "; or " + try
	}
	return fmt.Sprintf("openagent: no API key for the provider %s\nlooked at: %s\ntry: %s", e.provider, strings.Join(e.looked, ", "), try)
}

// own are the variables of the provider itself.
func (e *noKeyError) own() []string { return e.looked[len(variables("API_KEY", "")):] }

func (p provider) noKey() *noKeyError {
	looked := p.keyVariables()
	if !p.fixed && p.vendorOf(p.model.value) == "" || p.model.source == "default" && !p.fixed {
		looked = append(looked, "OPENAI_API_KEY")
	}
	return &noKeyError{p.name.value, looked, p.elsewhere()}
}

// elsewhere says how a host whose key is at hand is reached, "" if there is none or
// if somebody has chosen the provider.
func (p provider) elsewhere() string {
	if p.fixed {
		return ""
	}
	for _, name := range hosts {
		host, _ := openai.ProfileOf(name)
		if key := p.environ.first(host.Keys...); key.value != "" {
			flags := "--provider " + name
			if p.model.source == "default" {
				flags += " --model NAME"
			}
			return fmt.Sprintf("%s, as %s is set", flags, key.source)
		}
	}
	return ""
}

// A noModelError is the name of a provider of which no model was named.
type noModelError string

func (e noModelError) Error() string {
	return "the provider " + string(e) + " has no default model; name one with --model"
}
