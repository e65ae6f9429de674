package agent

import (
	"cmp"
	"context"
	"slices"

	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/subagents"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// A parentLink ties an agent to the one that it works for.
type parentLink struct {
	parent *Session
	call   string
	kind   string
	turns  int        // of the agent itself, those of agents below it not counted; 0: any number
	only   [][]string // names of tools; one has to be in each list
	// origin is the context of the call that has started work in the background, for a
	// tracer; nil where there is none.
	origin context.Context
}

func (a *Agent) parentRef() *session.ParentRef {
	if a.parentLink == nil {
		return nil
	}
	return &session.ParentRef{Name: a.Name, Kind: a.parentLink.kind, Session: a.parentLink.parent.ID, Call: a.parentLink.call}
}

// kind is what kind of agent it is that works for another, "" for one that does not.
func (a *Agent) kind() string {
	if a.parentLink == nil {
		return ""
	}
	return a.parentLink.kind
}

func (a *Agent) kindOrName() string { return cmp.Or(a.kind(), a.Name) }

// childID is id for an agent that works for another.
func (a *Agent) childID(id string) string {
	if a.parentLink == nil {
		return ""
	}
	return id
}

// rootSession is the session at the root of the tree, "" for the root itself.
func (a *Agent) rootSession() string {
	root := ""
	for b := a.parentLink; b != nil; b = b.parent.def().parentLink {
		root = b.parent.ID
	}
	return root
}

// A parentNow is what of a run that goes on bounds and completes an agent that begins.
type parentNow struct {
	model    func() llm.Model // in use; nil if it is not the parent's any more
	thinking llm.Thought      // of its requests
	dir      string
	roots    []string
	rules    permission.Policy  // by which its calls are judged, with the mode in force
	above    permission.Decider // the same at the time of each call of the agent
}

// now returns what of the parent's run bounds and completes a child.
func (p *Parent) now(f *conversation.Conversation) parentNow {
	c := f.State.Config()
	model := func() llm.Model { return p.loop.x.Models.Named(f.State.Model()) }
	return parentNow{model: model, thinking: c.Thinking, dir: f.State.Dir(), roots: c.Roots,
		rules: p.inForce(f), above: subagents.Above(parentOf{p.session})}
}

// inherit returns the agent of a child: its own, completed and bounded by its parent from
// and by what goes on there. mode is what the child is to have, "" for its own.
func inherit(from *Agent, own Agent, mode permission.Mode, now parentNow) *Agent {
	if own.Model == nil {
		if own.Model = now.model(); own.Model == nil {
			own.Model = from.Model
		}
		if own.Fallbacks == nil {
			own.Fallbacks = from.Fallbacks
		}
		if !own.Thinking.On() {
			own.Thinking = now.thinking
		}
	}
	if own.SmallModel == nil {
		own.SmallModel, own.SummarizeOver = from.SmallModel, cmp.Or(own.SummarizeOver, from.SummarizeOver)
	}
	own.Compaction = cmp.Or(own.Compaction, from.Compaction)
	own.Cache.Off = own.Cache.Off || from.Cache.Off // an hour is for who waits for a person, as a child does not
	if own.Dir == "" {
		own.Dir = now.dir
	}
	own.AdditionalDirs = slices.Concat(own.AdditionalDirs, now.roots)
	own.parentLink = &parentLink{}
	if own.Tools == nil && own.Toolsets == nil {
		own.Tools, own.Toolsets, own.DeferredTools, own.DeferAbove = from.Tools, from.Toolsets, from.DeferredTools, from.DeferAbove
		own.parentLink.only = from.offered()
	}
	own.DisallowedTools = slices.Concat(own.DisallowedTools, from.DisallowedTools)

	ceiling, rules := now.rules, now.rules
	rules.Restriction = nil // the ceiling has it
	rules.Deny, rules.Ask = slices.Concat(ceiling.Deny, own.Permissions.Deny), slices.Concat(ceiling.Ask, own.Permissions.Ask)
	rules.Mode = cmp.Or(mode, own.Permissions.Mode, ceiling.Mode)
	own.Permissions = rules.Within(ceiling)
	own.Deciders = slices.Concat(from.Deciders, []permission.Decider{now.above}, subagents.DenyOnly(own.Deciders))
	own.Hooks = slices.Concat(from.Hooks, subagents.RestrictHooks(own.Hooks))
	own.CanUseTool, own.AskUser = nil, from.AskUser // who is asked is the parent's affair
	own.AllowModeChange, own.AllowRuleGrant = from.AllowModeChange, from.AllowRuleGrant
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
	if a.parentLink != nil {
		only = a.parentLink.only
	}
	if len(a.AllowedTools) > 0 {
		only = append(slices.Clone(only), a.AllowedTools)
	}
	return only
}

// inForce is the policy by which the parent's calls are judged now.
func (p *Parent) inForce(f *conversation.Conversation) permission.Policy {
	rules, more := p.session.def().Permissions, f.State.Rules()
	rules.Allow, rules.Ask, rules.Deny = slices.Concat(rules.Allow, more.Allow), slices.Concat(rules.Ask, more.Ask), slices.Concat(rules.Deny, more.Deny)
	rules.Mode, rules.Restriction = f.State.Mode(), f.State.Restriction()
	return rules
}
