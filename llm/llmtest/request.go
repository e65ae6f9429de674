package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

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

	// Broken are the rules that the request broke; a strict server refused it then.
	Broken []Violation

	wantsUsage bool // OpenAI: stream_options.include_usage
}

// A Result is the result of a tool call, with the call.
type Result struct {
	Use     llm.ToolUse
	Text    string
	IsError bool
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

func words(v any) []string {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	var out []string
	for _, x := range listOf(v) {
		out = append(out, textOf(x))
	}
	return out
}

// readShared reads the options that both APIs name alike.
func (r *Request) readShared(body object) {
	r.Model = textOf(body["model"])
	r.Blocking = !boolOf(body["stream"])
	if t, ok := numberOf(body["temperature"]); ok {
		r.Temperature = &t
	}
}

// readAnthropic fills r from the body of a Messages request.
func (r *Request) readAnthropic(body object) {
	r.readShared(body)
	n, _ := integerOf(body["max_tokens"])
	r.MaxTokens, r.Stop = int(n), words(body["stop_sequences"])
	r.System = anthropicBlocks(blocksOf(body["system"])).Text()
	for _, m := range objectsOf(body["messages"]) {
		r.Messages = append(r.Messages, llm.Message{Role: llm.Role(textOf(m["role"])), Content: anthropicBlocks(blocksOf(m["content"]))})
	}
	for _, t := range objectsOf(body["tools"]) {
		r.Tools = append(r.Tools, llm.Tool{Name: textOf(t["name"]), Description: textOf(t["description"]), Input: raw(t["input_schema"])})
	}
	choice := objectOf(body["tool_choice"])
	if mode := textOf(choice["type"]); mode != "auto" {
		r.ToolChoice = llm.ToolChoice{Mode: llm.ToolChoiceMode(mode), Name: textOf(choice["name"])}
	}
	budget, _ := integerOf(objectOf(body["thinking"])["budget_tokens"])
	config := objectOf(body["output_config"])
	r.Thinking = llm.Thought{Budget: int(budget), Effort: textOf(config["effort"])}
	if f := objectOf(config["format"]); f != nil {
		r.Format = &llm.Format{Schema: raw(f["schema"])}
	}
}

func anthropicBlocks(in []object) llm.Blocks {
	var out llm.Blocks
	for _, b := range in {
		switch b["type"] {
		case "text":
			out = append(out, llm.Text{Text: textOf(b["text"])})
		case "thinking":
			out = append(out, llm.Thinking{Text: textOf(b["thinking"]), Signature: textOf(b["signature"])})
		case "redacted_thinking":
			out = append(out, llm.RedactedThinking{Data: textOf(b["data"])})
		case "image":
			media, data := inline(objectOf(b["source"]))
			out = append(out, llm.Image{MediaType: media, Data: data})
		case "document":
			media, data := inline(objectOf(b["source"]))
			out = append(out, llm.Document{MediaType: media, Title: textOf(b["title"]), Data: data})
		case "tool_use":
			out = append(out, llm.ToolUse{ID: textOf(b["id"]), Name: textOf(b["name"]), Input: raw(b["input"])})
		case "tool_result":
			out = append(out, llm.ToolResult{ID: textOf(b["tool_use_id"]), Content: anthropicBlocks(blocksOf(b["content"])), IsError: boolOf(b["is_error"])})
		default:
			out = append(out, llm.Verbatim{Provider: "anthropic", Raw: raw(b)})
		}
	}
	return out
}

// inline returns the media type and bytes of a source, no bytes if it is a reference.
func inline(source object) (string, []byte) {
	data := textOf(source["data"])
	if source["type"] == "text" {
		return textOf(source["media_type"]), []byte(data)
	}
	decoded, _ := base64.StdEncoding.DecodeString(data) // A46 reports undecodable bodies
	return textOf(source["media_type"]), decoded
}

// readOpenAI fills r from the body of a Chat Completions request.
func (r *Request) readOpenAI(body object) {
	r.readShared(body)
	for _, k := range []string{"max_completion_tokens", "max_tokens"} {
		if n, ok := integerOf(body[k]); ok {
			r.MaxTokens = int(n)
		}
	}
	r.Stop = words(body["stop"])
	r.wantsUsage = boolOf(objectOf(body["stream_options"])["include_usage"])
	var system []string
	for _, m := range objectsOf(body["messages"]) {
		switch m["role"] {
		case "system", "developer":
			system = append(system, openaiBlocks(m["content"]).Text())
		case "tool":
			r.addResult(llm.ToolResult{ID: textOf(m["tool_call_id"]), Content: openaiBlocks(m["content"])})
		default:
			r.Messages = append(r.Messages, openaiMessage(m))
		}
	}
	r.System = strings.Join(system, "\n\n")
	for _, t := range objectsOf(body["tools"]) {
		f := objectOf(t["function"])
		r.Tools = append(r.Tools, llm.Tool{Name: textOf(f["name"]), Description: textOf(f["description"]), Input: raw(f["parameters"])})
	}
	r.ToolChoice = openaiChoice(body["tool_choice"])
	r.Thinking.Effort = textOf(body["reasoning_effort"])
	if f := objectOf(objectOf(body["response_format"])["json_schema"]); f != nil {
		r.Format = &llm.Format{Name: textOf(f["name"]), Schema: raw(f["schema"])}
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

func openaiMessage(m object) llm.Message {
	out := llm.Message{Role: llm.Role(textOf(m["role"]))}
	for _, k := range []string{"reasoning_content", "reasoning"} {
		if s := textOf(m[k]); s != "" {
			out.Content = append(out.Content, llm.Thinking{Text: s})
			break
		}
	}
	out.Content = append(out.Content, openaiBlocks(m["content"])...)
	for _, v := range objectsOf(m["tool_calls"]) {
		f := objectOf(v["function"])
		u := writtenCall(textOf(v["id"]), textOf(f["name"]), textOf(f["arguments"]))
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
	for _, p := range objectsOf(content) {
		switch p["type"] {
		case "text":
			out = append(out, llm.Text{Text: textOf(p["text"])})
		case "image_url":
			media, data := dataURL(textOf(objectOf(p["image_url"])["url"]))
			out = append(out, llm.Image{MediaType: media, Data: data})
		case "file":
			f := objectOf(p["file"])
			media, data := dataURL(textOf(f["file_data"]))
			out = append(out, llm.Document{MediaType: media, Title: textOf(f["filename"]), Data: data})
		default:
			out = append(out, llm.Verbatim{Provider: "openai", Raw: raw(p)})
		}
	}
	return out
}

// dataURL reads data:TYPE;base64,DATA, no bytes from any other URL.
func dataURL(url string) (string, []byte) {
	head, data, _ := strings.Cut(strings.TrimPrefix(url, "data:"), ",")
	media, isBase64 := strings.CutSuffix(head, ";base64")
	if !isBase64 {
		return "", nil
	}
	decoded, _ := base64.StdEncoding.DecodeString(data) // a picture that does not decode has no bytes
	return media, decoded
}

func openaiChoice(v any) llm.ToolChoice {
	switch v {
	case "required":
		return llm.ToolChoice{Mode: llm.ChooseAny}
	case "none":
		return llm.ToolChoice{Mode: llm.ChooseNone}
	}
	if name := textOf(objectOf(objectOf(v)["function"])["name"]); name != "" {
		return llm.ToolChoice{Mode: llm.ChooseTool, Name: name}
	}
	return llm.ToolChoice{}
}
