package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/tool"
)

const (
	maxTools       = 1000     // of a server
	maxAlways      = 16 << 10 // bytes of the tools that a server itself wants to be always loaded
	maxDescription = 2 << 10  // bytes of a tool's description and of a server's instructions, as Claude Code has it
)

// adopt makes tools of a server's list. Tools that no provider would accept are left out,
// with a note.
func (s *server) adopt(listed []*sdk.Tool) (tools []tool.Tool, problems []string) {
	raw := make([]string, len(listed))
	for i, t := range listed {
		raw[i] = t.Name
	}
	loaded := 0 // bytes of tools that the server wants to be always loaded
	for i, name := range names(s.name, raw) {
		if name == "" {
			problems = append(problems, fmt.Sprintf("the tool %q is listed twice", text.Bytes(raw[i], 100)))
			continue
		}
		t, err := s.tool(name, listed[i], &loaded)
		if err != nil {
			problems = append(problems, fmt.Sprintf("the tool %q is left out: %v", text.Bytes(raw[i], 100), err))
			continue
		}
		tools = append(tools, t)
	}
	return tools, problems
}

// always reports whether a tool is not to be deferred: where the configuration says
// so, or, within bounds, the server, in the member that Claude Code reads.
func (s *server) always(t *sdk.Tool, spec *tool.Spec, used *int) bool {
	if s.config.AlwaysLoad {
		return true
	}
	wish, _ := t.Meta["anthropic/alwaysLoad"].(bool)
	size := len(spec.Name) + len(spec.Description) + len(spec.Input)
	if !wish || *used+size > maxAlways {
		return false
	}
	*used += size
	return true
}

func (s *server) tool(name string, listed *sdk.Tool, loaded *int) (_ tool.Tool, err error) {
	spec := tool.Spec{Name: name, Title: line(listed.Title), Description: told(listed.Description), OpenWorld: true, Timeout: -1}
	if len(listed.Name) > maxOwn {
		return nil, fmt.Errorf("its name is longer than %d bytes", maxOwn)
	}
	if spec.Input, err = acceptable(listed.InputSchema); err != nil {
		return nil, err
	}
	spec.AlwaysLoad = s.always(listed, &spec, loaded)
	if a := listed.Annotations; a != nil {
		if spec.Title == "" {
			spec.Title = line(a.Title)
		}
		spec.ReadOnly = a.ReadOnlyHint && s.config.TrustReadOnly
		spec.NonDestructive = a.ReadOnlyHint || a.DestructiveHint != nil && !*a.DestructiveHint
		spec.Idempotent = a.IdempotentHint
		spec.OpenWorld = a.OpenWorldHint == nil || *a.OpenWorldHint
	}
	spec.NeedsApproval = approval(listed)
	own := strings.Clone(listed.Name) // the listed form is not kept: it may be large
	run := func(ctx context.Context, call tool.Call, _ json.RawMessage) (*tool.Result, error) {
		return s.call(ctx, own, call)
	}
	if out, ok := listed.OutputSchema.(object); ok {
		// Results are checked against it, where it can be read.
		if checked := spec; !deeper(out, maxNested) {
			if checked.Output, err = json.Marshal(out); err == nil && len(checked.Output) <= maxSchema {
				if t, err := newTool(checked, run); err == nil {
					return t, nil
				}
			}
		}
	}
	return newTool(spec, run)
}

// approval returns which calls of a tool need approval, as its server says in _meta: a JSON
// Schema of their inputs, or true. A schema that cannot be read asks about every call.
func approval(listed *sdk.Tool) func(tool.Call) string {
	wish, ok := listed.Meta["openagent/needsApproval"]
	if !ok {
		return nil
	}
	if !deeper(wish, maxNested) {
		if data, err := json.Marshal(wish); err == nil && len(data) <= maxSchema {
			if needs, err := tool.AskMatching(data); err == nil {
				return needs
			}
		}
	}
	return tool.AskAlways("its server asks for approval in a form that cannot be read")
}

// newTool is [tool.New] with an error for a schema that cannot be read.
func newTool(spec tool.Spec, run func(context.Context, tool.Call, json.RawMessage) (*tool.Result, error)) (t tool.Tool, err error) {
	defer func() {
		if v := recover(); v != nil {
			t, err = nil, fmt.Errorf("%v", v)
		}
	}()
	return tool.New(spec, run), nil
}
