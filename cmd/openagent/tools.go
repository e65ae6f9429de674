package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/tools/custom"
	"github.com/openagent-go/agent/workspace"
)

// toolsOptions are the flags of the command tools.
type toolsOptions struct {
	options
	all     bool
	session string
}

// runFlags are the flags of a run that commands about tools have as well.
var runFlags = []string{"cwd", "add-dir", "plugin-dir", "permission-mode", "dangerously-skip-permissions", "allowed-tools", "disallowed-tools", "sandbox",
	"settings", "setting-sources", "timeout", "session-dir"}

func toolsCommand(h *host) cli.Command {
	o := new(toolsOptions)
	return cli.Command{Name: "tools", Summary: "List, show and run tools, and count their calls", Default: "list", Subcommands: []cli.Command{
		o.verb(runFlags, nil, cli.Command{Name: "list", Summary: "List the tools", Examples: []string{"openagent tools list"},
			Run: func(ctx context.Context, _ []string) error { return h.listTools(ctx, o) }}),
		o.verb(runFlags, nil, cli.Command{Name: "show", Args: "NAME", Least: 1, Most: 1, Summary: "Show a tool as the model sees it", Examples: []string{"openagent tools show Read"},
			Run: func(ctx context.Context, args []string) error { return h.showTool(ctx, o, args[0]) }}),
		o.verb(runFlags, nil, cli.Command{Name: "run", Args: "NAME JSON", Least: 1, Most: 2, Summary: "Run a tool without a model",
			Details: "With - as JSON it reads the input from stdin.\n", Examples: []string{`openagent tools run Read '{"file_path":"go.mod"}'`},
			Run: func(ctx context.Context, args []string) error { return h.runTool(ctx, o, args) }}),
		o.verb(runFlags, o.sessionFlags(), cli.Command{Name: "stats", Summary: "Count the calls of tools in sessions", Examples: []string{"openagent tools stats --all"},
			Run: func(ctx context.Context, _ []string) error { return h.toolStats(ctx, o) }}),
	}}
}

// sessionFlags say which sessions a command is about.
func (o *toolsOptions) sessionFlags() cli.Flags {
	return cli.Flags{
		{Name: "all", Help: "the sessions of all folders", Set: cli.Yes(&o.all)},
		{Name: "session", Arg: "ID", Help: "only this session", Set: cli.Text(&o.session)},
	}
}

// verb completes a command about the tools of a run: it takes the flags of a run that are
// named, and flags.
func (o *toolsOptions) verb(named []string, flags cli.Flags, c cli.Command) cli.Command {
	c.Flags = func() cli.Flags {
		return slices.Concat(listFlags(&o.output), o.flags().Named(named...), flags)
	}
	c.Run = o.checked(&o.output, c.Run)
	return c
}

// checked is run after a check of the options. The check leaves the format of the output
// as the user wrote it.
func (o *options) checked(format *string, run func(context.Context, []string) error) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error {
		was := *format
		if err := o.check(); err != nil {
			return err
		}
		*format = was
		return run(ctx, args)
	}
}

// A toolEntry is a tool as lists show it.
type toolEntry struct {
	Name        string          `json:"name"`
	Kind        string          `json:"kind"` // a tier, custom or plugin
	ReadOnly    bool            `json:"read_only"`
	NonDestruct bool            `json:"non_destructive,omitempty"`
	Idempotent  bool            `json:"idempotent,omitempty"`
	OpenWorld   bool            `json:"open_world,omitempty"`
	NeedsPerson bool            `json:"needs_person,omitempty"` // offered in conversations only
	File        string          `json:"file,omitempty"`         // of a custom tool
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input_schema"`
}

func (b *toolList) entry(t tool.Tool, plugins []string) toolEntry {
	s := t.Spec()
	kind := ""
	for _, e := range b.builtin {
		if e.Tool.Spec().Name == s.Name {
			kind = string(e.Tier)
		}
	}
	e := toolEntry{s.Name, kind, s.ReadOnly, s.NonDestructive, s.Idempotent, s.OpenWorld, s.NeedsPerson, "", s.Description, s.Input}
	if c, ok := t.(*custom.Tool); ok {
		e.Kind, e.File = "custom", c.File
		if slices.Contains(plugins, filepath.Dir(c.Folder.Path)) {
			e.Kind = "plugin"
		}
	}
	return e
}

func (e toolEntry) does() string {
	switch {
	case e.NeedsPerson:
		return "asks"
	case e.ReadOnly:
		return "reads"
	}
	return "changes"
}

// A toolList has the tools of a folder, outside of a run.
type toolList struct {
	*setup
	builtin []tools.Entry
	custom  *custom.Set
	all     []tool.Tool // what a run would choose from
}

// A foreground is a shell for calls after which the program ends, and all that it
// runs with it.
type foreground struct{ *workspace.Workspace }

// bash is the tool Bash with such a shell.
func (b *toolList) bash() tool.Tool {
	if box := b.box(); box != nil {
		return tools.Bash(foreground{b.workspace}, box)
	}
	return tools.Bash(foreground{b.workspace})
}

// StartJob refuses what would not live to do anything.
func (foreground) StartJob(context.Context, workspace.CommandLine) (string, json.RawMessage, error) {
	return "", nil, errors.New("a background command would end with this program; leave run_in_background out")
}

// toolList takes out the tools that a run with these options would have. A
// person at a terminal is asked about what is not trusted. Unless strict, settings
// that cannot be used are as if they were not there: no tool may be run then.
func (h *host) toolList(ctx context.Context, o *toolsOptions, strict bool) (*toolList, error) {
	dir, err := workingDir()
	if err != nil {
		return nil, err
	}
	ask := h.inTerminal && h.errTerminal
	configured, err := h.configure(ctx, &o.options, dir, ask && strict)
	switch {
	case err == nil:
		o.options = *configured
	case strict:
		return nil, err
	}
	p, _ := h.provider(&o.options)                       // no model is called, so it may be a wrong one
	h.secrets = append(p.secrets(), o.secretValues()...) // custom tools may show what they like
	b := &toolList{setup: newSetup(&o.options, p, dir)}
	if err := h.confine(b.setup); err != nil {
		return nil, errors.Join(err, b.close())
	}
	if err := h.findPlugins(ctx, b.setup, ask && strict, strict); err != nil {
		return nil, errors.Join(err, b.close())
	}
	if err := h.addSkills(ctx, b.setup, false, false); err != nil {
		return nil, errors.Join(err, b.close())
	}
	b.builtin = b.withDiagnostics(h.kit(b.setup).Tools())
	for i, e := range b.builtin {
		if e.Tool.Spec().Name == "Bash" {
			b.builtin[i].Tool = b.bash()
		}
		b.all = append(b.all, b.builtin[i].Tool)
	}
	if b.custom, err = h.customTools(ctx, &o.options, dir, b.workspace, b.all, ask); err != nil {
		return nil, errors.Join(err, b.close())
	}
	own, err := b.custom.Tools(ctx)
	if err != nil {
		return nil, errors.Join(startError(ctx, err), b.close())
	}
	for _, t := range own {
		if i := b.index(t.Spec().Name); i >= 0 {
			b.all[i] = t
		} else {
			b.all = append(b.all, t)
		}
	}
	return b, nil
}

func (b *toolList) index(name string) int {
	return slices.IndexFunc(b.all, func(t tool.Tool) bool { return t.Spec().Name == name })
}

// find returns the tool of a name, else the one that has it as another name, else
// the only one whose name or other name differs in nothing but case: as a model's
// call finds its tool.
func (b *toolList) find(name string) (tool.Tool, error) {
	if i := b.index(name); i >= 0 {
		return b.all[i], nil
	}
	var names []string
	var near []tool.Tool
	for _, t := range b.all {
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
	return nil, cli.Usagef("there is no tool %q%s", cli.Clip(name), cmp.Or(cli.Likely(name, names), "; openagent tools lists them"))
}

// customTools returns the tools of the user's folder, of the project and of the
// plugins. Folders other than the user's count only if they are trusted; with
// ask a person at the terminal is asked about those that are not.
func (h *host) customTools(ctx context.Context, o *options, project string, ws *workspace.Workspace, builtin []tool.Tool, ask bool) (*custom.Set, error) {
	set := &custom.Set{Workspace: ws, Trusted: h.trusts, Warn: h.warnOfTools}
	if home, err := h.home(); err == nil {
		set.Folders = append(set.Folders, custom.Folder{Path: filepath.Join(home, "tools"), Trusted: true})
		set.Hung = filepath.Join(home, "tools-hung.json")
	}
	set.Folders = append(set.Folders, custom.Folder{Path: filepath.Join(project, ".openagent", "tools")})
	for _, p := range o.plugins {
		set.Folders = append(set.Folders, custom.Folder{Path: filepath.Join(p, "tools")})
	}
	for _, t := range builtin {
		s := t.Spec()
		set.Builtin = append(append(set.Builtin, s.Name), s.Aliases...)
	}
	if ask {
		return set, h.offerTrust(ctx, set.Folders)
	}
	return set, nil
}

func (h *host) warnOfTools(err error) {
	var u *custom.UntrustedError
	if errors.As(err, &u) {
		h.complain("%v; look at them, then: openagent trust add %s", err, cli.Quote(u.Listing.Dir))
		return
	}
	h.complain("%v", err)
}

func (h *host) listTools(ctx context.Context, o *toolsOptions) error {
	b, err := h.toolList(ctx, o, false)
	if err != nil {
		return err
	}
	var list []toolEntry
	var rows [][]string
	for _, t := range b.all {
		e := b.entry(t, o.plugins)
		list = append(list, e)
		rows = append(rows, []string{e.Name, e.Kind, e.does(), firstSentence(e.Description)})
	}
	return errors.Join(h.list(o.output, list, "NAME KIND DOES DESCRIPTION", rows), b.close())
}

func firstSentence(s string) string {
	s = text.OneLine(s)
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i+1]
	}
	return short(s, 100)
}

func (h *host) showTool(ctx context.Context, o *toolsOptions, name string) error {
	b, err := h.toolList(ctx, o, false)
	if err != nil {
		return err
	}
	t, err := b.find(name)
	if err = errors.Join(err, b.close()); err != nil {
		return err
	}
	e := b.entry(t, o.plugins)
	if o.output == formatJSON {
		return h.list(o.output, e, "", nil)
	}
	var schema bytes.Buffer
	if err := json.Indent(&schema, e.Input, "", "  "); err != nil {
		return fmt.Errorf("showing the schema of %s: %w", name, err)
	}
	timeout := "none of its own"
	if limit := cmp.Or(t.Spec().Timeout, tool.DefaultTimeout); limit > 0 {
		timeout = limit.String()
	}
	head := fmt.Sprintf("%s: %s, %s\ntime limit: %s\n", e.Name, e.Kind, e.does(), timeout)
	if e.File != "" {
		head += "file: " + h.oneLine(e.File) + "\n"
	}
	return h.show(head + "\n" + terminal.Text(strings.TrimSpace(e.Description)) + "\n\n" + terminal.Text(schema.String()) + "\n")
}
