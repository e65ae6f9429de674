package executor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/summary"
	"github.com/openagent-go/agent/llm"
)

const maxInstructions = 10_000 // most bytes of instructions by hooks

// Summary is the input of a compaction.
type Summary struct {
	engine.SummaryPlan
	Ask   *llm.Request // request for the summary
	Notes string
}

// compact asks the model for a summary of the conversation.
func (x *Executor) compact(ctx context.Context, e engine.Compact, j *Input) event.Fact {
	start := time.Now()
	f := event.Compacted{Key: e.Key(), Trigger: e.Trigger, Instructions: e.Instructions, Before: e.Before, After: e.Before}
	if j.Short.Until == 0 {
		f.Failed = engine.NothingToCompact
		return f
	}
	if j.Model == nil {
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llmconst.NotFound, Message: fmt.Sprintf("the agent has no model %q", e.Model)}
	}
	var res *llm.Response
	streamed, first := 0, false
	for d, err := range x.metered(j.Model).Stream(ctx, j.Short.Ask) {
		if err != nil {
			failed := x.failure(engine.CallModel{Model: e.Model, Tries: e.Tries}, err)
			failed.Key, failed.Duration = e.Key(), time.Since(start)
			if first {
				failed.Usage = llm.Usage{Input: j.Short.Ask.Estimate(), Output: (streamed + 3) / 4}
				failed.CostUSD = cost(llm.InfoOf(j.Model).Price, failed.Usage)
			}
			return failed
		}
		first = true
		streamed += len(d.Text)
		if d.Done != nil {
			res = d.Done
		}
	}
	if res == nil {
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llm.Truncated, Message: "the stream ended without a final event", Duration: time.Since(start)}
	}
	text := res.Message.Text()
	f.Model, f.Usage, f.CostUSD, f.Duration = e.Model, res.Usage, cost(llm.InfoOf(j.Model).Price, res.Usage), time.Since(start)
	if res.Stop == llmconst.Overflow {
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llm.TooLong, Message: "the context window is full before the summary is whole", Usage: f.Usage, CostUSD: f.CostUSD, Duration: f.Duration}
	}
	said, memory, whole := summary.Parse(x.Secrets.Text(text))
	f.Cut = res.Stop == llm.MaxTokens && !whole
	switch {
	case len(res.Message.ToolUses()) > 0 && !strings.Contains(text, "<summary>"): // the text is about the call
		f.Failed = "the model has called a tool instead of summarising"
		return f
	case res.Stop == llm.Refusal:
		f.Failed = "the model refused to summarise"
		return f
	case f.Cut && !e.Again:
		f.Failed = "the summary was cut off at max_tokens"
		return f
	case said == "":
		f.Failed = "the summary is empty"
		return f
	}
	f.Summary, f.Memory, f.Notes = said, summary.Remember(j.Short.Memory, memory), j.Short.Notes
	f.Until, f.Kept, f.Cleared = j.Short.Until, j.Short.Kept, j.Short.Cleared
	before, after := j.Short.Tokens(&f)
	if after >= before {
		return event.Compacted{Key: f.Key, Trigger: f.Trigger, Instructions: f.Instructions, Before: f.Before, After: f.Before, Model: f.Model, Usage: f.Usage, CostUSD: f.CostUSD, Duration: f.Duration, Cut: f.Cut,
			Failed: "the summary is no shorter than what it would stand for"}
	}
	f.After = int(float64(e.Fixed+after) * e.Scale)
	return f
}
