package hookrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

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
	Notification     *hook.Notice  `json:"notification"`
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
	Event hook.Event `json:"hookEventName"`
	wireFlat
	Decision *struct {
		Behavior           permission.Behavior `json:"behavior"`
		UpdatedInput       json.RawMessage     `json:"updatedInput"`
		UpdatedPermissions []hook.Update       `json:"updatedPermissions"`
		Message            string              `json:"message"`
		Interrupt          bool                `json:"interrupt"`
	} `json:"decision"`
}

// Parse reads the standard output of a program: one JSON object with the hook's answer. Any
// other text is a message, or context for the model if the event speaks. An output
// that looks like a failed answer is an error, see docs/hooks.md; at an event that
// [Guards] this blocks.
func Parse(e hook.Event, out []byte) (hook.Output, error) {
	out = bytes.TrimSpace(out)
	if len(out) == 0 {
		return hook.Output{}, nil
	}
	if Guards(e) {
		if err := readable(out); err != nil {
			return hook.Output{}, err
		}
	}
	if out[0] != '{' {
		if speaks(e) {
			return hook.Output{Context: text.Clean(string(out))}, nil
		}
		return hook.Output{Message: text.Clean(string(out))}, nil
	}
	if err := unambiguous(out); err != nil {
		return hook.Output{}, fmt.Errorf("reading its JSON: %w", err)
	}
	var w wireOutput
	if err := json.Unmarshal(out, &w); err != nil {
		return hook.Output{}, fmt.Errorf("reading its JSON: %w", err)
	}
	o, err := w.output(e)
	if err != nil {
		return hook.Output{}, fmt.Errorf("reading its JSON: %w", err)
	}
	return o, checkOutput(&o)
}

func (w *wireOutput) output(e hook.Event) (hook.Output, error) {
	o := hook.Output{Block: w.Block, Reason: w.Reason, Stop: w.Continue != nil && !*w.Continue, StopReason: w.StopReason, Message: w.SystemMessage,
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
		o.Updates = append(o.Updates, hook.Update{Type: hookconst.AddRules, Behavior: u.Behavior, Rules: []permission.Rule{permission.Rule(u.Tool)}})
	}
	if err := take(&o, &w.wireFlat); err != nil || w.Specific == nil {
		return o, err
	}
	if s := w.Specific; s.Event != "" && s.Event != e {
		return o, fmt.Errorf("hookSpecificOutput is for %.50q, not for %s", s.Event, e)
	}
	if err := take(&o, &w.Specific.wireFlat); err != nil {
		return o, err
	}
	decided(&o, w.Specific)
	return o, nil
}

// take copies the members that an event uses.
func take(o *hook.Output, f *wireFlat) (err error) {
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
func decided(o *hook.Output, s *wireSpecific) {
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

// checkOutput returns the first mistake in an output.
func checkOutput(o *hook.Output) error {
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
		if err := CheckUpdate(u); err != nil {
			return err
		}
	}
	return nil
}

func isObject(data json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(data, &members) == nil
}

// speaks reports whether text that a hook of the event writes to standard output
// is context for the model, with PreCompact instructions for the summary. With other
// events it is a message for people.
func speaks(e hook.Event) bool {
	return e == hook.UserPromptSubmit || e == hook.UserPromptExpansion || e == hook.SessionStart || e == hook.SubagentStart || e == hook.PreCompact
}
