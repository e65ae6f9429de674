package streamjson

import (
	"context"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/suggest"
)

// suggestionLine holds the prompt that the user may send next.
type suggestionLine struct {
	Type       string `json:"type"` // prompt_suggestion
	Suggestion string `json:"suggestion"`
	Origin
}

// suggestVariable switches the suggestions off that a host of Claude Code, or a setting, asks for.
const suggestVariable = "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION"

// suggest has the small model suggest the next prompt, unless one waits already. Nothing waits for it. As
// hosts of Claude Code expect, there is none after the first prompt, in plan mode and after failures.
func (d *Session) suggest(ctx context.Context) {
	d.prompts++
	v := d.H.Getenv(suggestVariable)
	if !d.s.Options.Suggest && !d.hostSuggests || v == "false" || v == "0" || d.report.End.Reason != event.Completed ||
		d.report.Mode == permission.Plan || d.claude && d.prompts == 1 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended || d.current != nil || len(d.queue) > 0 {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	d.unsuggest = cancel
	d.waiting.Go(func() {
		defer cancel()
		text, res, err := suggest.Next(ctx, d.s.Session)
		d.spent(res)
		if err != nil {
			d.s.Agent.Log.Debug("no prompt suggested", "error", err)
		}
		if text != "" && ctx.Err() == nil {
			d.out.Put(suggestionLine{Type: "prompt_suggestion", Suggestion: d.H.OneLine(text), Origin: d.sign()})
		}
	})
}
