package trust

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/parts"
)

// addTrust trusts a project (tools, skills, agents, settings, MCP servers) or a whole plugin. Any
// other folder counts as a tool folder.
func addTrust(ctx context.Context, h *cli.IO, dir string) error {
	if err := settings.CheckDir("trust add", dir); err != nil {
		return err
	}
	var files []config.File
	var s *config.Settings
	servers, err := parts.ReadServerFile(dir)
	if err != nil {
		return cli.Usagef("trust add: %w", err)
	}
	whole, err := parts.PluginIn(dir)
	if err != nil {
		return cli.Usagef("trust add: %w", err)
	}
	definitions := app.LoadDefinitionFolders(dir)
	if info, err := os.Stat(filepath.Join(dir, ".openagent")); err == nil && info.IsDir() || servers != nil || len(definitions) > 0 {
		from := settings.ConfigOptions(h, new(settings.Options), dir)
		from.Trusted, from.Given = nil, nil
		if s, err = config.Load(from); err != nil {
			return settings.LoadError(err)
		}
		for _, f := range s.Files() {
			if f.Exists && (f.Scope == config.Project || f.Scope == config.Local) {
				files = append(files, f)
			}
		}
	}
	skills := app.LoadSkillFolders(dir)
	tools, err := settings.ToolFolders(h, dir, servers != nil || whole != nil || s != nil || len(skills) > 0)
	if err != nil {
		return err
	}
	if len(tools) == 0 && len(files) == 0 && servers == nil && whole == nil && len(skills) == 0 && len(definitions) == 0 {
		return cli.Usagef("trust add: %s has no tools, skills, agents, settings, hooks or .mcp.json; name a project, or the folder that contains the executable files", dir)
	}
	for _, found := range definitions {
		if err := app.TrustDefinitions(ctx, h, found); err != nil {
			return err
		}
		if err := h.Show(fmt.Sprintf("trusted: %s\n%s", h.OneLine(found.Dir), app.DefinitionFileList(h, found))); err != nil {
			return err
		}
	}
	for _, found := range skills {
		if err := app.TrustSkills(ctx, h, found); err != nil {
			return err
		}
		if err := h.Show(fmt.Sprintf("trusted: %s\n%s", h.OneLine(found.Dir), app.SkillNames(h, found))); err != nil {
			return err
		}
	}
	if whole != nil {
		if err := app.TrustPlugin(ctx, h, whole); err != nil {
			return err
		}
		if err := h.Show(fmt.Sprintf("trusted: the plugin %s, all of its files\n%s", h.Visible(whole.Dir), app.PluginSummary(h, whole, false))); err != nil {
			return err
		}
	}
	for _, l := range tools {
		if err := settings.TrustTools(ctx, h, l); err != nil {
			return err
		}
		if err := h.Show(fmt.Sprintf("trusted: %s\n%s", h.OneLine(l.Dir), settings.FileList(h, l))); err != nil {
			return err
		}
	}
	if servers != nil {
		if err := app.TrustServers(ctx, h, servers); err != nil {
			return err
		}
		if err := h.Show(fmt.Sprintf("trusted: %s\n%s", h.OneLine(servers.Place), app.ServerList(h, servers))); err != nil {
			return err
		}
	}
	if len(files) == 0 {
		return nil
	}
	if err := settings.TrustFiles(ctx, h, files); err != nil {
		return err
	}
	for _, f := range files {
		if err := h.Show(fmt.Sprintf("trusted: %s\n%s", h.OneLine(f.Place()), settings.NeedLines(h, s.Needs(f)))); err != nil {
			return err
		}
	}
	return nil
}
