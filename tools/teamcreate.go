package tools

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
)

//go:embed teamcreate.md
var teamCreateText string

type teamCreateInput struct {
	Name            string   `json:"name"`
	Members         []string `json:"members,omitempty"`
	TaskDescription string   `json:"task_description,omitempty" jsonschema:"what the team is for"`
}

// teamCreate is the tool TeamCreate. It tells the store of a session's end.
type teamCreate struct {
	spelled[teamCreateInput]
	teams teamstore.Teams
}

// TeamCreate returns the tool that makes teams. If teams has a method
// EndSession(session string) error, the tool has it too.
func TeamCreate(store *team.Store) tool.Tool {
	teams := sharedOf(store)
	return teamCreate{teams: teams, spelled: spelledTool(tool.Spec{
		Name: "TeamCreate", Title: "Make a team", Description: teamCreateText, NonDestructive: true,
	}, func(ctx context.Context, call tool.Call, in teamCreateInput) (*tool.Result, error) {
		self := caller(call)
		members := slices.DeleteFunc(slices.Clone(in.Members), func(name string) bool { return agentName(call, name) == self })
		t, err := teams.CreateTeam(ctx, spaceOf(call), in.Name, self, members, in.TaskDescription)
		if err != nil {
			return teamFailure(err)
		}
		text := fmt.Sprintf("Team created: %s %q with %s, led by %s", t.ID, t.Name, text.Count(len(members), "member"), self)
		if len(members) > 0 {
			text += ": " + strings.Join(members, ", ")
		}
		return teamResult(text, t), nil
	}, func(call tool.Call, _ teamCreateInput) tool.Traits { return teamsClass(call) })}
}

// EndSession ends the store's work for a session.
func (t teamCreate) EndSession(session string) error { return endSession(t.teams, session) }

// teamsKey names the teams of a call's space as a resource.
func teamsKey(call tool.Call) string { return "teams:" + spaceOf(call) }

func teamsClass(call tool.Call) tool.Traits {
	return tool.Traits{Internal: true, Touches: []string{teamsKey(call)}}
}

func teamResult(text string, t teamstore.Team) *tool.Result {
	r := tool.Text(text)
	r.Title = fmt.Sprintf("%s %q (%s)", t.ID, t.Name, t.Status)
	r.Details = toolapi.Details(map[string]teamstore.Team{"team": t})
	return r
}
