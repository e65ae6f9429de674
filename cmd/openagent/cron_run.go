package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cron"
	"github.com/openagent-go/agent/event"
)

const (
	jobTimeout = 600_000 // milliseconds that a command may take, the most that Bash allows
	maxTail    = 300     // bytes of what a failed command wrote that are kept
)

// A cronStart is the first line of JSON that "cron run" writes.
type cronStart struct {
	Type string      `json:"type"` // "cron_start"
	Jobs []cronEntry `json:"jobs"`
}

// A cronOutcome is a line of JSON about a tick.
type cronOutcome struct {
	Type     string      `json:"type"` // "cron_run"
	Job      string      `json:"job_id"`
	Name     string      `json:"name"`
	Dir      string      `json:"cwd"`
	Tick     time.Time   `json:"tick"`
	Status   cron.Status `json:"status"`
	Note     string      `json:"note"`
	Duration int64       `json:"duration_ms"`
}

// cronRun fires jobs until a signal, or with --once those that are due.
func (h *host) cronRun(ctx context.Context, o *cronOptions) error {
	store, _, err := h.crontab(o)
	if err != nil {
		return err
	}
	jobs, err := store.Load(ctx)
	if err != nil {
		return cronError(err)
	}
	s := &cron.Scheduler{Store: store, Log: h.logger(&o.options)}
	r, err := h.newCronRunner(ctx, o, s, jobs)
	if err != nil {
		return err
	}
	if err := r.start(jobs); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	failed := 0
	s.Fire, s.Report = r.fire, func(j cron.Job, out cron.Outcome) {
		if out.Status == cron.Failed || out.Status == cron.Lost {
			failed++
		}
		if err := r.report(j, out); err != nil {
			cancel(err)
		}
	}
	if o.once {
		err = s.Once(ctx)
	} else {
		err = s.Run(ctx)
	}
	switch {
	case isSignal(ctx):
		return ended(signalCode(ctx))
	case ctx.Err() != nil:
		return &exitError{code: exitInternal, err: context.Cause(ctx)}
	case err != nil:
		return cronError(err)
	case failed > 0:
		return &exitError{code: exitInternal, err: fmt.Errorf("%d of the runs failed", failed)}
	}
	return nil
}

// A cronRunner runs jobs as "openagent -p" would run a prompt in their folder.
type cronRunner struct {
	host     *host
	options  *cronOptions
	schedule *cron.Scheduler
}

// newCronRunner finds out what is wrong with the flags and the environment
// before anything is due.
func (h *host) newCronRunner(ctx context.Context, o *cronOptions, s *cron.Scheduler, jobs []cron.Job) (*cronRunner, error) {
	r := &cronRunner{h, o, s}
	dir, err := workingDir()
	if err != nil {
		return nil, err
	}
	trial, err := r.setup(ctx, dir)
	if err != nil {
		return nil, err
	}
	h.warnOfSettings(trial.options)
	h.secrets = append(trial.provider.secrets(), trial.options.secretValues()...)
	for _, j := range jobs {
		if j.Prompt != "" && !j.Disabled && trial.provider.needsKey() {
			err = trial.provider.noKey()
		}
	}
	return r, errors.Join(err, trial.close())
}

// setup makes an agent for a folder, with the settings there.
func (r *cronRunner) setup(ctx context.Context, dir string) (*setup, error) {
	o, err := r.host.configure(ctx, &r.options.options, dir, false)
	if err != nil {
		return nil, err
	}
	p, err := r.host.provider(o)
	if err != nil {
		return nil, err
	}
	s := newSetup(o, p, dir)
	s.schedule = r.schedule
	if s.agent, err = r.host.newAgent(s); err != nil {
		return nil, err
	}
	return s, r.host.addCustomTools(ctx, s, false)
}

func (r *cronRunner) fire(ctx context.Context, j cron.Job, _ time.Time) (note string, err error) {
	if info, err := os.Stat(j.Dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("its folder %s is not there any more", j.Dir)
	}
	s, err := r.setup(ctx, j.Dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if j.Command != "" {
		return runJobCommand(ctx, s.agent, j.Command)
	}
	if s.provider.needsKey() {
		return "", errors.New("there is no key for the model")
	}
	chosen, err := r.host.choose(ctx, &r.options.options, j.Dir)
	if err != nil {
		return "", err
	}
	s.agent.Sessions = chosen.store
	s.session = s.agent.Session(chosen.id)
	return runJobPrompt(ctx, s, j.Prompt)
}

// runJobCommand runs a command line as a call of the model would.
func runJobCommand(ctx context.Context, a *agent.Agent, command string) (string, error) {
	input, err := json.Marshal(map[string]any{"command": command, "timeout": jobTimeout})
	if err != nil {
		return "", err
	}
	res, err := a.Call(ctx, "Bash", input)
	switch {
	case err != nil:
		return "", err
	case res == nil:
		return "", errors.New("the command did not run")
	case !res.IsError:
		return res.Text(), nil
	}
	text := strings.TrimSpace(res.Text())
	if cut := len(text) - maxTail; cut > 0 {
		text = "…" + strings.ToValidUTF8(text[cut:], "")
	}
	return "", errors.New(text)
}

// runJobPrompt runs a prompt in a new session. Without a person to ask, a
// refusal that a person could have prevented is a failure.
func runJobPrompt(ctx context.Context, s *setup, prompt string) (string, error) {
	var failed error
	for _, err := range traced(s.agent.Log, s.session.StreamInput(ctx, agent.Input{Text: prompt})) {
		if err != nil {
			failed = err
		}
	}
	note := "session " + s.session.ID
	res := s.session.Result()
	if res == nil {
		return note, failed
	}
	if failed == nil && missedSomebody(res.Denials) {
		failed = errors.New(nobodyAsked(res.Denials))
	}
	return note + ": " + res.Text, failed
}

func nobodyAsked(denials []event.Denial) string {
	var names []string
	for _, d := range denials {
		if d.Nobody {
			names = append(names, d.Tool+" ("+d.Reason+")")
		}
	}
	return "nobody could be asked for permission: " + strings.Join(names, ", ")
}

// start says what will run and when.
func (r *cronRunner) start(jobs []cron.Job) error {
	entries, rows := upcoming(jobs)
	if r.options.output == formatJSON {
		return r.host.showLine(cronStart{"cron_start", entries})
	}
	if len(rows) == 0 {
		return r.host.show("No jobs yet; those that are added will run.\n")
	}
	return r.host.list(formatText, nil, "NEXT NAME ID RUNS", rows)
}

// report writes a line about a tick.
func (r *cronRunner) report(j cron.Job, o cron.Outcome) error {
	h := r.host
	if r.options.output == formatJSON {
		return h.showLine(cronOutcome{"cron_run", j.ID, j.Name, j.Dir, o.Tick, o.Status, h.oneLine(o.Note), o.Took.Milliseconds()})
	}
	line := fmt.Sprintf("%s %s %s %s", o.Tick.Local().Format(time.RFC3339), j.ID, short(j.Name, 40), o.Status)
	if o.Took > 0 {
		line += " in " + o.Took.Round(time.Millisecond).String()
	}
	if o.Note != "" {
		line += ": " + o.Note
	}
	return h.show(h.oneLine(line) + "\n")
}

// showLine writes a line of JSON to stdout.
func (h *host) showLine(v any) error {
	line, err := encodeLine(v)
	if err != nil {
		return err
	}
	return h.show(string(line))
}
