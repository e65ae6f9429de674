package streamjson

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A permissionPrompt asks the client for permission.
type permissionPrompt struct {
	d     *Session
	rules *app.SessionRules

	mu      sync.Mutex
	settled *sync.Cond // signals that a question was closed
	waiting map[string]chan reply
	gone    chan struct{} // closed when no client answers any more
}

func newPermissionPrompt(d *Session) *permissionPrompt {
	a := &permissionPrompt{d: d, rules: app.NewSessionRules(d.s), waiting: map[string]chan reply{}, gone: make(chan struct{})}
	a.settled = sync.NewCond(&a.mu)
	return a
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

// A replyEnvelope is the body of a control_response from the client.
type replyEnvelope struct {
	Subtype  string `json:"subtype"`
	ID       string `json:"request_id"`
	Response reply  `json:"response"`
	Error    string `json:"error"`
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
	r, err := a.ask(ctx, q)
	switch {
	case errors.Is(err, app.ErrNoPerson):
		return nobody, nil
	case err != nil:
		return nobody, err
	}
	return a.settle(ctx, call, r)
}

// ask sends a question and waits for its answer. The error is app.ErrNoPerson if no client answers any
// more.
func (a *permissionPrompt) ask(ctx context.Context, q question) (reply, error) {
	id, answers := a.expect()
	defer a.forget(id)
	a.d.out.answer(controlRequest{Type: "control_request", ID: id, Request: q, Origin: a.d.sign()})
	select {
	case r := <-answers:
		return r, nil
	case <-a.gone:
		return reply{}, app.ErrNoPerson
	case <-ctx.Done():
		a.d.out.answer(cancelRequest{Type: "control_cancel_request", ID: id, Origin: a.d.sign()})
		return reply{}, ctx.Err()
	}
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
			if u.Type == "setMode" {
				if err := a.d.changeMode(ctx, permission.Mode(u.Mode)); err != nil {
					return permission.Decision{}, err
				}
			}
			if err := a.rules.Check(u.AllowedRules()...); err != nil {
				a.d.H.Warn("a rule in an answer has no effect: %v", err)
			}
			a.rules.Add(u.AllowedRules()...)
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
		if r.Interrupt { // interrupt after the denial is recorded
			always := context.WithoutCancel(ctx)
			if err := a.d.s.Session.Decide(always, call.ID, d); err != nil {
				return d, err
			}
			_, err := a.d.s.Session.Interrupt(always)
			return d, err
		}
		return d, nil
	}
	return permission.Decision{}, fmt.Errorf("the answer has the behavior %q; it must be allow, deny or defer", cli.Clip(r.Behavior))
}

// expect prepares for the answer to a new question.
func (a *permissionPrompt) expect() (id string, answers chan reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id, answers = "req_"+session.NewID(), make(chan reply, 1)
	a.waiting[id] = answers
	return id, answers
}

func (a *permissionPrompt) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
	a.settled.Broadcast()
}

// rest waits until no question is open, so that no question is withdrawn after its run's result.
func (a *permissionPrompt) rest() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.waiting) > 0 {
		a.settled.Wait()
	}
}

// answer handles a reply. It ignores replies to closed questions.
func (a *permissionPrompt) answer(e replyEnvelope) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answers, ok := a.waiting[e.ID]
	if !ok {
		return
	}
	delete(a.waiting, e.ID)
	if e.Subtype != "success" {
		e.Response = reply{Behavior: "deny", Message: "the question failed: " + cmp.Or(e.Error, "no reason given")}
	}
	answers <- e.Response
}

// close ends every open question without an answer.
func (a *permissionPrompt) close() { close(a.gone) }
