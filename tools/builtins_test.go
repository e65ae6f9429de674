package tools_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cron"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/trigger"
	"github.com/openagent-go/agent/workspace"
)

type (
	noResources struct{ toolapi.Resources }
	oneAgent    struct{ toolapi.Spawner }
)

func (oneAgent) Offer() toolapi.Offer {
	return toolapi.Offer{Types: []toolapi.AgentType{{Name: "general-purpose"}}}
}

func (a oneAgent) Subagents() tools.Subagents {
	return tools.Subagents(toolapi.NewHandle[toolapi.Spawner](a))
}

func resourcesOf(r toolapi.Resources) tools.Resources {
	return tools.Resources(toolapi.NewHandle(r))
}

// fullKit leaves nothing out.
func fullKit(t *testing.T) tools.Builtins {
	t.Helper()
	ws := &workspace.Workspace{Root: t.TempDir()}
	languages := tools.NewLanguages(ws, nil)
	t.Cleanup(func() {
		if err := languages.Close(); err != nil {
			t.Error(err)
		}
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	return tools.Builtins{
		Workspace: ws, Web: &tools.Web{}, Languages: languages, Team: team.Memory(), Agents: oneAgent{}, Skills: skill.New(),
		Crontab: &tools.Crontab{Jobs: cron.Memory()}, Triggers: &tools.Triggers{Store: trigger.Memory()},
		Settings: tools.SettingsFile("", ""), Resources: resourcesOf(noResources{}), Completion: true,
	}
}

var allTiers = []tools.Tier{"core", "advanced", "specialist", "extra"}

func kitNames(k tools.Builtins) string {
	var tiers []string
	for _, tier := range allTiers {
		tiers = append(tiers, string(tier)+":")
	}
	for _, e := range k.Tools() {
		i := slices.Index(allTiers, e.Tier)
		tiers[i] += " " + e.Tool.Spec().Name
	}
	return strings.Join(tiers, "\n")
}

func TestKit(t *testing.T) {
	const all = `core: Read Write Edit ApplyPatch Glob Grep Bash BashOutput KillShell AskUser ToolSearch WebFetch WebSearch
advanced: Agent Skill TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate SendMessage TeamCreate TeamDelete NotebookEdit
specialist: CronCreate CronDelete CronList LSP Config TodoWrite EnterPlanMode ExitPlanMode EnterWorktree ExitWorktree RemoteTrigger ListMcpResources ReadMcpResource
extra: MultiEdit CodeSearch TodoRead Batch PauseForHuman attempt_completion`
	if got := kitNames(fullKit(t)); got != all {
		t.Errorf("all tools:\n%s", got)
	}
	const none = "core: AskUser ToolSearch\nadvanced:\nspecialist: TodoWrite EnterPlanMode ExitPlanMode\nextra: TodoRead Batch PauseForHuman"
	if got := kitNames(tools.Builtins{}); got != none {
		t.Errorf("tools that need nothing:\n%s", got)
	}
	ws := &workspace.Workspace{Root: t.TempDir()}
	var core []string
	for _, tl := range tools.Core(ws) {
		core = append(core, tl.Spec().Name)
	}
	if got, want := "core: "+strings.Join(core, " "), all[:strings.Index(all, "\n")]; got != want {
		t.Errorf("Core: %s", got)
	}
}

// The description of a tool costs tokens in every request.
func TestTextSizes(t *testing.T) {
	for _, e := range fullKit(t).Tools() {
		s := e.Tool.Spec()
		most := 900 // bytes
		switch s.Name {
		case "Grep": // thirteen members
			most = 1250
		case "Agent": // eleven, and the types of agents
			most = 1300
		}
		if n := wireSize(t, s); n > most {
			t.Errorf("%s takes %d bytes of a request, more than %d", s.Name, n, most)
		}
		if err := toolrun.Check(e.Tool); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// wireSize is how many bytes a tool takes of a request.
func wireSize(t *testing.T, s tool.Spec) int {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(map[string]any{"name": s.Name, "description": s.Description, "input_schema": s.Input}); err != nil {
		t.Fatal(err)
	}
	return b.Len() - len("\n")
}
