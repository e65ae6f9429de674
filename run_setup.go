package agent

import (
	"context"

	"github.com/openagent-go/agent/internal/driver"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/secrets"
	"github.com/openagent-go/agent/internal/toolhost"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A runSetup holds the agent of a run and the executor of its effects.
type runSetup struct {
	*executor.Executor
	agent    *Agent // as it was when the run began, within the options of the prompt
	base     *Agent // agent without the options
	owner    *Session
	store    session.Store
	system   string      // system prompt, with the instructions of the Toolsets at the start of the run
	versions []uint64    // versions of the Toolsets
	repick   bool        // the tools must be gathered again, for another model
	patched  bool        // the tools are for a model that writes patches
	limits   *liveLimits // options of the prompt; nil: none
}

// definition returns the current agent, within the options of the prompt.
func (x *runSetup) definition() *Agent { return x.owner.definition().within(x.limits) }

// prepareSetup returns a setup of the agent, which is the session's, and the tools to offer
// to the model. limits are the options of the prompt. first: no prompt of the Session has
// begun yet, so names of tools are checked.
func prepareSetup(ctx context.Context, s *Session, base *Agent, limits *promptLimits, first bool) (*runSetup, []fact.Tool, error) {
	if err := base.check(); err != nil {
		return nil, nil, err
	}
	live := limits.live()
	a := base.within(live)
	if live != nil {
		if err := a.check(); err != nil {
			return nil, nil, err
		}
	}
	hooks, err := hookrun.Compile(a.Hooks)
	if err != nil {
		return nil, nil, err
	}
	info := llm.InfoOf(a.Model)
	versions := a.versions()
	resolved, err := a.collect(ctx)
	if err != nil {
		return nil, nil, err
	}
	if first {
		if err := a.tellNames(ctx, s.ID, resolved); err != nil {
			return nil, nil, err
		}
	}
	if resolved, err = a.choose(resolved, info); err != nil {
		return nil, nil, err
	}
	live.checked()
	resolved, offered := a.advertise(resolved, info.Window)
	dir, err := a.dir()
	if err != nil {
		return nil, nil, err
	}
	roots, err := a.roots(dir)
	if err != nil {
		return nil, nil, err
	}
	models := a.models()
	x := newRunSetup(s, a, hooks, secrets.Of(a.Secrets, resolved, models), roots, resolved, models)
	x.base, x.limits = base, live
	x.patched, x.versions, x.system = info.Patches, versions, a.instructions()
	x.Unreadable.Store(policies.Unreadable(a.Permissions, a.Deciders, roots...))
	x.Rules.Store(policies.Compile(a.Permissions))
	return x, offered, nil
}

// newRunSetup returns a setup of an agent with the given hooks, secrets, roots, tools and
// models.
func newRunSetup(s *Session, a *Agent, hooks *hookrun.Set, known *secrets.Redactor, roots []string, resolved []tool.Tool, models []llm.Model) *runSetup {
	x := &runSetup{agent: a, base: a, owner: s, store: a.Sessions}
	c := executor.Config{Driver: x, Session: s.ID, Root: a.rootSession(), Name: a.Name, Kind: a.kindOrName(), AgentID: a.childID(s.ID),
		Transcript: journalOf(a.Sessions, s.ID), Hooks: hooks, Secrets: known, Log: a.logger(), Logs: a.Log != nil, Trace: a.Trace,
		Deciders: a.Deciders, Bypass: a.Permissions.Mode == permission.Bypass, AllowModeChange: a.AllowModeChange, AllowRuleGrant: a.AllowRuleGrant,
		AskUser: a.AskUser, FindByName: a.Models, Summarizes: a.SmallModel != nil, SummarizeOver: a.SummarizeOver, Output: a.output(), Retry: a.retry().after, Roots: roots}
	if a.Quota != nil {
		c.Meter = a.Quota.Meter
	}
	if a.Checkpoint != nil {
		c.Checkpoint = x.takeCheckpoint
	}
	if len(a.Toolsets) > 0 { // only their tools have servers
		c.Services = x.callServices
	}
	x.Executor = executor.New(c, resolved, models)
	return x
}

// CanUseTool returns the callback. A denial that interrupts the run stops background agents too.
func (x *runSetup) CanUseTool() executor.Callback {
	ask := x.owner.callback()
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
		d, err := ask(ctx, call, verdict)
		if err == nil && d.Interrupt && d.Behavior == permission.Denied {
			x.owner.interruptAgents()
		}
		return d, err
	}
}

func (x *runSetup) AskTurn(ctx context.Context) (done func(), err error) { return x.owner.person(ctx) }

func (x *runSetup) StrictestMode(mode permission.Mode) permission.Mode {
	return x.agent.strictestMode(mode)
}

func (x *runSetup) BoundsCost() bool { return x.definition().Budget.USD > 0 }

func (x *runSetup) SessionTag(ctx context.Context) string {
	info, err := session.Stat(ctx, x.store, x.Session)
	if err != nil {
		return ""
	}
	return info.Tag
}

// callServices returns the services of the run for a call, and the function that ends them.
func (x *runSetup) callServices(call tool.Call, to executor.Signals) (toolhost.RunServices, func()) {
	host := &callHost{x: x, call: call, line: to.(*driver.Context)}
	return host, host.end
}

// notifies reports whether a tool or the inbox may have notices.
func (x *runSetup) notifies() bool { return x.agent.Inbox != nil || x.Executor.Notifies() }

// output returns the limits of tool results.
func (a *Agent) output() tool.Output {
	if a.Output == nil {
		return tool.Output{}
	}
	return *a.Output
}
