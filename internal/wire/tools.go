package wire

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/openagent-go/agent/internal/strict"
	"github.com/openagent-go/agent/llm"
)

// A ToolForm describes how an API writes the tools of a request and the choice of a tool.
type ToolForm struct {
	Provider string
	Most     int // most tools; 0: any number
	Name     int // longest name

	Open, Schema, Close string // the texts before a tool's name, before its schema and after it
	None, Any           string // the texts for "no tool" and "any tool"
	One, OneEnd         string // the texts around the name of the tool that must be called
}

// Encode returns the member "tools" with a comma before it. adapt, unless nil, changes a
// schema so that a host accepts it. A tool whose adapted schema is empty is sent without a
// schema.
func (f *ToolForm) Encode(tools []llm.Tool, adapt func(schema []byte) []byte) ([]byte, error) {
	if f.Most > 0 && len(tools) > f.Most {
		return nil, Invalid(f.Provider, "%d tools, the limit is %d", len(tools), f.Most)
	}
	out := []byte(`,"tools":[`)
	names := map[string]bool{}
	for i, tool := range tools {
		if tool.Name == "" || tool.Name != ToolName(tool.Name, f.Name) {
			return nil, Invalid(f.Provider, "the tool name %q is not 1 to %d of a-z, A-Z, 0-9, _ and -", tool.Name, f.Name)
		}
		if names[tool.Name] {
			return nil, Invalid(f.Provider, "two tools are named %q", tool.Name)
		}
		names[tool.Name] = true
		if i > 0 {
			out = append(out, ',')
		}
		out = AppendString(append(append(out, f.Open...), `"name":`...), tool.Name)
		if !Blank(tool.Description) {
			out = AppendString(append(out, `,"description":`...), tool.Description)
		}
		schema, err := ObjectSchema(tool.Input)
		if err != nil {
			return nil, Invalid(f.Provider, "the schema of tool %s: %v", tool.Name, err)
		}
		if adapt != nil {
			schema = adapt(schema)
		}
		if len(schema) > 0 {
			out = append(append(out, f.Schema...), schema...)
		}
		out = append(out, f.Close...)
	}
	return append(out, ']'), nil
}

// Choice returns the member "tool_choice" with a comma before it, "" if it can be omitted.
func (f *ToolForm) Choice(c llm.ToolChoice, tools []llm.Tool) (string, error) {
	const member = `,"tool_choice":`
	switch c.Mode {
	case "":
		return "", nil
	case llm.ChooseNone:
		return member + f.None, nil
	case llm.ChooseAny:
		return member + f.Any, nil
	case llm.ChooseTool:
		if !slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == c.Name }) {
			return "", Invalid(f.Provider, "the tool choice %q is not among the tools", c.Name)
		}
		return string(append(AppendString([]byte(member+f.One), c.Name), f.OneEnd...)), nil
	}
	return "", Invalid(f.Provider, "unknown tool choice %q", c.Mode)
}

// OpenAIFormat returns the format of an answer in the form of OpenAI's APIs, after open and
// up to the end of its object. A schema that strict mode does not accept is sent without
// strict mode. The result is nil for a schema that cannot be sent at all.
func OpenAIFormat(open string, f json.RawMessage) []byte {
	schema, ok := strict.OpenAI(f)
	if !ok {
		var err error
		if schema, err = ObjectSchema(f); err != nil {
			return nil
		}
	}
	b := AppendString(append([]byte(open), `"name":`...), "answer")
	b = strconv.AppendBool(append(b, `,"strict":`...), ok)
	return append(append(append(b, `,"schema":`...), schema...), '}')
}

// AppendStrings appends a member that is a list of strings, with a comma before it. It
// appends nothing for an empty list.
func AppendStrings(b []byte, member string, list []string) []byte {
	for i, s := range list {
		if i == 0 {
			b = append(append(append(b, `,"`...), member...), `":[`...)
		} else {
			b = append(b, ',')
		}
		b = AppendString(b, s)
	}
	if len(list) > 0 {
		b = append(b, ']')
	}
	return b
}
