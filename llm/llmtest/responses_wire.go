package llmtest

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/openagent-go/agent/llm"
)

// responsesWire is the OpenAI Responses API. Thinking goes as the summary of a
// reasoning item, its signature as the encrypted content.
type responsesWire struct{}

func (responsesWire) check(body []byte, _ Host) []Violation { return CheckResponses(body) }
func (responsesWire) checkParsed(v any, _ Host) []Violation { return checkResponses(v) }
func (responsesWire) hasKey(h http.Header) bool             { return hasBearer(h) || h.Get("Api-Key") != "" }
func (responsesWire) versionHeader() string                 { return "" }
func (responsesWire) requestID() string                     { return "X-Request-Id" }
func (responsesWire) idPrefix() string                      { return "call_" }
func (responsesWire) read(r *Request, body object)          { r.readResponses(body) }
func (responsesWire) failure(r refusal) object              { return openaiWire{}.failure(r) }

func (responsesWire) failureEvent(r refusal) []byte {
	f := faultOf(r.status)
	return event("error", object{"sequence_number": 99, "code": cmp.Or(r.code, f.code, f.openaiKind), "message": r.message, "param": orNull(r.param)})
}

func responsesUsage(u llm.Usage) object {
	prompt := u.Context()
	return object{
		"input_tokens": prompt, "output_tokens": u.Output, "total_tokens": prompt + u.Output,
		"input_tokens_details":  object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"output_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}

// responsesShell returns a response without output.
func responsesShell(r llm.Response, status string) object {
	return object{
		"id": r.ID, "object": "response", "created_at": 1, "model": r.Model, "status": status, "error": nil, "incomplete_details": nil,
		"output": []object{}, "parallel_tool_calls": true, "store": false, "truncation": "disabled", "usage": nil,
	}
}

// body returns the response at its end.
func (w responsesWire) body(r llm.Response) object {
	out := responsesShell(r, "completed")
	switch r.Stop {
	case llm.EndTurn, llm.UseTools, llm.StopSequence, llm.PauseTurn:
	case llm.MaxTokens, llm.Overflow:
		out["status"], out["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
	case llm.Refusal:
		out["status"], out["incomplete_details"] = "incomplete", object{"reason": "content_filter"}
	default:
		out["status"], out["incomplete_details"] = "incomplete", object{"reason": string(r.Stop)}
	}
	items := []object{}
	for i, b := range r.Message.Content {
		if item := responsesItem(r, i, b); item != nil {
			items = append(items, item)
		}
	}
	out["output"], out["usage"] = items, responsesUsage(r.Usage)
	return out
}

// responsesItem returns a finished item, nil for a block that has none.
func responsesItem(r llm.Response, i int, b llm.Block) object {
	id := fmt.Sprintf("%s_%d", strings.NewReplacer("msg_", "", "resp_", "").Replace(r.ID), i)
	switch c := b.(type) {
	case llm.Text:
		return object{"id": "msg_" + id, "type": "message", "role": "assistant", "status": "completed", "content": []object{outputText(c.Text)}}
	case llm.Thinking:
		return object{"id": "rs_" + id, "type": "reasoning", "summary": []object{{"type": "summary_text", "text": c.Text}}, "encrypted_content": c.Signature}
	case llm.ToolUse:
		return object{"id": "fc_" + id, "type": "function_call", "status": "completed", "call_id": c.ID, "name": c.Name, "arguments": inputText(c)}
	case llm.Verbatim:
		v, _ := parse(c.Raw) // invalid JSON becomes an empty object
		return objectOf(v)
	}
	return nil
}

func outputText(s string) object {
	return object{"type": "output_text", "text": s, "annotations": []object{}, "logprobs": []object{}}
}

// events returns the events of a stream, with an event and members that clients
// have to skip.
func (w responsesWire) events(r llm.Response, _ *Request, pieces int) [][]byte {
	var out [][]byte
	add := func(name string, data object) {
		data["sequence_number"] = len(out)
		out = append(out, event(name, data))
	}
	add("response.created", object{"response": responsesShell(r, "in_progress")})
	output := 0
	for i, b := range r.Message.Content {
		item := responsesItem(r, i, b)
		if item == nil {
			continue
		}
		started := object{}
		for k, v := range item {
			started[k] = v
		}
		at := func(more object) object {
			more["item_id"], more["output_index"] = item["id"], output
			return more
		}
		switch c := b.(type) {
		case llm.Text:
			started["status"], started["content"] = "in_progress", []object{}
			add("response.output_item.added", object{"output_index": output, "item": started})
			add("response.content_part.added", at(object{"content_index": 0, "part": outputText("")}))
			for _, p := range split(c.Text, pieces) {
				add("response.output_text.delta", at(object{"content_index": 0, "delta": p, "logprobs": []object{}, "obfuscation": "x7"}))
			}
			add("response.output_text.done", at(object{"content_index": 0, "text": c.Text}))
		case llm.Thinking:
			started["summary"], started["encrypted_content"] = []object{}, ""
			add("response.output_item.added", object{"output_index": output, "item": started})
			add("response.reasoning_summary_part.added", at(object{"summary_index": 0, "part": object{"type": "summary_text", "text": ""}}))
			for _, p := range split(c.Text, pieces) {
				add("response.reasoning_summary_text.delta", at(object{"summary_index": 0, "delta": p}))
			}
			add("response.reasoning_summary_text.done", at(object{"summary_index": 0, "text": c.Text}))
		case llm.ToolUse:
			started["status"], started["arguments"] = "in_progress", ""
			add("response.output_item.added", object{"output_index": output, "item": started})
			for _, p := range split(inputText(c), pieces) {
				add("response.function_call_arguments.delta", at(object{"delta": p}))
			}
			add("response.function_call_arguments.done", at(object{"arguments": inputText(c)}))
		default:
			add("response.output_item.added", object{"output_index": output, "item": started})
			add("response.web_search_call.searching", at(object{}))
		}
		add("response.output_item.done", object{"output_index": output, "item": item})
		output++
	}
	end := w.body(r)
	add("response."+textOf(end["status"]), object{"response": end})
	return out
}

// readResponses fills r from the body of a Responses request.
func (r *Request) readResponses(body object) {
	r.readShared(body)
	if n, ok := integerOf(body["max_output_tokens"]); ok {
		r.MaxTokens = int(n)
	}
	system := []string{}
	if f := objectOf(objectOf(body["text"])["format"]); textOf(f["type"]) == "json_schema" {
		r.Format = &llm.Format{Name: textOf(f["name"]), Schema: raw(f["schema"])}
	}
	if s := textOf(body["instructions"]); s != "" {
		system = append(system, s)
	}
	if s, ok := body["input"].(string); ok {
		r.Messages = append(r.Messages, llm.UserText(s))
	}
	for _, item := range objectsOf(body["input"]) {
		switch kindOf(item) {
		case "message":
			blocks := responsesBlocks(item["content"])
			switch role := textOf(item["role"]); role {
			case "system", "developer":
				system = append(system, blocks.Text())
			case "assistant":
				r.addBlocks(llm.Assistant, blocks)
			default:
				r.addBlocks(llm.User, blocks)
			}
		case "reasoning":
			r.addBlocks(llm.Assistant, llm.Blocks{llm.Thinking{Text: summaryOf(item), Signature: textOf(item["encrypted_content"])}})
		case "function_call":
			u := writtenCall(textOf(item["call_id"]), textOf(item["name"]), textOf(item["arguments"]))
			r.addBlocks(llm.Assistant, llm.Blocks{u})
		case "function_call_output":
			r.addResult(llm.ToolResult{ID: textOf(item["call_id"]), Content: responsesBlocks(item["output"])})
		default:
			r.addBlocks(llm.Assistant, llm.Blocks{llm.Verbatim{Provider: "openai-responses", Raw: raw(item)}})
		}
	}
	r.System = strings.Join(system, "\n\n")
	for _, t := range objectsOf(body["tools"]) {
		if t["type"] == "function" {
			r.Tools = append(r.Tools, llm.Tool{Name: textOf(t["name"]), Description: textOf(t["description"]), Input: raw(t["parameters"])})
		}
	}
	switch choice := body["tool_choice"]; {
	case choice == "required":
		r.ToolChoice.Mode = llm.ChooseAny
	case choice == "none":
		r.ToolChoice.Mode = llm.ChooseNone
	case textOf(objectOf(choice)["name"]) != "":
		r.ToolChoice = llm.ToolChoice{Mode: llm.ChooseTool, Name: textOf(objectOf(choice)["name"])}
	}
	r.Thinking.Effort = textOf(objectOf(body["reasoning"])["effort"])
}

// addBlocks adds blocks to the message of the role at the end, made if need be.
func (r *Request) addBlocks(role llm.Role, blocks llm.Blocks) {
	if n := len(r.Messages); n == 0 || r.Messages[n-1].Role != role {
		r.Messages = append(r.Messages, llm.Message{Role: role})
	}
	last := &r.Messages[len(r.Messages)-1]
	last.Content = append(last.Content, blocks...)
}

func responsesBlocks(content any) llm.Blocks {
	if s, ok := content.(string); ok {
		if s == "" {
			return nil
		}
		return llm.Blocks{llm.Text{Text: s}}
	}
	var out llm.Blocks
	for _, p := range objectsOf(content) {
		switch p["type"] {
		case "input_text", "output_text":
			out = append(out, llm.Text{Text: textOf(p["text"])})
		case "refusal":
			out = append(out, llm.Text{Text: textOf(p["refusal"])})
		case "input_image":
			media, data := dataURL(textOf(p["image_url"]))
			out = append(out, llm.Image{MediaType: media, Data: data})
		case "input_file":
			media, data := dataURL(textOf(p["file_data"]))
			out = append(out, llm.Document{MediaType: media, Title: textOf(p["filename"]), Data: data})
		default:
			out = append(out, llm.Verbatim{Provider: "openai-responses", Raw: raw(p)})
		}
	}
	return out
}
