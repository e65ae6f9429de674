package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// A signalError is the signal that ended a context.
type signalError struct {
	name string
	code int
}

func (e *signalError) Error() string { return e.name }

var (
	Interruption = &signalError{"interrupted (SIGINT)", ExitInterrupted}
	termination  = &signalError{"terminated (SIGTERM)", ExitTerminated}
	hangup       = &signalError{"terminated (SIGHUP)", ExitTerminated}
)

func signalOf(s os.Signal) *signalError {
	switch s {
	case os.Interrupt:
		return Interruption
	case syscall.SIGHUP:
		return hangup
	}
	return termination
}

// signals returns the signals that end the program. If the parent ignores SIGHUP, as nohup does, it
// stays ignored.
func signals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// WatchSignals returns a context that the first signal cancels. The second signal ends the program
// at once, with its child processes. A closed stdout is a write error, not a signal.
func WatchSignals(parent context.Context, h *IO) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	came, pipe := make(chan os.Signal, 2), make(chan os.Signal, 1)
	signal.Notify(came, signals()...)
	signal.Notify(pipe, syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-came:
				if ctx.Err() != nil {
					os.Exit(signalOf(s).code)
				}
				if f := h.Interrupted.Load(); s == os.Interrupt && f != nil && (*f)() {
					continue
				}
				cancel(signalOf(s))
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(came)
		close(done)
		cancel(nil)
	}
}

// SignalCode returns the exit code for the signal that ended ctx.
func SignalCode(ctx context.Context) int {
	var s *signalError
	if errors.As(context.Cause(ctx), &s) {
		return s.code
	}
	return ExitInternal
}

// IsSignal reports whether a signal ended ctx.
func IsSignal(ctx context.Context) bool {
	var s *signalError
	return errors.As(context.Cause(ctx), &s)
}
