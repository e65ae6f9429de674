package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/preview"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A judging records how a call was decided.
type judging struct {
	h      *cli.IO
	rules  *app.SessionRules
	asked  bool // the call needed permission
	nobody bool // and no user could be asked
	passed bool // rules, mode and the user allowed it
}

// decide is the agent's CanUseTool function.
func (j *judging) decide(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
	if verdict.Behavior == permission.Allowed {
		j.passed = true
		return permission.Decision{}, nil
	}
	j.asked = true
	if !j.h.InTerminal || !j.h.ErrTerminal {
		j.nobody = true
		return permission.Decision{}, nil
	}
	lines := preview.CallLines(j.h, "", call, j.rules.Risks(ctx, call), "")
	yes, err := settings.Confirm(ctx, j.h, fmt.Sprintf("%s\n%sallow? [y/N] ", j.h.Visible(verdict.Reason), preview.PlainText(lines)))
	if err != nil || !yes {
		return permission.Deny("refused by the user"), err
	}
	j.passed = true
	return permission.Allow(), nil
}

// A toolOutcome is the result of a call as JSON.
type toolOutcome struct {
	Tool    string          `json:"tool"`
	IsError bool            `json:"is_error"`
	Title   string          `json:"title,omitempty"`
	Text    string          `json:"text"`
	Content llm.Blocks      `json:"content,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
}

// runTool runs one tool like a call of a model.
func runTool(ctx context.Context, h *cli.IO, o *app.ToolsOptions, args []string) (err error) {
	input, err := toolInput(ctx, h, args[1:])
	if err != nil {
		return err
	}
	b, err := app.LoadTools(ctx, h, o, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	t, err := b.Find(args[0])
	if err != nil {
		return err
	}
	name := t.Spec().Name
	policy := app.Policy(h, &o.Options)
	settings.WarnOfSettings(h, &o.Options)
	switch {
	case policies.Hides(policy, name, t.Spec().Aliases...):
		h.Warn("%s was refused by %s", name, o.SourceOf("permissions.deny", "--disallowed-tools"))
		return cli.ExitCode(cli.ExitStopped)
	case t.Spec().NeedsPerson:
		return cli.Usagef("%s asks the user; it works only in conversations", name)
	}
	j := &judging{h: h}
	policy.AllowConfined = b.Agent.Permissions.AllowConfined
	app.WarnOfSandbox(h, b.App)
	a := &agent.Agent{Dir: b.Project, AdditionalDirs: o.Dirs, Tools: forCall(b, t), Permissions: policy, Deciders: b.Agent.Deciders, CanUseTool: j.decide,
		Budget: agent.Budget{Time: o.Timeout}, Secrets: h.Secrets, Log: settings.Logger(h, &o.Options)}
	j.rules = &app.SessionRules{Agent: a, Roots: append([]string{b.Project}, o.Dirs...)}
	a.Hooks, a.AllowModeChange, a.AllowRuleGrant = b.Agent.Hooks, b.Options.Permits, b.Options.PermitsRule
	r, err := a.CallTool(ctx, name, input)
	var end *agent.EndError
	switch {
	case ctx.Err() != nil:
		return cli.ExitCode(cli.SignalCode(ctx))
	case errors.As(err, &end):
		h.Warn("%s: %v", name, err)
		return cli.ExitCode(cli.OutcomeOf(ctx, event.RunEnd{Reason: end.Reason}).Code)
	case err != nil:
		return cli.StartError(ctx, err)
	case r == nil:
		return fmt.Errorf("%s was cancelled before it had a result", name)
	}
	if err := showOutcome(h, o.Output, toolOutcome{name, r.IsError, r.Title, r.Text(), r.Content, r.Details}); err != nil {
		return err
	}
	v, ok := t.(toolrun.Validator)
	if ok && v.Validate(tool.Call{Name: name, Input: input}) != nil {
		j.passed = true // invalid input is rejected without a question
	}
	return cli.ExitCode(j.code(r))
}

// forCall returns the tools of an agent that calls t. It returns only t, so that no other tool
// replaces it, unless t needs other tools.
func forCall(b *app.ToolList, t tool.Tool) []tool.Tool {
	if t.Spec().Batch {
		return b.All
	}
	search, ok := t.(interface{ Over([]tool.Spec) tool.Tool })
	if !ok {
		return []tool.Tool{t}
	}
	var found []tool.Spec
	for _, t := range b.All {
		if s := t.Spec(); slices.Contains(b.Agent.DeferredTools, s.Name) {
			found = append(found, s)
		}
	}
	return []tool.Tool{bound{search.Over(found)}}
}

// A bound tool cannot be bound to other tools.
type bound struct{ tool.Tool }

// code returns the exit code for a call's result.
func (j *judging) code(r *tool.Result) int {
	switch {
	case !r.IsError:
		return cli.ExitDone
	case j.nobody:
		return cli.ExitNobody
	case !j.passed:
		return cli.ExitStopped
	}
	return cli.ExitInternal
}

// toolInput returns the input of a call: the argument, stdin for "-", or an empty object.
func toolInput(ctx context.Context, h *cli.IO, args []string) (json.RawMessage, error) {
	text := "{}"
	if len(args) == 1 {
		text = args[0]
	}
	if text == "-" {
		var err error
		if text, err = cli.ReadStdin(ctx, h, false); err != nil {
			return nil, err
		}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &members); err != nil || members == nil {
		return nil, cli.Usagef(`tools run: the input %q is not a JSON object; write one such as '{"file_path":"go.mod"}'`, cli.Clip(text))
	}
	return json.RawMessage(text), nil
}

// showOutcome writes the result of a call to stdout, and an error's text to stderr.
func showOutcome(h *cli.IO, format string, o toolOutcome) error {
	if format == cli.FormatJSON {
		return h.WriteList(format, o, "", nil)
	}
	text := o.Text
	for _, b := range o.Content {
		switch b := b.(type) {
		case llm.Image:
			text += fmt.Sprintf("\n[%s, %d bytes]", b.MediaType, len(b.Data))
		case llm.Document:
			text += fmt.Sprintf("\n[%s, %d bytes]", b.MediaType, len(b.Data))
		}
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if o.IsError {
		_, err := io.WriteString(h.Err, text)
		return err
	}
	return h.Show(text)
}
