// Package hook lets your program watch and change an agent's steps. A hook is a function
// that runs at a moment of a run. Input and output have the form of Claude Code's hooks;
// package hook/shell runs scripts that were written for those.
//
//	a.Hooks = []hook.Hook{{On: hook.PreToolUse, Match: "Edit|Write", Func: check}}
package hook

import "github.com/openagent-go/agent/internal/hookconst"

// An Event is a moment at which hooks are called. Those that only report a change around a
// run, such as "FileChanged" and "TaskCompleted", have no constant: write the
// text.
type Event string

// Tools.
const (
	// PreToolUse: before rules and mode judge a call. May deny, allow or ask about it,
	// and change its input.
	PreToolUse Event = "PreToolUse"
	// PostToolUse: a tool ran and succeeded. May replace the result that the model sees.
	PostToolUse Event = "PostToolUse"
	// PostToolUseFailure: a tool failed or was interrupted. May replace the result that
	// the model sees.
	PostToolUseFailure Event = "PostToolUseFailure"
	// PostToolBatch: all calls of an answer have their results, and the model has not
	// seen them yet. May end the run.
	PostToolBatch Event = "PostToolBatch"
	// PermissionRequest: before a person is asked about a call. May answer.
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
	// SessionEnd: the session is closed. For a prompt outside of a session, before it
	// returns.
	SessionEnd Event = "SessionEnd"
	// UserPromptSubmit: before a prompt, or a message to a running one, reaches the
	// model. May stop it, and add context.
	UserPromptSubmit Event = "UserPromptSubmit"
	// Stop: before a run ends, for any reason. May make a complete run continue, at most
	// 8 times a prompt.
	Stop Event = "Stop"
	// StopFailure: before a run ends because the model could not be reached or could not
	// take the conversation. Comes before Stop.
	StopFailure Event = "StopFailure"
	// Notification: the run waits for a person.
	Notification Event = "Notification"
	// MessageDisplay: before text of the model is shown. May change the shown text.
	MessageDisplay Event = "MessageDisplay"
)

// Sub-agents.
const (
	// SubagentStart: a sub-agent starts. May add context.
	SubagentStart Event = "SubagentStart"
	// SubagentStop: before a sub-agent ends, in place of Stop, for any reason. May make
	// a complete one continue, at most 8 times.
	SubagentStop Event = "SubagentStop"
)

// Commands and servers.
const (
	// UserPromptExpansion: before a slash command or a prompt of a server becomes a
	// prompt. May stop it.
	UserPromptExpansion Event = "UserPromptExpansion"
	// Elicitation: an MCP server asks the user something during a call. May answer in
	// their place, or stop the question.
	Elicitation Event = "Elicitation"
	// ElicitationResult: before the user's answer goes to the server. May change or stop
	// it.
	ElicitationResult Event = "ElicitationResult"
)

// Compaction.
const (
	// PreCompact: before the conversation is compacted. May stop that. Its text goes to
	// the model that writes the summary, beside the instructions of the user.
	PreCompact Event = "PreCompact"
	// PostCompact: the conversation was compacted: old results were cleared, or a
	// summary replaced older messages.
	PostCompact Event = "PostCompact"
)

// Events lists all events, in the order of their description in docs/hooks.md.
var Events = []Event{
	PreToolUse, PostToolUse, PostToolUseFailure, PostToolBatch, PermissionRequest, PermissionDenied,
	Setup, SessionStart, SessionEnd, UserPromptSubmit, Stop, StopFailure, Notification, MessageDisplay,
	SubagentStart, SubagentStop, hookconst.TeammateIdle,
	hookconst.CwdChanged, hookconst.FileChanged, hookconst.DirectoryAdded, hookconst.ConfigChange, hookconst.WorktreeCreate, hookconst.WorktreeRemove, hookconst.TaskCreated, hookconst.TaskCompleted, UserPromptExpansion, Elicitation, ElicitationResult,
	hookconst.InstructionsLoaded,
	PreCompact, PostCompact,
}
