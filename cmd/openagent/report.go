package main

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/session"
)

// A report turns the events of a session into lines of stream-json, and the end
// of a run into a result.
type report struct {
	put          func(line any)                   // nil: no lines but results are wanted
	notice       func(format string, args ...any) // nil: where lines tell that the model fails
	warn         func(format string, args ...any) // tells people what they must know; nil: nobody
	session      string
	provider     string
	simulated    bool
	partial      *partial             // nil: no pieces of messages
	sandbox      *sandbox.State       // nil: nothing is said of one
	servers      func() []namedServer // of MCP
	commands     func() []string
	skills       func() []string // that the model can run
	instructions func() []string // files that the model was told
	kinds        []string        // of agents

	agent   string             // the name of the agent; "" at the root
	parent  *string            // the call that has put the agent to work; nil at the root
	prefix  string             // of its calls among those of all agents; "" at the root
	beneath map[string]*report // of agents that work for this one, by session

	config    event.Configured
	mode      permission.Mode
	held      bool // until the prompt is configured: what closes an earlier run is not shown
	live      bool // the init line of this run is out
	queued    map[string]event.Event
	decisions map[string]permission.Decision
	calls     *calls
	batch     batch
	failures  int                // of the model in use, in a row
	failed    *event.ModelFailed // not yet followed by another call
	denied    []event.Denial     // to agents beneath

	compacting bool // a summary is being made
	end        event.RunEnd
	endUUID    string
}

func newReport(session, provider string, put func(line any)) *report {
	return &report{put: put, session: session, provider: provider, simulated: provider == demoName, servers: func() []namedServer { return []namedServer{} }, commands: func() []string { return []string{} },
		kinds: []string{}, skills: func() []string { return []string{} }, instructions: func() []string { return []string{} },
		queued: map[string]event.Event{}, decisions: map[string]permission.Decision{}, calls: newCalls()}
}

// showPieces adds the pieces of messages to the lines.
func (r *report) showPieces() { r.partial = &partial{put: r.stream} }

// past takes in the facts that were recorded before.
func (r *report) past(ctx context.Context, store session.Store) error {
	put := r.put
	r.put = nil
	defer func() { r.put = put }()
	for e, err := range store.Read(ctx, r.session, 0) {
		if err != nil {
			return err
		}
		r.event(e)
	}
	return nil
}

// expect prepares for the next run: a prompt, or the rest of an interrupted run.
func (r *report) expect(prompt bool) {
	r.held, r.live = prompt, false
	r.end, r.endUUID, r.denied = event.RunEnd{}, "", nil
}

// event takes in the next event of the session.
func (r *report) event(e event.Event) {
	if _, ok := e.Data.(event.Configured); !ok && !r.live && !r.held {
		r.begin()
	}
	switch d := e.Data.(type) {
	case event.Configured:
		r.config, r.mode = d, d.Mode
		r.held, r.failures, r.failed = false, 0, nil
		r.begin()
	case event.UserMessage:
		r.user(e, d)
	case event.Delivered:
		for _, id := range d.IDs {
			if m, ok := r.queued[id]; ok {
				delete(r.queued, id)
				r.message(m, m.Data.(event.UserMessage))
			}
		}
	case event.ModeChanged:
		r.mode = d.Mode
	case event.ModelChanged:
		r.config.Model = d.Model
	case event.ModelStart:
		switch {
		case d.Compacts != "":
			r.compacting = true
			r.line(statusLine{Type: "system", Subtype: "status", Status: new("compacting"), Parent: r.parent, origin: r.sign("")})
		case d.Call == "": // else a result is digested
			r.calling(d)
		}
	case event.ModelFailed:
		if r.compacting {
			r.endCompacting()
			break
		}
		r.modelFailed(e, d)
	case event.Compacted:
		r.compacted(e, d)
	case event.AssistantMessage:
		r.assistant(e, d)
	case event.Authorized:
		r.decided(d.Call, d.Decision)
	case event.Answered:
		r.decided(d.Call, d.Decision)
	case event.ToolResult:
		r.mode = cmp.Or(d.Result.Patch.Mode, r.mode)
		r.result(e, d)
	case event.RunEnd:
		r.compacting = false
		r.flush()
		if !r.held {
			r.end, r.endUUID = d, e.UUID()
			r.end.Denials = slices.Concat(d.Denials, r.denied)
		}
	case event.TextDelta, event.ThinkingDelta, event.ToolInputDelta:
		if r.partial != nil {
			r.partial.delta(e.Data)
		}
	case event.HookStarted:
		r.line(hookLine{Type: "system", Subtype: "hook_started", ID: d.ID, Event: string(d.Event), Name: d.Name, origin: r.sign("")})
	case event.HookProgress:
		r.line(hookLine{Type: "system", Subtype: "hook_progress", ID: d.ID, Event: string(d.Event), Stderr: d.Line, origin: r.sign("")})
	case event.HookResponse:
		r.hook(d)
	case event.RateLimitWait:
		r.waits(d)
	case event.JournalCut:
		r.journalCut(d)
	case event.AgentEvent:
		r.under(d)
	case event.ToolProgress:
		r.line(progressLine{Type: "tool_progress", ToolUse: d.ID, ToolName: d.Tool, Parent: r.parent, Elapsed: seconds(d.Elapsed), Phase: d.Phase, Seq: d.Seq,
			Status: d.Status, Error: d.Error, origin: r.sign("")})
	}
}

// under takes in an event of an agent that works for this one. Its messages and calls
// are lines with the call that has put it to work.
func (r *report) under(d event.AgentEvent) {
	if d.Event == nil {
		return
	}
	child := r.beneath[d.Event.Session]
	if child == nil {
		child = newReport(r.session, r.provider, r.line)
		child.warn = r.warn
		child.agent, child.parent = d.Agent, new(d.ID)
		child.calls, child.prefix = r.calls, d.Event.Session+"/"
		if r.beneath == nil {
			r.beneath = map[string]*report{}
		}
		r.beneath[d.Event.Session] = child
	}
	child.event(*d.Event)
	if _, ended := d.Event.Data.(event.RunEnd); ended {
		for _, x := range child.end.Denials {
			if !strings.Contains(x.Call, "/") {
				x.Call = child.prefix + x.Call
			}
			r.denied = append(r.denied, x)
		}
		delete(r.beneath, d.Event.Session)
	}
}

// hook tells what a hook has come to.
func (r *report) hook(d event.HookResponse) {
	l := hookLine{Type: "system", Subtype: "hook_response", ID: d.ID, Event: string(d.Event), Name: d.Name, Output: d.Message, Stderr: d.Error, Reason: d.Reason, Outcome: "success", origin: r.sign("")}
	switch {
	case d.Error != "":
		l.Outcome = "error"
	case d.Blocks:
		l.Outcome = "blocked"
	}
	r.line(l)
	if text := hookNews(d); text != "" {
		r.say("%s", text)
	}
}

// say tells people about the model.
func (r *report) say(format string, args ...any) {
	if r.notice != nil {
		r.notice(format, args...)
	}
}

func (r *report) line(v any) {
	if r.put != nil && !r.held {
		r.put(v)
	}
}

// sign returns the end of a line. Lines that stand for no fact get an id of their own.
func (r *report) sign(uuid string) origin {
	if uuid == "" && r.put != nil {
		uuid = session.NewID()
	}
	return origin{UUID: uuid, SessionID: r.session, Simulated: r.simulated}
}

// begin says what the run is made with.
func (r *report) begin() {
	r.live = true
	if r.parent != nil {
		return
	}
	names := make([]string, 0, len(r.config.Tools))
	for _, t := range r.config.Tools {
		names = append(names, t.Name)
	}
	r.line(initLine{Type: "system", Subtype: "init", Cwd: r.config.Dir, Model: r.config.Model, Provider: cmp.Or(r.config.Models[r.config.Model].Provider, r.provider),
		PermissionMode: string(r.mode), Tools: names, MCPServers: r.servers(), SlashCommands: r.commands(), Agents: r.kinds, Skills: r.skills(), Instructions: r.instructions(),
		Capabilities: capabilities, Sandbox: r.sandbox, Version: version(), origin: r.sign("")})
}

// capabilities are what a program that drives us can rely on.
var capabilities = []string{"interrupt_receipt_v1", "interrupt_cancel_queued_v1"}

func (r *report) user(e event.Event, m event.UserMessage) {
	if m.Delivery == event.AsPrompt || m.Delivery == event.AsContinue {
		r.message(e, m)
		return
	}
	r.queued[m.ID] = e // shown when the model gets it
}

func (r *report) message(e event.Event, m event.UserMessage) {
	r.line(userLine{Type: "user", Message: userMessage{"user", shownContent(m.Message.Content)},
		Synthetic: m.Delivery == event.AsNotice || m.Delivery == event.AsContinue || m.Delivery == event.AsHook || m.Delivery == event.AsContext, Parent: r.parent, origin: r.sign(e.UUID())})
}

// compacted tells that the conversation is shorter, or why it is not.
func (r *report) compacted(e event.Event, d event.Compacted) {
	r.endCompacting()
	if d.Failed != "" {
		r.say("the conversation was not compacted: %s", d.Failed)
		return
	}
	r.line(compactLine{Type: "system", Subtype: "compact_boundary", Parent: r.parent, origin: r.sign(e.UUID()),
		Metadata: compactMetadata{d.Trigger, d.Before, d.After, d.Duration.Milliseconds(), len(d.Cleared), d.Until > 0}})
	r.say("the conversation was compacted: about %d tokens are %d now", d.Before, d.After)
}

func (r *report) endCompacting() {
	if r.compacting {
		r.compacting = false
		r.line(statusLine{Type: "system", Subtype: "status", Parent: r.parent, origin: r.sign("")})
	}
}

// calling notes that a model is called: after a failure perhaps another one.
func (r *report) calling(d event.ModelStart) {
	if f := r.failed; f != nil && f.Model != d.Model && r.parent == nil {
		r.failures = 0
		r.say("%s; going on with %s", f.Message, d.Model)
		r.line(fallbackLine{Type: "system", Subtype: "model_fallback", Model: f.Model, Fallback: d.Model, Error: errorName(f.Class),
			Message: f.Message, Withdrawn: f.Partial != "", origin: r.sign("")})
	}
	r.failed = nil
	if r.partial != nil {
		r.partial.start(d)
	}
}

func (r *report) modelFailed(e event.Event, f event.ModelFailed) {
	r.failures++
	r.failed = &f
	withdrawn := f.Partial != ""
	if r.partial != nil {
		withdrawn = r.partial.withdraw() || withdrawn
	}
	if !f.Retry || r.failures > r.config.Retries || r.parent != nil {
		return
	}
	wait := max(0, f.RetryAt.Sub(e.Time))
	r.say("%s; trying again in %v", f.Message, wait.Round(100*time.Millisecond))
	l := retryLine{Type: "system", Subtype: "api_retry", Attempt: r.failures, MaxRetries: r.config.Retries,
		DelayMS: wait.Round(10 * time.Millisecond).Milliseconds(), Error: errorName(f.Class), Message: f.Message, Withdrawn: withdrawn, origin: r.sign(e.UUID())}
	if f.Status != 0 {
		l.ErrorStatus = &f.Status
	}
	r.line(l)
}

func (r *report) assistant(e event.Event, m event.AssistantMessage) {
	r.failures, r.failed = 0, nil
	if r.partial != nil {
		r.partial.finish(m)
	}
	r.flush()
	r.batch = batch{}
	for i, u := range m.Response.Message.ToolUses() {
		id := callID(e.Seq, i)
		r.calls.add(r.prefix+id, u)
		r.batch.ids = append(r.batch.ids, id)
	}
	r.line(assistantLine{Type: "assistant", Message: shownMessage(m), Parent: r.parent, origin: r.sign(e.UUID())})
}

func (r *report) decided(call string, d permission.Decision) { r.decisions[call] = d }

// result takes in the result of a call. The results of one answer are one line,
// in the order of the calls.
func (r *report) result(e event.Event, d event.ToolResult) {
	u, known := r.calls.get(r.prefix + d.Call)
	if !known {
		return
	}
	if d.Cause == event.ByDenial {
		why := r.decisions[d.Call]
		r.line(deniedLine{Type: "system", Subtype: "permission_denied", ToolName: u.Name, ToolUse: u.ID,
			Reason: cmp.Or(why.Reason, d.Result.Text()), Rule: why.Rule, Agent: r.agent, origin: r.sign("")})
	}
	delete(r.decisions, d.Call)
	if r.batch.add(e, d); len(r.batch.results) == len(r.batch.ids) {
		r.flush()
	}
}

// flush writes the results that have come.
func (r *report) flush() {
	b := r.batch
	r.batch = batch{}
	if len(b.results) == 0 {
		return
	}
	var blocks []any
	details := map[string]json.RawMessage{}
	for _, id := range b.ids {
		d, ok := b.results[id]
		if !ok {
			continue
		}
		u, _ := r.calls.get(r.prefix + id)
		blocks = append(blocks, toolResultBlock{"tool_result", u.ID, shownContent(d.Result.Content), d.Result.IsError})
		if d.Result.Details != nil {
			details[u.ID] = d.Result.Details
		}
	}
	r.line(userLine{Type: "user", Message: userMessage{"user", blocks}, Result: joinDetails(details, len(blocks)), Parent: r.parent, origin: r.sign(b.last.UUID())})
}

// joinDetails returns the details of a single result as they are, those of
// several under the ids of their calls.
func joinDetails(details map[string]json.RawMessage, results int) json.RawMessage {
	if results == 1 {
		for _, d := range details {
			return d
		}
	}
	data, err := json.Marshal(details)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return data
}

// A batch is the calls of one answer and the results that have come.
type batch struct {
	ids     []string
	results map[string]event.ToolResult
	last    event.Event
}

func (b *batch) add(e event.Event, d event.ToolResult) {
	if b.results == nil {
		b.results = map[string]event.ToolResult{}
	}
	b.results[d.Call], b.last = d, e
}

// finished returns the result of the run that has ended.
func (r *report) finished(ctx context.Context) (resultLine, outcome) {
	end := r.end
	o := outcomeOf(ctx, end)
	l := resultLine{Type: "result", Subtype: o.subtype, IsError: o.subtype != success, Result: cmp.Or(end.Text, end.Partial), Turns: end.Turns,
		DurationMS: end.Duration.Milliseconds(), APIMS: end.API.Milliseconds(), TTFTMS: end.First.Milliseconds(), CostUSD: end.CostUSD,
		Usage: shownUsage(end.Usage), ModelUsage: shownModels(end.Models), Denials: []denial{}, Reason: end.Reason, APIStatus: end.Status, Structured: end.Output,
		origin: r.sign(r.endUUID)}
	if l.IsError && end.Message != "" {
		l.Errors = []string{end.Message}
	}
	for _, d := range end.Denials {
		u, _ := r.calls.get(d.Call)
		l.Denials = append(l.Denials, denial{d.Tool, d.ToolID, inputOf(u)})
	}
	return l, o
}

// broken stands in for the end of a run that could not be recorded.
func (r *report) broken(err error, soFar event.RunEnd) {
	r.flush()
	r.end, r.endUUID = soFar, ""
	r.end.Reason, r.end.Message = event.Internal, err.Error()
}

func (r *report) stream(v any) {
	r.line(streamLine{Type: "stream_event", Event: v, origin: r.sign("")})
}
