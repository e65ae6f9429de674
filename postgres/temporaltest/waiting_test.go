//go:build unix

package temporaltest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/enums/v1"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/postgres/internal/pgtest"
	"github.com/openagent-go/agent/tool"
)

// TestWaiting: a session that waits for a person has no worker, no workflow and no connection.
func TestWaiting(t *testing.T) {
	t.Run("table", func(t *testing.T) { waiting(t, table(), nil) })
	t.Run("temporal", func(t *testing.T) {
		c, queue := dialed(t), newQueue()
		waiting(t, onTemporal(c, queue), func() bool {
			d, err := c.DescribeWorkflowExecution(t.Context(), "openagent/"+queue+"/s", "")
			if err != nil {
				t.Fatal(err)
			}
			return d.WorkflowExecutionInfo.Status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
		})
	})
}

// waiting waits until over says that the engine is done with the session.
func waiting(t *testing.T, e engine, over func() bool) {
	if server == nil {
		t.Skip(pgtest.ErrNone)
	}
	url := server.Database(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	count := func(statement string) (n int) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), statement).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	until := func(what string, holds func() bool) {
		t.Helper()
		for n := 0; !holds(); n++ {
			if n == 2000 {
				t.Fatalf("%s: not in time", what)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	// played lets a worker play until done.
	played := func(play func(c *durable.Client)) {
		db, err := postgres.Open(t.Context(), url, postgres.Options{Lease: beat})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		w := &durable.Worker{Backend: db, Linger: -1, Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
			write := tool.New(tool.Spec{Name: "write"}, func(context.Context, tool.Call, number) (*tool.Result, error) { return tool.Text("done"), nil })
			return durable.Hosted{Agent: &agent.Agent{Program: "test", Tools: []tool.Tool{write},
				Model: &llmtest.Model{Rule: llmtest.Rule(func(r *llmtest.Request, _ int) llmtest.Step {
					if len(r.AllResults()) == 0 {
						return llmtest.Call(llmtest.Use("", "write", number{1}))
					}
					return llmtest.Say("done")
				})}}}, nil
		}}
		ctx, stop := context.WithCancel(t.Context())
		var working sync.WaitGroup
		working.Go(func() {
			if err := e.run(ctx, w); err != nil {
				t.Error(err)
			}
		})
		defer working.Wait()
		defer stop()
		play(&durable.Client{Backend: db, Engine: e.wake(db)})
	}
	var call string
	played(func(c *durable.Client) {
		if _, err := c.Send(t.Context(), "s", "p", durable.Prompt{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		until("a question", func() bool {
			q, err := c.Questions(t.Context(), "s")
			if err == nil && len(q) == 1 {
				call = q[0].Call
			}
			return call != ""
		})
		until("nobody has the session", func() bool {
			return count(`SELECT count(*) FROM openagent.sessions WHERE lease IS NOT NULL`) == 0 && count(`SELECT count(*) FROM openagent.wakes`) == 0 && (over == nil || over())
		})
	})
	until("no connection", func() bool {
		return count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`) == 0
	})
	played(func(c *durable.Client) {
		if _, err := c.Send(t.Context(), "s", "", durable.Decide{Call: call, Decision: permission.Allow()}); err != nil {
			t.Fatal(err)
		}
		if end, err := c.Wait(t.Context(), "s", "p"); err != nil || end.Reason != event.Completed || end.Text != "done" {
			t.Errorf("the run ended as %s: %s, %v", end.Reason, end.Message, err)
		}
	})
}
