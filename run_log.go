package agent

import (
	"context"
	"log/slog"
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
	ctx := context.Background()
	if !l.x.Log.Enabled(ctx, slog.LevelInfo) && !l.x.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	for _, e := range events {
		r := l.x.recordOf(e.Data.(event.Fact), l.conv.ToolName)
		if r != nil && l.x.Log.Enabled(ctx, r.level) {
			l.x.Tell(r.level, r.text, append([]any{"seq", e.Seq}, r.args...)...)
		}
	}
}

// recordOf returns the log record of a fact, nil if the fact is not logged.
func (x *runSetup) recordOf(f event.Fact, tool func(call string) string) *logRecord {
	switch f := f.(type) {
	case fact.Configured:
		return infoRecord("run started").str("model", f.Model).str("mode", string(f.Mode)).str("dir", f.Dir).num("tools", len(f.Tools))
	case event.Resumed:
		return infoRecord("run resumed")
	case fact.ModelStart:
		return debugRecord("model called").str("key", f.Key).str("model", f.Model).num("max_tokens", f.MaxTokens)
	case event.AssistantMessage:
		return debugRecord("model answered").str("key", f.Key).str("model", f.Model).str("stop", string(f.Response.Stop)).
			num("calls", len(f.Response.Message.ToolUses())).time("duration", f.Duration).time("first", f.First).
			usage(f.Response.Usage, f.CostUSD).str("request_id", f.Response.RequestID)
	case event.ModelFailed:
		r := infoRecord("model failed").str("key", f.Key).str("model", f.Model).str("class", string(f.Class)).num("status", f.Status).
			str("error", f.Message).str("request_id", f.RequestID).time("duration", f.Duration).flag("retry", f.Retry)
		if f.Retry {
			r.time("retry_in", max(time.Until(f.RetryAt), 0).Round(time.Millisecond))
		}
		return r
	case fact.Authorized:
		r := debugRecord("call judged")
		if f.Decision.Behavior == permission.Denied {
			r.level = slog.LevelInfo
		}
		d := &f.Decision
		return r.str("call", f.Call).str("tool", tool(f.Call)).str("behavior", string(d.Behavior)).str("source", string(d.Source)).
			str("rule", string(d.Rule)).str("by", x.Secrets.Text(d.By)).str("reason", x.Secrets.Text(d.Reason))
	case fact.Answered:
		d := &f.Decision
		return infoRecord("call decided").str("call", f.Call).str("tool", tool(f.Call)).str("behavior", string(d.Behavior)).
			str("source", string(d.Source)).str("by", x.Secrets.Text(d.By)).str("reason", x.Secrets.Text(d.Reason))
	case event.ToolStart:
		return debugRecord("tool started").str("call", f.Call).str("tool", tool(f.Call))
	case event.ToolResult:
		if f.Cause == fact.ByDenial {
			return x.denialRecord(&f, tool(f.Call))
		}
		r := debugRecord("tool ended").str("call", f.Call).str("tool", tool(f.Call)).time("duration", f.Duration).flag("failed", f.Result.IsError)
		if f.Cause != "" {
			r.str("cause", string(f.Cause))
		}
		if f.Fault != "" {
			r.str("fault", string(f.Fault))
		}
		return r
	case event.Compacted:
		return infoRecord("context compacted").str("trigger", string(f.Trigger)).str("model", f.Model).num("before", f.Before).num("after", f.After).
			str("error", x.Secrets.Text(f.Failed)).time("duration", f.Duration).usage(f.Usage, f.CostUSD)
	case event.ModeChanged:
		return infoRecord("mode changed").str("mode", string(f.Mode))
	case event.ModelChanged:
		return infoRecord("model changed").str("model", f.Model)
	case fact.Stopped:
		return infoRecord("run stopped").str("reason", string(f.Reason)).str("error", x.Secrets.Text(f.Message))
	case event.AgentStart:
		return infoRecord("agent started").str("call", f.Call).str("name", f.Agent).str("child", f.Session).flag("background", f.Background)
	case event.AgentEnd:
		return infoRecord("agent ended").str("name", f.Agent).str("child", f.Session).str("reason", string(f.Reason)).num("turns", f.Turns).
			time("duration", f.Duration).usage(f.Usage, f.CostUSD)
	case event.RunEnd:
		return infoRecord("run ended").str("reason", string(f.Reason)).str("error", x.Secrets.Text(f.Message)).num("turns", f.Turns).
			num("model_calls", f.ModelCalls).time("duration", f.Duration).usage(f.Usage, f.CostUSD)
	}
	return nil
}

// denialRecord returns the record of a call that was denied right before it ran. A denial
// before that has a record already.
func (x *runSetup) denialRecord(f *event.ToolResult, tool string) *logRecord {
	if !strings.HasPrefix(f.Key, "tool/") {
		return nil
	}
	return infoRecord("call denied").str("call", f.Call).str("tool", tool).str("reason", x.Secrets.Text(f.Result.Text()))
}

// logRecord is a record for slog. Its methods add a name and a value. They are not inlined,
// because every program would be several kB larger.
type logRecord struct {
	level slog.Level
	text  string
	args  []any
}

//go:noinline // called from many places: every program stays smaller
func infoRecord(text string) *logRecord { return &logRecord{slog.LevelInfo, text, make([]any, 0, 20)} }
func debugRecord(text string) *logRecord {
	return &logRecord{slog.LevelDebug, text, make([]any, 0, 20)}
}

//go:noinline
func (r *logRecord) str(name, value string) *logRecord {
	r.args = append(r.args, name, value)
	return r
}

//go:noinline
func (r *logRecord) num(name string, value int) *logRecord {
	r.args = append(r.args, name, value)
	return r
}

//go:noinline
func (r *logRecord) flag(name string, value bool) *logRecord {
	r.args = append(r.args, name, value)
	return r
}

//go:noinline
func (r *logRecord) time(name string, value time.Duration) *logRecord {
	r.args = append(r.args, name, value)
	return r
}

func (r *logRecord) usage(u llm.Usage, cost *float64) *logRecord {
	r.num("input_tokens", u.Input).num("output_tokens", u.Output).num("cache_read_tokens", u.CacheRead).num("cache_write_tokens", u.CacheWrite)
	if cost != nil {
		r.args = append(r.args, "cost_usd", *cost)
	}
	return r
}
