package strictapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A Host says whose rules an OpenAI-compatible endpoint has.
type Host string

const (
	OpenAI     Host = "openai"   // api.openai.com
	Compatible Host = "compat"   // every compatible host refuses these
	Kimi       Host = "kimi"     // Compatible, and reasoning must be sent back
	DeepSeek   Host = "deepseek" // likewise
)

var (
	openaiName     = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	reasoningModel = regexp.MustCompile(`^(o\d|gpt-5)`)
	openaiRoles    = SetOf("system", "developer", "user", "assistant", "tool", "function")
)

const (
	maxID          = 40
	maxTools       = 128
	maxNameOpenAI  = 64
	arrayEmpty     = "Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead."
	stringTooLong  = "Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead."
	paramMissing   = "Missing required parameter: '%s'."
	duplicateID    = "Duplicate value for 'tool_call_id' of %s in message[%d]"
	strictSchema   = "Invalid schema for function '%s': In context=(), '%s' is required to be supplied and to be %s."
	unansweredCall = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
)

// CheckOpenAI returns the rules of OpenAI's Chat Completions API that a request
// body breaks, the first one first.
func CheckOpenAI(body []byte) []Violation { return CheckHost(body, OpenAI) }

// CheckHost is like CheckOpenAI for another host of that API.
func CheckHost(body []byte, host Host) []Violation {
	v, err := Parse(body)
	if err != nil {
		return []Violation{{Rule: "O00", Message: "We could not parse the JSON body of your request: " + err.Error()}}
	}
	return OpenAIValue(v, host)
}

func OpenAIValue(v any, host Host) []Violation {
	body, ok := v.(Object)
	if !ok {
		return []Violation{{Rule: "O01", Message: "The JSON body of your request is not an object"}}
	}
	c := &openaiCheck{
		body: body, host: host, messages: ObjectsOf(body["messages"]), tools: ObjectsOf(body["tools"]),
		asked: Set{}, answered: Set{}, open: map[string]int{},
	}
	for _, check := range []func(){
		c.checkFields, c.checkMessages, c.checkReasoning, c.checkTools, c.checkOptions, c.checkModel, c.checkHost,
	} {
		check()
	}
	return c.Found
}

// openaiCheck is one request under examination.
type openaiCheck struct {
	Report
	body     Object
	host     Host
	messages []Object
	tools    []Object

	// The calls of the assistant message that tool messages may now answer.
	caller   int
	asked    Set
	answered Set
	order    []string       // as asked
	open     map[string]int // how many calls of an id are unanswered
}

func (c *openaiCheck) checkFields() {
	if isEmpty(c.body["model"]) {
		c.Add("O01", "model", "you must provide a model parameter")
	}
	switch list, ok := c.body["messages"].([]any); {
	case !ok:
		c.Add("O01", "messages", paramMissing, "messages")
	case len(list) == 0:
		c.Add("O02", "messages", arrayEmpty, "messages")
	}
}

func (c *openaiCheck) checkMessages() {
	for i, m := range c.messages {
		role, p := TextOf(m["role"]), fmt.Sprintf("messages[%d]", i)
		if !openaiRoles[role] {
			c.Add("O04", p+".role", "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role)
			continue
		}
		if role == "tool" {
			c.checkAnswer(i, p, TextOf(m["tool_call_id"]))
		} else {
			c.checkUnanswered()
			c.order, c.open, c.asked, c.answered = nil, map[string]int{}, Set{}, Set{}
		}
		if m["tool_calls"] != nil {
			c.checkCalls(i, p, role, ListOf(m["tool_calls"]))
		}
		c.checkContent(p, role, m)
	}
	c.checkUnanswered()
}

func (c *openaiCheck) checkUnanswered() {
	var missing []string
	for _, id := range c.order {
		if c.open[id] > 0 {
			c.open[id]--
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		c.Add("O03", fmt.Sprintf("messages.[%d].role", c.caller), "%s", unansweredCall+strings.Join(missing, ", "))
	}
}

func (c *openaiCheck) checkAnswer(i int, path, id string) {
	switch {
	case id == "":
		c.Add("O05", path, "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.")
	case !c.asked[id]:
		c.Add("O06", fmt.Sprintf("messages.[%d].role", i), "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
	case c.answered[id]:
		c.Add("O07", path, duplicateID, id, i)
	}
	c.answered[id] = true
	c.open[id] = max(0, c.open[id]-1)
	if n := len([]rune(id)); n > maxID {
		c.Add("O08", path, stringTooLong, path+".tool_call_id", maxID, n)
	}
}

func (c *openaiCheck) checkCalls(i int, path, role string, calls []any) {
	if role != "assistant" {
		c.Add("O09", path, "'tool_calls' is only allowed on messages with role 'assistant'")
	}
	if len(calls) == 0 {
		c.Add("O10", path, arrayEmpty, path+".tool_calls")
	}
	c.caller = i
	ids := Set{}
	for k, v := range calls {
		call, p := ObjectOf(v), fmt.Sprintf("%s.tool_calls[%d]", path, k)
		id := TextOf(call["id"])
		if n := len([]rune(id)); n == 0 {
			c.Add("O11", p, paramMissing, p+".id")
		} else if n > maxID {
			c.Add("O08", path, stringTooLong, p+".id", maxID, n)
		}
		if ids[id] {
			c.Add("O07", path, duplicateID, id, i)
		}
		ids[id] = true
		if call["type"] != "function" {
			c.Add("O11", p, paramMissing, p+".type")
		}
		arguments, ok := ObjectOf(call["function"])["arguments"].(string)
		if !ok {
			c.Add("O12", p, "Invalid type for '%s.function.arguments': expected a string, but got an object instead.", p)
		} else if !json.Valid([]byte(arguments)) {
			c.Add("O13", p, "Invalid '%s.function.arguments': not valid JSON", p)
		}
		if id != "" {
			c.order, c.asked[id] = append(c.order, id), true
			c.open[id]++
		}
	}
}

func (c *openaiCheck) checkContent(path, role string, m Object) {
	said := role == "assistant" && (!isEmpty(m["tool_calls"]) || !isEmpty(m["refusal"]) || !isEmpty(m["audio"]) || !isEmpty(m["function_call"]))
	if m["content"] == nil && !said {
		c.Add("O14", path, "Invalid value for 'content': expected a string, got null.")
	}
	for _, part := range ObjectsOf(m["content"]) {
		if part["type"] == "image_url" && role != "user" {
			c.Add("O15", path, "Invalid '%s'. Image URLs are only allowed for messages with role 'user', but this message with role '%s' contains an image URL.", path, role)
		}
	}
}

func (c *openaiCheck) checkReasoning() {
	if c.host != Kimi && c.host != DeepSeek {
		return
	}
	for i, m := range c.messages {
		if m["role"] != "assistant" || isEmpty(m["tool_calls"]) || IsText(m["reasoning_content"]) {
			continue
		}
		p := fmt.Sprintf("messages[%d]", i)
		if c.host == Kimi {
			c.Add("O28", p, "thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", i)
		} else {
			c.Add("O28", p, "The `reasoning_content` in the thinking mode must be passed back to the API.")
		}
	}
}

func (c *openaiCheck) checkTools() {
	if list, ok := c.body["tools"].([]any); ok && len(list) == 0 {
		c.Add("O16", "tools", arrayEmpty, "tools")
	}
	if n := len(c.tools); n > maxTools {
		c.Add("O17", "tools", "Invalid 'tools': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", maxTools, n)
	}
	names := Set{}
	for n, t := range c.tools {
		p := fmt.Sprintf("tools[%d]", n)
		if t["type"] != "function" {
			c.Add("O18", p, paramMissing, p+".type")
			continue
		}
		f := ObjectOf(t["function"])
		name := TextOf(f["name"])
		c.checkName(p, name)
		if names[name] {
			c.Add("O20", p, "Invalid '%s.function.name': duplicate tool name", p)
		}
		names[name] = true
		c.checkSchema(p, name, f)
	}
}

func (c *openaiCheck) checkName(path, name string) {
	field := path + ".function.name"
	switch {
	case name == "":
		c.Add("O19", path, "Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", field)
	case !openaiName.MatchString(name):
		c.Add("O19", path, "Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", field)
	case len(name) > maxNameOpenAI:
		c.Add("O19", path, stringTooLong, field, maxNameOpenAI, len(name))
	}
}

func (c *openaiCheck) checkSchema(path, name string, f Object) {
	if f["parameters"] == nil {
		return
	}
	s := ObjectOf(f["parameters"])
	if s["type"] != "object" {
		kind := "None"
		if s["type"] != nil {
			kind = fmt.Sprint(s["type"])
		}
		c.Add("O21", path, `Invalid schema for function '%s': schema must be a JSON Schema of 'type: "object"', got 'type: "%s"'.`, name, kind)
	}
	if !BoolOf(f["strict"]) {
		return
	}
	if s["additionalProperties"] != false {
		c.Add("O22", path, strictSchema, name, "additionalProperties", "false")
		return
	}
	required := Set{}
	for _, k := range ListOf(s["required"]) {
		required[TextOf(k)] = true
	}
	if !slices.Equal(slices.Sorted(maps.Keys(ObjectOf(s["properties"]))), slices.Sorted(maps.Keys(required))) {
		c.Add("O22", path, strictSchema, name, "required", "an array including every key in properties")
	}
}

func (c *openaiCheck) checkOptions() {
	for _, k := range []string{"tool_choice", "parallel_tool_calls"} {
		if v, ok := c.body[k]; ok && len(c.tools) == 0 && v != "none" {
			c.Add("O23", k, "Invalid value for '%s': '%s' is only allowed when 'tools' are specified.", k, k)
		}
	}
	if c.body["stream_options"] != nil && !BoolOf(c.body["stream"]) {
		c.Add("O24", "stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	c.checkFormat()
	if ObjectOf(c.body["response_format"])["type"] == "json_object" && !mentionsJSON(c.body["messages"]) {
		c.Add("O27", "messages", "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
	}
}

func mentionsJSON(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(strings.ToLower(v), "json")
	case []any:
		return slices.ContainsFunc(v, mentionsJSON)
	case Object:
		for k, x := range v {
			if mentionsJSON(k) || mentionsJSON(x) {
				return true
			}
		}
	}
	return false
}

func (c *openaiCheck) checkModel() {
	_, old := c.body["max_tokens"]
	if _, both := c.body["max_completion_tokens"]; old && both {
		c.Add("O25", "max_tokens", "set only one of max_tokens and max_completion_tokens")
	}
	if c.host != OpenAI || !reasoningModel.MatchString(TextOf(c.body["model"])) {
		return
	}
	if old {
		c.Add("O25", "max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
	if t, ok := NumberOf(c.body["temperature"]); ok && t != 1 {
		c.Add("O26", "temperature", "Unsupported value: 'temperature' does not support %v with this model. Only the default (1) value is supported.", c.body["temperature"])
	}
}
