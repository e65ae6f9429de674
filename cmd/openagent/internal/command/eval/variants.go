package eval

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/eval"
	"github.com/openagent-go/agent/llm"
)

const (
	scriptModel   = "script"  // the scripted model of each case
	defaultModel  = "default" // that of the settings
	defaultPrompt = "default" // the built-in instructions
)

// A prompt is the instructions of a variant.
type prompt struct {
	name, text string
}

// variants returns the agents to evaluate: each model with each prompt.
func (o *options) variants(ctx context.Context, h *cli.IO, s *eval.Suite, private []string) (list []eval.Variant, err error) {
	models := o.models
	if len(models) == 0 {
		models = []string{defaultModel}
		if o.scripted(s) {
			models = []string{scriptModel}
		}
	}
	prompts, err := o.promptTexts()
	if err != nil {
		return nil, err
	}
	for _, m := range models {
		if m != scriptModel { // a missing key should not fail each trial
			if _, err := o.openModel(ctx, h, m); err != nil {
				return nil, err
			}
		}
		for _, p := range prompts {
			for _, memory := range o.memories() {
				v, err := o.variant(h, private, m, p, memory, len(prompts) > 1)
				if err != nil {
					return nil, err
				}
				list = append(list, v)
			}
		}
	}
	return list, nil
}

// memories returns the values of --memory that make a variant each; "" is that of the settings. Reports
// compare the others with the first.
func (o *options) memories() []string {
	if o.memory == "both" {
		return []string{"off", "on"}
	}
	return []string{o.memory}
}

// variant returns one agent to evaluate. Its name has what several of them differ in.
func (o *options) variant(h *cli.IO, private []string, model string, p prompt, memory string, prompts bool) (eval.Variant, error) {
	v := eval.Variant{Name: model}
	if prompts {
		v.Name += ", " + p.name
	}
	if memory != "" {
		v.Name += ", memory " + memory
		if err := o.remember(memory); err != nil {
			return v, err
		}
	}
	own := o.named(model)
	v.Open = func(ctx context.Context, place *eval.Place) (*agent.Agent, error) {
		return open(ctx, h.Fork(), &own, place, model == scriptModel, app.Trial{Dir: place.Dir, Private: private, System: p.text, Confine: o.confined == "on"})
	}
	return v, nil
}

// scripted reports whether every case scripts its model.
func (o *options) scripted(s *eval.Suite) bool {
	for _, c := range s.Cases {
		if c.Model == nil {
			return false
		}
	}
	return true
}

// promptTexts reads the files of --prompt.
func (o *options) promptTexts() ([]prompt, error) {
	if len(o.prompts) == 0 {
		return []prompt{{name: defaultPrompt}}, nil
	}
	var list []prompt
	for _, file := range o.prompts {
		if file == defaultPrompt {
			list = append(list, prompt{name: file})
			continue
		}
		text, err := settings.TextOrFile("--prompt", "@"+file)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) == "" {
			return nil, cli.Usagef("--prompt %s: the file is empty", file)
		}
		list = append(list, prompt{filepath.Base(file), text})
	}
	return list, nil
}

// open returns the agent of one trial.
func open(ctx context.Context, h *cli.IO, o *settings.Options, place *eval.Place, scripted bool, t app.Trial) (*agent.Agent, error) {
	if scripted {
		if t.Model = place.Model; t.Model == nil {
			return nil, fmt.Errorf("the case %s has no script and no session; add one, or choose a --model", place.Case.Name)
		}
	}
	own := *o // Configure and the provider change their own
	s, err := app.OpenTrial(ctx, h, &own, t)
	if err != nil {
		return nil, err
	}
	place.Cleanup(s.Close)
	return s.Agent, nil
}

// judgeModel opens the model for judges, if there is one.
func (o *options) judgeModel(ctx context.Context, h *cli.IO, s *eval.Suite) (llm.Model, error) {
	name := o.judge
	if name == "" {
		name = s.Judge
	}
	if name == "" {
		return nil, nil
	}
	return o.openModel(ctx, h, name)
}

// openModel opens a model by the name that the user gave.
func (o *options) openModel(ctx context.Context, h *cli.IO, name string) (llm.Model, error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	own := o.named(name)
	return app.OpenModel(ctx, h, &own, dir)
}

// named returns the flags with a model.
func (o *options) named(model string) settings.Options {
	own := o.Options
	own.Model = model
	if model == defaultModel || model == scriptModel {
		own.Model = ""
	}
	return own
}
