package app

import (
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/memory"
)

// A Trial says what the agent of a trial of an evaluation works with.
type Trial struct {
	Dir     string
	Model   llm.Model // answers in the place of the provider's; nil: that of the options
	Private []string  // files and folders that the agent must not see
	System  string    // replaces the instructions, unless empty
	Confine bool      // commands run in the sandbox, and need no permission for it
}

// OpenTrial builds the agent of a trial, which no person watches. It has no session. Its memory is that of
// the folder alone: the files of a case are its user's, and the user's own entries stay as they are.
func OpenTrial(ctx context.Context, h *cli.IO, o *settings.Options, t Trial) (_ *App, err error) {
	if o, err = settings.Configure(ctx, h, o, t.Dir, false); err != nil {
		return nil, err
	}
	p, err := provider.Open(h, o)
	if t.Model == nil { // a scripted model needs neither a name nor a key
		if err != nil {
			return nil, err
		}
		if p.NeedsKey() {
			return nil, p.MissingKey()
		}
	}
	h.Secrets = append(p.Secrets(), o.SecretValues()...)
	s := &App{Options: o, Provider: p, Project: t.Dir}
	defer s.CloseOnError(&err)
	b := Build{Without: []coding.Part{coding.Team, coding.Checkpoints}, Quiet: true, model: t.Model, private: t.Private, system: t.System,
		memory: []memory.Named{{Name: coding.ProjectMemory, Store: memory.Open(t.Dir, memory.ProjectFolder)}}}
	if t.Confine {
		b.sandbox = coding.Require
	}
	if err := s.build(ctx, h, b); err != nil {
		return nil, err
	}
	return s, nil
}

// OpenModel opens the model of the options alone.
func OpenModel(ctx context.Context, h *cli.IO, o *settings.Options, dir string) (llm.Model, error) {
	s, err := configured(ctx, h, o, dir, false)
	if err != nil {
		return nil, err
	}
	m, err := s.Provider.FindModel(s.Provider.Model.Value)
	if err != nil {
		return nil, cli.Usagef("%s: %w", s.Provider.Model.Source, err)
	}
	return m, nil
}
