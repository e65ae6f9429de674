package fact

import "github.com/openagent-go/agent/event"

// Causes of results.
const (
	ByTool      event.Cause = ""             // the tool ran
	ByDenial    event.Cause = "denied"       // permission was refused
	ByCancel    event.Cause = "cancelled"    // the run was stopped: while the call ran, or before it
	ByCrash     event.Cause = "unknown"      // the program died while the call ran; whether it took effect is not known
	ByAbsence   event.Cause = "unknown_tool" // there is no such tool
	ByTruncated event.Cause = "cut_off"      // the model's answer ended inside the call
)

// When a message of a user reaches the model.
const (
	AsPrompt   event.Delivery = "prompt"    // starts a run
	AsSteer    event.Delivery = "steer"     // after the current batch of tools
	AsFollowUp event.Delivery = "follow_up" // when the run would stop
	AsNotice   event.Delivery = "notice"    // written by the program: a background command ended; like a steer
	AsHook     event.Delivery = "hook"      // context that a hook has added; like a steer
	AsContext  event.Delivery = "context"   // a note to the agent about the place it works in; like a steer, and before a prompt
	AsContinue event.Delivery = "continue"  // written by the engine: the answer was cut at max_tokens, or a Stop hook makes the run go on
)

// Why a conversation is compacted.
const (
	Auto     event.Trigger = "auto"     // it comes near the end of the context window
	Manual   event.Trigger = "manual"   // a user or a program asked for it
	Overflow event.Trigger = "overflow" // the provider finds it too long
)

// How a session began in the program that uses it.
const (
	StartNew    event.Start = "startup" // it is new
	StartResume event.Start = "resume"  // it was there before
	StartFork   event.Start = "fork"    // it shares the past of another one
)

// How far a call is, as people are shown it.
const (
	ToolWaiting   event.ToolPhase = "waiting" // the input is being written
	ToolDoing     event.ToolPhase = "doing"
	ToolSucceeded event.ToolPhase = "success"
	ToolFailed    event.ToolPhase = "error"
)
