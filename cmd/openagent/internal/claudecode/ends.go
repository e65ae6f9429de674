package claudecode

import "github.com/openagent-go/agent/event"

// An End says how Claude Code would report the end of a prompt.
type End struct {
	Subtype string
	IsError bool
	Reason  string // terminal_reason
}

const (
	success     = "success"
	errorDuring = "error_during_execution"
)

// ends maps the ends of prompts. Hosts know only these subtypes.
var ends = map[event.EndReason]End{
	event.Completed:       {success, false, "completed"},
	event.ToolEnded:       {success, false, "completed"},
	event.MaxTokens:       {success, false, "completed"},
	event.MaxTurns:        {"error_max_turns", true, "max_turns"},
	event.MaxModelCalls:   {"error_max_turns", true, "max_turns"},
	event.MaxBudget:       {"error_max_budget_usd", true, "budget_exhausted"},
	event.TimedOut:        {errorDuring, true, "aborted_streaming"},
	event.ContextOverflow: {success, true, "prompt_too_long"},
	event.DoomLoop:        {errorDuring, true, "aborted_tools"},
	event.HookStopped:     {success, false, "hook_stopped"},
	event.OutputInvalid:   {"error_max_structured_output_retries", true, "structured_output_retry_exhausted"},
	event.ModelError:      {success, true, "api_error"},
	event.Refused:         {success, true, "api_error"},
	event.Interrupted:     {errorDuring, true, "aborted_streaming"},
	event.Suspended:       {errorDuring, true, "tool_deferred"},
	event.Internal:        {errorDuring, true, "api_error"},
}

// EndOf returns how the end of a prompt is reported.
func EndOf(r event.EndReason) End {
	if e, ok := ends[r]; ok {
		return e
	}
	return End{errorDuring, true, "api_error"}
}
