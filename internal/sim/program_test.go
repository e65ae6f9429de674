package sim

import (
	"time"

	"github.com/openagent-go/agent/permission"
)

// A Program is what a host, its users and its model do, as plain data. The same Program
// always runs the same way.
type Program struct {
	Seed uint64          // of the delays, and of the ids
	Wire string          // the provider's API: anthropic, openai or responses
	Disk string          // where sessions are stored: memory or folder
	Mode permission.Mode // the agent's permission mode
	With []string        // names of features that the agent is built with
	Ops  []Op            // what the host does, in order
}

// has reports whether the agent is built with a feature.
func (p Program) has(name string) bool {
	for _, w := range p.With {
		if w == name {
			return true
		}
	}
	return false
}

// An Op is one operation of the host. It is plain data: a struct with exported fields.
type Op interface{ run(w *world) }

// A Turn is one answer of the model: the calls that it makes, or a failure first.
type Turn struct {
	Fail  string // the first request for this answer fails: overloaded, cut, reset or garbage; or down: many of them
	Calls []Call
}

// A Call is a tool call of the model.
type Call struct {
	Tool   string
	Target string // says what rules, hooks and people think of the call: see policy_test.go
	Turns  []Turn // the answers of the sub-agent that the call starts
	Parts  []Call // the calls of a batch
}

// Sleep lets the program run for a while.
type Sleep struct{ For time.Duration }

func (o Sleep) run(*world) { time.Sleep(o.For) }
