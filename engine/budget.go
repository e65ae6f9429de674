package engine

import (
	"encoding/json"
	"maps"
	"math"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
)

// size estimates the tokens of the next request: the provider's own count of
// the last one, and [llm.TokensAtMost] for what it has not counted.
type size struct {
	fixed   int    // system prompt and tools
	said    int    // all messages
	model   string // that counted last; "" for none
	counted int    // request and answer of its call
	added   int    // since then
	largest int32  // of all messages and results that were ever added
	output  int32  // of results since the last compaction
}

func (s *size) add(tokens int) {
	s.said += tokens
	s.added += tokens
	s.largest = max(s.largest, int32(min(tokens, math.MaxInt32)))
}

func (s *size) configured(fixed int) {
	s.added += max(0, fixed-s.fixed)
	s.fixed = fixed
}

func (s *size) answered(model string, r llm.Response) {
	s.add(contentTokens(r.Message.Content))
	if c := r.Usage.Context(); c > 0 {
		s.model, s.counted, s.added = model, c+max(r.Usage.Output, 0), 0
	}
}

// tokens is on the high side: it decides what a call can cost. Models count
// differently, so another one's count is not relied upon alone.
func (s *size) tokens(model string) int {
	switch {
	case s.model == "":
		return s.fixed + s.said
	case s.model != model:
		return max(s.counted+s.added, s.fixed+s.said)
	}
	return s.counted + s.added
}

// scale is how many tokens the provider counts for one that is estimated, as far as it
// has counted.
func (s *size) scale(model string) float64 {
	if whole := s.fixed + s.said; whole > 0 {
		return max(0.25, float64(s.tokens(model))/float64(whole))
	}
	return 1
}

// compacted takes in that a request has so many tokens now, as the provider may count.
func (s *size) compacted(model string, tokens int) {
	if scale := s.scale(model); scale < 1 { // back to the high side, until it has counted
		tokens = int(float64(tokens) / scale)
	}
	s.said, s.model, s.counted, s.added, s.output = max(0, tokens-s.fixed), "", 0, 0, 0
}

// rescaled is what the provider may count for so many estimated tokens.
func (s *size) rescaled(model string, tokens int) int {
	return int(float64(tokens) * s.scale(model))
}

func textTokens[T string | json.RawMessage](s T) int { return llm.TokensAtMost(s) }

// blockTokens is what a block costs beside its text.
const blockTokens = 8

func contentTokens(bs llm.Blocks) int {
	n := 0
	for _, b := range bs {
		n += blockTokens
		switch b := b.(type) {
		case llm.Text:
			n += textTokens(b.Text)
		case llm.Thinking:
			n += textTokens(b.Text)
		case llm.RedactedThinking:
			n += textTokens(b.Data)
		case llm.Image:
			n += llm.ImageTokens
		case llm.Document:
			n += max(3000, len(b.Data)/10)
		case llm.ToolUse:
			n += textTokens(b.Input) + textTokens(b.Name)
		case llm.ToolResult:
			n += contentTokens(b.Content)
		case llm.Verbatim:
			n += textTokens(b.Raw)
		}
	}
	return n
}

// limit returns why no further model call may be made, "" if one may.
func (s *State) limit() event.EndReason {
	l := s.cfg.Limits
	switch {
	case l.Turns > 0 && s.turnsOfTree() >= l.Turns, l.OwnTurns > 0 && s.run.turns >= l.OwnTurns:
		return event.MaxTurns
	case l.ModelCalls > 0 && s.run.modelCalls+s.lent() >= l.ModelCalls:
		return event.MaxModelCalls
	case !s.affords():
		return event.MaxBudget
	}
	return ""
}

// affords reports whether the worst case of the next call fits the USD left.
func (s *State) affords() bool {
	_, _, ok := s.reserve()
	return ok
}

func (s *State) callModel() Effect {
	tokens, usd, _ := s.reserve()
	return CallModel{s.modelKey(), s.Model(), tokens, usd, s.model.tries}
}

// reserve returns the most output tokens that the next call may have and the
// most that it can cost.
func (s *State) reserve() (tokens int, usd float64, ok bool) {
	return s.worst(s.Model(), s.size.tokens(s.Model()), s.cfg.MaxTokens, s.cfg.Thinking.Tokens())
}

// worst returns the worst case of a call: all input at the dearest input price,
// and all of the output. The output is lowered to fit the USD left; with less
// than 256 tokens beside the thinking budget the call is not made.
func (s *State) worst(model string, input, output, thinking int) (tokens int, usd float64, ok bool) {
	info := s.Info(model)
	if info.ThinksInside && output > 0 && output <= thinking {
		output += thinking // what was asked for is for the answer
	}
	if info.MaxOutput > 0 && output > info.MaxOutput {
		output = info.MaxOutput
	}
	tokens = output
	if info.Price == nil {
		return tokens, 0, s.cfg.Limits.USD <= 0
	}
	p := *info.Price
	write := p.CacheWrite
	if s.cfg.Cache.Hour() {
		write = p.WriteHour()
	}
	in, out := max(p.Input, write, p.CacheRead)/1e6, p.Output/1e6
	if p.LongAt > 0 && input > p.LongAt {
		in, out = in*p.LongInput, out*p.LongOutput
	}
	usd = amount(in * float64(input))
	if limit := s.cfg.Limits.USD; limit > 0 {
		left := limit - s.run.cost - s.run.lost - s.reserved() - usd
		if out > 0 && float64(tokens)*out > left {
			tokens = int(left / out)
		}
		if left < 0 || tokens < minOutput+thinking && tokens < output {
			return 0, 0, false
		}
	}
	return tokens, plus(usd, out*float64(tokens)), true
}

// reserved is what the digests and agents that are under way can cost at most.
func (s *State) reserved() float64 {
	sum := 0.0
	for i := range s.agents {
		sum = plus(sum, s.agents[i].ReservedUSD)
	}
	for i := range s.calls {
		if c := &s.calls[i]; c.phase == digesting && c.started {
			sum = plus(sum, c.reserved)
		}
	}
	if s.compact != nil && s.compact.calling {
		sum = plus(sum, s.compact.reserved)
	}
	return sum
}

// maxDigest is the most tokens of a digest.
const maxDigest = 4096

func (s *State) digest(c *call) Effect {
	tokens, usd, _ := s.reserveDigest(c)
	return Digest{c.key("digest"), c.id, s.cfg.Small, tokens, usd}
}

// reserveDigest is reserve for the digest of a call's result.
func (s *State) reserveDigest(c *call) (tokens int, usd float64, ok bool) {
	if l := s.cfg.Limits.ModelCalls; l > 0 && s.run.modelCalls+s.lent() >= l {
		return 0, 0, false
	}
	return s.worst(s.cfg.Small, c.tokens, maxDigest, 0)
}

// used counts a call of a tool that ran.
func (r *run) used(name string, f event.ToolResult) {
	u := r.tools[name]
	u.Calls++
	u.Time += f.Duration
	if f.Result.IsError || f.Fault != "" {
		u.Failures++
	}
	put(&r.tools, name, u)
}

// amount is a number of USD that can be written, whatever a journal or a price says: what
// is no number is the most.
func amount(usd float64) float64 {
	if usd != usd {
		return llm.MaxCost
	}
	return min(max(usd, -llm.MaxCost), llm.MaxCost)
}

func plus(a, b float64) float64 { return amount(a + b) }

// lose counts what a broken call can have cost.
func (s *State) lose(usd float64) { s.run.lost = plus(s.run.lost, usd) }

// put sets a value in a map that is made when it is needed.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// spend counts what a call has used.
func (s *State) spend(model string, u llm.Usage, cost *float64) {
	m := s.run.models[model]
	first := m.Usage == llm.Usage{} && m.CostUSD == nil
	m.Usage = m.Usage.Add(u)
	s.run.usage = s.run.usage.Add(u)
	switch {
	case cost == nil:
		s.run.unknown, m.CostUSD = true, nil
	case first:
		m.CostUSD = new(*cost)
	case m.CostUSD != nil:
		m.CostUSD = new(plus(*m.CostUSD, *cost))
	}
	put(&s.run.models, model, m)
	if cost != nil {
		s.run.cost = plus(s.run.cost, *cost)
	}
}

// runEnd makes the last fact of a run.
func (s *State) runEnd(reason event.EndReason, n need) event.RunEnd {
	f := event.RunEnd{Reason: reason, Message: n.msg, Class: n.class, Status: n.status, RequestID: n.id, Text: s.run.text, Partial: s.run.partial,
		Turns: s.run.turns, AgentTurns: s.run.below, Usage: s.run.usage, Models: maps.Clone(s.run.models), Agents: maps.Clone(s.run.agents), LostUSD: s.run.lost, ModelCalls: s.run.modelCalls, Tools: maps.Clone(s.run.tools), Denials: s.run.denials, Queued: s.Queued(),
		Duration: s.run.last.Sub(s.run.began), API: s.run.api, First: s.run.first}
	if a := s.run.answer; a != nil {
		f.Output = a.output
	}
	if !s.run.unknown {
		f.CostUSD = new(s.run.cost)
	}
	switch reason {
	case event.ToolEnded:
		f.Text = s.run.toolText
	case event.MaxTurns:
		f.Message = "the limit of turns is reached"
	case event.MaxModelCalls:
		f.Message = "the limit of model calls is reached"
	case event.MaxBudget:
		f.Message = "the next call of the model would not fit the USD left of the budget"
	}
	return f
}
