package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
)

// A Request is a request to a [Model] or a [Server], in one shape. Of a body it holds the
// parts that llm.Request has fields for; Body has everything.
type Request struct {
	llm.Request
	Model  string
	Path   string      // of the URL; empty in process
	Header http.Header // with the key, as it came; nil in process
	Body   []byte      // nil in process

	broken []strictapi.Violation // rules; a strict server refused the request then

	wantsUsage bool // OpenAI: stream_options.include_usage
}

// A Result is the result of a tool call, with the call.
type Result struct {
	Use     llm.ToolUse // the call
	Text    string      // of the result
	IsError bool        // the call failed
}

// Results returns the tool results in the user's last message, in order.
func (r *Request) Results() []Result {
	n := len(r.Messages)
	for n > 0 && r.Messages[n-1].Role == llm.User {
		n--
	}
	return r.resultsOf(r.Messages[n:])
}

// AllResults returns the results of all tool calls of the conversation, in order.
func (r *Request) AllResults() []Result { return r.resultsOf(r.Messages) }

func (r *Request) resultsOf(messages []llm.Message) []Result {
	var out []Result
	for _, m := range messages {
		for _, b := range m.Content {
			if res, ok := b.(llm.ToolResult); ok {
				out = append(out, Result{Use: r.use(res.ID), Text: res.Content.Text(), IsError: res.IsError})
			}
		}
	}
	return out
}

// use returns the latest call with that id.
func (r *Request) use(id string) llm.ToolUse {
	for _, m := range slices.Backward(r.Messages) {
		for _, u := range m.ToolUses() {
			if u.ID == id {
				return u
			}
		}
	}
	return llm.ToolUse{ID: id}
}

// Prompt returns the last text that the user wrote, "" if none.
func (r *Request) Prompt() string {
	for _, m := range slices.Backward(r.Messages) {
		if text := m.Text(); m.Role == llm.User && text != "" {
			return text
		}
	}
	return ""
}

// Transcript returns everything said in the conversation, by anybody, tool
// results included: one line or more for each block.
func (r *Request) Transcript() string {
	var b strings.Builder
	for _, m := range r.Messages {
		for _, c := range m.Content {
			switch c := c.(type) {
			case llm.Text:
				b.WriteString(c.Text + "\n")
			case llm.ToolUse:
				b.WriteString(c.Name + " " + string(c.Input) + "\n")
			case llm.ToolResult:
				b.WriteString(c.Content.Text() + "\n")
			}
		}
	}
	return b.String()
}

// HasTool reports whether the model may call the named tool.
func (r *Request) HasTool(name string) bool {
	return slices.ContainsFunc(r.Tools, func(t llm.Tool) bool { return t.Name == name })
}

// raw encodes a decoded value again.
func raw(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil || v == nil {
		return json.RawMessage(`{}`)
	}
	return data
}

// readShared reads the options that both APIs name alike.
func (r *Request) readShared(body strictapi.Object) {
	r.Model = strictapi.TextOf(body["model"])
	r.Blocking = !strictapi.BoolOf(body["stream"])
	if t, ok := strictapi.NumberOf(body["temperature"]); ok {
		r.Temperature = &t
	}
}

// readAnthropic fills r from the body of a Messages request.
func (r *Request) readAnthropic(body strictapi.Object) {
	r.readShared(body)
	n, _ := strictapi.IntegerOf(body["max_tokens"])
	r.MaxTokens, r.Stop = int(n), strictapi.Words(body["stop_sequences"])
	r.System = anthropicBlocks(strictapi.BlocksOf(body["system"])).Text()
	for _, m := range strictapi.ObjectsOf(body["messages"]) {
		r.Messages = append(r.Messages, llm.Message{Role: llm.Role(strictapi.TextOf(m["role"])), Content: anthropicBlocks(strictapi.BlocksOf(m["content"]))})
	}
	for _, t := range strictapi.ObjectsOf(body["tools"]) {
		r.Tools = append(r.Tools, llm.Tool{Name: strictapi.TextOf(t["name"]), Description: strictapi.TextOf(t["description"]), Input: raw(t["input_schema"])})
	}
	choice := strictapi.ObjectOf(body["tool_choice"])
	if mode := strictapi.TextOf(choice["type"]); mode != "auto" {
		r.ToolChoice = llm.ToolChoice{Mode: llm.ToolChoiceMode(mode), Name: strictapi.TextOf(choice["name"])}
	}
	budget, _ := strictapi.IntegerOf(strictapi.ObjectOf(body["thinking"])["budget_tokens"])
	config := strictapi.ObjectOf(body["output_config"])
	r.Thinking = llm.Thought{Budget: int(budget), Effort: strictapi.TextOf(config["effort"])}
	if f := strictapi.ObjectOf(config["format"]); f != nil {
		r.Format = raw(f["schema"])
	}
}

func anthropicBlocks(in []strictapi.Object) llm.Blocks {
	var out llm.Blocks
	for _, b := range in {
		switch b["type"] {
		case "text":
			out = append(out, llm.Text{Text: strictapi.TextOf(b["text"])})
		case "thinking":
			out = append(out, llm.Thinking{Text: strictapi.TextOf(b["thinking"]), Signature: strictapi.TextOf(b["signature"])})
		case "redacted_thinking":
			out = append(out, llm.RedactedThinking{Data: strictapi.TextOf(b["data"])})
		case "image":
			media, data := inline(strictapi.ObjectOf(b["source"]))
			out = append(out, llm.Image{MediaType: media, Data: data})
		case "document":
			media, data := inline(strictapi.ObjectOf(b["source"]))
			out = append(out, llm.Document{MediaType: media, Title: strictapi.TextOf(b["title"]), Data: data})
		case "tool_use":
			out = append(out, llm.ToolUse{ID: strictapi.TextOf(b["id"]), Name: strictapi.TextOf(b["name"]), Input: raw(b["input"])})
		case "tool_result":
			out = append(out, llm.ToolResult{ID: strictapi.TextOf(b["tool_use_id"]), Content: anthropicBlocks(strictapi.BlocksOf(b["content"])), IsError: strictapi.BoolOf(b["is_error"])})
		default:
			out = append(out, llm.Verbatim{Provider: "anthropic", Raw: raw(b)})
		}
	}
	return out
}

// inline returns the media type and bytes of a source, no bytes if it is a reference.
func inline(source strictapi.Object) (string, []byte) {
	data := strictapi.TextOf(source["data"])
	if source["type"] == "text" {
		return strictapi.TextOf(source["media_type"]), []byte(data)
	}
	decoded, _ := base64.StdEncoding.DecodeString(data) // A46 reports undecodable bodies
	return strictapi.TextOf(source["media_type"]), decoded
}

// readOpenAI fills r from the body of a Chat Completions request.
func (r *Request) readOpenAI(body strictapi.Object) {
	r.readShared(body)
	for _, k := range []string{"max_completion_tokens", "max_tokens"} {
		if n, ok := strictapi.IntegerOf(body[k]); ok {
			r.MaxTokens = int(n)
		}
	}
	r.Stop = strictapi.Words(body["stop"])
	r.wantsUsage = strictapi.BoolOf(strictapi.ObjectOf(body["stream_options"])["include_usage"])
	var system []string
	for _, m := range strictapi.ObjectsOf(body["messages"]) {
		switch m["role"] {
		case "system", "developer":
			system = append(system, openaiBlocks(m["content"]).Text())
		case "tool":
			r.addResult(llm.ToolResult{ID: strictapi.TextOf(m["tool_call_id"]), Content: openaiBlocks(m["content"])})
		default:
			r.Messages = append(r.Messages, openaiMessage(m))
		}
	}
	r.System = strings.Join(system, "\n\n")
	for _, t := range strictapi.ObjectsOf(body["tools"]) {
		f := strictapi.ObjectOf(t["function"])
		r.Tools = append(r.Tools, llm.Tool{Name: strictapi.TextOf(f["name"]), Description: strictapi.TextOf(f["description"]), Input: raw(f["parameters"])})
	}
	r.ToolChoice = openaiChoice(body["tool_choice"])
	r.Thinking.Effort = strictapi.TextOf(body["reasoning_effort"])
	if f := strictapi.ObjectOf(strictapi.ObjectOf(body["response_format"])["json_schema"]); f != nil {
		r.Format = raw(f["schema"])
	}
}

// addResult adds a tool result to the user message at the end, made if need be.
func (r *Request) addResult(res llm.ToolResult) {
	if n := len(r.Messages); n == 0 || r.Messages[n-1].Role != llm.User {
		r.Messages = append(r.Messages, llm.Message{Role: llm.User})
	}
	last := &r.Messages[len(r.Messages)-1]
	last.Content = append(last.Content, res)
}

func openaiMessage(m strictapi.Object) llm.Message {
	out := llm.Message{Role: llm.Role(strictapi.TextOf(m["role"]))}
	for _, k := range []string{"reasoning_content", "reasoning"} {
		if s := strictapi.TextOf(m[k]); s != "" {
			out.Content = append(out.Content, llm.Thinking{Text: s})
			break
		}
	}
	out.Content = append(out.Content, openaiBlocks(m["content"])...)
	for _, v := range strictapi.ObjectsOf(m["tool_calls"]) {
		f := strictapi.ObjectOf(v["function"])
		u := writtenCall(strictapi.TextOf(v["id"]), strictapi.TextOf(f["name"]), strictapi.TextOf(f["arguments"]))
		out.Content = append(out.Content, u)
	}
	return out
}

// writtenCall returns a call whose arguments are JSON in a string.
func writtenCall(id, name, arguments string) llm.ToolUse {
	u := llm.ToolUse{ID: id, Name: name, Input: json.RawMessage(arguments)}
	if !json.Valid(u.Input) {
		u.Input, u.Invalid = json.RawMessage(`{}`), arguments
	}
	return u
}

func openaiBlocks(content any) llm.Blocks {
	if s, ok := content.(string); ok {
		if s == "" {
			return nil
		}
		return llm.Blocks{llm.Text{Text: s}}
	}
	var out llm.Blocks
	for _, p := range strictapi.ObjectsOf(content) {
		switch p["type"] {
		case "text":
			out = append(out, llm.Text{Text: strictapi.TextOf(p["text"])})
		case "image_url":
			media, data := strictapi.DataURL(strictapi.TextOf(strictapi.ObjectOf(p["image_url"])["url"]))
			out = append(out, llm.Image{MediaType: media, Data: data})
		case "file":
			f := strictapi.ObjectOf(p["file"])
			media, data := strictapi.DataURL(strictapi.TextOf(f["file_data"]))
			out = append(out, llm.Document{MediaType: media, Title: strictapi.TextOf(f["filename"]), Data: data})
		default:
			out = append(out, llm.Verbatim{Provider: "openai", Raw: raw(p)})
		}
	}
	return out
}

func openaiChoice(v any) llm.ToolChoice {
	switch v {
	case "required":
		return llm.ToolChoice{Mode: llm.ChooseAny}
	case "none":
		return llm.ToolChoice{Mode: llm.ChooseNone}
	}
	if name := strictapi.TextOf(strictapi.ObjectOf(strictapi.ObjectOf(v)["function"])["name"]); name != "" {
		return llm.ToolChoice{Mode: llm.ChooseTool, Name: name}
	}
	return llm.ToolChoice{}
}
