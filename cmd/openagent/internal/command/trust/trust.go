// Package trust is the command "openagent trust". It manages the files and folders that the user trusts.
package trust

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tools/custom"
)

// Command returns the command "openagent trust".
func Command(h *cli.IO) cli.Command {
	format := ""
	flags := func() cli.Flags { return cli.ListFlags(&format) }
	return cli.Command{Name: "trust", Summary: "Say which projects' tools, skills, agents and settings count", Default: "list", Subcommands: []cli.Command{
		{Name: "list", Summary: "List the folders and files that you trust", Examples: []string{"openagent trust list"}, Flags: flags,
			Run: func(context.Context, []string) error { return listTrust(h, format) }},
		{Name: "add", Args: "DIR", MinArgs: 1, MaxArgs: 1, Summary: "Trust a folder as it is now", Examples: []string{"openagent trust add ."}, Flags: flags,
			Run: func(ctx context.Context, args []string) error { return addTrust(ctx, h, args[0]) }},
		{Name: "remove", Args: "DIR", MinArgs: 1, MaxArgs: 1, Summary: "Trust a folder no longer", Examples: []string{"openagent trust remove ."}, Flags: flags,
			Run: func(ctx context.Context, args []string) error { return removeTrust(ctx, h, args[0]) }},
	}}
}

func listTrust(h *cli.IO, format string) error {
	t, err := settings.ReadTrust(h)
	if err != nil {
		return err
	}
	type entry struct {
		Dir    string    `json:"dir,omitempty"`    // of tools
		Skills string    `json:"skills,omitempty"` // folder of skills
		Plugin string    `json:"plugin,omitempty"` // folder
		File   string    `json:"file,omitempty"`   // of settings
		State  string    `json:"state"`            // trusted, changed or gone
		Files  []string  `json:"files,omitempty"`
		Since  time.Time `json:"since"`
	}
	list := []entry{}
	var rows [][]string
	for _, dir := range slices.Sorted(maps.Keys(t.Folders)) {
		f := t.Folders[dir]
		state := "trusted"
		switch l, err := custom.List(dir); {
		case err == nil && l.Dir == "":
			state = "gone"
		case err != nil || l.Dir != dir || l.Sum != f.Sum:
			state = "changed"
		}
		list = append(list, entry{Dir: dir, State: state, Files: f.Files, Since: f.Since})
		rows = append(rows, []string{dir, state, f.Since.Local().Format(time.DateTime), strings.Join(f.Files, ", ")})
	}
	for _, dir := range slices.Sorted(maps.Keys(t.Skills)) {
		f := t.Skills[dir]
		state := app.SkillState(dir, f)
		list = append(list, entry{Skills: dir, State: state, Files: f.Files, Since: f.Since})
		rows = append(rows, []string{dir, state, f.Since.Local().Format(time.DateTime), "skills " + strings.Join(f.Files, ", ")})
	}
	for _, dir := range slices.Sorted(maps.Keys(t.Plugins)) {
		f := t.Plugins[dir]
		state := app.PluginState(dir, f)
		list = append(list, entry{Plugin: dir, State: state, Since: f.Since})
		rows = append(rows, []string{dir, state, f.Since.Local().Format(time.DateTime), "plugin, all of its files"})
	}
	for _, place := range slices.Sorted(maps.Keys(t.Files)) {
		f := t.Files[place]
		state := fileState(place, f)
		kind := "settings"
		switch {
		case app.IsServerFile(place):
			kind = "MCP servers"
		case app.IsAgentFolder(place):
			kind = "agents"
		}
		list = append(list, entry{File: place, State: state, Since: f.Since})
		rows = append(rows, []string{place, state, f.Since.Local().Format(time.DateTime), kind})
	}
	if len(list) == 0 && format != cli.FormatJSON {
		h.Warn("no folder is trusted; add one with openagent trust add DIR")
	}
	return h.WriteList(format, list, "WHAT STATE SINCE FILES", rows)
}

func fileState(place string, t settings.TrustedFile) string {
	switch {
	case app.IsServerFile(place):
		return app.ServerFileState(place, t)
	case app.IsAgentFolder(place):
		return app.AgentFolderState(place, t)
	}
	s, err := config.Load(config.Options{Dir: filepath.Dir(filepath.Dir(place))})
	if err != nil {
		return "changed"
	}
	for _, f := range s.Files() {
		switch {
		case f.Place() != place:
		case !f.Exists:
			return "gone"
		case f.Sum == t.Sum:
			return "trusted"
		}
	}
	return "changed"
}

// addTrust trusts a project: its tools, its skills, its agents, its settings and its
// MCP servers; or all of a plugin. A folder that is none, without any of
// these, is taken for a folder of tools.
func addTrust(ctx context.Context, h *cli.IO, dir string) error {
	if err := settings.CheckDir("trust add", dir); err != nil {
		return err
	}
	var files []config.File
	var s *config.Settings
	servers, err := app.ReadServerFile(dir)
	if err != nil {
		return cli.Usagef("trust add: %w", err)
	}
	whole, err := app.PluginIn(dir)
	if err != nil {
		return cli.Usagef("trust add: %w", err)
	}
	kinds := app.LoadDefinitionFolders(dir)
	if info, err := os.Stat(filepath.Join(dir, ".openagent")); err == nil && info.IsDir() || servers != nil || len(kinds) > 0 {
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
	if len(tools) == 0 && len(files) == 0 && servers == nil && whole == nil && len(skills) == 0 && len(kinds) == 0 {
		return cli.Usagef("trust add: %s holds no tools, no skills, no agents, no settings, no hooks and no .mcp.json; name a project, or the folder that the executable files are in", dir)
	}
	for _, found := range kinds {
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
		if err := h.Show(fmt.Sprintf("trusted: the plugin %s, all of its files\n%s", h.Visible(whole.Dir), whole.Summary(h, false))); err != nil {
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

// removeTrust takes back the trust in a folder of tools, or in all of a project.
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
	err = settings.ChangeTrust(ctx, h, func(t settings.Trusted) {
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
		for place := range t.Files {
			if filepath.Dir(place) == own || place == abs || place == filepath.Join(abs, app.ProjectServersName) || app.IsAgentFolder(place) && slices.ContainsFunc(app.AgentFolders(abs), func(f subagent.Folder) bool { return f.Path == place }) {
				delete(t.Files, place)
				removed++
			}
		}
	})
	if err == nil && removed == 0 {
		return cli.Usagef("trust remove: %s is not trusted; openagent trust list shows what is", abs)
	}
	return err
}
