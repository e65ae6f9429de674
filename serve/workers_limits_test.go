package serve

import (
	"context"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// TestRunsOfWorkers: runs of workers count for the limit of a user.
func TestRunsOfWorkers(t *testing.T) {
	free := make(chan struct{})
	wait := tool.Func(tool.Spec{Name: "wait", ReadOnly: true}, func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case <-free:
			return "waited", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	s := newWorkersSite(t, &agent.Agent{Permissions: permission.Policy{Allow: []permission.Rule{"wait"}}, Tools: []tool.Tool{wait},
		Model: &llmtest.Model{Rule: llmtest.Cast(map[string]llmtest.Rule{
			"one":   llmtest.Steps(llmtest.Call(llmtest.Use("", "wait", struct{}{})), llmtest.Say("Done.")),
			"two":   llmtest.Steps(llmtest.Call(llmtest.Use("", "wait", struct{}{})), llmtest.Say("Done.")),
			"hello": llmtest.Steps(llmtest.Say("Hi.")),
		})}})
	s.server.UserRuns = 2
	for id, text := range map[string]string{"a": "one", "b": "two"} {
		s.do("POST", "/v1/sessions", `{"session":"`+id+`","text":"`+text+`"}`, 201, nil)
	}
	s.fails("POST", "/v1/sessions", `{"session":"c","text":"hello"}`, 429, "too_many_runs")
	close(free)
	for _, id := range []string{"a", "b"} {
		for {
			info, err := session.Stat(t.Context(), s.store, id)
			if err != nil {
				t.Fatal(err)
			}
			if info.State == session.StateIdle {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	s.do("POST", "/v1/sessions", `{"session":"c","text":"hello"}`, 201, nil)
}
