package parts

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/workspace"
)

// A Definition is a sub-agent definition and its source.
type Definition struct {
	subagent.Definition
	From string // built-in, plugin, user, project or options
}

// A DefinitionSource is a list of folders with sub-agent definitions, and their owner.
type DefinitionSource struct {
	from    string
	Folders []subagent.Folder
	own     bool // the user's own folders, which need no trust
	trusted bool // folders of trusted plugins
}

// DefinitionFolders returns the folders with definitions. Later folders override earlier ones.
func (f *Finder) DefinitionFolders() []DefinitionSource {
	var extra, user []subagent.Folder
	for _, p := range f.Plugins {
		extra = append(extra, p.AgentFolders()...)
	}
	if base := f.UserHome; base != "" {
		user = slices.DeleteFunc(subagent.Folders(base, false), func(f subagent.Folder) bool {
			return filepath.Dir(f.Path) == filepath.Join(base, ".openagent") // is the home folder, or is not
		})
	}
	if f.Home != "" {
		user = append(user, subagent.Folder{Path: filepath.Join(f.Home, "agents")})
	}
	out := []DefinitionSource{{from: "plugin", Folders: extra, trusted: true}}
	if f.uses(config.User) {
		out = append(out, DefinitionSource{from: "user", Folders: user, own: true})
	}
	if f.uses(config.Project) {
		out = append(out, DefinitionSource{from: "project", Folders: subagent.Folders(f.Project, true)})
	}
	return out
}

// FindDefinitions returns the built-in definitions of sub-agents and those in files. Hooks run in
// the workspace. Without one, files with hooks are left out.
func (f *Finder) FindDefinitions(ctx context.Context, hooks *workspace.Workspace) ([]Definition, error) {
	own := map[string]bool{}
	list := AddDefinitions(nil, "built-in", subagent.Builtin()...)
	for _, p := range f.DefinitionFolders() {
		for _, folder := range p.Folders {
			folder.Hooks = hooks
			found := folder.Load()
			if own[found.Dir] { // if the project is the home folder, these are the user's
				continue
			}
			own[found.Dir] = p.own && found.Dir != ""
			if !p.own && !p.trusted && len(found.Files) > 0 {
				yes, err := f.Trust(ctx, Source{Kind: Agents, Path: found.Dir, Sum: found.Sum, Content: found})
				if err != nil {
					return list, err
				}
				if !yes {
					continue
				}
			}
			for _, problem := range found.Problems {
				f.Warn(Agents, problem)
			}
			list = AddDefinitions(list, p.from, found.Definitions...)
		}
	}
	return list, nil
}

// AddDefinitions adds definitions to a list. They replace those of the same name.
func AddDefinitions(list []Definition, from string, more ...subagent.Definition) []Definition {
	for _, d := range more {
		list = slices.DeleteFunc(list, func(k Definition) bool { return strings.EqualFold(k.Agent.Name, d.Agent.Name) })
		list = append(list, Definition{d, from})
	}
	return list
}
