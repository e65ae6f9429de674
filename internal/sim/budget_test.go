package sim

import (
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
)

// limits returns the budget of the agent, which depends on the seed.
func (w *world) limits() agent.Budget {
	switch n := int((w.number("budget") >> 8) % 12); w.number("budget kind") % 4 {
	case 0:
		return agent.Budget{ModelCalls: 2 + n}
	case 1:
		return agent.Budget{Turns: 2 + n}
	case 2:
		return agent.Budget{Time: time.Duration(1+n) * 40 * time.Millisecond}
	default:
		return agent.Budget{USD: 0.14 + 0.02*float64(n)}
	}
}

func budget(w *world, _ *life, a *agent.Agent) { a.Budget = w.limits() }

// checkBudget checks that the requests for a prompt, with all agents below it, stay within
// the budget. A fork and a rewound session work on a prompt again, a power loss takes requests
// from the record, and a request to compact has a budget of its own.
func (w *world) checkBudget(name string) {
	if !w.has("budget") {
		return
	}
	for _, o := range w.Ops {
		switch o := o.(type) {
		case Fork, ForkCrash, Rewind, RewindFiles, SetBudget, Compact:
			return
		case DiskKill:
			if o.PowerLoss {
				return
			}
		}
	}
	if w.has("team") { // prompts reach others by mail
		w.checkTeamBudget()
		return
	}
	root, _, _ := strings.Cut(name, ".")
	w.mu.Lock()
	w.asked[root]++
	n := w.asked[root]
	w.mu.Unlock()
	if most := w.limits().ModelCalls; most > 0 && n > most {
		w.wrong("budget", "prompt %s makes request %d, its budget has %d", root, n, most)
	}
}

// checkCost checks the end of a run against the budget.
func (w *world) checkCost(p string, end event.RunEnd) {
	if end.Reason == event.MaxBudget || end.Reason == event.MaxTurns || end.Reason == event.MaxModelCalls || end.Reason == event.TimedOut {
		w.meet("limit reached")
	}
	if !w.has("budget") || w.hasOp(func(o Op) bool { _, is := o.(SetBudget); return is }) {
		return
	}
	b := w.limits()
	if b.USD > 0 && end.CostUSD != nil && *end.CostUSD > b.USD+1e-9 {
		w.wrong("budget", "the run of %s cost $%f, its budget has $%f", p, *end.CostUSD, b.USD)
	}
	if b.Turns > 0 && end.Turns+end.AgentTurns > b.Turns {
		w.wrong("budget", "the run of %s had %d turns, its budget has %d", p, end.Turns+end.AgentTurns, b.Turns)
	}
	if b.ModelCalls > 0 && end.ModelCalls > b.ModelCalls {
		w.wrong("budget", "the run of %s made %d model calls, its budget has %d", p, end.ModelCalls, b.ModelCalls)
	}
}

// SetBudget changes the budget of a session.
type SetBudget struct{ Session, ModelCalls, Turns int }

func (o SetBudget) run(w *world) {
	w.note("budget changed", w.session(o.Session).open.SetBudget(w.life.ctx, agent.Budget{ModelCalls: o.ModelCalls, Turns: o.Turns}))
}

// hasOp reports whether the program has such an operation.
func (w *world) hasOp(is func(Op) bool) bool {
	for _, o := range w.Ops {
		if is(o) {
			return true
		}
	}
	return false
}
