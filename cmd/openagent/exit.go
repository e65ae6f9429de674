package main

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

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
	event.Completed:       {success, cli.ExitDone},
	event.ToolEnded:       {success, cli.ExitDone},
	event.MaxTokens:       {success, cli.ExitDone},
	event.MaxTurns:        {"error_max_turns", cli.ExitLimit},
	event.MaxModelCalls:   {"error_max_model_calls", cli.ExitLimit},
	event.MaxBudget:       {"error_max_budget_usd", cli.ExitLimit},
	event.TimedOut:        {errorRun, cli.ExitLimit},
	event.ContextOverflow: {errorRun, cli.ExitLimit},
	event.DoomLoop:        {errorRun, cli.ExitLimit},
	event.HookStopped:     {errorRun, cli.ExitStopped},
	event.OutputInvalid:   {"error_max_structured_output_retries", cli.ExitSchema},
	event.ModelError:      {errorRun, cli.ExitModel},
	event.Refused:         {errorRun, cli.ExitModel},
	event.Interrupted:     {cancelled, cli.ExitInterrupted},
	event.Suspended:       {errorRun, cli.ExitNobody},
	event.Internal:        {errorRun, cli.ExitInternal},
}

// outcomeOf says how a run ended. ctx is the program's, which a signal ends.
func outcomeOf(ctx context.Context, end event.RunEnd) outcome {
	o, ok := outcomes[end.Reason]
	switch {
	case !ok:
		o = outcome{errorRun, cli.ExitInternal}
	case o.code == cli.ExitDone && neededApproval(end.Denials):
		o.code = cli.ExitNobody
	case o.code == cli.ExitModel && (end.Status == 401 || end.Status == 403 || end.Class == llm.Auth || end.Class == llm.Forbidden):
		o.code = cli.ExitKey
	case o.code == cli.ExitInterrupted && ctx.Err() != nil:
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
	var known *cli.ExitError
	var file *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, agent.ErrConfig), errors.Is(err, session.ErrBadID), errors.Is(err, session.ErrNotFound),
		errors.Is(err, session.ErrVersion), errors.Is(err, session.ErrExists):
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	case errors.Is(err, agent.ErrNotResumable):
		return cli.Usagef("%w; write a prompt", err)
	case errors.Is(err, session.ErrSessionBusy):
		return cli.Usagef("the session is in use by another process; wait for its end, or go on in a copy with --fork-session")
	case ctx.Err() != nil:
		return cli.Ended(signalCode(ctx))
	case errors.As(err, &file), errors.As(err, &link):
		return cli.Usagef("%w%s", err, advice)
	}
	return &cli.ExitError{Code: cli.ExitInternal, Err: err}
}
