// Package automation runs prompts without a person: jobs of a schedule and triggers. Each
// runs as openagent -p does, in its own folder and session.
package automation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/internal/cronstore"
	"github.com/openagent-go/agent/tool"
)

const (
	jobTimeout = 600_000 // milliseconds that a command may take, the most that Bash allows
	maxTail    = 300     // bytes of what a failed command wrote that are kept
)

// A Runner runs what no person waits for, the jobs of a schedule and triggers:
// each as "openagent -p" would run a prompt in its folder.
type Runner struct {
	Host     *cli.IO
	Options  *settings.Options
	Schedule *cronstore.Scheduler // that of this program; nil: it runs none
}

// Check finds out what is wrong with the flags and the environment before there is
// anything to run.
func (r *Runner) Check(ctx context.Context, prompts bool) error {
	dir, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	trial, err := r.setup(ctx, dir)
	if err != nil {
		return err
	}
	settings.WarnOfSettings(r.Host, trial.Options)
	app.WarnOfSandbox(r.Host, trial)
	r.Host.Secrets = append(trial.Provider.Secrets(), trial.Options.SecretValues()...)
	if prompts && trial.Provider.NeedsKey() {
		err = trial.Provider.MissingKey()
	}
	return errors.Join(err, trial.Close())
}

// setup makes an agent for a folder, with the settings there.
func (r *Runner) setup(ctx context.Context, dir string) (*app.App, error) {
	o, err := settings.Configure(ctx, r.Host, r.Options, dir, false)
	if err != nil {
		return nil, err
	}
	p, err := provider.Open(r.Host, o)
	if err != nil {
		return nil, err
	}
	b := app.Build{Without: []coding.Part{coding.Team}}
	if !o.Ephemeral {
		if b.Sessions, err = sessionstore.Open(ctx, r.Host, o.Place(), dir); err != nil {
			return nil, err
		}
	}
	s, err := app.New(ctx, r.Host, o, p, dir, r.Schedule, b)
	if err != nil {
		return nil, err
	}
	s.Agent.AwaitAgents = true // nobody could hear of them later
	return s, nil
}

// in calls do with an agent for a folder. The note says in a line what came of it.
func (r *Runner) in(ctx context.Context, dir string, do func(*app.App) (string, error)) (note string, err error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("the folder %s no longer exists", dir)
	}
	s, err := r.setup(ctx, dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(s)
}

// command runs a command line as a call of the model would.
func (r *Runner) command(ctx context.Context, dir, line string) (string, error) {
	return r.in(ctx, dir, func(s *app.App) (string, error) {
		input, err := json.Marshal(map[string]any{"command": line, "timeout": jobTimeout})
		if err != nil {
			return "", err
		}
		return resultOf(s.Agent.CallTool(ctx, "Bash", input))
	})
}

// resultOf is what a call has to say.
func resultOf(res *tool.Result, err error) (string, error) {
	switch {
	case err != nil:
		return "", err
	case res == nil:
		return "", errors.New("the call did not run")
	case !res.IsError:
		return res.Text(), nil
	}
	text := strings.TrimSpace(res.Text())
	if cut := len(text) - maxTail; cut > 0 {
		text = "…" + strings.ToValidUTF8(text[cut:], "")
	}
	return "", errors.New(text)
}

// prompt runs a prompt in a new session. Without a person to ask, a refusal that a
// person could have prevented is a failure.
func (r *Runner) prompt(ctx context.Context, dir, text string) (string, error) {
	return r.in(ctx, dir, func(s *app.App) (string, error) {
		if s.Provider.NeedsKey() {
			return "", errors.New("no API key is set for the model")
		}
		chosen, err := app.ChooseSession(ctx, r.Host, r.Options, dir)
		if err != nil {
			return "", err
		}
		s.Store, s.Agent.Sessions = chosen.Store, chosen.Store
		s.Session = s.Agent.Session(chosen.ID)
		return runPrompt(ctx, s, text)
	})
}

func runPrompt(ctx context.Context, s *app.App, prompt string) (string, error) {
	x, err := s.ExpandSkill(prompt)
	if err != nil {
		return "", err
	}
	var failed error
	for _, err := range s.Session.StreamInput(ctx, agent.Input{Text: prompt, Expansion: x}) {
		if err != nil {
			failed = err
		}
	}
	note := "session " + s.Session.ID
	res := s.Session.Result()
	if res == nil {
		return note, failed
	}
	if failed == nil && cli.NeededApproval(res.Denials) {
		failed = errors.New(unansweredText(res.Denials))
	}
	return note + ": " + res.Text, failed
}

func unansweredText(denials []event.Denial) string {
	var names []string
	for _, d := range denials {
		if d.Nobody {
			names = append(names, d.Tool+" ("+d.Reason+")")
		}
	}
	return "nobody could be asked for permission: " + strings.Join(names, ", ")
}

// RunJob runs the command, the trigger or the prompt of a job.
func (r *Runner) RunJob(ctx context.Context, j cronstore.Job, _ time.Time) (note string, err error) {
	switch {
	case j.Command != "":
		return r.command(ctx, j.Dir, j.Command)
	case j.Trigger != "":
		return r.trigger(ctx, j.Dir, j.Trigger)
	}
	return r.prompt(ctx, j.Dir, j.Prompt)
}
