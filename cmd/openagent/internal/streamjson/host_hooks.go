package streamjson

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/claudecode"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/tool"
)

// A hookMatcher is an entry of the hooks of initialize.
type hookMatcher struct {
	Matcher   *string  `json:"matcher"`
	Callbacks []string `json:"hookCallbackIds"`
	Timeout   float64  `json:"timeout"` // seconds
	OnFailure string   `json:"onFailure"`
}

const (
	hookTimeout    = time.Minute
	maxHookTimeout = 24 * time.Hour
	// hookGrace is how much longer the run waits for a hook than the host has for its answer.
	hookGrace = 10 * time.Second
)

// hooksOf returns the hooks of a host: each calls the host back.
func (d *Session) hooksOf(events map[string][]hookMatcher) (list []hook.Hook, err error) {
	d.modelHooks = map[string][]modelHook{}
	for _, name := range slices.Sorted(maps.Keys(events)) {
		for _, m := range events[name] {
			on := hook.Event(name)
			own := name == preModelSwitch || name == postModelSwitch
			if !own && !slices.Contains(hook.Events, on) {
				return nil, fmt.Errorf("initialize: hooks: the event %q is not supported by this version", cli.Clip(name))
			}
			if m.Callbacks == nil {
				return nil, fmt.Errorf("initialize: hooks: an entry of %s has no hookCallbackIds; give the list of its callbacks", name)
			}
			h := hook.Hook{On: on, Timeout: hookTimeout}
			if m.Matcher != nil {
				h.Match = *m.Matcher
				if _, err := regexp.Compile(h.Match); err != nil && h.Match != "*" {
					return nil, fmt.Errorf("initialize: hooks: the matcher of %s: %w", name, err)
				}
			}
			switch {
			case math.IsNaN(m.Timeout) || m.Timeout < 0:
				return nil, fmt.Errorf("initialize: hooks: the timeout of %s is %v; write seconds, more than 0", name, m.Timeout)
			case m.Timeout > maxHookTimeout.Seconds():
				h.Timeout = maxHookTimeout
			case m.Timeout > 0:
				h.Timeout = time.Duration(m.Timeout * float64(time.Second))
			}
			if m.OnFailure != "" && m.OnFailure != "block" && m.OnFailure != "continue" {
				return nil, fmt.Errorf("initialize: hooks: onFailure of %s is %q; it must be block", name, cli.Clip(m.OnFailure))
			}
			for _, id := range m.Callbacks {
				c := hookCallback{d: d, id: id, limit: h.Timeout, blocks: m.OnFailure == "block"}
				if own {
					d.modelHooks[name] = append(d.modelHooks[name], modelHook{c, h.Match})
					continue
				}
				called := h
				called.Timeout, called.Name, called.Func = h.Timeout+hookGrace, "callback", c.run
				list = append(list, called)
			}
		}
	}
	return list, nil
}

// A hookCallback is a hook that the host runs.
type hookCallback struct {
	d      *Session
	id     string
	limit  time.Duration
	blocks bool // a failure blocks
}

// hookRequest is the control request hook_callback.
type hookRequest struct {
	Subtype  string          `json:"subtype"`
	Callback string          `json:"callback_id"`
	Input    json.RawMessage `json:"input"`
	ToolUse  string          `json:"tool_use_id,omitempty"`
}

// run asks the host about an event of the agent.
func (c hookCallback) run(ctx context.Context, in *hook.Input) (hook.Output, error) {
	input, id, err := c.d.hookInput(ctx, in)
	if err != nil {
		return hook.Output{}, err
	}
	var out hook.Output
	blocked, err := c.call(ctx, in.Event, input, id, func(answer json.RawMessage) (err error) {
		out, err = hookAnswer(in.Event, answer)
		return err
	})
	switch {
	case err != nil:
		return hook.Output{}, err
	case blocked != "":
		return hook.Output{Block: true, Reason: blocked}, nil
	}
	return out, nil
}

// hookAnswer reads the answer of a callback. An answer that cannot be read as a whole still blocks, or
// stops the run, if it says so.
func hookAnswer(on hook.Event, answer json.RawMessage) (hook.Output, error) {
	if t := bytes.TrimSpace(answer); len(t) > 0 && t[0] != '{' {
		return hook.Output{}, fmt.Errorf("its answer is %.50s; it must be a JSON object", t)
	}
	out, err := hookrun.Parse(on, answer)
	if err == nil {
		return out, nil
	}
	type verdict struct { // of any types
		Continue any             `json:"continue"`
		Stop     any             `json:"stopReason"`
		Block    any             `json:"block"`
		Decision any             `json:"decision"`
		Reason   any             `json:"reason"`
		Denies   any             `json:"permissionDecision"`
		Why      any             `json:"permissionDecisionReason"`
		Behavior any             `json:"behavior"`
		Message  any             `json:"message"`
		Specific json.RawMessage `json:"hookSpecificOutput"`
	}
	var v, own, about verdict
	if json.Unmarshal(answer, &v) != nil {
		return hook.Output{}, err
	}
	_ = json.Unmarshal(v.Specific, &own) // what is no object says nothing
	_ = json.Unmarshal(encoded(own.Decision), &about)
	blocks := v.Block == true || v.Decision == "block" || v.Decision == "deny"
	denies := v.Denies == "deny" || own.Denies == "deny" || about.Behavior == "deny" || own.Decision == "block" || own.Decision == "deny"
	stops := v.Continue == false
	if !blocks && !stops && !(denies && hookrun.Guards(on)) {
		return hook.Output{}, err
	}
	why := fmt.Sprintf("A hook for %s refuses this. Its answer has a mistake: %v", on, err)
	for _, reason := range []any{own.Why, about.Message, v.Why, v.Reason, v.Stop} {
		if text, ok := reason.(string); ok && text != "" && len(text) < 1<<16 {
			why = text
			break
		}
	}
	return hook.Output{Block: blocks || denies, Reason: why, Stop: stops, StopReason: why}, nil
}

// call asks the host; read reads its answer. A callback that fails changes nothing, unless the host said
// that it blocks: then call returns why. A host that is gone blocks what the event guards, by an error:
// nobody decided.
func (c hookCallback) call(ctx context.Context, on hook.Event, input json.RawMessage, id string, read func(json.RawMessage) error) (blocked string, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, c.limit, fmt.Errorf("the host did not answer within %v", c.limit))
	defer cancel()
	answer, err := c.d.request(limited, hookRequest{"hook_callback", c.id, input, id}, false)
	if err == nil {
		err = read(answer)
	}
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, app.ErrNoPerson):
		return "", errors.New("the program that has this hook answers no more")
	case limited.Err() != nil:
		err = context.Cause(limited)
	}
	if c.blocks {
		return fmt.Sprintf("The hook for %s failed, and nothing may happen without it: %v", on, err), nil
	}
	c.d.out.Put(informationLine{Type: "system", Subtype: "informational", Content: c.d.H.OneLine(fmt.Sprintf("a hook for %s failed: %v", on, err)),
		Level: "warning", Tag: "hook_callback_failed", Origin: c.d.sign()})
	return "", nil
}

// An elicitRequest is the control request elicitation: an MCP server asks the host's user.
type elicitRequest struct {
	Subtype string          `json:"subtype"`
	Server  string          `json:"mcp_server_name"`
	Message string          `json:"message"`
	Mode    string          `json:"mode"`
	URL     string          `json:"url,omitempty"`
	ID      string          `json:"elicitation_id,omitempty"`
	Schema  json.RawMessage `json:"requested_schema,omitempty"`
}

// elicitationHook passes questions of MCP servers on to the host. A host that does not know them
// leaves them to the question tool, if it has that.
func (d *Session) elicitationHook() hook.Hook {
	return hook.Hook{On: hook.Elicitation, Timeout: maxHookTimeout, Name: "host", Func: func(ctx context.Context, in *hook.Input) (hook.Output, error) {
		data, err := json.Marshal(in)
		var q elicitRequest
		if err == nil {
			err = json.Unmarshal(data, &q)
		}
		if err != nil {
			return hook.Output{}, fmt.Errorf("encoding a question: %w", err)
		}
		q.Subtype = "elicitation"
		raw, err := d.request(ctx, q, true)
		if err != nil {
			return hook.Output{}, ctx.Err() // nobody answers; a guard that is needed is another hook
		}
		var a struct {
			Action  string          `json:"action"`
			Content json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(raw, &a); err != nil || a.Action == "" {
			return hook.Output{}, errors.New("the host's answer has no action")
		}
		if saysNothing(a.Content) {
			a.Content = nil
		}
		return hook.Output{Action: a.Action, Content: a.Content}, nil
	}}
}

// informationLine tells people something.
type informationLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"` // informational
	Content string `json:"content"`
	Level   string `json:"level"`
	Tag     string `json:"tag,omitempty"`
	Origin
}

// hookInput returns the input of a hook for the host, and the model's id of the call that it is
// about. Hosts know calls by the ids of the model, and expect results in the form of Claude Code.
func (d *Session) hookInput(ctx context.Context, in *hook.Input) (json.RawMessage, string, error) {
	data, err := json.Marshal(in)
	var all map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, "", fmt.Errorf("encoding the input of a hook: %w", err)
	}
	root := d.s.Session.ID
	all["session_id"] = encoded(root)
	if in.Session != root { // hosts know the session by the file of the main agent
		all["transcript_path"] = encoded(d.transcript())
		if in.Event == hook.SubagentStart || in.Event == hook.SubagentStop {
			all["agent_transcript_path"] = encoded(in.Transcript)
		}
	}
	id := ""
	if in.Call != "" {
		use, err := d.report.calls.Find(ctx, root, tool.Call{ID: in.Call, Session: in.Session, Name: in.Tool, Input: in.Input})
		if err != nil {
			return nil, "", err
		}
		id = use.ID
		all["tool_use_id"] = encoded(id)
	}
	if in.Result != nil {
		all["tool_response"] = claudecode.ToolResult(in.Tool, in.Input, in.Result, d.report.claude.changedFile)
		if in.Event == hook.PostToolUseFailure {
			delete(all, "tool_response")
		}
	}
	if len(in.Calls) > 0 {
		batch := make([]hook.Call, len(in.Calls))
		for i, c := range in.Calls {
			use, err := d.report.calls.Find(ctx, root, tool.Call{ID: c.ID, Session: in.Session, Name: c.Tool, Input: c.Input})
			if err != nil {
				return nil, "", err
			}
			batch[i] = c
			batch[i].ID = use.ID
		}
		all["tool_calls"] = encoded(batch)
	}
	out, err := json.Marshal(all)
	return out, id, err
}

// transcript returns the journal of the session; "" if it is not in a file.
func (d *Session) transcript() string {
	if s, ok := d.s.Store.(interface{ Journal(id string) string }); ok {
		return s.Journal(d.s.Session.ID)
	}
	return ""
}

// encoded returns a value as JSON; null if there is none.
func encoded(v any) json.RawMessage {
	data, err := cli.EncodeLine(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data[:len(data)-1]
}
