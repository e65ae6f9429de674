package llm

import (
	"math"

	"github.com/openagent-go/agent/internal/llmconst"
)

// Usage counts tokens, as Anthropic does: Input excludes what was read from or
// written to the cache. Reasoning is a part of Output, 0 where not reported, and
// CacheWriteHour the part of CacheWrite that is kept for an hour.
type Usage struct {
	Input      int `json:"input,omitempty"`
	Output     int `json:"output,omitempty"`
	CacheRead  int `json:"cache_read,omitempty"` // input tokens that came from the cache
	CacheWrite int `json:"cache_write,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`

	CacheWriteHour int `json:"cache_write_hour,omitempty"`
}

// maxTokenCount is where counts saturate: no honest reply comes near it. The four
// counts of a call add up to an int, also where an int has 32 bits.
const maxTokenCount = min(1<<40, math.MaxInt>>2)

// Add returns the sum of u and v. Negative counts are taken as 0, huge ones saturate.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: add(u.Input, v.Input), Output: add(u.Output, v.Output),
		CacheRead: add(u.CacheRead, v.CacheRead), CacheWrite: add(u.CacheWrite, v.CacheWrite),
		Reasoning: add(u.Reasoning, v.Reasoning), CacheWriteHour: add(u.CacheWriteHour, v.CacheWriteHour),
	}
}

//go:noinline // six times inlined, it makes every program larger
func add(a, b int) int {
	return min(min(max(a, 0), maxTokenCount)+min(max(b, 0), maxTokenCount), maxTokenCount)
}

// Context returns the tokens that the request took up in the context window.
func (u Usage) Context() int { return u.Input + u.CacheRead + u.CacheWrite }

// A Price is in USD per million tokens. Reasoning tokens are billed as output.
type Price struct {
	Input      float64 `json:"input"`      // of tokens that no cache holds
	Output     float64 `json:"output"`     // of tokens of the answer
	CacheRead  float64 `json:"cache_read"` // of input tokens that come from the cache
	CacheWrite float64 `json:"cache_write"`
	// CacheWriteHour is for what is kept for an hour. 0: 1.6 times CacheWrite, as
	// with Anthropic's models, where it is twice the input beside 1.25 times.
	CacheWriteHour float64 `json:"cache_write_hour,omitempty"`
	// Above LongAt tokens of context the whole call costs LongInput and
	// LongOutput times as much. Zero LongAt: one price for all.
	LongAt     int     `json:"long_at,omitempty"`
	LongInput  float64 `json:"long_input,omitempty"`
	LongOutput float64 `json:"long_output,omitempty"`
}

// Cost returns the price of u in USD.
func (p Price) Cost(u Usage) float64 {
	hour := min(max(u.CacheWriteHour, 0), max(u.CacheWrite, 0))
	in := p.Input*float64(u.Input) + p.CacheRead*float64(u.CacheRead) + p.CacheWrite*float64(u.CacheWrite-hour) + p.WriteHour()*float64(hour)
	out := p.Output * float64(u.Output)
	if p.LongAt > 0 && u.Context() > p.LongAt {
		in, out = in*p.LongInput, out*p.LongOutput
	}
	if usd := (in + out) / 1e6; usd == usd {
		return min(max(usd, -llmconst.MaxCost), llmconst.MaxCost)
	}
	return 0 // of prices that are no numbers
}

// WriteHour returns the price of what is written to be kept for an hour.
func (p Price) WriteHour() float64 {
	if p.CacheWriteHour > 0 {
		return p.CacheWriteHour
	}
	return p.CacheWrite * 1.6
}
