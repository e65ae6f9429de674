package strictapi

import (
	"fmt"
	"strings"
)

func isThinking(kind any) bool { return kind == "thinking" || kind == "redacted_thinking" }

const thinkingDocs = "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"

func (c *anthropicCheck) checkThinking() {
	if c.thinking["type"] == "enabled" {
		budget, ok := IntegerOf(c.thinking["budget_tokens"])
		limit, limited := IntegerOf(c.body["max_tokens"])
		if !ok || budget < 1024 {
			c.Add("A24", "thinking", "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
		} else if limited && limit <= budget {
			c.Add("A25", "max_tokens", "`max_tokens` must be greater than `thinking.budget_tokens`. "+thinkingDocs+"#max-tokens-and-context-window-size")
		}
		if c.ability.NoEnabled {
			c.Add("A34", "thinking", `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`)
		}
	}
	if !c.thinks {
		return
	}
	if t, ok := NumberOf(c.body["temperature"]); ok && t != 1 {
		c.Add("A26", "temperature", "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode. "+thinkingDocs+"#important-considerations-when-using-extended-thinking")
	}
	if c.body["top_k"] != nil {
		c.Add("A27", "top_k", "`top_k` must be unset when thinking is enabled or in adaptive mode.")
	}
	if p, ok := NumberOf(c.body["top_p"]); ok && p < 0.95 {
		c.Add("A27", "top_p", "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")
	}
	if c.forced {
		c.Add("A28", "tool_choice", "Thinking may not be enabled when tool_choice forces tool use.")
	}
}

// lastAssistant returns the index of the last assistant turn, -1 if none.
func (c *anthropicCheck) lastAssistant() int {
	for n := len(c.turns) - 1; n >= 0; n-- {
		if c.turns[n].role == "assistant" {
			return n
		}
	}
	return -1
}

// checkLoop judges the thinking blocks of the last assistant turn.
func (c *anthropicCheck) checkLoop() {
	n := c.lastAssistant()
	if n < 0 || len(c.turns[n].blocks) == 0 {
		return
	}
	t, first := c.turns[n], c.turns[n].blocks[0]
	loop := t.has("tool_use") && n+1 < len(c.turns) && c.turns[n+1].has("tool_result")
	if c.thinking["type"] == "enabled" && loop && !isThinking(first.block["type"]) {
		c.Add("A29", first.path, "%s.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. %s", first.path, TextOf(first.block["type"]), thinkingDocs)
	}
	if !c.thinks && n == len(c.turns)-1 && (t.has("thinking") || t.has("redacted_thinking")) {
		c.Add("A33", fmt.Sprintf("messages.%d", first.message), "%s: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your request.", first.path)
	}
}

// checkSignatures judges thinking that a Server signed: the text must be the one signed.
func (c *anthropicCheck) checkSignatures() {
	last := c.lastAssistant()
	for n, t := range c.turns {
		for _, p := range t.blocks {
			sig := TextOf(p.block["signature"])
			if p.block["type"] != "thinking" || !strings.HasPrefix(sig, signaturePrefix) || sig == Sign(TextOf(p.block["thinking"])) {
				continue
			}
			if n == last {
				c.Add("A30", p.path, "%s: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.", p.path)
			} else {
				c.Add("A32", p.path, "%s: Invalid `signature` in `thinking` block", p.path)
			}
		}
	}
}

func (c *anthropicCheck) checkModel() {
	t, ok := NumberOf(c.body["temperature"])
	if ok && t != 1 && c.ability.NoTemperature {
		c.Add("A35", "temperature", "`temperature` is deprecated for this model.")
	}
	if ok && c.body["top_p"] != nil && c.ability.OneSampler {
		c.Add("A35", "top_p", "`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
	}
	if c.forced && c.ability.NoForced {
		c.Add("A36", "tool_choice", `tool_choice: type "tool" and "any" are not supported for this model.`)
	}
}
