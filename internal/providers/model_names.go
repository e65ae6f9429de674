package providers

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/chat"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/azure"
)

// A model is named as its provider knows it, or as PROVIDER:MODEL where that is not the
// provider in use. Many names hold a colon themselves, so only the names of providers
// count before one.

// SplitName takes the provider off a name.
func (p Provider) SplitName(name string) (to, model string, ok bool) {
	to, model, ok = strings.Cut(name, ":")
	if !ok || !p.Knows(to) || p.Tagged && to == mistralName {
		return "", name, false
	}
	return to, model, true
}

const (
	ollamaName  = "ollama"
	mistralName = "mistral"
)

// HasTags reports whether models may be Ollama's, which has some called mistral:TAG.
func (p Provider) HasTags(base Setting) bool {
	switch p.Name.Value {
	case ollamaName:
		return true
	case OpenAIName, "":
		at := chat.ProfileAt(base.Value)
		return base.Value != "" && (at.Name == ollamaName || at.Name == "local")
	}
	return false
}

// NoNameError says how to name a model of a provider.
func NoNameError(provider string) error {
	return fmt.Errorf("write a model after %s:, such as %[1]s:NAME", provider)
}

// Find returns where a model is reached and how it is called there. A name alone is one
// of the provider in use, unless it tells that the model is another provider's.
func (p Provider) Find(name string) (at Provider, model string, err error) {
	name = strings.TrimSpace(name)
	to, model, named := p.SplitName(name)
	switch {
	case name == "":
		return p, "", errors.New("the model's name is empty")
	case p.Name.Value == DemoName && !named:
		return p, name, nil
	case name == p.Model.Value: // that of the beginning
		return p, name, p.Check(name, p.Fixed || p.Model.Source == strings.ToUpper(Vendor(p.Name.Value))+"_MODEL")
	case model == "":
		return p, "", NoNameError(to)
	}
	if !named {
		to = p.serving(model)
	}
	if at = p; to != p.Name.Value {
		if at, err = p.OtherProvider(to); err != nil {
			return at, "", fmt.Errorf("the model %s: %w", clip(name), err)
		}
	}
	if IsSize(model) {
		model, err = at.ModelOfSize(model)
		return at, model, err
	}
	if err := at.Check(model, named); err != nil {
		return at, "", err
	}
	return at, model, nil
}

// serving is the provider of a model that is named without one: the maker, if the name
// tells it and the provider in use surely has no models of others.
func (p Provider) serving(model string) string {
	maker := p.VendorOf(model)
	if maker == "" || maker == Vendor(p.Name.Value) || p.Name.Value == AzureName {
		return p.Name.Value
	}
	own := p.BaseURL.Source == "default" || p.BaseURL.Source == "provider" && slices.Contains(makers, p.Name.Value)
	if !own {
		return p.Name.Value
	}
	return maker
}

// makers are hosts that have their own models only.
var makers = []string{"deepseek", "glm", "kimi", "xai", mistralName, "gemini"}

// OtherProvider is another provider, reached with what is its own: neither keys nor addresses of
// the one in use are for it.
func (p Provider) OtherProvider(name string) (Provider, error) {
	if p.Held != "" {
		return p, fmt.Errorf("%s fixes the provider, so models of %s cannot be used", p.Held, name)
	}
	other := p
	other.Name, other.Model, other.Helper = Setting{Value: name, Source: "model"}, Setting{}, p.KeyFuncs[name]
	other.Tagged = name == ollamaName
	if name == DemoName {
		other.BaseURL, other.Key = Setting{}, Setting{}
		return other, nil
	}
	other.BaseURL = given(p.BaseURLs, name, "BaseURLs").Or(p.Environ.First(Variables("BASE_URL", name)[1:]...))
	other.Key = given(p.Keys, name, "Keys")
	if names := other.KeyVariables(); len(names) > 1 {
		other.Key = other.Key.Or(p.Environ.First(names[1:]...))
	}
	if other.Key.Value == "" {
		other.Key = other.StoredKey()
	}
	if name != AzureName {
		other.BaseURL = other.BaseURL.Or(DefaultBase(name))
	} else if err := other.checkAzure(); err != nil {
		return other, err
	}
	if other.NeedsKey() {
		return other, &NoKeyError{Provider: name, Variables: other.KeyVariables()[1:]}
	}
	return other, nil
}

// given returns what the program says of a provider.
func given(m map[string]string, name, field string) Setting {
	if m[name] == "" {
		return Setting{}
	}
	return Setting{Value: m[name], Source: field + "[" + name + "]"}
}

// checkAzure returns an error if a resource of Azure cannot be reached.
func (p Provider) checkAzure() error {
	if p.BaseURL.Value == "" {
		return errors.New("the provider azure needs AZURE_OPENAI_ENDPOINT; set it")
	}
	if _, err := azure.BaseURL(p.BaseURL.Value, p.APIVersion(), "x"); err != nil {
		return fmt.Errorf("%s: %w", p.BaseURL.Source, err)
	}
	return nil
}

// A NoKeyError says that a provider has no key.
type NoKeyError struct {
	Provider  string
	Variables []string // that may hold one
}

func (e *NoKeyError) Error() string {
	return fmt.Sprintf("the provider %s needs %s; set it", e.Provider, strings.Join(e.Variables, " or "))
}

// Check says what is wrong with a name that the place of a model surely does not have.
// Who names the provider may ask for what is not known here.
func (p Provider) Check(model string, named bool) error {
	switch {
	case p.Name.Value == BedrockName && p.BaseURL.Value == "" && strings.HasPrefix(model, "claude-"):
		hint := "Bedrock's are such as " + bedrockModel
		if id := p.placed(model); id != "" {
			hint = "at Bedrock it is " + id
		}
		return fmt.Errorf("%s is Anthropic's name of a model; %s", clip(model), hint)
	case named || p.BaseURL.Source != "default" || p.Name.Value != AnthropicName && Vendor(p.Name.Value) != OpenAIName:
		return nil
	case p.Name.Value == AnthropicName && strings.Contains(model, "anthropic."):
		return fmt.Errorf("%s is Bedrock's name of a model; write bedrock:%[1]s", clip(model))
	case p.Name.Value == AnthropicName && strings.Contains(model, "/"):
		return fmt.Errorf("%s is a router's name of a model; write openrouter:%[1]s, or name another provider", clip(model))
	case p.VendorOf(model) != "" || strings.HasPrefix(model, "ft:"):
		return nil
	}
	hint := ""
	to, rest, ok := strings.Cut(model, ":")
	if near := text.Nearest(to, p.Known()); ok && rest != "" && near != "" {
		hint = near + ":" + rest
	} else if near := text.Nearest(model, p.catalogued()); near != "" {
		hint = near
	} else if host := hinted(model); host != "" {
		hint = host + ":" + model
	}
	if hint != "" {
		return fmt.Errorf("unknown model %s; did you mean %s? Write %s:%[1]s to use it anyway", clip(model), clip(hint), p.Name.Value)
	}
	return fmt.Errorf("unknown model %s; write PROVIDER:MODEL to name its provider, such as %s:%[1]s", clip(model), p.Name.Value)
}

// catalogued are the names of the models in the catalogue.
func (p Provider) catalogued() []string {
	var names []string
	for _, e := range p.Models.Entries() {
		names = append(names, e.Name)
	}
	return names
}

// hinted guesses whose a model is, for people: nothing is sent there.
func hinted(model string) string {
	name := strings.ToLower(model)
	for begin, host := range families {
		if strings.HasPrefix(name, begin) {
			return host
		}
	}
	return ""
}

var families = map[string]string{
	"deepseek": "deepseek", "glm-": "glm", "kimi": "kimi", "moonshot": "kimi", "grok": "xai", "gemini": "gemini",
	"mistral": mistralName, "codestral": mistralName, "devstral": mistralName, "magistral": mistralName, "ministral": mistralName,
}

// sizes are Claude's sizes: their names stand for the latest model of each.
var sizes = []string{"haiku", "sonnet", "opus"}

// IsSize reports whether a name stands for the latest model of a size.
func IsSize(name string) bool { return slices.Contains(sizes, strings.ToLower(name)) }

// ModelOfSize returns what the latest model of a size is called where p reaches models.
func (p Provider) ModelOfSize(size string) (string, error) {
	latest := ""
	for _, e := range p.Models.Entries() {
		if strings.HasPrefix(e.Name, "claude-"+strings.ToLower(size)) && e.Name > latest && p.placed(e.Name) != "" {
			latest = e.Name
		}
	}
	if latest == "" {
		return "", fmt.Errorf("the name of the latest %s at %s is unknown; name a model, or write anthropic:%[1]s", size, p.Name.Value)
	}
	return p.placed(latest), nil
}

var generation = regexp.MustCompile(`^claude-([a-z]+)-(\d+)(?:-(\d+))?$`)

// placed returns what a model of Anthropic's is called where p reaches models, "" if
// that is not known. Bedrock: the inference profiles for the whole world, as in AWS's
// model cards; Vertex: https://platform.claude.com/docs/en/api/claude-on-vertex-ai;
// routers: their lists of models.
func (p Provider) placed(name string) string {
	match := generation.FindStringSubmatch(name)
	if p.Name.Value == AnthropicName {
		return name
	}
	if match == nil {
		return ""
	}
	recent := match[2] > "4" || match[3] > "5" // since then a name has no date
	switch p.Name.Value {
	case BedrockName:
		switch {
		case name == "claude-haiku-4-5":
			return bedrockSmall
		case name == "claude-opus-4-6":
			return "global.anthropic.claude-opus-4-6-v1"
		case recent:
			return "global.anthropic." + name
		}
	case VertexName:
		switch {
		case name == "claude-haiku-4-5":
			return vertexSmall
		case recent:
			return name
		}
	case "openrouter", "vercel":
		return "anthropic/" + strings.TrimSuffix("claude-"+match[1]+"-"+match[2]+"."+match[3], ".")
	}
	return ""
}

// FindModel returns a model by its name. What another provider has goes by the name that leads
// there again, in another program too.
func (p Provider) FindModel(name string) (llm.Model, error) {
	at, model, err := p.Find(name)
	if err != nil {
		return nil, err
	}
	m := at.NewModel(model)
	if label := p.Label(at, model); label != m.Name() {
		m = llm.Named(m, label)
	}
	return m, nil
}

// Label is the shortest name that leads to a model again.
func (p Provider) Label(at Provider, model string) string {
	if again, same, err := p.Find(model); err == nil && same == model && again.Name.Value == at.Name.Value {
		return model
	}
	return at.Name.Value + ":" + model
}
