package agent

import (
	"cmp"
	"context"
	"slices"

	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// A bond ties an agent to the one that it works for.
type bond struct {
	parent *Session
	call   string
	kind   string
	turns  int        // of the agent itself, those of agents below it not counted; 0: any number
	only   [][]string // names of tools; one has to be in each list
	// origin is the context of the call that has started work in the background, for a
	// tracer; nil where there is none.
	origin context.Context
}

func (a *Agent) lineage() *session.Lineage {
	if a.bond == nil {
		return nil
	}
	return &session.Lineage{Name: a.Name, Kind: a.bond.kind, Session: a.bond.parent.ID, Call: a.bond.call}
}

// kind is what kind of agent it is that works for another, "" for one that does not.
func (a *Agent) kind() string {
	if a.bond == nil {
		return ""
	}
	return a.bond.kind
}

func (a *Agent) kindOrName() string { return cmp.Or(a.kind(), a.Name) }

// childID is id for an agent that works for another.
func (a *Agent) childID(id string) string {
	if a.bond == nil {
		return ""
	}
	return id
}

// rootSession is the session at the root of the tree, "" for the root itself.
func (a *Agent) rootSession() string {
	root := ""
	for b := a.bond; b != nil; b = b.parent.def().bond {
		root = b.parent.ID
	}
	return root
}

// inherit returns the agent of a child: its own, completed and bounded by the
// parent's.
func (p *Parent) inherit(f *fold, c Child) *Agent {
	from, own := p.session.def(), *c.Agent
	if own.Model == nil {
		if own.Model = p.loop.x.modelNamed(f.state.Model()); own.Model == nil {
			own.Model = from.Model
		}
		if own.Fallbacks == nil {
			own.Fallbacks = from.Fallbacks
		}
		if !own.Thinking.On() {
			own.Thinking = f.state.Config().Thinking
		}
	}
	if own.Small == nil {
		own.Small, own.DigestAbove = from.Small, cmp.Or(own.DigestAbove, from.DigestAbove)
	}
	own.Compaction = cmp.Or(own.Compaction, from.Compaction)
	own.Cache.Off = own.Cache.Off || from.Cache.Off // an hour is for who waits for a person, as a child does not
	if own.Dir == "" {
		own.Dir = f.state.Dir()
	}
	own.Dirs = slices.Concat(own.Dirs, f.state.Config().Roots)
	own.bond = &bond{}
	if own.Tools == nil && own.Toolsets == nil {
		own.Tools, own.Toolsets, own.DeferredTools, own.DeferAbove = from.Tools, from.Toolsets, from.DeferredTools, from.DeferAbove
		own.bond.only = from.offered()
	}
	own.DisallowedTools = slices.Concat(own.DisallowedTools, from.DisallowedTools)

	ceiling := p.inForce(f)
	rules := ceiling
	rules.Bound = nil // the ceiling has it
	rules.Deny, rules.Ask = slices.Concat(ceiling.Deny, own.Permissions.Deny), slices.Concat(ceiling.Ask, own.Permissions.Ask)
	rules.Mode = cmp.Or(c.Mode, own.Permissions.Mode, ceiling.Mode)
	own.Permissions = rules.Within(ceiling)
	own.Policies = slices.Concat(from.Policies, []permission.Judge{above{p.session}}, onlyStrict(own.Policies))
	own.Hooks = slices.Concat(from.Hooks, boundedHooks(own.Hooks))
	own.CanUseTool, own.AskUser = nil, from.AskUser // who is asked is the parent's affair
	own.MayChange, own.MayAllow = from.MayChange, from.MayAllow
	if own.Context == nil {
		own.Context = from.Context
	}
	if own.Models == nil {
		own.Models = from.Models
	}
	own.AwaitAgents = true // its session ends with its work

	own.Retry, own.Output = cmp.Or(own.Retry, from.Retry), cmp.Or(own.Output, from.Output)
	own.Secrets = slices.Concat(own.Secrets, from.Secrets)
	own.Log = cmp.Or(own.Log, from.Log)
	if own.Trace == nil {
		own.Trace = from.Trace
	}
	own.Checkpoint = nil // the parent has kept the files before the call that starts it
	return &own
}

// offered is what narrows the tools that an agent's children may have.
func (a *Agent) offered() [][]string {
	var only [][]string
	if a.bond != nil {
		only = a.bond.only
	}
	if len(a.AllowedTools) > 0 {
		only = append(slices.Clone(only), a.AllowedTools)
	}
	return only
}

// inForce is the policy by which the parent's calls are judged now.
func (p *Parent) inForce(f *fold) permission.Policy {
	rules, more := p.session.def().Permissions, f.state.Rules()
	rules.Allow, rules.Ask, rules.Deny = slices.Concat(rules.Allow, more.Allow), slices.Concat(rules.Ask, more.Ask), slices.Concat(rules.Deny, more.Deny)
	rules.Mode, rules.Bound = f.state.Mode(), f.state.Bound()
	return rules
}
