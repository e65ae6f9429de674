package hook

import (
	"encoding/json"

	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// An Input is the data for a hook. The first members are set at every event, the others at
// the events that they name. Its JSON is the form that hooks of Claude Code read.
type Input struct {
	Event      Event           `json:"hook_event_name"`           // what happened
	Session    string          `json:"session_id"`                // the id of the session
	Transcript string          `json:"transcript_path"`           // the session's journal; "" if it is not in a file
	Dir        string          `json:"cwd"`                       // the working folder
	Mode       permission.Mode `json:"permission_mode,omitempty"` // the permission mode in force
	Agent      string          `json:"agent_type,omitempty"`      // the agent's name; of one that works for another, its kind
	AgentID    string          `json:"agent_id,omitempty"`        // the session of an agent that works for another

	// Events of tools. Call is our own id of the call.
	Tool        string            `json:"tool_name,omitempty"`
	Input       json.RawMessage   `json:"tool_input,omitempty"`
	Call        string            `json:"tool_use_id,omitempty"`
	Result      *tool.Result      `json:"tool_response,omitempty"` // PostToolUse, PostToolUseFailure; not to be changed
	Calls       []Call            `json:"tool_calls,omitempty"`    // PostToolBatch
	Interrupt   bool              `json:"is_interrupt,omitempty"`  // PostToolUseFailure: it was cut short
	Duration    int64             `json:"duration_ms,omitempty"`   // PostToolUse, PostToolUseFailure
	Suggestions []permission.Rule `json:"-"`                       // PermissionRequest: rules that would allow it

	// Prompts and runs.
	Prompt  string `json:"prompt,omitempty"`                 // UserPromptSubmit, UserPromptExpansion
	Source  string `json:"source,omitempty"`                 // SessionStart: startup, resume or fork; UserPromptSubmit: prompt, steer or follow_up; ConfigChange: user_settings, …
	Trigger string `json:"trigger,omitempty"`                // Setup: init; PreCompact, PostCompact: auto or manual
	Wishes  string `json:"custom_instructions,omitempty"`    // PreCompact: of who wants the compaction
	Summary string `json:"compact_summary,omitempty"`        // PostCompact: "" where only old results were cleared
	Model   string `json:"model,omitempty"`                  // SessionStart
	Reason  string `json:"reason,omitempty"`                 // Stop, SessionEnd, PermissionDenied
	Active  bool   `json:"stop_hook_active,omitempty"`       // Stop: the run continues because of a Stop hook
	Last    string `json:"last_assistant_message,omitempty"` // Stop, StopFailure
	Error   string `json:"error,omitempty"`                  // PostToolUseFailure, StopFailure
	Details string `json:"error_details,omitempty"`          // StopFailure
	Message string `json:"message,omitempty"`                // Notification, Elicitation, ElicitationResult
	Title   string `json:"title,omitempty"`                  // Notification
	Kind    string `json:"notification_type,omitempty"`      // Notification: permission_prompt or question

	// MCP servers: Elicitation, ElicitationResult.
	Server      string          `json:"mcp_server_name,omitempty"`  // Elicitation, ElicitationResult
	Ask         string          `json:"mode,omitempty"`             // Elicitation, ElicitationResult: form or url
	URL         string          `json:"url,omitempty"`              // Elicitation, ElicitationResult
	Elicitation string          `json:"elicitation_id,omitempty"`   // Elicitation, ElicitationResult: the server's, with a url
	Schema      json.RawMessage `json:"requested_schema,omitempty"` // Elicitation, ElicitationResult: of the form
	Action      string          `json:"action,omitempty"`           // ElicitationResult: accept, decline or cancel
	Content     json.RawMessage `json:"content,omitempty"`          // ElicitationResult: the content of the form

	// Fields are the texts of events that report a change, such as "file_path", by their
	// names in JSON: see docs/hooks.md. Names that no event has are left out of the JSON.
	Fields map[string]string `json:"-"`

	// MessageDisplay.
	MessageID string `json:"message_id,omitempty"`
	Delta     string `json:"delta,omitempty"` // the text that was added
	Final     bool   `json:"final,omitempty"` // the message is complete
}

// A Call is one of the calls that an answer made, with its result.
type Call struct {
	Tool    string          `json:"tool_name"`          // its name
	Input   json.RawMessage `json:"tool_input"`         // a JSON object
	ID      string          `json:"tool_use_id"`        // of the call
	Result  string          `json:"tool_response"`      // the text of the result
	IsError bool            `json:"is_error,omitempty"` // the call failed
}

// MarshalJSON writes Claude Code's form: suggestions are updates of permissions.
func (in Input) MarshalJSON() ([]byte, error) {
	type plain Input
	out := struct {
		plain
		Active      *bool    `json:"stop_hook_active,omitempty"`
		Suggestions []Update `json:"permission_suggestions,omitempty"`
	}{plain: plain(in)}
	if in.Event == Stop || in.Event == SubagentStop { // scripts rely on it
		out.Active = &in.Active
	}
	if len(in.Suggestions) > 0 {
		out.Suggestions = []Update{{Type: hookconst.AddRules, Behavior: permission.Allowed, Rules: in.Suggestions, destination: "session"}}
	}
	fields := hookconst.Known(in.Fields)
	text, err := json.Marshal(out)
	if err != nil || fields == nil {
		return text, err
	}
	more, err := json.Marshal(fields)
	return append(append(text[:len(text)-1], ','), more[1:]...), err
}
