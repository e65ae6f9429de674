package app

import (
	"context"
	"slices"
	"strconv"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookctx"
)

// WithHookDepth adds to ctx how many nested hooks started this program.
func WithHookDepth(ctx context.Context, h *cli.IO) context.Context {
	if n, err := strconv.Atoi(h.Getenv(hookctx.DepthVariable)); err == nil && n > 0 {
		return hookctx.WithDepth(ctx, n)
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
