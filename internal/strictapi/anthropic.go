package strictapi

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	anthropicName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	anthropicID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	serverTool    = regexp.MustCompile(`^((web_search|web_fetch|code_execution|computer|bash|text_editor|memory|tool_search\w*|advisor|mcp\w*)_\d{8}|mcp_toolset)$`)
)

// Fields that the Messages API knows, per object. Blocks of server tools are
// the provider's own and not judged.
var (
	anthropicFields = SetOf("model", "max_tokens", "messages", "system", "temperature", "top_k", "top_p", "tools", "tool_choice",
		"thinking", "stream", "stop_sequences", "metadata", "service_tier", "container", "context_management", "output_config",
		"mcp_servers", "cache_control", "inference_geo", "speed", "diagnostics", "user_profile_id",
		"anthropic_version", "anthropic_beta")
	messageFields = SetOf("role", "content")
	sourceFields  = SetOf("type", "media_type", "data", "url", "file_id", "content")
	toolFields    = SetOf("type", "name", "description", "input_schema", "cache_control", "strict", "defer_loading",
		"allowed_callers", "input_examples", "eager_input_streaming")
	blockFields = map[string]Set{
		"text":              SetOf("type", "text", "cache_control", "citations"),
		"image":             SetOf("type", "source", "cache_control"),
		"document":          SetOf("type", "source", "title", "context", "citations", "cache_control"),
		"search_result":     SetOf("type", "source", "title", "content", "citations", "cache_control"),
		"container_upload":  SetOf("type", "file_id", "cache_control"),
		"tool_reference":    SetOf("type", "tool_name", "cache_control"),
		"tool_use":          SetOf("type", "id", "name", "input", "cache_control", "caller"),
		"tool_result":       SetOf("type", "tool_use_id", "content", "is_error", "cache_control"),
		"thinking":          SetOf("type", "thinking", "signature", "cache_control"), // A39 refuses the last
		"redacted_thinking": SetOf("type", "data", "cache_control"),
	}
)

// CheckAnthropic returns the rules of the Anthropic Messages API that a request
// body breaks, the first one first. It knows no state: A30 and A32 are judged
// for thinking that a [Server] signed, A52 and A53 by a Server that has limits.
func CheckAnthropic(body []byte) []Violation {
	v, err := Parse(body)
	if err != nil {
		return []Violation{{Rule: "A00", Message: "The request body is not valid JSON: " + err.Error()}}
	}
	return AnthropicValue(v)
}

func AnthropicValue(v any) []Violation {
	body, ok := v.(Object)
	if !ok {
		return []Violation{{Rule: "A01", Message: "Input should be a valid dictionary"}}
	}
	c := &anthropicCheck{
		body: body, tools: ObjectsOf(body["tools"]), messages: ObjectsOf(body["messages"]),
		thinking: ObjectOf(body["thinking"]), choice: ObjectOf(body["tool_choice"]), ability: AbilityOf(TextOf(body["model"])),
		uses: Set{},
	}
	c.thinks = c.thinking["type"] == "enabled" || c.thinking["type"] == "adaptive"
	c.forced = c.choice["type"] == "any" || c.choice["type"] == "tool"
	c.turns = mergeTurns(c.messages)
	for _, check := range []func(){
		c.checkFields, c.checkRoles, c.checkContent, c.checkPairs, c.checkServerTools, c.checkEnd, c.checkThinking, c.checkLoop,
		c.checkSignatures, c.checkModel, c.checkTools, c.checkSystem, c.checkCache, c.checkImages, c.checkScalars, c.checkFormat,
	} {
		check()
	}
	return c.Found
}

// anthropicCheck is one request under examination.
type anthropicCheck struct {
	Report
	body     Object
	messages []Object
	turns    []turn
	tools    []Object
	choice   Object
	thinking Object
	ability  Ability
	thinks   bool // thinking is enabled or adaptive
	forced   bool // tool_choice forces a call
	uses     Set  // ids of tool_use blocks seen
	images   []placed
	cached   []placed
}

// placed is a block and where it stands.
type placed struct {
	message, index int
	path           string
	block          Object
}

// A turn is a run of messages of one role, which the API reads as one.
type turn struct {
	role   string
	blocks []placed
}

func mergeTurns(messages []Object) []turn {
	var turns []turn
	for i, m := range messages {
		role := TextOf(m["role"])
		if len(turns) == 0 || turns[len(turns)-1].role != role {
			turns = append(turns, turn{role: role})
		}
		t := &turns[len(turns)-1]
		for j, b := range BlocksOf(m["content"]) {
			t.blocks = append(t.blocks, placed{i, j, blockPath(i, j), b})
		}
	}
	return turns
}

func (t turn) has(kind string) bool {
	return slices.ContainsFunc(t.blocks, func(p placed) bool { return p.block["type"] == kind })
}

// BlocksOf reads content, which is a string or a list of blocks.
func BlocksOf(content any) []Object {
	if s, ok := content.(string); ok {
		return []Object{{"type": "text", "text": s}}
	}
	return ObjectsOf(content)
}

func blockPath(message, block int) string {
	return fmt.Sprintf("messages.%d.content.%d", message, block)
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

func (c *anthropicCheck) checkFields() {
	_, cloud := c.body["anthropic_version"]
	for _, f := range []string{"model", "max_tokens", "messages"} {
		if _, ok := c.body[f]; !ok && (f != "model" || !cloud) {
			c.Add("A01", f, "%s: Field required", f)
		}
	}
	c.checkKnown("", c.body, anthropicFields)
	m, ok := c.body["messages"]
	if _, list := m.([]any); ok && m != nil && !list {
		c.Add("A01", "messages", "messages: Input should be a valid list")
	} else if ok && len(c.messages) == 0 {
		c.Add("A03", "messages", "messages: at least one message is required")
	}
}

func (c *anthropicCheck) checkKnown(path string, o Object, known Set) {
	for _, k := range slices.Sorted(maps.Keys(o)) {
		if !known[k] {
			p := strings.TrimPrefix(path+"."+k, ".")
			c.Add("A02", p, "%s: Extra inputs are not permitted", p)
		}
	}
}

func (c *anthropicCheck) checkRoles() {
	for i, m := range c.messages {
		p := fmt.Sprintf("messages.%d", i)
		switch m["role"] {
		case "user", "assistant":
		case "system":
			c.Add("A04", p, `messages: Unexpected role "system". The Messages API accepts a top-level `+"`system`"+` parameter, not "system" as an input message role.`)
		default:
			c.Add("A04", p+".role", "%s.role: Input should be 'user' or 'assistant'", p)
		}
		c.checkKnown(p, m, messageFields)
	}
	if len(c.messages) > 0 && c.messages[0]["role"] == "assistant" {
		c.Add("A05", "messages.0", `messages: first message must use the "user" role`)
	}
	for i := 1; i < len(c.messages); i++ {
		role := TextOf(c.messages[i]["role"])
		if role == TextOf(c.messages[i-1]["role"]) && (role == "user" || role == "assistant") {
			c.Add("A06", fmt.Sprintf("messages.%d", i), `messages: roles must alternate between "user" and "assistant", but found multiple "%s" roles in a row`, role)
		}
	}
}

func (c *anthropicCheck) checkContent() {
	for i, m := range c.messages {
		p := fmt.Sprintf("messages.%d", i)
		final := i == len(c.messages)-1 && m["role"] == "assistant"
		switch content := m["content"].(type) {
		case []any:
			if len(content) == 0 && !final {
				c.addEmpty(p)
			}
			for j, v := range content {
				c.checkBlock(m["role"], placed{i, j, blockPath(i, j), ObjectOf(v)})
			}
		case string:
			switch {
			case final:
			case content == "":
				c.addEmpty(p)
			case isBlank(content):
				c.Add("A09", p, "messages: text content blocks must contain non-whitespace text")
			}
		case nil:
			if !final {
				c.addEmpty(p)
			}
		default:
			c.Add("A07", p+".content", "%s.content: Input should be a valid list", p)
		}
	}
}

func (c *anthropicCheck) addEmpty(path string) {
	c.Add("A07", path, "%s: all messages must have non-empty content except for the optional final assistant message", path)
}

func (c *anthropicCheck) checkBlock(role any, p placed) {
	kind := TextOf(p.block["type"])
	if !isEmpty(p.block["cache_control"]) {
		c.cached = append(c.cached, p)
		if isThinking(kind) {
			c.Add("A39", p.path, "%s.%s.cache_control: Extra inputs are not permitted", p.path, kind)
		}
	}
	c.checkShape(p.path, p.block)
	switch kind {
	case "text":
		c.checkText(p.path, "messages", p.block)
	case "image":
		c.images = append(c.images, p)
	case "tool_use":
		c.checkUse(role, p)
	case "tool_result":
		c.checkResult(role, p)
	case "thinking":
		if isEmpty(p.block["signature"]) {
			c.Add("A31", p.path, "%s.thinking.signature: Field required", p.path)
		}
	}
}

// checkShape judges type and fields of a block.
func (c *anthropicCheck) checkShape(path string, block Object) {
	kind := TextOf(block["type"])
	known, ok := blockFields[kind]
	switch {
	case ok:
		c.checkKnown(path+"."+kind, block, known)
	case kind == "server_tool_use" || kind == "mcp_tool_use" || strings.HasSuffix(kind, "_tool_result"):
	default:
		c.Add("A02", path, "%s: Input tag '%s' found using 'type' does not match any of the expected tags", path, kind)
	}
	if source := ObjectOf(block["source"]); source != nil {
		c.checkKnown(path+"."+kind+".source", source, sourceFields)
	}
}

func (c *anthropicCheck) checkText(path, where string, block Object) {
	text, ok := block["text"].(string)
	switch {
	case !ok:
		c.Add("A07", path, "%s.text: Field required", path)
	case text == "" && !isEmpty(block["cache_control"]):
		c.Add("A38", path, "%s.text: cache_control cannot be set for empty text blocks", path)
	case text == "":
		c.Add("A08", path, "%s: text content blocks must be non-empty", where)
	case isBlank(text):
		c.Add("A09", path, "%s: text content blocks must contain non-whitespace text", where)
	}
}

// checkEnd judges a conversation that ends with the assistant.
func (c *anthropicCheck) checkEnd() {
	if len(c.turns) == 0 {
		return
	}
	t := c.turns[len(c.turns)-1]
	if t.role != "assistant" || len(t.blocks) == 0 {
		return
	}
	last := t.blocks[len(t.blocks)-1].block
	if last["type"] != "text" {
		return
	}
	if text := TextOf(last["text"]); text != strings.TrimRightFunc(text, unicode.IsSpace) {
		c.Add("A22", "messages", "messages: final assistant content cannot end with trailing whitespace")
	}
	if c.ability.NoPrefill || c.thinks {
		c.Add("A23", "messages", "This model does not support assistant message prefill. The conversation must end with a user message.")
	}
}

func (c *anthropicCheck) checkSystem() {
	for n, b := range ObjectsOf(c.body["system"]) {
		p := fmt.Sprintf("system.%d", n)
		c.checkShape(p, b)
		c.checkText(p, "system", b)
		if !isEmpty(b["cache_control"]) {
			c.cached = append(c.cached, placed{-1, n, p, b})
		}
	}
}

// checkCache judges the breakpoints in the order tools, system, messages,
// which the negative message numbers of the former two give.
func (c *anthropicCheck) checkCache() {
	if len(c.cached) > 4 {
		c.Add("A37", "cache_control", "A maximum of 4 blocks with cache_control may be provided. Found %d.", len(c.cached))
	}
	slices.SortStableFunc(c.cached, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.message, b.message), cmp.Compare(a.index, b.index))
	})
	short := false
	for _, p := range c.cached {
		ttl, ok := ObjectOf(p.block["cache_control"])["ttl"]
		if ttl == "1h" && short {
			c.Add("A45", p.path, "%s.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.", p.path)
		}
		short = short || !ok || ttl == "5m"
	}
}

func (c *anthropicCheck) checkScalars() {
	if v := c.body["max_tokens"]; v != nil {
		if n, ok := IntegerOf(v); !ok || n < 0 {
			c.Add("A49", "max_tokens", "max_tokens: Input should be greater than or equal to 1")
		}
	}
	for _, s := range ListOf(c.body["stop_sequences"]) {
		if isBlank(TextOf(s)) {
			c.Add("A50", "stop_sequences", "stop_sequences: each stop sequence must contain non-whitespace")
		}
	}
	if v := c.body["temperature"]; v != nil {
		if t, ok := NumberOf(v); !ok || t < 0 || t > 1 {
			c.Add("A51", "temperature", "temperature: range: 0..1")
		}
	}
}
