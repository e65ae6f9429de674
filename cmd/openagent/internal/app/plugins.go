package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/preview"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/hook"
	hookshell "github.com/openagent-go/agent/hook/shell"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tools/custom"
)

// A Plugin is a folder of --plugin-dir: tools/, skills/, commands/, agents/, hooks/hooks.json,
// .mcp.json, and a manifest that may name more folders. It has an effect only while all of its
// files are trusted, because a hook or a server may run any of them.
type Plugin struct {
	Dir      string // its real path
	name     string // from the manifest, else the folder's name
	sum      string // checksum of all files; "" if they cannot be listed
	unlisted error  // why
	hooks    []config.Hook
	servers  []*serverFile
	skills   []string // folders
	commands []string
	agents   []string
}

const (
	hooksName      = "hooks.json"         // in the folder hooks/ of a plugin
	maxPluginFile  = 1 << 20              // maximum bytes of its hooks, and of its manifest
	pluginVariable = "CLAUDE_PLUGIN_ROOT" // names the plugin's folder in its hooks and servers
)

var manifestName = filepath.Join(".claude-plugin", "plugin.json")

// A manifest is .claude-plugin/plugin.json. Its paths add to the usual ones.
type manifest struct {
	Name     string          `json:"name"`
	Commands json.RawMessage `json:"commands"`
	Agents   json.RawMessage `json:"agents"`
	Skills   json.RawMessage `json:"skills"`
	Hooks    json.RawMessage `json:"hooks"`      // a path, or the hooks
	Servers  json.RawMessage `json:"mcpServers"` // a path, or the servers
}

// ReadPlugin reads a plugin, trusted or not.
func ReadPlugin(dir string) (*Plugin, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, err
	}
	p := &Plugin{Dir: real, name: filepath.Base(real)}
	if l, err := custom.List(real); err == nil {
		p.sum = l.Sum
	} else {
		p.unlisted = err
	}
	var m manifest
	data, err := p.read(manifestName)
	if err == nil && data != nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: reading the manifest: %w", filepath.Join(real, manifestName), err)
	}
	p.name = cmp.Or(m.Name, p.name)
	for _, part := range []struct {
		name  string
		extra json.RawMessage
		into  *[]string
	}{{"commands", m.Commands, &p.commands}, {"agents", m.Agents, &p.agents}, {"skills", m.Skills, &p.skills}} {
		if *part.into, err = p.folders(part.name, part.extra); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", filepath.Join(real, manifestName), part.name, err)
		}
	}
	if err := p.addHooks(m.Hooks); err != nil {
		return nil, err
	}
	return p, p.addServers(m.Servers)
}

// read returns the content of a file of the plugin, or nil if it does not exist.
func (p *Plugin) read(name string) ([]byte, error) {
	place, err := p.place(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return settings.ReadFile(place, maxPluginFile)
}

// place returns the real path of a file or folder of the plugin.
func (p *Plugin) place(name string) (string, error) {
	real, err := filepath.EvalSymlinks(filepath.Join(p.Dir, name))
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(p.Dir, real); err != nil || !filepath.IsLocal(filepath.FromSlash(name)) || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%q is outside the plugin; name a path in it, such as ./custom", name)
	}
	return real, nil
}

// folders lists the folders of a part: the usual one, then the manifest's.
func (p *Plugin) folders(usual string, extra json.RawMessage) ([]string, error) {
	var out []string
	if place, err := p.place(usual); err == nil {
		out = append(out, place)
	}
	names, err := pathsOf(extra)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		place, err := p.place(name)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(place); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%q is not a folder; name the folder that contains the files", name)
		}
		if !slices.Contains(out, place) {
			out = append(out, place)
		}
	}
	return out, nil
}

// pathsOf reads a path or a list of paths.
func pathsOf(raw json.RawMessage) ([]string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	var many []string
	if err := json.Unmarshal(raw, &many); err != nil {
		return nil, errors.New("the value is not a path or a list of paths; correct it")
	}
	return many, nil
}

// documents returns the files and objects that a member of the manifest names, by source.
func (p *Plugin) documents(usual string, extra json.RawMessage) (places []string, texts [][]byte, err error) {
	names := []string{usual}
	if len(extra) > 0 && extra[0] == '{' {
		places, texts = append(places, filepath.Join(p.Dir, manifestName)), append(texts, extra)
	} else if more, err := pathsOf(extra); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Join(p.Dir, manifestName), err)
	} else {
		names = append(names, more...)
	}
	for i, name := range names {
		path := filepath.Join(p.Dir, name)
		data, err := p.read(name)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		case data == nil && i > 0:
			return nil, nil, fmt.Errorf("%s: the file does not exist; correct %s", path, manifestName)
		case data != nil && !slices.Contains(places, path):
			places, texts = append(places, path), append(texts, data)
		}
	}
	return places, texts, nil
}

func (p *Plugin) addHooks(extra json.RawMessage) error {
	places, texts, err := p.documents(filepath.Join("hooks", hooksName), extra)
	if err != nil {
		return err
	}
	for i, data := range texts {
		var w struct {
			Hooks json.RawMessage `json:"hooks"`
		}
		if err := json.Unmarshal(data, &w); err != nil {
			return fmt.Errorf("%s: reading its hooks: %w", places[i], err)
		}
		if len(w.Hooks) == 0 && places[i] == filepath.Join(p.Dir, manifestName) { // the object may hold the hooks directly
			w.Hooks = data
		}
		if len(w.Hooks) == 0 {
			continue
		}
		list, err := config.ParseHooks(w.Hooks, config.Source{Scope: config.Flags, File: places[i]})
		if err != nil {
			return fmt.Errorf("%s: %w", places[i], err)
		}
		p.hooks = append(p.hooks, list...)
	}
	return nil
}

func (p *Plugin) addServers(extra json.RawMessage) error {
	places, texts, err := p.documents(ProjectServersName, extra)
	for i, data := range texts {
		p.servers = append(p.servers, &serverFile{Place: places[i], data: data})
	}
	return err
}

// acts reports whether the plugin has parts that need trust in all of its files.
func (p *Plugin) acts() bool {
	return len(p.hooks)+len(p.servers)+len(p.commands)+len(p.agents) > 0
}

// CommandFolders returns the commands as skill folders.
func (p *Plugin) CommandFolders() []skill.Folder {
	var out []skill.Folder
	for _, dir := range p.commands {
		out = append(out, skill.Folder{Path: dir, From: "the plugin " + p.name, Within: p.Dir, Pinned: true, Files: true, Prefix: p.name})
	}
	return out
}

// skillFolders returns the plugin's skill folders.
func (p *Plugin) skillFolders() []skill.Folder {
	var out []skill.Folder
	for _, dir := range p.skills {
		out = append(out, skill.Folder{Path: dir, From: "the plugin " + p.name, Within: p.Dir, Pinned: true, Prefix: p.name})
	}
	return out
}

func (p *Plugin) agentFolders() []subagent.Folder {
	var out []subagent.Folder
	for _, dir := range p.agents {
		out = append(out, subagent.Folder{Path: dir, Within: p.Dir})
	}
	return out
}

// Summary describes the plugin's parts. Parts that run come first. full adds the texts of agents
// and commands, for a trust question.
func (p *Plugin) Summary(h *cli.IO, full bool) string {
	var b strings.Builder
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, " %s:\n%s", title, text)
		}
	}
	section("hooks, commands that run by themselves", hookLines(h, p.hooks))
	var servers strings.Builder
	for _, f := range p.servers {
		servers.WriteString(ServerList(h, f))
	}
	section("MCP servers, which openagent starts or connects to", servers.String())
	var agents, commands strings.Builder
	for _, f := range p.agentFolders() {
		if found := f.Load(); full {
			agents.WriteString(preview.AgentDocuments(h, found))
		} else {
			agents.WriteString(DefinitionFileList(h, found))
		}
	}
	section("agents", agents.String())
	for _, f := range p.CommandFolders() {
		if found := f.Load(); full {
			commands.WriteString(preview.SkillDocuments(h, found))
		} else {
			commands.WriteString(SkillNames(h, found))
		}
	}
	section("commands, instructions that the agent follows", commands.String())
	var skills strings.Builder
	for _, f := range p.skillFolders() {
		if found := f.Load(); full {
			skills.WriteString(preview.SkillDocuments(h, found))
		} else {
			skills.WriteString(SkillNames(h, found))
		}
	}
	section("skills, instructions that the agent follows", skills.String())
	return b.String()
}

// hookLines formats hooks for a question.
func hookLines(h *cli.IO, hooks []config.Hook) string {
	var b strings.Builder
	for _, x := range hooks {
		about := string(x.Event)
		if x.Match != "" {
			about += " (" + x.Match + ")"
		}
		rows := preview.SplitLines(x.Command)
		fmt.Fprintf(&b, "  %s: %s\n", h.Visible(about), h.Visible(rows[0]))
		for _, row := range rows[1:] {
			fmt.Fprintf(&b, "    %s\n", h.Visible(row))
		}
	}
	return b.String()
}

// TrustedPlugins returns the trusted plugins among some folders. With ask, it asks the user on the
// terminal about the others. An unreadable plugin is an error, because a guard must not be skipped
// silently.
func TrustedPlugins(ctx context.Context, h *cli.IO, dirs []string, ask, tell bool) ([]*Plugin, error) {
	var out []*Plugin
	for _, dir := range dirs {
		p, err := ReadPlugin(dir)
		if err != nil {
			return nil, cli.Usagef("--plugin-dir %s: %w; correct the file or leave the plugin out", dir, err)
		}
		yes, err := trustsPlugin(ctx, h, p, dir, ask, tell)
		if err != nil {
			return nil, err
		}
		if yes {
			out = append(out, p)
		}
	}
	return out, nil
}

func trustsPlugin(ctx context.Context, h *cli.IO, p *Plugin, dir string, ask, tell bool) (bool, error) {
	t, err := settings.ReadTrust(h)
	if err != nil {
		h.Warn("%v", err)
		return false, nil
	}
	switch {
	case p.sum != "" && t.Plugins[p.Dir].Sum == p.sum:
		return true, nil
	case !p.acts() || !tell && !ask:
		return false, nil
	case p.unlisted != nil:
		h.Warn("the hooks, servers, agents and commands of the plugin %s are left out: %v", p.Dir, p.unlisted)
		return false, nil
	case !ask:
		h.Warn("the hooks, servers, agents and commands of the plugin %s are left out: it is not trusted in its current state; review all of its files, then run openagent trust add %s", p.Dir, text.QuoteShell(dir))
		return false, nil
	}
	if _, err := fmt.Fprintf(h.Err, "The plugin %s in %s contains the parts below. Any of its files may run:\n%s", h.Visible(p.name), h.Visible(p.Dir), p.Summary(h, true)); err != nil {
		return false, err
	}
	yes, err := settings.Confirm(ctx, h, "Do you trust all of its files, as they are now? [y/N] ")
	if err != nil || !yes {
		return false, err
	}
	return true, TrustPlugin(ctx, h, p)
}

// TrustPlugin records a plugin as trusted in its current state.
func TrustPlugin(ctx context.Context, h *cli.IO, p *Plugin) error {
	return settings.ChangeTrust(ctx, h, func(t settings.Trusted) {
		t.Plugins[p.Dir] = settings.TrustedFolder{Sum: p.sum, Since: settings.TrustTime()}
	})
}

// PluginIn returns the plugin in a folder, or nil if the folder is not a plugin. A folder with
// hooks or a manifest is a plugin. Without them, a project with only .mcp.json is not a plugin, nor
// is a folder that cannot be listed in full.
func PluginIn(dir string) (*Plugin, error) {
	p, err := ReadPlugin(dir)
	if err != nil || !p.acts() {
		return nil, err
	}
	there := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	switch {
	case len(p.hooks) > 0 || there(manifestName):
		return p, p.unlisted
	case p.unlisted != nil, len(p.commands)+len(p.agents) == 0 && (there(".git") || there(".openagent")):
		return nil, nil
	}
	return p, nil
}

// PluginState returns the trust state of a plugin.
func PluginState(dir string, t settings.TrustedFolder) string {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return "gone"
	}
	if l, err := custom.List(dir); err != nil || l.Dir != dir || l.Sum != t.Sum {
		return "changed"
	}
	return "trusted"
}

// FindPlugins finds the trusted plugins of a run.
func FindPlugins(ctx context.Context, h *cli.IO, s *App, ask, tell bool) (err error) {
	s.plugins, err = TrustedPlugins(ctx, h, s.Options.Plugins, ask, tell)
	return err
}

// trustsIn reports whether a folder is inside a trusted plugin.
func (s *App) trustsIn(dir string) bool {
	return slices.ContainsFunc(s.plugins, func(p *Plugin) bool { return p.Dir == cli.ResolveFolder(dir) })
}

// hooksOfPlugins returns the hooks of the trusted plugins.
func (s *App) hooksOfPlugins() []hook.Hook {
	if !s.hooked() {
		return nil
	}
	var list []hook.Hook
	for _, p := range s.plugins {
		for _, w := range p.hooks {
			line := "export " + pluginVariable + "=" + text.QuoteShell(p.Dir) + "\n" + w.Command
			x := hookshell.Hook(w.Event, w.Match, hookshell.Command{Workspace: s.HookWorkspace(), Line: line, Project: s.Project, Async: w.Async})
			x.Timeout, x.Name = w.Timeout, w.Command
			list = append(list, x)
		}
	}
	return list
}

// withinPlugin extends h.Getenv for a plugin's files, which may refer to the plugin's folder.
func withinPlugin(h *cli.IO, dir string) func(string) string {
	return func(name string) string {
		if name == pluginVariable {
			return dir
		}
		return h.Getenv(name)
	}
}
