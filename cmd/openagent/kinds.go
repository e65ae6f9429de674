package main

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
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/subagent"
)

// A kind is a kind of agent, and where it comes from.
type kind struct {
	subagent.Definition
	from string // built-in, plugin, user, project or --agents
}

// kindFolders are folders of kinds of agents.
type kindFolders struct {
	from    string
	folders []subagent.Folder
	own     bool // of the user, whom nobody asks about them
	trusted bool // of plugins that are trusted
}

// kindPlaces are the folders that a run looks into, the later counts, as far as
// --setting-sources wants them.
func (h *host) kindPlaces(o *options, project string, plugins []*plugin) []kindFolders {
	wants := func(l config.Scope) bool { return o.layers == nil || slices.Contains(o.layers, string(l)) }
	var extra, user []subagent.Folder
	for _, p := range plugins {
		extra = append(extra, p.agentFolders()...)
	}
	if base, err := os.UserHomeDir(); err == nil {
		user = slices.DeleteFunc(subagent.Folders(base, false), func(f subagent.Folder) bool {
			return filepath.Dir(f.Path) == filepath.Join(base, ".openagent") // is the home folder, or is not
		})
	}
	if home, err := h.home(); err == nil {
		user = append(user, subagent.Folder{Path: filepath.Join(home, "agents")})
	}
	out := []kindFolders{{from: "plugin", folders: extra, trusted: true}}
	if wants(config.User) {
		out = append(out, kindFolders{from: "user", folders: user, own: true})
	}
	if wants(config.Project) {
		out = append(out, kindFolders{from: "project", folders: subagent.Folders(project, true)})
	}
	return out
}

// findKinds finds the kinds of agents of a run. With ask a person at the terminal is
// asked about folders that are not trusted. What is wrong with files is said if tell
// is set.
func (h *host) findKinds(ctx context.Context, s *setup, ask, tell bool) error {
	own := map[string]bool{}
	add := func(from string, list []subagent.Definition) {
		for _, d := range list {
			s.kinds = slices.DeleteFunc(s.kinds, func(k kind) bool { return strings.EqualFold(k.Agent.Name, d.Agent.Name) })
			if !s.hooked() {
				d.Agent.Hooks = nil
			}
			s.kinds = append(s.kinds, kind{d, from})
		}
	}
	add("built-in", subagent.Builtin())
	for _, p := range h.kindPlaces(s.options, s.project, s.plugins) {
		for _, f := range p.folders {
			f.Hooks = s.hookPlace()
			found := f.Load()
			if own[found.Dir] { // the home folder as a project: they are the user's
				continue
			}
			own[found.Dir] = p.own && found.Dir != ""
			if !p.own && !p.trusted && len(found.Files) > 0 {
				trusted, err := h.trustsKinds(ctx, found, ask, tell)
				if err != nil {
					return err
				}
				if !trusted {
					continue
				}
			}
			for _, problem := range found.Problems {
				if tell {
					h.complain("%v", problem)
				}
			}
			add(p.from, found.Definitions)
		}
	}
	if s.options.agents == "" {
		return nil
	}
	list, notes, err := subagent.ParseJSON([]byte(s.options.agents), s.hookPlace())
	if err != nil {
		return cli.Usagef("--agents: %w", err)
	}
	for _, n := range notes {
		if tell {
			h.complain("--agents: %s", n)
		}
	}
	add("--agents", list)
	return nil
}

// trustsKinds reports whether a folder of agents that is not the user's own counts.
func (h *host) trustsKinds(ctx context.Context, found subagent.Found, ask, tell bool) (bool, error) {
	t, err := h.readTrust()
	if err != nil {
		h.complain("%v", err)
		return false, nil
	}
	if t.Files[found.Dir].Sum == found.Sum {
		return true, nil
	}
	if !ask && !tell {
		return false, nil
	}
	if !ask {
		h.complain("the agents of %s do not count: they are not trusted as they are; look at them, then: openagent trust add %s", found.Dir, cli.Quote(filepath.Dir(filepath.Dir(found.Dir))))
		return false, nil
	}
	if _, err := fmt.Fprintf(h.err, "The folder %s describes agents, with instructions, tools and perhaps commands of their own:\n%s", h.visible(found.Dir), h.agentDocuments(found)); err != nil {
		return false, err
	}
	yes, err := h.confirm(ctx, "Do you trust them, as they are now? [y/N] ")
	if err != nil || !yes {
		return false, err
	}
	return true, h.trustKinds(ctx, found)
}

func (h *host) trustKinds(ctx context.Context, found subagent.Found) error {
	return h.changeTrust(ctx, func(t trusted) { t.Files[found.Dir] = trustedFile{found.Sum, now()} })
}

func (h *host) kindList(found subagent.Found) string {
	var b strings.Builder
	for _, name := range found.Files {
		fmt.Fprintf(&b, "  %s\n", h.oneLine(name))
	}
	return b.String()
}

// agentFolders are the folders of agents of a project, or of a plugin.
func agentFolders(dir string) []subagent.Folder {
	return append(subagent.Folders(dir, true), subagent.Folder{Path: filepath.Join(dir, "agents"), Within: dir})
}

// kindFoldersIn returns what the folders of agents of a project or a plugin hold.
func kindFoldersIn(dir string) []subagent.Found {
	var out []subagent.Found
	for _, f := range agentFolders(dir) {
		if found := f.Load(); len(found.Files) > 0 {
			out = append(out, found)
		}
	}
	return out
}

// isKindFolder reports whether what is trusted is a folder of agents.
func isKindFolder(place string) bool { return filepath.Base(place) == "agents" }

// kindFolderState says how a folder of agents stands that was trusted.
func kindFolderState(place string, t trustedFile) string {
	if _, err := os.Lstat(place); errors.Is(err, fs.ErrNotExist) {
		return "gone"
	}
	if found := (subagent.Folder{Path: place}).Load(); found.Dir != place || found.Sum != t.Sum {
		return "changed"
	}
	return "trusted"
}

// kindNamed returns the kind of a name, whatever its case.
func (s *setup) kindNamed(name string) (kind, error) {
	var names []string
	for _, k := range s.kinds {
		if strings.EqualFold(k.Agent.Name, name) {
			return k, nil
		}
		names = append(names, k.Agent.Name)
	}
	return kind{}, cli.Usagef("there is no agent %q%s", cli.Clip(name), cmp.Or(cli.Likely(name, names), "; openagent agents list shows them"))
}

// kindNames are the names of the kinds, in order.
func (s *setup) kindNames() []string {
	names := []string{}
	for _, k := range s.kinds {
		names = append(names, k.Agent.Name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return names
}

// become chooses the kind that --agent names, which says what no flag says.
func (s *setup) become() error {
	o := s.options
	if o.agent == "" {
		return nil
	}
	k, err := s.kindNamed(o.agent)
	if err != nil {
		return cli.Usagef("--agent: %w", err)
	}
	s.kind = &k
	flags := o.flagged
	if flags == nil {
		flags = o
	}
	a := k.Agent
	if k.Model != "" && flags.model == "" {
		if err := s.permitsModelNamed(k.Model); err != nil {
			return cli.Usagef("--agent %s: %w", a.Name, err)
		}
		o.model = k.Model
	}
	if m := a.Permissions.Mode; m != "" && flags.mode == "" {
		if err := o.permits(m); err != nil {
			return cli.Usagef("--agent %s: %w", a.Name, err)
		}
		o.mode = string(m)
	}
	if a.Budget.Turns > 0 && flags.turns == 0 {
		o.turns = a.Budget.Turns
	}
	if a.Thinking.Effort != "" && flags.effort == "" && flags.thinking == 0 && o.permitsThinking(0) == nil {
		o.effort, o.thinking = a.Thinking.Effort, 0
	}
	o.deny = slices.Concat(o.deny, a.Permissions.Deny)
	return nil
}

// narrow bounds the agent of the run as its kind says.
func (s *setup) narrow(a *agent.Agent) {
	if s.kind == nil {
		return
	}
	k := s.kind.Bounded()
	a.Name = k.Name
	a.AllowedTools, a.DisallowedTools = k.AllowedTools, k.DisallowedTools
	a.Hooks = slices.Concat(a.Hooks, k.Hooks)
	a.Deciders = slices.Concat(a.Deciders, k.Deciders)
}

// A shownKind is a kind of agent as lists show it.
type shownKind struct {
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
	Prompt      string            `json:"prompt,omitempty"` // where one kind is shown
}

func (k kind) shown() shownKind {
	a := k.Agent
	out := shownKind{Name: a.Name, From: k.from, Description: k.Description, Model: k.Model, Tools: a.AllowedTools, Without: a.DisallowedTools,
		Mode: a.Permissions.Mode, Turns: a.Budget.Turns, Skills: k.Skills, ReadOnly: k.ReadOnly, Background: k.Background, Isolation: k.Isolation,
		Effort: a.Thinking.Effort, Color: k.Color, Hooks: len(a.Hooks), File: k.Source}
	for _, r := range a.Permissions.Deny {
		out.Without = append(slices.Clone(out.Without), string(r))
	}
	for _, s := range k.Servers {
		name, _ := json.Marshal(s.Name) // configurations may hold keys
		out.Servers = append(out.Servers, name)
	}
	return out
}
