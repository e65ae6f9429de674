package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
)

//go:embed teamdelete.md
var teamDeleteText string

type teamDeleteInput struct {
	ID string `json:"id" jsonschema:"id or name of the team"`
}

// TeamDelete returns the tool with which a leader disbands its team. The result
// names members that are still running.
func TeamDelete(store *team.Store) tool.Tool {
	teams := sharedOf(store)
	return tool.New(tool.Spec{
		Name: "TeamDelete", Title: "Disband a team", Description: teamDeleteText,
	}, func(ctx context.Context, call tool.Call, in teamDeleteInput) (*tool.Result, error) {
		all, err := teams.Teams(ctx, spaceOf(call))
		if err != nil {
			return teamFailure(err)
		}
		var names []string
		for _, t := range all {
			if t.Status != teamstore.Active {
				continue
			}
			names = append(names, fmt.Sprintf("%s (%s)", t.ID, t.Name))
			if named := t.ID == in.ID || t.Name == in.ID; named && t.Leader() != caller(call) {
				return tool.Errorf("%s is led by %s, who alone can disband it", t.Name, t.Leader()), nil
			}
		}
		t, err := teams.Disband(ctx, spaceOf(call), in.ID)
		if err != nil {
			there := "there are no active teams"
			if len(names) > 0 {
				there = "active are " + shortList(names)
			}
			return teamFailure(fmt.Errorf("%w; %s", err, there))
		}
		text := fmt.Sprintf("Team disbanded: %s (%s)", t.Name, strings.Join(t.Others(""), ", "))
		working, err := atWork(ctx, teams, call, t)
		if err != nil {
			return nil, err
		}
		if len(working) > 0 {
			text += fmt.Sprintf("\nStill at work: %s. They go on without the team, and nobody reads what they send; TaskStop ends them.", shortList(working))
		}
		return teamResult(text, t), nil
	}).OnClassify(func(call tool.Call, _ teamDeleteInput) tool.Traits { return teamsClass(call) })
}

// atWork names the members of a team, but for the caller, that are running.
func atWork(ctx context.Context, teams teamstore.Teams, call tool.Call, t teamstore.Team) ([]string, error) {
	registry, ok := teams.(teamstore.Agents)
	if !ok {
		return nil, nil
	}
	agents, err := registry.Agents(ctx, spaceOf(call))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, a := range agents {
		if t.Has(a.Name) && a.Name != caller(call) {
			names = append(names, a.Name)
		}
	}
	return names, nil
}
