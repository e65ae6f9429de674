package permissions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// An explanation is the decision about a call, and its reason.
type explanation struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	Mode  permission.Mode `json:"mode"`
	permission.Decision
	Unclear     string                  `json:"not_understood,omitempty"` // why a command line is not understood
	Parts       []rules.Part            `json:"parts,omitempty"`
	Suggestions []permission.Suggestion `json:"suggestions,omitempty"`
}

// explainCall decides on a call without running it.
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
	e := explanation{Tool: r.Tool, Input: input, Mode: p.Mode, Decision: p.Decide(r), Unclear: policies.Unclear(r), Parts: policies.Parts(p, r)}
	if class := toolrun.Classify(t, tool.Call{Name: r.Tool, Input: input, Dir: b.Project}); class.ConfirmReason != "" && e.Behavior == permission.Allowed && e.Source == policies.FromMode {
		if byRule := policies.Compile(p).Permits(&r); byRule != nil {
			e.Decision = *byRule
		} else {
			e.Decision = permission.Decision{Behavior: permission.Asked, Source: policies.FromMode, Reason: class.ConfirmReason}
		}
	}
	if e.Behavior == permission.Asked {
		e.Suggestions = policies.Suggestions(r)
	}
	if o.Output == cli.FormatJSON {
		return h.WriteList(o.Output, e, "", nil)
	}
	return h.Show(e.text(h))
}

// explainedInput returns the input of a call: JSON or, for a tool that runs commands, a plain
// command line.
func explainedInput(t tool.Tool, text string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) == nil && members != nil {
		return json.RawMessage(text), nil
	}
	if t.Spec().Name != "Bash" {
		return nil, cli.Usagef(`permissions explain: the input %q is not a JSON object; write one such as '{"file_path":"go.mod"}'`, cli.Clip(text))
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
		fmt.Fprintf(&b, "not fully understood: %s\n", h.OneLine(e.Unclear))
	}
	for _, p := range e.Parts {
		fmt.Fprintf(&b, "  %-5s %s: %s\n", p.Behavior, h.OneLine(p.Text), h.OneLine(p.Reason))
	}
	for _, s := range e.Suggestions {
		fmt.Fprintf(&b, "would be allowed by (%s): %s\n", s.Width, h.OneLine(app.JoinRules(s.Rules)))
	}
	return b.String()
}
