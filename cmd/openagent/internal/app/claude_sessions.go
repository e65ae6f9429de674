package app

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/internal/claudelog"
	"github.com/openagent-go/agent/session"
)

// exporting bounds the last export of a session.
const exporting = 10 * time.Second

// entrypoint is the variable by which the Claude Agent SDKs name themselves: sdk-ts, sdk-py.
const entrypoint = "CLAUDE_CODE_ENTRYPOINT"

// exportsForClaude prepares the exports that the setting claude_sessions asks for. Without the
// setting, the sessions of a Claude Agent SDK are exported: its programs look for them.
func (s *App) exportsForClaude(h *cli.IO) {
	on := false
	set := s.Settings.Decode("claude_sessions", &on)
	if !set {
		on = s.Options.Driven() && strings.HasPrefix(h.Getenv(entrypoint), "sdk-")
	}
	if !on || s.Options.Ephemeral {
		return
	}
	dir, err := sessionstore.ClaudeDir(h)
	if err == nil {
		_, err = claudelog.Path(dir, s.Project, s.Session.ID)
	}
	if err != nil {
		if set {
			h.Warn("claude_sessions: %v", err)
		}
		return
	}
	s.export = func(ctx context.Context) {
		_, err := claudelog.Export(ctx, dir, s.Store, s.Session.ID, h.Secrets)
		if err != nil && !errors.Is(err, session.ErrNotFound) { // a session without a prompt
			h.Warn("claude_sessions: exporting the session: %v", err)
		}
	}
}

// ExportSession writes the session where programs for Claude Code look for sessions, if the settings
// ask for that. A failure is a warning.
func (s *App) ExportSession(ctx context.Context) {
	if s.export != nil {
		s.export(ctx)
	}
}
