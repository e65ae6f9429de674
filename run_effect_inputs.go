package agent

import (
	"slices"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// prepare adds to an effect what it needs of the conversation.
func (l *activeRun) prepare(j *executor.Input) {
	switch e := j.Effect.(type) {
	case engine.CallModel:
		j.Model = l.x.Models.Named(e.Model)
		j.Request = l.state.request(e)
		j.Request.Session = l.s.ID
	case engine.Authorize:
		j.Call = l.call(e.Call, e.Dir, e.Mode)
	case engine.Ask:
		j.Call = l.open(e.Call)
		j.Judged(l.state.state.Call(e.Call))
	case engine.RunTool:
		j.Call = l.call(e.Call, e.Dir, e.Mode)
		j.Judged(l.state.state.Call(e.Call))
		j.ID = l.state.transcript.Call(e.Call).Use.ID
	case engine.AskPerson:
		j.Call = l.open(e.Call)
		j.Done = l.state.transcript.Call(e.Call).Done
	case engine.Digest:
		j.Model = l.x.Models.Named(e.Model)
		j.Call = l.open(e.Call)
		j.Done = l.state.transcript.Call(e.Call).Done
	case engine.Compact:
		j.Model = l.x.Models.Named(e.Model)
		j.Short = l.state.shorten(e)
	case engine.Cut:
		j.Cutting = l.state.transcript.Cut(e)
	case engine.GatherResults:
		j.Call = l.open(e.Call)
		j.Done = &event.ToolDone{Result: l.state.transcript.Gather(e.Call)}
	case engine.RunHooks:
		j.Call = l.open(e.Call)
		j.Done = l.state.transcript.Call(e.Call).Done
	case engine.CallHooks:
		j.Input = l.hookInput(e)
	case engine.CheckOutput:
		j.Answer = l.candidate(e)
	}
}

// takeRules lets the executor know of the rules that hooks have added, and of what
// skills let run.
func (l *activeRun) takeRules() {
	more := l.state.state.Rules()
	if len(more.Allow)+len(more.Ask)+len(more.Deny) == 0 && l.told.restriction == nil && !l.told.rulesChanged {
		return
	}
	l.told.rulesChanged = true
	p := l.x.agent.Permissions
	p.Allow, p.Ask, p.Deny = slices.Concat(p.Allow, more.Allow), slices.Concat(p.Ask, more.Ask), slices.Concat(p.Deny, more.Deny)
	p.Bound = l.told.restriction
	l.x.Rules.Store(p.Compile())
	l.x.Unreadable.Store(p.DeniedReadPatterns(l.x.agent.Deciders, l.x.Roots...))
}

// request builds the next request from the conversation.
func (f *sessionState) request(e engine.CallModel) *llm.Request {
	t, c := &f.transcript, f.state.Config()
	forced := c.ToolChoice.Mode == llm.ChooseAny || c.ToolChoice.Mode == llm.ChooseTool
	if forced && f.state.Turns() > 0 { // only the first answer: later ones must be able to end the run
		c.ToolChoice = llm.ToolChoice{}
	}
	n := len(t.Messages)
	r := &llm.Request{System: t.System, Messages: t.Messages[:n:n], Tools: t.Tools, MaxTokens: e.MaxTokens,
		Temperature: c.Temperature, ToolChoice: c.ToolChoice, Stop: c.Stop, Thinking: c.Thinking, Cache: c.Cache, Memo: &f.memo}
	if o := f.state.Output(); o != nil {
		f.shaped(r, o)
	}
	return r
}

// open returns an open call, where the run is now.
func (l *activeRun) open(id string) tool.Call {
	return l.call(id, l.state.state.Dir(), l.state.state.Mode())
}

func (l *activeRun) call(id, dir string, mode permission.Mode) tool.Call {
	c := l.state.transcript.Call(id)
	return tool.Call{ID: id, Name: c.Name, Input: slices.Clone(c.Input), Session: l.s.ID, Root: l.x.agent.rootSession(), Agent: l.x.agent.Name, Dir: dir, Mode: mode,
		State: l.state.transcript.State(c.Name), Scopes: l.state.state.Scopes(), Unreadable: l.x.Unreadable.Load()}
}

// providerID is the provider's id of a call, "" if it is none of the last answer.
func (f *sessionState) providerID(call string) string {
	if c := f.transcript.Call(call); c != nil {
		return c.Use.ID
	}
	return ""
}
