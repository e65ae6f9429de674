package settings

import (
	"log/slog"
	"os"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// Logger returns a logger that writes to stderr, or to the file of --debug-file, and redacts secrets.
func Logger(h *cli.IO, o *Options) *slog.Logger {
	out := h.Err
	if o.DebugFile != "" {
		f, err := os.OpenFile(o.DebugFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			out = f // until the program ends
		} else {
			h.Warn("--debug-file: %v", err)
		}
	}
	level := slog.LevelWarn
	if o.logLevel != "" {
		_ = level.UnmarshalText([]byte(o.logLevel)) // one of logLevels
	}
	if o.debug || o.DebugFile != "" {
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
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}
