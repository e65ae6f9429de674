package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
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
	Title string `json:"title,omitempty"`
	Body  string `json:"body,omitempty"`
	Level string `json:"level,omitempty"` // info, warning or error
}

// wireOutput is an Output in JSON: Claude Code's form, and a shorter one in which the
// members of an event are not in an object of their own.
type wireOutput struct {
	Continue         *bool         `json:"continue"`
	StopReason       string        `json:"stopReason"`
	SuppressOutput   bool          `json:"suppressOutput"`
	SystemMessage    string        `json:"systemMessage"`
	Decision         string        `json:"decision"`
	Reason           string        `json:"reason"`
	Async            bool          `json:"async"`
	Specific         *wireSpecific `json:"hookSpecificOutput"`
	Block            bool          `json:"block"`
	Message          string        `json:"message"`
	Notification     *Notice       `json:"notification"`
	PermissionUpdate *struct {
		Tool     string              `json:"tool"`
		Behavior permission.Behavior `json:"behavior"`
	} `json:"permissionUpdate"`
	wireFlat
}

// wireFlat are the members of an event's own object that may stand outside of it.
type wireFlat struct {
	PermissionDecision       permission.Behavior `json:"permissionDecision"`
	PermissionDecisionReason string              `json:"permissionDecisionReason"`
	UpdatedInput             json.RawMessage     `json:"updatedInput"`
	AdditionalContext        string              `json:"additionalContext"`
	UpdatedToolOutput        json.RawMessage     `json:"updatedToolOutput"`
	UpdatedMCPToolOutput     json.RawMessage     `json:"updatedMCPToolOutput"`
	SessionTitle             string              `json:"sessionTitle"`
	InitialUserMessage       string              `json:"initialUserMessage"`
	DisplayContent           *string             `json:"displayContent"`
	Retry                    bool                `json:"retry"`
	Action                   string              `json:"action"`
	Content                  json.RawMessage     `json:"content"`
}

type wireSpecific struct {
	Event Event `json:"hookEventName"`
	wireFlat
	Decision *struct {
		Behavior           permission.Behavior `json:"behavior"`
		UpdatedInput       json.RawMessage     `json:"updatedInput"`
		UpdatedPermissions []Update            `json:"updatedPermissions"`
		Message            string              `json:"message"`
		Interrupt          bool                `json:"interrupt"`
	} `json:"decision"`
}

// Parse reads the standard output of a program: one JSON object with the hook's answer. Any
// other text is a message, or context for the model if the event [Event.Speaks]. An output
// that looks like a failed answer is an error, see docs/hooks.md; at an event that
// [Event.Guards] this blocks.
func Parse(e Event, out []byte) (Output, error) {
	out = bytes.TrimSpace(out)
	if len(out) == 0 {
		return Output{}, nil
	}
	if e.Guards() {
		if err := readable(out); err != nil {
			return Output{}, err
		}
	}
	if out[0] != '{' {
		if e.Speaks() {
			return Output{Context: text.Clean(string(out))}, nil
		}
		return Output{Message: text.Clean(string(out))}, nil
	}
	if err := unambiguous(out); err != nil {
		return Output{}, fmt.Errorf("reading its JSON: %w", err)
	}
	var w wireOutput
	if err := json.Unmarshal(out, &w); err != nil {
		return Output{}, fmt.Errorf("reading its JSON: %w", err)
	}
	o, err := w.output(e)
	if err != nil {
		return Output{}, fmt.Errorf("reading its JSON: %w", err)
	}
	return o, o.check()
}

func (w *wireOutput) output(e Event) (Output, error) {
	o := Output{Block: w.Block, Reason: w.Reason, Stop: w.Continue != nil && !*w.Continue, StopReason: w.StopReason, Message: w.SystemMessage,
		Notification: w.Notification, Quiet: w.SuppressOutput, Async: w.Async}
	if o.Message == "" {
		o.Message = w.Message
	}
	switch w.Decision {
	case "":
	case "block", "deny":
		o.Block = true
	case "approve", "allow":
		o.Permission = permission.Allowed
	default:
		return o, fmt.Errorf("decision is %.50q; it must be approve or block", w.Decision)
	}
	if w.Block && o.Reason == "" {
		o.Reason = w.Message
	}
	if u := w.PermissionUpdate; u != nil {
		o.Updates = append(o.Updates, Update{Type: AddRules, Behavior: u.Behavior, Rules: []permission.Rule{permission.Rule(u.Tool)}})
	}
	if err := o.take(&w.wireFlat); err != nil || w.Specific == nil {
		return o, err
	}
	if s := w.Specific; s.Event != "" && s.Event != e {
		return o, fmt.Errorf("hookSpecificOutput is for %.50q, not for %s", s.Event, e)
	}
	if err := o.take(&w.Specific.wireFlat); err != nil {
		return o, err
	}
	o.decided(w.Specific)
	return o, nil
}

// take copies the members that an event uses.
func (o *Output) take(f *wireFlat) (err error) {
	if f.PermissionDecision != "" {
		o.Permission = f.PermissionDecision
	}
	if f.PermissionDecisionReason != "" {
		o.Reason = f.PermissionDecisionReason
	}
	if v := given(f.UpdatedInput); v != nil {
		o.Input = v
	}
	o.Context = joined(joined(o.Context, f.AdditionalContext), f.InitialUserMessage)
	if f.SessionTitle != "" {
		o.Title = f.SessionTitle
	}
	if f.DisplayContent != nil {
		o.Display = f.DisplayContent
	}
	o.Retry = o.Retry || f.Retry
	if f.Action != "" {
		o.Action, o.Content = f.Action, given(f.Content)
	}
	for _, r := range []json.RawMessage{f.UpdatedMCPToolOutput, f.UpdatedToolOutput} {
		if given(r) == nil {
			continue
		}
		if o.Result, err = result(r); err != nil {
			return err
		}
	}
	return nil
}

// decided takes in the answer to a question about permission.
func (o *Output) decided(s *wireSpecific) {
	d := s.Decision
	if d == nil {
		return
	}
	o.Permission, o.Interrupt = d.Behavior, d.Interrupt
	o.Updates = append(o.Updates, d.UpdatedPermissions...)
	if d.Message != "" {
		o.Reason = d.Message
	}
	if v := given(d.UpdatedInput); v != nil {
		o.Input = v
	}
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// given returns a member that is there and not null.
func given(v json.RawMessage) json.RawMessage {
	if len(v) == 0 || string(v) == "null" {
		return nil
	}
	return v
}

// result reads the replacement of a result: a text, an object with content, or any JSON,
// which the model reads unchanged.
func result(v json.RawMessage) (*tool.Result, error) {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return tool.Text(text), nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(v, &members) != nil || given(members["content"]) == nil {
		return tool.Text(string(v)), nil
	}
	r := new(tool.Result)
	if json.Unmarshal(members["content"], &text) == nil {
		r = tool.Text(text)
	} else if err := json.Unmarshal(members["content"], &r.Content); err != nil {
		return nil, fmt.Errorf("updatedToolOutput: its content: %w", err)
	}
	for _, b := range r.Content {
		switch b.(type) {
		case llm.Text, llm.Image, llm.Document:
		default:
			return nil, errors.New("updatedToolOutput: its content holds more than texts, images and documents")
		}
	}
	for _, name := range []string{"is_error", "isError"} {
		if m := given(members[name]); m != nil {
			if err := json.Unmarshal(m, &r.IsError); err != nil {
				return nil, fmt.Errorf("updatedToolOutput: %s: %w", name, err)
			}
		}
	}
	return r, nil
}

// maxContext bounds the bytes of each text of an output.
const maxContext = 1 << 20

// check returns the first mistake in an output.
func (o *Output) check() error {
	switch o.Permission {
	case permission.NoOpinion, permission.Allowed, permission.Denied, permission.Asked, permission.Deferred:
	default:
		return fmt.Errorf("the permission is %.50q; it must be allow, deny, ask or defer", o.Permission)
	}
	if o.Input != nil && !isObject(o.Input) {
		return errors.New("the new input is not a JSON object")
	}
	switch o.Action {
	case "", "accept", "decline", "cancel":
	default:
		return fmt.Errorf("the action is %.50q; it must be accept, decline or cancel", o.Action)
	}
	if o.Content != nil && !isObject(o.Content) {
		return errors.New("the content is not a JSON object")
	}
	if n := max(len(o.Context), len(o.Reason), len(o.StopReason), len(o.Message), len(o.Title)); n > maxContext {
		return fmt.Errorf("a text has %d bytes; the limit is %d", n, maxContext)
	}
	for _, u := range o.Updates {
		if err := u.Check(); err != nil {
			return err
		}
	}
	return nil
}

func isObject(data json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(data, &members) == nil
}
