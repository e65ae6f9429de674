package coding

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/modelinfo"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/transport"
	"github.com/openagent-go/agent/models"
)

// Models are the models of an agent.
type Models struct {
	Main, Small llm.Model   // see Model and SmallModel of [agent.Agent]
	Fallbacks   []llm.Model // see Fallbacks of [agent.Agent]
	// Named returns the model with a name, for skills and sub-agents. It may be nil.
	Named func(name string) (llm.Model, error)
	// Permits returns an error if the model may not choose a model for a sub-agent. Nil: it may
	// choose any.
	Permits func(name string) error
}

// openModels sets the models of the agent.
func (c *Coder) openModels(context.Context) (err error) {
	a := c.Agent
	if a.Model != nil {
		return nil
	}
	name := ""
	if c.RunsAs != nil {
		name = c.RunsAs.Model
	}
	if open := c.options.OpenModels; open != nil {
		c.models, err = open(name)
	} else {
		c.models, err = c.modelsByName(name)
	}
	m := c.models
	a.Model = m.Main
	a.Models = m.Named
	if a.SmallModel == nil {
		a.SmallModel = m.Small
	}
	if a.Fallbacks == nil {
		a.Fallbacks = m.Fallbacks
	}
	return err
}

// modelsByName opens the models that the options and settings name.
func (c *Coder) modelsByName(own string) (m Models, err error) {
	name, small := "", ""
	var fallbacks []string
	s := c.Settings
	s.Decode("model", &name)
	s.Decode("small_model", &small)
	s.Decode("fallback_models", &fallbacks)
	if _, fixed := s.Managed("model"); own != "" && !fixed && !c.explicit("model") {
		name = own
	}
	source, err := c.modelSource(name)
	if err != nil {
		return m, err
	}
	open := func(name string) (llm.Model, error) { return source.Open(c.qualified(name)) }
	if m.Main, err = open(name); err != nil {
		return m, &OptionError{Option: "Model", Err: err}
	}
	if small != "" {
		if m.Small, err = open(small); err != nil {
			return m, fmt.Errorf("small_model: %w", err)
		}
	}
	for _, name := range fallbacks {
		f, err := open(name)
		if err != nil {
			return m, fmt.Errorf("fallback_models: %w", err)
		}
		m.Fallbacks = append(m.Fallbacks, f)
	}
	m.Named = func(name string) (llm.Model, error) {
		if v, fixed := s.Managed("model"); fixed && string(v.Value) != fmt.Sprintf("%q", name) {
			return nil, fmt.Errorf("%s allows only the model %s", v.Source, v.Value)
		}
		return open(name)
	}
	provider := modelinfo.Of(m.Main).Provider
	m.Permits = func(name string) error { // the conversation goes to no other provider because a model says so
		if to := providerOf(name); to != "" && to != provider {
			return fmt.Errorf("the model %q names the provider %s; name a model of %s, or none", name, to, provider)
		}
		return nil
	}
	return m, nil
}

// modelSource returns where models are opened: the options, with what the settings say of addresses,
// windows and prices, proxy, certificates and the command that prints the key. That key is for the
// provider of the main model alone.
func (c *Coder) modelSource(main string) (models.Source, error) {
	source := c.options.Models
	if source.Getenv == nil {
		source.Getenv = c.options.Getenv
	}
	if source.Catalog == nil {
		source.Catalog = parts.Catalog(c.Settings)
	}
	provider, base := "", ""
	c.Settings.Decode("provider", &provider)
	c.Settings.Decode("base_url", &base)
	if _, given := source.BaseURLs[provider]; provider != "" && base != "" && !given {
		source.BaseURLs = with(source.BaseURLs, map[string]string{provider: base})
	}
	if way := parts.Transport(c.Settings); source.HTTP == nil && way != (transport.Options{}) {
		c.hide(way.Secrets()...)
		var err error
		if source.HTTP, err = way.Client(); err != nil {
			return source, fmt.Errorf("reaching the models as the settings say: %w", err)
		}
	}
	if h := parts.KeyHelper(c.Settings); h != nil {
		provider = cmp.Or(provider, providerOf(main), c.guessProvider(main))
		if _, given := source.Keys[provider]; !given && source.KeyFuncs[provider] == nil {
			source.KeyFuncs = with(source.KeyFuncs, map[string]llm.KeyFunc{provider: h.Key})
		}
	}
	c.hide(slices.Collect(maps.Values(source.Keys))...)
	return source, nil
}

// guessProvider returns the provider that a model's name or the environment points to.
func (c *Coder) guessProvider(model string) string {
	p := providers.Provider{Environ: c.options.Getenv, Model: providers.Setting{Value: model}}
	return p.Guess().Value
}

// qualified adds the provider of the settings to a name without one.
func (c *Coder) qualified(name string) string {
	provider := ""
	if c.Settings.Decode("provider", &provider); provider == "" || name == "" || providerOf(name) != "" || c.explicit("model") {
		return name
	}
	return provider + ":" + name
}

// providerOf returns the provider that a name begins with, or "".
func providerOf(name string) string {
	i := strings.IndexAny(name, "/:")
	if i < 0 || !slices.ContainsFunc(models.Providers(), func(p models.Provider) bool { return p.Name == name[:i] }) {
		return ""
	}
	return name[:i]
}
