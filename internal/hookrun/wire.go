package hookrun

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/contentjson"
	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// ReadInput reads the input of a hook in Claude Code's form. The results of calls may have
// any form: a text, an object of the tool's own, or content.
func ReadInput(data json.RawMessage) (hook.Input, error) {
	var in hook.Input
	failed := func(err error) (hook.Input, error) { return in, fmt.Errorf("reading the input of a hook: %w", err) }
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return failed(err)
	}
	response, calls, suggested := given(members["tool_response"]), given(members["tool_calls"]), given(members["permission_suggestions"])
	delete(members, "tool_response")
	delete(members, "tool_calls")
	plain, err := json.Marshal(members)
	if err != nil {
		return failed(err)
	}
	if err := json.Unmarshal(plain, &in); err != nil {
		return failed(err)
	}
	in.Fields = texts(members)
	if response != nil {
		in.Result = toolResponse(response)
		in.Result.IsError = in.Event == hook.PostToolUseFailure
	}
	if calls != nil {
		var list []struct {
			hook.Call
			Response json.RawMessage `json:"tool_response"`
		}
		if err := json.Unmarshal(calls, &list); err != nil {
			return failed(err)
		}
		for _, c := range list {
			if given(c.Response) != nil {
				c.Call.Result = toolResponse(c.Response).Text()
			}
			in.Calls = append(in.Calls, c.Call)
		}
	}
	if suggested != nil {
		var updates []hook.Update
		if err := json.Unmarshal(suggested, &updates); err != nil {
			return failed(err)
		}
		for _, u := range updates {
			if u.Type == hookconst.AddRules && u.Behavior == permission.Allowed {
				in.Suggestions = append(in.Suggestions, u.Rules...)
			}
		}
	}
	return in, nil
}

// named are the members that fields of [hook.Input] hold.
var named = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for f := range reflect.TypeFor[hook.Input]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names[name] = true
	}
	return names
})

// texts returns the members that are texts and have no field, nil if there are none.
func texts(members map[string]json.RawMessage) map[string]string {
	var all map[string]string
	for name, raw := range members {
		var text string
		if named()[name] || json.Unmarshal(raw, &text) != nil || text == "" {
			continue
		}
		if all == nil {
			all = map[string]string{}
		}
		all[name] = text
	}
	return all
}

// toolResponse reads the result of a call.
func toolResponse(raw json.RawMessage) *tool.Result {
	var own tool.Result
	if json.Unmarshal(raw, &own) == nil && len(own.Content) > 0 {
		return &own
	}
	if content, err := contentjson.Parse(raw); err == nil {
		return &tool.Result{Content: content}
	}
	r := &tool.Result{Content: llm.Blocks{llm.Text{Text: string(raw)}}}
	if isObject(raw) {
		r.Details = raw
	}
	return r
}

// Format writes an answer in the form that [Parse] reads, which is Claude Code's.
func Format(e hook.Event, o hook.Output) ([]byte, error) {
	if err := checkOutput(&o); err != nil {
		return nil, err
	}
	all, specific := map[string]any{}, map[string]any{}
	set := func(to map[string]any, name string, value any, given bool) {
		if given {
			to[name] = value
		}
	}
	set(all, "continue", false, o.Stop)
	set(all, "stopReason", o.StopReason, o.StopReason != "")
	set(all, "suppressOutput", true, o.Quiet)
	set(all, "systemMessage", o.Message, o.Message != "")
	set(all, "notification", o.Notification, o.Notification != nil)
	set(all, "async", true, o.Async)
	set(all, "reason", o.Reason, o.Reason != "")
	switch {
	case e == hook.PermissionRequest:
		if o.Block {
			o.Permission = permission.Denied
		}
		set(specific, "decision", answered(o), o.Permission != "")
	case e == hook.PreToolUse:
		if o.Block {
			o.Permission = permission.Denied
		}
		set(specific, "permissionDecision", o.Permission, o.Permission != "")
		set(specific, "permissionDecisionReason", o.Reason, o.Permission != "" && o.Reason != "")
		set(specific, "updatedInput", o.Input, o.Input != nil)
	case o.Block:
		all["decision"] = "block"
	}
	set(specific, "additionalContext", o.Context, o.Context != "")
	set(specific, "sessionTitle", o.Title, o.Title != "")
	set(specific, "displayContent", o.Display, o.Display != nil)
	set(specific, "retry", true, o.Retry)
	set(specific, "action", o.Action, o.Action != "")
	set(specific, "content", o.Content, o.Content != nil)
	if r := o.Result; r != nil {
		specific["updatedToolOutput"] = any(map[string]any{"content": r.Content, "is_error": r.IsError})
		if s, plain := contentjson.Short(r.Content).(string); plain && !r.IsError {
			specific["updatedToolOutput"] = s
		}
	}
	if len(specific) > 0 {
		specific["hookEventName"] = e
		all["hookSpecificOutput"] = specific
	}
	return json.Marshal(all)
}

// A wireUpdate is an update with the destination that Claude Code asks for.
type wireUpdate struct{ hook.Update }

// MarshalJSON adds "session", which every update is for.
func (u wireUpdate) MarshalJSON() ([]byte, error) {
	var members map[string]json.RawMessage
	data, err := json.Marshal(u.Update)
	if err == nil {
		err = json.Unmarshal(data, &members)
	}
	if err != nil {
		return nil, err
	}
	if members["destination"] == nil {
		members["destination"] = json.RawMessage(`"session"`)
	}
	return json.Marshal(members)
}

// answered is the answer to a question about permission.
func answered(o hook.Output) any {
	var updates []wireUpdate
	for _, u := range o.Updates {
		updates = append(updates, wireUpdate{u})
	}
	return struct {
		Behavior  permission.Behavior `json:"behavior"`
		Input     json.RawMessage     `json:"updatedInput,omitempty"`
		Updates   []wireUpdate        `json:"updatedPermissions,omitempty"`
		Message   string              `json:"message,omitempty"`
		Interrupt bool                `json:"interrupt,omitempty"`
	}{o.Permission, o.Input, updates, o.Reason, o.Interrupt}
}
