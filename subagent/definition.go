// Package subagent defines the sub-agents that an agent can start: built-in ones, and those
// in files. A [Manager] runs them.
//
//	definitions, problems := subagent.Load(subagent.Folder{Path: "/home/me/.claude/agents"})
//	manager := &subagent.Manager{Definitions: definitions}
//	a.Tools = append(a.Tools, tools.Agent(manager))
package subagent

import (
	"encoding/json"
	"slices"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/permission"
)

// A Definition is a kind of agent that can be put to work.
type Definition struct {
	// Agent is the agent to start. Its Name is that of the kind. It needs no Model; other
	// empty fields are inherited from the parent, see [agent.Child].
	Agent       *agent.Agent
	Description string // when to use it, a line: for agents that can start it
	// Model is the name of its model; "" or "inherit" is its Agent's, else its parent's.
	Model      string
	ReadOnly   bool     // its calls change nothing: see [Definition.Bounded]
	Background bool     // it always works in the background
	Isolation  string   // "worktree": in a git worktree of its own; "": where its parent works
	Skills     []string // names of skills whose text it begins with
	Servers    []Server // MCP servers whose tools it has beside the others
	Color      string   // in which people like to see it; "": any color
	Source     string   // the file it was read from; "" for code
}

// A Server is an MCP server of a kind of agent.
type Server struct {
	Name string
	// Config is its own configuration, as in a file of MCP servers; nil: it is one of
	// the parent's, known by Name.
	Config json.RawMessage
}

// worktreeIsolation is the value of Isolation for a git worktree.
const worktreeIsolation = "worktree"

// Bounded returns a copy of the definition's Agent to start. If the kind is ReadOnly, the
// copy has a policy that denies every change.
func (d Definition) Bounded() *agent.Agent {
	a := *d.Agent
	if d.ReadOnly {
		a.Deciders = append(slices.Clone(a.Deciders), looker{})
	}
	return &a
}

// A looker denies the calls that [permission.ReadOnly] denies. It allows nothing by itself,
// like that policy: questions to the parent, for example about a web page, are asked for
// its agents too.
type looker struct{}

func (looker) Decide(r permission.Request) permission.Decision {
	return onlyDenials(permission.ReadOnly().Decide(r))
}

// An only keeps an agent to the calls that the rules of its definition cover.
type only struct{ rules *policies.Compiled }

// onlyRules returns the policy of a list of tools of which some have patterns.
func onlyRules(kind string, rules []permission.Rule) only {
	bound := &permission.Restriction{By: "the agent " + kind, Only: rules}
	return only{policies.Compile(permission.Policy{Mode: permission.Bypass, Restriction: bound})}
}

func (o only) Decide(r permission.Request) permission.Decision {
	return onlyDenials(*o.rules.Decide(&r))
}

func onlyDenials(d permission.Decision) permission.Decision {
	if d.Behavior != permission.Denied {
		return permission.Decision{}
	}
	d.Source = policies.FromPolicy
	return d
}
