package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/summary"
	"github.com/openagent-go/agent/llm"
)

const maxInstructions = 10_000 // bytes of what hooks say of a summary

// shortening is what a compaction works on.
type shortening struct {
	engine.SummaryPlan
	request *llm.Request
	notes   string
}

// compact has the conversation summarised.
func (x *executor) compact(ctx context.Context, e engine.Compact, j *effectInput) event.Fact {
	start := time.Now()
	f := event.Compacted{Key: e.Key(), Trigger: e.Trigger, Instructions: e.Instructions, Before: e.Before, After: e.Before}
	if j.short.Until == 0 {
		f.Failed = engine.NothingToCompact
		return f
	}
	if j.model == nil {
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llm.NotFound, Message: fmt.Sprintf("the agent has no model %q", e.Model)}
	}
	var res *llm.Response
	streamed, first := 0, false
	for d, err := range j.model.Stream(ctx, j.short.request) {
		if err != nil {
			failed := x.failure(engine.CallModel{Model: e.Model, Tries: e.Tries}, err)
			failed.Key, failed.Duration = e.Key(), time.Since(start)
			if first {
				failed.Usage = llm.Usage{Input: j.short.request.Estimate(), Output: (streamed + 3) / 4}
				failed.CostUSD = cost(llm.InfoOf(j.model).Price, failed.Usage)
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
	f.Model, f.Usage, f.CostUSD, f.Duration = e.Model, res.Usage, cost(llm.InfoOf(j.model).Price, res.Usage), time.Since(start)
	if res.Stop == llm.Overflow {
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llm.TooLong, Message: "the context window is full before the summary is whole", Usage: f.Usage, CostUSD: f.CostUSD, Duration: f.Duration}
	}
	said, memory, whole := summary.Parse(x.secrets.Text(text))
	f.Cut = res.Stop == llm.MaxTokens && !whole
	switch {
	case len(res.Message.ToolUses()) > 0 && !strings.Contains(text, "<summary>"): // what it says is of the call
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
	f.Summary, f.Memory, f.Notes = said, summary.Remember(j.short.Memory, memory), j.short.notes
	f.Until, f.Kept, f.Cleared = j.short.Until, j.short.Kept, j.short.Cleared
	before, after := j.short.Tokens(f)
	if after >= before {
		return event.Compacted{Key: f.Key, Trigger: f.Trigger, Instructions: f.Instructions, Before: f.Before, After: f.Before, Model: f.Model, Usage: f.Usage, CostUSD: f.CostUSD, Duration: f.Duration, Cut: f.Cut,
			Failed: "the summary is no shorter than what it would stand for"}
	}
	f.After = int(float64(e.Fixed+after) * e.Scale)
	return f
}
