package toolrun

import "errors"

// ErrStuck is matched by the error for a tool that did not return after its context had ended.
var ErrStuck = errors.New("tool did not return after its context had ended")

// A Fault says how a call failed without an answer of the tool. A result that reports a
// failure in the tool's own words, such as a non-zero exit code, is not a fault.
type Fault = string

const (
	NoFault      Fault = ""
	TimedOut     Fault = "timeout"       // the Spec's timeout
	Panicked     Fault = "panic"         // a panic or Goexit in the tool
	InvalidInput Fault = "invalid_input" // the input breaks the schema
	Stuck        Fault = "stuck"         // the tool did not return after its context had ended
	Refused      Fault = "denied"        // permission was refused
)
