package conversation

import (
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Prepare adds to an effect the parts of the conversation that it needs. x will carry it
// out.
func (c *Conversation) Prepare(x *executor.Executor, j *executor.Input) {
	switch e := j.Effect.(type) {
	case engine.CallModel:
		j.Model = x.Models.Named(e.Model)
		j.Request = c.request(e)
		j.Request.Session = x.Session
	case engine.Authorize:
		c.call(x, &j.Call, e.Call, e.Dir, e.Mode)
	case engine.Ask:
		c.open(x, j, e.Call)
		status := c.State.Call(e.Call)
		j.Class, j.Verdict = status.Traits, &status.Decision
	case engine.RunTool:
		c.call(x, &j.Call, e.Call, e.Dir, e.Mode)
		status := c.State.Call(e.Call)
		j.Class, j.Expires = status.Traits, status.Decision.Expires
		j.Foreign = status.Approved > 0 && status.Approved <= c.Forked && (status.Begun == 0 || status.Begun > c.Forked)
		j.ID = c.Transcript.Call(e.Call).Use.ID
	case engine.AskPerson:
		c.open(x, j, e.Call)
	case engine.Digest:
		j.Model = x.Models.Named(e.Model)
		c.open(x, j, e.Call)
	case engine.Compact:
		j.Model = x.Models.Named(e.Model)
		j.Short = c.shorten(e)
	case engine.Cut:
		j.Cutting = new(c.Transcript.Cut(e))
	case engine.GatherResults:
		c.open(x, j, e.Call)
		j.Done = &fact.ToolDone{Result: c.Transcript.Gather(e.Call)}
	case engine.RunHooks:
		c.open(x, j, e.Call)
	case engine.CallHooks:
		j.Input = c.hookInput(x, e)
	case engine.CheckOutput:
		j.Answer = c.candidate(e)
	}
}

// request builds the next request from the conversation.
func (c *Conversation) request(e engine.CallModel) *llm.Request {
	t, config := &c.Transcript, c.State.Config()
	forced := config.ToolChoice.Mode == llm.ChooseAny || config.ToolChoice.Mode == llm.ChooseTool
	if forced && c.State.Turns() > 0 { // force a tool only in the first answer: later ones must be able to end the run
		config.ToolChoice = llm.ToolChoice{}
	}
	n := len(t.Messages)
	r := &llm.Request{System: t.System, Messages: t.Messages[:n:n], Tools: t.Tools, MaxTokens: e.MaxTokens,
		Temperature: config.Temperature, ToolChoice: config.ToolChoice, Stop: config.Stop, Thinking: config.Thinking, Cache: config.Cache, Memo: &c.memo}
	if o := c.State.Output(); o != nil {
		c.askForOutput(r, o)
	}
	return r
}

// Open returns an open call, with the run's current folder and mode.
func (c *Conversation) Open(x *executor.Executor, id string) (call tool.Call) {
	c.call(x, &call, id, c.State.Dir(), c.State.Mode())
	return call
}

// open gives an effect its open call, and the call's result before hooks, if any.
func (c *Conversation) open(x *executor.Executor, j *executor.Input, id string) {
	c.call(x, &j.Call, id, c.State.Dir(), c.State.Mode())
	j.Done = c.Transcript.Call(id).Done
}

// call makes call the open call with the given id.
//
//go:noinline // called from many places: every program stays smaller
func (c *Conversation) call(x *executor.Executor, call *tool.Call, id, dir string, mode permission.Mode) {
	p := c.Transcript.Call(id)
	*call = tool.Call{ID: id, Name: p.Name, Input: slices.Clone(p.Input), Session: x.Session, Root: x.Root, Agent: x.Name, Dir: dir, Mode: mode,
		State: c.Transcript.State(p.Name), Scopes: c.State.Scopes(), Unreadable: x.Unreadable.Load()}
}

// Question returns a call that waits for a person's decision, and the key of the question.
func (c *Conversation) Question(x *executor.Executor, id string) (call tool.Call, key string, ok bool) {
	status := c.State.Call(id)
	if status.Question == "" || status.Asks {
		return tool.Call{}, "", false
	}
	return c.Open(x, id), status.Question, true
}

// Asked returns the questions of a call's tool that wait for answers, nil if there are none.
func (c *Conversation) Asked(id string) []tool.Question {
	if status := c.State.Call(id); status.Question == "" || !status.Asks {
		return nil
	}
	return c.Transcript.Call(id).Done.Result.Questions
}

// Questions returns the questions that wait for a person, each as a function. A function
// may read files for a preview, so call it without the token.
func (c *Conversation) Questions(x *executor.Executor) []func() event.PermissionRequest {
	var out []func() event.PermissionRequest
	for _, id := range c.State.Asking() {
		status, call := c.State.Call(id), c.Open(x, id)
		if questions := c.Asked(id); questions != nil {
			out = append(out, func() event.PermissionRequest { return event.PermissionRequest{Call: call, Questions: questions} })
			continue
		}
		out = append(out, func() event.PermissionRequest { return x.Request(call, status.Traits, status.Decision) })
	}
	return out
}
