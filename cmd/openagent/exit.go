package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// Exit codes. They are a promise to scripts.
const (
	exitDone        = 0
	exitInternal    = 1
	exitUsage       = 2
	exitModel       = 3
	exitKey         = 4
	exitNobody      = 5
	exitLimit       = 6
	exitSchema      = 7
	exitStopped     = 8
	exitInterrupted = 130
	exitTerminated  = 143
)

const exitHelp = `Exit codes:
  0    done
  1    the run failed inside
  2    usage or configuration
  3    the model or the network failed
  4    no provider or no key, or the key was refused
  5    done, but a call needed a person's permission and nobody could be asked
  6    a limit was hit: turns, model calls, money, time, context
  7    the output does not match the schema
  8    stopped by a hook or a policy
  130  interrupted (a second Ctrl-C kills)
  143  terminated
`

// An exitError ends the program with a code. Without an err everything has been
// said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usagef returns an error about how the program was called or configured.
func usagef(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// ended returns the error for a code that needs no further words.
func ended(code int) error {
	if code == exitDone {
		return nil
	}
	return &exitError{code: code}
}

// An outcome is how the end of a run is told: by the subtype of a result line
// and by an exit code.
type outcome struct {
	subtype string
	code    int
}

const (
	success   = "success"
	errorRun  = "error_during_execution"
	cancelled = "cancelled"
)

var outcomes = map[event.EndReason]outcome{
	event.Completed:       {success, exitDone},
	event.ToolEnded:       {success, exitDone},
	event.MaxTokens:       {success, exitDone},
	event.MaxTurns:        {"error_max_turns", exitLimit},
	event.MaxModelCalls:   {"error_max_model_calls", exitLimit},
	event.MaxBudget:       {"error_max_budget_usd", exitLimit},
	event.TimedOut:        {errorRun, exitLimit},
	event.ContextOverflow: {errorRun, exitLimit},
	event.DoomLoop:        {errorRun, exitLimit},
	event.HookStopped:     {errorRun, exitStopped},
	event.OutputInvalid:   {"error_max_structured_output_retries", exitSchema},
	event.ModelError:      {errorRun, exitModel},
	event.Refused:         {errorRun, exitModel},
	event.Interrupted:     {cancelled, exitInterrupted},
	event.Suspended:       {errorRun, exitNobody},
	event.Internal:        {errorRun, exitInternal},
}

// outcomeOf says how a run ended. ctx is the program's, which a signal ends.
func outcomeOf(ctx context.Context, end event.RunEnd) outcome {
	o, ok := outcomes[end.Reason]
	switch {
	case !ok:
		o = outcome{errorRun, exitInternal}
	case o.code == exitDone && neededApproval(end.Denials):
		o.code = exitNobody
	case o.code == exitModel && (end.Status == 401 || end.Status == 403 || end.Class == llm.Auth || end.Class == llm.Forbidden):
		o.code = exitKey
	case o.code == exitInterrupted && ctx.Err() != nil:
		o.code = signalCode(ctx)
	}
	return o
}

func neededApproval(denials []event.Denial) bool {
	for _, d := range denials {
		if d.Nobody {
			return true
		}
	}
	return false
}

// startError maps the errors of a run that did not begin.
func startError(ctx context.Context, err error) error {
	return mapped(ctx, err, "; set OPENAGENT_HOME, or add --no-session-persistence")
}

// commandError maps the errors of a command about sessions, which is no run.
func commandError(ctx context.Context, err error) error { return mapped(ctx, err, "") }

// mapped maps an error of sessions. advice is for those of files.
func mapped(ctx context.Context, err error, advice string) error {
	var known *exitError
	var file *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, agent.ErrConfig), errors.Is(err, session.ErrBadID), errors.Is(err, session.ErrNotFound),
		errors.Is(err, session.ErrVersion), errors.Is(err, session.ErrExists):
		return &exitError{code: exitUsage, err: err}
	case errors.Is(err, agent.ErrNotResumable):
		return usagef("%w; write a prompt", err)
	case errors.Is(err, session.ErrSessionBusy):
		return usagef("the session is in use by another process; wait for its end, or go on in a copy with --fork-session")
	case ctx.Err() != nil:
		return ended(signalCode(ctx))
	case errors.As(err, &file), errors.As(err, &link):
		return usagef("%w%s", err, advice)
	}
	return &exitError{code: exitInternal, err: err}
}
