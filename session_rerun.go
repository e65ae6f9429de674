package agent

import (
	"cmp"
	"context"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/rerun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// Rerun returns a session of the agent whose facts are applied from its record. It is for
// package replay: see replay.Session, which programs use.
func Rerun(a *Agent, id string, w *rerun.World) rerun.Session { return rerunOf(a, id, w) }

// A rerunSession is a session whose facts are applied from its record, for package replay. Its
// runs have a host and an executor, and no driver. It reads the agent's store and never writes.
type rerunSession struct {
	s     *Session
	agent *Agent
	world *rerun.World
	run   *activeRun // nil before the first
}

func rerunOf(a *Agent, id string, w *rerun.World) *rerunSession {
	own := a.copied()
	own.Trace, own.Quota, own.Inbox, own.Context = nil, nil, nil, nil
	if own.Sessions == nil {
		own.Sessions = a.keptSessions()
	}
	r := &rerunSession{s: own.Session(id), agent: &own, world: w}
	r.s.state = &sessionState{Conversation: conversation.New()}
	return r
}

func (r *rerunSession) Conversation() *conversation.Conversation { return &r.s.state.Conversation }

func (r *rerunSession) Executor() *executor.Executor {
	if r.run == nil {
		return nil
	}
	return r.run.x.Executor
}

// Begin implements [rerun.Session]. The choices of the person who prompted come from the
// record: model, mode, folders and the options of the prompt.
func (r *rerunSession) Begin(ctx context.Context, recorded *fact.Configured) (fact.Configured, error) {
	if recorded == nil {
		recorded = new(r.s.state.State.Config())
	}
	own := *r.agent
	own.Model, own.Fallbacks, own.SmallModel = r.world.Model(recorded.Model), nil, nil
	for _, name := range recorded.Fallbacks {
		own.Fallbacks = append(own.Fallbacks, r.world.Model(name))
	}
	if recorded.Small != "" {
		own.SmallModel = r.world.Model(recorded.Small)
	}
	own.Models = func(name string) (llm.Model, error) { return r.world.Model(name), nil }
	own.Permissions.Mode = cmp.Or(recorded.Mode, own.Permissions.Mode)
	own.Compaction = nil // the engine takes it from the record, with a model by its name
	own.Budget = Budget{}
	if len(recorded.Roots) > 0 {
		own.Dir, own.AdditionalDirs = recorded.Roots[0], recorded.Roots[1:]
	}
	r.answer(&own, recorded.Tools)
	if recorded.Checkpoints {
		own.Checkpoint = func(context.Context, CheckpointPlace) (string, error) { return "", nil }
	}
	var limits *promptLimits
	if p := recorded.Prompt; p != nil {
		limits = &promptLimits{PromptOptions: *p}
		if p.Model != "" {
			limits.model = r.world.Model(recorded.Model)
		}
		limits.Limits = fact.Limits{}
	}
	r.s.agent.Store(&own)
	x, offered, err := prepareSetup(ctx, r.s, &own, limits, false)
	if err != nil {
		return fact.Configured{}, err
	}
	if recorded.Checkpoints {
		x.Checkpoint = r.world.Checkpoint
	}
	x.Driver = rerunDriver{x, r.world}
	x.RunTool, x.Meter, x.Services = r.world.RunTool, nil, nil
	x.Output = tool.Output{Lines: -1, Bytes: -1} // results on record are within the limits
	x.Retry = nil
	mode := recorded.Mode
	x.Mode.Store(&mode)
	r.run = &activeRun{s: r.s, x: x, state: r.s.state, conv: &r.s.state.Conversation}
	r.s.active = r.run
	r.run.takeRules()
	return fact.Configured{System: x.system, Tools: offered, Hooks: x.Hooks.Events()}, nil
}

// answer lets the agent have a person to ask if the recorded tools include one that needs
// that.
func (r *rerunSession) answer(own *Agent, recorded []fact.Tool) {
	needs, had := false, false
	for _, t := range own.Tools {
		if s := t.Spec(); s.NeedsPerson {
			needs = true
			had = had || slices.ContainsFunc(recorded, func(f fact.Tool) bool { return f.Name == s.Name })
		}
	}
	switch {
	case had && own.AskUser == nil:
		own.AskUser = func(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) { return nil, ErrSuspended }
	case needs && !had:
		own.AskUser = nil
	}
}

// Apply implements [rerun.Session].
func (r *rerunSession) Apply(e event.Event, path func() []event.Event) {
	c := r.Conversation()
	if _, rewound := e.Data.(event.Rewound); rewound {
		forked, named := c.Forked, c.Named
		*c = conversation.New()
		for _, e := range path() {
			c.Apply(e)
		}
		c.Last, c.Forked, c.Named = e.Seq, forked, named
		return
	}
	c.Apply(e)
	if r.run == nil {
		return
	}
	mode := c.State.Mode()
	r.run.x.Mode.Store(&mode)
	r.run.Applied(e.Data.(event.Fact))
}

// Child implements [rerun.Session]. The definition of the sub-agent is not on record: its
// system prompt and the names of its tools are.
func (r *rerunSession) Child(start event.AgentStart, recorded *fact.Configured) rerun.Session {
	p := &parentRun{r.s, r.run}
	definition := Agent{Name: start.Agent, System: recorded.System}
	own := inherit(r.s.definition(), definition, recorded.Mode, p.now(r.Conversation()))
	own.Name = start.Agent
	own.Sessions = r.s.childStore(r.s.store())
	for _, t := range recorded.Tools {
		own.AllowedTools = append(own.AllowedTools, t.Name)
		if r.run.x.Tool(t.Name) == nil {
			own.Tools = append(slices.Clip(own.Tools), recordedTool{t, r.world})
		}
	}
	own.parentLink = &parentLink{parent: r.s, defined: &definition, call: start.Call, kind: recorded.Agent, only: own.parentLink.only, prompt: own.parentLink.prompt}
	return rerunOf(own, start.Session, r.world)
}

// A recordedTool stands for a tool of a sub-agent's own definition.
type recordedTool struct {
	fact.Tool
	world *rerun.World
}

func (t recordedTool) Spec() tool.Spec {
	return tool.Spec{Name: t.Name, Aliases: t.Aliases, Description: t.Description, Input: t.Input, ReadOnly: t.ReadOnly, Idempotent: t.Idempotent, Barrier: t.Barrier, Deferred: t.Deferred}
}

func (t recordedTool) Classify(call tool.Call) tool.Traits { return t.world.Traits(call) }

func (t recordedTool) Run(context.Context, tool.Call) (*tool.Result, error) {
	return tool.Errorf("the tool %s is only on record", t.Name), nil
}

// A rerunDriver answers for the driver of a run in the words of the record.
type rerunDriver struct {
	*runSetup
	world *rerun.World
}

func (d rerunDriver) CanUseTool() executor.Callback { return d.world.Callback() }

func (d rerunDriver) AskTurn(context.Context) (done func(), err error) { return func() {}, nil }
