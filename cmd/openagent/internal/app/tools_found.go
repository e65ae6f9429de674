package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/tools/custom"
	"github.com/openagent-go/agent/workspace"
)

// Request returns a call as permission rules see it.
func (b *ToolList) Request(t tool.Tool, input json.RawMessage) permission.Request {
	s := t.Spec()
	call := tool.Call{Name: s.Name, Input: input, Dir: b.Project}
	class := tool.Classify(t, call)
	return permission.Request{Tool: s.Name, Aliases: s.Aliases, Input: input, Access: class.Access, ReadOnly: class.ReadOnly || class.Internal,
		NonDestructive: s.NonDestructive, Dir: b.Project, Roots: append([]string{cli.ResolveFolder(b.Project)}, b.Options.Dirs...)}
}

// ToolsOptions are the flags of the command tools.
type ToolsOptions struct {
	settings.Options
	All     bool
	Session string
}

// RunFlags are the run flags that commands about tools also accept.
var RunFlags = []string{"cwd", "add-dir", "plugin-dir", "permission-mode", "dangerously-skip-permissions", "allowed-tools", "disallowed-tools", "sandbox",
	"settings", "setting-sources", "timeout", "session-dir"}

// SessionFlags are the flags that select a command's sessions.
func (o *ToolsOptions) SessionFlags() cli.Flags {
	return cli.Flags{
		{Name: "all", Help: "sessions of all folders", Set: cli.SetTrue(&o.All)},
		{Name: "session", Arg: "ID", Help: "only this session", Set: cli.Text(&o.Session)},
	}
}

// Entry returns a tool as lists show it.
func (b *ToolList) Entry(t tool.Tool, plugins []string) ToolEntry {
	s := t.Spec()
	kind := ""
	for _, e := range b.Builtin {
		if e.Tool.Spec().Name == s.Name {
			kind = string(e.Tier)
		}
	}
	e := ToolEntry{s.Name, kind, s.ReadOnly, s.NonDestructive, s.Idempotent, s.OpenWorld, s.NeedsPerson, "", s.Description, s.Input}
	if c, ok := t.(*custom.Tool); ok {
		e.Kind, e.File = "custom", c.File
		if slices.Contains(plugins, filepath.Dir(c.Folder.Path)) {
			e.Kind = "plugin"
		}
	}
	return e
}

// A ToolList holds the tools of a folder, outside a run.
type ToolList struct {
	*App
	Builtin []tools.Entry
	custom  *custom.Set
	All     []tool.Tool // what a run would choose from
}

// A foreground is a shell for a program that exits after one call, together with all processes of
// the shell.
type foreground struct{ *workspace.Workspace }

// bash returns the tool Bash with a foreground shell.
func (b *ToolList) bash() tool.Tool {
	if box := b.box(); box != nil {
		return tools.Bash(foreground{b.workspace}, box)
	}
	return tools.Bash(foreground{b.workspace})
}

// StartJob refuses background commands, because they would end with the program.
func (foreground) StartJob(context.Context, workspace.CommandLine) (string, json.RawMessage, error) {
	return "", nil, errors.New("a background command would end with this program; leave run_in_background out")
}

// LoadTools returns the tools of a run with these options. It asks the user on the terminal about
// untrusted tools. Unless strict, it ignores invalid settings; then no tool may be run.
func LoadTools(ctx context.Context, h *cli.IO, o *ToolsOptions, strict bool) (*ToolList, error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	ask := h.InTerminal && h.ErrTerminal
	configured, err := settings.Configure(ctx, h, &o.Options, dir, ask && strict)
	switch {
	case err == nil:
		o.Options = *configured
	case strict:
		return nil, err
	}
	p, _ := provider.Open(h, &o.Options)                 // no model is called, so the name may be wrong
	h.Secrets = append(p.Secrets(), o.SecretValues()...) // custom tools may output anything
	b := &ToolList{App: New(&o.Options, p, dir)}
	if err := confine(h, b.App); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if err := FindPlugins(ctx, h, b.App, ask && strict, strict); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if err := AddSkills(ctx, h, b.App, false, false); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.Builtin = b.withDiagnostics(Builtins(h, b.App).Tools())
	for i, e := range b.Builtin {
		if e.Tool.Spec().Name == "Bash" {
			b.Builtin[i].Tool = b.bash()
		}
		b.All = append(b.All, b.Builtin[i].Tool)
	}
	if b.custom, err = customTools(ctx, h, &o.Options, dir, b.workspace, b.All, ask); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	own, err := b.custom.Tools(ctx)
	if err != nil {
		return nil, errors.Join(cli.StartError(ctx, err), b.Close())
	}
	for _, t := range own {
		if i := b.index(t.Spec().Name); i >= 0 {
			b.All[i] = t
		} else {
			b.All = append(b.All, t)
		}
	}
	return b, nil
}

func (b *ToolList) index(name string) int {
	return slices.IndexFunc(b.All, func(t tool.Tool) bool { return t.Spec().Name == name })
}

// Find looks up a tool as a model's call does: by name, then by alias, then ignoring case if only
// one tool matches.
func (b *ToolList) Find(name string) (tool.Tool, error) {
	if i := b.index(name); i >= 0 {
		return b.All[i], nil
	}
	var names []string
	var near []tool.Tool
	for _, t := range b.All {
		s := t.Spec()
		names = append(names, s.Name)
		if slices.Contains(s.Aliases, name) {
			return t, nil
		}
		same := func(known string) bool { return strings.EqualFold(known, name) }
		if same(s.Name) || slices.ContainsFunc(s.Aliases, same) {
			near = append(near, t)
		}
	}
	if len(near) == 1 {
		return near[0], nil
	}
	return nil, cli.Usagef("there is no tool %q%s", cli.Clip(name), cmp.Or(cli.Suggestion(name, names), "; openagent tools lists them"))
}

// customTools returns the tools of the user's folder, the project and the plugins. Folders other
// than the user's need trust. With ask, it asks the user on the terminal about untrusted folders.
func customTools(ctx context.Context, h *cli.IO, o *settings.Options, project string, ws *workspace.Workspace, builtin []tool.Tool, ask bool) (*custom.Set, error) {
	set := &custom.Set{Workspace: ws, Trusted: func(l custom.Listing) bool { return settings.TrustsTools(h, l) }, Warn: func(err error) { warnOfTools(h, err) }}
	if home, err := h.Home(); err == nil {
		set.Folders = append(set.Folders, custom.Folder{Path: filepath.Join(home, "tools"), Trusted: true})
		set.Hung = filepath.Join(home, "tools-hung.json")
	}
	set.Folders = append(set.Folders, custom.Folder{Path: filepath.Join(project, ".openagent", "tools")})
	for _, p := range o.Plugins {
		set.Folders = append(set.Folders, custom.Folder{Path: filepath.Join(p, "tools")})
	}
	for _, t := range builtin {
		s := t.Spec()
		set.Builtin = append(append(set.Builtin, s.Name), s.Aliases...)
	}
	if ask {
		return set, settings.OfferTrust(ctx, h, set.Folders)
	}
	return set, nil
}

func warnOfTools(h *cli.IO, err error) {
	var u *custom.UntrustedError
	if errors.As(err, &u) {
		h.Warn("%v; review them, then run openagent trust add %s", err, text.QuoteShell(u.Listing.Dir))
		return
	}
	h.Warn("%v", err)
}

// A ToolEntry is a tool as lists show it.
type ToolEntry struct {
	Name        string          `json:"name"`
	Kind        string          `json:"kind"` // a tier, "custom" or "plugin"
	ReadOnly    bool            `json:"read_only"`
	NonDestruct bool            `json:"non_destructive,omitempty"`
	Idempotent  bool            `json:"idempotent,omitempty"`
	OpenWorld   bool            `json:"open_world,omitempty"`
	NeedsPerson bool            `json:"needs_person,omitempty"` // offered only in conversations
	File        string          `json:"file,omitempty"`         // of a custom tool
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input_schema"`
}

// Access returns how the tool accesses files, for a table.
func (e ToolEntry) Access() string {
	switch {
	case e.NeedsPerson:
		return "asks"
	case e.ReadOnly:
		return "reads"
	}
	return "changes"
}

// FirstSentence returns the first sentence of a description.
func FirstSentence(s string) string {
	s = text.OneLine(s)
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i+1]
	}
	return text.Runes(s, 100)
}

// ToolSubcommand completes a command about a run's tools. It accepts the named run flags, and
// flags.
func ToolSubcommand(o *ToolsOptions, named []string, flags cli.Flags, c cli.Command) cli.Command {
	c.Flags = func() cli.Flags {
		return slices.Concat(cli.ListFlags(&o.Output), o.Flags().Named(named...), flags)
	}
	c.Run = o.RunChecked(&o.Output, c.Run)
	return c
}
