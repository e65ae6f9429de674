package settings

import (
	"log/slog"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// Logger returns a logger that writes to stderr and redacts secrets.
func Logger(h *cli.IO, o *Options) *slog.Logger {
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
			a.Value = slog.StringValue(h.OneLine(v))
		case error:
			a.Value = slog.StringValue(h.OneLine(v.Error()))
		}
		return a
	}}
	if o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(h.Err, options))
	}
	return slog.New(slog.NewTextHandler(h.Err, options))
}
