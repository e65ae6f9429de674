package agent

import (
	"errors"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// A Result is the outcome of a prompt. Every run has one, however it ended. It includes the
// work done before a failure. Its other fields are those of [event.RunEnd], such as Text, the
// final answer, Output, the answer to a prompt with a schema, Reason, Usage, CostUSD and
// Turns.
type Result struct {
	Session string // the id of the session
	event.RunEnd
}

// Errors for errors.Is on an [*EndError].
var (
	ErrLimit       = errors.New("a limit was reached") // turns, model calls, USD, time, context, doom loop
	ErrModel       = errors.New("the model failed")    // after retries and fallbacks; refusals too
	ErrRefused     = errors.New("the model refused to answer")
	ErrInterrupted = errors.New("the run was interrupted")
	ErrStopped     = errors.New("a hook stopped the run")
	ErrSuspended   = executor.ErrSuspended // a question was left for later; [Agent].AskUser returns it to do so
	ErrInternal    = errors.New("internal error")
)

// Errors of sessions.
var (
	ErrUsed         = errors.New("agent: a stream can be ranged over once")
	ErrEmptyPrompt  = errors.New("agent: the prompt is empty; write a text, or attach an image or document")
	ErrClosed       = errors.New("agent: the session is closed")
	ErrNotRunning   = errors.New("agent: no prompt is running in this session")
	ErrNotResumable = errors.New("agent: the last run of the session has ended, there is nothing to resume")
	ErrDetached     = errors.New("agent: the run was detached before its end; resume it to continue")
	ErrNoQuestion   = errors.New("agent: the session does not wait for a decision on this call")
	// ErrToolStuck is matched when a tool does not return after its cancellation. Its
	// goroutine may still run.
	ErrToolStuck = errors.New("agent: a tool did not return")
)

// ErrBusy is matched by the error for a session that is in use. A prompt is running in this
// Session, or another Session or program has the session open. It is [session.ErrBusy]. A
// run whose [event.RunEnd] is visible is no such run: a new prompt waits until it is closed.
var ErrBusy = session.ErrBusy

// A promptRuns is the error for a Session in which a prompt is running.
type promptRuns struct{}

func (promptRuns) Error() string        { return "agent: a prompt is running in this session" }
func (promptRuns) Is(target error) bool { return target == ErrBusy }

// errPromptRuns tells a running prompt from a session that another Session holds.
var errPromptRuns error = promptRuns{}

// An EndError is the error of a run that ended with any reason but completed, tool_ended or
// max_tokens.
type EndError struct {
	Reason  event.EndReason // why the run ended
	Message string          // in words
	// Err is the cause; nil if there is none. In the process that ran the prompt it is the
	// model's own error, the errors of a hook, or the cause of the context's end, which also
	// matches the context's error. Secrets in it are not masked. For a run that another process recorded it is an [*llm.APIError]
	// with its class, provider, status and request.
	Err error
}

// Error returns the reason and the message. It repeats no word with which the message begins.
func (e *EndError) Error() string {
	words := strings.TrimPrefix(strings.TrimPrefix(e.Message, "agent: "), "run ended: ")
	words = strings.TrimPrefix(words, string(e.Reason)+": ")
	if words == "" || words == string(e.Reason) {
		return "agent: run ended: " + string(e.Reason)
	}
	return fmt.Sprintf("agent: run ended: %s: %s", e.Reason, words)
}

// Unwrap returns Err.
func (e *EndError) Unwrap() error { return e.Err }

// Is matches the sentinels of this package.
func (e *EndError) Is(target error) bool {
	switch e.Reason {
	case event.MaxTurns, event.MaxModelCalls, event.MaxBudget, event.TimedOut, event.ContextOverflow, event.DoomLoop:
		return target == ErrLimit
	case event.ModelError:
		return target == ErrModel
	case event.Refused:
		return target == ErrModel || target == ErrRefused
	case event.Interrupted:
		return target == ErrInterrupted
	case event.HookStopped:
		return target == ErrStopped
	case event.Suspended:
		return target == ErrSuspended
	case event.OutputInvalid:
		return target == ErrOutputInvalid
	case event.Internal:
		return target == ErrInternal
	}
	return false
}

// failure returns the error of a result with the cause that is on record. It is nil for
// success.
func (r *Result) failure() error {
	if r == nil {
		return nil
	}
	return endError(r.RunEnd, nil)
}

// endError returns the error for the end of a run, nil for success.
func endError(e event.RunEnd, cause error) error {
	switch e.Reason {
	case event.Completed, event.ToolEnded, event.MaxTokens:
		return nil
	}
	if cause == nil && e.Class != "" {
		cause = recordedCause(e)
	}
	if e.Reason == event.OutputInvalid {
		cause = &OutputError{Said: e.Text, Problem: e.Message}
	}
	return &EndError{Reason: e.Reason, Message: e.Message, Err: cause}
}

// recordedCause returns the error of a model from the words on record, which are those of
// [llm.APIError.Error].
func recordedCause(e event.RunEnd) error {
	cause := &llm.APIError{Class: e.Class, Status: e.Status, Message: e.Message, RequestID: e.RequestID, RetryAfter: -1}
	head := (&llm.APIError{Class: e.Class, Status: e.Status}).Error()
	provider, words, ok := strings.Cut(e.Message, head)
	if name := strings.TrimSuffix(provider, ": "); ok && (provider == "" || name != provider && !strings.Contains(name, " ")) {
		cause.Provider = name
		cause.Message, _ = strings.CutPrefix(words, ": ")
		if e.RequestID != "" {
			cause.Message = strings.Replace(cause.Message, " [request "+e.RequestID+"]", "", 1)
		}
	}
	return cause
}
