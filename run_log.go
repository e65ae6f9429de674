package agent

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

// logOf returns the logger of a run. first is the sequence number of the run's first fact,
// which identifies it.
func (x *runSetup) logOf(first int64) *slog.Logger {
	log := x.agent.Log.With("session", x.Session, "run", first)
	if name := x.agent.kindOrName(); name != "" {
		log = log.With("agent", name)
	}
	return log
}

// logged logs recorded facts. docs/observability.md lists the records.
func (l *activeRun) logged(events []event.Event) {
	for _, e := range events {
		level, text, args := l.x.recordOf(e.Data.(event.Fact), l.conv.ToolName)
		if text != "" && l.x.Log.Enabled(context.Background(), level) {
			l.x.Tell(level, text, append([]any{"seq", e.Seq}, args...)...)
		}
	}
}

// recordOf returns the log record of a fact. The text is "" if the fact is not logged.
func (x *runSetup) recordOf(f event.Fact, tool func(call string) string) (level slog.Level, text string, args []any) {
	const debug, info = slog.LevelDebug, slog.LevelInfo
	switch f := f.(type) {
	case fact.Configured:
		return info, "run started", pairs("model", f.Model, "mode", f.Mode, "dir", f.Dir, "tools", len(f.Tools))
	case event.Resumed:
		return info, "run resumed", nil
	case fact.ModelStart:
		return debug, "model called", pairs("key", f.Key, "model", f.Model, "max_tokens", f.MaxTokens)
	case event.AssistantMessage:
		args := pairs("key", f.Key, "model", f.Model, "stop", f.Response.Stop, "calls", len(f.Response.Message.ToolUses()), "duration", f.Duration, "first", f.First)
		return debug, "model answered", append(append(args, usageArgs(f.Response.Usage, f.CostUSD)...), "request_id", f.Response.RequestID)
	case event.ModelFailed:
		args := pairs("key", f.Key, "model", f.Model, "class", f.Class, "status", f.Status, "error", f.Message, "request_id", f.RequestID, "duration", f.Duration, "retry", f.Retry)
		if f.Retry {
			args = append(args, "retry_in", max(time.Until(f.RetryAt), 0).Round(time.Millisecond))
		}
		return info, "model failed", args
	case fact.Authorized:
		if f.Decision.Behavior == permission.Denied {
			level = info
		} else {
			level = debug
		}
		return level, "call judged", pairs("call", f.Call, "tool", tool(f.Call), "behavior", f.Decision.Behavior, "source", f.Decision.Source, "rule", f.Decision.Rule, "by", x.Secrets.Text(f.Decision.By), "reason", x.Secrets.Text(f.Decision.Reason))
	case fact.Answered:
		return info, "call decided", pairs("call", f.Call, "tool", tool(f.Call), "behavior", f.Decision.Behavior, "source", f.Decision.Source, "by", x.Secrets.Text(f.Decision.By), "reason", x.Secrets.Text(f.Decision.Reason))
	case event.ToolStart:
		return debug, "tool started", pairs("call", f.Call, "tool", tool(f.Call))
	case event.ToolResult:
		if f.Cause == event.ByDenial {
			return x.denialRecord(f, tool(f.Call))
		}
		args := pairs("call", f.Call, "tool", tool(f.Call), "duration", f.Duration, "failed", f.Result.IsError)
		if f.Cause != "" {
			args = append(args, "cause", f.Cause)
		}
		if f.Fault != "" {
			args = append(args, "fault", f.Fault)
		}
		return debug, "tool ended", args
	case event.Compacted:
		args := pairs("trigger", f.Trigger, "model", f.Model, "before", f.Before, "after", f.After, "error", x.Secrets.Text(f.Failed), "duration", f.Duration)
		return info, "context compacted", append(args, usageArgs(f.Usage, f.CostUSD)...)
	case event.ModeChanged:
		return info, "mode changed", pairs("mode", f.Mode)
	case event.ModelChanged:
		return info, "model changed", pairs("model", f.Model)
	case fact.Stopped:
		return info, "run stopped", pairs("reason", f.Reason, "error", x.Secrets.Text(f.Message))
	case event.AgentStart:
		return info, "agent started", pairs("call", f.Call, "name", f.Agent, "child", f.Session, "background", f.Background)
	case event.AgentEnd:
		args := pairs("name", f.Agent, "child", f.Session, "reason", f.Reason, "turns", f.Turns, "duration", f.Duration)
		return info, "agent ended", append(args, usageArgs(f.Usage, f.CostUSD)...)
	case event.RunEnd:
		args := pairs("reason", f.Reason, "error", x.Secrets.Text(f.Message), "turns", f.Turns, "model_calls", f.ModelCalls, "duration", f.Duration)
		return info, "run ended", append(args, usageArgs(f.Usage, f.CostUSD)...)
	}
	return 0, "", nil
}

// denialRecord returns the record of a call that was denied right before it ran. A denial
// before that has a record already.
func (x *runSetup) denialRecord(f event.ToolResult, tool string) (level slog.Level, text string, args []any) {
	if !strings.HasPrefix(f.Key, "tool/") {
		return 0, "", nil
	}
	return slog.LevelInfo, "call denied", pairs("call", f.Call, "tool", tool, "reason", x.Secrets.Text(f.Result.Text()))
}

func usageArgs(u llm.Usage, cost *float64) []any {
	args := pairs("input_tokens", u.Input, "output_tokens", u.Output, "cache_read_tokens", u.CacheRead, "cache_write_tokens", u.CacheWrite)
	if cost != nil {
		args = append(args, "cost_usd", *cost)
	}
	return args
}

// pairs returns names and values for slog. Without inlining, the calls above build their
// lists on the stack, which takes several kB less in each program.
//
//go:noinline
func pairs(args ...any) []any { return slices.Clone(args) }
