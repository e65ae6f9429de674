package durable_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm/llmtest"
)

// The hooks of the start of a session are called once, however often workers continue it, and
// what they add for the model is there once. Leaving a session does not end it.
func TestSessionHooksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 10 * time.Second
		db, queue := &durabletest.Memory{Lease: lease}, &durabletest.Queue{Beat: lease}
		var mu sync.Mutex
		var called []string
		noted := func(on hook.Event) hook.Hook {
			return hook.Hook{On: on, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
				mu.Lock()
				defer mu.Unlock()
				called = append(called, fmt.Sprint(in.Event, in.Source))
				return hook.Output{}, nil
			}}
		}
		hooks := []hook.Hook{noted(hook.SessionStart), noted(hook.SessionEnd), noted(hook.Stop)}
		w := &durable.Worker{Backend: db.Connect(), Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
			return durable.Hosted{Agent: &agent.Agent{Program: "p", Model: &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step { return llmtest.Say("done") }}, Hooks: hooks}}, nil
		}}
		ctx, stop := context.WithCancel(t.Context())
		var working sync.WaitGroup
		working.Go(func() { queue.Run(ctx, t.Context(), w) })
		client := &durable.Client{Backend: db.Connect(), Engine: queue}
		for i := range 3 {
			id, err := client.Send(t.Context(), "s", "", durable.Prompt{Text: fmt.Sprint("go ", i)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Wait(t.Context(), "s", id); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour) // the worker leaves the session
		}
		stop()
		working.Wait()
		if want := []string{"SessionStartstartup", "Stop", "Stop", "Stop"}; !slices.Equal(called, want) {
			t.Errorf("called were %q, want %q", called, want)
		}
		if hooks[0].On != hook.SessionStart || len(hooks) != 3 {
			t.Error("the agent's own hooks were changed")
		}
	})
}
