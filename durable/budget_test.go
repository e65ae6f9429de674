package durable_test

import (
	"context"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// TestBudgetUSDOnly: a new amount leaves the other limits of the agent.
func TestBudgetUSDOnly(t *testing.T) {
	db, queue := &durabletest.Memory{}, &durabletest.Queue{}
	look := tool.Func(tool.Spec{Name: "look", ReadOnly: true}, func(context.Context, struct{}) (string, error) { return "seen", nil })
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		queue.Run(ctx, context.Background(), &durable.Worker{Backend: db.Connect(), Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
			return durable.Hosted{Agent: &agent.Agent{Budget: agent.Budget{Turns: 2}, Tools: []tool.Tool{look}, Permissions: permission.Policy{Allow: []permission.Rule{"look"}},
				Model: &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step { return llmtest.Call(llmtest.Use("", "look", struct{}{})) }}}}, nil
		}})
	}()
	defer func() { stop(); <-ended }()
	backend := db.Connect()
	client := &durable.Client{Backend: backend, Engine: queue}
	if _, err := client.Send(ctx, "s", "", durable.SetBudget{USDOnly: true}); err != nil {
		t.Fatal(err)
	}
	end, err := client.Prompt(ctx, "s", "p", "look")
	if err != nil || end.Reason != event.MaxTurns {
		t.Fatalf("%+v, %v", end, err)
	}
}

// TestRewindKeepsTheMode: a rewind to a time of a mode that permitted more does not bring the mode back.
func TestRewindKeepsTheMode(t *testing.T) {
	db, queue := &durabletest.Memory{}, &durabletest.Queue{}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		queue.Run(ctx, context.Background(), &durable.Worker{Backend: db.Connect(), Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
			return durable.Hosted{Agent: &agent.Agent{Program: "p", Model: llmtest.Script(llmtest.Say("One."), llmtest.Say("Two."), llmtest.Say("Three."))}}, nil
		}})
	}()
	defer func() { stop(); <-ended }()
	backend := db.Connect()
	client := &durable.Client{Backend: backend, Engine: queue}
	say := func(c durable.Command) {
		t.Helper()
		id, err := client.Send(ctx, "s", "", c)
		for err == nil {
			var done bool
			if done, err = client.Settled(ctx, "s", id); done {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	last := func() (n int64) {
		for e, err := range backend.Store("", nil).Read(ctx, "s", 0) {
			if err != nil {
				t.Fatal(err)
			}
			n = e.Seq
		}
		return n
	}
	say(durable.SetMode{Mode: permission.AcceptEdits})
	if _, err := client.Prompt(ctx, "s", "one", "hello"); err != nil {
		t.Fatal(err)
	}
	to := last()
	say(durable.SetMode{Mode: permission.Plan})
	if _, err := client.Prompt(ctx, "s", "two", "hello"); err != nil {
		t.Fatal(err)
	}
	say(durable.Rewind{To: to})
	if _, err := client.Prompt(ctx, "s", "three", "hello"); err != nil {
		t.Fatal(err)
	}
	again := (&agent.Agent{Program: "p", Model: llmtest.Script(), Sessions: backend.Store("", nil)}).Session("s")
	defer again.Close()
	for {
		mode, err := again.Mode(ctx)
		if err == nil && mode == permission.Plan {
			return
		}
		if err == nil {
			t.Fatalf("the mode is %s", mode)
		}
		if _, stat := session.Stat(ctx, backend.Store("", nil), "s"); stat != nil || ctx.Err() != nil {
			t.Fatal(err, stat)
		}
		time.Sleep(time.Millisecond)
	}
}
