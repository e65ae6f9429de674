package toolapi

import (
	"context"
	"time"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A Spawner starts agents for the tool Agent. It decides their permissions. They are
// never wider than the parent's, even if a [Spawn] asks for more.
type Spawner interface {
	// Offer lists the types of agents. It must not change during a prompt.
	Offer() Offer
	// Spawn runs an agent to its end, or starts it if s.Background is set. If ctx ends
	// before it returns, it ends the agent. For a call that it has seen before, as after a
	// crash, it continues with the agent that it started then. The model reads the error.
	Spawn(ctx context.Context, s Spawn) (*Spawned, error)
}

// A SubagentChecker is a [Spawner] that knows its mistakes, or the tool Agent for one. An agent
// with these tools and known names asks it before its first prompt.
type SubagentChecker interface {
	CheckSubagents(ctx context.Context, tools []tool.Tool, known []string) (warnings []string, err error)
}

// An Offer is the list of agents that a [Spawner] can start.
type Offer struct {
	Types      []AgentType // at least one; the first is the one unless another is asked for
	Models     []string    // that may be asked for; nil: any
	Isolations []string    // such as "worktree"; nil: none
	Background bool        // agents can run in the background
}

// An AgentType is a kind of agent.
type AgentType struct {
	Name        string
	Description string // when to use it, a line
	// ReadOnly: its tools change nothing. Such agents run beside others, in plan mode,
	// and again after a crash.
	ReadOnly bool
	Isolated bool     // each works in a worktree of its own, which the call makes
	Tools    []string // names of the tools that it brings along; nil: it has its parent's
}

// A Spawn asks for an agent. Empty fields leave the choice to the [Spawner].
type Spawn struct {
	Call        tool.Call // of the tool: session, agent and mode of the parent
	Prompt      string
	Description string // the task, in a few words
	Type        string // the name of an AgentType
	Model       string
	Name        string // unique among the running agents
	MaxTurns    int
	Background  bool
	Isolation   string // of Offer.Isolations
	Team        string // id or name of a team that it joins
	Mode        permission.Mode
	// Resume is the id of an agent of this type that has ended, which continues with
	// Prompt. The id of an agent of another type is refused: rules judged this one.
	Resume string
}

// A Spawned agent has come to its end, or is running in the background.
type Spawned struct {
	ID       string         // for Resume, and for TaskOutput and TaskStop while it runs
	Text     string         // its last answer
	Note     string         // further notes, such as where its changes are
	Tools    map[string]int // calls that ran, by tool
	Running  bool
	Failure  string // why it did not do its work, "" if it did
	Turns    int
	Usage    llm.Usage
	CostUSD  *float64 // nil: not known
	Duration time.Duration
}

// Background is work that continues beside the conversation of a session.
type Background interface {
	// Output shows the new output of the work of an id, after waiting up to wait for its
	// end. Nil without an error: there is no such work.
	Output(ctx context.Context, call tool.Call, id string, wait time.Duration) (*tool.Result, error)
	// Stop ends the work and shows its last output. Nil without an error: there is
	// no such work.
	Stop(ctx context.Context, call tool.Call, id string) (*tool.Result, error)
}

// An OwnerStopper is a [Background] that knows which agents it runs.
type OwnerStopper interface {
	// StopOwner ends the work of an agent, by its name, and returns a sentence about it; ""
	// if that agent does not run here.
	StopOwner(ctx context.Context, call tool.Call, owner string) (string, error)
}

// Agents are what a manager of sub-agents has for the tools.
type Agents interface {
	Spawner
	Background
	OwnerStopper
	// EndSession ends the agents of a session and forgets it.
	EndSession(session string) error
}
