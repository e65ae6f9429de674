package app

import (
	"context"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cron"
	"github.com/openagent-go/agent/internal/cronstore"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/triggerstore"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/trigger"
)

// Plan mode needs a user who can approve the plan.
const (
	EnterPlanName = "EnterPlanMode"
	ExitPlanName  = "ExitPlanMode"
)

// builtins returns what only the command's built-in tools work on. Without a home folder, nothing is
// stored there.
func (s *App) builtins(h *cli.IO) tools.Builtins {
	home, err := h.Home()
	if err != nil {
		return tools.Builtins{}
	}
	k := tools.Builtins{Settings: tools.Settings(toolapi.NewHandle[toolapi.Settings](provider.ToolSettings{H: h, Options: s.Options, Project: s.Project})), Triggers: s.remoteTriggers(home),
		Crontab: &tools.Crontab{Jobs: (*cron.Store)(cronstore.NewHandle(CronFile(home))), Dir: s.Project}}
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
		Store:  (*trigger.Store)(triggerstore.NewHandle(triggerstore.In(TriggerFile(home), s.Project))),
		Client: &trigger.Client{AllowPrivate: private},
		Schedule: func(ctx context.Context, t trigger.Trigger) error {
			return ScheduleTrigger(ctx, cronstore.In(CronFile(home), s.Project), s.Project, s.storedTrigger(t))
		},
		Note: "Requests are answered while the user has `openagent triggers serve` run in this folder, not by this program; `openagent triggers secret ID` gives the user a secret, or with --set takes that of the other side.",
	}
	if s.Triggers != nil {
		t.Local = func(t trigger.Trigger, body []byte) (string, error) {
			return s.Triggers.Fire(s.storedTrigger(t), triggerstore.Payload{Data: body})
		}
		t.Note += " Action run and schedules work here as long as this program lives."
	} else {
		t.Note += " Action run on triggers of ours works in conversations only, schedules there and while `openagent cron run` lives."
	}
	return t
}

// storedTrigger returns a trigger of the working folder as its store has it.
func (s *App) storedTrigger(t trigger.Trigger) triggerstore.Trigger {
	return triggerstore.Trigger{ID: t.ID, Name: t.Name, Prompt: t.Prompt, URL: t.URL, Schedule: t.Schedule, Dir: s.Project, Enabled: t.Enabled}
}

// deferred is the CanUseTool function that defers questions.
func deferred(_ context.Context, _ tool.Call, verdict permission.Decision) (permission.Decision, error) {
	if verdict.Behavior != permission.Asked {
		return permission.Decision{}, nil
	}
	return permission.Defer(), nil
}

// questionsDeferred is the AskUser function that defers questions.
func questionsDeferred(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) {
	return nil, agent.ErrSuspended
}
