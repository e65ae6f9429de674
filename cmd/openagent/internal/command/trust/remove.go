package trust

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/trusted"
	"github.com/openagent-go/agent/subagent"
)

// removeTrust removes the trust in a tool folder or in a whole project.
func removeTrust(ctx context.Context, h *cli.IO, dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return cli.Usagef("trust remove: %w", err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	own := filepath.Join(abs, ".openagent")
	removed := 0
	err = settings.ChangeTrust(ctx, h, func(t trusted.List) {
		for _, d := range []string{abs, filepath.Join(own, "tools"), filepath.Join(abs, "tools")} {
			if _, ok := t.Folders[d]; ok {
				delete(t.Folders, d)
				removed++
			}
		}
		if _, ok := t.Plugins[abs]; ok {
			delete(t.Plugins, abs)
			removed++
		}
		for _, d := range []string{abs, filepath.Join(abs, "skills"), filepath.Join(abs, ".agents", "skills"), filepath.Join(abs, ".claude", "skills")} {
			if _, ok := t.Skills[d]; ok {
				delete(t.Skills, d)
				removed++
			}
		}
		if dir := filepath.Join(own, "memory"); t.Memory[dir] != nil {
			delete(t.Memory, dir)
			removed++
		}
		for place := range t.Files {
			if filepath.Dir(place) == own || place == abs || place == filepath.Join(abs, parts.ServersName) || app.IsAgentFolder(place) && slices.ContainsFunc(app.AgentFolders(abs), func(f subagent.Folder) bool { return f.Path == place }) {
				delete(t.Files, place)
				removed++
			}
		}
	})
	if err == nil && removed == 0 {
		return cli.Usagef("trust remove: %s is not trusted; openagent trust list shows the trusted folders", abs)
	}
	return err
}
