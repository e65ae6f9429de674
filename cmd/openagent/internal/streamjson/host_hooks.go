package streamjson

import (
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

// neverCalled are events of Claude Code that this program does not have. Their hooks can only watch,
// so a host loses no protection without them.
var neverCalled = []string{"PostModelSwitch"}

// hooksOf returns the hooks of a host: each calls the host back.
func (d *Session) hooksOf(events map[string][]hookMatcher) (list []hook.Hook, err error) {
	for _, name := range slices.Sorted(maps.Keys(events)) {
		if slices.Contains(neverCalled, name) {
			continue
		}
		for _, m := range events[name] {
			on := hook.Event(name)
			if !slices.Contains(hook.Events, on) {
				return nil, fmt.Errorf("initialize: hooks: the event %q is not supported by this version", cli.Clip(name))
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
				own := h
				own.Timeout, own.Name, own.Func = h.Timeout+hookGrace, "callback", c.run
				list = append(list, own)
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

// run asks the host. A callback that fails changes nothing, unless the host said that it blocks. A
// host that is gone blocks what the event guards: nobody decided.
func (c hookCallback) run(ctx context.Context, in *hook.Input) (hook.Output, error) {
	input, id, err := c.d.hookInput(ctx, in)
	if err != nil {
		return hook.Output{}, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.limit, fmt.Errorf("the host did not answer within %v", c.limit))
	defer cancel()
	answer, err := c.d.request(limited, hookRequest{"hook_callback", c.id, input, id}, false)
	if err == nil {
		var out hook.Output
		if out, err = hookrun.Parse(in.Event, answer); err == nil {
			return out, nil
		}
	}
	switch {
	case ctx.Err() != nil:
		return hook.Output{}, ctx.Err()
	case errors.Is(err, app.ErrNoPerson):
		return hook.Output{}, errors.New("the program that has this hook answers no more")
	case limited.Err() != nil:
		err = context.Cause(limited)
	}
	if c.blocks {
		return hook.Output{Block: true, Reason: fmt.Sprintf("The hook for %s failed, and nothing may happen without it: %v", in.Event, err)}, nil
	}
	c.d.out.Put(informationLine{Type: "system", Subtype: "informational", Content: c.d.H.OneLine(fmt.Sprintf("a hook for %s failed: %v", in.Event, err)),
		Level: "warning", Tag: "hook_callback_failed", Origin: c.d.sign()})
	return hook.Output{}, nil
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

// encoded returns a value as JSON; null if there is none.
func encoded(v any) json.RawMessage {
	data, err := cli.EncodeLine(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data[:len(data)-1]
}
