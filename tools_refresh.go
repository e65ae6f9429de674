package agent

import (
	"context"
	"reflect"
	"slices"
	"sort"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/driver"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// askToolsets is an effect of the run's own: the Toolsets have changed, and are asked for
// their tools.
type askToolsets struct {
	run  *activeRun
	of   llm.Model
	pool *newPool // nil: they could not be listed
}

const toolsetsKey = "toolsets"

func (*askToolsets) Key() string        { return toolsetsKey }
func (*askToolsets) Intent() event.Fact { return nil }

func (a *askToolsets) Do(ctx *driver.Context) { a.pool = a.run.x.refreshTools(ctx.Context, a.of) }

func (a *askToolsets) Facts(ending bool) []event.Fact {
	if a.pool == nil || ending {
		return nil
	}
	return a.run.takeFresh(a.pool)
}

// A newPool is what became of the tools while a run goes on.
type newPool struct {
	of      *Agent // with the Tools that it is made of
	pool    []tool.Tool
	offered []event.Tool
	system  string
}

// pollToolsets has the Toolsets asked for their tools before the model is called, where
// one of them has changed or the model is another that wants other tools. It returns
// the effect that does, or that one is pending.
func (l *activeRun) pollToolsets(effects []engine.Effect) (asked *askToolsets, waiting bool) {
	asking := l.Pending(toolsetsKey)
	if !asking && len(l.x.agent.Toolsets) == 0 && !l.x.repick && len(l.x.def().Fallbacks) == 0 || l.Context().Err() != nil {
		return nil, false
	}
	i := slices.IndexFunc(effects, func(e engine.Effect) bool {
		c, ok := e.(engine.CallModel)
		return ok && !l.Pending(c.Key())
	})
	if i < 0 {
		return nil, false
	}
	m := l.x.Models.Named(effects[i].(engine.CallModel).Model)
	if want := llm.InfoOf(m).Patches; want != l.x.patched && l.x.fallsBackTo(m) {
		l.x.repick, l.x.patched = true, want
	}
	switch {
	case asking:
		return nil, true
	case !l.x.outdated():
		return nil, false
	}
	return &askToolsets{run: l, of: m}, false
}

// fallsBackTo reports whether a model is one of the agent's fallbacks, or its own. What a
// skill wants is neither: it has the tools of the run, as going back to others would cost
// the cache of the conversation.
func (x *runSetup) fallsBackTo(m llm.Model) bool {
	a := x.def()
	same := func(o llm.Model) bool { return o.Name() == m.Name() }
	return m != nil && (same(a.Model) || slices.ContainsFunc(a.Fallbacks, same))
}

// outdated reports whether a Toolset, or what the model wants of tools, has changed
// since this was last asked, or the run began.
func (x *runSetup) outdated() bool {
	now, repick := safecall.Or(x.agent.versions, x.versions), x.repick
	x.repick = false
	if slices.Equal(now, x.versions) {
		return repick
	}
	x.versions = now
	return true
}

// refreshTools puts the tools together again. Nil: that failed, and the old ones stay.
func (x *runSetup) refreshTools(ctx context.Context, m llm.Model) *newPool {
	fresh, err := x.gatherTools(ctx, x.def(), m)
	if err != nil {
		x.Log.Warn("the tools have changed and cannot be listed", "error", x.Secrets.Text(err.Error()))
		return nil
	}
	return fresh
}

// gatherTools puts the tools of an agent together as they are now.
func (x *runSetup) gatherTools(ctx context.Context, a *Agent, m llm.Model) (*newPool, error) {
	var info llm.Info
	if m != nil {
		info = llm.InfoOf(m)
	}
	pool, err := a.poolFor(ctx, info)
	if err != nil {
		return nil, err
	}
	fresh := &newPool{of: a, system: a.instructions()}
	fresh.pool, fresh.offered = a.advertise(pool, info.Window)
	return fresh, nil
}

// takeFresh is takeTools for what a Toolset's change has led to. Where the agent was
// changed meanwhile the Toolsets are asked again.
func (l *activeRun) takeFresh(fresh *newPool) []event.Fact {
	if fresh.of != l.x.def() {
		l.x.versions, l.x.repick = nil, true
		return nil
	}
	return l.takeTools(fresh)
}

// takeTools makes a run go on with other tools. Those that the model has seen stay
// where they are and are not deferred, so that the beginning of its requests stays
// as far as it can. Calls of tools that are gone and were made before go on.
func (l *activeRun) takeTools(fresh *newPool) []event.Fact {
	l.x.TakeTools(fresh.pool)
	old := l.conv.State.Config().Tools
	place := make(map[string]int, len(old))
	for i := range old {
		place[old[i].Name] = i
	}
	at := func(t event.Tool) int {
		if i, ok := place[t.Name]; ok {
			return i
		}
		return len(old)
	}
	tools := fresh.offered
	sort.SliceStable(tools, func(i, j int) bool { return at(tools[i]) < at(tools[j]) })
	for i := range tools {
		if j := at(tools[i]); j < len(old) && !old[j].Deferred {
			tools[i].Deferred = false
		}
	}
	same := func(a, b event.Tool) bool { return reflect.DeepEqual(a, b) }
	if slices.EqualFunc(tools, old, same) && fresh.system == l.x.system {
		return nil
	}
	l.x.system = fresh.system
	return []event.Fact{event.ToolsChanged{Tools: tools, System: fresh.system}}
}
