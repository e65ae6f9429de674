package provider

import (
	"strings"

	"github.com/openagent-go/agent/internal/providers"
)

// variablesOf makes an environment of NAME=value ….
func variablesOf(text string) providers.Environ {
	env := map[string]string{}
	for _, kv := range strings.Fields(text) {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return func(name string) string { return env[name] }
}
