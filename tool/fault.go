package tool

// A Fault says how a call went wrong without the tool having answered. Results
// that report a failure in the tool's own words, a non-zero exit code among
// them, are no faults.
type Fault string

const (
	NoFault      Fault = ""
	TimedOut     Fault = "timeout"       // the Spec's timeout
	Panicked     Fault = "panic"         // a panic or Goexit in the tool
	InvalidInput Fault = "invalid_input" // the input breaks the schema
	Stuck        Fault = "stuck"         // the tool did not return after its context had ended
	Refused      Fault = "denied"        // permission was refused
)
