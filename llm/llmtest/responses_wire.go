package llmtest

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
)

// responsesWire is the OpenAI Responses API. Thinking goes as the summary of a
// reasoning item, its signature as the encrypted content.
type responsesWire struct{}

func (responsesWire) check(body []byte, _ strictapi.Host) []strictapi.Violation {
	return strictapi.CheckResponses(body)
}
func (responsesWire) checkParsed(v any, _ strictapi.Host) []strictapi.Violation {
	return strictapi.ResponsesValue(v)
}
func (responsesWire) hasKey(h http.Header) bool              { return hasBearer(h) || h.Get("Api-Key") != "" }
func (responsesWire) versionHeader() string                  { return "" }
func (responsesWire) requestID() string                      { return "X-Request-Id" }
func (responsesWire) idPrefix() string                       { return "call_" }
func (responsesWire) read(r *Request, body strictapi.Object) { r.readResponses(body) }
func (responsesWire) failure(r refusal) strictapi.Object     { return openaiWire{}.failure(r) }

func (responsesWire) failureEvent(r refusal) []byte {
	f := faultOf(r.status)
	return event("error", strictapi.Object{"sequence_number": 99, "code": cmp.Or(r.code, f.code, f.openaiKind), "message": r.message, "param": orNull(r.param)})
}

func responsesUsage(u llm.Usage) strictapi.Object {
	prompt := u.Context()
	return strictapi.Object{
		"input_tokens": prompt, "output_tokens": u.Output, "total_tokens": prompt + u.Output,
		"input_tokens_details":  strictapi.Object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"output_tokens_details": strictapi.Object{"reasoning_tokens": u.Reasoning},
	}
}

// responsesShell returns a response without output.
func responsesShell(r llm.Response, status string) strictapi.Object {
	return strictapi.Object{
		"id": r.ID, "object": "response", "created_at": 1, "model": r.Model, "status": status, "error": nil, "incomplete_details": nil,
		"output": []strictapi.Object{}, "parallel_tool_calls": true, "store": false, "truncation": "disabled", "usage": nil,
	}
}

// body returns the response at its end.
func (w responsesWire) body(r llm.Response) strictapi.Object {
	out := responsesShell(r, "completed")
	switch r.Stop {
	case llm.EndTurn, llm.UseTools, llmconst.StopSequence, llmconst.PauseTurn:
	case llm.MaxTokens, llmconst.Overflow:
		out["status"], out["incomplete_details"] = "incomplete", strictapi.Object{"reason": "max_output_tokens"}
	case llm.Refusal:
		out["status"], out["incomplete_details"] = "incomplete", strictapi.Object{"reason": "content_filter"}
	default:
		out["status"], out["incomplete_details"] = "incomplete", strictapi.Object{"reason": string(r.Stop)}
	}
	items := []strictapi.Object{}
	for i, b := range r.Message.Content {
		if item := responsesItem(r, i, b); item != nil {
			items = append(items, item)
		}
	}
	out["output"], out["usage"] = items, responsesUsage(r.Usage)
	return out
}

// responsesItem returns a finished item, nil for a block that has none.
func responsesItem(r llm.Response, i int, b llm.Block) strictapi.Object {
	id := fmt.Sprintf("%s_%d", strings.NewReplacer("msg_", "", "resp_", "").Replace(r.ID), i)
	switch c := b.(type) {
	case llm.Text:
		return strictapi.Object{"id": "msg_" + id, "type": "message", "role": "assistant", "status": "completed", "content": []strictapi.Object{outputText(c.Text)}}
	case llm.Thinking:
		return strictapi.Object{"id": "rs_" + id, "type": "reasoning", "summary": []strictapi.Object{{"type": "summary_text", "text": c.Text}}, "encrypted_content": c.Signature}
	case llm.ToolUse:
		return strictapi.Object{"id": "fc_" + id, "type": "function_call", "status": "completed", "call_id": c.ID, "name": c.Name, "arguments": inputText(c)}
	case llm.Verbatim:
		v, _ := strictapi.Parse(c.Raw) // invalid JSON becomes an empty object
		return strictapi.ObjectOf(v)
	}
	return nil
}

func outputText(s string) strictapi.Object {
	return strictapi.Object{"type": "output_text", "text": s, "annotations": []strictapi.Object{}, "logprobs": []strictapi.Object{}}
}

// events returns the events of a stream, with an event and members that clients
// have to skip.
func (w responsesWire) events(r llm.Response, _ *Request, pieces int) [][]byte {
	var out [][]byte
	add := func(name string, data strictapi.Object) {
		data["sequence_number"] = len(out)
		out = append(out, event(name, data))
	}
	add("response.created", strictapi.Object{"response": responsesShell(r, "in_progress")})
	output := 0
	for i, b := range r.Message.Content {
		item := responsesItem(r, i, b)
		if item == nil {
			continue
		}
		started := strictapi.Object{}
		for k, v := range item {
			started[k] = v
		}
		at := func(more strictapi.Object) strictapi.Object {
			more["item_id"], more["output_index"] = item["id"], output
			return more
		}
		switch c := b.(type) {
		case llm.Text:
			started["status"], started["content"] = "in_progress", []strictapi.Object{}
			add("response.output_item.added", strictapi.Object{"output_index": output, "item": started})
			add("response.content_part.added", at(strictapi.Object{"content_index": 0, "part": outputText("")}))
			for _, p := range split(c.Text, pieces) {
				add("response.output_text.delta", at(strictapi.Object{"content_index": 0, "delta": p, "logprobs": []strictapi.Object{}, "obfuscation": "x7"}))
			}
			add("response.output_text.done", at(strictapi.Object{"content_index": 0, "text": c.Text}))
		case llm.Thinking:
			started["summary"], started["encrypted_content"] = []strictapi.Object{}, ""
			add("response.output_item.added", strictapi.Object{"output_index": output, "item": started})
			add("response.reasoning_summary_part.added", at(strictapi.Object{"summary_index": 0, "part": strictapi.Object{"type": "summary_text", "text": ""}}))
			for _, p := range split(c.Text, pieces) {
				add("response.reasoning_summary_text.delta", at(strictapi.Object{"summary_index": 0, "delta": p}))
			}
			add("response.reasoning_summary_text.done", at(strictapi.Object{"summary_index": 0, "text": c.Text}))
		case llm.ToolUse:
			started["status"], started["arguments"] = "in_progress", ""
			add("response.output_item.added", strictapi.Object{"output_index": output, "item": started})
			for _, p := range split(inputText(c), pieces) {
				add("response.function_call_arguments.delta", at(strictapi.Object{"delta": p}))
			}
			add("response.function_call_arguments.done", at(strictapi.Object{"arguments": inputText(c)}))
		default:
			add("response.output_item.added", strictapi.Object{"output_index": output, "item": started})
			add("response.web_search_call.searching", at(strictapi.Object{}))
		}
		add("response.output_item.done", strictapi.Object{"output_index": output, "item": item})
		output++
	}
	end := w.body(r)
	add("response."+strictapi.TextOf(end["status"]), strictapi.Object{"response": end})
	return out
}

// readResponses fills r from the body of a Responses request.
func (r *Request) readResponses(body strictapi.Object) {
	r.readShared(body)
	if n, ok := strictapi.IntegerOf(body["max_output_tokens"]); ok {
		r.MaxTokens = int(n)
	}
	system := []string{}
	if f := strictapi.ObjectOf(strictapi.ObjectOf(body["text"])["format"]); strictapi.TextOf(f["type"]) == "json_schema" {
		r.Format = raw(f["schema"])
	}
	if s := strictapi.TextOf(body["instructions"]); s != "" {
		system = append(system, s)
	}
	if s, ok := body["input"].(string); ok {
		r.Messages = append(r.Messages, llm.UserText(s))
	}
	for _, item := range strictapi.ObjectsOf(body["input"]) {
		switch strictapi.KindOf(item) {
		case "message":
			blocks := responsesBlocks(item["content"])
			switch role := strictapi.TextOf(item["role"]); role {
			case "system", "developer":
				system = append(system, blocks.Text())
			case "assistant":
				r.addBlocks(llm.Assistant, blocks)
			default:
				r.addBlocks(llm.User, blocks)
			}
		case "reasoning":
			r.addBlocks(llm.Assistant, llm.Blocks{llm.Thinking{Text: strictapi.SummaryOf(item), Signature: strictapi.TextOf(item["encrypted_content"])}})
		case "function_call":
			u := writtenCall(strictapi.TextOf(item["call_id"]), strictapi.TextOf(item["name"]), strictapi.TextOf(item["arguments"]))
			r.addBlocks(llm.Assistant, llm.Blocks{u})
		case "function_call_output":
			r.addResult(llm.ToolResult{ID: strictapi.TextOf(item["call_id"]), Content: responsesBlocks(item["output"])})
		default:
			r.addBlocks(llm.Assistant, llm.Blocks{llm.Verbatim{Provider: "openai-responses", Raw: raw(item)}})
		}
	}
	r.System = strings.Join(system, "\n\n")
	for _, t := range strictapi.ObjectsOf(body["tools"]) {
		if t["type"] == "function" {
			r.Tools = append(r.Tools, llm.Tool{Name: strictapi.TextOf(t["name"]), Description: strictapi.TextOf(t["description"]), Input: raw(t["parameters"])})
		}
	}
	switch choice := body["tool_choice"]; {
	case choice == "required":
		r.ToolChoice.Mode = llm.ChooseAny
	case choice == "none":
		r.ToolChoice.Mode = llm.ChooseNone
	case strictapi.TextOf(strictapi.ObjectOf(choice)["name"]) != "":
		r.ToolChoice = llm.ToolChoice{Mode: llm.ChooseTool, Name: strictapi.TextOf(strictapi.ObjectOf(choice)["name"])}
	}
	r.Thinking.Effort = strictapi.TextOf(strictapi.ObjectOf(body["reasoning"])["effort"])
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
	for _, p := range strictapi.ObjectsOf(content) {
		switch p["type"] {
		case "input_text", "output_text":
			out = append(out, llm.Text{Text: strictapi.TextOf(p["text"])})
		case "refusal":
			out = append(out, llm.Text{Text: strictapi.TextOf(p["refusal"])})
		case "input_image":
			media, data := strictapi.DataURL(strictapi.TextOf(p["image_url"]))
			out = append(out, llm.Image{MediaType: media, Data: data})
		case "input_file":
			media, data := strictapi.DataURL(strictapi.TextOf(p["file_data"]))
			out = append(out, llm.Document{MediaType: media, Title: strictapi.TextOf(p["filename"]), Data: data})
		default:
			out = append(out, llm.Verbatim{Provider: "openai-responses", Raw: raw(p)})
		}
	}
	return out
}
