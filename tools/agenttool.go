package tools

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

//go:embed agent.md
var agentText string

const (
	maxAgentPrompt   = 200_000 // bytes
	maxAgentTypes    = 40      // that the description lists
	maxAgentTypeText = 200     // bytes of the description of each
)

// noAgentText stands for the answer of an agent that has said nothing.
const noAgentText = "(Subagent completed with no text output)"

type agentInput struct {
	Prompt          string `json:"prompt" jsonschema:"all that it has to know"`
	Description     string `json:"description" jsonschema:"the work in three to five words"`
	SubagentType    string `json:"subagent_type,omitempty"`
	Model           string `json:"model,omitempty"`
	Name            string `json:"name,omitempty" jsonschema:"by which teammates reach it"`
	MaxTurns        int    `json:"maxTurns,omitempty"`
	RunInBackground bool   `json:"run_in_background,omitempty"`
	Isolation       string `json:"isolation,omitempty" jsonschema:"worktree: its own git worktree"`
	TeamName        string `json:"team_name,omitempty"`
	Mode            string `json:"mode,omitempty" jsonschema:"permission mode, not above yours"`
	Resume          string `json:"resume,omitempty"`
}

// agentDetails are the Details of a result of Agent.
type agentDetails struct {
	AgentID    string         `json:"agentId"`
	Type       string         `json:"type"`
	Status     string         `json:"status"` // completed, failed or running
	Failure    string         `json:"failure,omitempty"`
	Turns      int            `json:"turns"`
	Tools      map[string]int `json:"tools,omitempty"` // calls that ran, by tool
	Usage      llm.Usage      `json:"usage"`
	CostUSD    *float64       `json:"costUSD,omitempty"`
	DurationMS int64          `json:"durationMs"`
}

// Agent returns the tool that starts agents, as spawner offers them now. Return it from a
// [tool.Set] to follow changes of the offer. Its calls need no permission of their own,
// because those of the agents are judged like any other; rules for it name types, as
// Agent(Explore). If spawner has a method EndSession(session string) error, the tool has it
// too.
func Agent(agents Spawner) tool.Tool { return newAgent(spawnerOf(agents)) }

func newAgent(spawner toolapi.Spawner) tool.Tool {
	offer := spawner.Offer()
	return agentTool{spawner: spawner, types: offer.Types, spelled: spelledTool(tool.Spec{
		Name: "Agent", Aliases: []string{"Task", "new_task"}, Title: "Start an agent", Description: agentText + listedTypes(offer.Types),
		Idempotent: true, // a call that is repeated after a crash finds its agent
		Timeout:    -1,   // turns, budget and its caller's context bound it
	}, func(ctx context.Context, call tool.Call, in agentInput) (*tool.Result, error) {
		s, problem := spawnOf(offer, call, in)
		if problem != "" {
			return tool.Errorf("%s", problem), nil
		}
		out, err := spawner.Spawn(ctx, s)
		if err != nil {
			return nil, err
		}
		return spawnedResult(s, out), nil
	}, func(call tool.Call, in agentInput) tool.Traits {
		t, ok := findType(offer, in.SubagentType)
		if !ok {
			t.Name = in.SubagentType
		}
		access := []permission.Access{{Kind: permission.UseName, Target: t.Name}}
		if in.Isolation != "" || t.Isolated { // it makes its own worktree, and touches nothing else
			return tool.Traits{Touches: []string{"agent:" + call.ID}, Access: access}
		}
		// The files that it touches are not known. It waits for earlier calls that change
		// something, and later ones wait for it, but not for other agents, unless it only
		// reads.
		return tool.Traits{ReadOnly: t.ReadOnly, RunsSubagents: true, Access: access}
	})}
}

// agentTool is the tool Agent. It tells the spawner of a session's end.
type agentTool struct {
	spelled[agentInput]
	spawner toolapi.Spawner
	types   []toolapi.AgentType
}

// SubagentTools calls do with each kind of agents that brings tools of its own along.
func (t agentTool) SubagentTools(do func(kind string, tools []string)) {
	for _, typ := range t.types {
		if len(typ.Tools) > 0 {
			do(typ.Name, typ.Tools)
		}
	}
}

// CheckSubagents implements [toolapi.SubagentChecker].
func (t agentTool) CheckSubagents(ctx context.Context, tools []tool.Tool, known []string) ([]string, error) {
	if c, ok := t.spawner.(toolapi.SubagentChecker); ok {
		return c.CheckSubagents(ctx, tools, known)
	}
	return nil, nil
}

// EndSession ends the spawner's work for a session.
func (t agentTool) EndSession(session string) error { return endSession(t.spawner, session) }

func listedTypes(types []toolapi.AgentType) string {
	var b strings.Builder
	b.WriteString("\nValues of subagent_type (without one: the first):")
	for _, t := range types[:min(len(types), maxAgentTypes)] {
		fmt.Fprintf(&b, "\n- %s: %s", t.Name, clipLine(t.Description, maxAgentTypeText))
	}
	if more := len(types) - maxAgentTypes; more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	return b.String()
}

// find returns the type of a name, ignoring case; "" is the first.
func findType(o toolapi.Offer, name string) (toolapi.AgentType, bool) {
	if name == "" && len(o.Types) > 0 {
		return o.Types[0], true
	}
	i := slices.IndexFunc(o.Types, func(t toolapi.AgentType) bool { return strings.EqualFold(t.Name, name) })
	if i < 0 {
		return toolapi.AgentType{}, false
	}
	return o.Types[i], true
}

// spawn checks the model's input.
func spawnOf(o toolapi.Offer, call tool.Call, in agentInput) (_ toolapi.Spawn, problem string) {
	t, ok := findType(o, in.SubagentType)
	if !ok {
		var names []string
		for _, t := range o.Types {
			names = append(names, t.Name)
		}
		return toolapi.Spawn{}, unknownName("subagent_type", in.SubagentType, names)
	}
	mode := permission.Mode("")
	if in.Mode != "" {
		var err error
		if mode, err = permission.ParseMode(in.Mode); err != nil {
			return toolapi.Spawn{}, err.Error()
		}
	}
	if in.Name != "" {
		if err := teamstore.CheckName(in.Name); err != nil {
			return toolapi.Spawn{}, err.Error()
		}
	}
	switch {
	case strings.TrimSpace(in.Prompt) == "":
		return toolapi.Spawn{}, "prompt is empty: the agent knows nothing but what it says"
	case len(in.Prompt) > maxAgentPrompt:
		return toolapi.Spawn{}, fmt.Sprintf("prompt has %d bytes, at most %d are passed on; put the rest into a file and name it", len(in.Prompt), maxAgentPrompt)
	case in.MaxTurns < 0:
		return toolapi.Spawn{}, fmt.Sprintf("maxTurns is %d; it is at least 1", in.MaxTurns)
	case in.Model != "" && o.Models != nil && !slices.Contains(o.Models, in.Model):
		return toolapi.Spawn{}, unknownName("model", in.Model, o.Models)
	case in.Isolation != "" && !slices.Contains(o.Isolations, in.Isolation):
		return toolapi.Spawn{}, unknownName("isolation", in.Isolation, o.Isolations)
	case in.RunInBackground && !o.Background:
		return toolapi.Spawn{}, "agents cannot run in the background here; leave out run_in_background"
	case in.TeamName != "" && in.Name == "":
		return toolapi.Spawn{}, "an agent of a team needs a name: give name beside team_name"
	}
	return toolapi.Spawn{
		Call: call, Prompt: in.Prompt, Description: clipLine(in.Description, maxAgentTypeText), Type: t.Name, Model: in.Model, Name: in.Name,
		MaxTurns: in.MaxTurns, Background: in.RunInBackground, Isolation: in.Isolation, Team: in.TeamName, Mode: mode, Resume: in.Resume,
	}, ""
}

// unknownName is the error for a value that is not in the list.
func unknownName(member, value string, names []string) string {
	problem := fmt.Sprintf("%s %q is unknown", member, clipLine(value, 80))
	if near := text.Nearest(value, names); near != "" {
		problem += fmt.Sprintf("; did you mean %q?", near)
	}
	if len(names) == 0 {
		return problem + "; there is none here"
	}
	return problem + "; there are " + strings.Join(names[:min(len(names), maxAgentTypes)], ", ")
}

// usedTools names the tools that an agent has used, and how often.
func usedTools(used map[string]int) string {
	if len(used) == 0 {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(used)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, used[name]))
	}
	return "; tools used: " + shortList(parts)
}

func spawnedResult(s toolapi.Spawn, out *toolapi.Spawned) *tool.Result {
	status := "completed"
	text := cmp.Or(strings.TrimSpace(out.Text), noAgentText)
	switch {
	case out.Running:
		status = "running"
		text = fmt.Sprintf("Agent %s runs in the background. You are told when it ends; TaskOutput shows how it stands, TaskStop ends it.", out.ID)
	case out.Failure != "":
		status = "failed"
		text = fmt.Sprintf("The agent did not finish: %s\nIts last answer: %s", out.Failure, text)
	}
	if out.Note != "" {
		text += "\n\n" + out.Note
	}
	if out.ID != "" && !out.Running {
		text += fmt.Sprintf("\n\n(agent id: %s, subagent_type: %s%s)", out.ID, s.Type, usedTools(out.Tools))
	}
	r := tool.Text(text)
	r.IsError = out.Failure != "" && !out.Running
	r.Title = fmt.Sprintf("%s: %s", s.Type, cmp.Or(s.Description, s.Name, status))
	r.Details = toolapi.Details(agentDetails{
		AgentID: out.ID, Type: s.Type, Status: status, Failure: out.Failure, Turns: out.Turns, Tools: out.Tools, Usage: out.Usage, CostUSD: out.CostUSD,
		DurationMS: out.Duration.Milliseconds(),
	})
	return r
}
