package agent

import (
	"context"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/driver"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/secrets"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A runSetup is what a run is begun with: its agent, and the executor of its effects.
type runSetup struct {
	*executor.Executor
	agent    *Agent        // as it was when the run began
	def      func() *Agent // as it is now
	owner    *Session
	store    session.Store
	system   string   // prompt, with what the Toolsets had to say when the run began
	versions []uint64 // of the Toolsets
	repick   bool     // the tools are to be put together again, for another model
	patched  bool     // they are those of a model that writes patches
}

// prepareSetup makes a setup of the session's agent as it is now, and the tools that the
// model is offered.
func prepareSetup(ctx context.Context, s *Session) (*runSetup, []event.Tool, error) {
	a := s.def()
	if err := a.check(); err != nil {
		return nil, nil, err
	}
	hooks, err := hook.Compile(a.Hooks)
	if err != nil {
		return nil, nil, err
	}
	info := llm.InfoOf(a.Model)
	versions := a.versions()
	pool, err := a.poolFor(ctx, info)
	if err != nil {
		return nil, nil, err
	}
	pool, offered := a.advertise(pool, info.Window)
	dir, err := a.dir()
	if err != nil {
		return nil, nil, err
	}
	roots, err := a.roots(dir)
	if err != nil {
		return nil, nil, err
	}
	models := a.models()
	x := newRunSetup(s, a, hooks, secrets.Of(a.Secrets, pool, models), roots, pool, models)
	x.patched, x.versions, x.system = info.Patches, versions, a.instructions()
	x.Unreadable.Store(a.Permissions.DeniedReadPatterns(a.Deciders, roots...))
	x.Rules.Store(a.Permissions.Compile())
	return x, offered, nil
}

// newRunSetup makes a setup of an agent and of what was put together for it.
func newRunSetup(s *Session, a *Agent, hooks *hook.Set, known *secrets.Redactor, roots []string, pool []tool.Tool, models []llm.Model) *runSetup {
	x := &runSetup{agent: a, def: s.def, owner: s, store: a.Sessions}
	c := executor.Config{Driver: x, Session: s.ID, Root: a.rootSession(), Name: a.Name, Kind: a.kindOrName(), AgentID: a.childID(s.ID),
		Transcript: journalOf(a.Sessions, s.ID), Hooks: hooks, Secrets: known, Log: a.logger(), Logs: a.Log != nil, Trace: a.Trace,
		Deciders: a.Deciders, Bypass: a.Permissions.Mode == permission.Bypass, AllowModeChange: a.AllowModeChange, AllowRuleGrant: a.AllowRuleGrant,
		AskUser: a.AskUser, FindByName: a.Models, Summarizes: a.SmallModel != nil, SummarizeOver: a.SummarizeOver, Output: a.output(), Retry: a.retry().after, Roots: roots}
	if a.Checkpoint != nil {
		c.Checkpoint = x.takeCheckpoint
	}
	if len(a.Toolsets) > 0 { // no other tools have servers behind them
		c.Services = x.callServices
	}
	x.Executor = executor.New(c, pool, models)
	return x
}

func (x *runSetup) CanUseTool() executor.Callback { return executor.Callback(x.owner.callback()) }

func (x *runSetup) AskTurn(ctx context.Context) (done func(), err error) { return x.owner.person(ctx) }

func (x *runSetup) StrictestMode(mode permission.Mode) permission.Mode {
	return x.agent.strictestMode(mode)
}

func (x *runSetup) BoundsCost() bool { return x.def().Budget.USD > 0 }

func (x *runSetup) SessionTag(ctx context.Context) string {
	info, err := session.Stat(ctx, x.store, x.Session)
	if err != nil {
		return ""
	}
	return info.Tag
}

// callServices are what a call may ask of its run.
func (x *runSetup) callServices(call tool.Call, to executor.Signals) (tool.RunServices, func()) {
	host := &callHost{x: x, call: call, line: to.(*driver.Context)}
	return host, host.end
}

// notifies reports whether a tool or the inbox may have news.
func (x *runSetup) notifies() bool { return x.agent.Inbox != nil || x.Executor.Notifies() }

// output is what bounds results of tools.
func (a *Agent) output() tool.Output {
	if a.Output == nil {
		return tool.Output{}
	}
	return *a.Output
}
