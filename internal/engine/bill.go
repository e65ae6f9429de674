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
	models     map[string]event.Spending
	tools      map[string]event.ToolUse
	agents     map[string]event.Spending
	api        time.Duration
	first      time.Duration // to the first token
}

// spend adds the usage of a call.
func (b *bill) spend(model string, u llm.Usage, cost *float64) {
	m := b.models[model]
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
	put(&b.models, model, m)
	if cost != nil {
		b.cost = plus(b.cost, *cost)
	}
}

// lose adds the possible cost of a failed call.
func (b *bill) lose(usd float64) { b.lost = plus(b.lost, usd) }

// used counts a call of a tool that ran.
func (b *bill) used(name string, f event.ToolResult) {
	u := b.tools[name]
	u.Calls++
	u.Time += f.Duration
	if f.Result.IsError || f.Fault != "" {
		u.Failures++
	}
	put(&b.tools, name, u)
}

// agentEnded adds the usage of an agent.
func (b *bill) agentEnded(f event.AgentEnd) {
	for _, model := range slices.Sorted(maps.Keys(f.Models)) {
		b.spend(model, f.Models[model].Usage, f.Models[model].CostUSD)
	}
	b.lose(f.LostUSD)
	b.modelCalls += f.ModelCalls
	b.below += f.Turns + f.AgentTurns
	sum, again := b.agents[f.Agent]
	sum.Usage = sum.Usage.Add(f.Usage)
	switch {
	case !again || f.CostUSD == nil:
		sum.CostUSD = f.CostUSD
	case sum.CostUSD != nil:
		sum.CostUSD = new(plus(*sum.CostUSD, *f.CostUSD))
	}
	put(&b.agents, f.Agent, sum)
}

// amount makes an amount of USD encodable, even if a journal or a price is damaged: NaN
// becomes the largest amount.
func amount(usd float64) float64 {
	if usd != usd {
		return llmconst.MaxCost
	}
	return min(max(usd, -llmconst.MaxCost), llmconst.MaxCost)
}

func plus(a, b float64) float64 { return amount(a + b) }

// put sets a value in a map that is made when it is needed.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}
