package app

import (
	"fmt"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/llm"
)

// modelNamed is a model that was asked for by its name, within what managed settings permit.
func (s *App) modelNamed(name string) (llm.Model, error) {
	if err := s.permitsModelNamed(name); err != nil {
		return nil, err
	}
	return s.Provider.FindModel(name)
}

// permitsModelNamed says why a run may not go over to a model, by the name that was
// given or by that which leads to the same model.
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

// warnOfModel says what is assumed of the model that a run begins with.
func warnOfModel(h *cli.IO, p provider.Provider, m llm.Model) {
	i := llm.DescribeModel(m)
	if i.NoTools {
		h.Warn("the model %s calls no tools by itself; --tools-in-prompt writes them into its prompt", i.Value)
	}
	if p.Fast && (!i.Fast || p.Name.Value != settings.AnthropicName) {
		h.Warn("the model %s of %s has no fast mode; it answers as usual", i.Value, p.Name.Value)
	}
	if p.Name.Value == settings.DemoName || !i.Assumed && i.Price != nil {
		return
	}
	text := "the model " + i.Value + ":"
	if i.Assumed {
		text += fmt.Sprintf(" its context window is not known, %d tokens are assumed;", i.Window)
	}
	if i.Price == nil {
		text += " its price is not known, so costs are not told;"
	}
	h.Warn("%s the setting models can say it", text)
}

// unthinking says that a model does not think as it is told to, "" if it may.
func unthinking(m llm.Model, t llm.Thought, tools int) string {
	i := llm.DescribeModel(m)
	if !t.On() || tools == 0 || !i.PlainTools {
		return ""
	}
	return "the model " + i.Value + " does not think while it has tools: OpenAI refuses both together in Chat Completions, so the effort has no effect; with --provider openai-responses it does"
}
