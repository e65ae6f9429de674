package strictapi

import (
	"fmt"
	"slices"
	"strings"
)

func (c *anthropicCheck) checkUse(role any, p placed) {
	id := TextOf(p.block["id"])
	if role != "assistant" {
		c.Add("A10", p.path, "messages.%d: `tool_use` blocks can only be in `assistant` messages", p.message)
	}
	if !anthropicID.MatchString(id) {
		c.Add("A11", p.path, "%s.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", p.path)
	}
	if !anthropicName.MatchString(TextOf(p.block["name"])) {
		c.Add("A12", p.path, "%s.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", p.path)
	}
	if !isObject(p.block["input"]) {
		c.Add("A13", p.path, "%s.tool_use.input: Input should be a valid dictionary", p.path)
	}
	if c.uses[id] {
		c.Add("A14", p.path, "%s: `tool_use` ids must be unique", p.path)
	}
	c.uses[id] = true
}

func (c *anthropicCheck) checkResult(role any, p placed) {
	if role != "user" {
		c.Add("A10", p.path, "messages.%d: `tool_result` blocks can only be in `user` messages", p.message)
	}
	content := p.block["content"]
	if BoolOf(p.block["is_error"]) && saysNothing(content) {
		c.Add("A18", p.path, "%s.tool_result: content cannot be empty if `is_error` is true", p.path)
		return
	}
	for k, b := range ObjectsOf(content) {
		path := fmt.Sprintf("%s.tool_result.content.%d", p.path, k)
		c.checkShape(path, b)
		switch b["type"] {
		case "text":
			c.checkText(path, "messages", b)
		case "image":
			c.images = append(c.images, placed{p.message, p.index, path, b})
		}
	}
}

func saysNothing(content any) bool {
	if isEmpty(content) {
		return true
	}
	list, ok := content.([]any)
	return ok && !slices.ContainsFunc(list, func(v any) bool {
		b := ObjectOf(v)
		return b["type"] != "text" || TextOf(b["text"]) != ""
	})
}

const unansweredText = "messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message."

func (c *anthropicCheck) checkPairs() {
	blocks := false
	for n, t := range c.turns {
		blocks = blocks || t.has("tool_use") || t.has("tool_result")
		switch t.role {
		case "assistant":
			c.checkAnswers(t, c.turnAfter(n))
		case "user":
			asked := Set{}
			if n > 0 {
				for _, id := range useIDs(c.turns[n-1]) {
					asked[id] = true
				}
			}
			for _, p := range t.blocks {
				if id := TextOf(p.block["tool_use_id"]); p.block["type"] == "tool_result" && !asked[id] {
					c.Add("A19", p.path, "%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", p.path, id)
				}
			}
		}
	}
	if blocks && len(c.tools) == 0 {
		c.Add("A21", "tools", "Requests which include `tool_use` or `tool_result` blocks must define tools.")
	}
}

// turnAfter returns the user turn after turn n, a turn without blocks if none.
func (c *anthropicCheck) turnAfter(n int) turn {
	if n+1 < len(c.turns) && c.turns[n+1].role == "user" {
		return c.turns[n+1]
	}
	return turn{}
}

func useIDs(t turn) []string {
	var ids []string
	for _, p := range t.blocks {
		if p.block["type"] == "tool_use" {
			ids = append(ids, TextOf(p.block["id"]))
		}
	}
	return ids
}

// checkAnswers judges whether the turn next answers every call of turn t, once and first of all.
func (c *anthropicCheck) checkAnswers(t, next turn) {
	ids := useIDs(t)
	if len(ids) == 0 {
		return
	}
	answered, other := Set{}, false
	for _, p := range next.blocks {
		if p.block["type"] != "tool_result" {
			other = true
			continue
		}
		id := TextOf(p.block["tool_use_id"])
		if other {
			c.Add("A16", p.path, unansweredText, t.blocks[0].message, id)
		}
		if answered[id] {
			c.Add("A17", p.path, "%s: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", p.path, id)
		}
		answered[id] = true
	}
	missing := slices.DeleteFunc(ids, func(id string) bool { return answered[id] })
	if len(missing) > 0 {
		first := t.blocks[0].message
		c.Add("A15", fmt.Sprintf("messages.%d", first), unansweredText, first, strings.Join(missing, ", "))
	}
}

func (c *anthropicCheck) checkServerTools() {
	for n, t := range c.turns {
		if t.role != "assistant" || n+1 == len(c.turns) {
			continue
		}
		results := Set{}
		for _, p := range t.blocks {
			if strings.HasSuffix(TextOf(p.block["type"]), "_tool_result") {
				results[TextOf(p.block["tool_use_id"])] = true
			}
		}
		for _, p := range t.blocks {
			if id := TextOf(p.block["id"]); p.block["type"] == "server_tool_use" && !results[id] {
				first, name := t.blocks[0].message, TextOf(p.block["name"])
				c.Add("A20", fmt.Sprintf("messages.%d", first), "messages.%d: `%s` tool use with id `%s` was found without a corresponding `%s_tool_result` block", first, name, id, name)
			}
		}
	}
}

func (c *anthropicCheck) checkTools() {
	names := Set{}
	for n, t := range c.tools {
		p, kind, name := fmt.Sprintf("tools.%d", n), TextOf(t["type"]), TextOf(t["name"])
		custom := t["type"] == nil || kind == "custom"
		label := kind
		if custom {
			label = "custom"
		}
		if !anthropicName.MatchString(name) && !strings.HasPrefix(kind, "mcp") {
			c.Add("A40", p, "%s.%s.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", p, label)
		}
		if names[name] {
			c.Add("A41", "tools", "tools: Tool names must be unique.")
		}
		names[name] = true
		if custom {
			c.checkSchema(p+".custom.input_schema", p, t["input_schema"])
			c.checkKnown(p+".custom", t, toolFields)
		} else if !serverTool.MatchString(kind) {
			c.Add("A43", p, "%s: Input tag '%s' found using 'type' does not match any of the expected tags", p, kind)
		}
		if !isEmpty(t["cache_control"]) {
			c.cached = append(c.cached, placed{-2, n, p, t})
		}
	}
	if name := TextOf(c.choice["name"]); c.choice["type"] == "tool" && !names[name] {
		c.Add("A44", "tool_choice", "Tool '%s' not found in provided tools", name)
	}
	if len(c.choice) > 0 && len(c.tools) == 0 {
		c.Add("A44", "tool_choice", "tool_choice may only be specified with tools")
	}
}

func (c *anthropicCheck) checkSchema(label, path string, v any) {
	s, ok := v.(Object)
	if !ok {
		c.Add("A42", path, "%s: Field required", label)
		return
	}
	kind, typed := s["type"]
	switch {
	case !typed:
		c.Add("A42", path, "%s.type: Field required", label)
	case kind != "object":
		c.Add("A42", path, "%s.type: Input should be 'object'", label)
	default:
		for _, k := range []string{"oneOf", "allOf", "anyOf"} {
			if _, ok := s[k]; ok {
				c.Add("A42", path, "%s: input_schema does not support oneOf, allOf, or anyOf at the top level", label)
				return
			}
		}
	}
}
