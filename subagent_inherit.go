package agent

import (
	"cmp"
	"context"
	"slices"

	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/subagents"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// A parentLink links a child to its parent.
type parentLink struct {
	parent *Session
	call   string
	toolID string // the provider's id of the call
	kind   string
	// defined is the child's agent as its host defined it.
	defined *Agent
	turns   int        // limit on the child's own turns, without its children's; 0: none
	only    [][]string // lists of tool names; a tool must be in each list
	prompt  [][]string // the same, of the prompts above
	// origin is the context of the call that started a background child, for tracing. It
	// may be nil.
	origin context.Context
}

func (a *Agent) parentRef() *session.ParentRef {
	if a.parentLink == nil {
		return nil
	}
	return &session.ParentRef{Name: a.Name, Kind: a.parentLink.kind, Session: a.parentLink.parent.ID, Call: a.parentLink.call}
}

// kind returns the definition's name of a child, "" for other agents.
func (a *Agent) kind() string {
	if a.parentLink == nil {
		return ""
	}
	return a.parentLink.kind
}

func (a *Agent) kindOrName() string { return cmp.Or(a.kind(), a.Name) }

// childID returns id for a child, "" for other agents.
func (a *Agent) childID(id string) string {
	if a.parentLink == nil {
		return ""
	}
	return id
}

// rootSession returns the id of the session at the root of the tree, "" for the root
// itself.
func (a *Agent) rootSession() string {
	root := ""
	for b := a.parentLink; b != nil; b = b.parent.definition().parentLink {
		root = b.parent.ID
	}
	return root
}

// A parentNow is the state of the parent's run that limits and completes a new child.
type parentNow struct {
	model    func() llm.Model // the model in use; nil if the parent no longer has it
	thinking llm.Thought      // thinking of its requests
	dir      string
	roots    []string
	rules    permission.Policy  // the parent's policy, with the mode in force
	above    permission.Decider // the same policy, evaluated at the time of each call
}

// now returns the current state of the parent's run, for a new child.
func (p *parentRun) now(f *conversation.Conversation) parentNow {
	c := f.State.Config()
	model := func() llm.Model { return p.run.x.Models.Named(f.State.Model()) }
	return parentNow{model: model, thinking: c.Thinking, dir: f.State.Dir(), roots: c.Roots,
		rules: p.inForce(f), above: subagents.ParentPolicy(parentOf{p.session})}
}

// inherit returns the agent of a child. It completes own with the parent from and the state
// of the parent's run, and limits it to what the parent may do. mode is the child's mode;
// "" is own's.
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
	own.Quota = from.Quota // all calls of the tree count
	own.Loop = cmp.Or(own.Loop, from.Loop)
	own.Compaction = cmp.Or(own.Compaction, from.Compaction)
	own.Cache.Off = own.Cache.Off || from.Cache.Off // no TTL is inherited: a child does not wait for a person
	if own.Dir == "" {
		own.Dir = now.dir
	}
	own.AdditionalDirs = slices.Concat(own.AdditionalDirs, now.roots)
	own.parentLink = &parentLink{prompt: from.promptTools()}
	if own.Tools == nil && own.Toolsets == nil {
		own.Tools, own.Toolsets, own.DeferredTools, own.DeferAbove = from.Tools, from.Toolsets, from.DeferredTools, from.DeferAbove
		own.parentLink.only = from.offered()
	}
	own.DisallowedTools = slices.Concat(own.DisallowedTools, from.DisallowedTools)

	ceiling, rules := now.rules, now.rules
	rules.Restriction = own.Permissions.Restriction // the ceiling has the parent's
	rules.Private = slices.Concat(ceiling.Private, own.Permissions.Private)
	rules.Parents = slices.Concat(ceiling.Parents, own.Permissions.Parents)
	rules.Deny, rules.Ask = joinRules(ceiling.Deny, own.Permissions.Deny), joinRules(ceiling.Ask, own.Permissions.Ask)
	rules.Mode = cmp.Or(mode, own.Permissions.Mode, ceiling.Mode)
	own.Permissions = rules.Within(ceiling)
	own.Deciders = slices.Concat(from.Deciders, []permission.Decider{now.above}, subagents.DenyOnly(own.Deciders))
	own.Hooks = slices.Concat(from.Hooks, subagents.RestrictHooks(own.Hooks))
	own.CanUseTool, own.AskUser = nil, from.AskUser // the root's callback decides for its children
	own.AllowModeChange, own.AllowRuleGrant = from.AllowModeChange, from.AllowRuleGrant
	if own.Context == nil {
		own.Context = from.Context
	}
	if own.Models == nil {
		own.Models = from.Models
	}
	own.AwaitAgents = true // its session ends with its task

	own.Retry, own.Output = cmp.Or(own.Retry, from.Retry), cmp.Or(own.Output, from.Output)
	own.Secrets = slices.Concat(own.Secrets, from.Secrets)
	own.Log = cmp.Or(own.Log, from.Log)
	if own.Trace == nil {
		own.Trace = from.Trace
	}
	own.Checkpoint = nil // the parent saved the files before the call that starts the child
	return &own
}

// offered returns the lists of tool names that limit the tools of the agent's children.
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

// inForce returns the policy that judges the parent's calls now.
func (p *parentRun) inForce(f *conversation.Conversation) permission.Policy {
	rules, more := p.session.definition().Permissions, f.State.Rules()
	rules.Allow, rules.Ask, rules.Deny = joinRules(rules.Allow, more.Allow), joinRules(rules.Ask, more.Ask), joinRules(rules.Deny, more.Deny)
	rules.Mode = f.State.Mode()
	return policies.Restrict(rules, f.State.Restriction())
}
