package strictapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The rules of the Responses API, with the words of its answers as far as public reports
// show them: the ids of items and their prefixes, calls and their outputs, reasoning and
// the items after it, encrypted content, strict schemas.

var responsesFields = SetOf(
	"background", "context_management", "conversation", "include", "input", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "model",
	"moderation", "parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning",
	"safety_identifier", "service_tier", "store", "stream", "stream_options", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
)

// responsesItems are the kinds of input items and the prefixes of their ids, ""
// where these are not judged. The provider's own tools are not judged further.
var responsesItems = map[string]string{
	"message": "msg", "reasoning": "rs", "function_call": "fc", "function_call_output": "", "item_reference": "", "compaction": "",
	"web_search_call": "ws", "file_search_call": "fs", "code_interpreter_call": "ci", "image_generation_call": "ig",
	"mcp_list_tools": "mcpl", "mcp_call": "mcp", "mcp_approval_request": "", "mcp_approval_response": "",
	"computer_call": "", "computer_call_output": "", "custom_tool_call": "", "custom_tool_call_output": "",
	"local_shell_call": "", "local_shell_call_output": "", "shell_call": "", "shell_call_output": "", "apply_patch_call": "", "apply_patch_call_output": "",
	"tool_search_call": "", "tool_search_output": "",
}

const (
	maxCallID       = 64
	minOutputTokens = 16
	notPersisted    = "Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
)

// CheckResponses returns the rules of OpenAI's Responses API that a request body
// breaks, the first one first.
func CheckResponses(body []byte) []Violation {
	v, err := Parse(body)
	if err != nil {
		return []Violation{{Rule: "R00", Message: "We could not parse the JSON body of your request: " + err.Error()}}
	}
	return ResponsesValue(v)
}

func ResponsesValue(v any) []Violation {
	body, ok := v.(Object)
	if !ok {
		return []Violation{{Rule: "R01", Message: "The JSON body of your request is not an object"}}
	}
	c := &responsesCheck{body: body, items: ObjectsOf(body["input"]), tools: ObjectsOf(body["tools"]), stored: body["store"] != false}
	for _, check := range []func(){c.checkFields, c.checkItems, c.checkPairs, c.checkReasoning, c.checkTools, c.checkOptions, c.checkModel} {
		check()
	}
	return c.Found
}

// responsesCheck is one request under examination.
type responsesCheck struct {
	Report
	body   Object
	items  []Object
	tools  []Object
	stored bool // store is not false
}

func (c *responsesCheck) checkFields() {
	if isEmpty(c.body["model"]) {
		c.Add("R01", "model", paramMissing, "model")
	}
	switch in := c.body["input"].(type) {
	case string:
	case []any:
		if len(in) == 0 {
			c.Add("R01", "input", "Missing required parameter: 'input'.")
		}
	default:
		c.Add("R01", "input", paramMissing, "input")
	}
	for _, k := range slices.Sorted(maps.Keys(c.body)) {
		if !responsesFields[k] {
			c.Add("R02", k, "Unknown parameter: '%s'.", k)
		}
	}
}

// KindOf returns the type of an item: a message may leave it out.
func KindOf(item Object) string {
	if item["type"] == nil && item["role"] != nil {
		return "message"
	}
	return TextOf(item["type"])
}

func (c *responsesCheck) checkItems() {
	ids := Set{}
	for i, item := range c.items {
		p, kind := fmt.Sprintf("input[%d]", i), KindOf(item)
		prefix, known := responsesItems[kind]
		if !known {
			c.Add("R03", p, "Invalid value: '%s'. Supported values are: 'message', 'reasoning', 'function_call', 'function_call_output' and others.", kind)
			continue
		}
		if id := TextOf(item["id"]); id != "" {
			if !strings.HasPrefix(id, prefix) {
				c.Add("R12", p+".id", "Invalid '%s.id': '%s'. Expected an ID that begins with '%s'.", p, id, prefix)
			} else if ids[id] {
				c.Add("R13", p+".id", "Duplicate item found with id %s. Remove duplicate items from your input and try again.", id)
			}
			ids[id] = true
		}
		switch kind {
		case "message":
			c.checkMessage(p, item)
		case "function_call":
			c.checkCall(p, item)
		case "function_call_output":
			c.checkOutput(p, item)
		case "item_reference":
			if !c.stored {
				c.Add("R09", p, notPersisted, TextOf(item["id"]))
			}
		}
	}
}

func (c *responsesCheck) checkMessage(p string, m Object) {
	role := TextOf(m["role"])
	switch role {
	case "user", "system", "developer", "assistant":
	default:
		c.Add("R14", p+".role", "Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", role)
		return
	}
	if phase, ok := m["phase"]; ok && phase != nil && (role != "assistant" || phase != "commentary" && phase != "final_answer") {
		c.Add("R29", p+".phase", "Invalid value: '%v'. Supported values are: 'commentary' and 'final_answer'.", phase)
	}
	if s, ok := m["content"].(string); ok {
		if s == "" {
			c.Add("R16", p+".content", "Invalid '%s.content': empty string.", p)
		}
		return
	}
	parts, ok := m["content"].([]any)
	if !ok || len(parts) == 0 {
		c.Add("R16", p+".content", paramMissing, p+".content")
	}
	for k, part := range ObjectsOf(m["content"]) {
		c.checkPart(fmt.Sprintf("%s.content[%d]", p, k), role, part)
	}
}

// checkPart judges a part of a message, or of an output (no role).
func (c *responsesCheck) checkPart(p, role string, part Object) {
	kind := TextOf(part["type"])
	if role == "assistant" {
		if kind != "output_text" && kind != "refusal" {
			c.Add("R15", p, "Invalid value: '%s'. Supported values are: 'output_text' and 'refusal'.", kind)
		}
		return
	}
	switch kind {
	case "input_text":
		if TextOf(part["text"]) == "" {
			c.Add("R16", p+".text", "Invalid '%s.text': empty string.", p)
		}
	case "input_image":
		media, data := DataURL(TextOf(part["image_url"]))
		if part["file_id"] == nil && !strings.HasPrefix(TextOf(part["image_url"]), "http") {
			if got, _, _ := sniff(data); got == "" || got != media {
				c.Add("R28", p+".image_url", "Invalid '%s.image_url'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,...').", p)
			}
		}
	case "input_file":
		_, data := DataURL(TextOf(part["file_data"]))
		if part["file_id"] == nil && part["file_url"] == nil && (len(data) == 0 || isEmpty(part["filename"])) {
			c.Add("R28", p+".file_data", paramMissing, p+".file_data")
		}
	default:
		c.Add("R15", p, "Invalid value: '%s'. Supported values are: 'input_text', 'input_image', and 'input_file'.", kind)
	}
}

func (c *responsesCheck) checkID(p string, item Object) {
	id := TextOf(item["call_id"])
	switch n := len([]rune(id)); {
	case n == 0:
		c.Add("R06", p+".call_id", paramMissing, p+".call_id")
	case n > maxCallID:
		c.Add("R06", p+".call_id", stringTooLong, p+".call_id", maxCallID, n)
	}
}

func (c *responsesCheck) checkCall(p string, call Object) {
	c.checkID(p, call)
	c.checkName("R20", p+".name", TextOf(call["name"]))
	if s, ok := call["arguments"].(string); !ok || !json.Valid([]byte(s)) {
		c.Add("R17", p+".arguments", "Invalid '%s.arguments': expected a string with JSON.", p)
	}
}

func (c *responsesCheck) checkOutput(p string, out Object) {
	c.checkID(p, out)
	if IsText(out["output"]) {
		return
	}
	parts, ok := out["output"].([]any)
	if !ok || len(parts) == 0 {
		c.Add("R18", p+".output", "Invalid type for '%s.output': expected a string or an array of content.", p)
	}
	for k, part := range ObjectsOf(out["output"]) {
		c.checkPart(fmt.Sprintf("%s.output[%d]", p, k), "", part)
	}
}

// checkPairs judges that each call has one output, after it.
func (c *responsesCheck) checkPairs() {
	asked, answered := Set{}, Set{}
	for i, item := range c.items {
		id, p := TextOf(item["call_id"]), fmt.Sprintf("input[%d]", i)
		switch KindOf(item) {
		case "function_call":
			if id != "" && asked[id] {
				c.Add("R07", p, "Duplicate call_id %s in the input.", id)
			}
			asked[id] = true
		case "function_call_output":
			switch {
			case id == "":
			case !asked[id]:
				c.Add("R05", "input", "No tool call found for function call output with call_id %s.", id)
			case answered[id]:
				c.Add("R07", p, "Duplicate output for call_id %s in the input.", id)
			}
			answered[id] = true
		}
	}
	for _, item := range c.items {
		if id := TextOf(item["call_id"]); KindOf(item) == "function_call" && id != "" && !answered[id] {
			c.Add("R04", "input", "No tool output found for function call %s.", id)
			answered[id] = true
		}
	}
}

// checkReasoning checks that reasoning is followed by its result, and can be read.
func (c *responsesCheck) checkReasoning() {
	for i, item := range c.items {
		if KindOf(item) != "reasoning" {
			continue
		}
		p, id := fmt.Sprintf("input[%d]", i), TextOf(item["id"])
		if _, ok := item["summary"].([]any); !ok {
			c.Add("R10", p+".summary", paramMissing, p+".summary")
		}
		next := i + 1
		for next < len(c.items) && KindOf(c.items[next]) == "reasoning" {
			next++
		}
		if next == len(c.items) || !made(c.items[next]) {
			c.Add("R08", "input", "Item '%s' of type 'reasoning' was provided without its required following item.", id)
		}
		encrypted := TextOf(item["encrypted_content"])
		if encrypted == "" && isEmpty(item["content"]) && !c.stored {
			c.Add("R09", "input", notPersisted, id)
		}
		if strings.HasPrefix(encrypted, signaturePrefix) && encrypted != Sign(SummaryOf(item)) {
			c.Add("R11", "input", "The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", id)
		}
	}
}

// made reports whether an item is one that a model makes.
func made(item Object) bool {
	kind := KindOf(item)
	return kind == "message" && item["role"] == "assistant" || strings.HasSuffix(kind, "_call") || strings.HasPrefix(kind, "mcp_")
}

func SummaryOf(item Object) string {
	var list []string
	for _, part := range ObjectsOf(item["summary"]) {
		list = append(list, TextOf(part["text"]))
	}
	return strings.Join(list, "\n\n")
}

func (c *responsesCheck) checkName(rule, path, name string) {
	switch {
	case name == "":
		c.Add(rule, path, "Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", path)
	case !openaiName.MatchString(name):
		c.Add(rule, path, "Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", path)
	case len(name) > maxNameOpenAI:
		c.Add(rule, path, stringTooLong, path, maxNameOpenAI, len(name))
	}
}

func (c *responsesCheck) checkTools() {
	if n := len(c.tools); n > maxTools {
		c.Add("R23", "tools", "Invalid 'tools': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", maxTools, n)
	}
	names := Set{}
	for n, t := range c.tools {
		p := fmt.Sprintf("tools[%d]", n)
		if isEmpty(t["type"]) {
			c.Add("R19", p, paramMissing, p+".type")
			continue
		}
		if t["type"] != "function" {
			continue
		}
		name := TextOf(t["name"])
		if t["function"] != nil || name == "" {
			c.Add("R19", p, paramMissing, p+".name")
			continue
		}
		c.checkName("R20", p+".name", name)
		if names[name] {
			c.Add("R20", p+".name", "Invalid '%s.name': duplicate tool name", p)
		}
		names[name] = true
		c.checkSchema(p, name, t)
	}
}

// checkSchema judges a schema; one whose strictness is left out is strict.
func (c *responsesCheck) checkSchema(path, name string, t Object) {
	s := ObjectOf(t["parameters"])
	if t["parameters"] == nil || s["type"] != "object" {
		kind := "None"
		if s["type"] != nil {
			kind = fmt.Sprint(s["type"])
		}
		c.Add("R21", path, `Invalid schema for function '%s': schema must be a JSON Schema of 'type: "object"', got 'type: "%s"'.`, name, kind)
		return
	}
	if t["strict"] == false {
		return
	}
	if s["additionalProperties"] != false {
		c.Add("R22", path, strictSchema, name, "additionalProperties", "false")
		return
	}
	required := Set{}
	for _, k := range ListOf(s["required"]) {
		required[TextOf(k)] = true
	}
	if !slices.Equal(slices.Sorted(maps.Keys(ObjectOf(s["properties"]))), slices.Sorted(maps.Keys(required))) {
		c.Add("R22", path, strictSchema, name, "required", "an array including every key in properties")
	}
}

func (c *responsesCheck) checkOptions() {
	choice := c.body["tool_choice"]
	if name := TextOf(ObjectOf(choice)["name"]); ObjectOf(choice)["type"] == "function" {
		if !slices.ContainsFunc(c.tools, func(t Object) bool { return t["name"] == name }) {
			c.Add("R24", "tool_choice", "Tool choice 'function' not found in 'tools' parameter.")
		}
	} else if len(c.tools) == 0 && choice == "required" {
		c.Add("R24", "tool_choice", "Tool choice 'required' must be specified with 'tools' parameter.")
	}
	if n, ok := IntegerOf(c.body["max_output_tokens"]); ok && n < minOutputTokens {
		c.Add("R25", "max_output_tokens", "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= %d, but got %d instead.", minOutputTokens, n)
	}
	if key := TextOf(c.body["prompt_cache_key"]); len(key) > maxCallID {
		c.Add("R30", "prompt_cache_key", stringTooLong, "prompt_cache_key", maxCallID, len(key))
	}
	format := ObjectOf(ObjectOf(c.body["text"])["format"])
	if format["type"] == "json_schema" && (isEmpty(format["name"]) || !isObject(format["schema"])) {
		c.Add("R31", "text.format", paramMissing, "text.format.name")
	}
}

func (c *responsesCheck) checkModel() {
	name := TextOf(c.body["model"])
	if name == "" {
		return
	}
	if reasoningModel.MatchString(name) {
		if _, ok := c.body["temperature"]; ok {
			c.Add("R26", "temperature", "Unsupported parameter: 'temperature' is not supported with this model.")
		}
		return
	}
	if ObjectOf(c.body["reasoning"])["effort"] != nil {
		c.Add("R27", "reasoning.effort", "Unsupported parameter: 'reasoning.effort' is not supported with this model.")
	}
	if slices.Contains(Words(c.body["include"]), "reasoning.encrypted_content") {
		c.Add("R27", "include", "Encrypted content is not supported with this model.")
	}
}
