package parts

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

	"github.com/openagent-go/agent/hook"
	hookshell "github.com/openagent-go/agent/hook/shell"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/customtools"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/workspace"
)

// A Plugin is a folder of --plugin-dir: tools/, skills/, commands/, agents/, hooks/hooks.json,
// .mcp.json, and a manifest that may name more folders. It has an effect only while all of its
// files are trusted, because a hook or a server may run any of them.
type Plugin struct {
	Dir      string // its real path
	Given    string // its path as you gave it
	Name     string // from the manifest, else the folder's name
	Sum      string // checksum of all files; "" if they cannot be listed
	Unlisted error  // why
	Hooks    []config.Hook
	Servers  []*ServerFile
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
	p := &Plugin{Dir: real, Given: dir, Name: filepath.Base(real)}
	if l, err := customtools.List(real); err == nil {
		p.Sum = l.Sum
	} else {
		p.Unlisted = err
	}
	var m manifest
	data, err := p.read(manifestName)
	if err == nil && data != nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: reading the manifest: %w", filepath.Join(real, manifestName), err)
	}
	p.Name = cmp.Or(m.Name, p.Name)
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
	return readFile(place, maxPluginFile)
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
		p.Hooks = append(p.Hooks, list...)
	}
	return nil
}

func (p *Plugin) addServers(extra json.RawMessage) error {
	places, texts, err := p.documents(ServersName, extra)
	for i, data := range texts {
		p.Servers = append(p.Servers, &ServerFile{Place: places[i], data: data})
	}
	return err
}

// Acts reports whether the plugin has parts that need trust in all of its files.
func (p *Plugin) Acts() bool {
	return len(p.Hooks)+len(p.Servers)+len(p.commands)+len(p.agents) > 0
}

// CommandFolders returns the commands as skill folders.
func (p *Plugin) CommandFolders() []skill.Folder {
	var out []skill.Folder
	for _, dir := range p.commands {
		out = append(out, skill.Folder{Path: dir, From: "the plugin " + p.Name, Within: p.Dir, Pinned: true, Files: true, Prefix: p.Name})
	}
	return out
}

// SkillFolders returns the plugin's skill folders.
func (p *Plugin) SkillFolders() []skill.Folder {
	var out []skill.Folder
	for _, dir := range p.skills {
		out = append(out, skill.Folder{Path: dir, From: "the plugin " + p.Name, Within: p.Dir, Pinned: true, Prefix: p.Name})
	}
	return out
}

// AgentFolders returns the folders of the plugin's sub-agents.
func (p *Plugin) AgentFolders() []subagent.Folder {
	var out []subagent.Folder
	for _, dir := range p.agents {
		out = append(out, subagent.Folder{Path: dir, Within: p.Dir})
	}
	return out
}

// A PluginError says that a plugin cannot be read. It stops the search, because a guard must not be
// skipped silently.
type PluginError struct {
	Dir string // as given
	Err error
}

func (e *PluginError) Error() string {
	return fmt.Sprintf("the plugin %s: %v; correct the file or leave the plugin out", e.Dir, e.Err)
}

func (e *PluginError) Unwrap() error { return e.Err }

// FindPlugins finds the trusted plugins.
func (f *Finder) FindPlugins(ctx context.Context) error {
	f.Plugins = nil
	for _, dir := range f.Folders {
		p, err := ReadPlugin(dir)
		if err != nil {
			return &PluginError{dir, err}
		}
		yes, err := f.Trust(ctx, Source{Kind: Plugins, Path: p.Dir, Sum: p.Sum, Content: p})
		if err != nil {
			return err
		}
		if yes {
			f.Plugins = append(f.Plugins, p)
		}
	}
	return nil
}

// PluginIn returns the plugin in a folder, or nil if the folder is not a plugin. A folder with
// hooks or a manifest is a plugin. Without them, a project with only .mcp.json is not a plugin, nor
// is a folder that cannot be listed in full.
func PluginIn(dir string) (*Plugin, error) {
	p, err := ReadPlugin(dir)
	if err != nil || !p.Acts() {
		return nil, err
	}
	there := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	switch {
	case len(p.Hooks) > 0 || there(manifestName):
		return p, p.Unlisted
	case p.Unlisted != nil, len(p.commands)+len(p.agents) == 0 && (there(".git") || there(".openagent")):
		return nil, nil
	}
	return p, nil
}

// within reports whether a folder is that of a trusted plugin.
func (f *Finder) within(dir string) bool {
	return slices.ContainsFunc(f.Plugins, func(p *Plugin) bool { return p.Dir == realPath(dir) })
}

// HooksOfPlugins returns the hooks of the trusted plugins. Their commands run in ws.
func (f *Finder) HooksOfPlugins(ws *workspace.Workspace) []hook.Hook {
	var list []hook.Hook
	for _, p := range f.Plugins {
		for _, w := range p.Hooks {
			line := "export " + pluginVariable + "=" + text.QuoteShell(p.Dir) + "\n" + w.Command
			x := hookshell.Hook(w.Event, w.Match, hookshell.Command{Workspace: ws, Line: line, Project: f.Project, Async: w.Async})
			x.Timeout, x.Name = w.Timeout, w.Command
			list = append(list, x)
		}
	}
	return list
}

// getenvIn extends Getenv for a plugin's files, which may refer to the plugin's folder.
func (f *Finder) getenvIn(p *Plugin) func(string) string {
	return func(name string) string {
		if name == pluginVariable {
			return p.Dir
		}
		return f.Getenv(name)
	}
}
