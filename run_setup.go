package agent

import (
	"context"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/secrets"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A runSetup is what a run is begun with: its agent, and the executor of its effects.
type runSetup struct {
	*executor
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
	x.unreadable.Store(a.Permissions.DeniedReadPatterns(a.Deciders, roots...))
	x.rules.Store(a.Permissions.Compile())
	return x, offered, nil
}

// newRunSetup makes a setup of an agent and of what was put together for it.
func newRunSetup(s *Session, a *Agent, hooks *hook.Set, known *secrets.Redactor, roots []string, pool []tool.Tool, models []llm.Model) *runSetup {
	x := &runSetup{agent: a, def: s.def, owner: s, store: a.Sessions}
	x.executor = newExecutor(execConfig{driver: x, session: s.ID, root: a.rootSession(), name: a.Name, kind: a.kindOrName(), agentID: a.childID(s.ID),
		transcript: journalOf(a.Sessions, s.ID), hooks: hooks, secrets: known, log: a.logger(), logs: a.Log != nil, trace: a.Trace,
		deciders: a.Deciders, bypass: a.Permissions.Mode == permission.Bypass, allowModeChange: a.AllowModeChange, allowRuleGrant: a.AllowRuleGrant,
		askUser: a.AskUser, findByName: a.Models, summarizes: a.SmallModel != nil, summarizeOver: a.SummarizeOver, output: a.output(), retry: a.retry().after, roots: roots}, pool, models)
	return x
}

func (x *runSetup) canUseTool() execCallback { return execCallback(x.owner.callback()) }

func (x *runSetup) askTurn(ctx context.Context) (done func(), err error) { return x.owner.person(ctx) }

func (x *runSetup) strictestMode(mode permission.Mode) permission.Mode {
	return x.agent.strictestMode(mode)
}

func (x *runSetup) boundsCost() bool { return x.def().Budget.USD > 0 }

func (x *runSetup) sessionTag(ctx context.Context) string {
	info, err := session.Stat(ctx, x.store, x.session)
	if err != nil {
		return ""
	}
	return info.Tag
}

// services are for tools of Toolsets: no other tools have servers behind them.
func (x *runSetup) services(call tool.Call, to signals) (tool.RunServices, func()) {
	n, ok := to.(*effectContext)
	if !ok || len(x.agent.Toolsets) == 0 {
		return nil, nil
	}
	host := &callHost{x: x, call: call, line: n}
	return host, host.end
}

// notifies reports whether a tool or the inbox may have news.
func (x *runSetup) notifies() bool { return x.agent.Inbox != nil || x.executor.notifies() }

// output is what bounds results of tools.
func (a *Agent) output() tool.Output {
	if a.Output == nil {
		return tool.Output{}
	}
	return *a.Output
}
