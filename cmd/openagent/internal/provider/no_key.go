package provider

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/chat"
	"github.com/openagent-go/agent/internal/providers"
)

// A missingKeyError says that there is no key, which variables were looked at, and
// what works without one.
type missingKeyError struct {
	provider string
	looked   []string
	stores   bool   // a key can be stored for the provider
	other    string // what would reach a host whose key is at hand, and which key
}

func (e *missingKeyError) Error() string {
	try := "openagent demo"
	if e.stores {
		try = "openagent auth login " + e.provider + "; or " + try
	}
	if e.other != "" {
		try = e.other + "; " + try
	}
	return fmt.Sprintf("openagent: no API key for the provider %s\nlooked at: %s\ntry: %s", e.provider, strings.Join(e.looked, ", "), try)
}

// ExitCode returns the exit code that stands for a missing key.
func (e *missingKeyError) ExitCode() int { return cli.ExitKey }

// Own are the variables of the provider itself.
func (e *missingKeyError) Own() []string { return e.looked[len(providers.Variables("API_KEY", "")):] }

// MissingKey returns the error for a missing key. It names the variables that were read.
func (p Provider) MissingKey() *missingKeyError {
	looked := p.KeyVariables()
	if !p.Fixed && p.VendorOf(p.Model.Value) == "" || p.Model.Source == "default" && !p.Fixed {
		looked = append(looked, "OPENAI_API_KEY")
	}
	return &missingKeyError{p.Name.Value, looked, slices.Contains(settings.Providers, p.Name.Value), p.elsewhere()}
}

// elsewhere says how a host whose key is at hand is reached, "" if there is none or
// if somebody has chosen the provider.
func (p Provider) elsewhere() string {
	if p.Fixed {
		return ""
	}
	for _, name := range providers.Hosts {
		host, _ := chat.ProfileOf(name)
		key, set := p.Environ.First(host.Keys...), "set"
		if key.Value == "" && p.Stored != nil && p.Stored(name).Value != "" {
			key, set = providers.Setting{Value: name, Source: "a key of " + name}, "stored"
		}
		if key.Value != "" {
			flags := "--provider " + name
			if p.Model.Source == "default" {
				flags += " --model NAME"
			}
			return fmt.Sprintf("%s, as %s is %s", flags, key.Source, set)
		}
	}
	return ""
}

// A NoModelError names a provider that has no default model, when you name none.
type NoModelError string

func (e NoModelError) Error() string {
	return "the provider " + string(e) + " has no default model; name one with --model"
}

// Keyless reports whether an error says that a provider has no key, and the name of the provider.
func Keyless(err error) (name string, ok bool) {
	var e *missingKeyError
	if !errors.As(err, &e) {
		return "", false
	}
	return e.provider, true
}
