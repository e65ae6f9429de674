package streamjson

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/contentjson"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/session"
)

// A Report turns a session's events into stream-json lines, and the end of a run into a result.
type Report struct {
	put          func(line any)                   // nil: only results are written
	Notice       func(format string, args ...any) // nil if lines report model failures
	Warn         func(format string, args ...any) // reports messages to the user; nil: none
	Session      string
	provider     string
	simulated    bool
	partial      *partial                 // nil: no partial messages
	claude       *claudeLines             // nil: the lines are our own
	mirror       *mirror                  // nil: no lines hold entries of the session's file
	sandbox      *sandbox.State           // nil: no sandbox is reported
	servers      func() []app.NamedServer // MCP servers
	commands     func() []string
	skills       func() []string // skills that the model can run
	instructions func() []string // instruction files passed to the model
	agentNames   []string

	agent     string             // the name of the agent; "" at the root
	parent    *string            // the call that started the agent; nil at the root
	prefix    string             // prefix of the agent's calls among all agents; "" at the root
	subagents map[string]*Report // reports of its sub-agents, by session

	config    fact.Configured
	Mode      permission.Mode
	held      bool // until the prompt is configured, to hide the end of an earlier run
	Started   bool // the run's init line was written
	queued    map[string]event.Event
	decisions map[string]permission.Decision
	calls     *Calls
	batch     batch
	failures  int                // consecutive failures of the current model
	failed    *event.ModelFailed // the last failure, until the next call
	denied    []event.Denial     // calls that start sub-agents

	compacting bool // a summary is being written
	End        event.RunEnd
	endUUID    string
}

// NewReport returns a Report. put takes each line; nil for none.
func NewReport(session, provider string, put func(line any)) *Report {
	return &Report{put: put, Session: session, provider: provider, simulated: provider == providers.DemoName, servers: func() []app.NamedServer { return []app.NamedServer{} }, commands: func() []string { return []string{} },
		agentNames: []string{}, skills: func() []string { return []string{} }, instructions: func() []string { return []string{} },
		queued: map[string]event.Event{}, decisions: map[string]permission.Decision{}, calls: NewCalls()}
}

// showPieces adds partial messages to the lines.
func (r *Report) showPieces() { r.partial = &partial{put: r.stream} }

// past reads the facts recorded before this run.
func (r *Report) past(ctx context.Context, store session.Store) error {
	put := r.put
	r.put = nil
	defer r.mirror.past()()
	defer func() { r.put = put }()
	for e, err := range store.Read(ctx, r.Session, 0) {
		if err != nil {
			return err
		}
		r.Event(e)
	}
	return nil
}

// Expect prepares for the next run: a prompt, or the rest of an interrupted run.
func (r *Report) Expect(prompt bool) {
	r.held, r.Started = prompt, false
	r.End, r.endUUID, r.denied = event.RunEnd{}, "", nil
}

// Event handles the next event of the session.
func (r *Report) Event(e event.Event) {
	r.mirror.add(r, e)
	if _, ok := e.Data.(fact.Configured); !ok && !r.Started && !r.held {
		r.begin()
	}
	switch d := e.Data.(type) {
	case fact.Configured:
		r.config, r.Mode = d, d.Mode
		r.held, r.failures, r.failed = false, 0, nil
		r.begin()
	case event.UserMessage:
		r.user(e, d)
	case fact.Delivered:
		for _, id := range d.IDs {
			if m, ok := r.queued[id]; ok {
				delete(r.queued, id)
				r.message(m, m.Data.(event.UserMessage))
			}
		}
	case event.ModeChanged:
		r.Mode = d.Mode
	case event.ModelChanged:
		r.config.Model = d.Model
	case fact.ModelStart:
		switch {
		case d.Compacts != "":
			r.compacting = true
			r.Line(statusLine{Type: "system", Subtype: "status", Status: new("compacting"), Parent: r.parent, Origin: r.NewOrigin("")})
		case d.Call == "": // other calls summarise a result
			r.calling(d)
			r.requesting()
			if r.claude != nil && r.parent == nil {
				r.claude.calling = false
			}
		}
	case event.ModelFailed:
		if r.compacting {
			r.endCompacting(d.Message)
			break
		}
		r.modelFailed(e, d)
	case event.Compacted:
		r.compacted(e, d)
	case event.AssistantMessage:
		r.assistant(e, d)
	case fact.Authorized:
		r.decided(d.Call, d.Decision)
	case fact.Answered:
		r.decided(d.Call, d.Decision)
	case event.AgentStart:
		r.agentStarted(e, d)
	case event.AgentEnd:
		r.agentEnded(d)
	case event.ToolResult:
		r.Mode = cmp.Or(d.Result.Patch.Mode, r.Mode)
		r.result(e, d)
	case event.RunEnd:
		r.compacting = false
		r.flush()
		r.tellEnd(d)
		if !r.held {
			r.End, r.endUUID = d, e.UUID()
			r.End.Denials = slices.Concat(d.Denials, r.denied)
		}
	case event.TextDelta, event.ThinkingDelta, event.ToolInputDelta:
		if r.partial != nil {
			r.partial.delta(e.Data)
		}
	case event.HookStarted:
		r.hookLine(hookLine{Type: "system", Subtype: "hook_started", ID: d.ID, Event: string(d.Event), Name: d.Name, Tool: r.toolOf(d.Call), Origin: r.NewOrigin("")})
	case event.HookProgress:
		r.hookLine(hookLine{Type: "system", Subtype: "hook_progress", ID: d.ID, Event: string(d.Event), Stderr: given(d.Line), Origin: r.NewOrigin("")})
	case event.HookResponse:
		r.hook(d)
	case event.RateLimitWait:
		r.waits(d)
	case event.JournalCut:
		r.journalCut(d)
	case event.AgentEvent:
		r.under(d)
	case event.ToolProgress:
		if r.claude != nil && !r.claude.slow(r.prefix+d.Call, d.Elapsed) {
			break
		}
		r.Line(progressLine{Type: "tool_progress", ToolUse: d.ID, ToolName: d.Tool, Parent: r.parent, Elapsed: seconds(d.Elapsed), Phase: d.Phase, Seq: d.Seq,
			Status: d.Status, Error: d.Error, Origin: r.NewOrigin("")})
	}
}

// under handles an event of a sub-agent. Its messages and calls become lines that name the call
// that started it.
func (r *Report) under(d event.AgentEvent) {
	if d.Event == nil {
		return
	}
	child := r.subagents[d.Event.Session]
	if child == nil {
		child = NewReport(r.Session, r.provider, r.Line)
		child.Warn, child.claude, child.mirror = r.Warn, r.claude, r.mirror
		child.agent, child.parent = d.Agent, new(d.ID)
		child.calls, child.prefix = r.calls, d.Event.Session+"/"
		if r.subagents == nil {
			r.subagents = map[string]*Report{}
		}
		r.subagents[d.Event.Session] = child
	}
	child.Event(*d.Event)
	if _, ended := d.Event.Data.(event.RunEnd); ended {
		for _, x := range child.End.Denials {
			if !strings.Contains(x.Call, "/") {
				x.Call = child.prefix + x.Call
			}
			r.denied = append(r.denied, x)
		}
		delete(r.subagents, d.Event.Session)
	}
}

// hook reports the result of a hook.
func (r *Report) hook(d event.HookResponse) {
	l := hookLine{Type: "system", Subtype: "hook_response", ID: d.ID, Event: string(d.Event), Name: d.Name, Output: given(d.Message), Stderr: given(d.Error), Reason: d.Reason, Outcome: "success", Tool: r.toolOf(d.Call), Origin: r.NewOrigin("")}
	switch {
	case d.Error != "":
		l.Outcome = "error"
	case d.Blocks:
		l.Outcome = "blocked"
	}
	r.hookLine(l)
	if text := app.HookMessage(d); text != "" {
		r.say("%s", text)
	}
}

// given returns a text that is there; nil for none.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// toolOf names the tool of a call; "" if it is not known.
func (r *Report) toolOf(call string) string {
	u, _ := r.calls.Get(r.prefix + call)
	return u.Name
}

// say reports a message about the model to the user.
func (r *Report) say(format string, args ...any) {
	if r.Notice != nil {
		r.Notice(format, args...)
	}
}

// Line writes a line.
func (r *Report) Line(v any) {
	if r.put != nil && !r.held {
		r.put(v)
	}
}

// NewOrigin returns the last members of a line. A line without a fact gets its own id.
func (r *Report) NewOrigin(uuid string) Origin {
	if uuid == "" && r.put != nil {
		uuid = session.NewID()
	}
	return Origin{UUID: uuid, SessionID: r.Session, Simulated: r.simulated}
}

// begin writes the run's init line.
func (r *Report) begin() {
	r.Started = true
	if r.parent != nil {
		return
	}
	names := make([]string, 0, len(r.config.Tools))
	for _, t := range r.config.Tools {
		names = append(names, t.Name)
	}
	r.Line(initLine{Type: "system", Subtype: "init", Cwd: r.config.Dir, Model: r.config.Model, Provider: cmp.Or(r.config.Models[r.config.Model].Provider, r.provider),
		PermissionMode: string(r.Mode), Tools: names, MCPServers: r.servers(), SlashCommands: r.commands(), Agents: r.agentNames, Skills: r.skills(), Instructions: r.instructions(),
		Capabilities: capabilities, Sandbox: r.sandbox, Version: cli.Version(), claudeInit: r.claude.init(), Origin: r.NewOrigin("")})
}

// capabilities are the features that a host can rely on.
var capabilities = []string{"interrupt_receipt_v1", "interrupt_cancel_queued_v1"}

func (r *Report) user(e event.Event, m event.UserMessage) {
	if m.Delivery == fact.AsPrompt || m.Delivery == fact.AsContinue {
		r.message(e, m)
		return
	}
	r.queued[m.ID] = e // shown when the model receives it
}

func (r *Report) message(e event.Event, m event.UserMessage) {
	if r.claude != nil && r.parent == nil {
		r.claudeMessage(m)
		return
	}
	r.Line(userLine{Type: "user", Message: userMessage{"user", contentjson.Short(m.Message.Content)},
		Synthetic: m.Delivery == fact.AsNotice || m.Delivery == fact.AsContinue || m.Delivery == fact.AsHook || m.Delivery == fact.AsContext, Parent: r.parent, Origin: r.NewOrigin(e.UUID())})
}

// compacted reports that the conversation was compacted, or why not.
func (r *Report) compacted(e event.Event, d event.Compacted) {
	r.endCompacting(d.Failed)
	if d.Failed != "" {
		r.say("the conversation was not compacted: %s", d.Failed)
		return
	}
	trigger := d.Trigger
	if r.claude != nil && trigger != fact.Manual {
		trigger = fact.Auto // the only other word that it has
	}
	r.Line(compactLine{Type: "system", Subtype: "compact_boundary", Parent: r.parent, Origin: r.NewOrigin(e.UUID()),
		Metadata: compactMetadata{trigger, d.Before, d.After, d.Duration.Milliseconds(), len(d.Cleared), d.Until > 0}})
	r.say("the conversation was compacted: about %d tokens became %d", d.Before, d.After)
}

// endCompacting reports the end of a compaction; failure says why it came to nothing.
func (r *Report) endCompacting(failure string) {
	if !r.compacting {
		return
	}
	r.compacting = false
	l := statusLine{Type: "system", Subtype: "status", Parent: r.parent, Origin: r.NewOrigin("")}
	if r.claude != nil {
		if l.Compacted = "success"; failure != "" {
			l.Compacted, l.CompactError = "failed", failure
		}
	}
	r.Line(l)
}

// calling records a model call. After a failure it may be another model.
func (r *Report) calling(d fact.ModelStart) {
	if f := r.failed; f != nil && f.Model != d.Model && r.parent == nil {
		r.failures = 0
		r.say("%s; continuing with %s", f.Message, d.Model)
		r.Line(fallbackLine{Type: "system", Subtype: "model_fallback", Model: f.Model, Fallback: d.Model, Error: errorName(f.Class),
			Message: f.Message, Withdrawn: f.Partial != "", Origin: r.NewOrigin("")})
	}
	r.failed = nil
	if r.partial != nil {
		r.partial.start(d)
	}
}

func (r *Report) modelFailed(e event.Event, f event.ModelFailed) {
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
		DelayMS: wait.Round(10 * time.Millisecond).Milliseconds(), Error: errorName(f.Class), Message: f.Message, Withdrawn: withdrawn, Origin: r.NewOrigin(e.UUID())}
	if f.Status != 0 {
		l.ErrorStatus = &f.Status
	}
	r.Line(l)
}

func (r *Report) assistant(e event.Event, m event.AssistantMessage) {
	r.failures, r.failed = 0, nil
	pieces := r.partial != nil && r.partial.shown
	if pieces {
		r.partial.finish(m)
	}
	if r.claude != nil && r.parent == nil {
		r.claude.stop, r.claude.calling = string(m.Response.Stop), len(m.Response.Message.ToolUses()) > 0
	}
	r.flush()
	r.batch = batch{}
	if r.claude != nil {
		r.claudeAnswer(e, m, pieces)
	} else {
		r.Line(assistantLine{Type: "assistant", Message: shownMessage(m), Parent: r.parent, Origin: r.NewOrigin(e.UUID())})
	}
	for i, u := range m.Response.Message.ToolUses() { // now that they are shown: questions about them wait for that
		id := CallID(e.Seq, i)
		r.calls.Add(r.prefix+id, u)
		r.batch.ids = append(r.batch.ids, id)
	}
}

func (r *Report) decided(call string, d permission.Decision) { r.decisions[call] = d }

// result handles the result of a call. The results of one answer form one line, in the order of the
// calls.
func (r *Report) result(e event.Event, d event.ToolResult) {
	u, known := r.calls.Get(r.prefix + d.Call)
	if !known {
		return
	}
	why := r.decisions[d.Call]
	switch {
	case d.Cause != fact.ByDenial:
	case r.claude != nil:
		r.claudeDenial(u.Name, u.ID, why, d.Result.Text())
	default:
		r.Line(deniedLine{Type: "system", Subtype: "permission_denied", ToolName: u.Name, ToolUse: u.ID,
			Reason: cmp.Or(why.Reason, d.Result.Text()), Rule: why.Rule, Agent: r.agent, Origin: r.NewOrigin("")})
	}
	delete(r.decisions, d.Call)
	if r.claude != nil {
		r.claudeToolResult(e, d)
		return
	}
	if r.batch.add(e, d); len(r.batch.results) == len(r.batch.ids) {
		r.flush()
	}
}

// flush writes the results received so far.
func (r *Report) flush() {
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
		u, _ := r.calls.Get(r.prefix + id)
		blocks = append(blocks, contentjson.Block(llm.ToolResult{ID: u.ID, Content: d.Result.Content, IsError: d.Result.IsError}))
		if d.Result.Details != nil {
			details[u.ID] = d.Result.Details
		}
	}
	r.Line(userLine{Type: "user", Message: userMessage{"user", blocks}, Result: joinDetails(details, len(blocks)), Parent: r.parent, Origin: r.NewOrigin(b.last.UUID())})
}

// joinDetails returns the details of a single result unchanged, and several by call id.
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

// A batch holds the calls of one answer and the results received so far.
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

// Result returns the result of the ended run.
func (r *Report) Result(ctx context.Context) (ResultLine, cli.Outcome) {
	end := r.End
	o := cli.OutcomeOf(ctx, end)
	l := ResultLine{Type: "result", Subtype: o.Subtype, IsError: o.Subtype != cli.Success, Result: cmp.Or(end.Text, end.Partial), Turns: end.Turns,
		DurationMS: end.Duration.Milliseconds(), APIMS: end.API.Milliseconds(), TTFTMS: end.First.Milliseconds(), CostUSD: end.CostUSD,
		Usage: shownUsage(end.Usage), ModelUsage: shownModels(end.Models), Denials: []denial{}, Reason: end.Reason, APIStatus: end.Status, Structured: end.Output,
		Origin: r.NewOrigin(r.endUUID)}
	if l.IsError && end.Message != "" {
		l.Errors = []string{end.Message}
	}
	for _, d := range end.Denials {
		u, _ := r.calls.Get(d.Call)
		l.Denials = append(l.Denials, denial{d.Tool, d.ToolID, contentjson.Input(u)})
	}
	return l, o
}

// broken replaces the end of a run that could not be recorded.
func (r *Report) broken(err error, soFar event.RunEnd) {
	r.flush()
	r.End, r.endUUID = soFar, ""
	r.End.Reason, r.End.Message = event.Internal, err.Error()
}

func (r *Report) stream(v any) {
	r.Line(streamLine{Type: "stream_event", Event: v, Origin: r.NewOrigin("")})
}
