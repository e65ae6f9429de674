package main

import (
	"context"
	"slices"
	"strconv"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	hookshell "github.com/openagent-go/agent/hook/shell"
	"github.com/openagent-go/agent/workspace"
)

// hooks returns the hooks of the settings. They run as the user's own programs,
// outside of the sandbox, unless the settings want them in it.
func (s *setup) hooks() []hook.Hook {
	o := s.options
	if o.settings == nil {
		return nil
	}
	wanted := o.settings.Hooks()
	list := s.hooksOfPlugins()
	if len(wanted) == 0 {
		return list
	}
	place := s.hookPlace()
	for _, w := range wanted {
		h := hookshell.Hook(w.Event, w.Match, hookshell.Command{Workspace: place, Line: w.Command, Project: s.project, Async: w.Async})
		h.Timeout = w.Timeout
		list = append(list, h)
	}
	return list
}

// hookPlace is where commands of hooks run.
func (s *setup) hookPlace() *workspace.Workspace {
	within := false
	if s.options.settings != nil {
		s.options.settings.Decode("hooks_in_sandbox", &within)
	}
	if within {
		return s.workspace
	}
	if s.outside == nil {
		s.outside = &workspace.Workspace{Root: s.project, Dirs: s.options.dirs, Env: s.options.env, Pass: s.options.passed}
	}
	return s.outside
}

// hooked reports whether hooks of agents' own files are called: settings can switch
// all hooks off.
func (s *setup) hooked() bool {
	off := false
	if s.options.settings != nil {
		s.options.settings.Decode("disableAllHooks", &off)
	}
	return !off
}

// withinHooks notes how many hooks the program itself was started within.
func (h *host) withinHooks(ctx context.Context) context.Context {
	if n, err := strconv.Atoi(h.getenv(hookshell.DepthVariable)); err == nil && n > 0 {
		return hook.WithDepth(ctx, n)
	}
	return ctx
}

// hookNews is what people should hear of a hook, "" for nothing: failures are logged.
func hookNews(d event.HookResponse) string {
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

// displays reports whether hooks want to see what is shown of the model's text.
func (s *setup) displays() bool {
	return slices.ContainsFunc(s.agent.Hooks, func(h hook.Hook) bool { return h.On == hook.MessageDisplay })
}

// displayed is what is shown of a message of the model, once hooks have seen it.
func (s *setup) displayed(ctx context.Context, id, text string) string {
	if !s.displays() || text == "" {
		return text
	}
	out, err := s.session.Hook(ctx, hook.Input{Event: hook.MessageDisplay, MessageID: id, Delta: text, Final: true})
	if err != nil || out.Display == nil {
		return text
	}
	return *out.Display
}
