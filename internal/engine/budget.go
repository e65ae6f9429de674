package engine

import (
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/modelcall"
	"github.com/openagent-go/agent/llm"
)

// minOutput is how many tokens a call may have at least, beside those for thinking.
const minOutput = 256

// A budget is the rest that the limits leave. It reads the parts of the state that count
// usage.
type budget struct {
	settings *settings
	run      *run
	agents   *Subagents
	calls    *callList
	summary  float64 // the most that a summary which is under way can cost
}

// limit returns why no further model call may be made, "" if one may.
func (b budget) limit(size *size) event.EndReason {
	l := b.settings.cfg.Limits
	switch {
	case l.Turns > 0 && b.turnsOfTree() >= l.Turns, l.OwnTurns > 0 && b.run.turns >= l.OwnTurns:
		return event.MaxTurns
	case l.ModelCalls > 0 && b.modelCalls() >= l.ModelCalls:
		return event.MaxModelCalls
	}
	if _, _, ok := b.modelCall(size); !ok {
		return event.MaxBudget
	}
	return ""
}

// turnsOfTree counts the turns of the run and of the agents below it, with those that
// running agents may still have.
func (b budget) turnsOfTree() int { return b.run.turns + b.run.below + b.agents.turns() }

// modelCalls counts those of the run, with those that running agents may make.
func (b budget) modelCalls() int { return b.run.modelCalls + b.agents.modelCalls() }

// modelCall returns the most output tokens that the next call may have and the
// most that it can cost. ok is false where that is more than the USD left.
func (b budget) modelCall(size *size) (tokens int, usd float64, ok bool) {
	model, cfg := b.settings.model(), &b.settings.cfg
	return b.worst(model, size.tokens(model), cfg.MaxTokens, cfg.Thinking.Tokens())
}

// worst returns the worst case of a call: all input at the dearest input price,
// and all of the output. The output is lowered to fit the USD left; with less
// than 256 tokens beside the thinking budget the call is not made.
func (b budget) worst(model string, input, output, thinking int) (tokens int, usd float64, ok bool) {
	info := b.settings.info(model)
	if info.ThinksInside && output > 0 && output <= thinking {
		output += thinking // the answer is there; only its calls are left
	}
	if info.MaxOutput > 0 && output > info.MaxOutput {
		output = info.MaxOutput
	}
	tokens = output
	limit := b.settings.cfg.Limits.USD
	if info.Price == nil {
		return tokens, 0, limit <= 0
	}
	in, out := b.prices(*info.Price, input)
	usd = amount(in * float64(input))
	if limit > 0 {
		left := limit - b.run.cost - b.run.lost - b.reserved() - usd
		if out > 0 && float64(tokens)*out > left {
			tokens = int(left / out)
		}
		if left < 0 || tokens < minOutput+thinking && tokens < output {
			return 0, 0, false
		}
	}
	return tokens, plus(usd, out*float64(tokens)), true
}

// prices returns the dearest prices of a token of input and of output.
func (b budget) prices(p llm.Price, input int) (in, out float64) {
	write := p.CacheWrite
	if modelcall.KeepsHour(b.settings.cfg.Cache) {
		write = p.WriteHour()
	}
	in, out = max(p.Input, write, p.CacheRead)/1e6, p.Output/1e6
	if p.LongAt > 0 && input > p.LongAt {
		in, out = in*p.LongInput, out*p.LongOutput
	}
	return in, out
}

// reserved is the most that agents, digests and a summary that are under way can cost.
func (b budget) reserved() float64 {
	sum := 0.0
	for i := range b.agents.list {
		sum = plus(sum, b.agents.list[i].ReservedUSD)
	}
	for i := range b.calls.list {
		if c := &b.calls.list[i]; c.phase == digesting && c.started {
			sum = plus(sum, c.reserved.usd)
		}
	}
	return plus(sum, b.summary)
}

// maxDigest is the most tokens of a digest.
const maxDigest = 4096

// digest is modelCall for the digest of a call's result.
func (b budget) digest(c *call) (tokens int, usd float64, ok bool) {
	if l := b.settings.cfg.Limits.ModelCalls; l > 0 && b.modelCalls() >= l {
		return 0, 0, false
	}
	return b.worst(b.settings.cfg.Small, c.tokens, maxDigest, 0)
}

// share returns the largest budget of an agent that an open call starts now.
func (b budget) share(call string, now time.Time) (share fact.Limits, ok bool) {
	sharers := 1 + b.hungry(call)
	limits := b.settings.cfg.Limits
	if l := limits.Turns; l > 0 {
		if share.Turns = (l - b.turnsOfTree()) / sharers; share.Turns < 1 {
			return share, false
		}
	}
	if l := limits.ModelCalls; l > 0 {
		if share.ModelCalls = (l - b.modelCalls()) / sharers; share.ModelCalls < 1 {
			return share, false
		}
	}
	if l := limits.USD; l > 0 {
		if share.USD = (l - b.run.cost - b.run.lost - b.reserved()) / float64(sharers); share.USD <= 0 {
			return share, false
		}
	}
	if l := limits.Time; l > 0 {
		if share.Time = b.run.began.Add(l).Sub(now); share.Time <= 0 {
			return share, false
		}
	}
	return share, true
}

// hungry counts the open calls of a call's tool for which no agent is running, the
// call itself included.
func (b budget) hungry(id string) int {
	n := 1
	c := b.calls.find(id)
	if c == nil {
		return n
	}
	for i := range b.calls.list {
		o := &b.calls.list[i]
		if o.id != id && o.name == c.name && o.phase <= running && !b.agents.workFor(o.id) {
			n++
		}
	}
	return n
}
