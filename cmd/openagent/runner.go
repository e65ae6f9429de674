package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cron"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/tool"
)

const (
	jobTimeout = 600_000 // milliseconds that a command may take, the most that Bash allows
	maxTail    = 300     // bytes of what a failed command wrote that are kept
)

// A runner runs what no person waits for, the jobs of a schedule and triggers:
// each as "openagent -p" would run a prompt in its folder.
type runner struct {
	host     *host
	options  *options
	schedule *cron.Scheduler // that of this program; nil: it runs none
}

// try finds out what is wrong with the flags and the environment before there is
// anything to run.
func (r *runner) try(ctx context.Context, prompts bool) error {
	dir, err := workingDir()
	if err != nil {
		return err
	}
	trial, err := r.setup(ctx, dir)
	if err != nil {
		return err
	}
	r.host.warnOfSettings(trial.options)
	r.host.warnOfSandbox(trial)
	r.host.secrets = append(trial.provider.secrets(), trial.options.secretValues()...)
	if prompts && trial.provider.needsKey() {
		err = trial.provider.noKey()
	}
	return errors.Join(err, trial.close())
}

// setup makes an agent for a folder, with the settings there.
func (r *runner) setup(ctx context.Context, dir string) (_ *setup, err error) {
	o, err := r.host.configure(ctx, r.options, dir, false)
	if err != nil {
		return nil, err
	}
	p, err := r.host.provider(o)
	if err != nil {
		return nil, err
	}
	s := newSetup(o, p, dir)
	defer s.closeOnError(&err)
	s.schedule = r.schedule
	if err := r.host.makeAgent(ctx, s, false, false); err != nil {
		return nil, err
	}
	r.host.brief(s)
	if err := r.host.addCustomTools(ctx, s, false); err != nil {
		return nil, err
	}
	s.addServers()
	s.agent.AwaitAgents = true // nobody could hear of them later
	return s, nil
}

// in calls do with an agent for a folder. The note says in a line what came of it.
func (r *runner) in(ctx context.Context, dir string, do func(*setup) (string, error)) (note string, err error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("its folder %s is not there any more", dir)
	}
	s, err := r.setup(ctx, dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return do(s)
}

// command runs a command line as a call of the model would.
func (r *runner) command(ctx context.Context, dir, line string) (string, error) {
	return r.in(ctx, dir, func(s *setup) (string, error) {
		input, err := json.Marshal(map[string]any{"command": line, "timeout": jobTimeout})
		if err != nil {
			return "", err
		}
		return resultOf(s.agent.CallTool(ctx, "Bash", input))
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
func (r *runner) prompt(ctx context.Context, dir, text string) (string, error) {
	return r.in(ctx, dir, func(s *setup) (string, error) {
		if s.provider.needsKey() {
			return "", errors.New("there is no key for the model")
		}
		chosen, err := r.host.choose(ctx, r.options, dir)
		if err != nil {
			return "", err
		}
		s.store, s.agent.Sessions = chosen.store, chosen.store
		if err := r.host.keepFiles(s); err != nil {
			return "", err
		}
		s.session = s.agent.Session(chosen.id)
		return runPrompt(ctx, s, text)
	})
}

func runPrompt(ctx context.Context, s *setup, prompt string) (string, error) {
	x, err := s.skillOf(prompt)
	if err != nil {
		return "", err
	}
	var failed error
	for _, err := range s.session.StreamInput(ctx, agent.Input{Text: prompt, Expansion: x}) {
		if err != nil {
			failed = err
		}
	}
	note := "session " + s.session.ID
	res := s.session.Result()
	if res == nil {
		return note, failed
	}
	if failed == nil && neededApproval(res.Denials) {
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
