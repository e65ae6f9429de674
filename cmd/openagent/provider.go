package main

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/responses"
)

// Names of providers.
const (
	anthropicName = "anthropic"
	openaiName    = "openai"
	responsesName = responses.Provider
	demoName      = "demo"
)

// vendor returns whose variables, models and addresses those of a provider are: an
// API may be one of several that its vendor has.
func vendor(provider string) string {
	if provider == responsesName {
		return openaiName
	}
	return provider
}

// The models that are used where nobody names one.
const (
	openaiModel    = "gpt-5.2"
	anthropicSmall = "claude-haiku-4-5"
	openaiSmall    = "gpt-5-mini"
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
}

// environ reads environment variables; values are trimmed.
type environ func(string) string

// first returns the first variable that is set.
func (e environ) first(names ...string) setting {
	for _, n := range names {
		if v := strings.TrimSpace(e(n)); v != "" {
			return setting{v, n}
		}
	}
	return setting{}
}

// variables are the names of a variable, ours and the forerunner's before the vendor's.
func variables(suffix, provider string) []string {
	names := []string{"OPENAGENT_" + suffix, "CODEANY_" + suffix}
	if provider != "" && provider != demoName {
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
	p := provider{environ: env, models: files.models, toolsInPrompt: o.toolsInPrompt}
	p.model = files.model.before(flagged("model", o.model).or(env.first(variables("MODEL", "")...)))
	if p.model.value == "" && env.first(variables("MODEL", anthropicName)...).or(env.first(variables("MODEL", openaiName)...)).value == "" {
		p.model = files.model.setting
	}
	p.name = files.name.before(flagged("provider", o.provider).or(env.first("OPENAGENT_PROVIDER")).or(files.name.setting))
	p.fixed = p.name.value != ""
	if p.fixed {
		if err := oneOf(&p.name.value, providers)(p.name.value); err != nil {
			return p, usagef("%s: %v", p.name.source, err)
		}
	} else {
		p.name = p.guess()
	}
	name := p.name.value
	p.model = p.model.or(env.first(variables("MODEL", name)...)).or(files.model.setting).or(defaultModel(name))
	p.base = files.base.before(flagged("base-url", o.base).or(env.first(variables("BASE_URL", name)...)).or(files.base.setting).or(defaultBase(name)))
	p.key = env.first(p.keyVariables()...)
	if p.model.value == "" {
		return p, usagef("%s: the provider %s has no default model; name one with --model", p.name.source, name)
	}
	p.small = files.small.before(env.first("OPENAGENT_SMALL_MODEL").or(files.small.setting).or(p.defaultSmall()))
	if u, err := url.Parse(p.base.value); err != nil || u.Host == "" && name != demoName || u.Scheme != "http" && u.Scheme != "https" && name != demoName {
		return p, usagef("%s: %q is not an address; write one such as %s", p.base.source, clip(p.base.value), defaultBase(anthropicName).value)
	}
	return p, nil
}

func defaultModel(provider string) setting {
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
	case p.name.value == anthropicName && p.vendorOf(p.model.value) == anthropicName:
		return setting{anthropicSmall, "default"}
	case vendor(p.name.value) == openaiName && strings.TrimRight(p.base.value, "/") == openai.DefaultBaseURL:
		return setting{openaiSmall, "default"}
	}
	return setting{p.model.value, "model"}
}

func defaultBase(provider string) setting {
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
	case strings.Contains(name, "claude"):
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
	return p.key.value == "" && p.name.value != demoName && !onThisMachine(p.base.value)
}

// A noKeyError says that there is no key, which variables were looked at, and
// what works without one.
type noKeyError struct {
	provider string
	looked   []string
}

func (e *noKeyError) Error() string {
	return fmt.Sprintf("openagent: no API key for the provider %s\nlooked at: %s\ntry: openagent demo", e.provider, strings.Join(e.looked, ", "))
}

func (p provider) noKey() error {
	looked := p.keyVariables()
	if !p.fixed && p.vendorOf(p.model.value) == "" || p.model.source == "default" && !p.fixed {
		looked = append(looked, "OPENAI_API_KEY")
	}
	return &noKeyError{p.name.value, looked}
}

func onThisMachine(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// llm returns a model by its name. One that the catalogue knows to be another
// provider's is reached there if that provider's own key is at hand.
func (p provider) llm(name string) (llm.Model, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return nil, fmt.Errorf("the model's name is empty")
	}
	if name == p.model.value || p.name.value == demoName {
		return p.reach(name), nil
	}
	maker := p.vendorOf(name)
	if maker == "" || maker == vendor(p.name.value) || p.base.source != "default" {
		return p.reach(name), nil
	}
	other := p
	other.name = setting{maker, "model"}
	other.base = p.environ.first(strings.ToUpper(maker) + "_BASE_URL").or(defaultBase(maker))
	other.key = p.environ.first(strings.ToUpper(maker) + "_API_KEY")
	if other.needsKey() {
		return nil, fmt.Errorf("the model %s is reached through %s, and %s_API_KEY is not set", name, maker, strings.ToUpper(maker))
	}
	return other.reach(name), nil
}

func (p provider) reach(name string) llm.Model { return p.inPrompt(p.native(name)) }

func (p provider) native(name string) llm.Model {
	switch p.name.value {
	case responsesName:
		return (&responses.Client{APIKey: p.key.value, BaseURL: p.base.value, Catalog: p.models}).Model(name)
	case openaiName:
		return (&openai.Client{APIKey: p.key.value, BaseURL: p.base.value, Catalog: p.models}).Model(name)
	case demoName:
		return ruledModel()
	}
	if host := p.profile(); host != nil {
		return (&openai.Client{APIKey: p.key.value, BaseURL: p.base.value, Profile: host, Catalog: p.models}).Model(name)
	}
	return (&anthropic.Client{APIKey: p.key.value, BaseURL: p.base.value, Catalog: p.models}).Model(name)
}

// searchName is the tool that needs a search engine.
const searchName = "WebSearch"

// searchVariables name the engine of WebSearch, the first that is set counts.
var searchVariables = []string{"BRAVE_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY", "SEARXNG_URL"}

func (h *host) searchEngine() setting { return environ(h.getenv).first(searchVariables...) }

// secrets are the keys at hand.
func (p provider) secrets() []string {
	var keys []string
	for _, name := range append([]string{"OPENAGENT_API_KEY", "CODEANY_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"}, searchVariables[:3]...) {
		if v := p.environ.first(name).value; v != "" {
			keys = append(keys, v)
		}
	}
	if p.key.value != "" && !slices.Contains(keys, p.key.value) {
		keys = append(keys, p.key.value)
	}
	return keys
}
