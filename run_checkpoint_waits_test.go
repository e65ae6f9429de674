package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// An agent that waits for a decision changes no files. So files can be rewound to a fact at which one
// waited, unless it has continued since.
func TestCheckpointBeforeWaitingAgent(t *testing.T) {
	for name, c := range map[string]struct{ background, rewind, resume bool }{
		"closed": {}, "background closed": {background: true},
		"rewound": {rewind: true}, "background rewound": {background: true, rewind: true},
		"resumed": {resume: true}, "background resumed": {background: true, resume: true},
	} {
		t.Run(name, func(t *testing.T) {
			store := session.Memory()
			w := write(func(context.Context, tool.Call, int) (*tool.Result, error) { return tool.Text("wrote"), nil })
			kind := &agent.Agent{Name: "helper", Model: byTurn(t, uses("write"), say("helped")), Tools: []tool.Tool{w}}
			a := &agent.Agent{Model: byTurn(t, delegates(1), say("end"), say("end"), say("end"), say("end")), Tools: []tool.Tool{delegate(kind, c.background), w},
				Sessions: store, AwaitAgents: true, CanUseTool: deferAsked,
				Checkpoint: func(_ context.Context, at agent.CheckpointPlace) (string, error) {
					return fmt.Sprint("k", at.Prompt), nil
				}}
			s := a.Session("s")
			defer s.Close()
			if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
				t.Fatal(err)
			}
			waits := int64(len(history(t, store, "s")))
			if id, err := s.CheckpointBefore(t.Context(), waits); id != "" || err != nil {
				t.Errorf("while it waits: %q, %v", id, err)
			}
			var want error
			switch {
			case c.rewind:
				if err := s.Rewind(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
			case c.resume:
				pending, err := s.Pending(t.Context())
				if err != nil || len(pending) != 1 {
					t.Fatal(pending, err)
				}
				if err := s.Decide(t.Context(), pending[0].Call.ID, permission.Allow()); err != nil {
					t.Fatal(err)
				}
				resume(t, s)
				want = agent.ErrNoCheckpoint
			default:
				if _, err := s.Prompt(t.Context(), "talk"); err != nil {
					t.Fatal(err)
				}
			}
			for seq := waits; seq < waits+3; seq++ { // to behind the end that a new prompt records
				if c.resume && seq > waits {
					break
				}
				if id, err := s.CheckpointBefore(t.Context(), seq); id != "" || !errors.Is(err, want) {
					t.Errorf("fact %d: %q, %v", seq, id, err)
				}
			}
		})
	}
}
