package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Authorize decides about a call. It applies hooks first, then rules, Deciders and mode,
// then the callback. The verdict may be to ask; Question then asks.
func (x *Executor) Authorize(ctx context.Context, e engine.Authorize, j *Input) event.Fact {
	f := fact.Authorized{Key: e.Key(), Call: j.Call.ID}
	x.authorize(ctx, &e, j, &f)
	return f
}

// authorize is Authorize. It fills in the fact.
func (x *Executor) authorize(ctx context.Context, e *engine.Authorize, j *Input, f *fact.Authorized) {
	t := x.toolOf(j)
	if t == nil {
		f.Decision = *removed(&j.Call)
		return
	}
	call := j.Call
	original := call.Input
	e.Mode = x.Driver.StrictestMode(e.Mode)
	call.Mode = e.Mode
	var hooked *permission.Decision
	if x.Hooks.Has(hook.PreToolUse, call.Name) {
		hooked, f.Stop = x.before(ctx, &call, j)
	}
	if wrong := Invalid(t, &call); wrong != "" && !says(hooked, permission.Denied) {
		f.Invalid = x.Secrets.Text(wrong)
		return
	}
	f.Class = classify(t, &call)
	d := x.settle(e.Mode, &call, &f.Class, hooked)
	if d.Behavior == permission.Allowed {
		d = x.askCallback(ctx, e.Mode, t, &call, &f.Class, d)
	}
	if d.Behavior == permission.Allowed && e.Guard != "" {
		d = &permission.Decision{Behavior: permission.Asked, Source: policies.FromGuard, Reason: e.Guard}
	}
	f.Decision = *d
	f.Decision.Input = nil
	if string(call.Input) != string(original) {
		f.Decision.Input = call.Input
	}
}

// Decisions are passed by reference, which keeps the stacks of runs small
// (BenchmarkAgentsMemory). Functions for which nil is a result say so in their comment. Nil
// allows nothing.

// says reports whether there is a decision with the given behavior.
func says(d *permission.Decision, b permission.Behavior) bool { return d != nil && d.Behavior == b }

// removed returns the denial of a call whose tool was removed.
//
//go:noinline // called from many places: every program stays smaller
func removed(call *tool.Call) *permission.Decision {
	return &permission.Decision{Behavior: permission.Denied, Source: policies.FromDefault, Reason: ToolRemoved(*call)}
}

// settle judges a call. A call with a ConfirmReason needs a rule that allows it, or a
// person's approval. hooked is nil if no hook has decided.
func (x *Executor) settle(mode permission.Mode, call *tool.Call, class *tool.Traits, hooked *permission.Decision) *permission.Decision {
	d := x.judge(mode, call, class, hooked)
	if class.ConfirmReason == "" {
		return d
	}
	if d.Behavior == permission.Asked && d.Source == policies.FromMode && x.authorAsks(call) { // whose reason says more than the mode's
		return x.requireApproval(mode, call, class)
	}
	if d.Behavior != permission.Allowed || d.Source == policies.FromRule {
		return d
	}
	about := x.subject(call, class)
	if byRule := x.Rules.Load().In(mode).Permits(&about); byRule != nil {
		return byRule
	}
	return x.requireApproval(mode, call, class)
}

// authorAsks reports whether the author of the call's tool wants approval of calls.
func (x *Executor) authorAsks(call *tool.Call) bool {
	t := x.Tool(call.Name)
	return t != nil && t.Spec().NeedsApproval != nil
}

// requireApproval returns the verdict ask for a call that no rule allows. In mode dontAsk
// it denies the call.
func (x *Executor) requireApproval(mode permission.Mode, call *tool.Call, class *tool.Traits) *permission.Decision {
	why := class.ConfirmReason
	if rules := policies.Suggest(x.subject(call, class)); len(rules) == 1 {
		why += fmt.Sprintf("; the rule %s would allow it", rules[0])
	}
	if mode == permission.DontAsk {
		return &permission.Decision{Behavior: permission.Denied, Source: policies.FromMode, Reason: "denied in mode dontAsk: " + why}
	}
	return &permission.Decision{Behavior: permission.Asked, Source: policies.FromMode, Reason: why}
}

// judge combines the decision of hooks with rules, Deciders and mode.
func (x *Executor) judge(mode permission.Mode, call *tool.Call, class *tool.Traits, hooked *permission.Decision) *permission.Decision {
	if says(hooked, permission.Denied) {
		return hooked
	}
	about := x.subject(call, class)
	rules := x.Rules.Load().In(mode)
	d := rules.Decide(&about)
	if d.Behavior == permission.Denied {
		return d
	}
	if waits := rules.Waits(&about); waits != nil {
		return waits // no approval lets it run
	}
	opinion := x.policyDecision(&about)
	byMode := d.Behavior == permission.Asked && d.Source == policies.FromMode && !rules.Plans()
	switch {
	case says(opinion, permission.Denied):
		return opinion
	case says(hooked, permission.Asked), says(hooked, permission.Deferred):
		return hooked
	case says(opinion, permission.Asked), says(opinion, permission.Deferred):
		if mode == permission.DontAsk {
			opinion.Behavior, opinion.Reason = permission.Denied, "denied in mode dontAsk: "+opinion.Reason
		}
		return opinion
	case says(hooked, permission.Allowed) && byMode:
		return hooked
	case says(opinion, permission.Allowed) && byMode:
		return opinion
	}
	return d
}

// policyDecision returns the decision of the agent's Deciders, nil for no opinion. A panic
// denies the call.
func (x *Executor) policyDecision(about *permission.Request) *permission.Decision {
	if len(x.Deciders) == 0 {
		return nil
	}
	d := safecall.Or(func() *permission.Decision { return new(permission.Composite(x.Deciders...).Decide(*about)) }, nil)
	if d == nil {
		d = &permission.Decision{Behavior: permission.Denied, Reason: "a policy failed"}
	}
	if d.Behavior == permission.NoOpinion {
		return nil
	}
	if d.Source == "" {
		d.Source = policies.FromPolicy
	}
	d.Reason = x.Secrets.Text(d.Reason)
	return d
}

// askCallback asks the callback about a call that is allowed so far. If the callback
// changes the input, it updates call and class.
func (x *Executor) askCallback(ctx context.Context, mode permission.Mode, t tool.Tool, call *tool.Call, class *tool.Traits, verdict *permission.Decision) *permission.Decision {
	callback := x.Driver.CanUseTool()
	if callback == nil {
		return verdict
	}
	d := x.callBack(ctx, callback, call, verdict)
	switch d.Behavior {
	case permission.NoOpinion:
		return verdict
	case permission.Allowed:
		if d.Input == nil {
			return d
		}
		call.Input = d.Input
		*class = classify(t, call)
		again := x.settle(mode, call, class, nil)
		if again.Behavior == permission.Denied || class.ConfirmReason != "" && again.Behavior != permission.Allowed {
			return again
		}
	}
	return d
}

// Question asks a person about a call, with hooks first and then the callback. Without a
// callback the call is denied.
func (x *Executor) Question(ctx context.Context, e engine.Ask, j *Input) event.Fact {
	t := x.toolOf(j)
	d := x.decisionOf(ctx, t, j)
	if d == nil {
		return nil
	}
	return x.Answer(e.Key(), t, j.Call, *d)
}

// decisionOf returns the answer to the question about a call, nil if the context ends
// first.
func (x *Executor) decisionOf(ctx context.Context, t tool.Tool, j *Input) *permission.Decision {
	if t == nil {
		return removed(&j.Call)
	}
	if d := x.requested(ctx, t, j); d != nil {
		if d.Behavior == permission.Allowed {
			d = x.confirm(ctx, t, j, d)
		}
		if ctx.Err() != nil {
			return nil
		}
		if d.Behavior != permission.Asked {
			return d
		}
	}
	if policies.Expired(*j.Verdict, time.Now()) {
		return unanswered(j.Verdict)
	}
	callback := x.Driver.CanUseTool()
	if callback == nil {
		return noApprover(j.Verdict)
	}
	return x.askPersonAbout(ctx, callback, j)
}

// askPersonAbout shows the question and waits for the callback's answer, at most until the
// question expires. It returns nil if the context ends first.
func (x *Executor) askPersonAbout(ctx context.Context, callback Callback, j *Input) *permission.Decision {
	turn, err := x.Driver.AskTurn(ctx)
	if err != nil {
		return nil
	}
	defer turn()
	j.Signals.Show(x.Request(j.Call, j.Class, *j.Verdict))
	notified := x.Notify(ctx, j, "permission_prompt", fmt.Sprintf("%s needs permission: %s", j.Call.Name, j.Verdict.Reason))
	asking, asked := untilExpiry(ctx, j.Verdict)
	defer asked()
	d := x.callBack(asking, callback, &j.Call, j.Verdict)
	notified()
	switch {
	case ctx.Err() != nil:
		return nil
	case context.Cause(asking) == errDeadline:
		return unanswered(j.Verdict)
	case d.Behavior == permission.NoOpinion, d.Behavior == permission.Asked:
		return noApprover(j.Verdict)
	}
	return d
}

// confirm asks the callback about a call that a hook allows in place of a person. If the
// callback returns ask, a person is asked.
func (x *Executor) confirm(ctx context.Context, t tool.Tool, j *Input, allowed *permission.Decision) *permission.Decision {
	call, class := j.Call, j.Class
	if allowed.Input != nil {
		call.Input = allowed.Input
		class = classify(t, &call)
	}
	d := x.askCallback(ctx, call.Mode, t, &call, &class, allowed)
	if d.Behavior == permission.Allowed && d.Input == nil {
		d.Input = allowed.Input
	}
	return d
}

// ToolRemoved returns the reason why a call is denied whose tool was removed.
func ToolRemoved(call tool.Call) string {
	return fmt.Sprintf("the tool %s is not there any more", call.Name)
}

// Answer returns the fact of a decision about a call.
func (x *Executor) Answer(key string, t tool.Tool, call tool.Call, d permission.Decision) fact.Answered {
	d.Reason, d.By = x.Secrets.Text(d.Reason), x.Secrets.Text(d.By)
	f := fact.Answered{Key: key, Call: call.ID, Decision: d}
	if d.Behavior == permission.Allowed && d.Input != nil && t != nil {
		call.Input = d.Input
		class := classify(t, &call)
		f.Class = &class
	}
	return f
}

// noApprover returns the denial of a call about which nobody can be asked.
func noApprover(verdict *permission.Decision) *permission.Decision {
	return &permission.Decision{Behavior: permission.Denied, Source: policies.FromDefault, Rule: verdict.Rule, Origin: verdict.Origin,
		Reason: verdict.Reason + " (nobody could be asked)"}
}

// callBack calls the callback, in a context of its own. An error or a panic of the callback
// denies the call.
func (x *Executor) callBack(ctx context.Context, callback Callback, call *tool.Call, verdict *permission.Decision) *permission.Decision {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asked, so := *call, *verdict // copies, because the callback may not return
	d, err := safecall.Within(ctx, func() (*permission.Decision, error) {
		d, err := callback(ctx, repaired(x.Tool(asked.Name), asked), so)
		return &d, err
	})
	deny := func(why string) { d = &permission.Decision{Behavior: permission.Denied, Reason: why} }
	switch {
	case err != nil:
		deny("CanUseTool failed: " + x.Secrets.Text(err.Error()))
	case d.Input != nil && !json.Valid(d.Input):
		deny("CanUseTool returned an input that is not JSON")
	case d.Behavior == permission.Allowed && policies.Expired(*d, time.Now()):
		deny("the approval had ended when it was given")
	}
	if d.Source == "" {
		d.Source = policies.FromCallback
	}
	d.Reason, d.By = x.Secrets.Text(d.Reason), x.Secrets.Text(d.By)
	return d
}

// Recheck judges a call again right before it runs, with its final input, mode and
// directory. If the call would now do more than what was approved, it must be allowed by
// itself. It returns the denial, nil if the call may run.
func (x *Executor) Recheck(mode permission.Mode, t tool.Tool, call *tool.Call, judged *tool.Traits) *permission.Decision {
	if t == nil {
		return removed(call)
	}
	mode = x.Driver.StrictestMode(mode)
	call.Mode = mode
	class := classify(t, call)
	p := x.Rules.Load().In(mode)
	about := x.subject(call, &class)
	if d := x.policyDecision(&about); says(d, permission.Denied) {
		return d
	}
	if d := p.Denies(&about); d != nil {
		return d
	}
	// Approval by a callback or a person does not lift plan mode.
	if d := p.Waits(&about); d != nil {
		return d
	}
	if !exceedsApproved(judged, &class) {
		return nil
	}
	if d := x.settle(mode, call, &class, nil); d.Behavior != permission.Allowed {
		return &permission.Decision{Behavior: permission.Denied, Reason: "what the call would do has changed since it was judged; make it again: " + d.Reason}
	}
	return nil
}

// exceedsApproved reports whether a call would do more than the approved one.
func exceedsApproved(judged, now *tool.Traits) bool {
	if isSideEffectFree(judged) && !isSideEffectFree(now) || judged.ConfirmReason == "" && now.ConfirmReason != "" || judged.Confined && !now.Confined || now.IgnoresSkillLimits && !judged.IgnoresSkillLimits {
		return true
	}
	return order.Any(len(now.Access), func(i int) bool {
		a := &now.Access[i]
		return !order.Any(len(judged.Access), func(k int) bool { return judged.Access[k].Kind == a.Kind && judged.Access[k].Target == a.Target })
	})
}

// isSideEffectFree reports whether a call changes nothing by itself.
func isSideEffectFree(c *tool.Traits) bool { return c.ReadOnly || c.Internal || c.RunsSubagents }

// subject returns the permission request for a call. Its tool may be gone.
func (x *Executor) subject(call *tool.Call, class *tool.Traits) permission.Request {
	t := x.Tool(call.Name)
	var spec tool.Spec
	if t != nil {
		spec = t.Spec()
	}
	input := call.Input
	if len(x.Deciders) > 0 {
		input = repaired(t, *call).Input
	}
	return permission.Request{Session: call.Session, Root: call.Root, Agent: call.Agent, Tool: call.Name, Aliases: spec.Aliases, Input: input, Access: class.Access, ReadOnly: isSideEffectFree(class),
		NonDestructive: spec.NonDestructive, Confined: class.Confined, WriteProtected: x.writeProtected(class, call.Dir), Unbound: class.IgnoresSkillLimits, Dir: call.Dir, Roots: x.Roots}
}

// writeProtected returns what the operating system keeps a call from writing.
func (x *Executor) writeProtected(class *tool.Traits, dir string) (all []string) {
	if !class.Confined {
		return nil
	}
	for _, d := range x.Deciders {
		if p, ok := d.(policies.WriteProtector); ok {
			all = append(all, p.WriteProtected(dir)...)
		}
	}
	return all
}

// Request returns the permission question to show.
func (x *Executor) Request(call tool.Call, class tool.Traits, verdict permission.Decision) event.PermissionRequest {
	about := x.subject(&call, &class)
	r := event.PermissionRequest{Call: call, Reason: verdict.Reason, Expires: verdict.Expires, Suggestions: policies.Suggest(about), Widths: policies.Suggestions(about)}
	if p, ok := x.Tool(call.Name).(tool.Previewer); ok {
		r.Preview = x.Secrets.Text(safecall.Or(func() string { return p.Preview(call) }, ""))
	}
	return r
}

// Invalid returns what is wrong with the input of a call, "" if it is valid. Invalid input
// is rejected before anyone is asked. Nobody could tell what the call would do, and an
// "always allow" rule for it would allow anything.
func Invalid(t tool.Tool, call *tool.Call) string {
	v, ok := t.(toolrun.Validator)
	if !ok {
		return ""
	}
	if err := safecall.Or(func() error { return v.Validate(*call) }, nil); err != nil {
		return err.Error()
	}
	return ""
}

// repaired returns a call with the input that its tool will use, for those who judge it.
func repaired(t tool.Tool, call tool.Call) tool.Call {
	if r, ok := t.(toolrun.Repairer); ok {
		call.Input = safecall.Or(func() json.RawMessage { return r.Repair(call) }, call.Input)
	}
	return call
}

// classify returns the traits of a call from its tool. If the tool panics, the call counts
// as one that writes.
func classify(t tool.Tool, call *tool.Call) (class tool.Traits) {
	known := safecall.Or(func() bool { class = toolrun.Classify(t, *call); return true }, false)
	if !known {
		class = tool.Traits{ConfirmReason: toolrun.Approval(t, *call)}
	}
	return class
}
