package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

// A bill counts the usage of a run and of the agents below it.
type bill struct {
	turns      int
	below      int // turns of agents that have ended
	modelCalls int
	usage      llm.Usage
	cost       float64
	unknown    bool    // some cost is not known
	lost       float64 // the most that failed calls can have cost beyond the counted cost
	models     tally[event.Spending]
	tools      tally[event.ToolUse]
	agents     tally[event.Spending]
	api        time.Duration
	first      time.Duration // to the first token
}

// spend adds the usage of a call.
func (b *bill) spend(model string, u llm.Usage, cost *float64) {
	m, _ := b.models.of(model)
	first := m.Usage == llm.Usage{} && m.CostUSD == nil
	m.Usage = m.Usage.Add(u)
	b.usage = b.usage.Add(u)
	switch {
	case cost == nil:
		b.unknown, m.CostUSD = true, nil
	case first:
		m.CostUSD = new(*cost)
	case m.CostUSD != nil:
		m.CostUSD = new(plus(*m.CostUSD, *cost))
	}
	if cost != nil {
		b.cost = plus(b.cost, *cost)
	}
}

// lose adds the possible cost of a failed call.
func (b *bill) lose(usd float64) { b.lost = plus(b.lost, usd) }

// used counts a call of a tool that ran.
func (b *bill) used(name string, f *event.ToolResult) {
	u, _ := b.tools.of(name)
	u.Calls++
	u.Time += f.Duration
	if f.Result.IsError || f.Fault != "" {
		u.Failures++
	}
}

// agentEnded adds the usage of an agent.
func (b *bill) agentEnded(f event.AgentEnd) {
	for _, model := range slices.Sorted(maps.Keys(f.Models)) {
		b.spend(model, f.Models[model].Usage, f.Models[model].CostUSD)
	}
	b.lose(f.LostUSD)
	b.modelCalls += f.ModelCalls
	b.below += f.Turns + f.AgentTurns
	sum, first := b.agents.of(f.Agent)
	sum.Usage = sum.Usage.Add(f.Usage)
	switch {
	case first || f.CostUSD == nil:
		sum.CostUSD = f.CostUSD
	case sum.CostUSD != nil:
		sum.CostUSD = new(plus(*sum.CostUSD, *f.CostUSD))
	}
}

// amount makes an amount of USD encodable, even if a journal or a price is damaged: NaN
// becomes the largest amount.
func amount(usd float64) float64 {
	if usd != usd {
		return llmconst.MaxCost
	}
	return min(max(usd, -llmconst.MaxCost), llmconst.MaxCost)
}

//go:noinline // called from many places: every program stays smaller
func plus(a, b float64) float64 { return amount(a + b) }

// A tally holds sums by name. There are few names, for which a list is much smaller than a
// map (BenchmarkAgentsMemory).
type tally[V any] []struct {
	name string
	sum  V
}

// of returns the sum of a name, until the next call. first: it is a new one.
//
//go:noinline // called from many places: every program stays smaller
func (t *tally[V]) of(name string) (sum *V, first bool) {
	for i := range *t {
		if e := &(*t)[i]; e.name == name {
			return &e.sum, false
		}
	}
	*t = append(*t, struct {
		name string
		sum  V
	}{name: name})
	return &(*t)[len(*t)-1].sum, true
}

// byName returns a map of the sums, nil if there are none.
func (t tally[V]) byName() map[string]V {
	if t == nil {
		return nil
	}
	out := make(map[string]V, len(t))
	for i := range t {
		out[t[i].name] = t[i].sum
	}
	return out
}

// put sets a value in a map that is made when it is needed.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}
