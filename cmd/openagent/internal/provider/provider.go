// Package provider finds the provider, the key, the address and the model that flags,
// variables and settings name.
package provider

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/llm/azure"
	"sync/atomic"
)

// A Provider is the provider of a run, as flags, variables and settings describe it.
type Provider struct {
	providers.Provider
	hidden []string // secrets of how the models are reached
	// OnKeyCommand holds who is told that the command which prints the key starts, and that it has ended. nil: there is no such command.
	OnKeyCommand *atomic.Pointer[func(ended bool, err error)]
}

// New finds out which provider is meant. It asks for no key.
func New(o *settings.Options, env providers.Environ, files settings.ProviderSettings) (Provider, error) {
	p := Provider{Provider: providers.Provider{Environ: env, Models: files.Models, ToolsInPrompt: o.ToolsInPrompt, Fast: o.Fast, Betas: o.Betas, Demo: DemoModel(), Stored: files.Stored}}
	p.Model = files.Model.OverrideOr(settings.FlagSetting("model", o.Model).Or(env.First(providers.Variables("MODEL", "")...)))
	if p.Model.Value == "" && env.First(providers.Variables("MODEL", providers.AnthropicName)...).Or(env.First(providers.Variables("MODEL", providers.OpenAIName)...)).Value == "" {
		p.Model = files.Model.Setting
	}
	p.Name = files.Name.OverrideOr(settings.FlagSetting("provider", o.Provider).Or(env.First("OPENAGENT_PROVIDER")).Or(files.Name.Setting))
	p.Fixed = p.Name.Value != ""
	if p.Fixed {
		if err := cli.OneOf(&p.Name.Value, settings.Providers)(p.Name.Value); err != nil {
			return p, cli.Usagef("%s: %v", p.Name.Source, err)
		}
	}
	p.Held = files.ManagedBy()
	p.Tagged = p.HasTags(files.Base.OverrideOr(settings.FlagSetting("base-url", o.BaseURL).Or(env.First(providers.Variables("BASE_URL", p.Name.Value)...)).Or(env.First("OPENAI_BASE_URL")).Or(files.Base.Setting)))
	if err := p.begin(o.Provider != "" || files.Name.Managed); err != nil {
		return p, err
	}
	if !p.Fixed {
		p.Name = p.Guess()
	}
	name := p.Name.Value
	if p.Model.Value == "" {
		p.Model = env.First(providers.Variables("MODEL", name)...).Or(files.Model.Setting).Or(providers.DefaultModel(name))
		if err := p.begin(true); err != nil {
			return p, err
		}
	}
	if providers.IsSize(p.Model.Value) {
		var err error
		if p.Model.Value, err = p.ModelOfSize(p.Model.Value); err != nil {
			return p, cli.Usagef("%s: %v", p.Model.Source, err)
		}
	}
	if !files.Base.Overrides && files.Name.Value != "" && files.Name.Value != name {
		files.Base = settings.FileSetting{} // it is that of the provider which the settings name
	}
	if name == providers.AzureName {
		return p, p.azure(settings.FlagSetting("base-url", o.BaseURL), files)
	}
	p.BaseURL = files.Base.OverrideOr(settings.FlagSetting("base-url", o.BaseURL).Or(env.First(providers.Variables("BASE_URL", name)...)).Or(files.Base.Setting).Or(providers.DefaultBase(name)))
	p.Key = p.ownKey(p.KeyVariables())
	if p.Model.Value == "" {
		return p, cli.Usagef("%s: %w", p.Name.Source, NoModelError(name))
	}
	p.Small = files.Small.OverrideOr(env.First("OPENAGENT_SMALL_MODEL").Or(files.Small.Setting).Or(p.DefaultSmall()))
	if providers.IsPlatform(name) && p.BaseURL.Value == "" {
		p.BaseURL.Source = "default"
		return p, nil
	}
	if err := p.CheckBase(); err != nil {
		return p, cli.Usagef("%v", err)
	}
	return p, nil
}

// azure finds the resource and its key.
func (p *Provider) azure(flag providers.Setting, files settings.ProviderSettings) error {
	p.BaseURL = files.Base.OverrideOr(flag.Or(p.Environ.First(providers.Variables("BASE_URL", providers.AzureName)...)).Or(files.Base.Setting))
	p.Key = p.ownKey(providers.Variables("API_KEY", providers.AzureName))
	p.Small = files.Small.OverrideOr(p.Environ.First("OPENAGENT_SMALL_MODEL").Or(files.Small.Setting).Or(p.DefaultSmall()))
	if p.BaseURL.Value == "" {
		return cli.Usagef("--provider azure: set AZURE_OPENAI_ENDPOINT, or --base-url, to the endpoint of the resource, such as https://my-resource.openai.azure.com")
	}
	if _, err := azure.BaseURL(p.BaseURL.Value, p.APIVersion(), p.Model.Value); err != nil {
		return cli.Usagef("%s: %v", p.BaseURL.Source, err)
	}
	return nil
}

// ownKey returns the key from the first of these variables that is set, else the stored one.
func (p *Provider) ownKey(variables []string) providers.Setting {
	if key := p.Environ.First(variables...); key.Value != "" {
		return key
	}
	return p.StoredKey()
}

// begin takes the provider off the name of the model that a run begins with. With fixed
// the one that is known may not be another.
func (p *Provider) begin(fixed bool) error {
	to, model, ok := p.SplitName(p.Model.Value)
	switch {
	case !ok:
		return nil
	case model == "":
		return cli.Usagef("%s: %v", p.Model.Source, providers.NoNameError(to))
	case fixed && p.Name.Value != "" && p.Name.Value != to:
		return cli.Usagef("%s sets the provider %s, but %s names a model of %s; leave one out, or name another model", p.Name.Source, p.Name.Value, p.Model.Source, to)
	case p.Name.Value != to:
		p.Name = providers.Setting{Value: to, Source: p.Model.Source}
	}
	p.Model.Value, p.Fixed = model, true
	return nil
}
