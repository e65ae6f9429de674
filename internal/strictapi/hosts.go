package strictapi

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Hosts with rules of their own beside those of Compatible. Their sources are reports of
// the hosts' answers, named at the rules.
const (
	Mistral  Host = "mistral"
	Gemini   Host = "gemini"
	GLM      Host = "glm"
	Groq     Host = "groq"
	XAI      Host = "xai"
	Ollama   Host = "ollama"
	LlamaCpp Host = "llamacpp"
	VLLM     Host = "vllm"
	LMStudio Host = "lmstudio"
)

// hostRules are the rules that are not those of every host.
type hostRules struct {
	efforts  map[string]string // by pattern of the model: what reasoning_effort may be, "" nothing
	refused  []string          // members of the body
	messages []string          // members of messages
	plain    bool              // no forced call while it thinks
	noImages bool
	noGIF    bool
	noNamed  bool // tool_choice is a word
	hottest  float64
}

var ofHosts = map[Host]hostRules{
	OpenAI: {efforts: map[string]string{
		"gpt-5-chat*": "", "gpt-5.1*": "none low medium high", "gpt-5.[2-9]*": "none low medium high xhigh", "gpt-5": "minimal low medium high",
		"gpt-5-mini": "minimal low medium high", "gpt-5-nano": "minimal low medium high", "o[0-9]*": "low medium high", "gpt-4*": "",
	}},
	Kimi:     {efforts: map[string]string{"kimi-k[3-9]*": "low high max", "kimi-k2*": ""}, plain: true, hottest: 1},
	DeepSeek: {plain: true, noImages: true},
	Mistral: {refused: []string{"stream_options", "max_completion_tokens", "reasoning", "thinking", "usage", "chat_template_kwargs"},
		messages: []string{"reasoning_content", "reasoning", "reasoning_details"}, efforts: map[string]string{"mistral-small*": "none high", "*": ""}, hottest: 1.5},
	Gemini: {refused: []string{"reasoning", "thinking", "usage", "chat_template_kwargs"}, efforts: map[string]string{
		"gemini-2.5-flash*": "none minimal low medium high", "gemini-2.5-pro*": "minimal low medium high", "gemini-3*": "minimal low medium high", "gemini-2.0*": ""}},
	Groq:     {efforts: map[string]string{"gpt-oss*": "low medium high", "qwen3*": "none default", "llama*": ""}, refused: []string{"thinking", "reasoning", "chat_template_kwargs"}},
	XAI:      {efforts: map[string]string{"grok-3-mini*": "low high", "grok-4": "", "grok-4.3*": "none low medium high"}, refused: []string{"stop"}},
	Ollama:   {efforts: map[string]string{"*": "none low medium high"}, noGIF: true},
	VLLM:     {efforts: map[string]string{"*": "low medium high"}},
	LlamaCpp: {noNamed: true},
	LMStudio: {noNamed: true},
}

var (
	mistralID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	// googleKeys are the members that a schema may have at Gemini.
	googleKeys = SetOf("type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required", "minProperties",
		"maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering", "default", "items", "minimum", "maximum")
)

// checkHost checks the rules that only some hosts have.
func (c *openaiCheck) checkHost() {
	r := ofHosts[c.host]
	c.checkHostMembers(r)
	c.checkHostThinking(r)
	for i, m := range c.messages {
		c.checkHostMessage(r, i, m)
	}
	switch c.host {
	case Mistral:
		c.checkMistral()
	case Gemini:
		c.checkGemini()
	}
}

func (c *openaiCheck) checkHostMembers(r hostRules) {
	for _, k := range r.refused {
		if _, ok := c.body[k]; ok {
			// Mistral's words: charmbracelet/crush#1590; Gemini's: MinLL/SkyrimNet-GamePlugin#77; xAI's: docs.x.ai/docs/guides/reasoning.
			c.Add("O40", k, "Extra inputs are not permitted: %s", k)
		}
	}
	if t, ok := NumberOf(c.body["temperature"]); ok && r.hottest > 0 && t > r.hottest {
		c.Add("O41", "temperature", "temperature: Input should be less than or equal to %v", r.hottest)
	}
	if c.host == Kimi && c.modelIs("kimi-k*") && c.body["temperature"] != nil && c.body["temperature"] != "1" {
		c.Add("O41", "temperature", "invalid temperature: only 1 is allowed for this model")
	}
	if r.noNamed && isObject(c.body["tool_choice"]) {
		c.Add("O42", "tool_choice", "Invalid tool_choice type: 'object'. Supported string values: none, auto, required")
	}
}

func (c *openaiCheck) modelIs(pattern string) bool {
	name := strings.ToLower(TextOf(c.body["model"]))
	ok, err := path.Match(pattern, name[strings.LastIndexByte(name, '/')+1:])
	return ok && err == nil
}

func (c *openaiCheck) checkHostThinking(r hostRules) {
	effort, sent := c.body["reasoning_effort"].(string)
	if sent {
		// The longest pattern that fits counts: it says the most.
		best, allowed := "", ""
		for pattern, words := range r.efforts {
			if c.modelIs(pattern) && len(pattern) > len(best) {
				best, allowed = pattern, words
			}
		}
		if best != "" && !slices.Contains(strings.Fields(allowed), effort) {
			c.Add("O43", "reasoning_effort", "Unsupported value: '%s' is not supported with the '%s' model. Supported values are: %s.", effort, TextOf(c.body["model"]), allowed)
		}
	}
	// openai/openai-openapi#541, BerriAI/litellm#34569
	if c.host == OpenAI && len(c.tools) > 0 && (c.modelIs("gpt-5.[4-9]*") || c.modelIs("gpt-[6-9]*")) && effort != "none" {
		c.Add("O44", "reasoning_effort", "Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.", TextOf(c.body["model"]))
	}
	// deepseek-ai/DeepSeek-V3#1376: it thinks unless told not to.
	choice := c.body["tool_choice"]
	if forced := isObject(choice) || choice == "required"; r.plain && forced && ObjectOf(c.body["thinking"])["type"] != "disabled" {
		c.Add("O45", "tool_choice", "Thinking mode does not support this tool_choice")
	}
}

func (c *openaiCheck) checkHostMessage(r hostRules, i int, m Object) {
	p := fmt.Sprintf("messages[%d]", i)
	for _, k := range r.messages {
		if _, ok := m[k]; ok {
			c.Add("O40", p, "Extra inputs are not permitted: %s.%s", p, k)
		}
	}
	for _, part := range ObjectsOf(m["content"]) {
		if part["type"] != "image_url" {
			continue
		}
		url := TextOf(ObjectOf(part["image_url"])["url"])
		switch {
		case r.noImages:
			c.Add("O46", p, "Failed to deserialize the JSON body into the target type: %s: unknown variant `image_url`, expected `text`", p)
		case r.noGIF && strings.HasPrefix(url, "data:image/gif"): // github.com/ollama/ollama, openai/openai.go
			c.Add("O46", p, "invalid image input")
		}
	}
}

// checkMistral checks the rules of mistral-common's validator.
func (c *openaiCheck) checkMistral() {
	before := ""
	for i, m := range c.messages {
		p, role := fmt.Sprintf("messages[%d]", i), TextOf(m["role"])
		ids := []string{TextOf(m["tool_call_id"])}
		for _, call := range ObjectsOf(m["tool_calls"]) {
			ids = append(ids, TextOf(call["id"]))
		}
		for _, id := range ids {
			if id != "" && !mistralID.MatchString(id) {
				c.Add("O47", p, "Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", id)
			}
		}
		if before == "tool" && role == "user" {
			c.Add("O48", p, "Unexpected role 'user' after role 'tool'")
		}
		before = role
	}
	if before != "user" && before != "tool" {
		c.Add("O48", "messages", "Expected last role User or Tool (or Assistant with prefix True) for serving but got %s", before)
	}
}

// checkGemini checks schemas, and the signatures that Gemini 3 wants on the first
// call of each turn (https://ai.google.dev/gemini-api/docs/thought-signatures).
func (c *openaiCheck) checkGemini() {
	for n, t := range c.tools {
		if s, ok := ObjectOf(t["function"])["parameters"].(Object); ok {
			c.checkGoogleSchema(fmt.Sprintf("tools[0].function_declarations[%d].parameters", n), s, true)
		}
	}
	if !c.modelIs("gemini-[3-9]*") {
		return
	}
	for i, m := range c.messages {
		calls := ObjectsOf(m["tool_calls"])
		if len(calls) == 0 {
			continue
		}
		if TextOf(ObjectOf(ObjectOf(calls[0]["extra_content"])["google"])["thought_signature"]) == "" {
			c.Add("O50", fmt.Sprintf("messages[%d]", i), "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance.")
		}
	}
}

func (c *openaiCheck) checkGoogleSchema(path string, s Object, root bool) {
	for k := range s {
		if !googleKeys[k] {
			c.Add("O49", path, "Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", k, path)
		}
	}
	ps := ObjectOf(s["properties"])
	if root && len(ps) == 0 {
		c.Add("O49", path, "%s.properties: should be non-empty for OBJECT type", path)
	}
	for name, v := range ps {
		c.checkGoogleSchema(path+".properties."+name, ObjectOf(v), false)
	}
	for _, name := range ListOf(s["required"]) {
		if ps[TextOf(name)] == nil {
			c.Add("O49", path, "%s.required: property is not defined", path)
		}
	}
	for _, v := range ListOf(s["enum"]) {
		if !IsText(v) {
			c.Add("O49", path, "%s.enum: only allowed for STRING type", path)
		}
	}
	switch t := s["type"].(type) {
	case []any:
		c.Add("O49", path, "Proto field is not repeating, cannot start list: %s.type", path)
	case string:
		if t == "array" && !isObject(s["items"]) {
			c.Add("O49", path, "%s.items: missing field.", path)
		}
	}
	if items, ok := s["items"].(Object); ok {
		c.checkGoogleSchema(path+".items", items, false)
	}
	for _, v := range ListOf(s["anyOf"]) {
		c.checkGoogleSchema(path+".anyOf", ObjectOf(v), false)
	}
}
