package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/azure"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/tool"
)

// A model is named as its provider knows it, or as PROVIDER:MODEL where that is not the
// provider in use. Many names hold a colon themselves, so only the names of providers
// count before one.

// split takes the provider off a name.
func (p provider) split(name string) (to, model string, ok bool) {
	to, model, ok = strings.Cut(name, ":")
	if !ok || !slices.Contains(providers, to) || p.tagged && to == mistralName {
		return "", name, false
	}
	return to, model, true
}

const (
	ollamaName  = "ollama"
	mistralName = "mistral"
)

// hasTags reports whether models may be Ollama's, which has some called mistral:TAG.
func (p provider) hasTags(base setting) bool {
	switch p.name.value {
	case ollamaName:
		return true
	case openaiName, "":
		at := openai.ProfileAt(base.value)
		return base.value != "" && (at.Name == ollamaName || at.Name == "local")
	}
	return false
}

// begin takes the provider off the name of the model that a run begins with. With fixed
// the one that is known may not be another.
func (p *provider) begin(fixed bool) error {
	to, model, ok := p.split(p.model.value)
	switch {
	case !ok:
		return nil
	case model == "":
		return cli.Usagef("%s: %v", p.model.source, noNameError(to))
	case fixed && p.name.value != "" && p.name.value != to:
		return cli.Usagef("%s says that the provider is %s, and %s names a model of %s; leave one out, or name another model", p.name.source, p.name.value, p.model.source, to)
	case p.name.value != to:
		p.name = setting{to, p.model.source}
	}
	p.model.value, p.fixed = model, true
	return nil
}

func noNameError(provider string) error {
	return fmt.Errorf("in %s:MODEL the model is missing", provider)
}

// find returns where a model is reached and how it is called there. A name alone is one
// of the provider in use, unless it tells that the model is another provider's.
func (p provider) find(name string) (at provider, model string, err error) {
	name = strings.TrimSpace(name)
	to, model, named := p.split(name)
	switch {
	case name == "":
		return p, "", errors.New("the model's name is empty")
	case p.name.value == demoName && !named:
		return p, name, nil
	case name == p.model.value: // that of the beginning
		return p, name, p.unheard(name, p.fixed || p.model.source == strings.ToUpper(vendor(p.name.value))+"_MODEL")
	case model == "":
		return p, "", noNameError(to)
	}
	if !named {
		to = p.serving(model)
	}
	if at = p; to != p.name.value {
		if at, err = p.at(to); err != nil {
			return at, "", fmt.Errorf("the model %s: %w", cli.Clip(name), err)
		}
	}
	if isSize(model) {
		model, err = at.sized(model)
		return at, model, err
	}
	if err := at.unheard(model, named); err != nil {
		return at, "", err
	}
	return at, model, nil
}

// serving is the provider of a model that is named without one: the maker, if the name
// tells it and the provider in use surely has no models of others.
func (p provider) serving(model string) string {
	maker := p.vendorOf(model)
	if maker == "" || maker == vendor(p.name.value) || p.name.value == azureName {
		return p.name.value
	}
	own := p.base.source == "default" || p.base.source == "provider" && slices.Contains(makers, p.name.value)
	if !own {
		return p.name.value
	}
	return maker
}

// makers are hosts that have their own models only.
var makers = []string{"deepseek", "glm", "kimi", "xai", mistralName, "gemini"}

// at is another provider, reached with what is its own: neither keys nor addresses of
// the one in use are for it.
func (p provider) at(name string) (provider, error) {
	if p.held != "" {
		return p, fmt.Errorf("%s says where models are, so none of %s can be used", p.held, name)
	}
	other := p
	other.name, other.model, other.key, other.helper = setting{name, "model"}, setting{}, setting{}, nil
	other.tagged = name == ollamaName
	if name == demoName {
		other.base = setting{}
		return other, nil
	}
	other.base = p.environ.first(variables("BASE_URL", name)[1:]...).or(defaultBase(name))
	if names := other.keyVariables(); len(names) > 1 {
		other.key = p.environ.first(names[1:]...)
	}
	if name == azureName {
		if other.base = p.environ.first(variables("BASE_URL", name)[1:]...); other.base.value == "" {
			return other, errors.New("it is reached through azure, and AZURE_OPENAI_ENDPOINT is not set")
		}
		if _, err := azure.BaseURL(other.base.value, other.apiVersion(), "x"); err != nil {
			return other, fmt.Errorf("%s: %w", other.base.source, err)
		}
	}
	if other.needsKey() {
		names := other.keyVariables()
		return other, fmt.Errorf("it is reached through %s, and %s is not set", name, strings.Join(names[1:], " or "))
	}
	return other, nil
}

// unheard says what is wrong with a name that the place of a model surely does not have.
// Who names the provider may ask for what is not known here.
func (p provider) unheard(model string, named bool) error {
	switch {
	case p.name.value == bedrockName && p.base.value == "" && strings.HasPrefix(model, "claude-"):
		hint := "Bedrock's are such as " + bedrockModel
		if id := p.placed(model); id != "" {
			hint = "at Bedrock it is " + id
		}
		return fmt.Errorf("%s is Anthropic's name of a model; %s", cli.Clip(model), hint)
	case named || p.base.source != "default" || p.name.value != anthropicName && vendor(p.name.value) != openaiName:
		return nil
	case p.name.value == anthropicName && strings.Contains(model, "anthropic."):
		return fmt.Errorf("%s is Bedrock's name of a model; write bedrock:%[1]s", cli.Clip(model))
	case p.name.value == anthropicName && strings.Contains(model, "/"):
		return fmt.Errorf("%s is a router's name of a model; write openrouter:%[1]s, or name another provider", cli.Clip(model))
	case p.vendorOf(model) != "" || strings.HasPrefix(model, "ft:"):
		return nil
	}
	hint := ""
	to, rest, ok := strings.Cut(model, ":")
	if near := tool.Nearest(to, providers); ok && rest != "" && near != "" {
		hint = near + ":" + rest
	} else if near := tool.Nearest(model, p.catalogued()); near != "" {
		hint = near
	} else if host := hinted(model); host != "" {
		hint = host + ":" + model
	}
	if hint != "" {
		return fmt.Errorf("nothing is known of a model %s; did you mean %s? Write %s:%[1]s to ask for it all the same", cli.Clip(model), cli.Clip(hint), p.name.value)
	}
	return fmt.Errorf("nothing is known of a model %s; write PROVIDER:MODEL to say who has it, such as %s:%[1]s", cli.Clip(model), p.name.value)
}

// catalogued are the names of the models in the catalogue.
func (p provider) catalogued() []string {
	var names []string
	for _, e := range p.models.Entries() {
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

func isSize(name string) bool { return slices.Contains(sizes, strings.ToLower(name)) }

// sized returns what the latest model of a size is called where p reaches models.
func (p provider) sized(size string) (string, error) {
	latest := ""
	for _, e := range p.models.Entries() {
		if strings.HasPrefix(e.Name, "claude-"+strings.ToLower(size)) && e.Name > latest && p.placed(e.Name) != "" {
			latest = e.Name
		}
	}
	if latest == "" {
		return "", fmt.Errorf("what the latest %s is called at %s is not known; name a model, or write anthropic:%[1]s", size, p.name.value)
	}
	return p.placed(latest), nil
}

var generation = regexp.MustCompile(`^claude-([a-z]+)-(\d+)(?:-(\d+))?$`)

// placed returns what a model of Anthropic's is called where p reaches models, "" if
// that is not known. Bedrock: the inference profiles for the whole world, as in AWS's
// model cards; Vertex: https://platform.claude.com/docs/en/api/claude-on-vertex-ai;
// routers: their lists of models.
func (p provider) placed(name string) string {
	match := generation.FindStringSubmatch(name)
	if p.name.value == anthropicName {
		return name
	}
	if match == nil {
		return ""
	}
	recent := match[2] > "4" || match[3] > "5" // since then a name has no date
	switch p.name.value {
	case bedrockName:
		switch {
		case name == "claude-haiku-4-5":
			return bedrockSmall
		case name == "claude-opus-4-6":
			return "global.anthropic.claude-opus-4-6-v1"
		case recent:
			return "global.anthropic." + name
		}
	case vertexName:
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

// llm returns a model by its name. What another provider has goes by the name that leads
// there again, in another program too.
func (p provider) llm(name string) (llm.Model, error) {
	at, model, err := p.find(name)
	if err != nil {
		return nil, err
	}
	m := at.reach(model)
	if label := p.label(at, model); label != m.Name() {
		m = llm.Named(m, label)
	}
	return m, nil
}

// label is the shortest name that leads to a model again.
func (p provider) label(at provider, model string) string {
	if again, same, err := p.find(model); err == nil && same == model && again.name.value == at.name.value {
		return model
	}
	return at.name.value + ":" + model
}

// modelNamed is a model that was asked for by its name, within what managed settings permit.
func (s *setup) modelNamed(name string) (llm.Model, error) {
	if err := s.permitsModelNamed(name); err != nil {
		return nil, err
	}
	return s.provider.llm(name)
}

// permitsModelNamed says why a run may not go over to a model, by the name that was
// given or by that which leads to the same model.
func (s *setup) permitsModelNamed(name string) error {
	err := s.options.permitsModel(name)
	if err == nil {
		return nil
	}
	at, model, unknown := s.provider.find(name)
	if unknown != nil {
		return unknown
	}
	return s.options.permitsModel(s.provider.label(at, model))
}
