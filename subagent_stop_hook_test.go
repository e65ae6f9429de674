package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A SubagentStop hook that blocks makes the agent continue with its reason, at most eight
// times in a row, in the foreground and in the background.
func TestSubagentStopBlocks(t *testing.T) {
	for name, c := range map[string]struct {
		background bool
		blocks     int // how often the hook blocks
		answers    int
	}{
		"once":              {blocks: 1, answers: 2},
		"in the background": {blocks: 1, answers: 2, background: true},
		"without end":       {blocks: 1 << 30, answers: 9},
	} {
		t.Run(name, func(t *testing.T) {
			small := &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step { return say("done") }}
			var active []bool
			stop := hook.Hook{On: hook.SubagentStop, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
				active = append(active, in.Active)
				return hook.Output{Block: len(active) <= c.blocks, Reason: "look again"}, nil
			}}
			a := &agent.Agent{Model: llmtest.Script(delegates(1), say("end"), say("end")), Sessions: session.Memory(), Hooks: []hook.Hook{stop}, AwaitAgents: true,
				Tools: []tool.Tool{delegate(&agent.Agent{Name: "helper", Model: small}, c.background)}}
			s := a.Session("")
			defer s.Close()
			if _, err := s.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			asked := small.Requests()
			if len(asked) != c.answers || active[0] || !active[1] {
				t.Fatalf("%d requests, %v", len(asked), active)
			}
			var said []string
			for _, m := range asked[1].Messages {
				if m.Role == llm.User {
					said = append(said, m.Text())
				}
			}
			if strings.Join(said, "|") != "work 1|look again" {
				t.Errorf("the agent was told %q", said)
			}
		})
	}
}
