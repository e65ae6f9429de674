package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/trace"
)

// callHooks calls the hooks of in's event; show, unless nil, is told of each. What
// they say is without secrets then.
func (x *executor) callHooks(ctx context.Context, in hook.Input, show signals) (out hook.Outcome) {
	var watch func(hook.Step)
	if show != nil && show.watched() {
		id := string(in.Event) + "/" + strconv.FormatInt(x.snapshots.Add(1), 10)
		e, call := in.Event, in.Call
		watch = func(s hook.Step) { x.showHook(show, id+"."+strconv.Itoa(s.Index), e, call, s) }
	}
	if x.trace != nil && slices.Contains(x.hooks.Events(), in.Event) {
		inner, end := x.watch(ctx, trace.Span{Kind: trace.Hook, Name: string(in.Event), Call: in.Call})
		ctx = inner
		defer func() { end(endOfHooks(&out)) }()
	}
	out = x.hooks.Run(ctx, in, watch)
	for _, err := range out.Errors {
		x.log.Warn("hook failed", "event", in.Event, "tool", in.Tool, "call", in.Call, "error", x.secrets.Text(err.Error()))
	}
	for _, text := range []*string{&out.Reason, &out.StopReason, &out.Context, &out.Message, &out.Title} {
		*text = x.plain(*text)
	}
	return out
}

// plain is what a hook says, as it may be shown: an escape sequence may hide a secret.
func (x *executor) plain(text string) string { return x.secrets.Text(tool.Clean(text)) }

// showHook shows what is seen of a hook of an event, about a call or none.
func (x *executor) showHook(to signals, id string, e hook.Event, call string, s hook.Step) {
	name := x.secrets.Text(s.Name)
	switch s.Phase {
	case hook.Started:
		to.show(event.HookStarted{ID: id, Event: e, Name: name, Call: call})
	case hook.Going:
		to.show(event.HookProgress{ID: id, Event: e, Line: x.secrets.Text(s.Line)})
	case hook.Ended:
		r := event.HookResponse{ID: id, Event: e, Name: name, Call: call, Duration: s.Duration,
			Blocks: s.Output.Block || s.Output.Permission == permission.Denied, Reason: x.plain(s.Output.Reason)}
		if !s.Output.Quiet {
			r.Message = x.plain(s.Output.Message)
		}
		if n := s.Output.Notification; n != nil {
			r.Notification = &hook.Notice{Title: x.plain(n.Title), Body: x.plain(n.Body), Level: n.Level}
		}
		if s.Err != nil {
			r.Error = x.plain(s.Err.Error())
		}
		to.show(r)
	}
}

// carry adds to a job's fact what its hooks want beside: context for the model,
// other permissions, a title. key makes the context the same when hooks are called
// again.
func (x *executor) carry(ctx context.Context, j *effectInput, in *hook.Input, out *hook.Outcome) {
	if out.Context != "" {
		j.more = append(j.more, event.UserMessage{ID: "hook:" + j.effect.Key() + ":" + string(in.Event), Delivery: event.AsHook,
			Message: llm.UserText(fmt.Sprintf("[%s hook] %s", in.Event, out.Context))})
	}
	var updates []hook.Update
	for _, u := range out.Updates {
		switch {
		case u.Type != hook.SetMode:
			updates = append(updates, x.permittedRules(in.Event, u))
		case x.mayChange(u.Mode):
			j.more = append(j.more, event.ModeChanged{Mode: u.Mode})
		default:
			x.log.Warn("a hook may not change the mode", "event", in.Event, "mode", u.Mode)
		}
	}
	if len(updates) > 0 {
		j.more = append(j.more, event.PermissionsChanged{Updates: updates})
	}
	if out.Title != "" {
		named := event.SessionNamed{Title: text.Runes(tool.Clean(out.Title), maxTitle), Tag: x.driver.sessionTag(ctx)}
		j.more = append(j.more, named)
	}
}

// permittedRules is an update without the rules that the host does not let allow.
func (x *executor) permittedRules(e hook.Event, u hook.Update) hook.Update {
	if x.allowRuleGrant == nil || u.Behavior != permission.Allowed || u.Type == hook.RemoveRules {
		return u
	}
	u.Rules = slices.DeleteFunc(slices.Clone(u.Rules), func(r permission.Rule) bool {
		err := safecall.Or(func() error { return x.allowRuleGrant(r) }, errors.New("the host could not say whether it may"))
		if err != nil {
			x.log.Warn("a hook's rule may not allow calls", "event", e, "rule", r, "error", x.secrets.Text(err.Error()))
		}
		return err != nil
	})
	return u
}

// mayChange reports whether a hook may change the mode: to bypassPermissions only
// where the agent has that mode itself.
func (x *executor) mayChange(mode permission.Mode) bool {
	if mode == permission.Bypass && !x.bypass {
		return false
	}
	return x.allowModeChange == nil || safecall.Or(func() bool { return x.allowModeChange(mode) == nil }, false)
}

const maxTitle = 200 // characters

// about is the hooks' input about a call.
func (x *executor) about(e hook.Event, call tool.Call) hook.Input {
	return hook.Input{Event: e, Session: call.Session, Transcript: x.transcript, Dir: call.Dir, Mode: call.Mode, Agent: x.kind, AgentID: x.agentID,
		Tool: call.Name, Input: call.Input, Call: call.ID}
}

// before calls the PreToolUse hooks. They may change the input of the call.
func (x *executor) before(ctx context.Context, call *tool.Call, j *effectInput) (d permission.Decision, stop string) {
	if !x.hooks.Has(hook.PreToolUse, call.Name) {
		return d, ""
	}
	in := x.about(hook.PreToolUse, *call)
	out := x.callHooks(ctx, in, j.signals)
	x.carry(ctx, j, &in, &out)
	if out.Input != nil {
		call.Input = out.Input
	}
	if out.Permission != permission.NoOpinion {
		d = permission.Decision{Behavior: out.Permission, Reason: out.Reason, Source: permission.FromHook}
		if d.Reason == "" && d.Behavior != permission.Allowed {
			d.Reason = "a PreToolUse hook wants it so"
		}
	}
	if out.Stop {
		stop = stopReason(in.Event, &out)
		d = permission.Decision{Behavior: permission.Denied, Source: permission.FromHook, Reason: stop}
	}
	return d, stop
}

func stopReason(e hook.Event, out *hook.Outcome) string {
	if out.StopReason != "" {
		return out.StopReason
	}
	return fmt.Sprintf("a %s hook stopped the run", e)
}

// requested calls the PermissionRequest hooks about a call that is to be asked
// about. An allow counts where it is only the mode that asks, about the input that
// they leave as well.
func (x *executor) requested(ctx context.Context, t tool.Tool, j *effectInput) (d permission.Decision, decided bool) {
	if !x.hooks.Has(hook.PermissionRequest, j.call.Name) {
		return d, false
	}
	in := x.about(hook.PermissionRequest, j.call)
	in.Suggestions = x.subject(&j.call, &j.class).Suggest()
	out := x.callHooks(ctx, in, j.signals)
	if ctx.Err() != nil {
		return d, false
	}
	x.carry(ctx, j, &in, &out)
	d = permission.Decision{Behavior: out.Permission, Reason: out.Reason, Source: permission.FromHook}
	if out.Stop {
		d.Behavior, d.Reason = permission.Denied, stopReason(in.Event, &out)
	}
	switch {
	case d.Behavior == permission.Denied:
		if d.Reason == "" {
			d.Reason = "a PermissionRequest hook denies it"
		}
		if out.Stop || out.Interrupt {
			j.more = append(j.more, event.Stopped{Reason: event.HookStopped, Message: d.Reason})
		}
		return d, true
	case d.Behavior != permission.Allowed || !modeAsks(&j.call, &j.class, j.verdict):
		return d, false
	case out.Input == nil:
		return d, true
	}
	call := j.call
	call.Input, d.Input = out.Input, out.Input
	class := classify(t, &call)
	switch again := x.judge(call.Mode, &call, &class, permission.Decision{}); {
	case again.Behavior == permission.Denied:
		return again, true
	case again.Behavior == permission.Allowed && class.ConfirmReason == "", modeAsks(&call, &class, again):
		return d, true
	}
	return d, false
}

// modeAsks reports whether it is only the mode that wants a call asked about.
func modeAsks(call *tool.Call, class *tool.Traits, verdict permission.Decision) bool {
	return verdict.Source == permission.FromMode && class.ConfirmReason == "" && call.Mode != permission.Plan
}

// notify calls the Notification hooks beside what somebody is waited for. The
// returned function waits for them.
func (x *executor) notify(ctx context.Context, j *effectInput, kind, message string) (wait func()) {
	if !x.hooks.Has(hook.Notification, kind) {
		return func() {}
	}
	in := x.about(hook.Notification, j.call)
	in.Kind, in.Message, in.Tool, in.Input = kind, message, "", nil
	show, done := j.signals, make(chan struct{})
	go func() {
		defer close(done)
		x.callHooks(ctx, in, show)
	}()
	return func() { <-done }
}

// resultEvent is the event of a call's result.
func resultEvent(r *tool.Result) hook.Event {
	if r.IsError {
		return hook.PostToolUseFailure
	}
	return hook.PostToolUse
}

// after calls the hooks of a call's result.
func (x *executor) after(ctx context.Context, key string, j *effectInput) event.Fact {
	call, done := j.call, j.done
	f := event.ToolResult{Key: key, Call: call.ID, Cause: done.Cause, Result: done.Result, Fault: done.Fault, Duration: done.Duration}
	in := x.about(resultEvent(&done.Result), call)
	if !x.hooks.Has(in.Event, call.Name) {
		return f
	}
	shown := done.Result
	in.Result, in.Duration = &shown, done.Duration.Milliseconds()
	if in.Event == hook.PostToolUseFailure {
		in.Error, in.Interrupt = text.FirstLine(done.Result.Text()), done.Cause == event.ByCancel
	}
	out := x.callHooks(ctx, in, j.signals)
	if ctx.Err() != nil {
		// The run is being stopped. What the hook would have taken out is not known.
		f.Result = *tool.Errorf("%s ran; its result is withheld, since the run was stopped before a hook had seen it", call.Name)
		f.Result.Patch = done.Result.Patch
		return f
	}
	if out.Result != nil {
		f.Result = *x.finish(call, out.Result)
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

// fire calls the hooks of an event that the engine knows of.
func (x *executor) fire(ctx context.Context, e engine.CallHooks, j *effectInput) event.Fact {
	f := event.Hooked{Key: e.Key(), Event: e.Event, Message: e.Message}
	out := x.callHooks(ctx, *j.input, j.signals)
	why := out.Reason
	if why == "" {
		why = fmt.Sprintf("a %s hook wants it so", e.Event)
	}
	if out.Stop {
		f.Stop = stopReason(e.Event, &out)
	}
	switch {
	case e.Event == hook.PermissionDenied && out.Retry:
		out.Context = appended(out.Context, fmt.Sprintf("The call of %s that was denied may be made again.", j.input.Tool))
	case !out.Block:
	case e.Event == hook.UserPromptSubmit, e.Event == hook.UserPromptExpansion, e.Event == hook.Stop, e.Event == hook.SubagentStop, e.Event == hook.PreCompact:
		f.Block = why
	case e.Event == hook.PostToolBatch && f.Stop == "":
		f.Stop = why
	default:
		out.Context = appended(out.Context, why)
	}
	if e.Event == hook.PreCompact { // it is for whoever summarises
		f.Instructions, out.Context = text.Bytes(out.Context, maxInstructions), ""
	}
	if f.Block != "" || e.Event == hook.Stop || e.Event == hook.SubagentStop || e.Event == hook.StopFailure {
		out.Context = "" // there is nobody to read it
	}
	x.carry(ctx, j, j.input, &out)
	return f
}
