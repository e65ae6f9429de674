package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A judging is what is known of how a call was judged.
type judging struct {
	h      *host
	grants *sessionRules
	asked  bool // a person's permission was needed
	nobody bool // and nobody could be asked
	passed bool // rules and mode, and who was asked, let it run
}

// decide is the agent's CanUseTool.
func (j *judging) decide(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
	if verdict.Behavior == permission.Allowed {
		j.passed = true
		return permission.Decision{}, nil
	}
	j.asked = true
	if !j.h.inTerminal || !j.h.errTerminal {
		j.nobody = true
		return permission.Decision{}, nil
	}
	lines := j.h.aboutCall("", call, j.grants.risks(ctx, call), "")
	yes, err := j.h.confirm(ctx, fmt.Sprintf("%s\n%sallow? [y/N] ", j.h.visible(verdict.Reason), plainLines(lines)))
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

// runTool runs one tool as a model's call would run.
func (h *host) runTool(ctx context.Context, o *toolsOptions, args []string) (err error) {
	input, err := h.toolInput(ctx, args[1:])
	if err != nil {
		return err
	}
	b, err := h.toolList(ctx, o, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	t, err := b.find(args[0])
	if err != nil {
		return err
	}
	name := t.Spec().Name
	policy := h.policy(&o.options)
	h.warnOfSettings(&o.options)
	switch {
	case policy.Hides(name, t.Spec().Aliases...):
		h.complain("%s is refused by %s", name, o.said("permissions.deny", "--disallowed-tools"))
		return cli.Ended(cli.ExitStopped)
	case t.Spec().NeedsPerson:
		return cli.Usagef("%s asks a person; it works in conversations only", name)
	}
	j := &judging{h: h}
	judges := b.guard(&policy, nil)
	h.warnOfSandbox(b.setup)
	a := &agent.Agent{Dir: b.project, AdditionalDirs: o.dirs, Tools: h.forCall(b, t), Permissions: policy, Deciders: judges, CanUseTool: j.decide,
		Budget: agent.Budget{Time: o.timeout}, Secrets: h.secrets, Log: h.logger(&o.options)}
	j.grants = &sessionRules{agent: a, roots: append([]string{b.project}, o.dirs...)}
	a.Hooks, a.AllowModeChange, a.AllowRuleGrant = b.hooks(), b.options.permits, b.options.permitsRule
	r, err := a.CallTool(ctx, name, input)
	var end *agent.EndError
	switch {
	case ctx.Err() != nil:
		return cli.Ended(signalCode(ctx))
	case errors.As(err, &end):
		h.complain("%s: %v", name, err)
		return cli.Ended(outcomeOf(ctx, event.RunEnd{Reason: end.Reason}).code)
	case err != nil:
		return startError(ctx, err)
	case r == nil:
		return fmt.Errorf("%s was ended before it had a result", name)
	}
	if err := h.showOutcome(o.output, toolOutcome{name, r.IsError, r.Title, r.Text(), r.Content, r.Details}); err != nil {
		return err
	}
	v, ok := t.(tool.Validator)
	if ok && v.Validate(tool.Call{Name: name, Input: input}) != nil {
		j.passed = true // nobody is asked about what cannot be read
	}
	return cli.Ended(j.code(r))
}

// forCall returns the tools of an agent that is to call t: no other, so that none
// takes its place, unless t works on others.
func (h *host) forCall(b *toolList, t tool.Tool) []tool.Tool {
	if t.Spec().Batch {
		return b.all
	}
	search, ok := t.(interface{ Over([]tool.Spec) tool.Tool })
	if !ok {
		return []tool.Tool{t}
	}
	_, names := h.chooseTools(b.setup, b.builtin)
	var found []tool.Spec
	for _, t := range b.all {
		if s := t.Spec(); slices.Contains(names, s.Name) {
			found = append(found, s)
		}
	}
	return []tool.Tool{bound{search.Over(found)}}
}

// A bound tool cannot be bound to others.
type bound struct{ tool.Tool }

// code is the exit code for a call's result.
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

// toolInput returns the input of a call: the argument, stdin for "-", or an
// empty object.
func (h *host) toolInput(ctx context.Context, args []string) (json.RawMessage, error) {
	text := "{}"
	if len(args) == 1 {
		text = args[0]
	}
	if text == "-" {
		var err error
		if text, err = h.readStdin(ctx, false); err != nil {
			return nil, err
		}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &members); err != nil || members == nil {
		return nil, cli.Usagef(`tools run: the input %q is no JSON object; write one such as '{"file_path":"go.mod"}'`, cli.Clip(text))
	}
	return json.RawMessage(text), nil
}

// showOutcome writes the result of a call to stdout, the text of an error to
// stderr.
func (h *host) showOutcome(format string, o toolOutcome) error {
	if format == formatJSON {
		return h.list(format, o, "", nil)
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
		_, err := io.WriteString(h.err, text)
		return err
	}
	return h.show(text)
}
