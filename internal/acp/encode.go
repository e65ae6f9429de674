package acp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

// An Encoder turns the events of a session into updates. What it returns depends only on its fields
// and on the events before: it does no I/O and reads no clock.
//
// It returns each kind of update for live events. [Encoder.Replay] returns those of facts that are
// loaded.
type Encoder struct {
	Dir        string // the working folder
	Window     int    // size of the model's context window
	Terminal   bool   // the client shows the output of commands in a terminal
	Notices    bool   // the client has the update notice
	Compaction bool   // the client has the update compaction_update

	calls    map[string]*call // by our id
	writing  map[string]*call // calls of the answer that is being written, by the provider's id
	used     map[string]int   // how often a provider used an id
	shown    string           // key of the model call whose text was shown
	thought  string           // key of the model call whose thinking was shown
	spent    float64          // USD, of the runs that have ended
	running  float64          // USD, of the run so far
	unpriced bool             // a price is not known
	context  int              // tokens
	notices  int
	compacts string // key of the compaction that is being made
	mode     permission.Mode
	newCalls []Call
	failed   *event.ModelFailed // the last failure, until the next model call
	tasks    tasks
}

// A Call is a call that the client knows.
type Call struct {
	ID     string // our id
	ToolID string // the client's id
}

// A call is a call of a tool.
type call struct {
	id, tool string
	input    json.RawMessage
	ended    bool
	progress time.Duration // when the client was last told of progress
	steps    []string      // of a sub-agent
	content  []ToolContent // that the call shows before its result
	output   output        // of a command
}

// maxSteps is the number of steps of a sub-agent that are shown.
const maxSteps = 20

// progressPause is the least time between two updates about the progress of a call, because each
// sends all content again.
const progressPause = 500 * time.Millisecond

// TakeCalls returns the calls that have become known since the last time.
func (e *Encoder) TakeCalls() []Call {
	calls := e.newCalls
	e.newCalls = nil
	return calls
}

// Replay returns the updates for a fact of a session that is loaded.
func (e *Encoder) Replay(ev event.Event) []any {
	if m, ok := ev.Data.(event.UserMessage); ok {
		return e.said(ev, m)
	}
	return e.Event(ev)
}

// Event returns the updates for an event of a run.
func (e *Encoder) Event(ev event.Event) []any {
	switch d := ev.Data.(type) {
	case event.TextDelta:
		if d.Text == "" || d.Restart {
			return nil
		}
		e.shown = d.Key
		return []any{&Chunk{"agent_message_chunk", TextBlock(d.Text), d.Key}}
	case event.ThinkingDelta:
		if d.Text == "" {
			return nil
		}
		e.thought = d.Key
		return []any{&Chunk{"agent_thought_chunk", TextBlock(d.Text), d.Key}}
	case event.ToolInputDelta:
		return e.inputBegins(d)
	case fact.Configured:
		e.Window = cmp.Or(d.Models[d.Model].Window, e.Window)
		e.mode = d.Mode
	case fact.ModelStart:
		return e.modelStarts(d)
	case event.ModelFailed:
		return e.modelFailed(d, ev.Time)
	case event.AssistantMessage:
		return e.answered(ev, d)
	case event.ToolStart:
		if c := e.calls[d.Call]; c != nil && !c.ended {
			return []any{&ToolCall{Update: "tool_call_update", ID: c.id, Status: InProgress}}
		}
	case event.ToolProgress:
		return e.progress(d)
	case event.ToolResult:
		return e.result(d)
	case event.ModeChanged:
		return e.modeIs(d.Mode)
	case event.ModelChanged:
		e.Window = cmp.Or(d.Info.Window, e.Window)
	case event.SessionNamed:
		if d.Title != "" {
			return []any{&InfoUpdate{Update: "session_info_update", Title: d.Title}}
		}
	case event.Compacted:
		return e.compacted(d)
	case event.BudgetWarning:
		return e.notice("warning", fmt.Sprintf("$%.2f of $%.2f are spent", d.SpentUSD, d.LimitUSD))
	case event.HookResponse:
		switch {
		case d.Message != "":
			return e.notice("info", text.OneLine(d.Message))
		case d.Error != "":
			return e.notice("warning", fmt.Sprintf("the hook %s failed: %s", d.Name, text.OneLine(d.Error)))
		}
	case event.JournalCut:
		return e.notice("warning", "the end of the session was damaged by a crash and was cut off")
	case event.AgentEvent:
		return e.ofAgent(d)
	case event.RunEnd:
		return e.runEnds(d)
	}
	return nil
}

// said returns a message of the user. Messages that the program wrote are not shown.
func (e *Encoder) said(ev event.Event, m event.UserMessage) (out []any) {
	if !slices.Contains([]event.Delivery{fact.AsPrompt, fact.AsFollowUp, fact.AsSteer}, m.Delivery) {
		return nil
	}
	id := cmp.Or(m.ID, ev.UUID())
	blocks := m.Message.Content
	if x := m.Expansion; x != nil {
		blocks = llm.Blocks{llm.Text{Text: strings.TrimSpace("/" + x.Name + " " + x.Args)}}
	}
	for _, b := range blocks {
		if block, ok := shown(b); ok {
			out = append(out, &Chunk{"user_message_chunk", block, id})
		}
	}
	return out
}

// shown returns content for the client.
func shown(b llm.Block) (Block, bool) {
	switch b := b.(type) {
	case llm.Text:
		return TextBlock(b.Text), b.Text != ""
	case llm.Image:
		return Block{Type: "image", MimeType: b.MediaType, Data: base64.StdEncoding.EncodeToString(b.Data)}, true
	case llm.Document:
		r := &Resource{URI: "attachment:" + b.Title, MimeType: b.MediaType}
		if strings.HasPrefix(b.MediaType, "text/") {
			r.Text = new(string(b.Data))
		} else {
			r.Blob = base64.StdEncoding.EncodeToString(b.Data)
		}
		return Block{Type: "resource", Resource: r}, true
	}
	return Block{}, false
}

// newID returns the client's id of a call: the provider's, with a number if it is used again.
func (e *Encoder) newID(provider string) string {
	if e.used == nil {
		e.used = map[string]int{}
	}
	provider = cmp.Or(provider, "call")
	e.used[provider]++
	if n := e.used[provider]; n > 1 {
		return fmt.Sprintf("%s~%d", provider, n)
	}
	return provider
}

// inputBegins announces a call whose input is being written.
func (e *Encoder) inputBegins(d event.ToolInputDelta) []any {
	if e.writing[d.ID] != nil {
		return nil
	}
	if e.writing == nil {
		e.writing = map[string]*call{}
	}
	c := &call{id: e.newID(d.ID), tool: d.Tool}
	e.writing[d.ID] = c
	return []any{&ToolCall{Update: "tool_call", ID: c.id, Title: d.Tool, Name: d.Tool, Kind: kindOf(d.Tool), Status: Pending}}
}

// withdraw ends the calls of an answer that came to nothing.
func (e *Encoder) withdraw() []any {
	out := failed(e.writing)
	e.writing = nil
	return out
}

// failed returns the updates that end calls, in the order of their ids.
func failed(calls map[string]*call) (out []any) {
	for _, key := range slices.Sorted(maps.Keys(calls)) {
		if c := calls[key]; !c.ended {
			out = append(out, &ToolCall{Update: "tool_call_update", ID: c.id, Status: Failed})
		}
	}
	return out
}

func (e *Encoder) modelStarts(d fact.ModelStart) []any {
	if d.Compacts != "" {
		e.compacts = d.Key
		if e.Compaction {
			return []any{&CompactionUpdate{Update: "compaction_update", ID: d.Key, Status: InProgress}}
		}
		return nil
	}
	if f := e.failed; f != nil && d.Call == "" {
		e.failed = nil
		if f.Model != d.Model {
			return e.notice("warning", fmt.Sprintf("%s; continuing with %s", text.OneLine(f.Message), d.Model))
		}
	}
	return nil
}

func (e *Encoder) modelFailed(d event.ModelFailed, now time.Time) []any {
	out := e.withdraw()
	e.failed = &d
	e.spend(d.CostUSD, d.Usage)
	if !d.Retry {
		return out
	}
	line := fmt.Sprintf("%s; trying again in %v", text.OneLine(d.Message), max(0, d.RetryAt.Sub(now)).Round(100*time.Millisecond))
	if d.Partial != "" {
		line += ". The text so far is withdrawn"
	}
	return append(out, e.notice("warning", line)...)
}

// spend adds a cost.
func (e *Encoder) spend(usd *float64, u llm.Usage) {
	switch {
	case usd != nil:
		e.running += *usd
	case u != llm.Usage{}:
		e.unpriced = true
	}
}

// answered handles an answer of the model. Text that was streamed is not repeated.
func (e *Encoder) answered(ev event.Event, d event.AssistantMessage) (out []any) {
	for _, b := range d.Response.Message.Content {
		switch b := b.(type) {
		case llm.Text:
			if e.shown != d.Key && b.Text != "" {
				out = append(out, &Chunk{"agent_message_chunk", TextBlock(b.Text), d.Key})
			}
		case llm.Thinking:
			if e.thought != d.Key && b.Text != "" {
				out = append(out, &Chunk{"agent_thought_chunk", TextBlock(b.Text), d.Key})
			}
		}
	}
	if e.calls == nil {
		e.calls = map[string]*call{}
	}
	for i, u := range d.Response.Message.ToolUses() {
		update := "tool_call_update"
		c := e.writing[u.ID]
		if c == nil || c.tool != u.Name {
			update, c = "tool_call", &call{id: e.newID(u.ID), tool: u.Name}
		}
		delete(e.writing, u.ID)
		c.input = u.Input
		our := fmt.Sprintf("c%d.%d", ev.Seq, i)
		e.calls[our] = c
		e.newCalls = append(e.newCalls, Call{our, c.id})
		t := e.Describe(u.Name, u.Input)
		t.Update, t.ID, t.Status = update, c.id, Pending
		c.content = t.Content
		if e.Terminal && c.tool == "Bash" {
			t.Content = []ToolContent{{Type: "terminal", Terminal: c.id}}
			t.Meta = map[string]any{"terminal_info": map[string]string{"terminal_id": c.id, "cwd": e.Dir}}
		}
		out = append(out, &t)
	}
	out = append(out, e.withdraw()...)
	e.failed = nil
	e.spend(d.CostUSD, d.Response.Usage)
	u := d.Response.Usage
	if e.context = u.Input + u.CacheRead + u.CacheWrite + u.Output; e.context > 0 {
		out = append(out, e.usage())
	}
	return out
}

// Describe returns what a client shows of a call: title, kind, input, places and, for a plan, its
// text.
func (e *Encoder) Describe(tool string, input json.RawMessage) ToolCall {
	if !json.Valid(input) {
		input = json.RawMessage("{}")
	}
	t := ToolCall{Title: Title(tool, input, e.Dir), Name: tool, Kind: kindOf(tool), Input: input, Locations: locations(tool, input, e.Dir)}
	if plan := inputOf(input).Plan; tool == "ExitPlanMode" && plan != "" {
		t.Content = []ToolContent{textContent(plan)}
	}
	return t
}

func (e *Encoder) usage() *UsageUpdate {
	u := &UsageUpdate{Update: "usage_update", Used: e.context, Size: max(e.Window, e.context)}
	if !e.unpriced {
		u.Cost = &Cost{e.spent + e.running, "USD"}
	}
	return u
}

// progress tells of a running call, not more often than [progressPause], and shows the output of a
// command as it comes.
func (e *Encoder) progress(d event.ToolProgress) []any {
	c := e.calls[d.Call]
	if c == nil || c.ended || d.Status.Text == "" || d.Phase != fact.ToolDoing { // the result follows
		return nil
	}
	if c.output.add(d.Status); d.Elapsed-c.progress < progressPause {
		return nil
	}
	t := &ToolCall{Update: "tool_call_update", ID: c.id, Status: InProgress}
	switch data := c.output.next(); {
	case !e.Terminal || c.tool != "Bash":
		t.Content = append(slices.Clone(c.content), textContent(fence(c.tool, cmp.Or(c.output.recent(), d.Status.Text))))
	case data == "":
		return nil
	default:
		t.Meta = terminalOutput(c.id, data)
	}
	c.progress = d.Elapsed
	return []any{t}
}

// terminalOutput returns the member _meta with output for a call's terminal.
func terminalOutput(id, data string) map[string]any {
	return map[string]any{"terminal_output": map[string]string{"terminal_id": id, "data": data}}
}

// result ends a call.
func (e *Encoder) result(d event.ToolResult) (out []any) {
	c := e.calls[d.Call]
	if c == nil || c.ended {
		return nil
	}
	c.ended = true
	t := &ToolCall{Update: "tool_call_update", ID: c.id, Status: Completed, Output: d.Result.Details}
	if d.Result.IsError || d.Cause != "" {
		t.Status = Failed
	}
	var details struct {
		Diff     string `json:"diff"`
		FilePath string `json:"filePath"`
		Files    []struct {
			FilePath string `json:"filePath"`
		} `json:"files"`
		ExitCode *int `json:"exitCode"`
	}
	if len(d.Result.Details) > 0 {
		_ = json.Unmarshal(d.Result.Details, &details) // other tools have other details
	}
	switch diffs := Diffs(details.Diff); {
	case kindOf(c.tool) == "edit" && len(diffs) > 0 && t.Status == Completed:
		t.Content = diffs
		if details.FilePath == "" {
			for _, f := range details.Files {
				t.Locations = append(t.Locations, Location{Path: f.FilePath})
			}
		}
	case e.Terminal && c.tool == "Bash":
		t.Content = []ToolContent{{Type: "terminal", Terminal: c.id}}
		exit := map[string]any{"terminal_id": c.id, "exit_code": nil, "signal": nil}
		switch {
		case details.ExitCode != nil:
			exit["exit_code"] = *details.ExitCode
		case t.Status == Completed:
			exit["exit_code"] = 0
		}
		t.Meta = terminalOutput(c.id, c.output.rest(d.Result.Text()))
		t.Meta["terminal_exit"] = exit
	default:
		t.Content = slices.Clone(c.content)
		for _, b := range d.Result.Content {
			switch b := b.(type) {
			case llm.Text:
				if b.Text != "" {
					t.Content = append(t.Content, textContent(fence(c.tool, b.Text)))
				}
			default:
				if block, ok := shown(b); ok {
					t.Content = append(t.Content, ToolContent{Type: "content", Content: &block})
				}
			}
		}
	}
	out = append(out, t)
	if t.Status == Completed {
		out = append(out, e.plan(c.tool, d.Result.Details)...)
	}
	return append(out, e.modeIs(d.Result.Patch.Mode)...)
}

func (e *Encoder) modeIs(mode permission.Mode) []any {
	if mode == "" || mode == e.mode {
		return nil
	}
	e.mode = mode
	return []any{&ModeUpdate{"current_mode_update", string(mode)}}
}

func (e *Encoder) compacted(d event.Compacted) []any {
	status := Completed
	if d.Failed != "" {
		status = Failed
	}
	e.spend(d.CostUSD, d.Usage)
	if d.Failed == "" {
		e.context = d.After
	}
	var out []any
	switch {
	case e.Compaction:
		u := &CompactionUpdate{Update: "compaction_update", ID: cmp.Or(e.compacts, d.Key), Status: status, Error: d.Failed}
		if d.Summary != "" {
			u.Summary = []Block{TextBlock(d.Summary)}
		}
		out = []any{u}
	case d.Failed != "":
		out = e.notice("warning", "the conversation was not compacted: "+text.OneLine(d.Failed))
	default:
		out = e.notice("info", fmt.Sprintf("the conversation was compacted: about %d tokens became %d", d.Before, d.After))
	}
	e.compacts = ""
	return append(out, e.usage())
}

// notice tells the user something. A client without notices gets a message of its own.
func (e *Encoder) notice(severity, title string) []any {
	if e.Notices {
		return []any{&Notice{Update: "notice", Severity: severity, Title: title}}
	}
	e.notices++
	return []any{&Chunk{"agent_message_chunk", TextBlock("\n_" + title + "_\n\n"), fmt.Sprintf("notice-%d", e.notices)}}
}

// ofAgent shows the calls of a sub-agent in the call that started it, and its changes of tasks.
func (e *Encoder) ofAgent(d event.AgentEvent) []any {
	if d.Event == nil {
		return nil
	}
	out := e.tasksBelow(*d.Event)
	c := e.calls[d.Call]
	x, ok := d.Event.Data.(event.AssistantMessage)
	if c == nil || c.ended || !ok || len(x.Response.Message.ToolUses()) == 0 {
		return out
	}
	for _, u := range x.Response.Message.ToolUses() {
		c.steps = append(c.steps, "- "+d.Agent+": "+strings.ReplaceAll(text.OneLine(Title(u.Name, u.Input, e.Dir)), "`", "'"))
	}
	c.steps = c.steps[max(0, len(c.steps)-maxSteps):]
	c.content = []ToolContent{textContent(strings.Join(c.steps, "\n"))}
	return append(out, &ToolCall{Update: "tool_call_update", ID: c.id, Status: InProgress, Content: c.content})
}

// runEnds ends what is still open.
func (e *Encoder) runEnds(d event.RunEnd) []any {
	out := e.finish()
	e.running = 0
	switch {
	case d.CostUSD != nil:
		e.spent += *d.CostUSD
	case d.Usage != llm.Usage{}:
		e.unpriced = true
	}
	if e.context > 0 {
		out = append(out, e.usage())
	}
	return out
}

// Loaded ends the replay of a session.
func (e *Encoder) Loaded() []any {
	e.spent, e.running = e.spent+e.running, 0
	return e.finish()
}

// finish ends the calls that have no result, and a compaction that was broken off.
func (e *Encoder) finish() []any {
	out := append(e.withdraw(), failed(e.calls)...)
	e.calls = nil // a later run has other calls
	if e.compacts != "" && e.Compaction {
		out = append(out, &CompactionUpdate{Update: "compaction_update", ID: e.compacts, Status: "cancelled"})
	}
	e.compacts = ""
	return out
}

// Stop returns the stop reason for the end of a run. An error of the model is an error instead.
func Stop(end event.RunEnd) (StopReason, error) {
	switch end.Reason {
	case event.MaxTokens:
		return MaxTokens, nil
	case event.MaxTurns, event.MaxModelCalls, event.MaxBudget, event.TimedOut, event.DoomLoop, event.ContextOverflow:
		return MaxTurnRequests, nil
	case event.Refused:
		return Refusal, nil
	case event.Interrupted:
		return Cancelled, nil
	case event.ModelError, event.Internal:
		code := InternalError
		if end.Status == 401 || end.Status == 403 || end.Class == llm.Auth || end.Class == llm.Forbidden {
			code = AuthRequired
		}
		e := Errorf(code, "%s", cmp.Or(end.Message, string(end.Reason)))
		e.Data = map[string]any{"reason": end.Reason, "class": end.Class, "status": end.Status, "requestId": end.RequestID}
		return "", e
	}
	return EndTurn, nil
}

// UsageOf returns the tokens of a run, nil if none were counted.
func UsageOf(end event.RunEnd) *Usage {
	u := end.Usage
	if (u == llm.Usage{}) {
		return nil
	}
	return &Usage{u.Input + u.Output + u.CacheRead + u.CacheWrite, u.Input, u.Output, u.CacheRead, u.CacheWrite}
}

// EndNotice returns what the user should know of the end of a run, or "".
func EndNotice(end event.RunEnd) string {
	switch end.Reason {
	case event.Completed, event.ToolEnded, event.Interrupted, event.ModelError, event.Internal, event.Refused:
		return ""
	}
	if end.Message == "" || end.Message == string(end.Reason) {
		return "the run ended: " + string(end.Reason)
	}
	return "the run ended: " + string(end.Reason) + ": " + text.OneLine(end.Message)
}

// Notice returns the update for a message of the program.
func (e *Encoder) Notice(severity, title string) []any { return e.notice(severity, title) }
