// Package replay runs recorded sessions again, without a key and without touching the world.
//
// The model's answers and the results of tools come from the record. The engine, permissions,
// hooks and limits are those of your agent as it is now. So you see which change of your
// program would have changed a session:
//
//	s := replay.Session{Agent: a, Store: store, ID: id}
//	differences, err := s.Replay(ctx)
//
// [Model] and [Tools] are the parts for runs of your own, such as in a test.
package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/rerun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A Session is a recorded session to run again.
type Session struct {
	// Agent is the agent as it is now: system prompt, tools, rules, hooks, Deciders. Its models
	// and its callbacks are not called, and its tools do not run. The model, the permission
	// mode, the folders and the limits of each prompt come from the record.
	Agent *agent.Agent
	Store session.Store // has the session; nil: the Agent's Sessions
	ID    string        // of the session
	// RunTool reports whether a call runs for real, so that its result is compared as well. Nil:
	// no call does.
	RunTool func(tool.Call) bool
	// Watch, unless nil, gets each fact of the record once it was compared, and the texts of
	// answers before.
	Watch func(event.Event)
}

// A Difference is a point at which your agent now does something else than the record says.
// The replay continues from there with what is on record.
type Difference struct {
	Session  string `json:"session"`            // the session, or that of a sub-agent
	Seq      int64  `json:"seq"`                // number of the fact
	Kind     string `json:"kind"`               // of the fact
	Field    string `json:"field,omitempty"`    // of the fact, such as decision.behavior; "": the whole fact
	Recorded string `json:"recorded,omitempty"` // the value on record; "": none
	Replayed string `json:"replayed,omitempty"` // the value now; "": none
	Why      string `json:"why,omitempty"`      // in words, if the fact itself is missing or not expected
}

// String is the difference in one line.
func (d Difference) String() string {
	at := fmt.Sprintf("fact %d (%s)", d.Seq, d.Kind)
	if d.Why != "" {
		return at + ": " + d.Why
	}
	return fmt.Sprintf("%s: %s: recorded %s, now %s", at, d.Field, orNone(d.Recorded), orNone(d.Replayed))
}

func orNone(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// Replay runs the session again, with its sub-agents. It returns where the agent now does
// something else, in the order of the record: the first one is where they begin to differ. It
// fails with [session.ErrNotFound] if there is no such session, and if the Agent cannot be
// prepared.
func (s *Session) Replay(ctx context.Context) ([]Difference, error) {
	if s.Agent == nil {
		return nil, errors.New("replay: the Session has no Agent; set it to the agent to replay with")
	}
	a := *s.Agent
	if s.Store != nil {
		a.Sessions = s.Store
	}
	if a.Sessions == nil {
		return nil, errors.New("replay: there is no store to read the session from; set Store, or the Agent's Sessions")
	}
	all := &recording{models: map[string]llm.Info{}, traits: map[[2]string]tool.Traits{}, run: s.RunTool, watch: s.Watch}
	world := &rerun.World{Model: all.model, Callback: all.callback, RunTool: all.runTool, Traits: func(call tool.Call) tool.Traits { return all.traits[[2]string{call.Session, call.ID}] }, Checkpoint: all.checkpoint}
	p := &player{recording: all, id: s.ID, store: a.Sessions}
	if err := p.read(ctx); err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	p.session = agent.Rerun(&a, s.ID, world)
	if err := p.play(ctx); err != nil {
		return all.differences, fmt.Errorf("replay: session %s: %w", s.ID, err)
	}
	return all.differences, nil
}

// configured returns the first configuration on record, nil if there is none.
func (p *player) configured() *fact.Configured {
	for _, e := range p.facts {
		if c, ok := e.Data.(fact.Configured); ok {
			return &c
		}
	}
	return nil
}
