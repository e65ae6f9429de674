// Package providers knows the providers of models: their names, variables, addresses and
// default models. It opens models by their names. Package models and the command are built
// on it.
package providers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/bedrock"
	"github.com/openagent-go/agent/internal/chat"
	"github.com/openagent-go/agent/internal/claude"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/pace"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/vertex"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/azure"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/llm/limit"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/responses"
)

// IsPlatform reports whether a provider has credentials of its own kind and no key.
func IsPlatform(provider string) bool {
	return provider == BedrockName || provider == VertexName
}

// Vendor returns whose variables, models and addresses those of a provider are: an
// API may be one of several that its vendor has.
func Vendor(provider string) string {
	switch provider {
	case ResponsesName, AzureName:
		return OpenAIName
	case BedrockName, VertexName:
		return AnthropicName
	}
	return provider
}

// The models that are used where nobody names one.
const (
	openaiModel    = "gpt-5.2"
	anthropicSmall = "claude-haiku-4-5"
	openaiSmall    = "gpt-5-mini"
	bedrockModel   = "global.anthropic.claude-sonnet-4-6"
	bedrockSmall   = "global.anthropic.claude-haiku-4-5-20251001-v1:0"
	vertexSmall    = "claude-haiku-4-5@20251001"
)

// A Provider says whose models are used and how they are reached.
type Provider struct {
	Name, BaseURL, Key, Model Setting
	Small                     Setting // the model for digests
	Environ                   Environ
	Models                    *catalog.Table // nil: the built-in entries
	Fixed                     bool           // the provider was named, not guessed
	ToolsInPrompt             bool           // tools are written into the prompt
	Fast                      bool           // models answer faster if they can
	Betas                     []string       // features in trial that requests to Anthropic ask for
	Helper                    llm.KeyFunc    // returns keys; nil: there is none
	HTTP                      *http.Client   // nil: the default
	// Limiter returns the limiter of requests that use a key. Nil: requests wait for
	// nothing.
	Limiter func(provider, base, key string) *limit.Limiter
	Held    string    // which managed setting fixes the provider; "": none
	Tagged  bool      // names may be a family and a tag, such as mistral:7b
	Demo    llm.Model // the model of the provider demo; nil: there is no such provider

	// Stored returns the key that the user has stored for a provider, and where. It comes after
	// variables. Nil: none is stored.
	Stored func(provider string) Setting

	// What the program says of providers, by their names. It comes before variables.
	Keys     map[string]string
	KeyFuncs map[string]llm.KeyFunc
	// BaseURLs may name hosts of one's own: compatible hosts of Chat Completions.
	BaseURLs map[string]string
}

// Variables are the names of a variable: ours before the vendor's.
func Variables(suffix, provider string) []string {
	names := []string{"OPENAGENT_" + suffix}
	switch {
	case provider == AzureName:
		return append(names, map[string][]string{"API_KEY": {"AZURE_OPENAI_API_KEY", "AZURE_API_KEY"}, "BASE_URL": {"AZURE_OPENAI_ENDPOINT"}, "MODEL": {"AZURE_OPENAI_DEPLOYMENT"}}[suffix]...)
	case IsPlatform(provider) && suffix == "API_KEY":
		return nil // none of these is theirs
	case IsPlatform(provider) && suffix == "BASE_URL":
		return append(names, "ANTHROPIC_"+strings.ToUpper(provider)+"_BASE_URL")
	case provider != "" && provider != DemoName:
		names = append(names, variable(Vendor(provider))+"_"+suffix)
	}
	return names
}

// variable returns the beginning of the names of a provider's variables.
func variable(provider string) string {
	return strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(provider))
}

// APIVersion is that of Azure, "" for its addresses without one.
func (p Provider) APIVersion() string {
	return p.Environ.First("AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION").Value
}

func DefaultModel(provider string) Setting {
	if provider == BedrockName {
		return Setting{Value: bedrockModel, Source: "default"}
	}
	switch Vendor(provider) {
	case OpenAIName:
		return Setting{Value: openaiModel, Source: "default"}
	case DemoName:
		return Setting{Value: DemoName, Source: "default"}
	}
	if slices.Contains(Hosts, provider) {
		return Setting{}
	}
	return Setting{Value: llmconst.DefaultModel, Source: "default"}
}

// FirstModel is the model of p if none is named: that of its variable, else the default.
func (p Provider) FirstModel() string {
	return p.Environ.First(Variables("MODEL", p.Name.Value)[1:]...).Or(DefaultModel(p.Name.Value)).Value
}

// DefaultSmall is a cheap model where the host surely has one, else the model itself.
func (p Provider) DefaultSmall() Setting {
	switch {
	case p.Name.Value == BedrockName && p.Model.Source == "default":
		return Setting{Value: bedrockSmall, Source: "default"}
	case p.Name.Value == VertexName:
		return Setting{Value: vertexSmall, Source: "default"}
	case p.Name.Value == AnthropicName && p.VendorOf(p.Model.Value) == AnthropicName:
		return Setting{Value: anthropicSmall, Source: "default"}
	case Vendor(p.Name.Value) == OpenAIName && strings.TrimRight(p.BaseURL.Value, "/") == chat.DefaultBaseURL:
		return Setting{Value: openaiSmall, Source: "default"}
	}
	return Setting{Value: p.Model.Value, Source: "model"}
}

func DefaultBase(provider string) Setting {
	if IsPlatform(provider) {
		return Setting{}
	}
	switch Vendor(provider) {
	case OpenAIName:
		return Setting{Value: chat.DefaultBaseURL, Source: "default"}
	case DemoName:
		return Setting{}
	}
	if host, ok := chat.ProfileOf(provider); ok && slices.Contains(Hosts, provider) {
		return Setting{Value: host.BaseURL, Source: "provider"} // models of other makers are reached there too
	}
	return Setting{Value: claude.DefaultBaseURL, Source: "default"}
}

// Guess tells the provider by the model, and by what the environment knows of.
func (p *Provider) Guess() Setting {
	if name := p.VendorOf(p.Model.Value); name != "" {
		other := OpenAIName
		if name == OpenAIName {
			other = AnthropicName
		}
		// A host of the other kind may have the model as well.
		ours := p.Environ.First(Variables("API_KEY", name)...).Or(p.Environ.First(strings.ToUpper(name) + "_BASE_URL"))
		if ours.Value == "" && p.Environ.First(strings.ToUpper(other)+"_BASE_URL").Value != "" {
			return Setting{Value: other, Source: strings.ToUpper(other) + "_BASE_URL"}
		}
		return Setting{Value: name, Source: "model"}
	}
	for _, suffix := range []string{"API_KEY", "BASE_URL", "MODEL", "stored"} {
		has := map[string]Setting{}
		for _, name := range []string{AnthropicName, OpenAIName} {
			s := p.Environ.First(strings.ToUpper(name) + "_" + suffix)
			if suffix == "stored" {
				s = p.stored(name)
			}
			if s.Value != "" {
				has[name] = s
			}
		}
		switch a, o := has[AnthropicName], has[OpenAIName]; {
		case o.Value != "" && (a.Value == "" || p.Model.Value != ""): // an unknown model is rather one of the many compatible hosts
			return Setting{Value: OpenAIName, Source: o.Source}
		case a.Value != "":
			return Setting{Value: AnthropicName, Source: a.Source}
		}
	}
	return Setting{Value: AnthropicName, Source: "default"}
}

var openaiLike = regexp.MustCompile(`^(gpt-|chatgpt|o\d|codex)`)

// VendorOf returns who makes a model, "" where its name does not say.
func (p Provider) VendorOf(model string) string {
	if e, ok := p.Models.Lookup("", model); ok && p.Knows(e.Provider) {
		return e.Provider
	}
	switch name := strings.ToLower(model); {
	case strings.Contains(name, "claude"), IsSize(name):
		return AnthropicName
	case openaiLike.MatchString(name):
		return OpenAIName
	}
	return ""
}

func clip(s string) string { return text.Bytes(s, 80) }

// CheckBase returns an error if the address of p cannot be one.
func (p Provider) CheckBase() error {
	if u, err := url.Parse(p.BaseURL.Value); err != nil || p.Name.Value != DemoName && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("%s: %q is not an address; write one such as %s", p.BaseURL.Source, clip(p.BaseURL.Value), DefaultBase(AnthropicName).Value)
	}
	return nil
}

// Keyless reports whether the host works without a key.
func (p Provider) Keyless() bool {
	host := p.profile()
	return host != nil && host.Keyless
}

// NeedsKey reports whether there is no key and the host wants one.
func (p Provider) NeedsKey() bool {
	return !p.Keyless() && p.Key.Value == "" && p.Helper == nil && !IsPlatform(p.Name.Value) && p.Name.Value != DemoName && !onThisMachine(p.BaseURL.Value)
}

func onThisMachine(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// NewModel returns the model of that name at this provider.
func (p Provider) NewModel(name string) llm.Model { return p.inPrompt(p.native(name)) }

func (p Provider) native(name string) llm.Model {
	switch p.Name.Value {
	case ResponsesName:
		return (&responses.Client{APIKey: p.Key.Value, BaseURL: p.BaseURL.Value, Catalog: p.Models, Limiter: p.limiter(), HTTP: p.HTTP, Key: p.Helper}).Model(name)
	case OpenAIName:
		return (&openai.Client{APIKey: p.Key.Value, BaseURL: p.BaseURL.Value, Catalog: p.Models, Limiter: p.limiter(), HTTP: p.HTTP, Key: p.Helper}).Model(name)
	case AzureName:
		m, err := (&azure.Client{Endpoint: p.BaseURL.Value, APIVersion: p.APIVersion(), Client: openai.Client{APIKey: p.Key.Value, Key: p.Helper, HTTP: p.HTTP, Catalog: p.Models, Limiter: p.limiter()}}).Model(name)
		if err == nil { // it was checked
			return m
		}
	case BedrockName:
		return p.bedrock().Model(name)
	case VertexName:
		return p.vertex().Model(name)
	case DemoName:
		return p.Demo
	}
	if host := p.profile(); host != nil {
		return (&chat.Client{APIKey: p.Key.Value, BaseURL: p.BaseURL.Value, Profile: host, Catalog: p.Models, Limiter: p.limiter(), HTTP: p.HTTP, Key: p.Helper}).Model(name)
	}
	return (&anthropic.Client{APIKey: p.Key.Value, BaseURL: p.BaseURL.Value, Catalog: p.Models, Limiter: p.limiter(), HTTP: p.HTTP, Key: p.Helper, Fast: p.Fast, Header: p.betas()}).Model(name)
}

// betas are headers of requests to Anthropic.
func (p Provider) betas() http.Header {
	if len(p.Betas) == 0 {
		return nil
	}
	return http.Header{"Anthropic-Beta": {strings.Join(p.Betas, ",")}}
}

func (p Provider) bedrock() *bedrock.Client {
	return &bedrock.Client{Client: anthropic.Client{APIKey: p.Key.Value, Key: p.Helper, BaseURL: p.BaseURL.Value, HTTP: p.HTTP, Catalog: p.Models, Limiter: p.limiter()}}
}

func (p Provider) vertex() *vertex.Client {
	return &vertex.Client{Client: anthropic.Client{Key: p.Helper, BaseURL: p.BaseURL.Value, HTTP: p.HTTP, Catalog: p.Models, Limiter: p.limiter()}}
}

// Credentials says which credentials of a platform are at hand, for people.
func (p Provider) Credentials(ctx context.Context) (string, error) {
	if p.Name.Value == BedrockName {
		f, err := p.bedrock().Find(ctx)
		if err == nil && f.Region == "" {
			err = errors.New("no AWS region: set AWS_REGION")
		}
		return fmt.Sprintf("region %s, credentials from %s", f.Region, f.Source), err
	}
	f, err := p.vertex().Find(ctx)
	if err == nil && f.Project == "" {
		err = errors.New("no project of Google Cloud: set ANTHROPIC_VERTEX_PROJECT_ID or GOOGLE_CLOUD_PROJECT")
	}
	return fmt.Sprintf("project %s, region %s, credentials from %s", f.Project, f.Region, f.Source), err
}

// limiter bounds the requests that use the provider's key; nil where nothing bounds them.
func (p Provider) limiter() pace.Limiter {
	if p.Limiter == nil {
		return nil
	}
	if l := p.Limiter(p.Name.Value, p.BaseURL.Value, p.Key.Value); l != nil {
		return l
	}
	return nil
}
