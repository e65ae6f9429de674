package subagents

import (
	"context"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A Child is a sub-agent and its task, with everything that package subagent sets. Its
// agent and its prompt are types of the root package.
type Child[Agent, Input any] struct {
	Agent   Agent
	Name    string // the child's name; "" is Agent's name
	Call    string // id of the tool call that starts it
	Session string // id of the child's session; "" derives it
	Input   Input
	// Mode is the child's permission mode. "" is the mode of Agent, otherwise the parent's
	// current mode. The child never gets a mode that permits more than the parent's.
	Mode permission.Mode
	// Watch, unless nil, gets the events of the child's run, one at a time, in order.
	Watch func(event.Event)
	// Note, unless nil, returns a text for the parent's model, to add to the last answer of
	// a background agent. It is called once, when the task has ended.
	Note func() string
	// Apart says that the call may start several such agents, so each session id is derived
	// from the id of the Input.
	Apart bool
}

// A ParentRun is a run that starts children, and knows those that it has started.
type ParentRun[Agent, Input, Result any] interface {
	// Session returns the id of the run's session.
	Session() string
	// Depth returns the number of agents above the run's agent: 0 at the root.
	Depth() int
	// Agent returns the run's agent. Do not change it.
	Agent() Agent
	// Run runs a child and waits for the result. Once the child's run has begun, there is
	// one.
	Run(ctx context.Context, c Child[Agent, Input]) (Result, error)
	// Start runs a child in the background, until the parent's session is closed, and
	// returns the id of the child's session. When the child ends, it calls done, unless nil.
	Start(ctx context.Context, c Child[Agent, Input], done func(Result, error)) (id string, err error)
	// Stop stops a background child, given the id of its session. It reports whether the
	// child was working.
	Stop(id string) bool
	// Working reports whether a child is working, given the id of its session.
	Working(id string) bool
	// Ready waits until children may begin. After an interrupt, that is the next run.
	Ready(ctx context.Context) error
	// Life returns a context that ends when the parent's session is closed.
	Life() context.Context
	// Go calls fn in a goroutine. ctx ends when the parent's session is closed, and Close
	// waits for fn. Go reports false if the session is already closed.
	Go(fn func(ctx context.Context)) bool
	// Notify calls the hooks for an event of the host. It logs errors.
	Notify(in hook.Input)
	// Model returns the model with the given name, if the parent has it or can get it.
	Model(name string) (llm.Model, error)
	// Last returns the end of a child's last task, and the text of its last answer. child is
	// the id of its session, or its name. If several children have that name, the one that
	// began last counts. Last fails with [session.ErrNotFound].
	Last(ctx context.Context, child string) (event.AgentEnd, string, error)
	// Child describes the session of a child, working or not. It fails with
	// [session.ErrNotFound].
	Child(ctx context.Context, id string) (session.Info, error)
	// Assigned returns the session id of the child that a call starts. It is the same id
	// each time.
	Assigned(ctx context.Context, call string) (string, error)
	// Tools returns the tools that the parent's model can call, in order.
	Tools() []tool.Tool
}
