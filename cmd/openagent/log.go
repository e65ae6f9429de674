package main

import "log/slog"

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
