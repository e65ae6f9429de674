package modelcall

import (
	"errors"
	"fmt"
	"time"

	"github.com/openagent-go/agent/llm"
)

// CheckThought refuses a thought that means nothing: a negative budget, an effort or a
// mode that does not exist, an amount of thinking that is switched off.
func CheckThought(t llm.Thought) error {
	switch {
	case t.Mode != "" && t.Mode != llm.ThinkAdaptive && t.Mode != llm.ThinkOff:
		return fmt.Errorf("there is no thinking mode %q; there are %s and %s", t.Mode, llm.ThinkAdaptive, llm.ThinkOff)
	case t.Budget < 0:
		return fmt.Errorf("a thinking budget of %d tokens is negative", t.Budget)
	case t.Effort != "" && (llm.Thought{Effort: t.Effort}).Tokens() == 0:
		return fmt.Errorf("there is no effort %q; there are low, medium, high and max", t.Effort)
	case t.Mode == llm.ThinkOff && (t.Budget > 0 || t.Effort != ""):
		return errors.New("thinking is off, but has a budget or an effort; remove them")
	}
	return nil
}

// KeepsHour reports whether the prompt is to be kept for an hour.
func KeepsHour(c llm.Cache) bool { return !c.Off && c.TTL == time.Hour }

// CheckCache refuses lifetimes that there are not.
func CheckCache(c llm.Cache) error {
	if c.TTL != 0 && c.TTL != 5*time.Minute && c.TTL != time.Hour {
		return fmt.Errorf("a prompt cache lives 5m or 1h, not %v", c.TTL)
	}
	return nil
}

// CheckToolChoice refuses choices that providers do not know.
func CheckToolChoice(c llm.ToolChoice) error {
	switch {
	case c.Mode != "" && c.Mode != llm.ChooseAny && c.Mode != llm.ChooseNone && c.Mode != llm.ChooseTool:
		return fmt.Errorf("there is no mode %q; use %q, %q or %q, or leave it out", c.Mode, llm.ChooseAny, llm.ChooseNone, llm.ChooseTool)
	case c.Mode == llm.ChooseTool && c.Name == "":
		return fmt.Errorf("the mode %q needs the Name of a tool", c.Mode)
	case c.Mode != llm.ChooseTool && c.Name != "":
		return fmt.Errorf("the Name %q needs the mode %q", c.Name, llm.ChooseTool)
	}
	return nil
}
