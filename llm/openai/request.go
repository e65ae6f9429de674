package openai

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/internal/strict"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
)

const (
	maxTools = 128
	maxStops = 4
)

// transcript is what a [llm.Memo] keeps for this package.
type transcript struct {
	history wire.History
	cache   wire.Cache
}

// encode returns the body of a request in pieces. The pieces with the messages
// belong to the memo and are the same from one request to the next.
func (m *model) encode(req *llm.Request, host dialect) ([][]byte, error) {
	if len(req.Messages) == 0 {
		return nil, invalid("a request needs at least one message")
	}
	c := codec{echo: host.echo, images: !m.entry.NoImages, files: host.strict && !m.entry.NoPDF}
	t := req.Memo.Load(fmt.Sprint(provider, c), func() any {
		return &transcript{history: wire.History{Codec: c, IDs: toolIDs}}
	}).(*transcript)
	toolsJSON, err := t.cache.Tools(req.Tools, encodeTools)
	if err != nil {
		return nil, err
	}
	choice, err := toolChoice(req.ToolChoice, req.Tools)
	if err != nil {
		return nil, err
	}
	snap := t.history.Snapshot(req.Messages)
	head := m.head(req, host, choice)
	if m.entry.Formats {
		head = append(head, t.cache.Format(req.Format, encodeFormat)...)
	}
	body := append(make([][]byte, 0, 8), head, toolsJSON, []byte(`,"messages":[`), t.cache.System(req.System, encodeSystem), snap.Closed)
	if len(snap.Closed) > 0 {
		body = append(body, []byte(","))
	}
	return append(body, snap.Open, []byte(`]}`)), nil
}

// head returns the body from its start up to the tools.
func (m *model) head(req *llm.Request, host dialect, choice string) []byte {
	b := wire.AppendString(append(make([]byte, 0, 512), `{"model":`...), m.name)
	if !req.Blocking {
		b = append(b, `,"stream":true,"stream_options":{"include_usage":true}`...)
	}
	if host.openrouter {
		b = append(b, `,"usage":{"include":true}`...)
	}
	if n := req.MaxTokens; n > 0 {
		if m.entry.MaxOutput > 0 {
			n = min(n, m.entry.MaxOutput)
		}
		name := `,"max_tokens":`
		if host.completion || m.entry.MaxCompletionTokens && !host.reasoning {
			name = `,"max_completion_tokens":`
		}
		b = strconv.AppendInt(append(b, name...), int64(n), 10)
	}
	if t := req.Temperature; t != nil && *t == *t && !m.entry.NoSamplers {
		b = strconv.AppendFloat(append(b, `,"temperature":`...), min(max(*t, 0), 2), 'g', -1, 64)
	}
	if !m.entry.NoSamplers {
		b = appendStops(b, req.Stop)
	}
	b = append(b, m.thinking(req.Thinking, host)...)
	return append(b, choice...)
}

func appendStops(b []byte, stops []string) []byte {
	n := 0
	for _, s := range stops {
		if s == "" || n == maxStops {
			continue
		}
		if n++; n == 1 {
			b = append(b, `,"stop":[`...)
		} else {
			b = append(b, ',')
		}
		b = wire.AppendString(b, s)
	}
	if n > 0 {
		b = append(b, ']')
	}
	return b
}

// thinking returns the JSON member that asks for reasoning, with a comma before
// it, "" where the host or model would refuse it.
func (m *model) thinking(want llm.Thought, host dialect) string {
	if !want.On() || m.entry.Thinking == catalog.ThinkingNone || host.xai && !strings.Contains(m.name, "grok-3-mini") {
		return ""
	}
	word := "high"
	switch n := want.Tokens(); {
	case want.Effort != "" && n == 0:
		word = "medium"
	case n <= 1024:
		word = "low"
	case n <= 5120:
		word = "medium"
	}
	switch {
	case host.reasoning && want.Budget > 0:
		return `,"reasoning":{"max_tokens":` + strconv.Itoa(want.Budget) + `}`
	case host.reasoning:
		return `,"reasoning":{"effort":"` + word + `"}`
	}
	return `,"reasoning_effort":"` + word + `"`
}

// toolChoice returns the JSON member with a comma before it, "" where it may be left out.
func toolChoice(c llm.ToolChoice, tools []llm.Tool) (string, error) {
	if len(tools) == 0 {
		return "", nil
	}
	switch c.Mode {
	case llm.ChooseAuto:
		return "", nil
	case llm.ChooseNone:
		return `,"tool_choice":"none"`, nil
	case llm.ChooseAny:
		return `,"tool_choice":"required"`, nil
	case llm.ChooseTool:
		if !slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == c.Name }) {
			return "", invalid("the tool choice %q is not among the tools", c.Name)
		}
		return string(append(wire.AppendString([]byte(`,"tool_choice":{"type":"function","function":{"name":`), c.Name), `}}`...)), nil
	}
	return "", invalid("unknown tool choice %q", c.Mode)
}

// encodeFormat returns the member "response_format" with a comma before it. A schema
// that strict mode does not take is sent without it.
func encodeFormat(f llm.Format) []byte {
	schema, ok := strict.OpenAI(f.Schema)
	if !ok {
		var err error
		if schema, err = wire.ObjectSchema(f.Schema); err != nil {
			return nil
		}
	}
	b := wire.AppendString([]byte(`,"response_format":{"type":"json_schema","json_schema":{"name":`), wire.ToolName(cmp.Or(f.Name, "answer"), maxName))
	b = strconv.AppendBool(append(b, `,"strict":`...), ok)
	return append(append(append(b, `,"schema":`...), schema...), `}}`...)
}

// encodeTools returns the member "tools" with a comma before it.
func encodeTools(tools []llm.Tool) ([]byte, error) {
	if len(tools) > maxTools {
		return nil, invalid("%d tools, the limit is %d", len(tools), maxTools)
	}
	out := []byte(`,"tools":[`)
	names := map[string]bool{}
	for i, tool := range tools {
		if tool.Name == "" || tool.Name != wire.ToolName(tool.Name, maxName) {
			return nil, invalid("the tool name %q is not 1 to %d of a-z, A-Z, 0-9, _ and -", tool.Name, maxName)
		}
		if names[tool.Name] {
			return nil, invalid("two tools are named %q", tool.Name)
		}
		names[tool.Name] = true
		if i > 0 {
			out = append(out, ',')
		}
		out = wire.AppendString(append(out, `{"type":"function","function":{"name":`...), tool.Name)
		if !wire.Blank(tool.Description) {
			out = wire.AppendString(append(out, `,"description":`...), tool.Description)
		}
		schema, err := wire.ObjectSchema(tool.Input)
		if err != nil {
			return nil, invalid("the schema of tool %s: %v", tool.Name, err)
		}
		out = append(append(append(out, `,"parameters":`...), schema...), `}}`...)
	}
	return append(out, ']'), nil
}

// encodeSystem returns the system message with a comma after it.
func encodeSystem(prompt string) []byte {
	return append(wire.AppendString([]byte(`{"role":"system","content":`), prompt), `},`...)
}
