package llmtest

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
	openaiRoles    = setOf("system", "developer", "user", "assistant", "tool", "function")
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
	v, err := parse(body)
	if err != nil {
		return []Violation{{Rule: "O00", Message: "We could not parse the JSON body of your request: " + err.Error()}}
	}
	return checkOpenAI(v, host)
}

func checkOpenAI(v any, host Host) []Violation {
	body, ok := v.(object)
	if !ok {
		return []Violation{{Rule: "O01", Message: "The JSON body of your request is not an object"}}
	}
	c := &openaiCheck{
		body: body, host: host, messages: objectsOf(body["messages"]), tools: objectsOf(body["tools"]),
		asked: set{}, answered: set{}, open: map[string]int{},
	}
	for _, check := range []func(){
		c.checkFields, c.checkMessages, c.checkReasoning, c.checkTools, c.checkOptions, c.checkModel, c.checkHost,
	} {
		check()
	}
	return c.found
}

// openaiCheck is one request under examination.
type openaiCheck struct {
	report
	body     object
	host     Host
	messages []object
	tools    []object

	// The calls of the assistant message that tool messages may now answer.
	caller   int
	asked    set
	answered set
	order    []string       // as asked
	open     map[string]int // how many calls of an id are unanswered
}

func (c *openaiCheck) checkFields() {
	if isEmpty(c.body["model"]) {
		c.add("O01", "model", "you must provide a model parameter")
	}
	switch list, ok := c.body["messages"].([]any); {
	case !ok:
		c.add("O01", "messages", paramMissing, "messages")
	case len(list) == 0:
		c.add("O02", "messages", arrayEmpty, "messages")
	}
}

func (c *openaiCheck) checkMessages() {
	for i, m := range c.messages {
		role, p := textOf(m["role"]), fmt.Sprintf("messages[%d]", i)
		if !openaiRoles[role] {
			c.add("O04", p+".role", "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role)
			continue
		}
		if role == "tool" {
			c.checkAnswer(i, p, textOf(m["tool_call_id"]))
		} else {
			c.checkUnanswered()
			c.order, c.open, c.asked, c.answered = nil, map[string]int{}, set{}, set{}
		}
		if m["tool_calls"] != nil {
			c.checkCalls(i, p, role, listOf(m["tool_calls"]))
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
		c.add("O03", fmt.Sprintf("messages.[%d].role", c.caller), "%s", unansweredCall+strings.Join(missing, ", "))
	}
}

func (c *openaiCheck) checkAnswer(i int, path, id string) {
	switch {
	case id == "":
		c.add("O05", path, "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.")
	case !c.asked[id]:
		c.add("O06", fmt.Sprintf("messages.[%d].role", i), "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
	case c.answered[id]:
		c.add("O07", path, duplicateID, id, i)
	}
	c.answered[id] = true
	c.open[id] = max(0, c.open[id]-1)
	if n := len([]rune(id)); n > maxID {
		c.add("O08", path, stringTooLong, path+".tool_call_id", maxID, n)
	}
}

func (c *openaiCheck) checkCalls(i int, path, role string, calls []any) {
	if role != "assistant" {
		c.add("O09", path, "'tool_calls' is only allowed on messages with role 'assistant'")
	}
	if len(calls) == 0 {
		c.add("O10", path, arrayEmpty, path+".tool_calls")
	}
	c.caller = i
	ids := set{}
	for k, v := range calls {
		call, p := objectOf(v), fmt.Sprintf("%s.tool_calls[%d]", path, k)
		id := textOf(call["id"])
		if n := len([]rune(id)); n == 0 {
			c.add("O11", p, paramMissing, p+".id")
		} else if n > maxID {
			c.add("O08", path, stringTooLong, p+".id", maxID, n)
		}
		if ids[id] {
			c.add("O07", path, duplicateID, id, i)
		}
		ids[id] = true
		if call["type"] != "function" {
			c.add("O11", p, paramMissing, p+".type")
		}
		arguments, ok := objectOf(call["function"])["arguments"].(string)
		if !ok {
			c.add("O12", p, "Invalid type for '%s.function.arguments': expected a string, but got an object instead.", p)
		} else if !json.Valid([]byte(arguments)) {
			c.add("O13", p, "Invalid '%s.function.arguments': not valid JSON", p)
		}
		if id != "" {
			c.order, c.asked[id] = append(c.order, id), true
			c.open[id]++
		}
	}
}

func (c *openaiCheck) checkContent(path, role string, m object) {
	said := role == "assistant" && (!isEmpty(m["tool_calls"]) || !isEmpty(m["refusal"]) || !isEmpty(m["audio"]) || !isEmpty(m["function_call"]))
	if m["content"] == nil && !said {
		c.add("O14", path, "Invalid value for 'content': expected a string, got null.")
	}
	for _, part := range objectsOf(m["content"]) {
		if part["type"] == "image_url" && role != "user" {
			c.add("O15", path, "Invalid '%s'. Image URLs are only allowed for messages with role 'user', but this message with role '%s' contains an image URL.", path, role)
		}
	}
}

func (c *openaiCheck) checkReasoning() {
	if c.host != Kimi && c.host != DeepSeek {
		return
	}
	for i, m := range c.messages {
		if m["role"] != "assistant" || isEmpty(m["tool_calls"]) || isText(m["reasoning_content"]) {
			continue
		}
		p := fmt.Sprintf("messages[%d]", i)
		if c.host == Kimi {
			c.add("O28", p, "thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", i)
		} else {
			c.add("O28", p, "The `reasoning_content` in the thinking mode must be passed back to the API.")
		}
	}
}

func (c *openaiCheck) checkTools() {
	if list, ok := c.body["tools"].([]any); ok && len(list) == 0 {
		c.add("O16", "tools", arrayEmpty, "tools")
	}
	if n := len(c.tools); n > maxTools {
		c.add("O17", "tools", "Invalid 'tools': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", maxTools, n)
	}
	names := set{}
	for n, t := range c.tools {
		p := fmt.Sprintf("tools[%d]", n)
		if t["type"] != "function" {
			c.add("O18", p, paramMissing, p+".type")
			continue
		}
		f := objectOf(t["function"])
		name := textOf(f["name"])
		c.checkName(p, name)
		if names[name] {
			c.add("O20", p, "Invalid '%s.function.name': duplicate tool name", p)
		}
		names[name] = true
		c.checkSchema(p, name, f)
	}
}

func (c *openaiCheck) checkName(path, name string) {
	field := path + ".function.name"
	switch {
	case name == "":
		c.add("O19", path, "Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", field)
	case !openaiName.MatchString(name):
		c.add("O19", path, "Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", field)
	case len(name) > maxNameOpenAI:
		c.add("O19", path, stringTooLong, field, maxNameOpenAI, len(name))
	}
}

func (c *openaiCheck) checkSchema(path, name string, f object) {
	if f["parameters"] == nil {
		return
	}
	s := objectOf(f["parameters"])
	if s["type"] != "object" {
		kind := "None"
		if s["type"] != nil {
			kind = fmt.Sprint(s["type"])
		}
		c.add("O21", path, `Invalid schema for function '%s': schema must be a JSON Schema of 'type: "object"', got 'type: "%s"'.`, name, kind)
	}
	if !boolOf(f["strict"]) {
		return
	}
	if s["additionalProperties"] != false {
		c.add("O22", path, strictSchema, name, "additionalProperties", "false")
		return
	}
	required := set{}
	for _, k := range listOf(s["required"]) {
		required[textOf(k)] = true
	}
	if !slices.Equal(slices.Sorted(maps.Keys(objectOf(s["properties"]))), slices.Sorted(maps.Keys(required))) {
		c.add("O22", path, strictSchema, name, "required", "an array including every key in properties")
	}
}

func (c *openaiCheck) checkOptions() {
	for _, k := range []string{"tool_choice", "parallel_tool_calls"} {
		if v, ok := c.body[k]; ok && len(c.tools) == 0 && v != "none" {
			c.add("O23", k, "Invalid value for '%s': '%s' is only allowed when 'tools' are specified.", k, k)
		}
	}
	if c.body["stream_options"] != nil && !boolOf(c.body["stream"]) {
		c.add("O24", "stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	c.checkFormat()
	if objectOf(c.body["response_format"])["type"] == "json_object" && !mentionsJSON(c.body["messages"]) {
		c.add("O27", "messages", "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
	}
}

func mentionsJSON(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(strings.ToLower(v), "json")
	case []any:
		return slices.ContainsFunc(v, mentionsJSON)
	case object:
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
		c.add("O25", "max_tokens", "set only one of max_tokens and max_completion_tokens")
	}
	if c.host != OpenAI || !reasoningModel.MatchString(textOf(c.body["model"])) {
		return
	}
	if old {
		c.add("O25", "max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
	if t, ok := numberOf(c.body["temperature"]); ok && t != 1 {
		c.add("O26", "temperature", "Unsupported value: 'temperature' does not support %v with this model. Only the default (1) value is supported.", c.body["temperature"])
	}
}
