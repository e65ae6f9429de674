package hook

import (
	"encoding/json"

	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// An Output is the answer of a hook. The zero Output changes nothing. Members that an event
// does not use are ignored.
type Output struct {
	// Block stops the action that the hook guards. With Stop it makes a complete run
	// continue; with events after an action it tells the model something. The model reads
	// Reason; with UserPromptSubmit and a denied permission the user reads it too.
	Block  bool
	Reason string

	// Permission, with PreToolUse: deny is final; allow spares the question that the
	// mode would ask, but lifts no deny or ask rule and not plan mode; ask asks, defer
	// suspends the run until someone decides. With PermissionRequest: allow or deny
	// is the answer.
	Permission permission.Behavior
	Input      json.RawMessage // PreToolUse, PermissionRequest: replaces the call's input, which is judged again
	Interrupt  bool            // PermissionRequest: a denied call ends the run
	Retry      bool            // PermissionDenied: the model may make the call again
	Result     *tool.Result    // PostToolUse, PostToolUseFailure: the model sees it in place of the result
	Context    string          // text for the model; PreCompact: instructions for the summary
	Updates    []Update        // of the permission

	// Action and Content, with Elicitation and ElicitationResult, are the answer to the
	// server in the user's place: accept, decline or cancel, and the content of the form.
	Action  string
	Content json.RawMessage

	Stop       bool   // the run is stopped
	StopReason string // why

	Message      string  // for people
	Notification *Notice // for people
	Quiet        bool    // the hook's output is not shown
	Title        string  // SessionStart, UserPromptSubmit: the session's title
	Display      *string // MessageDisplay: shown in place of the text
	// Async: the hook runs in the background, and nothing waits for it.
	Async bool
}

// A Notice is for people.
type Notice struct {
	Title string `json:"title,omitempty"` // a headline
	Body  string `json:"body,omitempty"`  // the text
	Level string `json:"level,omitempty"` // info, warning or error
}
