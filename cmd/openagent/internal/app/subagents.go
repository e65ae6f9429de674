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
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/trusted"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/workspace"
)

// A Definition is a sub-agent definition and its source: built-in, plugin, user, project or --agents.
type Definition parts.Definition

// optionsSource is the source of definitions that the flag gives.
const optionsSource = "--agents"

// Definitions are the sub-agent definitions of a run or a folder.
type Definitions []Definition

// FindDefinitions finds the sub-agent definitions outside of a run.
func FindDefinitions(ctx context.Context, h *cli.IO, f *parts.Finder, o *settings.Options, hooks *workspace.Workspace) (Definitions, error) {
	list, err := f.FindDefinitions(ctx, hooks)
	if err != nil {
		return nil, err
	}
	if o.Agents != "" {
		more, notes, err := subagent.ParseJSON([]byte(o.Agents), hooks)
		if err != nil {
			return nil, cli.Usagef("--agents: %w", err)
		}
		for _, n := range notes {
			h.Warn("--agents: %s", n)
		}
		list = parts.AddDefinitions(list, optionsSource, more...)
	}
	var out Definitions
	for _, d := range list {
		out = append(out, Definition(d))
	}
	return out, nil
}

// TrustDefinitions records a folder of definitions as trusted in its current state.
func TrustDefinitions(ctx context.Context, h *cli.IO, found subagent.Found) error {
	return settings.ChangeTrust(ctx, h, func(t trusted.List) {
		t.Files[found.Dir] = trusted.File{Sum: found.Sum, Since: trusted.Now()}
	})
}

// DefinitionFileList lists the files of a folder of definitions.
func DefinitionFileList(h *cli.IO, found subagent.Found) string {
	var b strings.Builder
	for _, name := range found.Files {
		fmt.Fprintf(&b, "  %s\n", h.OneLine(name))
	}
	return b.String()
}

// AgentFolders returns the agents folders of a project or a plugin.
func AgentFolders(dir string) []subagent.Folder {
	return append(subagent.Folders(dir, true), subagent.Folder{Path: filepath.Join(dir, "agents"), Within: dir})
}

// LoadDefinitionFolders loads the agents folders of a project or a plugin.
func LoadDefinitionFolders(dir string) []subagent.Found {
	var out []subagent.Found
	for _, f := range AgentFolders(dir) {
		if found := f.Load(); len(found.Files) > 0 {
			out = append(out, found)
		}
	}
	return out
}

// IsAgentFolder reports whether a trusted folder is an agents folder.
func IsAgentFolder(place string) bool { return filepath.Base(place) == "agents" }

// AgentFolderState returns the trust state of an agents folder.
func AgentFolderState(place string, t trusted.File) string {
	if _, err := os.Lstat(place); errors.Is(err, fs.ErrNotExist) {
		return "gone"
	}
	if found := (subagent.Folder{Path: place}).Load(); found.Dir != place || found.Sum != t.Sum {
		return "changed"
	}
	return "trusted"
}

// Named returns the definition with a name, ignoring case.
func (list Definitions) Named(name string) (Definition, error) {
	var names []string
	for _, k := range list {
		if strings.EqualFold(k.Agent.Name, name) {
			return k, nil
		}
		names = append(names, k.Agent.Name)
	}
	return Definition{}, cli.Usagef("there is no agent %q%s", cli.Clip(name), cmp.Or(cli.Suggestion(name, names), "; openagent agents list shows them"))
}

// Names returns the names of the definitions, sorted.
func (list Definitions) Names() []string {
	names := []string{}
	for _, k := range list {
		names = append(names, k.Agent.Name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return names
}

// A DefinitionEntry is a definition as lists show it.
type DefinitionEntry struct {
	Name        string            `json:"name"`
	From        string            `json:"from"`
	Description string            `json:"description"`
	Model       string            `json:"model,omitempty"`
	Tools       []string          `json:"tools,omitempty"` // none: all
	Without     []string          `json:"disallowedTools,omitempty"`
	Mode        permission.Mode   `json:"permissionMode,omitempty"`
	Turns       int               `json:"maxTurns,omitempty"`
	Skills      []string          `json:"skills,omitempty"`
	Servers     []json.RawMessage `json:"mcpServers,omitempty"`
	ReadOnly    bool              `json:"readOnly"`
	Background  bool              `json:"background,omitempty"`
	Isolation   string            `json:"isolation,omitempty"`
	Effort      string            `json:"effort,omitempty"`
	Color       string            `json:"color,omitempty"`
	Hooks       int               `json:"hooks,omitempty"` // how many
	File        string            `json:"file,omitempty"`
	Prompt      string            `json:"prompt,omitempty"` // only if one definition is shown
}

// Entry returns the definition as lists show it.
func (k Definition) Entry() DefinitionEntry {
	a := k.Agent
	out := DefinitionEntry{Name: a.Name, From: k.From, Description: k.Description, Model: k.Model, Tools: a.AllowedTools, Without: a.DisallowedTools,
		Mode: a.Permissions.Mode, Turns: a.Budget.Turns, Skills: k.Skills, ReadOnly: k.ReadOnly, Background: k.Background, Isolation: k.Isolation,
		Effort: a.Thinking.Effort, Color: k.Color, Hooks: len(a.Hooks), File: k.Source}
	for _, r := range a.Permissions.Deny {
		out.Without = append(slices.Clone(out.Without), string(r))
	}
	for _, s := range k.Servers {
		name, _ := json.Marshal(s.Name) // names only: configurations may hold keys
		out.Servers = append(out.Servers, name)
	}
	return out
}

// Access returns "reads" for a sub-agent that only reads, else "changes".
func (e DefinitionEntry) Access() string {
	if e.ReadOnly {
		return "reads"
	}
	return "changes"
}
