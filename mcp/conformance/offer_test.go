//lint:file-ignore SA1019 The suite has scenarios for what is deprecated in the newest version of the protocol.

package conformance

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/mcpserver"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// The suite's scenarios say what a server under test has to offer: tools, resources
// and prompts of these names, with these answers.

var (
	picture, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==")
	silence, _ = base64.StdEncoding.DecodeString("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
)

// offered is a tool that the server's Call carries out.
type offered struct{ spec tool.Spec }

func (o offered) Spec() tool.Spec { return o.spec }

func (o offered) Run(context.Context, tool.Call) (*tool.Result, error) {
	return nil, errors.New("it is carried out by Call")
}

type handler func(ctx context.Context, c *mcpserver.Client, in map[string]any) (*tool.Result, error)

// say is a handler with one answer.
func say(blocks ...llm.Block) handler {
	return func(context.Context, *mcpserver.Client, map[string]any) (*tool.Result, error) {
		return &tool.Result{Content: blocks}, nil
	}
}

func text(format string, args ...any) *tool.Result { return tool.Text(fmt.Sprintf(format, args...)) }

// form is the schema of a form with some members.
func form(members, required string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` + members + `},"required":[` + required + `]}`)
}

var nameForm = form(`"name":{"type":"string"}`, `"name"`)

func elicit(message string, schema json.RawMessage) *sdk.ElicitParams {
	return &sdk.ElicitParams{Mode: "form", Message: message, RequestedSchema: schema}
}

func sample(prompt string) *sdk.CreateMessageParams {
	return &sdk.CreateMessageParams{MaxTokens: 100, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: prompt}}}}
}

// asking puts requests to the client and shows the answers as JSON.
func asking(rounds ...sdk.InputRequestMap) handler {
	return func(ctx context.Context, c *mcpserver.Client, _ map[string]any) (*tool.Result, error) {
		var said []string
		for _, requests := range rounds {
			answers, err := c.Ask(ctx, requests)
			if err != nil {
				return nil, err
			}
			data, err := json.Marshal(answers)
			if err != nil {
				return nil, err
			}
			said = append(said, string(data))
		}
		return text("state-ok: %s", strings.Join(said, "; ")), nil
	}
}

func eliciting(schema json.RawMessage) handler {
	return func(ctx context.Context, c *mcpserver.Client, in map[string]any) (*tool.Result, error) {
		message, _ := in["message"].(string)
		if message == "" {
			message = "Please fill in the form"
		}
		a, err := c.Elicit(ctx, message, schema)
		if err != nil {
			return nil, err
		}
		return text("Elicitation result: action=%s, content=%v", a.Action, a.Content), nil
	}
}

func handlers() map[string]handler {
	name := func() sdk.InputRequest { return elicit("What is your name?", nameForm) }
	confirm := func() sdk.InputRequest {
		return elicit("Please confirm", form(`"ok":{"type":"boolean"}`, `"ok"`))
	}
	return map[string]handler{
		"test_simple_text":   say(llm.Text{Text: "This is a simple text response for testing."}),
		"test_image_content": say(llm.Image{MediaType: "image/png", Data: picture}),
		"test_error_handling": func(context.Context, *mcpserver.Client, map[string]any) (*tool.Result, error) {
			return nil, errors.New("this tool intentionally returns an error for testing")
		},
		"test_tool_with_logging": func(_ context.Context, c *mcpserver.Client, _ map[string]any) (*tool.Result, error) {
			for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
				c.Logger().Info(line)
			}
			return text("logged"), nil
		},
		"test_tool_with_progress": func(ctx context.Context, _ *mcpserver.Client, _ map[string]any) (*tool.Result, error) {
			for _, percent := range []float64{1, 50, 100} {
				tool.Progress(ctx, tool.Status{Text: "working", Percent: percent})
				time.Sleep(20 * time.Millisecond) // reports that come at once are one
			}
			return text("reported"), nil
		},
		"test_sampling": func(ctx context.Context, c *mcpserver.Client, in map[string]any) (*tool.Result, error) {
			prompt, _ := in["prompt"].(string)
			answers, err := c.Ask(ctx, sdk.InputRequestMap{"a": sample(prompt)})
			if err != nil {
				return nil, err
			}
			data, err := json.Marshal(answers["a"])
			return text("LLM response: %s", data), err
		},
		"test_elicitation": eliciting(form(`"username":{"type":"string","description":"Your preferred username"}`, `"username"`)),
		"test_elicitation_sep1034_defaults": eliciting(form(`"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},`+
			`"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}`, ``)),
		"test_elicitation_sep1330_enums": eliciting(form(`"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},`+
			`"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},`+
			`"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},`+
			`"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},`+
			`"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}`, ``)),
		"json_schema_2020_12_tool":   say(llm.Text{Text: "called"}),
		"test_x_mcp_header":          say(llm.Text{Text: "called"}),
		"test_streaming_elicitation": say(llm.Text{Text: "there is nobody to ask"}),
		"test_logging_tool": func(_ context.Context, c *mcpserver.Client, _ map[string]any) (*tool.Result, error) {
			c.Logger().Info("test_logging_tool executed")
			return text("logged, for who wants to know"), nil
		},
		"test_input_required_result_elicitation": func(ctx context.Context, c *mcpserver.Client, _ map[string]any) (*tool.Result, error) {
			answers, err := c.Ask(ctx, sdk.InputRequestMap{"user_name": name()})
			if err != nil {
				return nil, err
			}
			return text("Hello, %v!", answers["user_name"].(*sdk.ElicitResult).Content["name"]), nil
		},
		"test_input_required_result_sampling":        asking(sdk.InputRequestMap{"capital_question": sample("What is the capital of France?")}),
		"test_input_required_result_list_roots":      asking(sdk.InputRequestMap{"client_roots": &sdk.ListRootsParams{}}),
		"test_input_required_result_request_state":   asking(sdk.InputRequestMap{"confirm": confirm()}),
		"test_input_required_result_tampered_state":  asking(sdk.InputRequestMap{"confirm": confirm()}),
		"test_input_required_result_multiple_inputs": asking(sdk.InputRequestMap{"user_name": name(), "greeting": sample("Generate a greeting"), "client_roots": &sdk.ListRootsParams{}}),
		"test_input_required_result_multi_round":     asking(sdk.InputRequestMap{"step1": name()}, sdk.InputRequestMap{"step2": elicit("Step 2: What is your favorite color?", form(`"color":{"type":"string"}`, `"color"`))}),
		"test_input_required_result_capabilities": func(ctx context.Context, c *mcpserver.Client, _ map[string]any) (*tool.Result, error) {
			requests := sdk.InputRequestMap{}
			caps := c.Capabilities()
			if caps.Elicitation != nil {
				requests["user_name"] = name()
			}
			if caps.Sampling != nil {
				requests["greeting"] = sample("Generate a greeting")
			}
			if len(requests) == 0 {
				return text("nothing can be asked"), nil
			}
			if _, err := c.Ask(ctx, requests); err != nil {
				return nil, err
			}
			return text("asked"), nil
		},
	}
}

// schemas are those of the tools that take more than nothing.
var schemas = map[string]string{
	"json_schema_2020_12_tool": `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
		`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},` +
		`"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`,
	"test_x_mcp_header": `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`,
	"test_sampling":     `{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`,
	"test_elicitation":  `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`,
}

// underTest is our server with what the suite wants of it.
func underTest(t *testing.T) *mcpserver.Server {
	t.Helper()
	var s *mcpserver.Server
	all := handlers()
	var inner *sdk.Server
	all["test_trigger_prompt_change"] = func(context.Context, *mcpserver.Client, map[string]any) (*tool.Result, error) {
		inner.AddPrompt(&sdk.Prompt{Name: "passing", Description: "there for a change"}, simplePrompt)
		return text("changed"), nil
	}
	var tools []tool.Tool
	all["test_trigger_tool_change"] = func(context.Context, *mcpserver.Client, map[string]any) (*tool.Result, error) {
		return text("changed"), s.SetTools(append(tools[:len(tools):len(tools)], offered{tool.Spec{Name: "passing", Description: "there for a change"}}))
	}
	for name := range all {
		spec := tool.Spec{Name: name, Description: "for the conformance suite"}
		if schema := schemas[name]; schema != "" {
			spec.Input = json.RawMessage(schema)
		}
		tools = append(tools, offered{spec})
	}
	s, err := mcpserver.New(mcpserver.Options{
		Name: "conformance", Version: "1", Tools: tools,
		SDK: sdk.ServerOptions{
			CompletionHandler: func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
				return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}, nil
			},
			SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
			UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
		},
		Extend: func(i *sdk.Server) {
			inner = i
			extend(i)
		},
	}, mcpserver.Callbacks{
		Call: func(ctx context.Context, c *mcpserver.Client, call tool.Call) (*tool.Result, error) {
			var in map[string]any
			if err := json.Unmarshal(call.Input, &in); err != nil {
				return nil, err
			}
			return all[call.Name](ctx, c, in)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// extend adds what is no result of our tools: sounds, resources, prompts, errors
// of the protocol, and streams that are cut.
func extend(s *sdk.Server) {
	add := func(name string, answer func(*sdk.CallToolRequest) (*sdk.CallToolResult, error)) {
		s.AddTool(&sdk.Tool{Name: name, Description: "for the conformance suite", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return answer(r) })
	}
	content := func(c ...sdk.Content) func(*sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return func(*sdk.CallToolRequest) (*sdk.CallToolResult, error) { return &sdk.CallToolResult{Content: c}, nil }
	}
	resource := &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource"}}
	add("test_audio_content", content(&sdk.AudioContent{MIMEType: "audio/wav", Data: silence}))
	add("test_embedded_resource", content(resource))
	add("test_multiple_content_types", content(&sdk.TextContent{Text: "text"}, &sdk.ImageContent{MIMEType: "image/png", Data: picture}, resource))
	add("test_missing_capability", func(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if caps := r.ClientCapabilities(); caps != nil && caps.Sampling != nil {
			return &sdk.CallToolResult{}, nil
		}
		data, err := json.Marshal(sdk.MissingRequiredClientCapabilityData{RequiredCapabilities: &sdk.ClientCapabilities{Sampling: &sdk.SamplingCapabilities{}}})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "sampling is required", Data: data}
	})
	add("test_reconnection", func(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if r.Extra != nil && r.Extra.CloseSSEStream != nil {
			r.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		}
		time.Sleep(100 * time.Millisecond) // until the client is there again
		return &sdk.CallToolResult{}, nil
	})
	read := func(mime, body string, blob []byte) sdk.ResourceHandler {
		return func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: mime, Text: strings.ReplaceAll(body, "ID", strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")), Blob: blob}}}, nil
		}
	}
	s.AddResource(&sdk.Resource{Name: "static-text", URI: "test://static-text", MIMEType: "text/plain"}, read("text/plain", "This is the content of the static text resource.", nil))
	s.AddResource(&sdk.Resource{Name: "static-binary", URI: "test://static-binary", MIMEType: "image/png"}, read("image/png", "", picture))
	s.AddResource(&sdk.Resource{Name: "watched-resource", URI: "test://watched-resource", MIMEType: "text/plain"}, read("text/plain", "watched", nil))
	s.AddResourceTemplate(&sdk.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"}, read("application/json", `{"id":"ID","templateTest":true,"data":"Data for ID: ID"}`, nil))

	prompt := func(messages func(map[string]string) []sdk.Content) sdk.PromptHandler {
		return func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			res := &sdk.GetPromptResult{}
			for _, c := range messages(r.Params.Arguments) {
				res.Messages = append(res.Messages, &sdk.PromptMessage{Role: "user", Content: c})
			}
			return res, nil
		}
	}
	s.AddPrompt(&sdk.Prompt{Name: "test_simple_prompt", Description: "simple"}, simplePrompt)
	s.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_arguments", Description: "arguments", Arguments: []*sdk.PromptArgument{{Name: "arg1", Description: "first", Required: true}, {Name: "arg2", Description: "second", Required: true}}},
		prompt(func(a map[string]string) []sdk.Content {
			return []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])}}
		}))
	s.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_embedded_resource", Description: "resource", Arguments: []*sdk.PromptArgument{{Name: "resourceUri", Description: "URI", Required: true}}},
		prompt(func(a map[string]string) []sdk.Content {
			return []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: a["resourceUri"], MIMEType: "text/plain", Text: "embedded"}}, &sdk.TextContent{Text: "Please process it."}}
		}))
	s.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_image", Description: "image"},
		prompt(func(map[string]string) []sdk.Content {
			return []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: picture}, &sdk.TextContent{Text: "Please look at it."}}
		}))
	s.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt", Description: "asks"}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		if a, ok := r.Params.InputResponses["user_context"].(*sdk.ElicitResult); ok && a.Action == "accept" {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: fmt.Sprintf("Context: %v", a.Content["context"])}}}}, nil
		}
		return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"user_context": elicit("Please provide context", form(`"context":{"type":"string"}`, `"context"`))}}, nil
	})
}

func simplePrompt(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "This is a simple prompt for testing."}}}}, nil
}
