// Package rerun lets package replay carry out the effects of a session's runs one at a time,
// in the order of its record. Package agent implements it.
package rerun

import (
	"context"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// A World stands for everything outside of the agent.
type World struct {
	// Model returns a model that is called by nobody: it has the name and the description of
	// the one on record.
	Model func(name string) llm.Model
	// Callback returns the callback for the effect that is carried out, nil for none.
	Callback func() executor.Callback
	// RunTool runs a call.
	RunTool func(ctx context.Context, t tool.Tool, call tool.Call) toolrun.Outcome
	// Traits returns the recorded effects of a call, for a tool that only its sub-agent has.
	Traits func(call tool.Call) tool.Traits
	// Checkpoint saves the files.
	Checkpoint func(context.Context, engine.TakeCheckpoint) (string, error)
}

// A Session is a session of an agent that runs nothing by itself.
type Session interface {
	// Conversation returns the state of the session. Add facts with Apply.
	Conversation() *conversation.Conversation
	// Begin prepares the agent for a run with the recorded configuration. recorded is nil for
	// a run that is resumed. It returns the agent's own configuration: system prompt, tools
	// and events of hooks.
	Begin(ctx context.Context, recorded *fact.Configured) (fact.Configured, error)
	// Executor carries out the effects of the run, nil before the first.
	Executor() *executor.Executor
	// Apply applies a recorded fact. path is the list of facts up to it that count, and is
	// asked for after a rewind alone.
	Apply(e event.Event, path func() []event.Event)
	// Child returns the session of a sub-agent that the run has started. recorded is the
	// first configuration on its record.
	Child(start event.AgentStart, recorded *fact.Configured) Session
}
