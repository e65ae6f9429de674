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
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/customtools"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// Request returns a call as permission rules see it.
func (b *ToolList) Request(t tool.Tool, input json.RawMessage) permission.Request {
	s := t.Spec()
	call := tool.Call{Name: s.Name, Input: input, Dir: b.Project}
	class := toolrun.Classify(t, call)
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
	"settings", "setting-sources", "timeout", "session-dir", "store"}

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
	for _, e := range b.Builtins {
		if e.Tool.Spec().Name == s.Name {
			kind = string(e.Tier)
		}
	}
	e := ToolEntry{s.Name, kind, s.ReadOnly, s.NonDestructive, s.Idempotent, s.OpenWorld, s.NeedsPerson, "", s.Description, s.Input}
	if c, ok := t.(*customtools.Tool); ok {
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
	All []tool.Tool // what a run would choose from
}

// A foreground is a shell for a program that exits after one call, together with all processes of
// the shell.
type foreground struct{ *workspace.Workspace }

// bash returns the tool Bash with a foreground shell.
func (b *ToolList) bash() tool.Tool {
	if b.Workspace.Confine != nil {
		return tools.Bash(foreground{b.Workspace}, b.Sandbox)
	}
	return tools.Bash(foreground{b.Workspace})
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
	if o.Settings == nil {
		if o.Settings, err = config.Load(config.Options{}); err != nil {
			return nil, err
		}
	}
	without := []coding.Part{coding.Agents, coding.Servers, coding.Instructions, coding.Checkpoints, coding.Tools}
	trust := &listTrust{Truster{h, ask && strict, strict}, Truster{h, false, false}}
	built, err := New(ctx, h, &o.Options, p, dir, nil, Build{Without: without, Quiet: true, trust: trust.trusts, model: provider.DemoModel()})
	if err != nil {
		return nil, err
	}
	b := &ToolList{App: built}
	for i, e := range b.Builtins {
		if e.Tool.Spec().Name == "Bash" {
			b.Builtins[i].Tool = b.bash()
		}
		b.All = append(b.All, b.Builtins[i].Tool)
	}
	t := &Truster{h, ask, true}
	set, err := t.finder(&o.Options, dir).CustomTools(ctx, b.Workspace, b.All)
	t.ask = false // the user has answered
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	own, err := set.Tools(ctx)
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

// ToolNames returns the names and aliases of the built-in tools.
func ToolNames(ctx context.Context, h *cli.IO, dir string) (names []string, err error) {
	without := []coding.Part{coding.Settings, coding.Hooks, coding.Servers, coding.Agents, coding.Skills, coding.Tools, coding.Plugins, coding.Instructions, coding.Checkpoints}
	none, err := config.Load(config.Options{})
	if err != nil {
		return nil, err
	}
	s, err := New(ctx, h, &settings.Options{Settings: none}, provider.Provider{}, dir, nil, Build{Without: without, Quiet: true, model: provider.DemoModel()})
	if err != nil {
		return nil, err
	}
	for _, e := range s.Builtins {
		spec := e.Tool.Spec()
		names = append(append(names, spec.Name), spec.Aliases...)
	}
	return names, s.Close()
}

// A listTrust decides about plugins and skills for lists of tools.
type listTrust struct{ plugins, skills Truster }

func (t *listTrust) trusts(ctx context.Context, s coding.Source) (bool, error) {
	if s.Kind == coding.Skills {
		return t.skills.ofCoder(ctx, s)
	}
	return t.plugins.ofCoder(ctx, s)
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

func warnOfTools(h *cli.IO, err error) {
	var u *customtools.UntrustedError
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
