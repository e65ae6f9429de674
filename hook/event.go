// Package hook lets your program watch and change an agent's steps. A hook is a function
// that runs at a moment of a run. Input and output have the form of Claude Code's hooks;
// package hook/shell runs scripts that were written for those.
//
//	a.Hooks = []hook.Hook{{On: hook.PreToolUse, Match: "Edit|Write", Func: check}}
package hook

import "slices"

// An Event is a moment at which hooks are called.
type Event string

// Tools.
const (
	// PreToolUse: a call is about to be judged by rules and mode. May deny, allow or
	// ask about it, and change its input.
	PreToolUse Event = "PreToolUse"
	// PostToolUse: a tool ran and succeeded. May replace what the model sees of it.
	PostToolUse Event = "PostToolUse"
	// PostToolUseFailure: a tool ran and failed, or was cut short. May replace what
	// the model sees of it.
	PostToolUseFailure Event = "PostToolUseFailure"
	// PostToolBatch: all calls of an answer have their results, and the model is
	// about to see them. May end the run.
	PostToolBatch Event = "PostToolBatch"
	// PermissionRequest: a person is about to be asked about a call. May answer.
	PermissionRequest Event = "PermissionRequest"
	// PermissionDenied: a call was denied. May tell the model to try again.
	PermissionDenied Event = "PermissionDenied"
)

// Prompts and runs.
const (
	// Setup: a new session begins, before anything else.
	Setup Event = "Setup"
	// SessionStart: the first prompt of a session in this program, before the first
	// request. May add context.
	SessionStart Event = "SessionStart"
	// SessionEnd: the session is closed; for a prompt outside of a session, before it
	// returns.
	SessionEnd Event = "SessionEnd"
	// UserPromptSubmit: a prompt, or a message to a running one, is about to reach the
	// model. May keep it away and add context.
	UserPromptSubmit Event = "UserPromptSubmit"
	// Stop: a run is about to end, whatever the reason. One that is complete may be
	// made to go on, at most 8 times a prompt.
	Stop Event = "Stop"
	// StopFailure: a run is about to end because the model could not be reached or
	// could not take the conversation. Comes before Stop.
	StopFailure Event = "StopFailure"
	// Notification: somebody is waited for.
	Notification Event = "Notification"
	// MessageDisplay: text of the model is about to be shown. May change what is shown.
	MessageDisplay Event = "MessageDisplay"
)

// Agents that work for others.
const (
	// SubagentStart: an agent is put to work for another. May add context.
	SubagentStart Event = "SubagentStart"
	// SubagentStop: its run is about to end, in place of Stop, whatever the reason. One
	// that is complete may be made to go on, at most 8 times.
	SubagentStop Event = "SubagentStop"
	// TeammateIdle: a member of a team has done its work and waits for messages.
	TeammateIdle Event = "TeammateIdle"
)

// What changes around a run.
const (
	// CwdChanged: a call has changed the working directory.
	CwdChanged Event = "CwdChanged"
	// FileChanged: a call has changed a file. Files that commands change are not seen.
	FileChanged Event = "FileChanged"
	// DirectoryAdded: a prompt has one more folder to work in than the one before it.
	DirectoryAdded Event = "DirectoryAdded"
	// ConfigChange: a call has changed a setting.
	ConfigChange Event = "ConfigChange"
	// WorktreeCreate: a call has made a worktree.
	WorktreeCreate Event = "WorktreeCreate"
	// WorktreeRemove: a call has removed a worktree.
	WorktreeRemove Event = "WorktreeRemove"
	// TaskCreated: a call has put a task on the list.
	TaskCreated Event = "TaskCreated"
	// TaskCompleted: a call has completed a task of the list.
	TaskCompleted Event = "TaskCompleted"
	// UserPromptExpansion: a slash command or a prompt of a server is about to become a
	// prompt. May keep it away.
	UserPromptExpansion Event = "UserPromptExpansion"
	// Elicitation: an MCP server asks the user something during a call. May answer in
	// their place, or keep the question away.
	Elicitation Event = "Elicitation"
	// ElicitationResult: the user's answer is about to go to the server. May change it,
	// or keep it away.
	ElicitationResult Event = "ElicitationResult"
	// InstructionsLoaded: the model is told a file of instructions, such as AGENTS.md.
	InstructionsLoaded Event = "InstructionsLoaded"
)

// What becomes of long conversations.
const (
	// PreCompact: the conversation is about to be compacted. May keep it as it is. What
	// it says is for whoever writes the summary: instructions beside those of the user.
	PreCompact Event = "PreCompact"
	// PostCompact: the conversation was compacted: old results were cleared, or a summary
	// stands in the place of what came before.
	PostCompact Event = "PostCompact"
)

// Events lists all events, in the order of their description.
var Events = []Event{
	PreToolUse, PostToolUse, PostToolUseFailure, PostToolBatch, PermissionRequest, PermissionDenied,
	Setup, SessionStart, SessionEnd, UserPromptSubmit, Stop, StopFailure, Notification, MessageDisplay,
	SubagentStart, SubagentStop, TeammateIdle,
	CwdChanged, FileChanged, DirectoryAdded, ConfigChange, WorktreeCreate, WorktreeRemove, TaskCreated, TaskCompleted, UserPromptExpansion, Elicitation, ElicitationResult,
	InstructionsLoaded,
	PreCompact, PostCompact,
}

// Known reports whether there is such an event.
func (e Event) Known() bool { return slices.Contains(Events, e) }

// Guards reports whether the event's hooks stand before something that they may
// keep from happening: one that fails keeps it from happening. With other events
// a hook that fails is reported and changes nothing.
func (e Event) Guards() bool {
	switch e {
	case PreToolUse, PermissionRequest, UserPromptSubmit, UserPromptExpansion, PreCompact, Elicitation, ElicitationResult:
		return true
	}
	return false
}

// Speaks reports whether text that a hook of the event writes to standard output
// is context for the model, with PreCompact instructions for the summary. With other
// events it is a message for people.
func (e Event) Speaks() bool {
	return e == UserPromptSubmit || e == UserPromptExpansion || e == SessionStart || e == SubagentStart || e == PreCompact
}

// Subject names the member of the [Input] that a hook's Match is about, "" where
// the event has none and every hook is called.
func (e Event) Subject() string {
	switch e {
	case PreToolUse, PostToolUse, PostToolUseFailure, PermissionRequest, PermissionDenied:
		return "tool_name"
	case SessionStart, ConfigChange:
		return "source"
	case SessionEnd, Stop:
		return "reason"
	case StopFailure:
		return "error"
	case Setup, PreCompact, PostCompact:
		return "trigger"
	case UserPromptExpansion:
		return "command_name"
	case Notification:
		return "notification_type"
	case FileChanged:
		return "file_path"
	case InstructionsLoaded:
		return "load_reason"
	case SubagentStart, SubagentStop:
		return "agent_type"
	case Elicitation, ElicitationResult:
		return "mcp_server_name"
	}
	return ""
}
