package providers

import (
	"maps"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/bedrock"
	"github.com/openagent-go/agent/internal/chat"
	"github.com/openagent-go/agent/internal/vertex"
)

// Names of providers.
const (
	AnthropicName = "anthropic"
	OpenAIName    = "openai"
	ResponsesName = "openai-responses"
	BedrockName   = bedrock.Name
	VertexName    = vertex.Name
	AzureName     = "azure"
	DemoName      = "demo"
)

// A Setting is a value and its source.
type Setting struct{ Value, Source string }

// Environ reads an environment variable. It trims the value.
type Environ func(string) string

// First returns the first variable that is set. The old name of a variable counts right after its
// current name.
func (e Environ) First(names ...string) Setting {
	for _, name := range names {
		for _, n := range []string{name, OldVariables[name]} {
			if v := strings.TrimSpace(e(n)); n != "" && v != "" {
				return Setting{v, n}
			}
		}
	}
	return Setting{}
}

// OldVariables maps variables to their old names. Old names still work, but help and errors do not
// mention them.
var OldVariables = map[string]string{
	"OPENAGENT_API_KEY":  "CODEANY_API_KEY",
	"OPENAGENT_BASE_URL": "CODEANY_BASE_URL",
	"OPENAGENT_MODEL":    "CODEANY_MODEL",
}

// Or returns s unless it is empty.
func (s Setting) Or(other Setting) Setting {
	if s.Value != "" {
		return s
	}
	return other
}

// Hosts are the providers with their own variant of OpenAI's Chat Completions. Azure is missing,
// because it has no fixed address. You reach it with --provider openai and --base-url.
var Hosts = func() []string {
	var names []string
	for _, p := range chat.Profiles() {
		if p.Name != OpenAIName && p.BaseURL != "" {
			names = append(names, p.Name)
		}
	}
	return names
}()

// Names are the names of all providers.
var Names = slices.Concat([]string{AnthropicName, OpenAIName, ResponsesName, BedrockName, VertexName, AzureName}, Hosts)

// Known returns the names of the providers that p may go over to.
func (p Provider) Known() []string {
	names := slices.Concat(Names, slices.Sorted(maps.Keys(p.BaseURLs)))
	if p.Demo != nil {
		names = append(names, DemoName)
	}
	return names
}

// Knows reports whether a provider exists.
func (p Provider) Knows(name string) bool {
	return slices.Contains(Names, name) || p.Demo != nil && name == DemoName || p.BaseURLs[name] != ""
}
