package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/permission"
)

// KeepRules adds allow rules to a settings file, and returns its path.
func (s *App) KeepRules(ctx context.Context, h *cli.IO, scope config.Scope, rules []permission.Rule) (file string, err error) {
	f, ok := settings.ConfigOptions(h, s.Options, s.Project).File(scope)
	if !ok {
		return "", errors.New("the file does not exist")
	}
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = string(r)
	}
	change, err := config.Append(ctx, f, "permissions.allow", texts...)
	if err != nil || scope == config.User || change.After == "" {
		return f.Path, err
	}
	return f.Path, settings.TrustChange(ctx, h, f, change)
}

// ShortPath returns a path as people write it: from the project, or from their home folder.
func (s *App) ShortPath(path string) string {
	if rel, err := filepath.Rel(s.Project, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(home, path); err == nil && filepath.IsLocal(rel) {
		return filepath.Join("~", rel)
	}
	return path
}
