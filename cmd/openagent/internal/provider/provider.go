// Package provider finds the provider, the key, the address and the model that flags,
// variables and settings name. It opens models by their names.
package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/openagent-go/agent/llm/limit"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/ratelimit"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/azure"
	"github.com/openagent-go/agent/llm/bedrock"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/llm/helper"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/responses"
	"github.com/openagent-go/agent/llm/transport"
	"github.com/openagent-go/agent/llm/vertex"
)

// IsPlatform reports whether a provider has credentials of its own kind and no key.
func IsPlatform(provider string) bool {
	return provider == settings.BedrockName || provider == settings.VertexName
}

// Vendor returns whose variables, models and addresses those of a provider are: an
// API may be one of several that its vendor has.
func Vendor(provider string) string {
	switch provider {
	case settings.ResponsesName, settings.AzureName:
		return settings.OpenAIName
	case settings.BedrockName, settings.VertexName:
		return settings.AnthropicName
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

// A Provider is whose models are used and how they are reached.
type Provider struct {
	Name, BaseURL, Key, Model settings.Setting
	Small                     settings.Setting // the model for digests
	Environ                   settings.Environ
	Models                    *catalog.Table      // nil: those that the program knows by itself
	fixed                     bool                // the provider was named, not guessed
	ToolsInPrompt             bool                // tools are written into the prompt
	Fast                      bool                // models that can are to answer faster
	Helper                    llm.KeyFunc         // gives keys; nil: there is none
	http                      *http.Client        // nil: the default
	hidden                    []string            // secrets of how the models are reached
	limits                    *ratelimit.Limiters // nil: requests wait for nothing
	rates                     ratelimit.Rates
	held                      string // who in the managed settings says where models are; "": nobody
	tagged                    bool   // names may be a family and a tag, such as mistral:7b
}

// variables are the names of a variable: ours before the vendor's.
func variables(suffix, provider string) []string {
	names := []string{"OPENAGENT_" + suffix}
	switch {
	case provider == settings.AzureName:
		return append(names, map[string][]string{"API_KEY": {"AZURE_OPENAI_API_KEY", "AZURE_API_KEY"}, "BASE_URL": {"AZURE_OPENAI_ENDPOINT"}, "MODEL": {"AZURE_OPENAI_DEPLOYMENT"}}[suffix]...)
	case IsPlatform(provider) && suffix == "API_KEY":
		return nil // none of these is theirs
	case IsPlatform(provider) && suffix == "BASE_URL":
		return append(names, "ANTHROPIC_"+strings.ToUpper(provider)+"_BASE_URL")
	case provider != "" && provider != settings.DemoName:
		names = append(names, strings.ToUpper(Vendor(provider))+"_"+suffix)
	}
	return names
}

// New finds out which provider is meant. It asks for no key.
func New(o *settings.Options, env settings.Environ, files settings.ProviderSettings) (Provider, error) {
	p := Provider{Environ: env, Models: files.Models, ToolsInPrompt: o.ToolsInPrompt, Fast: o.Fast}
	p.Model = files.Model.OverrideOr(settings.FlagSetting("model", o.Model).Or(env.First(variables("MODEL", "")...)))
	if p.Model.Value == "" && env.First(variables("MODEL", settings.AnthropicName)...).Or(env.First(variables("MODEL", settings.OpenAIName)...)).Value == "" {
		p.Model = files.Model.Setting
	}
	p.Name = files.Name.OverrideOr(settings.FlagSetting("provider", o.Provider).Or(env.First("OPENAGENT_PROVIDER")).Or(files.Name.Setting))
	p.fixed = p.Name.Value != ""
	if p.fixed {
		if err := cli.OneOf(&p.Name.Value, settings.Providers)(p.Name.Value); err != nil {
			return p, cli.Usagef("%s: %v", p.Name.Source, err)
		}
	}
	p.held = files.ManagedBy()
	p.tagged = p.hasTags(files.Base.OverrideOr(settings.FlagSetting("base-url", o.BaseURL).Or(env.First(variables("BASE_URL", p.Name.Value)...)).Or(env.First("OPENAI_BASE_URL")).Or(files.Base.Setting)))
	if err := p.begin(o.Provider != "" || files.Name.Managed); err != nil {
		return p, err
	}
	if !p.fixed {
		p.Name = p.guess()
	}
	name := p.Name.Value
	if p.Model.Value == "" {
		p.Model = env.First(variables("MODEL", name)...).Or(files.Model.Setting).Or(defaultModel(name))
		if err := p.begin(true); err != nil {
			return p, err
		}
	}
	if IsSize(p.Model.Value) {
		var err error
		if p.Model.Value, err = p.ModelOfSize(p.Model.Value); err != nil {
			return p, cli.Usagef("%s: %v", p.Model.Source, err)
		}
	}
	if !files.Base.Overrides && files.Name.Value != "" && files.Name.Value != name {
		files.Base = settings.FileSetting{} // it is that of the provider which the settings name
	}
	if name == settings.AzureName {
		return p, p.azure(settings.FlagSetting("base-url", o.BaseURL), files)
	}
	p.BaseURL = files.Base.OverrideOr(settings.FlagSetting("base-url", o.BaseURL).Or(env.First(variables("BASE_URL", name)...)).Or(files.Base.Setting).Or(defaultBase(name)))
	p.Key = env.First(p.keyVariables()...)
	if p.Model.Value == "" {
		return p, cli.Usagef("%s: %w", p.Name.Source, NoModelError(name))
	}
	p.Small = files.Small.OverrideOr(env.First("OPENAGENT_SMALL_MODEL").Or(files.Small.Setting).Or(p.defaultSmall()))
	if IsPlatform(name) && p.BaseURL.Value == "" {
		p.BaseURL.Source = "default"
		return p, nil
	}
	if u, err := url.Parse(p.BaseURL.Value); err != nil || u.Host == "" && name != settings.DemoName || u.Scheme != "http" && u.Scheme != "https" && name != settings.DemoName {
		return p, cli.Usagef("%s: %q is not an address; write one such as %s", p.BaseURL.Source, cli.Clip(p.BaseURL.Value), defaultBase(settings.AnthropicName).Value)
	}
	return p, nil
}

// azure finds the resource and its key.
func (p *Provider) azure(flag settings.Setting, files settings.ProviderSettings) error {
	p.BaseURL = files.Base.OverrideOr(flag.Or(p.Environ.First(variables("BASE_URL", settings.AzureName)...)).Or(files.Base.Setting))
	p.Key = p.Environ.First(variables("API_KEY", settings.AzureName)...)
	p.Small = files.Small.OverrideOr(p.Environ.First("OPENAGENT_SMALL_MODEL").Or(files.Small.Setting).Or(p.defaultSmall()))
	if p.BaseURL.Value == "" {
		return cli.Usagef("--provider azure: set AZURE_OPENAI_ENDPOINT, or --base-url, to the endpoint of the resource, such as https://my-resource.openai.azure.com")
	}
	if _, err := azure.BaseURL(p.BaseURL.Value, p.apiVersion(), p.Model.Value); err != nil {
		return cli.Usagef("%s: %v", p.BaseURL.Source, err)
	}
	return nil
}

// apiVersion is that of Azure, "" for its addresses without one.
func (p Provider) apiVersion() string {
	return p.Environ.First("AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION").Value
}

func defaultModel(provider string) settings.Setting {
	if provider == settings.BedrockName {
		return settings.Setting{Value: bedrockModel, Source: "default"}
	}
	switch Vendor(provider) {
	case settings.OpenAIName:
		return settings.Setting{Value: openaiModel, Source: "default"}
	case settings.DemoName:
		return settings.Setting{Value: settings.DemoName, Source: "default"}
	}
	if slices.Contains(settings.Hosts, provider) {
		return settings.Setting{}
	}
	return settings.Setting{Value: catalog.DefaultModel, Source: "default"}
}

// defaultSmall is a cheap model where the host surely has one, else the model itself.
func (p Provider) defaultSmall() settings.Setting {
	switch {
	case p.Name.Value == settings.BedrockName && p.Model.Source == "default":
		return settings.Setting{Value: bedrockSmall, Source: "default"}
	case p.Name.Value == settings.VertexName:
		return settings.Setting{Value: vertexSmall, Source: "default"}
	case p.Name.Value == settings.AnthropicName && p.vendorOf(p.Model.Value) == settings.AnthropicName:
		return settings.Setting{Value: anthropicSmall, Source: "default"}
	case Vendor(p.Name.Value) == settings.OpenAIName && strings.TrimRight(p.BaseURL.Value, "/") == openai.DefaultBaseURL:
		return settings.Setting{Value: openaiSmall, Source: "default"}
	}
	return settings.Setting{Value: p.Model.Value, Source: "model"}
}

func defaultBase(provider string) settings.Setting {
	if IsPlatform(provider) {
		return settings.Setting{}
	}
	switch Vendor(provider) {
	case settings.OpenAIName:
		return settings.Setting{Value: openai.DefaultBaseURL, Source: "default"}
	case settings.DemoName:
		return settings.Setting{}
	}
	if host, ok := openai.ProfileOf(provider); ok && slices.Contains(settings.Hosts, provider) {
		return settings.Setting{Value: host.BaseURL, Source: "provider"} // models of other makers are reached there too
	}
	return settings.Setting{Value: anthropic.DefaultBaseURL, Source: "default"}
}

// guess tells the provider by the model, and by what the environment knows of.
func (p *Provider) guess() settings.Setting {
	if name := p.vendorOf(p.Model.Value); name != "" {
		other := settings.OpenAIName
		if name == settings.OpenAIName {
			other = settings.AnthropicName
		}
		// A host of the other kind may have the model as well.
		ours := p.Environ.First(variables("API_KEY", name)...).Or(p.Environ.First(strings.ToUpper(name) + "_BASE_URL"))
		if ours.Value == "" && p.Environ.First(strings.ToUpper(other)+"_BASE_URL").Value != "" {
			return settings.Setting{Value: other, Source: strings.ToUpper(other) + "_BASE_URL"}
		}
		return settings.Setting{Value: name, Source: "model"}
	}
	for _, suffix := range []string{"API_KEY", "BASE_URL", "MODEL"} {
		has := map[string]settings.Setting{}
		for _, name := range []string{settings.AnthropicName, settings.OpenAIName} {
			if s := p.Environ.First(strings.ToUpper(name) + "_" + suffix); s.Value != "" {
				has[name] = s
			}
		}
		switch a, o := has[settings.AnthropicName], has[settings.OpenAIName]; {
		case o.Value != "" && (a.Value == "" || p.Model.Value != ""): // an unknown model is rather one of the many compatible hosts
			return settings.Setting{Value: settings.OpenAIName, Source: o.Source}
		case a.Value != "":
			return settings.Setting{Value: settings.AnthropicName, Source: a.Source}
		}
	}
	return settings.Setting{Value: settings.AnthropicName, Source: "default"}
}

var openaiLike = regexp.MustCompile(`^(gpt-|chatgpt|o\d|codex)`)

// vendorOf returns who makes a model, "" where its name does not say.
func (p Provider) vendorOf(model string) string {
	if e, ok := p.Models.Lookup("", model); ok && slices.Contains(settings.Providers, e.Provider) {
		return e.Provider
	}
	switch name := strings.ToLower(model); {
	case strings.Contains(name, "claude"), IsSize(name):
		return settings.AnthropicName
	case openaiLike.MatchString(name):
		return settings.OpenAIName
	}
	return ""
}

// NeedsKey reports whether there is no key and the host wants one.
func (p Provider) NeedsKey() bool {
	if host := p.profile(); host != nil && host.Keyless {
		return false
	}
	return p.Key.Value == "" && p.Helper == nil && !IsPlatform(p.Name.Value) && p.Name.Value != settings.DemoName && !onThisMachine(p.BaseURL.Value)
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
	case settings.ResponsesName:
		return (&responses.Client{APIKey: p.Key.Value, BaseURL: p.BaseURL.Value, Catalog: p.Models, Limiter: p.limiter(), HTTP: p.http, Key: p.Helper}).Model(name)
	case settings.OpenAIName:
		return (&openai.Client{APIKey: p.Key.Value, BaseURL: p.BaseURL.Value, Catalog: p.Models, Limiter: p.limiter(), HTTP: p.http, Key: p.Helper}).Model(name)
	case settings.AzureName:
		m, err := (&azure.Client{Endpoint: p.BaseURL.Value, APIVersion: p.apiVersion(), Client: openai.Client{APIKey: p.Key.Value, Key: p.Helper, HTTP: p.http, Catalog: p.Models, Limiter: p.limiter()}}).Model(name)
		if err == nil { // it was checked
			return m
		}
	case settings.BedrockName:
		return p.bedrock().Model(name)
	case settings.VertexName:
		return p.vertex().Model(name)
	case settings.DemoName:
		return DemoModel()
	}
	if host := p.profile(); host != nil {
		return (&openai.Client{APIKey: p.Key.Value, BaseURL: p.BaseURL.Value, Profile: host, Catalog: p.Models, Limiter: p.limiter(), HTTP: p.http, Key: p.Helper}).Model(name)
	}
	return (&anthropic.Client{APIKey: p.Key.Value, BaseURL: p.BaseURL.Value, Catalog: p.Models, Limiter: p.limiter(), HTTP: p.http, Key: p.Helper, Fast: p.Fast}).Model(name)
}

func (p Provider) bedrock() *bedrock.Client {
	return &bedrock.Client{Client: anthropic.Client{Key: p.Helper, BaseURL: p.BaseURL.Value, HTTP: p.http, Catalog: p.Models, Limiter: p.limiter()}}
}

func (p Provider) vertex() *vertex.Client {
	return &vertex.Client{Client: anthropic.Client{Key: p.Helper, BaseURL: p.BaseURL.Value, HTTP: p.http, Catalog: p.Models, Limiter: p.limiter()}}
}

// Credentials says which credentials of a platform are at hand, for people.
func (p Provider) Credentials(ctx context.Context) (string, error) {
	if p.Name.Value == settings.BedrockName {
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

// reached adds what settings say of how models are reached.
func (p *Provider) reached(o *settings.Options) error {
	text := func(key string) string {
		s := ""
		if v := o.Setting(key); v.Value != nil {
			if err := json.Unmarshal(v.Value, &s); err != nil {
				panic(err) // it was checked
			}
		}
		return s
	}
	if p.Name.Value == settings.DemoName || o.Settings == nil {
		return nil
	}
	way := transport.Options{Proxy: text("proxy"), CAFile: text("caFile"), CertFile: text("clientCert"), KeyFile: text("clientKey")}
	p.hidden = way.Secrets()
	var err error
	if p.http, err = way.Client(); err != nil {
		return cli.Usagef("reaching the models: %v", err)
	}
	if command := text("apiKeyHelper"); command != "" {
		h := &helper.Helper{Command: command, TTL: o.Settings.Duration("apiKeyHelperTTL")}
		p.Helper, p.Key = h.Key, settings.Setting{}
	}
	return nil
}

// SearchName is the tool that needs a search engine.
const SearchName = "WebSearch"

// SearchVariables name the engine of WebSearch, the first that is set counts.
var SearchVariables = []string{"BRAVE_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY", "SEARXNG_URL"}

// SearchEngine returns the first variable that configures a search engine.
func SearchEngine(h *cli.IO) settings.Setting {
	return settings.Environ(h.Getenv).First(SearchVariables...)
}

// Secrets are the keys at hand.
func (p Provider) Secrets() []string {
	keys := slices.Clone(p.hidden)
	names := append([]string{"OPENAGENT_API_KEY", settings.OldVariables["OPENAGENT_API_KEY"], "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"}, SearchVariables[:3]...)
	for _, host := range openai.Profiles() { // any of them may be gone over to
		names = append(names, host.Keys...)
	}
	for _, name := range names {
		if v := p.Environ.First(name).Value; v != "" && !slices.Contains(keys, v) {
			keys = append(keys, v)
		}
	}
	if p.Key.Value != "" && !slices.Contains(keys, p.Key.Value) {
		keys = append(keys, p.Key.Value)
	}
	return keys
}

// limiter bounds the requests that use the provider's key; nil where nothing bounds them.
func (p Provider) limiter() *limit.Limiter {
	return p.limits.For([3]string{p.Name.Value, p.BaseURL.Value, p.Key.Value}, p.rates)
}
