package agent

import (
	"context"
	"reflect"
	"slices"
	"sort"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/driver"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// askToolsets is an effect of the host: it asks changed Toolsets for their tools.
type askToolsets struct {
	run      *activeRun
	of       llm.Model
	resolved *resolvedTools // nil: listing failed
}

const toolsetsKey = "toolsets"

func (*askToolsets) Key() string        { return toolsetsKey }
func (*askToolsets) Intent() event.Fact { return nil }

func (a *askToolsets) Do(ctx *driver.Context) { a.resolved = a.run.x.refreshTools(ctx.Context, a.of) }

func (a *askToolsets) Facts(ending bool) []event.Fact {
	if a.resolved == nil || ending {
		return nil
	}
	return a.run.takeFresh(a.resolved)
}

// GaveUp leaves the tools as they are until a Toolset changes again.
func (a *askToolsets) GaveUp() {}

// resolvedTools are the tools of a run after a change.
type resolvedTools struct {
	of      *Agent // the agent with these Tools, without the options of the prompt
	tools   []tool.Tool
	offered []fact.Tool
	system  string
}

// pollToolsets returns the effect that asks the Toolsets for their tools. It runs before a
// model call if a Toolset has changed, or if the new model needs other tools. waiting: the
// effect is already pending.
func (l *activeRun) pollToolsets(effects []engine.Effect) (asked *askToolsets, waiting bool) {
	asking := l.Pending(toolsetsKey)
	if !asking && len(l.x.agent.Toolsets) == 0 && !l.x.repick && len(l.x.definition().Fallbacks) == 0 || l.Context().Err() != nil {
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

// fallsBackTo reports whether a model is the agent's model or one of its fallbacks. The
// model of a skill is neither. It keeps the tools of the run, because a change back would
// cost the cache of the conversation.
func (x *runSetup) fallsBackTo(m llm.Model) bool {
	a := x.definition()
	same := func(o llm.Model) bool { return o.Name() == m.Name() }
	return m != nil && (same(a.Model) || slices.ContainsFunc(a.Fallbacks, same))
}

// outdated reports whether a Toolset, or the model's need for other tools, has changed
// since the last call or the start of the run.
func (x *runSetup) outdated() bool {
	now, repick := safecall.Or(x.agent.versions, x.versions), x.repick
	x.repick = false
	if slices.Equal(now, x.versions) {
		return repick
	}
	x.versions = now
	return true
}

// refreshTools gathers the tools again. Nil: that failed, and the old tools stay.
func (x *runSetup) refreshTools(ctx context.Context, m llm.Model) *resolvedTools {
	fresh, err := x.gatherTools(ctx, x.owner.definition(), m)
	if err != nil {
		x.Log.Warn("the tools have changed and cannot be listed", "error", x.Secrets.Text(err.Error()))
		return nil
	}
	return fresh
}

// gatherTools gathers the current tools of an agent, within the options of the prompt.
func (x *runSetup) gatherTools(ctx context.Context, base *Agent, m llm.Model) (*resolvedTools, error) {
	a := base.within(x.limits)
	var info llm.Info
	if m != nil {
		info = llm.InfoOf(m)
	}
	resolved, err := a.toolsFor(ctx, info)
	if err != nil {
		return nil, err
	}
	fresh := &resolvedTools{of: base, system: a.instructions()}
	fresh.tools, fresh.offered = a.advertise(resolved, info.Window)
	return fresh, nil
}

// takeFresh is takeTools for the tools of changed Toolsets. If the agent was changed in
// between, the Toolsets are asked again.
func (l *activeRun) takeFresh(fresh *resolvedTools) []event.Fact {
	if fresh.of != l.x.owner.definition() {
		l.x.versions, l.x.repick = nil, true
		return nil
	}
	return l.takeTools(fresh)
}

// takeTools replaces the tools of a run. Tools that the model has seen keep their place and
// stay visible, so that requests keep their beginning and the provider's cache stays valid.
// Calls of removed tools that were made before continue.
func (l *activeRun) takeTools(fresh *resolvedTools) []event.Fact {
	l.x.TakeTools(fresh.tools)
	old := l.conv.State.Config().Tools
	place := make(map[string]int, len(old))
	for i := range old {
		place[old[i].Name] = i
	}
	at := func(t fact.Tool) int {
		if i, ok := place[t.Name]; ok {
			return i
		}
		return len(old)
	}
	tools := fresh.offered
	sort.Stable(order.By(len(tools), func(i, j int) bool { return at(tools[i]) < at(tools[j]) }, func(i, j int) { tools[i], tools[j] = tools[j], tools[i] }))
	for i := range tools {
		if j := at(tools[i]); j < len(old) && !old[j].Deferred {
			tools[i].Deferred = false
		}
	}
	same := func(a, b fact.Tool) bool { return reflect.DeepEqual(a, b) }
	if slices.EqualFunc(tools, old, same) && fresh.system == l.x.system {
		return nil
	}
	l.x.system = fresh.system
	return []event.Fact{fact.ToolsChanged{Tools: tools, System: fresh.system}}
}
