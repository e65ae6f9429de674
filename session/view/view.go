// Package view folds the events of a session into the items that people see: prompts, answers,
// calls of tools, notices and ends of runs. Terminal interfaces, web pages and exports show
// the same items.
//
//	var v view.State
//	for e, err := range s.Watch(ctx, 0) {
//		if err != nil {
//			return err
//		}
//		v.Apply(e)
//		draw(v.Items, v.Questions, v.Queue)
//	}
//
// The package does no I/O, reads no clock and starts no goroutine. The texts of items come
// from models, tools and files: make them safe for the place where you show them.
package view

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A State is a session as people see it, folded from its events. The zero State is a session
// without events. Only [State.Apply] changes it: read its fields, and do not write to them. A
// State is not safe for concurrent use.
//
// The facts of a journal and the events of a stream give the same Items in the end. A stream
// adds what is not on record: a [Notice] with Seq 0, the status of calls, the Items of agents.
type State struct {
	Items     []*Item // in the order of the conversation; some at the end may not be final
	Queue     []*Item // prompts that were sent and that the model has not seen
	Questions []*Item // that wait for a person, the oldest first; those of agents are in their View
	Agents    []*Item // sub-agents, in the order of their starts
	Jobs      []*Item // calls whose commands run in the background
	Todos     []Todo  // the list of TodoWrite

	Title   string          // of the session, for people
	Mode    permission.Mode // in force now
	Model   string          // the configured one; fallbacks answer under their own name
	Running bool            // a run is in progress

	Context int // tokens of the conversation in the model's window, as far as known
	Window  int // of the model, in tokens; 0: not known

	Usage    llm.Usage // of the session so far, agents that have ended included
	CostUSD  float64   // likewise
	Unpriced bool      // CostUSD lacks calls whose price is not known

	// Version grows with each change that people can see.
	Version uint64

	fold
}

// An Item is one thing that people see. It keeps its address until a [event.Rewound], and its
// ID for good.
type Item struct {
	ID      string    // unique in the State
	Seq     int64     // of the fact that began it; 0: it is not on record (yet)
	Time    time.Time // of that fact, or of the signal that began it
	Version uint64    // another one after each change; grows
	Final   bool      // it does not change any more, except for agents in the background
	Data    Data      // what it is
}

// Data is a *[Prompt], *[Answer], *[Call], *[Agent], *[Notice] or *[End], and in
// [State].Questions a *[Question].
type Data interface{ data() }

// A Prompt is a message to the model. Neither Delivered nor Dropped, it is in the queue.
type Prompt struct {
	Message   event.UserMessage // as it was sent
	Delivered bool              // it is part of the conversation
	Dropped   bool              // the run was stopped before, or you took it back: the model never sees it
}

// An Answer is an attempt of the model to answer. Its calls are items of their own, after it.
type Answer struct {
	Model  string                  // whose answer it is
	Fact   *event.AssistantMessage // nil: it is not complete
	Failed *event.ModelFailed      // nil unless it came to nothing: its text does not count

	key            string
	text, thinking strings.Builder // streamed so far
	shown, thought string          // recorded
}

// A Call is a call of a tool.
type Call struct {
	ID  string      // of the call, such as c12.0; "" while the model writes it
	Use llm.ToolUse // as the model wrote it; without an Input while it writes

	// Phase is "waiting" before the call runs, "asking" while a person is asked, "doing",
	// and at last "success" or "error".
	Phase     event.ToolPhase
	Started   time.Time         // zero: it has not
	Status    tool.Status       // of the call while it runs
	Decisions []Decision        // about the call, in order
	Result    *event.ToolResult // nil: there is none yet
	ResultSeq int64             // of its fact
	Ended     time.Time         // when it was recorded
	// Items are what the call has started: the calls of a batch, and agents.
	Items []*Item

	input    json.RawMessage // that a decision has put in place of the model's
	written  strings.Builder
	progress int64
	asked    int // how often a person was asked
	question *Item
}

// A Decision says whether a call may run.
type Decision struct {
	Seq      int64               // of its fact
	Time     time.Time           // when it was made
	Decision permission.Decision // as it was made
	Answered bool                // it is the answer to a question
}

// A Question waits for a person. One of Permission and Asked is set.
type Question struct {
	Call       *Item                    // nil: a call that the State has not seen
	Permission *event.PermissionRequest // without suggestions until the run asks
	Asked      *event.UserQuestion
}

// An Agent is a piece of work of a sub-agent. It is in [Call].Items of its call. If the
// call had ended already, or is not known, it is an item of its own, unless it works in the
// background.
type Agent struct {
	Start event.AgentStart // what the work is
	End   *event.AgentEnd  // nil: it works
	View  *State           // the agent's session: without items if no stream or journal showed them

	call *Item
}

// A Notice is something that people see in one dim line.
type Notice struct {
	Text  string     // in words, without a period at the end
	Event event.Data // that it is about
}

// An End is the end of a run.
type End struct {
	Fact   event.RunEnd // as it is on record
	Calls  int          // that the model has made
	Denied int          // of these
	Time   Split        // where the time went
}

// A Split says where the time of a run went. Each instant counts once: for waiting only when
// nothing runs, and for the model only when no tool runs.
type Split struct {
	Waiting time.Duration // for a person
	Tools   time.Duration // calls, those of agents included
	Model   time.Duration // answers and summaries
	Retry   time.Duration // waits before the next try of a failed model call
	Other   time.Duration // hooks, checkpoints and the like
}

// A Todo is a step of the model's list.
type Todo struct {
	Text   string `json:"content"`    // what is to be done
	Active string `json:"activeForm"` // the text while the step is in progress; may be empty
	Status string `json:"status"`     // pending, in_progress or completed
}

func (*Prompt) data()   {}
func (*Answer) data()   {}
func (*Call) data()     {}
func (*Question) data() {}
func (*Agent) data()    {}
func (*Notice) data()   {}
func (*End) data()      {}

// FromUser reports whether a person has written the message, not the program.
func (p *Prompt) FromUser() bool {
	switch p.Message.Delivery {
	case "prompt", "steer", "follow_up":
		return true
	}
	return false
}

// Text returns the text so far, or all of it.
func (a *Answer) Text() string {
	if a.Fact != nil || a.Failed != nil {
		return a.shown
	}
	return a.text.String()
}

// Thinking returns the model's reasoning so far, or all of it. That of a failed attempt is
// not kept.
func (a *Answer) Thinking() string {
	if a.Fact != nil || a.Failed != nil {
		return a.thought
	}
	return a.thinking.String()
}

// Input returns the input that the tool runs with, as far as known: a person or a hook may have
// replaced the model's. It is nil while the model writes it.
func (c *Call) Input() json.RawMessage {
	if c.input != nil {
		return c.input
	}
	return c.Use.Input
}

// Written returns the input that the model has written so far: JSON without its end. It is empty
// once the call is complete.
func (c *Call) Written() string {
	if c.ID != "" {
		return ""
	}
	return c.written.String()
}

// Denied reports whether the call was refused.
func (c *Call) Denied() bool { return c.Result != nil && c.Result.Cause == "denied" }

// Diff returns the diff that the tool has left in the details of its result, "" for none.
func (c *Call) Diff() string {
	if c.Result == nil || len(c.Result.Result.Details) == 0 {
		return ""
	}
	var d struct{ Diff string }
	if json.Unmarshal(c.Result.Result.Details, &d) != nil {
		return ""
	}
	return d.Diff
}
