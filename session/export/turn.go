package export

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/redact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// A turn is a [said], an [answer] or an [runEnd].
type turn interface{ turn() }

type (
	// said is a message of the user, or of the program in its place. Kind is "said".
	said struct {
		Kind     string         `json:"kind"`
		Seq      int64          `json:"seq"`
		UUID     string         `json:"uuid"`
		Time     time.Time      `json:"time"`
		Delivery event.Delivery `json:"delivery"`
		Content  llm.Blocks     `json:"content"` // text, images, documents
	}
	// answer is the model's text and its tool calls. Kind is "answer".
	answer struct {
		Kind    string     `json:"kind"`
		Seq     int64      `json:"seq"`
		UUID    string     `json:"uuid"`
		Time    time.Time  `json:"time"`
		Model   string     `json:"model"`
		Content llm.Blocks `json:"content"` // text and thinking
		Calls   []call     `json:"calls,omitempty"`
		Usage   llm.Usage  `json:"usage,omitzero"`
		CostUSD *float64   `json:"cost_usd"` // null: not known
	}
	// A call is a call of a tool.
	call struct {
		ID    string          `json:"id"`
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
		// Decisions are the answers to questions about the call, and those that say who
		// made them. The call may have been asked about again, see [permission.Decision].
		Decisions []decision `json:"decisions,omitempty"`
		Result    *result    `json:"result,omitempty"` // null: there is none yet
	}
	// A decision says who let a call run, or refused it.
	decision struct {
		Seq      int64               `json:"seq"`
		Time     time.Time           `json:"time"`
		Behavior permission.Behavior `json:"behavior"`
		Source   permission.Source   `json:"source,omitempty"`
		By       string              `json:"by,omitempty"`
		Rule     string              `json:"rule,omitempty"`
		Reason   string              `json:"reason,omitempty"`
		Expires  time.Time           `json:"expires,omitzero"`
	}
	// A result is the result of a call.
	result struct {
		Seq        int64           `json:"seq"`
		Time       time.Time       `json:"time"`
		Title      string          `json:"title,omitempty"`
		Content    llm.Blocks      `json:"content,omitempty"`
		Details    json.RawMessage `json:"details,omitempty"`
		IsError    bool            `json:"is_error,omitempty"`
		Cause      event.Cause     `json:"cause,omitempty"`
		DurationMS int64           `json:"duration_ms,omitempty"`

		diff string // of the details
	}
	// runEnd is the end of a run. Kind is "end".
	runEnd struct {
		Kind       string          `json:"kind"`
		Seq        int64           `json:"seq"`
		Time       time.Time       `json:"time"`
		Reason     event.EndReason `json:"reason"`
		Message    string          `json:"message,omitempty"`
		Turns      int             `json:"turns"`
		Usage      llm.Usage       `json:"usage"`
		CostUSD    *float64        `json:"cost_usd"`
		DurationMS int64           `json:"duration_ms"`
	}
)

func (said) turn()    {}
func (*answer) turn() {}
func (runEnd) turn()  {}

// turns yields the conversation of a session as it now stands, without secrets.
// One answer with its results is in memory at a time.
func turns(ctx context.Context, s session.Store, id string, hide redact.Values) iter.Seq2[turn, error] {
	return func(yield func(turn, error) bool) {
		counts, err := path(ctx, s, id)
		if err != nil {
			yield(nil, err)
			return
		}
		r := reader{hide: hide, yield: yield, held: map[string]said{}}
		for e, err := range s.Read(ctx, id, 0) {
			if err != nil {
				yield(nil, err)
				return
			}
			if e.Seq > int64(len(counts)) {
				break // written since
			}
			if counts[e.Seq-1] && !r.add(e) {
				return
			}
		}
		r.flush()
	}
}

// path tells for each fact, number seq at seq-1, whether it leads to the last one.
func path(ctx context.Context, s session.Store, id string) ([]bool, error) {
	var prev []int64
	for e, err := range s.Read(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		prev = append(prev, e.Prev)
	}
	counts := make([]bool, len(prev))
	for seq := int64(len(prev)); seq > 0; seq = prev[seq-1] {
		counts[seq-1] = true
	}
	return counts, nil
}

// A reader makes turns of facts.
type reader struct {
	hide   redact.Values
	yield  func(turn, error) bool
	answer *answer  // whose results are still coming
	ends   []runEnd // of the run that waits for decisions about the calls of answer
	held   map[string]said
	left   bool
}

// add applies the next fact. It reports false when the reader has stopped.
func (r *reader) add(e event.Event) bool {
	r.fact(e)
	return !r.left
}

// fact applies a fact to the turns. Facts that the switch does not list are unknown.
func (r *reader) fact(e event.Event) (known bool) {
	switch d := e.Data.(type) {
	case event.UserMessage:
		m := said{"said", e.Seq, e.UUID(), e.Time, event.Delivery(r.line(string(d.Delivery))), r.blocks(d.Message.Content)}
		if d.Delivery == fact.AsPrompt || d.Delivery == fact.AsContinue {
			r.put(m)
		} else {
			r.held[d.ID] = m
		}
	case fact.Delivered:
		for _, id := range d.IDs {
			if m, ok := r.held[id]; ok {
				delete(r.held, id)
				r.put(m)
			}
		}
	case event.AssistantMessage:
		a := &answer{Kind: "answer", Seq: e.Seq, UUID: e.UUID(), Time: e.Time, Model: r.line(d.Model),
			Content: r.blocks(d.Response.Message.Content), Usage: d.Response.Usage, CostUSD: d.CostUSD}
		for i, u := range d.Response.Message.ToolUses() {
			a.Calls = append(a.Calls, call{ID: fmt.Sprintf("c%d.%d", e.Seq, i), Tool: r.line(u.Name), Input: r.input(u)})
		}
		r.flush()
		r.answer = a
	case fact.Authorized:
		if d.Decision.By != "" {
			r.decided(e, d.Call, d.Decision)
		}
	case fact.Answered:
		r.decided(e, d.Call, d.Decision)
	case event.ToolResult:
		r.result(e, d)
	case event.RunEnd:
		end := runEnd{"end", e.Seq, e.Time, event.EndReason(r.line(string(d.Reason))), r.line(d.Message), d.Turns, d.Usage, d.CostUSD, d.Duration.Milliseconds()}
		if d.Reason == event.Suspended && r.answer != nil { // its calls may have results yet
			r.ends = append(r.ends, end)
		} else {
			r.put(end)
		}
	case fact.Configured, fact.ModelStart, event.ModelFailed, fact.CompactionRequested, event.Compacted, fact.Waited,
		event.ToolStart, fact.ToolDone, fact.ToolAmended, fact.Checkpointed,
		event.ModeChanged, event.ModelChanged, fact.FallbacksChanged, fact.BudgetChanged, fact.CallbackChanged,
		fact.ToolChanged, fact.ToolsChanged, event.PermissionsChanged, fact.Stopped, event.Resumed, event.Rewound,
		event.SessionNamed, fact.Hooked, fact.OutputChecked,
		event.AgentStart, fact.AgentSuspended, event.AgentEnd: // no one said them
	default:
		return false
	}
	return true
}

// decided adds a decision to its call.
func (r *reader) decided(e event.Event, call string, d permission.Decision) {
	if r.answer == nil {
		return
	}
	for i := range r.answer.Calls {
		if c := &r.answer.Calls[i]; c.ID == call {
			c.Decisions = append(c.Decisions, decision{Seq: e.Seq, Time: e.Time, Behavior: permission.Behavior(r.line(string(d.Behavior))), Source: permission.Source(r.line(string(d.Source))),
				By: r.line(d.By), Rule: r.line(d.Rule), Reason: r.line(d.Reason), Expires: d.Expires})
		}
	}
}

// String says who decided what.
func (d decision) String() string {
	verb, ok := map[permission.Behavior]string{permission.Allowed: "Allowed by ", permission.Asked: "Left to a person by ", permission.Deferred: "Left for later by "}[d.Behavior]
	if !ok {
		verb = "Denied by "
	}
	out := verb + policies.Maker(permission.Decision{By: d.By, Source: d.Source, Rule: d.Rule}) + ", " + clock(d.Time)
	if !d.Expires.IsZero() {
		out += ", until " + clock(d.Expires)
	}
	return out
}

func (r *reader) result(e event.Event, d event.ToolResult) {
	if r.answer == nil {
		return
	}
	for i := range r.answer.Calls {
		if c := &r.answer.Calls[i]; c.ID == d.Call && c.Result == nil {
			c.Result = &result{Seq: e.Seq, Time: e.Time, Title: r.line(d.Result.Title), Content: r.blocks(d.Result.Content), Details: r.hide.JSON(d.Result.Details),
				diff: r.text(diffOf(d.Result.Details)), IsError: d.Result.IsError, Cause: event.Cause(r.line(string(d.Cause))), DurationMS: d.Duration.Milliseconds()}
		}
	}
}

func (r *reader) put(t turn) {
	r.flush()
	r.left = r.left || !r.yield(t, nil)
}

func (r *reader) flush() {
	if a := r.answer; a != nil {
		r.answer = nil
		r.left = r.left || !r.yield(a, nil)
	}
	ends := r.ends
	r.ends = nil
	for _, end := range ends {
		r.left = r.left || !r.yield(end, nil)
	}
}

// blocks returns the visible content of blocks.
func (r *reader) blocks(given llm.Blocks) llm.Blocks {
	var out llm.Blocks
	for _, b := range given {
		switch b := b.(type) {
		case llm.Text:
			out = append(out, llm.Text{Text: r.text(b.Text)})
		case llm.Thinking:
			if b.Text != "" {
				out = append(out, llm.Thinking{Text: r.text(b.Text)})
			}
		case llm.Verbatim:
			if b.Shown != "" {
				out = append(out, llm.Text{Text: r.text(b.Shown)})
			}
		case llm.Document:
			b.Title, b.MediaType = r.line(b.Title), r.line(b.MediaType)
			if strings.HasPrefix(b.MediaType, "text/") {
				b.Data = []byte(r.text(string(b.Data)))
			}
			out = append(out, b)
		case llm.Image:
			b.MediaType = r.line(b.MediaType)
			out = append(out, b)
		}
	}
	return out
}

// input returns the input of a call as readable JSON.
func (r *reader) input(u llm.ToolUse) json.RawMessage {
	if u.Invalid != "" {
		text, err := json.Marshal(r.text(u.Invalid))
		if err != nil {
			return json.RawMessage("null")
		}
		return text
	}
	input := r.hide.JSON(json.RawMessage(strings.Map(visible, string(redact.Plain(u.Input)))))
	var b bytes.Buffer
	if input == nil || json.Compact(&b, input) != nil {
		return json.RawMessage("null")
	}
	return b.Bytes()
}

// text returns a text without secrets, control characters and marks that let it
// look like another one than it is.
func (r *reader) text(s string) string {
	return strings.Map(visible, r.hide.Text(text.Clean(s)))
}

// visible removes invisible characters except line ends and tabs.
func visible(c rune) rune {
	switch {
	case c == '\n' || c == '\t':
		return c
	case c == '\r':
		return -1
	case c < 0x20, 0x7f <= c && c <= 0x9f, 0x202a <= c && c <= 0x202e, 0x2066 <= c && c <= 0x2069:
		return '\uFFFD'
	}
	return c
}

// line returns a text in one line, as text does.
func (r *reader) line(s string) string { return text.OneLine(r.text(s)) }
