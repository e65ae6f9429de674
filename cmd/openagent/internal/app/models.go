package app

import (
	"fmt"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/llm"
)

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
	i := llm.DescribeModel(m)
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
	i := llm.DescribeModel(m)
	if !t.On() || tools == 0 || !i.PlainTools {
		return ""
	}
	return "the model " + i.Value + " does not think while it has tools, so the effort has no effect (OpenAI refuses both together in Chat Completions); use --provider openai-responses"
}
