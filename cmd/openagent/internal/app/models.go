package app

import (
	"fmt"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/internal/modelinfo"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/llm"
)

// opener returns the function that opens the models of the agent. If the agent's definition names a
// model, flags and managed settings override it.
func (s *App) opener(h *cli.IO) func(string) (coding.Models, error) {
	return func(name string) (m coding.Models, err error) {
		if s.Options.Agent != "" {
			if err := s.useModel(h, name); err != nil {
				return m, err
			}
		}
		p := s.Provider
		if m.Main, err = p.FindModel(p.Model.Value); err != nil {
			return m, cli.Usagef("%s: %v", p.Model.Source, err)
		}
		if m.Small, err = p.FindModel(p.Small.Value); err != nil {
			return m, cli.Usagef("%s: %v", p.Small.Source, err)
		}
		m.Named, m.Permits = s.modelNamed, s.permitsChoice
		m.Fallbacks, err = fallbacks(h, s)
		return m, err
	}
}

// useModel opens the provider of the model that the agent's definition names; "" is that of the
// settings.
func (s *App) useModel(h *cli.IO, name string) (err error) {
	o := s.Options
	flags := o.FromFlags
	if flags == nil {
		flags = o
	}
	if name != "" && flags.Model == "" {
		if err := s.permitsModelNamed(name); err != nil {
			return cli.Usagef("--agent %s: %w", o.Agent, err)
		}
		o.Model = name
	}
	if s.Provider, err = provider.Open(h, o); err != nil {
		return err
	}
	if s.Provider.NeedsKey() {
		return s.Provider.MissingKey()
	}
	return nil
}

// permitsChoice returns an error if the model may not choose a model for a sub-agent: it chooses only
// models of the current provider. Trusted definitions may name another provider.
func (s *App) permitsChoice(name string) error {
	if to, _, ok := s.Provider.SplitName(name); ok && to != s.Provider.Name.Value {
		return fmt.Errorf("the model %q names the provider %s; name a model of %s, or none", cli.Clip(name), to, s.Provider.Name.Value)
	}
	return nil
}

// fallbacks returns the models to use if the first stays unavailable. If managed settings name a
// model but no fallbacks, it leaves out other models.
func fallbacks(h *cli.IO, s *App) ([]llm.Model, error) {
	said := s.Options.SourceOf("fallback_models", "--fallback-model")
	_, free := s.Options.Managed("fallback_models")
	var list []llm.Model
	for _, name := range s.Options.Fallbacks {
		m, err := s.Provider.FindModel(name)
		if err != nil {
			return nil, cli.Usagef("%s: %v", said, err)
		}
		if err := s.permitsModelNamed(name); err != nil && !free {
			h.Warn("%s: %q has no effect; %v", said, name, err)
			continue
		}
		list = append(list, m)
	}
	return list, nil
}

// modelNamed returns the model with a name, if managed settings permit it.
func (s *App) modelNamed(name string) (llm.Model, error) {
	if err := s.permitsModelNamed(name); err != nil {
		return nil, err
	}
	return s.Provider.FindModel(name)
}

// permitsModelNamed returns an error if a run may not switch to a model. The check uses the given
// name and the model's full name.
func (s *App) permitsModelNamed(name string) error {
	err := s.Options.PermitsModel(name)
	if err == nil {
		return nil
	}
	at, model, unknown := s.Provider.Find(name)
	if unknown != nil {
		return unknown
	}
	return s.Options.PermitsModel(s.Provider.Label(at, model))
}

// warnOfModel warns about assumptions made for the run's first model.
func warnOfModel(h *cli.IO, p provider.Provider, m llm.Model) {
	i := modelinfo.Of(m)
	if i.NoTools {
		h.Warn("the model %s cannot call tools; add --tools-in-prompt to write them into its prompt", i.Value)
	}
	if p.Fast && (!i.Fast || p.Name.Value != providers.AnthropicName) {
		h.Warn("the model %s of %s has no fast mode; it answers at normal speed", i.Value, p.Name.Value)
	}
	if p.Name.Value == providers.DemoName || !i.Assumed && i.Price != nil {
		return
	}
	text := "the model " + i.Value + ":"
	if i.Assumed {
		text += fmt.Sprintf(" its context window is unknown, so %d tokens are assumed;", i.Window)
	}
	if i.Price == nil {
		text += " its price is unknown, so costs are not reported;"
	}
	h.Warn("%s add it to the setting models", text)
}

// unthinking returns a warning if the model ignores the thinking effort, else "".
func unthinking(m llm.Model, t llm.Thought, tools int) string {
	i := modelinfo.Of(m)
	if !t.On() || tools == 0 || !i.PlainTools {
		return ""
	}
	return "the model " + i.Value + " does not think while it has tools, so the effort has no effect (OpenAI refuses both together in Chat Completions); use --provider openai-responses"
}
