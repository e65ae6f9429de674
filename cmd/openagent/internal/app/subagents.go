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

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/preview"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/subagent"
)

// A Definition is a sub-agent definition and its source.
type Definition struct {
	subagent.Definition
	from string // built-in, plugin, user, project or --agents
}

// A DefinitionSource is a list of folders with sub-agent definitions, and their owner.
type DefinitionSource struct {
	from    string
	Folders []subagent.Folder
	own     bool // the user's own folders, which need no trust
	trusted bool // folders of trusted plugins
}

// DefinitionFolders returns the folders with definitions, as far as --setting-sources includes
// them. Later folders override earlier ones.
func DefinitionFolders(h *cli.IO, o *settings.Options, project string, plugins []*Plugin) []DefinitionSource {
	wants := func(l config.Scope) bool { return o.Layers == nil || slices.Contains(o.Layers, string(l)) }
	var extra, user []subagent.Folder
	for _, p := range plugins {
		extra = append(extra, p.agentFolders()...)
	}
	if base, err := os.UserHomeDir(); err == nil {
		user = slices.DeleteFunc(subagent.Folders(base, false), func(f subagent.Folder) bool {
			return filepath.Dir(f.Path) == filepath.Join(base, ".openagent") // is the home folder, or is not
		})
	}
	if home, err := h.Home(); err == nil {
		user = append(user, subagent.Folder{Path: filepath.Join(home, "agents")})
	}
	out := []DefinitionSource{{from: "plugin", Folders: extra, trusted: true}}
	if wants(config.User) {
		out = append(out, DefinitionSource{from: "user", Folders: user, own: true})
	}
	if wants(config.Project) {
		out = append(out, DefinitionSource{from: "project", Folders: subagent.Folders(project, true)})
	}
	return out
}

// FindDefinitions finds the sub-agent definitions of a run. With ask, it asks the user on the
// terminal about untrusted folders. With tell, it reports invalid files.
func FindDefinitions(ctx context.Context, h *cli.IO, s *App, ask, tell bool) error {
	own := map[string]bool{}
	add := func(from string, list []subagent.Definition) {
		for _, d := range list {
			s.Definitions = slices.DeleteFunc(s.Definitions, func(k Definition) bool { return strings.EqualFold(k.Agent.Name, d.Agent.Name) })
			if !s.hooked() {
				d.Agent.Hooks = nil
			}
			s.Definitions = append(s.Definitions, Definition{d, from})
		}
	}
	add("built-in", subagent.Builtin())
	for _, p := range DefinitionFolders(h, s.Options, s.Project, s.plugins) {
		for _, f := range p.Folders {
			f.Hooks = s.HookWorkspace()
			found := f.Load()
			if own[found.Dir] { // if the project is the home folder, these are the user's
				continue
			}
			own[found.Dir] = p.own && found.Dir != ""
			if !p.own && !p.trusted && len(found.Files) > 0 {
				trusted, err := trustsKinds(ctx, h, found, ask, tell)
				if err != nil {
					return err
				}
				if !trusted {
					continue
				}
			}
			for _, problem := range found.Problems {
				if tell {
					h.Warn("%v", problem)
				}
			}
			add(p.from, found.Definitions)
		}
	}
	if s.Options.Agents == "" {
		return nil
	}
	list, notes, err := subagent.ParseJSON([]byte(s.Options.Agents), s.HookWorkspace())
	if err != nil {
		return cli.Usagef("--agents: %w", err)
	}
	for _, n := range notes {
		if tell {
			h.Warn("--agents: %s", n)
		}
	}
	add("--agents", list)
	return nil
}

// trustsKinds reports whether an agents folder of a project or plugin is trusted. It may ask the
// user.
func trustsKinds(ctx context.Context, h *cli.IO, found subagent.Found, ask, tell bool) (bool, error) {
	t, err := settings.ReadTrust(h)
	if err != nil {
		h.Warn("%v", err)
		return false, nil
	}
	if t.Files[found.Dir].Sum == found.Sum {
		return true, nil
	}
	if !ask && !tell {
		return false, nil
	}
	if !ask {
		h.Warn("the agents in %s are ignored: they are not trusted in their current state; review them, then run openagent trust add %s", found.Dir, text.QuoteShell(filepath.Dir(filepath.Dir(found.Dir))))
		return false, nil
	}
	if _, err := fmt.Fprintf(h.Err, "The folder %s defines agents with their own instructions, tools and possibly commands:\n%s", h.Visible(found.Dir), preview.AgentDocuments(h, found)); err != nil {
		return false, err
	}
	yes, err := settings.Confirm(ctx, h, "Do you trust them, as they are now? [y/N] ")
	if err != nil || !yes {
		return false, err
	}
	return true, TrustDefinitions(ctx, h, found)
}

// TrustDefinitions records a folder of definitions as trusted in its current state.
func TrustDefinitions(ctx context.Context, h *cli.IO, found subagent.Found) error {
	return settings.ChangeTrust(ctx, h, func(t settings.Trusted) {
		t.Files[found.Dir] = settings.TrustedFile{Sum: found.Sum, Since: settings.TrustTime()}
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
func AgentFolderState(place string, t settings.TrustedFile) string {
	if _, err := os.Lstat(place); errors.Is(err, fs.ErrNotExist) {
		return "gone"
	}
	if found := (subagent.Folder{Path: place}).Load(); found.Dir != place || found.Sum != t.Sum {
		return "changed"
	}
	return "trusted"
}

// DefinitionNamed returns the definition with a name, ignoring case.
func (s *App) DefinitionNamed(name string) (Definition, error) {
	var names []string
	for _, k := range s.Definitions {
		if strings.EqualFold(k.Agent.Name, name) {
			return k, nil
		}
		names = append(names, k.Agent.Name)
	}
	return Definition{}, cli.Usagef("there is no agent %q%s", cli.Clip(name), cmp.Or(cli.Suggestion(name, names), "; openagent agents list shows them"))
}

// DefinitionNames returns the names of the definitions, sorted.
func (s *App) DefinitionNames() []string {
	names := []string{}
	for _, k := range s.Definitions {
		names = append(names, k.Agent.Name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return names
}

// become applies the definition that --agent names. Flags override it.
func (s *App) become() error {
	o := s.Options
	if o.Agent == "" {
		return nil
	}
	k, err := s.DefinitionNamed(o.Agent)
	if err != nil {
		return cli.Usagef("--agent: %w", err)
	}
	s.definition = &k
	flags := o.FromFlags
	if flags == nil {
		flags = o
	}
	a := k.Agent
	if k.Model != "" && flags.Model == "" {
		if err := s.permitsModelNamed(k.Model); err != nil {
			return cli.Usagef("--agent %s: %w", a.Name, err)
		}
		o.Model = k.Model
	}
	if m := a.Permissions.Mode; m != "" && flags.Mode == "" {
		if err := o.Permits(m); err != nil {
			return cli.Usagef("--agent %s: %w", a.Name, err)
		}
		o.Mode = string(m)
	}
	if a.Budget.Turns > 0 && flags.Turns == 0 {
		o.Turns = a.Budget.Turns
	}
	if a.Thinking.Effort != "" && flags.Effort == "" && flags.Thinking == 0 && o.PermitsThinking(0) == nil {
		o.Effort, o.Thinking = a.Thinking.Effort, 0
	}
	o.Deny = slices.Concat(o.Deny, a.Permissions.Deny)
	return nil
}

// narrow applies the limits of the definition to the run's agent.
func (s *App) narrow(a *agent.Agent) {
	if s.definition == nil {
		return
	}
	k := s.definition.Bounded()
	a.Name = k.Name
	a.AllowedTools, a.DisallowedTools = k.AllowedTools, k.DisallowedTools
	a.Hooks = slices.Concat(a.Hooks, k.Hooks)
	a.Deciders = slices.Concat(a.Deciders, k.Deciders)
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
	out := DefinitionEntry{Name: a.Name, From: k.from, Description: k.Description, Model: k.Model, Tools: a.AllowedTools, Without: a.DisallowedTools,
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
