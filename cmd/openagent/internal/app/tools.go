package app

import (
	"context"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cron"
	"github.com/openagent-go/agent/mcp/resources"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/tools/search"
	"github.com/openagent-go/agent/trigger"
)

// atHand are the tools beyond the core that a model sees from the start. It finds the rest with
// ToolSearch.
var atHand = []string{"Agent", "TodoWrite", "Skill", EnterPlanName, ExitPlanName}

// Plan mode needs a user who can approve the plan.
const (
	EnterPlanName = "EnterPlanMode"
	ExitPlanName  = "ExitPlanMode"
)

// Builtins returns the resources of a run's built-in tools. They open when a tool first needs them.
// Without a home folder, nothing is stored there.
func Builtins(h *cli.IO, s *App) tools.Builtins {
	k := tools.Builtins{Workspace: s.workspace, Sandbox: s.box(), Web: new(tools.Web), Search: search.FromEnv(), Languages: s.languages, Tasks: s.tasks}
	if s.Servers != nil && len(s.Servers.Status()) > 0 {
		k.Resources = resources.Of(s.Servers)
	}
	if s.Skills != nil {
		k.Skills = s.Skills
	}
	addManager(h, s, &k)
	home, err := h.Home()
	if err != nil {
		return k
	}
	k.Settings = provider.ToolSettings{H: h, Options: s.Options, Project: s.Project}
	k.Triggers = s.remoteTriggers(home)
	k.Crontab = &tools.Crontab{Jobs: CronFile(home), Dir: s.Project}
	if s.Schedule != nil {
		k.Crontab.Running = s.Schedule.Running
	}
	return k
}

// remoteTriggers returns the resources of the tool RemoteTrigger: the triggers of the working
// folder.
func (s *App) remoteTriggers(home string) *tools.Triggers {
	private := false
	if o := s.Options; o.Settings != nil {
		o.Settings.Decode("privateTriggers", &private)
	}
	t := &tools.Triggers{
		Store:  trigger.In(TriggerFile(home), s.Project),
		Client: &trigger.Client{AllowPrivate: private},
		Schedule: func(ctx context.Context, t trigger.Trigger) error {
			return ScheduleTrigger(ctx, cron.In(CronFile(home), s.Project), s.Project, t)
		},
		Note: "Requests are answered while the user has `openagent triggers serve` run in this folder, not by this program; `openagent triggers secret ID` gives the user a secret, or with --set takes that of the other side.",
	}
	if s.Triggers != nil {
		t.Local = s.Triggers
		t.Note += " Action run and schedules work here as long as this program lives."
	} else {
		t.Note += " Action run on triggers of ours works in conversations only, schedules there and while `openagent cron run` lives."
	}
	return t
}

// ChooseTools returns the tools that --tools names, and the names of the tools that the model finds
// with ToolSearch.
func ChooseTools(h *cli.IO, s *App, builtins []tools.Entry) (chosen []tool.Tool, deferred []string) {
	wanted := s.Options.Tools
	all, core := len(wanted) == 0 || slices.Contains(wanted, "all"), slices.Contains(wanted, "core")
	var names []string
	for _, e := range builtins {
		name := e.Tool.Spec().Name
		names = append(names, name)
		switch {
		case slices.Contains(wanted, name):
		case !all && (!core || e.Tier != tools.CoreTier), !usable(h, name, s):
			continue
		case len(wanted) == 0 && e.Tier != tools.CoreTier && !slices.Contains(atHand, name):
			deferred = append(deferred, name)
		}
		chosen = append(chosen, e.Tool)
	}
	for _, name := range wanted {
		if !slices.Contains([]string{"all", "core", "none"}, name) && !slices.Contains(names, name) {
			h.Warn("%s: there is no tool %q%s; there are %s", s.Options.SourceOf("tools", "--tools"), cli.Clip(name), cli.Suggestion(name, names), strings.Join(names, ", "))
		}
	}
	return chosen, deferred
}

// usable reports whether a tool is configured. An unusable tool is added only if --tools names it.
func usable(h *cli.IO, name string, s *App) bool {
	switch name {
	case provider.SearchName:
		return provider.SearchEngine(h).Value != ""
	case EnterPlanName, ExitPlanName:
		return s.person
	}
	return true
}

// AddCustomTools adds the tools of folders to the agent, unless --tools lists the tools. With ask,
// it asks the user on the terminal about untrusted folders.
func AddCustomTools(ctx context.Context, h *cli.IO, s *App, ask bool) error {
	if w := s.Options.Tools; len(w) > 0 && !slices.Contains(w, "all") {
		return nil
	}
	set, err := customTools(ctx, h, s.Options, s.Project, s.workspace, s.Agent.Tools, ask)
	if err != nil {
		return err
	}
	s.Agent.Toolsets = append(s.Agent.Toolsets, set)
	return nil
}

// deferred is the CanUseTool function that defers questions.
func deferred(_ context.Context, _ tool.Call, verdict permission.Decision) (permission.Decision, error) {
	if verdict.Behavior != permission.Asked {
		return permission.Decision{}, nil
	}
	return permission.Defer(), nil
}
