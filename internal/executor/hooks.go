package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/trace"
)

// CallHooks calls the hooks of in's event. show, unless nil, shows each of them. The texts
// of the outcome are free of secrets.
func (x *Executor) CallHooks(ctx context.Context, in hook.Input, show Signals) (out hookrun.Outcome) {
	var watch func(hookrun.Step)
	if show != nil && show.Watched() {
		id := string(in.Event) + "/" + strconv.FormatInt(x.snapshots.Add(1), 10)
		e, call := in.Event, in.Call
		watch = func(s hookrun.Step) { x.showHook(show, id+"."+strconv.Itoa(s.Index), e, call, s) }
	}
	if x.Trace != nil && slices.Contains(x.Hooks.Events(), in.Event) {
		inner, end := x.Watch(ctx, trace.Span{Kind: "hook", Name: string(in.Event), Call: in.Call})
		ctx = inner
		defer func() { end(endOfHooks(&out)) }()
	}
	out = x.Hooks.Run(ctx, in, watch)
	for _, err := range out.Errors {
		x.Log.Warn("hook failed", "event", in.Event, "tool", in.Tool, "call", in.Call, "error", x.Secrets.Text(err.Error()))
	}
	for _, s := range []*string{&out.Reason, &out.StopReason, &out.Context, &out.Message, &out.Title} {
		*s = x.Plain(*s)
	}
	x.keepHookCause(out.Reason, out.Errors)
	return out
}

// Plain returns a text of a hook or a server that is safe to show, without secrets. It
// removes escape sequences first, because they can hide a secret.
func (x *Executor) Plain(s string) string { return x.Secrets.Text(text.Clean(s)) }

// showHook shows a step of a hook. call is "" for an event that is not about a call.
func (x *Executor) showHook(to Signals, id string, e hook.Event, call string, s hookrun.Step) {
	name := x.Secrets.Text(s.Name)
	switch s.Phase {
	case hookrun.Started:
		to.Show(event.HookStarted{ID: id, Event: e, Name: name, Call: call})
	case hookrun.Going:
		to.Show(event.HookProgress{ID: id, Event: e, Line: x.Secrets.Text(s.Line)})
	case hookrun.Ended:
		r := event.HookResponse{ID: id, Event: e, Name: name, Call: call, Duration: s.Duration,
			Blocks: s.Output.Block || s.Output.Permission == permission.Denied, Reason: x.Plain(s.Output.Reason)}
		if !s.Output.Quiet {
			r.Message = x.Plain(s.Output.Message)
		}
		if n := s.Output.Notification; n != nil {
			r.Notification = &hook.Notice{Title: x.Plain(n.Title), Body: x.Plain(n.Body), Level: n.Level}
		}
		if s.Err != nil {
			r.Error = x.Plain(s.Err.Error())
		}
		to.Show(r)
	}
}

// carry adds the wishes of hooks to the input's further facts: context for the model, other
// permissions, a title. The context's id follows from the effect's key, so calling the
// hooks again yields the same fact.
func (x *Executor) carry(ctx context.Context, j *Input, in *hook.Input, out *hookrun.Outcome) {
	if out.Context != "" {
		j.More = append(j.More, event.UserMessage{ID: "hook:" + j.Effect.Key() + ":" + string(in.Event), Delivery: fact.AsHook,
			Message: llm.UserText(fmt.Sprintf("[%s hook] %s", in.Event, out.Context))})
	}
	var updates []hook.Update
	for _, u := range out.Updates {
		switch {
		case u.Type != hookconst.SetMode:
			updates = append(updates, x.permittedRules(in.Event, u))
		case x.mayChange(u.Mode):
			j.More = append(j.More, event.ModeChanged{Mode: u.Mode})
		default:
			x.Log.Warn("a hook may not change the mode", "event", in.Event, "mode", u.Mode)
		}
	}
	if len(updates) > 0 {
		j.More = append(j.More, event.PermissionsChanged{Updates: updates})
	}
	if out.Title != "" {
		named := event.SessionNamed{Title: text.Runes(text.Clean(out.Title), maxTitle), Tag: x.Driver.SessionTag(ctx)}
		j.More = append(j.More, named)
	}
}

// permittedRules returns an update without the allow rules that the host does not permit.
func (x *Executor) permittedRules(e hook.Event, u hook.Update) hook.Update {
	if x.AllowRuleGrant == nil || u.Behavior != permission.Allowed || u.Type == hookconst.RemoveRules {
		return u
	}
	u.Rules = slices.DeleteFunc(slices.Clone(u.Rules), func(r permission.Rule) bool {
		err := safecall.Or(func() error { return x.AllowRuleGrant(r) }, errors.New("the callback AllowRuleGrant failed"))
		if err != nil {
			x.Log.Warn("a hook's rule may not allow calls", "event", e, "rule", r, "error", x.Secrets.Text(err.Error()))
		}
		return err != nil
	})
	return u
}

// mayChange reports whether a hook may change to a mode. It may change to bypassPermissions
// only if the agent itself has that mode.
func (x *Executor) mayChange(mode permission.Mode) bool {
	if mode == permission.Bypass && !x.Bypass {
		return false
	}
	return x.AllowModeChange == nil || safecall.Or(func() bool { return x.AllowModeChange(mode) == nil }, false)
}

const maxTitle = 200 // characters

// about returns the input of hooks about a call.
//
//go:noinline // called from many places: every program stays smaller
func (x *Executor) about(e hook.Event, call tool.Call) hook.Input {
	return hook.Input{Event: e, Session: call.Session, Transcript: x.Transcript, Dir: call.Dir, Mode: call.Mode, Agent: x.Kind, AgentID: x.AgentID,
		Tool: call.Name, Input: call.Input, Call: call.ID}
}

// before calls the PreToolUse hooks. They may change the input of the call. d is nil if no
// hook has decided.
func (x *Executor) before(ctx context.Context, call *tool.Call, j *Input) (d *permission.Decision, stop string) {
	in := x.about(hook.PreToolUse, repaired(x.Tool(call.Name), *call))
	out := x.CallHooks(ctx, in, j.Signals)
	x.carry(ctx, j, &in, &out)
	if out.Input != nil {
		call.Input = out.Input
	}
	if out.Permission != permission.NoOpinion {
		d = &permission.Decision{Behavior: out.Permission, Reason: out.Reason, Source: policies.FromHook, By: out.By}
		if d.Reason == "" && d.Behavior != permission.Allowed {
			d.Reason = "a PreToolUse hook wants it so"
		}
	}
	if out.Stop {
		stop = stopReason(in.Event, &out)
		d = &permission.Decision{Behavior: permission.Denied, Source: policies.FromHook, Reason: stop}
	}
	return d, stop
}

func stopReason(e hook.Event, out *hookrun.Outcome) string {
	if out.StopReason != "" {
		return out.StopReason
	}
	return fmt.Sprintf("a %s hook stopped the run", e)
}

// requested calls the PermissionRequest hooks about a call with verdict ask. It returns nil
// if they do not decide. An allow of a hook counts only if nothing but the mode asks about
// the call. That must also hold for an input that the hooks change.
func (x *Executor) requested(ctx context.Context, t tool.Tool, j *Input) *permission.Decision {
	if !x.Hooks.Has(hook.PermissionRequest, j.Call.Name) {
		return nil
	}
	in := x.about(hook.PermissionRequest, repaired(t, j.Call))
	in.Suggestions = policies.Suggest(x.subject(&j.Call, &j.Class))
	out := x.CallHooks(ctx, in, j.Signals)
	if ctx.Err() != nil {
		return nil
	}
	x.carry(ctx, j, &in, &out)
	d := &permission.Decision{Behavior: out.Permission, Reason: out.Reason, Source: policies.FromHook, By: out.By}
	if out.Stop {
		d.Behavior, d.Reason = permission.Denied, stopReason(in.Event, &out)
	}
	switch {
	case d.Behavior == permission.Denied:
		if d.Reason == "" {
			d.Reason = "a PermissionRequest hook denies it"
		}
		if out.Stop || out.Interrupt {
			j.More = append(j.More, fact.Stopped{Reason: event.HookStopped, Message: d.Reason})
		}
		return d
	case d.Behavior != permission.Allowed || !modeAsks(&j.Call, &j.Class, j.Verdict):
		return nil
	case out.Input == nil:
		return d
	}
	call := j.Call
	call.Input, d.Input = out.Input, out.Input
	class := classify(t, &call)
	switch again := x.judge(call.Mode, &call, &class, nil); {
	case again.Behavior == permission.Denied:
		return again
	case again.Behavior == permission.Allowed && class.ConfirmReason == "", modeAsks(&call, &class, again):
		return d
	}
	return nil
}

// modeAsks reports whether the mode is the only reason to ask about a call.
func modeAsks(call *tool.Call, class *tool.Traits, verdict *permission.Decision) bool {
	return verdict.Source == policies.FromMode && class.ConfirmReason == "" && call.Mode != permission.Plan
}

// Notify calls the Notification hooks while the run waits for a person. The returned
// function waits for the hooks.
func (x *Executor) Notify(ctx context.Context, j *Input, kind, message string) (wait func()) {
	if !x.Hooks.Has(hook.Notification, kind) {
		return func() {}
	}
	in := x.about(hook.Notification, j.Call)
	in.Kind, in.Message, in.Tool, in.Input = kind, message, "", nil
	show, done := j.Signals, make(chan struct{})
	go func() {
		defer close(done)
		x.CallHooks(ctx, in, show)
	}()
	return func() { <-done }
}

// resultEvent returns the hook event for a call's result.
func resultEvent(r *tool.Result) hook.Event {
	if r.IsError {
		return hook.PostToolUseFailure
	}
	return hook.PostToolUse
}

// after calls the hooks of a call's result.
func (x *Executor) after(ctx context.Context, key string, j *Input) event.Fact {
	call, done := j.Call, j.Done
	f := event.ToolResult{Key: key, Call: call.ID, Cause: done.Cause, Result: done.Result, Fault: done.Fault, Duration: done.Duration}
	in := x.about(resultEvent(&done.Result), call)
	if !x.Hooks.Has(in.Event, call.Name) {
		return f
	}
	shown := done.Result
	in.Result, in.Duration = &shown, done.Duration.Milliseconds()
	if in.Event == hook.PostToolUseFailure {
		in.Error, in.Interrupt = text.FirstLine(done.Result.Text()), done.Cause == fact.ByCancel
	}
	out := x.CallHooks(ctx, in, j.Signals)
	if ctx.Err() != nil {
		// The run is being stopped. It is unknown what the hook would have removed.
		f.Result = *tool.Errorf("%s ran; its result is withheld, since the run was stopped before a hook had seen it", call.Name)
		f.Result.Patch = done.Result.Patch
		return f
	}
	if out.Result != nil {
		f.Result = *x.Finish(call, out.Result)
		f.Result.Patch = done.Result.Patch
	}
	if out.Block && out.Reason != "" {
		out.Context = appended(out.Context, out.Reason)
	}
	x.carry(ctx, j, &in, &out)
	if out.Stop {
		f.Stop = stopReason(in.Event, &out)
	}
	return f
}

func appended(text, more string) string {
	if text == "" {
		return more
	}
	return text + "\n" + more
}

// fire calls the hooks for an event of the engine.
func (x *Executor) fire(ctx context.Context, e engine.CallHooks, j *Input) event.Fact {
	f := fact.Hooked{Key: e.Key(), Event: e.Event, Message: e.Message}
	out := x.CallHooks(ctx, *j.Input, j.Signals)
	why := out.Reason
	if why == "" {
		why = fmt.Sprintf("a %s hook wants it so", e.Event)
	}
	if out.Stop {
		f.Stop = stopReason(e.Event, &out)
	}
	switch {
	case e.Event == hook.PermissionDenied && out.Retry:
		out.Context = appended(out.Context, fmt.Sprintf("The call of %s that was denied may be made again.", j.Input.Tool))
	case !out.Block:
	case e.Event == hook.UserPromptSubmit, e.Event == hook.UserPromptExpansion, e.Event == hook.Stop, e.Event == hook.SubagentStop, e.Event == hook.PreCompact:
		f.Block = why
	case e.Event == hook.PostToolBatch && f.Stop == "":
		f.Stop = why
	default:
		out.Context = appended(out.Context, why)
	}
	if e.Event == hook.PreCompact { // the model that summarises reads it
		f.Instructions, out.Context = text.Bytes(out.Context, maxInstructions), ""
	}
	if f.Block != "" || e.Event == hook.Stop || e.Event == hook.SubagentStop || e.Event == hook.StopFailure {
		out.Context = "" // no model call follows that could read it
	}
	x.carry(ctx, j, j.Input, &out)
	return f
}
