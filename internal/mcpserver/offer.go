package mcpserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// offer describes a tool to clients.
func offer(t tool.Tool) (o *sdk.Tool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("describing a tool: %v", v)
		}
	}()
	spec := t.Spec()
	changes, open := !spec.NonDestructive, spec.OpenWorld
	o = &sdk.Tool{Name: spec.Name, Title: spec.Title, Description: spec.Description, InputSchema: json.RawMessage(`{"type":"object"}`),
		Annotations: &sdk.ToolAnnotations{Title: spec.Title, ReadOnlyHint: spec.ReadOnly, DestructiveHint: &changes, IdempotentHint: spec.Idempotent, OpenWorldHint: &open}}
	if spec.ReadOnly {
		*o.Annotations.DestructiveHint = false
	}
	if spec.Input != nil {
		o.InputSchema = spec.Input
	}
	if spec.Output != nil {
		o.OutputSchema = spec.Output
	}
	// The SDK panics at tools that it cannot offer: try this one in a scratch server.
	sdk.NewServer(&sdk.Implementation{}, nil).AddTool(o, nil)
	return o, nil
}

// answer makes a client's answer of a result. Details are shown where the tool's
// schema promises them: clients may take them for the whole answer.
func answer(spec tool.Spec, r *tool.Result) *sdk.CallToolResult {
	res := &sdk.CallToolResult{IsError: r.IsError, Content: []sdk.Content{}}
	for _, b := range r.Content {
		switch b := b.(type) {
		case llm.Text:
			res.Content = append(res.Content, &sdk.TextContent{Text: b.Text})
		case llm.Image:
			res.Content = append(res.Content, &sdk.ImageContent{MIMEType: b.MediaType, Data: b.Data})
		case llm.Document:
			res.Content = append(res.Content, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "document:///" + url.PathEscape(cmp.Or(b.Title, spec.Name)), MIMEType: b.MediaType, Blob: b.Data}})
		}
	}
	if spec.Output != nil && !r.IsError {
		if len(r.Details) == 0 {
			return answer(spec, tool.Errorf("%s returned no details, which its schema promises", spec.Name))
		}
		res.StructuredContent = r.Details
	}
	return res
}
