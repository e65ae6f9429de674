// Package parts finds the parts of a coding agent in the files of a user and a project: plugins,
// sub-agents, skills and MCP servers. It decides in one place what a project's files may do: a part
// that could run programs or steer the agent counts only if the caller trusts it.
package parts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/project"
)

// Kinds of sources.
const (
	Settings = "settings" // a settings file; the content is a *config.Settings and the File
	Servers  = "servers"  // a file of MCP servers; the content is a *ServerFile
	Agents   = "agents"   // a folder of sub-agents; the content is a subagent.Found
	Skills   = "skills"   // a folder of skills; the content is a skill.Found
	Tools    = "tools"    // a folder of executables; the content is a customtools.Listing
	Plugins  = "plugins"  // the folder of a plugin; the content is a *Plugin
)

// A Source is a file or folder of a project or plugin that counts only if it is trusted.
type Source struct {
	Kind    string
	Path    string // free of symlinks
	Sum     string // stands for the content; "" if the content cannot be listed, so that it cannot be trusted
	Content any    // by Kind
}

// A Finder finds the parts of an agent for a project.
type Finder struct {
	Project  string // the working folder
	Home     string // the folder of the user's own files; "": there is none
	UserHome string // the user's home folder, with .claude and .agents; "": there is none
	Getenv   func(string) string
	Layers   []config.Scope // of User and Project; nil: all
	Folders  []string       // of plugins, trusted or not
	// Trust reports whether a source is trusted. An error stops the search.
	Trust func(context.Context, Source) (bool, error)
	Warn  func(kind string, err error) // called with mistakes in files that stop nothing

	Plugins []*Plugin // the trusted ones; FindPlugins sets it
}

// uses reports whether files of a scope count.
func (f *Finder) uses(scope config.Scope) bool {
	return f.Layers == nil || slices.Contains(f.Layers, scope)
}

// Notes returns what tells a model about its folder.
func (f *Finder) Notes() *project.Notes {
	n := &project.Notes{NoProject: !f.uses(config.Project)}
	if f.uses(config.User) {
		n.Home, n.UserHome = f.Home, f.UserHome
	}
	return n
}

// readFile reads a regular file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	data, err := plainfile.ReadFile(name, limit)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the file %s does not exist", name)
	}
	return data, err
}

// realPath returns a path without symlinks, or the path itself if it cannot be resolved.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
