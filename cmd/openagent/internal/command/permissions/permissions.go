// Package permissions is the command "openagent permissions". It explains permission decisions.
package permissions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Command returns the command "openagent permissions".
func Command(h *cli.IO) cli.Command {
	o := new(app.ToolsOptions)
	named := slices.DeleteFunc(slices.Clone(app.RunFlags), func(name string) bool { return name == "timeout" })
	return cli.Command{Name: "permissions", Summary: "Show, explain and suggest permission rules", Default: "list", Subcommands: []cli.Command{
		app.ToolSubcommand(o, named, nil, cli.Command{Name: "list", Summary: "List the rules with their sources", Examples: []string{"openagent permissions list"},
			Run: func(ctx context.Context, _ []string) error { return listRules(ctx, h, o) }}),
		app.ToolSubcommand(o, named, nil, cli.Command{Name: "explain", Args: "[TOOL] INPUT", MinArgs: 1, MaxArgs: 2, Summary: "Explain how the rules decide on a call",
			Examples: []string{"openagent permissions explain 'git push'", `openagent permissions explain Read '{"file_path":".env"}'`},
			Run:      func(ctx context.Context, args []string) error { return explainCall(ctx, h, o, args) }}),
		app.ToolSubcommand(o, named, o.SessionFlags(), cli.Command{Name: "suggest", Summary: "Suggest rules from the approvals in sessions", Examples: []string{"openagent permissions suggest --all"},
			Run: func(ctx context.Context, _ []string) error { return suggestRules(ctx, h, o) }}),
		app.ToolSubcommand(o, named, nil, cli.Command{Name: "lint", Summary: "Find rules that have no effect", Examples: []string{"openagent permissions lint"},
			Run: func(ctx context.Context, _ []string) error { return lintRules(ctx, h, o) }}),
	}}
}

// listRules shows the rules of all layers with their sources, and the mode.
func listRules(ctx context.Context, h *cli.IO, o *app.ToolsOptions) error {
	c, err := ruled(ctx, h, o)
	if err != nil {
		return err
	}
	rules := c.Settings.Rules()
	mode := c.Setting(settings.ModeKey)
	var rows [][]string
	for _, r := range rules {
		rows = append(rows, []string{string(r.Behavior), string(r.Rule), r.Source.String(), string(r.Source.Scope), r.Why})
	}
	if o.Output == cli.FormatJSON {
		return h.WriteList(o.Output, struct {
			Mode   json.RawMessage     `json:"mode"`
			Source config.Source       `json:"mode_source"`
			Rules  []config.RuleSource `json:"rules"`
		}{mode.Value, mode.Source, append([]config.RuleSource{}, rules...)}, "", nil)
	}
	if err := h.Show(fmt.Sprintf("mode: %s (%s)\n", strings.Trim(string(mode.Value), `"`), mode.Source)); err != nil {
		return err
	}
	if len(rows) == 0 {
		h.Warn("there are no rules; the mode alone decides")
		return nil
	}
	return h.WriteList(o.Output, nil, "DOES RULE SOURCE LAYER COUNTS", rows)
}

// ruled returns the options with what the settings say.
func ruled(ctx context.Context, h *cli.IO, o *app.ToolsOptions) (*settings.Options, error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	return settings.Configure(ctx, h, &o.Options, dir, false)
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
func explainCall(ctx context.Context, h *cli.IO, o *app.ToolsOptions, args []string) (err error) {
	b, err := app.LoadTools(ctx, h, o, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	name, text := "Bash", args[len(args)-1]
	if len(args) == 2 {
		name = args[0]
	}
	t, err := b.Find(name)
	if err != nil {
		return err
	}
	input, err := explainedInput(t, text)
	if err != nil {
		return err
	}
	r := b.Request(t, input)
	p := app.Policy(h, &o.Options)
	if p.Mode == "" {
		p.Mode = permission.Default
	}
	e := explanation{Tool: r.Tool, Input: input, Mode: p.Mode, Decision: p.Decide(r), Unclear: r.Unclear(), Parts: p.Parts(r)}
	if class := tool.Classify(t, tool.Call{Name: r.Tool, Input: input, Dir: b.Project}); class.ConfirmReason != "" && e.Behavior == permission.Allowed && e.Source == permission.FromMode {
		if byRule, ok := p.Compile().Permits(r); ok {
			e.Decision = byRule
		} else {
			e.Decision = permission.Decision{Behavior: permission.Asked, Source: permission.FromMode, Reason: class.ConfirmReason}
		}
	}
	if e.Behavior == permission.Asked {
		e.Suggestions = r.Suggestions()
	}
	if o.Output == cli.FormatJSON {
		return h.WriteList(o.Output, e, "", nil)
	}
	return h.Show(e.text(h))
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
	return settings.EncodeValue(map[string]string{"command": text}), nil
}

func (e explanation) text(h *cli.IO) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", e.Behavior, h.OneLine(e.Reason))
	if e.Rule != "" {
		fmt.Fprintf(&b, "rule: %s\n", h.OneLine(e.Rule))
	}
	if e.Origin != "" {
		fmt.Fprintf(&b, "written in: %s\n", h.OneLine(e.Origin))
	}
	if e.Unclear != "" {
		fmt.Fprintf(&b, "not understood in full: %s\n", h.OneLine(e.Unclear))
	}
	for _, p := range e.Parts {
		fmt.Fprintf(&b, "  %-5s %s: %s\n", p.Behavior, h.OneLine(p.Text), h.OneLine(p.Reason))
	}
	for _, s := range e.Suggestions {
		fmt.Fprintf(&b, "would be allowed by (%s): %s\n", s.Width, h.OneLine(app.JoinRules(s.Rules)))
	}
	return b.String()
}

// lintRules shows the rules that do not do what they seem to be for.
func lintRules(ctx context.Context, h *cli.IO, o *app.ToolsOptions) (err error) {
	b, err := app.LoadTools(ctx, h, o, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	var names []string
	for _, t := range b.All {
		names = append(append(names, t.Spec().Name), t.Spec().Aliases...)
	}
	found := append([]permission.Finding{}, app.Policy(h, &o.Options).Lint(names)...)
	var rows [][]string
	for _, f := range found {
		rows = append(rows, []string{f.Kind, string(f.Behavior), string(f.Rule), f.Origin, f.Text})
	}
	if len(found) == 0 && o.Output != cli.FormatJSON {
		return h.Show("nothing found\n")
	}
	if err := h.WriteList(o.Output, found, "KIND DOES RULE SOURCE WHY", rows); err != nil {
		return err
	}
	return cli.ExitCode(cli.ExitInternal)
}
