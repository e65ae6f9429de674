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
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A Child is an agent that works for another one, its parent.
type Child struct {
	// Agent is what it is. Of what it leaves out, its parent's count: models, tools,
	// directory, limits of results and tries. Its own tools, rules, policies and hooks
	// are bounded by its parent's, see [Parent]: what its policies and hooks allow, and
	// rules and modes that its hooks set to allow more, do not count. Its callbacks are
	// not called.
	Agent *Agent
	Name  string // what it is called; "" is Agent's name
	Call  string // the call of the tool that starts it
	// Session is the id of its own session: "" is one that follows from Call, so that a
	// call which is repeated after a crash finds its agent again. A child that has
	// worked before goes on with what it knows.
	Session string
	// Input is what it is to do. Its ID names this piece of work; "" is Call. Work that
	// is on record is not done again: what it came to is returned, and work that was
	// cut short goes on.
	Input Input
	// Mode is the permission mode it is to have; "" is that of Agent, else the parent's
	// as it is now. The parent's bounds it.
	Mode permission.Mode
	// Watch, unless nil, sees the events of its run, one at a time, in order.
	Watch func(event.Event)
	// apart: the call may start several such agents, so that each has a session that
	// follows from Input.ID.
	apart bool
	// Note, unless nil, says what the parent's model is to be told beside the last
	// answer of work in the background. It is called once, when the work has ended.
	Note func() string
}

// A Parent is a run that agents can be put to work for. A child may do nothing that
// its parent may not: the parent's rules, mode, policies and callback judge its calls
// as well, its hooks are called, and a share of what is left of its budget bounds
// the child's. What the child uses counts for the parent, whose end ends it.
type Parent struct {
	session *Session
	loop    *activeRun
}

// ParentOf returns the run that a call of a tool belongs to, from the context that
// the tool got.
func ParentOf(ctx context.Context) (*Parent, bool) {
	l, ok := driver.HostOf(ctx).(*activeRun)
	if !ok {
		return nil, false
	}
	return &Parent{l.s, l}, true
}

// Session returns the id of the run's session.
func (p *Parent) Session() string { return p.session.ID }

// Depth returns how many agents the run's agent works for: 0 at the root.
func (p *Parent) Depth() int {
	n := 0
	for b := p.session.def().parentLink; b != nil; b = b.parent.def().parentLink {
		n++
	}
	return n
}

// Agent returns the run's agent, not to be changed.
func (p *Parent) Agent() *Agent { return p.session.def() }

// ErrShare is matched where nothing is left of the budget that a child could use.
var ErrShare = errors.New("nothing is left of the budget for another agent")

// ErrKind is matched where a child is to go on as another kind of agent.
var ErrKind = errors.New("it is another kind of agent")

// Run puts a child to work and waits for the result, which is not nil once its run
// has begun. It fails with [ErrShare], and as [Session.Prompt] does.
func (p *Parent) Run(ctx context.Context, c Child) (*Result, error) {
	id, err := p.idOf(ctx, c)
	if err != nil {
		return nil, err
	}
	ctx, leave, err := p.session.subagents().Begin(ctx, subagents.Work{Key: c.key(), Name: c.called(), Session: id})
	if err != nil {
		return nil, err
	}
	defer leave()
	w, err := p.prepareSubagent(ctx, c, id, false)
	if err != nil {
		return nil, stopCause(ctx, err)
	}
	res, err := w.do(ctx)
	if w.suspended(res) && p.suspendCall(w) {
		return res, err
	}
	end, _ := w.ended(res, err)
	recorded := p.session.withRun(context.WithoutCancel(ctx), func(l *activeRun) error {
		if _, ended := l.conv.State.Agents().Worked(w.key); ended { // before a crash
			return nil
		}
		return l.Commit(end)
	})
	if recorded != nil && !errors.Is(recorded, ErrNotRunning) {
		err = errors.Join(err, recorded)
	}
	return res, err
}

// Start puts a child to work in the background, until the parent's session is
// closed, and returns its session's id. When it ends, done is called, unless nil, and
// the parent's model is told: in the run that goes on, else in the next one, once,
// also if the program dies meanwhile. Work whose end is on record is not done again.
func (p *Parent) Start(ctx context.Context, c Child, done func(*Result, error)) (id string, err error) {
	if id, err = p.idOf(ctx, c); err != nil {
		return "", err
	}
	life, leave, err := p.session.subagents().Begin(ctx, subagents.Work{Key: c.key(), Name: c.called(), Session: id, Background: true})
	if err != nil {
		return "", err
	}
	w, err := p.prepareSubagent(ctx, c, id, true)
	if err != nil {
		leave()
		return "", err
	}
	if a := w.session.def(); a.Trace != nil {
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

// Stop ends a child in the background and reports whether it was at work.
func (p *Parent) Stop(id string) bool {
	return p.session.subagents().StopBackground(id, ErrAgentStopped)
}

// Working reports whether a child is on record as being at work.
func (p *Parent) Working(id string) bool {
	return slices.ContainsFunc(p.session.Children(), func(at event.AgentStart) bool { return at.Session == id })
}

// Life returns a context that ends when the parent's session is closed.
func (p *Parent) Life() context.Context { return p.session.subagents().Context() }

// Go calls fn beside the parent's runs. The parent's session waits for its end when it
// is closed, after which ctx has ended. It reports false once the session is closed.
func (p *Parent) Go(fn func(ctx context.Context)) bool {
	return p.session.subagents().Go(fn)
}

// Notify calls the hooks of an event of the host's, see [Session.Hook].
func (p *Parent) Notify(in hook.Input) {
	if _, err := p.session.Hook(p.Life(), in); err != nil {
		p.loop.x.Log.Warn("hooks were not called", "event", in.Event, "error", err)
	}
}

// Model returns the model of a name: one that the parent has, or can get.
func (p *Parent) Model(name string) (llm.Model, error) { return p.loop.x.Models.Find(name) }

// Last reads what the last piece of a child's work came to, with the text of its last
// answer. The child is named by its session's id, or by its name: then it is the one that
// began last. It fails with [session.ErrNotFound].
func (p *Parent) Last(ctx context.Context, child string) (event.AgentEnd, string, error) {
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
	if !known { // the conversation was rewound past it, or there is none
		info, err := p.Child(ctx, child)
		if err != nil {
			return event.AgentEnd{}, "", err
		}
		at.Session = child
		if info.Agent != nil {
			at.Agent = info.Agent.Name
		}
	}
	end, text, _ := subagents.LastResult(ctx, p.session.childStore(p.loop.x.store), at)
	if recorded != nil {
		end.Reason, end.Message = recorded.Reason, recorded.Message
	}
	return end, text, nil
}

// Child describes the session of a child, at work or not. It fails with
// [session.ErrNotFound].
func (p *Parent) Child(ctx context.Context, id string) (session.Info, error) {
	info, err := session.Stat(ctx, p.session.childStore(p.loop.x.store), id)
	if err != nil {
		return session.Info{}, fmt.Errorf("agent: looking for the agent %s: %w", id, err)
	}
	return info, nil
}

// prepareSubagent makes a child's session and records that it is put to work.
func (p *Parent) prepareSubagent(ctx context.Context, c Child, id string, background bool) (*subagentTask, error) {
	name := c.called()
	c.Input.ID = c.key()
	w := &subagentTask{parent: p, key: c.Input.ID, name: name, call: c.Call, input: c.Input, watch: c.Watch, note: c.Note, background: background}
	if w.key == "" {
		return nil, fmt.Errorf("agent: starting %s: neither Call nor Input.ID says what work it is", name)
	}
	if err := session.CheckID(id); err != nil {
		return nil, fmt.Errorf("agent: starting %s: %w", name, err)
	}
	store := p.session.childStore(p.loop.x.store)
	if c.Session != "" {
		info, err := session.Stat(ctx, store, id)
		if err != nil {
			return nil, fmt.Errorf("agent: sending %s back to work: %w", id, err)
		}
		if info.Agent == nil || info.Agent.Kind != c.Agent.Name {
			return nil, fmt.Errorf("agent: sending %s back to work: %w", id, ErrKind)
		}
	}
	agents := p.session.subagents()
	err := p.session.withSession(ctx, func(f *conversation.Conversation, record func(...event.Fact) error) error {
		w.toolID = f.ProviderID(c.Call)
		own := inherit(p.session.def(), *c.Agent, c.Mode, p.now(f))
		own.Sessions = store
		own.Name = name
		start := event.AgentStart{Key: w.key, Call: c.Call, Session: id, Agent: name, Background: background}
		limits := own.limits()
		var begun, ok bool
		if begun, w.over, ok = subagents.Reserve(f.State, now(), &start, &limits); !ok {
			return fmt.Errorf("agent: starting %s: %w", name, ErrShare)
		}
		own.Budget = Budget{Turns: limits.Turns, ModelCalls: limits.ModelCalls, USD: limits.USD, Time: limits.Time}
		own.parentLink = &parentLink{parent: p.session, call: c.Call, kind: cmp.Or(c.Agent.Name, "agent"), only: own.parentLink.only, turns: limits.OwnTurns}
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

// key names the piece of work.
func (c *Child) key() string { return cmp.Or(c.Input.ID, c.Call) }

func (c *Child) called() string { return cmp.Or(c.Name, c.Agent.Name, "agent") }

// idOf is the id of a child's session: in a fork, an agent that was put to work before
// keeps the one that it had.
func (p *Parent) idOf(ctx context.Context, c Child) (string, error) {
	if c.Session != "" {
		return c.Session, nil
	}
	id := ""
	err := p.session.withSession(ctx, func(f *conversation.Conversation, _ func(...event.Fact) error) error {
		id = f.State.Agents().Worker(c.key())
		return nil
	})
	word := c.Call
	if c.apart {
		word = c.key()
	}
	return cmp.Or(id, session.DerivedID(p.session.ID, word)), err
}

// Assigned returns the id of the session that an agent has which a call starts: the
// same one each time.
func (p *Parent) Assigned(ctx context.Context, call string) (string, error) {
	return p.idOf(ctx, Child{Call: call})
}

// Tools returns the tools that the parent's model can call, in order.
func (p *Parent) Tools() []tool.Tool { return slices.Clone(p.loop.x.EveryTool()) }
