package main

import (
	"iter"
	"log/slog"
	"time"

	"github.com/openagent-go/agent/event"
)

// logger writes to stderr, without secrets.
func (h *host) logger(o *options) *slog.Logger {
	level := slog.LevelWarn
	if o.logLevel != "" {
		_ = level.UnmarshalText([]byte(o.logLevel)) // one of logLevels
	}
	if o.debug {
		level = slog.LevelDebug
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch v := a.Value.Any().(type) {
		case string:
			a.Value = slog.StringValue(h.oneLine(v))
		case error:
			a.Value = slog.StringValue(h.oneLine(v.Error()))
		}
		return a
	}}
	if o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(h.err, options))
	}
	return slog.New(slog.NewTextHandler(h.err, options))
}

// traced logs the facts of a run as they pass, so that --debug tells what happens.
func traced(log *slog.Logger, events iter.Seq2[event.Event, error]) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for e, err := range events {
			if f, ok := e.Data.(event.Fact); ok && err == nil {
				log.Debug(event.Type(f), append([]any{"seq", e.Seq}, told(f)...)...)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// told is what the log says of a fact.
func told(f event.Fact) []any {
	switch f := f.(type) {
	case event.Configured:
		return []any{"model", f.Model, "mode", f.Mode, "dir", f.Dir, "tools", len(f.Tools)}
	case event.ModelStart:
		return []any{"model", f.Model, "max_tokens", f.MaxTokens}
	case event.AssistantMessage:
		u := f.Response.Usage
		return []any{"stop", f.Response.Stop, "calls", len(f.Response.Message.ToolUses()), "input", u.Input, "cached", u.CacheRead, "output", u.Output, "took", f.Duration.Round(time.Millisecond)}
	case event.ModelFailed:
		return []any{"class", f.Class, "status", f.Status, "error", f.Message, "request_id", f.RequestID, "retry", f.Retry}
	case event.Authorized:
		return []any{"call", f.Call, "behavior", f.Decision.Behavior, "source", f.Decision.Source, "rule", f.Decision.Rule, "reason", f.Decision.Reason}
	case event.Answered:
		return []any{"call", f.Call, "behavior", f.Decision.Behavior, "reason", f.Decision.Reason}
	case event.ToolStart:
		return []any{"call", f.Call}
	case event.ToolResult:
		return []any{"call", f.Call, "cause", f.Cause, "error", f.Result.IsError, "took", f.Duration.Round(time.Millisecond)}
	case event.RunEnd:
		return []any{"reason", f.Reason, "message", f.Message, "turns", f.Turns}
	}
	return nil
}
