package app

import (
	"context"
	"slices"
	"strconv"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	hookshell "github.com/openagent-go/agent/hook/shell"
	"github.com/openagent-go/agent/workspace"
)

// Hooks returns the hooks of the settings. They run outside the sandbox, like the user's own
// programs, unless the settings put them inside.
func (s *App) Hooks() []hook.Hook {
	o := s.Options
	if o.Settings == nil {
		return nil
	}
	wanted := o.Settings.Hooks()
	list := s.hooksOfPlugins()
	if len(wanted) == 0 {
		return list
	}
	place := s.HookWorkspace()
	for _, w := range wanted {
		h := hookshell.Hook(w.Event, w.Match, hookshell.Command{Workspace: place, Line: w.Command, Project: s.Project, Async: w.Async})
		h.Timeout = w.Timeout
		list = append(list, h)
	}
	return list
}

// HookWorkspace returns the workspace in which hook commands run.
func (s *App) HookWorkspace() *workspace.Workspace {
	within := false
	if s.Options.Settings != nil {
		s.Options.Settings.Decode("hooks_in_sandbox", &within)
	}
	if within {
		return s.workspace
	}
	if s.hookWorkspace == nil {
		s.hookWorkspace = &workspace.Workspace{Root: s.Project, Dirs: s.Options.Dirs, Env: s.Options.Env, Pass: s.Options.Passed}
	}
	return s.hookWorkspace
}

// hooked reports whether hooks of agent definitions run. The settings can disable all hooks.
func (s *App) hooked() bool {
	off := false
	if s.Options.Settings != nil {
		s.Options.Settings.Decode("disableAllHooks", &off)
	}
	return !off
}

// WithHookDepth adds to ctx how many nested hooks started this program.
func WithHookDepth(ctx context.Context, h *cli.IO) context.Context {
	if n, err := strconv.Atoi(h.Getenv(hookshell.DepthVariable)); err == nil && n > 0 {
		return hook.WithDepth(ctx, n)
	}
	return ctx
}

// HookMessage returns the message of a hook for the user, or "". Failures go to the log.
func HookMessage(d event.HookResponse) string {
	text := d.Message
	if n := d.Notification; n != nil {
		text = joinLines(text, joinLines(n.Title, n.Body))
	}
	if text == "" {
		return ""
	}
	return string(d.Event) + " hook: " + text
}

func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ": " + b
}

// HasDisplayHooks reports whether any hook changes the displayed text of the model.
func (s *App) HasDisplayHooks() bool {
	return slices.ContainsFunc(s.Agent.Hooks, func(h hook.Hook) bool { return h.On == hook.MessageDisplay })
}

// DisplayText returns a message of the model for display, after the hooks.
func (s *App) DisplayText(ctx context.Context, id, text string) string {
	if !s.HasDisplayHooks() || text == "" {
		return text
	}
	out, err := s.Session.Hook(ctx, hook.Input{Event: hook.MessageDisplay, MessageID: id, Delta: text, Final: true})
	if err != nil || out.Display == nil {
		return text
	}
	return *out.Display
}
