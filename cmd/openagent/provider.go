package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
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

// Names of providers.
const (
	anthropicName = "anthropic"
	openaiName    = "openai"
	responsesName = responses.Provider
	bedrockName   = bedrock.Name
	vertexName    = vertex.Name
	azureName     = "azure"
	demoName      = "demo"
)

// platform reports whether a provider has credentials of its own kind and no key.
func platform(provider string) bool { return provider == bedrockName || provider == vertexName }

// vendor returns whose variables, models and addresses those of a provider are: an
// API may be one of several that its vendor has.
func vendor(provider string) string {
	switch provider {
	case responsesName, azureName:
		return openaiName
	case bedrockName, vertexName:
		return anthropicName
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

// A setting is a value and where it comes from.
type setting struct{ value, source string }

// A provider is whose models are used and how they are reached.
type provider struct {
	name, base, key, model setting
	small                  setting // the model for digests
	environ                environ
	models                 *catalog.Table // nil: those that the program knows by itself
	fixed                  bool           // the provider was named, not guessed
	toolsInPrompt          bool           // tools are written into the prompt
	fast                   bool           // models that can are to answer faster
	helper                 llm.KeyFunc    // gives keys; nil: there is none
	http                   *http.Client   // nil: the default
	hidden                 []string       // secrets of how the models are reached
	limits                 *limiters      // nil: requests wait for nothing
	rates                  rates
	held                   string // who in the managed settings says where models are; "": nobody
	tagged                 bool   // names may be a family and a tag, such as mistral:7b
}

// environ reads environment variables; values are trimmed.
type environ func(string) string

// first returns the first variable that is set. An older name of a variable counts
// right after its name.
func (e environ) first(names ...string) setting {
	for _, name := range names {
		for _, n := range []string{name, olderNames[name]} {
			if v := strings.TrimSpace(e(n)); n != "" && v != "" {
				return setting{v, n}
			}
		}
	}
	return setting{}
}

// olderNames are names that variables had before. They still count; help and errors
// do not name them.
var olderNames = map[string]string{
	"OPENAGENT_API_KEY":  "CODEANY_API_KEY",
	"OPENAGENT_BASE_URL": "CODEANY_BASE_URL",
	"OPENAGENT_MODEL":    "CODEANY_MODEL",
}

// variables are the names of a variable: ours before the vendor's.
func variables(suffix, provider string) []string {
	names := []string{"OPENAGENT_" + suffix}
	switch {
	case provider == azureName:
		return append(names, map[string][]string{"API_KEY": {"AZURE_OPENAI_API_KEY", "AZURE_API_KEY"}, "BASE_URL": {"AZURE_OPENAI_ENDPOINT"}, "MODEL": {"AZURE_OPENAI_DEPLOYMENT"}}[suffix]...)
	case platform(provider) && suffix == "API_KEY":
		return nil // none of these is theirs
	case platform(provider) && suffix == "BASE_URL":
		return append(names, "ANTHROPIC_"+strings.ToUpper(provider)+"_BASE_URL")
	case provider != "" && provider != demoName:
		names = append(names, strings.ToUpper(vendor(provider))+"_"+suffix)
	}
	return names
}

// or returns s unless it is empty.
func (s setting) or(other setting) setting {
	if s.value != "" {
		return s
	}
	return other
}

func flagged(name, value string) setting {
	if value == "" {
		return setting{}
	}
	return setting{value, "--" + name}
}

// newProvider finds out which provider is meant. It asks for no key.
func newProvider(o *options, env environ, files kept) (provider, error) {
	p := provider{environ: env, models: files.models, toolsInPrompt: o.toolsInPrompt, fast: o.fast}
	p.model = files.model.before(flagged("model", o.model).or(env.first(variables("MODEL", "")...)))
	if p.model.value == "" && env.first(variables("MODEL", anthropicName)...).or(env.first(variables("MODEL", openaiName)...)).value == "" {
		p.model = files.model.setting
	}
	p.name = files.name.before(flagged("provider", o.provider).or(env.first("OPENAGENT_PROVIDER")).or(files.name.setting))
	p.fixed = p.name.value != ""
	if p.fixed {
		if err := cli.OneOf(&p.name.value, providers)(p.name.value); err != nil {
			return p, cli.Usagef("%s: %v", p.name.source, err)
		}
	}
	p.held = files.holder()
	p.tagged = p.hasTags(files.base.before(flagged("base-url", o.base).or(env.first(variables("BASE_URL", p.name.value)...)).or(env.first("OPENAI_BASE_URL")).or(files.base.setting)))
	if err := p.begin(o.provider != "" || files.name.managed); err != nil {
		return p, err
	}
	if !p.fixed {
		p.name = p.guess()
	}
	name := p.name.value
	if p.model.value == "" {
		p.model = env.first(variables("MODEL", name)...).or(files.model.setting).or(defaultModel(name))
		if err := p.begin(true); err != nil {
			return p, err
		}
	}
	if isSize(p.model.value) {
		var err error
		if p.model.value, err = p.sized(p.model.value); err != nil {
			return p, cli.Usagef("%s: %v", p.model.source, err)
		}
	}
	if !files.base.above && files.name.value != "" && files.name.value != name {
		files.base = keptSetting{} // it is that of the provider which the settings name
	}
	if name == azureName {
		return p, p.azure(flagged("base-url", o.base), files)
	}
	p.base = files.base.before(flagged("base-url", o.base).or(env.first(variables("BASE_URL", name)...)).or(files.base.setting).or(defaultBase(name)))
	p.key = env.first(p.keyVariables()...)
	if p.model.value == "" {
		return p, cli.Usagef("%s: %w", p.name.source, noModelError(name))
	}
	p.small = files.small.before(env.first("OPENAGENT_SMALL_MODEL").or(files.small.setting).or(p.defaultSmall()))
	if platform(name) && p.base.value == "" {
		p.base.source = "default"
		return p, nil
	}
	if u, err := url.Parse(p.base.value); err != nil || u.Host == "" && name != demoName || u.Scheme != "http" && u.Scheme != "https" && name != demoName {
		return p, cli.Usagef("%s: %q is not an address; write one such as %s", p.base.source, cli.Clip(p.base.value), defaultBase(anthropicName).value)
	}
	return p, nil
}

// azure finds the resource and its key.
func (p *provider) azure(flag setting, files kept) error {
	p.base = files.base.before(flag.or(p.environ.first(variables("BASE_URL", azureName)...)).or(files.base.setting))
	p.key = p.environ.first(variables("API_KEY", azureName)...)
	p.small = files.small.before(p.environ.first("OPENAGENT_SMALL_MODEL").or(files.small.setting).or(p.defaultSmall()))
	if p.base.value == "" {
		return cli.Usagef("--provider azure: set AZURE_OPENAI_ENDPOINT, or --base-url, to the endpoint of the resource, such as https://my-resource.openai.azure.com")
	}
	if _, err := azure.BaseURL(p.base.value, p.apiVersion(), p.model.value); err != nil {
		return cli.Usagef("%s: %v", p.base.source, err)
	}
	return nil
}

// apiVersion is that of Azure, "" for its addresses without one.
func (p provider) apiVersion() string {
	return p.environ.first("AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION").value
}

func defaultModel(provider string) setting {
	if provider == bedrockName {
		return setting{bedrockModel, "default"}
	}
	switch vendor(provider) {
	case openaiName:
		return setting{openaiModel, "default"}
	case demoName:
		return setting{demoName, "default"}
	}
	if slices.Contains(hosts, provider) {
		return setting{}
	}
	return setting{catalog.DefaultModel, "default"}
}

// defaultSmall is a cheap model where the host surely has one, else the model itself.
func (p provider) defaultSmall() setting {
	switch {
	case p.name.value == bedrockName && p.model.source == "default":
		return setting{bedrockSmall, "default"}
	case p.name.value == vertexName:
		return setting{vertexSmall, "default"}
	case p.name.value == anthropicName && p.vendorOf(p.model.value) == anthropicName:
		return setting{anthropicSmall, "default"}
	case vendor(p.name.value) == openaiName && strings.TrimRight(p.base.value, "/") == openai.DefaultBaseURL:
		return setting{openaiSmall, "default"}
	}
	return setting{p.model.value, "model"}
}

func defaultBase(provider string) setting {
	if platform(provider) {
		return setting{}
	}
	switch vendor(provider) {
	case openaiName:
		return setting{openai.DefaultBaseURL, "default"}
	case demoName:
		return setting{}
	}
	if host, ok := openai.ProfileOf(provider); ok && slices.Contains(hosts, provider) {
		return setting{host.BaseURL, "provider"} // models of other makers are reached there too
	}
	return setting{anthropic.DefaultBaseURL, "default"}
}

// guess tells the provider by the model, and by what the environment knows of.
func (p *provider) guess() setting {
	if name := p.vendorOf(p.model.value); name != "" {
		other := openaiName
		if name == openaiName {
			other = anthropicName
		}
		// A host of the other kind may have the model as well.
		ours := p.environ.first(variables("API_KEY", name)...).or(p.environ.first(strings.ToUpper(name) + "_BASE_URL"))
		if ours.value == "" && p.environ.first(strings.ToUpper(other)+"_BASE_URL").value != "" {
			return setting{other, strings.ToUpper(other) + "_BASE_URL"}
		}
		return setting{name, "model"}
	}
	for _, suffix := range []string{"API_KEY", "BASE_URL", "MODEL"} {
		has := map[string]setting{}
		for _, name := range []string{anthropicName, openaiName} {
			if s := p.environ.first(strings.ToUpper(name) + "_" + suffix); s.value != "" {
				has[name] = s
			}
		}
		switch a, o := has[anthropicName], has[openaiName]; {
		case o.value != "" && (a.value == "" || p.model.value != ""): // an unknown model is rather one of the many compatible hosts
			return setting{openaiName, o.source}
		case a.value != "":
			return setting{anthropicName, a.source}
		}
	}
	return setting{anthropicName, "default"}
}

var openaiLike = regexp.MustCompile(`^(gpt-|chatgpt|o\d|codex)`)

// vendorOf returns who makes a model, "" where its name does not say.
func (p provider) vendorOf(model string) string {
	if e, ok := p.models.Lookup("", model); ok && slices.Contains(providers, e.Provider) {
		return e.Provider
	}
	switch name := strings.ToLower(model); {
	case strings.Contains(name, "claude"), isSize(name):
		return anthropicName
	case openaiLike.MatchString(name):
		return openaiName
	}
	return ""
}

// needsKey reports whether there is no key and the host wants one.
func (p provider) needsKey() bool {
	if host := p.profile(); host != nil && host.Keyless {
		return false
	}
	return p.key.value == "" && p.helper == nil && !platform(p.name.value) && p.name.value != demoName && !onThisMachine(p.base.value)
}

func onThisMachine(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

func (p provider) reach(name string) llm.Model { return p.inPrompt(p.native(name)) }

func (p provider) native(name string) llm.Model {
	switch p.name.value {
	case responsesName:
		return (&responses.Client{APIKey: p.key.value, BaseURL: p.base.value, Catalog: p.models, Limiter: p.limits.of(&p), HTTP: p.http, Key: p.helper}).Model(name)
	case openaiName:
		return (&openai.Client{APIKey: p.key.value, BaseURL: p.base.value, Catalog: p.models, Limiter: p.limits.of(&p), HTTP: p.http, Key: p.helper}).Model(name)
	case azureName:
		m, err := (&azure.Client{Endpoint: p.base.value, APIVersion: p.apiVersion(), Client: openai.Client{APIKey: p.key.value, Key: p.helper, HTTP: p.http, Catalog: p.models, Limiter: p.limits.of(&p)}}).Model(name)
		if err == nil { // it was checked
			return m
		}
	case bedrockName:
		return p.bedrock().Model(name)
	case vertexName:
		return p.vertex().Model(name)
	case demoName:
		return ruledModel()
	}
	if host := p.profile(); host != nil {
		return (&openai.Client{APIKey: p.key.value, BaseURL: p.base.value, Profile: host, Catalog: p.models, Limiter: p.limits.of(&p), HTTP: p.http, Key: p.helper}).Model(name)
	}
	return (&anthropic.Client{APIKey: p.key.value, BaseURL: p.base.value, Catalog: p.models, Limiter: p.limits.of(&p), HTTP: p.http, Key: p.helper, Fast: p.fast}).Model(name)
}

func (p provider) bedrock() *bedrock.Client {
	return &bedrock.Client{Client: anthropic.Client{Key: p.helper, BaseURL: p.base.value, HTTP: p.http, Catalog: p.models, Limiter: p.limits.of(&p)}}
}

func (p provider) vertex() *vertex.Client {
	return &vertex.Client{Client: anthropic.Client{Key: p.helper, BaseURL: p.base.value, HTTP: p.http, Catalog: p.models, Limiter: p.limits.of(&p)}}
}

// found says which credentials of a platform are at hand, for people.
func (p provider) found(ctx context.Context) (string, error) {
	if p.name.value == bedrockName {
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
func (p *provider) reached(o *options) error {
	text := func(key string) string {
		s := ""
		if v := o.setting(key); v.Value != nil {
			if err := json.Unmarshal(v.Value, &s); err != nil {
				panic(err) // it was checked
			}
		}
		return s
	}
	if p.name.value == demoName || o.settings == nil {
		return nil
	}
	way := transport.Options{Proxy: text("proxy"), CAFile: text("caFile"), CertFile: text("clientCert"), KeyFile: text("clientKey")}
	p.hidden = way.Secrets()
	var err error
	if p.http, err = way.Client(); err != nil {
		return cli.Usagef("reaching the models: %v", err)
	}
	if command := text("apiKeyHelper"); command != "" {
		h := &helper.Helper{Command: command, TTL: o.settings.Duration("apiKeyHelperTTL")}
		p.helper, p.key = h.Key, setting{}
	}
	return nil
}

// searchName is the tool that needs a search engine.
const searchName = "WebSearch"

// searchVariables name the engine of WebSearch, the first that is set counts.
var searchVariables = []string{"BRAVE_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY", "SEARXNG_URL"}

func (h *host) searchEngine() setting { return environ(h.getenv).first(searchVariables...) }

// secrets are the keys at hand.
func (p provider) secrets() []string {
	keys := slices.Clone(p.hidden)
	names := append([]string{"OPENAGENT_API_KEY", olderNames["OPENAGENT_API_KEY"], "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"}, searchVariables[:3]...)
	for _, host := range openai.Profiles() { // any of them may be gone over to
		names = append(names, host.Keys...)
	}
	for _, name := range names {
		if v := p.environ.first(name).value; v != "" && !slices.Contains(keys, v) {
			keys = append(keys, v)
		}
	}
	if p.key.value != "" && !slices.Contains(keys, p.key.value) {
		keys = append(keys, p.key.value)
	}
	return keys
}
