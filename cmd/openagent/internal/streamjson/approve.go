package streamjson

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A permissionPrompt asks the client for permission.
type permissionPrompt struct {
	d     *Session
	rules *app.SessionRules
}

func newPermissionPrompt(d *Session) *permissionPrompt {
	return &permissionPrompt{d: d, rules: app.NewSessionRules(d.s)}
}

// A question is the request can_use_tool.
type question struct {
	Subtype     string                 `json:"subtype"`
	ToolName    string                 `json:"tool_name"`
	Input       json.RawMessage        `json:"input"`
	ToolUse     string                 `json:"tool_use_id"`
	Agent       *string                `json:"agent_id"`             // the asking session; null: the main session
	AgentName   string                 `json:"agent_name,omitempty"` // name of the asking sub-agent
	BlockedPath *string                `json:"blocked_path"`
	Reason      string                 `json:"decision_reason"`
	ReasonType  string                 `json:"decision_reason_type"`
	Suggestions []app.PermissionUpdate `json:"permission_suggestions"`
	Description string                 `json:"description,omitempty"` // a diff, for edits
	Interaction bool                   `json:"requires_user_interaction,omitempty"`
	Risks       []rules.Risk           `json:"risks,omitempty"` // risky parts of a command line
}

// A claudeQuestion is a question for hosts of Claude Code. What is not known is left out.
type claudeQuestion struct {
	question
	Display     string  `json:"display_name"`
	Agent       *string `json:"agent_id,omitempty"`
	BlockedPath *string `json:"blocked_path,omitempty"`
}

// A reply answers a question.
type reply struct {
	Behavior    string                 `json:"behavior"`
	Input       json.RawMessage        `json:"updatedInput"`
	Permissions []app.PermissionUpdate `json:"updatedPermissions"`
	Message     string                 `json:"message"`
	Interrupt   bool                   `json:"interrupt"`
	By          string                 `json:"decidedBy"` // who decided, for the record
	Expires     time.Time              `json:"expiresAt"` // of an allowance
}

// decide is the session's CanUseTool function.
func (a *permissionPrompt) decide(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
	nobody := permission.Decision{}
	if verdict.Behavior != permission.Asked {
		return nobody, nil
	}
	if a.rules.Covers(ctx, call, verdict) {
		return permission.Allow(), nil
	}
	use, err := a.d.report.calls.Find(ctx, a.d.s.Session.ID, call)
	if err != nil {
		return nobody, err
	}
	q := question{Subtype: "can_use_tool", ToolName: call.Name, Input: call.Input, ToolUse: use.ID, Reason: verdict.Reason,
		ReasonType: reasonType(verdict.Source), Suggestions: []app.PermissionUpdate{}, Risks: a.rules.Risks(ctx, call)}
	pending, err := a.d.s.Session.Pending(ctx)
	if err != nil || ctx.Err() != nil {
		return nobody, cmp.Or(err, ctx.Err())
	}
	if call.Session != a.d.s.Session.ID { // a sub-agent's question: its calls have their own ids
		q.Agent, q.AgentName = new(call.Session), call.Agent
	}
	about := app.PendingRequest(pending, a.d.s.Session.ID, call)
	q.Suggestions, q.Description = app.SuggestUpdates(about.Suggestions), about.Preview
	r, err := a.ask(ctx, call, q)
	switch {
	case errors.Is(err, app.ErrNoPerson):
		return nobody, nil
	case err != nil:
		return nobody, err
	}
	return a.settle(ctx, call, r)
}

// ask puts a question to the host, or to the tool that decides in its place.
func (a *permissionPrompt) ask(ctx context.Context, call tool.Call, q question) (reply, error) {
	name := a.d.s.Options.AskTool
	if name == "" {
		return a.d.ask(ctx, q)
	}
	r, err := a.askTool(ctx, name, call, q)
	if err != nil && ctx.Err() == nil {
		return reply{Behavior: "deny", Message: fmt.Sprintf("the tool %s, which decides about permission, failed: %v", cli.Clip(name), err)}, nil
	}
	return r, err
}

// askTool has a tool of an MCP server decide. Its answer is a text with the JSON of a host's answer.
func (a *permissionPrompt) askTool(ctx context.Context, name string, call tool.Call, q question) (reply, error) {
	decider := a.rules.Tool(ctx, name)
	if decider == nil {
		return reply{}, errors.New("it is not there; its server may not be connected")
	}
	call.Name = name
	call.Input = encoded(struct {
		Tool  string          `json:"tool_name"`
		Input json.RawMessage `json:"input"`
		ID    string          `json:"tool_use_id"`
	}{q.ToolName, q.Input, q.ToolUse})
	res, err := decider.Run(ctx, call)
	switch {
	case err != nil:
		return reply{}, err
	case res == nil || res.IsError:
		return reply{}, errors.New("it returned an error")
	}
	var r reply
	if err := json.Unmarshal([]byte(strings.TrimSpace(res.Text())), &r); err != nil {
		return reply{}, errors.New("its answer is not the JSON of a decision, such as {\"behavior\": \"deny\", \"message\": \"…\"}")
	}
	return r, nil
}

// ask sends a question and waits for its answer. The error is app.ErrNoPerson if no client answers any
// more. An error of the host, and an answer that cannot be read, is a denial.
func (d *Session) ask(ctx context.Context, q question) (reply, error) {
	var body any = q
	if d.claude {
		body = claudeQuestion{q, q.ToolName, q.Agent, q.BlockedPath}
	}
	raw, err := d.request(ctx, body, true)
	var r reply
	switch {
	case errors.Is(err, errHost):
		return reply{Behavior: "deny", Message: "the question failed: " + err.Error()}, nil
	case err != nil:
		return reply{}, err
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return reply{Behavior: "deny", Message: "the answer cannot be read: " + mismatch(err).Error()}, nil
	}
	return r, nil
}

func reasonType(s permission.Source) string {
	switch s {
	case policies.FromRule, policies.FromMode, policies.FromHook:
		return string(s)
	case policies.FromGuard:
		return "safetyCheck"
	}
	return "other"
}

// settle turns a reply into a decision.
func (a *permissionPrompt) settle(ctx context.Context, call tool.Call, r reply) (permission.Decision, error) {
	switch r.Behavior {
	case "allow":
		for _, u := range r.Permissions {
			if err := a.update(ctx, u); err != nil {
				return permission.Decision{}, err
			}
		}
		d := permission.Allow()
		if len(r.Input) > 0 && string(r.Input) != "null" && !app.SameJSON(r.Input, call.Input) {
			d.Input = r.Input
		}
		d.Source, d.By, d.Expires = policies.FromPerson, r.By, r.Expires
		return d, nil
	case "defer":
		return permission.Decision{Behavior: permission.Deferred, Source: policies.FromPerson, By: r.By}, nil
	case "deny":
		d := permission.Deny(cmp.Or(r.Message, "refused by the user"))
		d.Source, d.By = policies.FromPerson, r.By
		if d.Interrupt = r.Interrupt; r.Interrupt && call.Session != a.d.s.Session.ID { // it ends more than the agent
			if _, err := a.d.s.Session.Interrupt(context.WithoutCancel(ctx)); err != nil {
				return d, err
			}
		}
		return d, nil
	}
	return permission.Decision{}, fmt.Errorf("the answer has the behavior %q; it must be allow, deny or defer", cli.Clip(r.Behavior))
}

// update carries out a change of permissions in an answer. An error means that a guard or the mode is
// not as the answer wants it: then the call must not run.
func (a *permissionPrompt) update(ctx context.Context, u app.PermissionUpdate) error {
	change := u.Change()
	switch {
	case u.Type == hookconst.SetMode:
		return a.d.changeMode(ctx, permission.Mode(u.Mode))
	case !u.Honoured():
		a.d.H.Warn("the update of permissions %q (%q) in an answer has no effect: only setMode, addRules, replaceRules and removeRules can change a running session", cli.Clip(u.Type), cli.Clip(string(u.Behavior)))
		return nil
	case u.Guards() && u.Type != hookconst.RemoveRules:
		return a.d.s.Session.ChangePermissions(ctx, change)
	case u.Guards():
		list := a.d.s.Agent.Permissions.Deny
		if u.Behavior == permission.Asked {
			list = a.d.s.Agent.Permissions.Ask
		}
		for _, r := range change.Rules {
			if slices.Contains(list, r) {
				a.d.H.Warn("removeRules in an answer cannot remove %s: the rule is in the settings or flags of this program", cli.Clip(string(r)))
			}
		}
		if err := a.d.s.Session.ChangePermissions(ctx, change); err != nil { // all guards stay
			a.d.H.Warn("an update of permissions in an answer has no effect: %v", err)
		}
		return nil
	}
	if u.Type != hookconst.RemoveRules {
		if err := a.rules.Check(change.Rules...); err != nil {
			a.d.H.Warn("a rule in an answer has no effect: %v", err)
		}
	}
	if missing := a.rules.Change(change); len(missing) > 0 {
		a.d.H.Warn("removeRules in an answer cannot remove %s: only rules that answers have added can be removed", cli.Clip(app.JoinRules(missing)))
	}
	return nil
}
