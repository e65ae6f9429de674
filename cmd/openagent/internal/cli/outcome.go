package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// An Outcome tells how a run ended: the subtype of the result line and the exit code.
type Outcome struct {
	Subtype string
	Code    int
}

const (
	Success   = "success"
	ErrorRun  = "error_during_execution"
	cancelled = "cancelled"
)

// Outcomes maps the end of a run to its outcome.
var Outcomes = map[event.EndReason]Outcome{
	event.Completed:       {Success, ExitDone},
	event.ToolEnded:       {Success, ExitDone},
	event.MaxTokens:       {Success, ExitDone},
	event.MaxTurns:        {"error_max_turns", ExitLimit},
	event.MaxModelCalls:   {"error_max_model_calls", ExitLimit},
	event.MaxBudget:       {"error_max_budget_usd", ExitLimit},
	event.TimedOut:        {ErrorRun, ExitLimit},
	event.ContextOverflow: {ErrorRun, ExitLimit},
	event.DoomLoop:        {ErrorRun, ExitLimit},
	event.HookStopped:     {ErrorRun, ExitStopped},
	event.OutputInvalid:   {"error_max_structured_output_retries", ExitSchema},
	event.ModelError:      {ErrorRun, ExitModel},
	event.Refused:         {ErrorRun, ExitModel},
	event.Interrupted:     {cancelled, ExitInterrupted},
	event.Suspended:       {ErrorRun, ExitNobody},
	event.Internal:        {ErrorRun, ExitInternal},
}

// OutcomeOf returns how a run ended. ctx is the program's context, which a signal cancels.
func OutcomeOf(ctx context.Context, end event.RunEnd) Outcome {
	o, ok := Outcomes[end.Reason]
	switch {
	case !ok:
		o = Outcome{ErrorRun, ExitInternal}
	case o.Code == ExitDone && NeededApproval(end.Denials):
		o.Code = ExitNobody
	case o.Code == ExitModel && (end.Status == 401 || end.Status == 403 || end.Class == llm.Auth || end.Class == llm.Forbidden):
		o.Code = ExitKey
	case o.Code == ExitInterrupted && ctx.Err() != nil:
		o.Code = SignalCode(ctx)
	}
	return o
}

// NeededApproval reports whether a call was denied because no user could be asked.
func NeededApproval(denials []event.Denial) bool {
	for _, d := range denials {
		if d.Nobody {
			return true
		}
	}
	return false
}

// StartError maps the errors of a run that did not start.
func StartError(ctx context.Context, err error) error {
	return mapped(ctx, err, "; set OPENAGENT_HOME, or add --no-session-persistence")
}

// CommandError maps the errors of a sessions command.
func CommandError(ctx context.Context, err error) error { return mapped(ctx, err, "") }

// Holder returns who has a session open, and since when if the store knows it. err matches [session.ErrBusy].
func Holder(err error) string {
	var known interface{ Busy() string }
	if errors.As(err, &known) {
		return known.Busy()
	}
	return "another process"
}

// mapped maps a session error. advice is added to file errors.
func mapped(ctx context.Context, err error, advice string) error {
	var known *ExitError
	var file *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, agent.ErrConfig), errors.Is(err, session.ErrBadID), errors.Is(err, session.ErrNotFound),
		errors.Is(err, session.ErrVersion), errors.Is(err, session.ErrExists):
		return &ExitError{Code: ExitUsage, Err: err}
	case errors.Is(err, agent.ErrNotResumable):
		return Usagef("%w; write a prompt", err)
	case errors.Is(err, session.ErrBusy):
		return Usagef("the session is in use by %s; wait until it ends, or continue in a copy with --fork-session", Holder(err))
	case ctx.Err() != nil:
		return ExitCode(SignalCode(ctx))
	case errors.As(err, &file), errors.As(err, &link):
		return Usagef("%w%s", err, advice)
	}
	return &ExitError{Code: ExitInternal, Err: err}
}
