package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/driver"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/internal/subagents"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A Child is a sub-agent and its task. It works for another agent, its parent.
type Child struct {
	// Agent is the child's configuration. Missing parts come from the parent: models,
	// tools, directory, output limits and retries. The parent limits the child's own tools,
	// rules, Deciders and hooks, see [Parent]. Deciders and hooks of the child cannot allow
	// anything. Rules and modes that its hooks set cannot allow more. Its callbacks are not
	// called.
	//
	// The child's permission mode is that of its Permissions, otherwise the parent's current
	// mode. The child never gets a mode that permits more than the parent's.
	Agent *Agent
	Call  string // id of the tool call that starts it
	// Session is the id of the child's session. "" derives the id from Call, so a call that
	// is repeated after a crash finds its agent again. A child that has worked before keeps
	// its conversation.
	Session string
	// Input is the task. Its ID identifies the task; "" means Call. A task that is on
	// record is not done again: its result is returned. An unfinished task continues.
	Input Input
}

// A Parent is a run that can start sub-agents, its children. A child may do only what its
// parent may do. The parent's rules, mode, Deciders and callback judge the child's calls
// too, and the parent's hooks are called.
//
// The child gets a share of the parent's remaining budget. Its usage counts for the parent.
// When the parent ends, its children end.
type Parent struct{ run *parentRun }

// ParentOf returns the run of a tool call, from the context that the tool got. ok is false
// for any other context.
func ParentOf(ctx context.Context) (p *Parent, ok bool) {
	l, ok := driver.HostOf(ctx).(*activeRun)
	if !ok {
		return nil, false
	}
	return &Parent{&parentRun{l.s, l}}, true
}

// Run runs a child and waits for the result. Once the child's run has begun, the result is
// not nil. Run fails with an error, and with the errors of [Session.Prompt].
func (p *Parent) Run(ctx context.Context, c Child) (*Result, error) {
	return p.run.Run(ctx, c.child())
}

// Start runs a child in the background, until the parent's session is closed, and returns
// the id of the child's session. When the child ends, Start calls done, unless nil. The
// parent's model gets a notice once, in the current run or in the next one, even if the
// program dies in between. A task whose end is on record is not done again.
func (p *Parent) Start(ctx context.Context, c Child, done func(*Result, error)) (id string, err error) {
	return p.run.Start(ctx, c.child(), done)
}

func (c Child) child() child {
	return child{Agent: c.Agent, Call: c.Call, Session: c.Session, Input: c.Input}
}

// child is a [Child] with all that package subagent sets.
type child = subagents.Child[*Agent, Input]

// parentRun is the whole of a [Parent]. It implements [subagents.ParentRun].
type parentRun struct {
	session *Session
	run     *activeRun
}

// ParentRun returns the run as package subagent uses it.
func (l *activeRun) ParentRun() subagents.ParentRun[*Agent, Input, *Result] {
	return &parentRun{l.s, l}
}

// Session returns the id of the run's session.
func (p *parentRun) Session() string { return p.session.ID }

// Depth returns the number of agents above the run's agent: 0 at the root.
func (p *parentRun) Depth() int {
	n := 0
	for b := p.session.definition().parentLink; b != nil; b = b.parent.definition().parentLink {
		n++
	}
	return n
}

// Agent returns the run's agent. Do not change it.
func (p *parentRun) Agent() *Agent { return p.session.definition() }

// errShare says that the budget has nothing left for a child.
var errShare = errors.New("nothing is left of the budget for another agent")

// errKind says that an Agent of another name is to continue a child's session.
var errKind = errors.New("it is another kind of agent")

// Run runs a child and waits for the result. Once the child's run has begun, the result is
// not nil. Run fails with an error, and with the errors of [Session.Prompt].
func (p *parentRun) Run(ctx context.Context, c child) (*Result, error) {
	id, err := p.idOf(ctx, c)
	if err != nil {
		return nil, err
	}
	ctx, leave, err := p.session.subagents().Begin(ctx, subagents.Work{Key: keyOf(&c), Name: nameOf(&c), Session: id})
	if err != nil {
		return nil, err
	}
	defer leave()
	w, err := p.prepareSubagent(ctx, c, id, false)
	if err != nil {
		return nil, stopCause(ctx, err)
	}
	res, err := w.do(ctx)
	if errors.Is(err, ErrDetached) {
		p.repeatCall(w)
		return res, err
	}
	if w.suspended(res) && p.suspendCall(w) {
		return res, err
	}
	end, _ := w.ended(res, err)
	recorded := p.session.withRun(context.WithoutCancel(ctx), func(l *activeRun) error {
		if _, ended := l.conv.State.Agents().Worked(w.key); ended { // recorded before a crash
			return nil
		}
		return l.Commit(end)
	})
	if recorded != nil && !errors.Is(recorded, ErrNotRunning) {
		err = errors.Join(err, recorded)
	}
	return res, err
}

// Start runs a child in the background, until the parent's session is closed, and returns
// the id of the child's session. When the child ends, Start calls done, unless nil. The
// parent's model gets a notice once, in the current run or in the next one, even if the
// program dies in between. A task whose end is on record is not done again.
func (p *parentRun) Start(ctx context.Context, c child, done func(*Result, error)) (id string, err error) {
	if id, err = p.idOf(ctx, c); err != nil {
		return "", err
	}
	life, leave, err := p.session.subagents().Begin(ctx, subagents.Work{Key: keyOf(&c), Name: nameOf(&c), Session: id, Background: true})
	if err != nil {
		return "", err
	}
	w, err := p.prepareSubagent(ctx, c, id, true)
	if err != nil {
		leave()
		return "", err
	}
	if a := w.session.definition(); a.Trace != nil {
		a.parentLink.origin = ctx
	}
	go func() {
		defer leave()
		res, err := w.do(life)
		if !w.over {
			p.session.settle(w, res, err)
		}
		if done != nil {
			safecall.Or(func() bool { done(res, err); return true }, false)
		}
	}()
	return w.session.ID, nil
}

// Stop stops a background child, given the id of its session. It reports whether the child
// was working.
func (p *parentRun) Stop(id string) bool {
	return p.session.subagents().StopBackground(id, subagents.ErrStopped)
}

// Working reports whether a child is working, given the id of its session.
func (p *parentRun) Working(id string) bool {
	return slices.ContainsFunc(p.session.Children(), func(at event.AgentStart) bool { return at.Session == id })
}

// Life returns a context that ends when the parent's session is closed.
func (p *parentRun) Life() context.Context { return p.session.subagents().Context() }

// Go calls fn in a goroutine. ctx ends when the parent's session is closed, and Close waits
// for fn. Go reports false if the session is already closed.
func (p *parentRun) Go(fn func(ctx context.Context)) bool {
	return p.session.subagents().Go(fn)
}

// Notify calls the hooks for an event of the host, see [Session.Hook]. It logs errors.
func (p *parentRun) Notify(in hook.Input) {
	if _, err := p.session.Hook(p.Life(), in); err != nil {
		p.run.x.Log.Warn("hooks were not called", "event", in.Event, "error", err)
	}
}

// Model returns the model with the given name, if the parent has it or can get it.
func (p *parentRun) Model(name string) (llm.Model, error) { return p.run.x.Models.Find(name) }

// Last returns the end of a child's last task, and the text of its last answer. child is
// the id of its session, or its name. If several children have that name, the one that
// began last counts. Last fails with [session.ErrNotFound].
func (p *parentRun) Last(ctx context.Context, child string) (event.AgentEnd, string, error) {
	var at event.AgentStart
	var recorded *event.AgentEnd
	known := false
	err := p.session.withSession(ctx, func(f *conversation.Conversation, _ func(...event.Fact) error) error {
		at, recorded, known = f.State.Agents().LastWork(child)
		return nil
	})
	if err != nil {
		return event.AgentEnd{}, "", err
	}
	if !known { // the conversation was rewound past it, or there is no such child
		info, err := p.Child(ctx, child)
		if err != nil {
			return event.AgentEnd{}, "", err
		}
		at.Session = child
		if info.Agent != nil {
			at.Agent = info.Agent.Name
		}
	}
	end, text, _ := subagents.LastResult(ctx, p.session.childStore(p.run.x.store), at)
	if recorded != nil {
		end.Reason, end.Message = recorded.Reason, recorded.Message
	}
	return end, text, nil
}

// Child describes the session of a child, working or not. It fails with
// [session.ErrNotFound].
func (p *parentRun) Child(ctx context.Context, id string) (session.Info, error) {
	info, err := session.Stat(ctx, p.session.childStore(p.run.x.store), id)
	if err != nil {
		return session.Info{}, fmt.Errorf("agent: looking for the agent %s: %w", id, err)
	}
	return info, nil
}

// prepareSubagent makes a child's session and records the start of its task.
func (p *parentRun) prepareSubagent(ctx context.Context, c child, id string, background bool) (*subagentTask, error) {
	name := nameOf(&c)
	c.Input.ID = keyOf(&c)
	w := &subagentTask{parent: p, key: c.Input.ID, name: name, call: c.Call, input: c.Input, watch: c.Watch, note: c.Note, background: background}
	if w.key == "" {
		return nil, fmt.Errorf("agent: starting %s: neither Call nor Input.ID says what work it is", name)
	}
	if err := session.CheckID(id); err != nil {
		return nil, fmt.Errorf("agent: starting %s: %w", name, err)
	}
	store := p.session.childStore(p.run.x.store)
	if c.Session != "" {
		info, err := session.Stat(ctx, store, id)
		if err != nil {
			return nil, fmt.Errorf("agent: sending %s back to work: %w", id, err)
		}
		if info.Agent == nil || info.Agent.Kind != c.Agent.Name {
			return nil, fmt.Errorf("agent: sending %s back to work: %w", id, errKind)
		}
	}
	agents := p.session.subagents()
	err := p.session.withSession(ctx, func(f *conversation.Conversation, record func(...event.Fact) error) error {
		w.toolID = f.ProviderID(c.Call)
		if c.Session != "" && subagents.Suspended(f.State, id, w.key) {
			return fmt.Errorf("agent: sending %s back to work: %w about one of its calls; the agent continues after that", id, ErrSuspended)
		}
		own := inherit(p.run.x.definition(), c.Agent.copied(), c.Mode, p.now(f))
		own.Sessions = store
		own.Name = name
		start := event.AgentStart{Key: w.key, Call: c.Call, Session: id, Agent: name, Background: background}
		limits := own.limits()
		var begun, ok bool
		if begun, w.over, ok = subagents.Reserve(f.State, now(), &start, &limits); !ok {
			return fmt.Errorf("agent: starting %s: %w", name, errShare)
		}
		if err := w.input.check(); err != nil && !begun {
			return fmt.Errorf("agent: starting %s: its task: %w", name, err)
		}
		own.Budget = Budget{Turns: limits.Turns, ModelCalls: limits.ModelCalls, USD: limits.USD, Time: limits.Time}
		own.parentLink = &parentLink{parent: p.session, defined: c.Agent, call: c.Call, toolID: w.toolID, kind: cmp.Or(c.Agent.Name, "agent"), only: own.parentLink.only, prompt: own.parentLink.prompt, turns: limits.OwnTurns}
		if err := own.check(); err != nil {
			return err
		}
		w.session = own.Session(id)
		agents.Attach(w.key, w.session)
		if begun {
			return nil
		}
		return record(start)
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// keyOf identifies the task.
func keyOf(c *child) string { return cmp.Or(c.Input.ID, c.Call) }

func nameOf(c *child) string { return cmp.Or(c.Name, c.Agent.Name, "agent") }

// idOf returns the id of a child's session. In a fork, a child keeps the id that it had.
func (p *parentRun) idOf(ctx context.Context, c child) (string, error) {
	if c.Session != "" {
		return c.Session, nil
	}
	id := ""
	err := p.session.withSession(ctx, func(f *conversation.Conversation, _ func(...event.Fact) error) error {
		id = f.State.Agents().Worker(keyOf(&c))
		return nil
	})
	word := c.Call
	if c.Apart {
		word = keyOf(&c)
	}
	return cmp.Or(id, session.DerivedID(p.session.ID, word)), err
}

// Assigned returns the session id of the child that a call starts. It is the same id each
// time.
func (p *parentRun) Assigned(ctx context.Context, call string) (string, error) {
	return p.idOf(ctx, child{Call: call})
}

// Tools returns the tools that the parent's model can call, in order.
func (p *parentRun) Tools() []tool.Tool { return slices.Clone(p.run.x.EveryTool()) }
