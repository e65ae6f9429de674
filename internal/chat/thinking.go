package chat

import (
	"strconv"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

// ranks orders the words for an amount of thinking.
var ranks = map[string]int{"minimal": 1, "low": 2, "medium": 4, "high": 6, "xhigh": 7, "max": 8}

// rank returns the place of an amount of thinking among the words.
func rank(t llm.Thought) int {
	switch n := t.Tokens(); {
	case n <= 1024:
		return ranks["low"]
	case n <= 5120:
		return ranks["medium"]
	case n <= 10240:
		return ranks["high"]
	}
	return ranks["max"]
}

// word returns the word of the list that is nearest to an amount of thinking. If two are
// equally near, it returns the one for more.
func word(list []string, want llm.Thought) string {
	if list == nil {
		list = usual
	}
	best, at := "", rank(want)
	for _, w := range list {
		if w == "none" {
			continue
		}
		if best == "" || distance(w, at) <= distance(best, at) {
			best = w
		}
	}
	return best
}

func distance(word string, at int) int {
	d := ranks[word] - at
	return max(d, -d)
}

// off returns the word of the list that turns thinking off, otherwise the one for the least
// thinking. "": there is none.
func off(list []string) string {
	if len(list) > 0 && (list[0] == "none" || list[0] == "minimal") {
		return list[0]
	}
	return ""
}

// thinking returns the JSON members about thinking and about the choice of tools. Each has
// a comma before it, and is "" if the host or model would refuse it. budget is the part of
// the output that may be thinking. It is 0 if thinking counts separately or the number is
// unknown.
func (m *model) thinking(req *llm.Request, host target, choice string) (members, choose string, budget int) {
	want := req.Thinking
	if len(req.Tools) > 0 && host.plainTools {
		return effort("none"), choice, 0
	}
	if forced := req.ToolChoice.Mode == llm.ChooseAny || req.ToolChoice.Mode == llm.ChooseTool; forced && choice != "" {
		switch host.force {
		case ForceAny:
			choice = `,"tool_choice":"required"`
		case ForceNever:
			choice = ""
		case ForceThinking:
			want = llm.Thought{Mode: llm.ThinkOff}
		}
	}
	if m.Entry.Thinking == llmconst.ThinkingNone {
		return "", choice, 0
	}
	switch {
	case want.Mode == llm.ThinkOff:
		return host.unthinking(), choice, 0
	case want.On():
		members, budget = host.asking(want)
	}
	return members, choice, budget
}

func effort(word string) string { return `,"reasoning_effort":"` + word + `"` }

// unthinking returns the members that turn thinking off.
func (t target) unthinking() string {
	switch w := off(t.efforts); t.ask {
	case AskEffort, AskGoogle:
		if w != "" {
			return effort(w)
		}
	case AskObject:
		return `,"reasoning":{"enabled":false}`
	case AskType, AskBoth:
		return `,"thinking":{"type":"disabled"}`
	case AskTemplate:
		if w != "" {
			return effort(w) + template("false")
		}
		return template("false")
	}
	return ""
}

// asking returns the members that ask for thinking, and the number of their tokens that
// count as output.
func (t target) asking(want llm.Thought) (string, int) {
	w := word(t.efforts, want)
	amount := want.Budget > 0 || want.Effort != ""
	switch t.ask {
	case AskEffort:
		return effort(w), 0
	case AskObject:
		switch {
		case want.Budget > 0:
			return `,"reasoning":{"max_tokens":` + strconv.Itoa(want.Budget) + `}`, want.Budget
		case !amount:
			return `,"reasoning":{"enabled":true}`, 0
		}
		return `,"reasoning":{"effort":"` + w + `"}`, 0
	case AskType:
		return `,"thinking":{"type":"enabled"}`, 0
	case AskBoth:
		if !amount {
			return `,"thinking":{"type":"enabled"}`, 0
		}
		return `,"thinking":{"type":"enabled"}` + effort(w), 0
	case AskTemplate:
		if t.efforts == nil || !amount {
			return template("true"), 0
		}
		return effort(w) + template("true"), 0
	case AskGoogle:
		if want.Budget > 0 {
			return `,"extra_body":{"google":{"thinking_config":{"thinking_budget":` + strconv.Itoa(want.Budget) + `}}}`, want.Budget
		}
		return effort(w), 0
	}
	return "", 0
}

// template returns the argument of chat templates that switches thinking. Templates use two
// names for it.
func template(on string) string {
	return `,"chat_template_kwargs":{"enable_thinking":` + on + `,"thinking":` + on + `}`
}
