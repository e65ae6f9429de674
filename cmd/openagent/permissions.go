package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

func permissionsCommand(h *host) cli.Command {
	o := new(toolsOptions)
	named := slices.DeleteFunc(slices.Clone(runFlags), func(name string) bool { return name == "timeout" })
	return cli.Command{Name: "permissions", Summary: "Show, explain and suggest permission rules", Default: "list", Subcommands: []cli.Command{
		o.verb(named, nil, cli.Command{Name: "list", Summary: "List the rules with their sources", Examples: []string{"openagent permissions list"},
			Run: func(ctx context.Context, _ []string) error { return h.listRules(ctx, o) }}),
		o.verb(named, nil, cli.Command{Name: "explain", Args: "[TOOL] INPUT", Least: 1, Most: 2, Summary: "Explain how the rules decide on a call",
			Examples: []string{"openagent permissions explain 'git push'", `openagent permissions explain Read '{"file_path":".env"}'`},
			Run:      func(ctx context.Context, args []string) error { return h.explainCall(ctx, o, args) }}),
		o.verb(named, o.sessionFlags(), cli.Command{Name: "suggest", Summary: "Suggest rules from the approvals in sessions", Examples: []string{"openagent permissions suggest --all"},
			Run: func(ctx context.Context, _ []string) error { return h.suggestRules(ctx, o) }}),
		o.verb(named, nil, cli.Command{Name: "lint", Summary: "Find rules that have no effect", Examples: []string{"openagent permissions lint"},
			Run: func(ctx context.Context, _ []string) error { return h.lintRules(ctx, o) }}),
	}}
}

// listRules shows the rules of all layers with their sources, and the mode.
func (h *host) listRules(ctx context.Context, o *toolsOptions) error {
	c, err := h.ruled(ctx, o)
	if err != nil {
		return err
	}
	rules := c.settings.Rules()
	mode := c.setting(modeKey)
	var rows [][]string
	for _, r := range rules {
		rows = append(rows, []string{string(r.Behavior), string(r.Rule), r.Source.String(), string(r.Source.Scope), r.Why})
	}
	if o.output == formatJSON {
		return h.list(o.output, struct {
			Mode   json.RawMessage     `json:"mode"`
			Source config.Source       `json:"mode_source"`
			Rules  []config.RuleSource `json:"rules"`
		}{mode.Value, mode.Source, append([]config.RuleSource{}, rules...)}, "", nil)
	}
	if err := h.show(fmt.Sprintf("mode: %s (%s)\n", strings.Trim(string(mode.Value), `"`), mode.Source)); err != nil {
		return err
	}
	if len(rows) == 0 {
		h.complain("there are no rules; the mode alone decides")
		return nil
	}
	return h.list(o.output, nil, "DOES RULE SOURCE LAYER COUNTS", rows)
}

// ruled returns the options with what the settings say.
func (h *host) ruled(ctx context.Context, o *toolsOptions) (*options, error) {
	dir, err := workingDir()
	if err != nil {
		return nil, err
	}
	return h.configure(ctx, &o.options, dir, false)
}

// An explanation says what would be done with a call, and why.
type explanation struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	Mode  permission.Mode `json:"mode"`
	permission.Decision
	Unclear     string                  `json:"not_understood,omitempty"` // why a command line is not
	Parts       []permission.Part       `json:"parts,omitempty"`
	Suggestions []permission.Suggestion `json:"suggestions,omitempty"`
}

// explainCall judges a call without making it.
func (h *host) explainCall(ctx context.Context, o *toolsOptions, args []string) (err error) {
	b, err := h.toolList(ctx, o, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	name, text := "Bash", args[len(args)-1]
	if len(args) == 2 {
		name = args[0]
	}
	t, err := b.find(name)
	if err != nil {
		return err
	}
	input, err := explainedInput(t, text)
	if err != nil {
		return err
	}
	r := b.request(t, input)
	p := h.policy(&o.options)
	if p.Mode == "" {
		p.Mode = permission.Default
	}
	e := explanation{Tool: r.Tool, Input: input, Mode: p.Mode, Decision: p.Decide(r), Unclear: r.Unclear(), Parts: p.Parts(r)}
	if class := tool.Classify(t, tool.Call{Name: r.Tool, Input: input, Dir: b.project}); class.ConfirmReason != "" && e.Behavior == permission.Allowed && e.Source == permission.FromMode {
		if byRule, ok := p.Compile().Permits(r); ok {
			e.Decision = byRule
		} else {
			e.Decision = permission.Decision{Behavior: permission.Asked, Source: permission.FromMode, Reason: class.ConfirmReason}
		}
	}
	if e.Behavior == permission.Asked {
		e.Suggestions = r.Suggestions()
	}
	if o.output == formatJSON {
		return h.list(o.output, e, "", nil)
	}
	return h.show(e.text(h))
}

// explainedInput is the input of a call: JSON, or where the tool runs commands a
// line as a person writes it.
func explainedInput(t tool.Tool, text string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) == nil && members != nil {
		return json.RawMessage(text), nil
	}
	if t.Spec().Name != "Bash" {
		return nil, cli.Usagef(`permissions explain: the input %q is no JSON object; write one such as '{"file_path":"go.mod"}'`, cli.Clip(text))
	}
	return quoted(map[string]string{"command": text}), nil
}

// request is what the rules are told of a call.
func (b *toolList) request(t tool.Tool, input json.RawMessage) permission.Request {
	s := t.Spec()
	call := tool.Call{Name: s.Name, Input: input, Dir: b.project}
	class := tool.Classify(t, call)
	return permission.Request{Tool: s.Name, Aliases: s.Aliases, Input: input, Access: class.Access, ReadOnly: class.ReadOnly || class.Internal,
		NonDestructive: s.NonDestructive, Dir: b.project, Roots: append([]string{realFolder(b.project)}, b.options.dirs...)}
}

func realFolder(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

func (e explanation) text(h *host) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", e.Behavior, h.oneLine(e.Reason))
	if e.Rule != "" {
		fmt.Fprintf(&b, "rule: %s\n", h.oneLine(e.Rule))
	}
	if e.Origin != "" {
		fmt.Fprintf(&b, "written in: %s\n", h.oneLine(e.Origin))
	}
	if e.Unclear != "" {
		fmt.Fprintf(&b, "not understood in full: %s\n", h.oneLine(e.Unclear))
	}
	for _, p := range e.Parts {
		fmt.Fprintf(&b, "  %-5s %s: %s\n", p.Behavior, h.oneLine(p.Text), h.oneLine(p.Reason))
	}
	for _, s := range e.Suggestions {
		fmt.Fprintf(&b, "would be allowed by (%s): %s\n", s.Width, h.oneLine(joinRules(s.Rules)))
	}
	return b.String()
}

// lintRules shows the rules that do not do what they seem to be for.
func (h *host) lintRules(ctx context.Context, o *toolsOptions) (err error) {
	b, err := h.toolList(ctx, o, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	var names []string
	for _, t := range b.all {
		names = append(append(names, t.Spec().Name), t.Spec().Aliases...)
	}
	found := append([]permission.Finding{}, h.policy(&o.options).Lint(names)...)
	var rows [][]string
	for _, f := range found {
		rows = append(rows, []string{f.Kind, string(f.Behavior), string(f.Rule), f.Origin, f.Text})
	}
	if len(found) == 0 && o.output != formatJSON {
		return h.show("nothing found\n")
	}
	if err := h.list(o.output, found, "KIND DOES RULE SOURCE WHY", rows); err != nil {
		return err
	}
	return cli.Ended(cli.ExitInternal)
}
