package cli

import "fmt"

// Exit codes. Scripts rely on them, so they never change.
const (
	ExitDone        = 0
	ExitInternal    = 1
	ExitUsage       = 2
	ExitModel       = 3
	ExitKey         = 4
	ExitNobody      = 5
	ExitLimit       = 6
	ExitSchema      = 7
	ExitStopped     = 8
	ExitInterrupted = 130
	ExitTerminated  = 143
)

// ExitHelp is the page of the exit codes.
const ExitHelp = `Exit codes:
  0    done
  1    internal error
  2    usage or configuration
  3    the model or the network failed
  4    no provider or no key, or the key was refused
  5    done, but a call needed permission and no user could be asked
  6    a limit was hit: turns, model calls, money, time, context
  7    the output does not match the schema
  8    stopped by a hook or a policy
  130  interrupted (a second Ctrl-C kills)
  143  terminated
`

// An ExitError ends the program with a code. If err is nil, everything was already reported.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Usagef returns an error about the program's usage or configuration.
func Usagef(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// ExitCode returns an error that carries only an exit code.
func ExitCode(code int) error {
	if code == ExitDone {
		return nil
	}
	return &ExitError{Code: code}
}

// A PageError ends the program with a code. Its text is written unchanged, without the program's
// name.
type PageError interface {
	error
	ExitCode() int
}
