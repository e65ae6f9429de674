package main

import (
	"context"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cron"
	"github.com/openagent-go/agent/mcp/resources"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/tools/search"
	"github.com/openagent-go/agent/trigger"
)

// atHand are the tools beyond the core that a model sees from the start; the
// rest it finds by ToolSearch.
var atHand = []string{"Agent", "TodoWrite", "Skill", enterPlanName, exitPlanName}

// Switching to plan mode leads nowhere where nobody can approve a plan.
const (
	enterPlanName = "EnterPlanMode"
	exitPlanName  = "ExitPlanMode"
)

// kit is what the tools of a run work on. Nothing is opened or started before a
// tool needs it. Without a home folder there is nothing that would be kept in it.
func (h *host) kit(s *setup) tools.Builtins {
	k := tools.Builtins{Workspace: s.workspace, Sandbox: s.box(), Web: new(tools.Web), Search: search.FromEnv(), Languages: s.languages, Tasks: s.tasks}
	if s.servers != nil && len(s.servers.Status()) > 0 {
		k.Resources = resources.Of(s.servers)
	}
	if s.skills != nil {
		k.Skills = s.skills
	}
	h.addCrew(s, &k)
	home, err := h.home()
	if err != nil {
		return k
	}
	k.Settings = toolSettings{h, s.options, s.project}
	k.Triggers = s.remoteTriggers(home)
	k.Crontab = &tools.Crontab{Jobs: cronFile(home), Dir: s.project}
	if s.schedule != nil {
		k.Crontab.Running = s.schedule.Running
	}
	return k
}

// remoteTriggers is what the tool RemoteTrigger works on: the triggers of the
// working folder.
func (s *setup) remoteTriggers(home string) *tools.Triggers {
	private := false
	if o := s.options; o.settings != nil {
		o.settings.Decode("privateTriggers", &private)
	}
	t := &tools.Triggers{
		Store:  trigger.In(triggerFile(home), s.project),
		Client: &trigger.Client{AllowPrivate: private},
		Schedule: func(ctx context.Context, t trigger.Trigger) error {
			return scheduleTrigger(ctx, cron.In(cronFile(home), s.project), s.project, t)
		},
		Note: "Requests are answered while the user has `openagent triggers serve` run in this folder, not by this program; `openagent triggers secret ID` gives the user a secret, or with --set takes that of the other side.",
	}
	if s.triggers != nil {
		t.Local = s.triggers
		t.Note += " Action run and schedules work here as long as this program lives."
	} else {
		t.Note += " Action run on triggers of ours works in conversations only, schedules there and while `openagent cron run` lives."
	}
	return t
}

// chooseTools returns the tools that --tools names, and the names of those that a
// model has to find first.
func (h *host) chooseTools(s *setup, kit []tools.Entry) (chosen []tool.Tool, deferred []string) {
	wanted := s.options.tools
	all, core := len(wanted) == 0 || slices.Contains(wanted, "all"), slices.Contains(wanted, "core")
	var names []string
	for _, e := range kit {
		name := e.Tool.Spec().Name
		names = append(names, name)
		switch {
		case slices.Contains(wanted, name):
		case !all && (!core || e.Tier != tools.CoreTier), !h.usable(name, s):
			continue
		case len(wanted) == 0 && e.Tier != tools.CoreTier && !slices.Contains(atHand, name):
			deferred = append(deferred, name)
		}
		chosen = append(chosen, e.Tool)
	}
	for _, name := range wanted {
		if !slices.Contains([]string{"all", "core", "none"}, name) && !slices.Contains(names, name) {
			h.complain("%s: there is no tool %q%s; there are %s", s.options.said("tools", "--tools"), cli.Clip(name), cli.Likely(name, names), strings.Join(names, ", "))
		}
	}
	return chosen, deferred
}

// usable reports whether a tool can do what it is for. One that cannot
// has to be named to be there.
func (h *host) usable(name string, s *setup) bool {
	switch name {
	case searchName:
		return h.searchEngine().value != ""
	case enterPlanName, exitPlanName:
		return s.person
	}
	return true
}

// addCustomTools gives the agent the tools of folders, unless --tools says which
// tools there are. With ask a person at the terminal is asked about folders that
// are not trusted.
func (h *host) addCustomTools(ctx context.Context, s *setup, ask bool) error {
	if w := s.options.tools; len(w) > 0 && !slices.Contains(w, "all") {
		return nil
	}
	set, err := h.customTools(ctx, s.options, s.project, s.workspace, s.agent.Tools, ask)
	if err != nil {
		return err
	}
	s.agent.Toolsets = append(s.agent.Toolsets, set)
	return nil
}
