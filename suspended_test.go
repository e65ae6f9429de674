package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/account"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A suspended run uses none of its time. Its cost and turns count once when it continues.
func TestSuspendedRunCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := session.Memory()
		work := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
			time.Sleep(20 * time.Second)
			return tool.Text("ok"), nil
		})
		a := &agent.Agent{Model: llmtest.Script(uses("write"), uses("write"), say("done")), Tools: []tool.Tool{work}, Sessions: store,
			CanUseTool: answer(permission.Defer()), Budget: agent.Budget{Time: time.Minute}}
		s := a.Session("s")
		_, err := s.Prompt(t.Context(), "go")
		for range 2 {
			if !errors.Is(err, agent.ErrSuspended) {
				t.Fatalf("the run should wait for a decision: %v", err)
			}
			s.Close()
			time.Sleep(24 * time.Hour)
			s = a.Session("s")
			pending, failed := s.Pending(t.Context())
			if failed != nil || len(pending) != 1 {
				t.Fatalf("%v, %v", pending, failed)
			}
			if failed := s.Decide(t.Context(), pending[0].Call.ID, permission.Allow()); failed != nil {
				t.Fatal(failed)
			}
			err = nil
			for _, failed := range s.Resume(t.Context()) {
				err = errors.Join(err, failed)
			}
		}
		defer s.Close()
		if err != nil {
			t.Fatalf("the run was suspended for two days, and worked for 40 s of its minute: %v", err)
		}
		res := s.Result()
		if res.Reason != event.Completed || res.Turns != 3 || res.Duration != 40*time.Second {
			t.Errorf("%+v", res)
		}
		book, err := account.Read(store.Read(t.Context(), "s", 0))
		if err != nil {
			t.Fatal(err)
		}
		if c := book.Cost(); c.Prompts != 1 || c.Turns != 3 || c.Usage != res.Usage {
			t.Errorf("one prompt of 3 turns is counted as %d prompts, %d turns, %+v", c.Prompts, c.Turns, c.Usage)
		}
	})
}
