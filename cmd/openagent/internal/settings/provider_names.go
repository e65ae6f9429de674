package settings

import (
	"strings"

	"github.com/openagent-go/agent/llm/bedrock"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/responses"
	"github.com/openagent-go/agent/llm/vertex"
)

// Names of providers.
const (
	AnthropicName = "anthropic"
	OpenAIName    = "openai"
	ResponsesName = responses.Provider
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

// FlagSetting returns the value of a flag as a setting.
func FlagSetting(name, value string) Setting {
	if value == "" {
		return Setting{}
	}
	return Setting{value, "--" + name}
}

// Hosts are the providers with their own variant of OpenAI's Chat Completions. Azure is missing,
// because it has no fixed address. You reach it with --provider openai and --base-url.
var Hosts = func() []string {
	var names []string
	for _, p := range openai.Profiles() {
		if p.Name != OpenAIName && p.BaseURL != "" {
			names = append(names, p.Name)
		}
	}
	return names
}()
