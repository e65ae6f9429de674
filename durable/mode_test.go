package durable_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// TestBypassOfWorkers: a session asks nothing only if the agent of its worker does. No command
// changes that, and neither does the worker that had the session before.
func TestBypassOfWorkers(t *testing.T) {
	for name, tt := range map[string]struct {
		first, second permission.Mode // of the workers
		before        []durable.Command
		mode          permission.Mode // of the prompt
		asks          bool
		rejected      string
	}{
		"set by a command":          {before: []durable.Command{durable.SetMode{Mode: permission.Bypass}}, asks: true, rejected: "no command can set the mode bypassPermissions"},
		"set by a prompt":           {mode: permission.Bypass, rejected: "no command can set the mode bypassPermissions"},
		"run of another worker":     {first: permission.Bypass, asks: true},
		"worker that asks nothing":  {first: permission.Bypass, second: permission.Bypass},
		"a worker with another one": {first: permission.Bypass, second: permission.DontAsk},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const lease = 10 * time.Second
				db, queue := &durabletest.Memory{Lease: lease}, &durabletest.Queue{Beat: lease}
				began, wiped := make(chan struct{}, 10), atomic.Int64{}
				hold := tool.Func(tool.Spec{Name: "hold", ReadOnly: true, Idempotent: true}, func(ctx context.Context, _ struct{}) (string, error) {
					began <- struct{}{}
					select {
					case <-ctx.Done():
					case <-time.After(time.Minute):
					}
					return "held", nil
				})
				wipe := tool.Func(tool.Spec{Name: "wipe"}, func(context.Context, struct{}) (string, error) {
					wiped.Add(1)
					return "wiped", nil
				})
				rule := llmtest.Steps(llmtest.Call(llmtest.Use("", "hold", struct{}{})), llmtest.Call(llmtest.Use("", "wipe", struct{}{})), llmtest.Say("done"))
				var working sync.WaitGroup
				defer working.Wait()
				drain, stop := context.WithCancel(t.Context())
				defer stop()
				worker := func(mode permission.Mode) (kill func()) {
					mine := db.Connect()
					w := &durable.Worker{Backend: mine, Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
						return durable.Hosted{Agent: &agent.Agent{Program: "p", Model: &llmtest.Model{Rule: rule}, Tools: []tool.Tool{hold, wipe}, Permissions: permission.Policy{Mode: mode, Allow: []permission.Rule{"hold"}}}}, nil
					}}
					dead, die := context.WithCancel(t.Context())
					working.Go(func() { queue.Run(drain, dead, w) })
					return func() { mine.Kill(); die() }
				}
				client := &durable.Client{Backend: db.Connect(), Engine: queue}
				ids := []string{}
				for _, c := range tt.before {
					id, err := client.Send(t.Context(), "s", "", c)
					if err != nil {
						t.Fatal(err)
					}
					ids = append(ids, id)
				}
				if _, err := client.Send(t.Context(), "s", "p", durable.Prompt{Text: "go", Mode: tt.mode}); err != nil {
					t.Fatal(err)
				}
				if tt.mode != "" {
					ids = append(ids, "p")
				}
				kill := worker(tt.first)
				if tt.mode == "" {
					<-began
				}
				if tt.first == permission.Bypass {
					kill()
					worker(tt.second)
				}
				time.Sleep(10 * time.Minute)
				for _, id := range ids {
					if settled, err := client.Settled(t.Context(), "s", id); !settled || !errors.Is(err, durable.ErrRejected) || !strings.Contains(err.Error(), tt.rejected) {
						t.Errorf("command %s: settled %v, %v", id, settled, err)
					}
				}
				questions, err := client.Questions(t.Context())
				if err != nil || (len(questions) == 1) != tt.asks {
					t.Errorf("questions %+v, %v", questions, err)
				}
				if want := tt.second == permission.Bypass; (wiped.Load() == 1) != want {
					t.Errorf("the tool ran %d times", wiped.Load())
				}
				if tt.asks || tt.mode != "" {
					return
				}
				if end, err := client.Wait(t.Context(), "s", "p"); err != nil || end.Reason != event.Completed {
					t.Errorf("%+v, %v", end, err)
				}
			})
		})
	}
}
