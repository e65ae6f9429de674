package tools_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// instantAgents starts agents that answer at once with their prompt.
type instantAgents struct{}

func (instantAgents) Offer() toolapi.Offer {
	return toolapi.Offer{Types: []toolapi.AgentType{{Name: "general-purpose"}, {Name: "Explore", ReadOnly: true}}}
}

func (instantAgents) Spawn(_ context.Context, s toolapi.Spawn) (*toolapi.Spawned, error) {
	return &toolapi.Spawned{ID: "a1", Text: s.Type + ": " + s.Prompt}, nil
}

// In mode default, without a person to ask, agents keep their tasks, teams and mail and
// start agents. Calls of one answer run in order if they depend on each other, and rules
// name kinds of agents.
func TestTeamworkRun(t *testing.T) {
	store := team.Memory()
	use := func(name string, input map[string]any) llm.ToolUse { return llmtest.Use("", name, input) }
	model := llmtest.Script(
		llmtest.Call(
			use("TaskCreate", map[string]any{"subject": "Build"}),
			use("TaskCreate", map[string]any{"subject": "Test", "blocked_by": []string{"task_1"}}),
			use("TaskUpdate", map[string]any{"id": "task_2", "status": "in_progress"}),
			use("TaskUpdate", map[string]any{"id": "task_1", "status": "inProgress"}),
			use("TaskList", map[string]any{}),
			use("TeamCreate", map[string]any{"name": "red", "members": []string{"ann"}}),
			use("SendMessage", map[string]any{"to": "ann", "message": "hi"}),
			use("Task", map[string]any{"prompt": "look", "description": "Look", "subagent_type": "Explore"}),
			use("Agent", map[string]any{"prompt": "work", "description": "Work"}),
			use("TeamDelete", map[string]any{"id": "team_1"}),
		),
		llmtest.Say("done"),
	)
	a := &agent.Agent{Name: "lead", Model: model, Permissions: permission.Policy{Deny: []permission.Rule{"Agent(general-*)"}}, Tools: []tool.Tool{
		tools.TaskCreate(store), tools.TaskUpdate(store), tools.TaskList(store), tools.TeamCreate(store), tools.TeamDelete(store),
		tools.SendMessage(store), tools.NewAgent(instantAgents{}),
	}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	requests := model.Requests()
	var got []string
	for _, m := range requests[len(requests)-1].Messages {
		for _, b := range m.Content {
			if r, ok := b.(llm.ToolResult); ok {
				got = append(got, r.Content.Text())
			}
		}
	}
	want := []string{
		"Task created: task_1", "Task created: task_2", "task_2 cannot start before task_1 (pending)", "(owner: lead)",
		"[task_1] in_progress - Build (owner: lead)\n[task_2] pending - Test (blocked by: task_1)", "led by lead: ann", "Message sent to ann.",
		"Explore: look", "Agent(general-*)", "Team disbanded: red",
	}
	if !slices.EqualFunc(got, want, strings.Contains) {
		t.Errorf("got %q", got)
	}
}
