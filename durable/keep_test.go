package durable_test

import (
	"context"
	"errors"
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

// A decision keeps the rules that its question offers and that the host permits, and no others. With
// others, it decides nothing.
func TestKeptRules(t *testing.T) {
	for name, tt := range map[string]struct {
		command  durable.Decide
		refuses  bool // the host
		rejected bool
	}{
		"offered":         {command: durable.Decide{Decision: permission.Allow(), Keep: []permission.Rule{"wipe"}}},
		"not offered":     {command: durable.Decide{Decision: permission.Allow(), Keep: []permission.Rule{"Bash"}}, rejected: true},
		"one too many":    {command: durable.Decide{Decision: permission.Allow(), Keep: []permission.Rule{"wipe", "Bash"}}, rejected: true},
		"with a denial":   {command: durable.Decide{Decision: permission.Deny("no"), Keep: []permission.Rule{"wipe"}}, rejected: true},
		"not for a host":  {command: durable.Decide{Decision: permission.Allow(), Keep: []permission.Rule{"wipe"}}, refuses: true, rejected: true},
		"allowed by host": {command: durable.Decide{Decision: permission.Allow()}, refuses: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, queue := &durabletest.Memory{}, &durabletest.Queue{}
				wiped := atomic.Int64{}
				wipe := tool.Func(tool.Spec{Name: "wipe"}, func(context.Context, struct{}) (string, error) {
					wiped.Add(1)
					return "wiped", nil
				})
				rule := llmtest.Steps(llmtest.Call(llmtest.Use("", "wipe", struct{}{})), llmtest.Call(llmtest.Use("", "wipe", struct{}{})), llmtest.Say("done"))
				a := &agent.Agent{Program: "p", Model: &llmtest.Model{Rule: rule}, Tools: []tool.Tool{wipe}, AllowRuleGrant: func(permission.Rule) error {
					if tt.refuses {
						return errors.New("the host permits no such rule")
					}
					return nil
				}}
				w := &durable.Worker{Backend: db.Connect(), Linger: time.Hour, Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
					return durable.Hosted{Agent: a}, nil
				}}
				drain, stop := context.WithCancel(t.Context())
				var working sync.WaitGroup
				defer working.Wait()
				defer stop()
				working.Go(func() { queue.Run(drain, t.Context(), w) })
				client := &durable.Client{Backend: db.Connect(), Engine: queue}
				send := func(id string, c durable.Command) {
					t.Helper()
					if _, err := client.Send(t.Context(), "s", id, c); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
				}
				send("p", durable.Prompt{Text: "go"})
				questions, err := client.Questions(t.Context())
				if err != nil || len(questions) != 1 {
					t.Fatalf("%+v, %v", questions, err)
				}
				c := tt.command
				c.Call = questions[0].Call
				send("decision", c)
				settled, err := client.Settled(t.Context(), "s", "decision")
				if !settled || errors.Is(err, durable.ErrRejected) != tt.rejected {
					t.Errorf("settled %v, %v", settled, err)
				}
				want, asked := int64(2), 0 // the rule allows the second call
				switch {
				case tt.rejected:
					want, asked = 0, 1
				case len(c.Keep) == 0:
					want, asked = 1, 1
				}
				if questions, err = client.Questions(t.Context()); err != nil || wiped.Load() != want || len(questions) != asked {
					t.Fatalf("the tool ran %d times, want %d; %+v, %v", wiped.Load(), want, questions, err)
				}
				if asked == 0 {
					if end, err := client.Wait(t.Context(), "s", "p"); err != nil || end.Reason != event.Completed {
						t.Errorf("%+v, %v", end, err)
					}
				}
			})
		})
	}
}
