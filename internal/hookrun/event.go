package hookrun

import (
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookconst"
)

// Guards reports whether the event's hooks stand before something that they may
// keep from happening: one that fails keeps it from happening. With other events
// a hook that fails is reported and changes nothing.
func Guards(e hook.Event) bool {
	switch e {
	case hook.PreToolUse, hook.PermissionRequest, hook.UserPromptSubmit, hook.UserPromptExpansion, hook.PreCompact, hook.Elicitation, hook.ElicitationResult:
		return true
	}
	return false
}

// Subject names the member of the [hook.Input] that a [hook.Hook]'s Match is about, "" where
// the event has none and every hook is called.
//
//go:noinline // called from many places: every program stays smaller
func Subject(e hook.Event) string {
	switch e {
	case hook.PreToolUse, hook.PostToolUse, hook.PostToolUseFailure, hook.PermissionRequest, hook.PermissionDenied:
		return "tool_name"
	case hook.SessionStart, hookconst.ConfigChange:
		return "source"
	case hook.SessionEnd, hook.Stop:
		return "reason"
	case hook.StopFailure:
		return "error"
	case hook.Setup, hook.PreCompact, hook.PostCompact:
		return "trigger"
	case hook.UserPromptExpansion:
		return "command_name"
	case hook.Notification:
		return "notification_type"
	case hookconst.FileChanged:
		return "file_path"
	case hookconst.InstructionsLoaded:
		return "load_reason"
	case hook.SubagentStart, hook.SubagentStop:
		return "agent_type"
	case hook.Elicitation, hook.ElicitationResult:
		return "mcp_server_name"
	}
	return ""
}
