// Package turns makes of a session's view the turns that exports and pages show: prompts, answers with
// their calls, notes and ends of runs, without secrets and without characters that hide others.
//
//	r := &turns.Reader{Hide: redact.New(secrets)}
//	for t := range r.Turns(id, state.Items) {
//		err := sessionhtml.Write(w, t)
//	}
package turns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/redact"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session/view"
)

// A Turn is a [Said], an *[Answer], an [End], a [Note], or the [Agent] of no call.
type Turn interface{ From() Origin }

// An Origin is the item of a view that a turn shows.
type Origin struct {
	Item    string `json:"-"` // its ID
	Version uint64 `json:"-"` // of the item, or of a later one that the turn shows as well
}

// From returns the origin of a turn.
func (o Origin) From() Origin { return o }

type (
	// Said is a message of the user, or of the program in its place. Kind is "said".
	Said struct {
		Origin
		Kind     string         `json:"kind"`
		Seq      int64          `json:"seq"`
		UUID     string         `json:"uuid"`
		Time     time.Time      `json:"time"`
		Delivery event.Delivery `json:"delivery"`
		Content  llm.Blocks     `json:"content"` // text, images, documents

		Anchor  string `json:"-"` // its id in a page
		Speaker string `json:"-"` // for people
	}
	// Answer is the model's text and its tool calls. Kind is "answer".
	Answer struct {
		Origin
		Kind    string     `json:"kind"`
		Seq     int64      `json:"seq"`
		UUID    string     `json:"uuid"`
		Time    time.Time  `json:"time"`
		Model   string     `json:"model"`
		Content llm.Blocks `json:"content"` // text and thinking
		Calls   []Call     `json:"calls,omitempty"`
		Usage   llm.Usage  `json:"usage,omitzero"`
		CostUSD *float64   `json:"cost_usd"` // null: not known

		Anchor string `json:"-"` // its id in a page
	}
	// A call is a call of a tool.
	Call struct {
		ID    string          `json:"id"`
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
		// Decisions are the answers to questions about the call, and those that say who
		// made them. The call may have been asked about again, see [permission.Decision].
		Decisions []Decision `json:"decisions,omitempty"`
		Result    *Result    `json:"result,omitempty"` // null: there is none yet
		Calls     []Call     `json:"calls,omitempty"`  // of a batch
		Agents    []Agent    `json:"agents,omitempty"` // that the call has started

		Anchor string `json:"-"` // its id in a page
		What   string `json:"-"` // what it does, in a line
		Exit   int    `json:"-"` // of a command; 0: it succeeded, or it is none
		Open   string `json:"-"` // why there is no result yet
		Why    string `json:"-"` // what for, in the words of the model or of the tool
		Shown  string `json:"-"` // the input for people: a command line, a change, or JSON; "" if the result's diff says it
	}
	// An agent is a piece of work of a sub-agent.
	Agent struct {
		Origin
		Session    string          `json:"session"`
		Name       string          `json:"agent"`
		Background bool            `json:"background,omitempty"`
		Reason     event.EndReason `json:"reason,omitempty"` // "": it has not ended
		Message    string          `json:"message,omitempty"`
		ModelTurns int             `json:"model_turns,omitempty"`
		Usage      llm.Usage       `json:"usage,omitzero"`
		CostUSD    *float64        `json:"cost_usd"`
		DurationMS int64           `json:"duration_ms,omitempty"`
		Turns      List            `json:"turns,omitempty"` // of its session, once

		Anchor string `json:"-"` // its id in a page
	}
	// A note is a line about something that happened. JSON has none.
	Note struct {
		Origin
		Seq  int64
		Time time.Time
		Text string
	}
	List []Turn
	// A decision says who let a call run, or refused it.
	Decision struct {
		Seq      int64               `json:"seq"`
		Time     time.Time           `json:"time"`
		Behavior permission.Behavior `json:"behavior"`
		Source   permission.Source   `json:"source,omitempty"`
		By       string              `json:"by,omitempty"`
		Rule     string              `json:"rule,omitempty"`
		Origin   string              `json:"origin,omitempty"`
		Reason   string              `json:"reason,omitempty"`
		Expires  time.Time           `json:"expires,omitzero"`
	}
	// A result is the result of a call.
	Result struct {
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
	// End is the end of a run. Kind is "end".
	End struct {
		Origin
		Kind       string          `json:"kind"`
		Seq        int64           `json:"seq"`
		Time       time.Time       `json:"time"`
		Reason     event.EndReason `json:"reason"`
		Message    string          `json:"message,omitempty"`
		Turns      int             `json:"turns"`
		Usage      llm.Usage       `json:"usage"`
		CostUSD    *float64        `json:"cost_usd"`
		DurationMS int64           `json:"duration_ms"`
		Calls      int             `json:"call_count,omitempty"`
		Denied     int             `json:"denied_count,omitempty"`
		WaitingMS  int64           `json:"waiting_ms,omitempty"`
		ToolsMS    int64           `json:"tools_ms,omitempty"`
		ModelMS    int64           `json:"model_ms,omitempty"`
		RetryMS    int64           `json:"retry_ms,omitempty"`

		split view.Split
	}
)

// MarshalJSON leaves notes out.
func (l List) MarshalJSON() ([]byte, error) {
	told := []Turn{}
	for _, t := range l {
		if _, is := t.(Note); !is {
			told = append(told, t)
		}
	}
	return Encode(told)
}

// A Reader makes turns of items.
type Reader struct {
	Hide  redact.Values // secrets
	Limit int           // bytes of a text of a call that turns have; 0: all

	agents map[string]bool // whose sessions were shown
	within string          // the beginning of the ids in a page; that of an agent's session is its own
}

// anchor is the id in a page of what a fact began.
func (r *Reader) anchor(seq int64) string { return r.within + "f" + strconv.FormatInt(seq, 10) }

// Turns yields the items of a session's view as turns without secrets. Calls before the first answer
// are left out. One answer with its results is in memory at a time, beside the view.
func (r *Reader) Turns(id string, items []*view.Item) iter.Seq[Turn] {
	return func(yield func(Turn) bool) {
		var open *Answer // whose calls are still coming
		put := func(t Turn) bool {
			if a := open; a != nil {
				open = nil
				if !yield(a) {
					return false
				}
			}
			return t == nil || yield(t)
		}
		for _, it := range items {
			var t Turn
			switch d := it.Data.(type) {
			case *view.Prompt:
				if d.Delivered {
					t = r.said(id, it, d)
				}
			case *view.Answer:
				if d.Fact != nil {
					if !put(nil) {
						return
					}
					open = r.answer(id, it, d)
				} else if d.Failed != nil {
					t = Note{Origin: from(it), Seq: it.Seq, Time: it.Time, Text: r.failed(d)}
				}
			case *view.Call:
				if open != nil {
					open.Calls = append(open.Calls, r.call(it, d))
					open.Version = max(open.Version, it.Version)
				}
			case *view.Agent:
				t = r.agent(it, d)
			case *view.Notice:
				if worthTelling(d.Event) {
					t = Note{Origin: from(it), Seq: it.Seq, Time: it.Time, Text: r.Line(d.Text)}
				}
			case *view.End:
				t = r.end(it, d)
			}
			if t != nil && !put(t) {
				return
			}
		}
		put(nil)
	}
}

// AgentAnchor is the id in a page of an agent of the session itself.
func AgentAnchor(it *view.Item) string { return "g-" + strings.ReplaceAll(it.ID, "/", "-") }

func from(it *view.Item) Origin { return Origin{it.ID, it.Version} }

// worthTelling reports whether a notice is worth a line to somebody who reads the session later.
func worthTelling(d event.Data) bool {
	switch d := d.(type) {
	case fact.Checkpointed:
		return d.Error != ""
	case event.Rewound:
		return false
	}
	return true
}

func (r *Reader) said(id string, it *view.Item, p *view.Prompt) Turn {
	return Said{Origin: from(it), Kind: "said", Seq: it.Seq, UUID: uuid(id, it.Seq), Time: it.Time, Delivery: event.Delivery(r.Line(string(p.Message.Delivery))),
		Content: r.blocks(p.Message.Message.Content), Anchor: r.anchor(it.Seq), Speaker: r.speaker(p.Message.Delivery)}
}

// speaker says who a message is from. An agent gets its prompts from the call that started it.
func (r *Reader) speaker(d event.Delivery) string {
	if r.within != "" && d == fact.AsPrompt {
		return "Task"
	}
	return speaker(d)
}

func uuid(session string, seq int64) string { return event.Event{Session: session, Seq: seq}.UUID() }

func (r *Reader) answer(id string, it *view.Item, d *view.Answer) *Answer {
	f := d.Fact
	return &Answer{Origin: from(it), Kind: "answer", Seq: it.Seq, UUID: uuid(id, it.Seq), Time: it.Time, Model: r.Line(f.Model),
		Content: r.blocks(f.Response.Message.Content), Usage: f.Response.Usage, CostUSD: f.CostUSD, Anchor: r.anchor(it.Seq)}
}

// failed is a line about an attempt of a model that came to nothing.
func (r *Reader) failed(d *view.Answer) string {
	line := r.Line(d.Model) + " failed: " + r.Line(d.Failed.Message)
	if d.Failed.Partial != "" {
		line += " (its " + text.Count(len([]rune(d.Failed.Partial)), "character") + " do not count)"
	}
	return line
}

func (r *Reader) call(it *view.Item, d *view.Call) Call {
	c := Call{ID: r.Line(d.ID), Tool: r.Line(d.Use.Name), Input: r.input(d.Use)}
	c.Anchor = r.within + c.ID
	c.What, c.Why = r.about(d)
	for _, x := range d.Decisions {
		if x.Answered || x.Decision.By != "" || x.Decision.Behavior == permission.Denied {
			c.Decisions = append(c.Decisions, r.decision(x))
		}
	}
	if f := d.Result; f != nil {
		c.Exit = exitCode(f.Result.Details)
		c.Result = &Result{Seq: d.ResultSeq, Time: d.Ended, Title: r.Line(f.Result.Title), Content: r.ofCall(f.Result.Content), Details: r.Hide.JSON(f.Result.Details),
			diff: r.clip(r.Text(d.Diff())), IsError: f.Result.IsError, Cause: event.Cause(r.Line(string(f.Cause))), DurationMS: f.Duration.Milliseconds()}
	}
	c.Shown = r.clip(r.Text(shownInput(c)))
	switch {
	case d.Result != nil:
	case d.Phase == "asking":
		c.Open = "Waits for a person."
		if n := len(d.Decisions); n > 0 && d.Decisions[n-1].Decision.Reason != "" {
			c.Open = "Waits for a person: " + r.Line(d.Decisions[n-1].Decision.Reason)
		}
	default:
		c.Open = "No result yet."
	}
	for _, sub := range d.Items {
		switch d := sub.Data.(type) {
		case *view.Call:
			c.Calls = append(c.Calls, r.call(sub, d))
		case *view.Agent:
			c.Agents = append(c.Agents, r.agent(sub, d))
		}
	}
	return c
}

func (r *Reader) decision(x view.Decision) Decision {
	d := x.Decision
	return Decision{Seq: x.Seq, Time: x.Time, Behavior: permission.Behavior(r.Line(string(d.Behavior))), Source: permission.Source(r.Line(string(d.Source))),
		By: r.Line(d.By), Rule: r.Line(d.Rule), Origin: r.Line(d.Origin), Reason: r.Line(d.Reason), Expires: d.Expires}
}

func (r *Reader) agent(it *view.Item, d *view.Agent) Agent {
	a := Agent{Origin: from(it), Anchor: r.within + AgentAnchor(it), Session: r.Line(d.Start.Session), Name: r.Line(d.Start.Agent), Background: d.Start.Background}
	if e := d.End; e != nil {
		a.Reason, a.Message, a.ModelTurns = event.EndReason(r.Line(string(e.Reason))), r.Line(e.Message), e.Turns
		a.Usage, a.CostUSD, a.DurationMS = e.Usage, e.CostUSD, e.Duration.Milliseconds()
	}
	if r.agents[d.Start.Session] { // its earlier piece of work shows the whole session
		return a
	}
	if r.agents == nil {
		r.agents = map[string]bool{}
	}
	r.agents[d.Start.Session] = true
	outer := r.within
	r.within = a.Session + "-"
	for t := range r.Turns(d.Start.Session, d.View.Items) {
		a.Turns = append(a.Turns, t)
	}
	r.within = outer
	return a
}

func (r *Reader) end(it *view.Item, d *view.End) End {
	f, ms := d.Fact, time.Duration.Milliseconds
	return End{Origin: from(it), Kind: "end", Seq: it.Seq, Time: it.Time, Reason: event.EndReason(r.Line(string(f.Reason))), Message: r.Line(f.Message), Turns: f.Turns, Usage: f.Usage,
		CostUSD: f.CostUSD, DurationMS: ms(f.Duration), Calls: d.Calls, Denied: d.Denied,
		WaitingMS: ms(d.Time.Waiting), ToolsMS: ms(d.Time.Tools), ModelMS: ms(d.Time.Model), RetryMS: ms(d.Time.Retry), split: d.Time}
}

// about says what a call does, in a line, and why: the model's own description.
func (r *Reader) about(d *view.Call) (what, why string) {
	var in map[string]any
	if json.Unmarshal(d.Input(), &in) == nil {
		for _, name := range []string{"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "prompt"} {
			if s, ok := in[name].(string); ok && s != "" {
				what = r.Line(s)
				break
			}
		}
		why, _ = in["description"].(string)
	}
	why = r.Line(why)
	if d.Result != nil && why == "" {
		why = r.Line(d.Result.Result.Title)
	}
	if what == "" && why == "" {
		what = text.Runes(string(r.input(d.Use)), maxLine)
	}
	if what, why = text.Runes(what, maxLine), text.Runes(why, maxLine); strings.Contains(why, what) && what != "" {
		what, why = why, ""
	}
	return what, why
}

// exitCode reads the exit code of a command from the details of its result.
func exitCode(details json.RawMessage) int {
	var d struct{ ExitCode int }
	if !bytes.Contains(details, []byte(`"exitCode"`)) || json.Unmarshal(details, &d) != nil {
		return 0
	}
	return d.ExitCode
}

// shownInput is the input of a call for people.
func shownInput(c Call) string {
	var in struct {
		Command, Content, Path string
		File                   string  `json:"file_path"`
		Old                    *string `json:"old_string"`
		New                    *string `json:"new_string"`
	}
	if json.Unmarshal(c.Input, &in) != nil {
		return Indent(c.Input)
	}
	changes := in.Old != nil && in.New != nil || in.File != "" && in.Content != ""
	switch {
	case in.Command != "" && in.File == "":
		return "$ " + in.Command
	case changes && c.Result != nil && c.Result.diff != "":
		return ""
	case changes:
		out := "--- " + in.File + "\n+++ " + in.File + "\n@@ @@\n"
		if in.Old == nil {
			return out + marked("+", in.Content)
		}
		return out + marked("-", *in.Old) + marked("+", *in.New)
	}
	return Indent(c.Input)
}

// marked returns a text with a mark before each line.
func marked(mark, s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

// maxLine is how many characters of a call's texts its line has.
const maxLine = 160

// String says who decided what.
func (d Decision) String() string {
	verb, ok := map[permission.Behavior]string{permission.Allowed: "Allowed by ", permission.Asked: "Left to a person by ", permission.Deferred: "Left for later by "}[d.Behavior]
	if !ok {
		verb = "Denied by "
	}
	out := verb + policies.Maker(permission.Decision{By: d.By, Source: d.Source, Rule: d.Rule})
	if d.Origin != "" && !ok {
		out += " in " + d.Origin
	}
	out += ", " + Clock(d.Time)
	if !d.Expires.IsZero() {
		out += ", until " + Clock(d.Expires)
	}
	if d.Reason != "" && !ok {
		out += ": " + d.Reason
	}
	return out
}

// blocks returns the visible content of blocks.
func (r *Reader) blocks(given llm.Blocks) llm.Blocks {
	var out llm.Blocks
	for _, b := range given {
		switch b := b.(type) {
		case llm.Text:
			out = append(out, llm.Text{Text: r.Text(b.Text)})
		case llm.Thinking:
			if b.Text != "" {
				out = append(out, llm.Thinking{Text: r.Text(b.Text)})
			}
		case llm.Verbatim:
			if b.Shown != "" {
				out = append(out, llm.Text{Text: r.Text(b.Shown)})
			}
		case llm.Document:
			b.Title, b.MediaType = r.Line(b.Title), r.Line(b.MediaType)
			if strings.HasPrefix(b.MediaType, "text/") {
				b.Data = []byte(r.Text(string(b.Data)))
			}
			out = append(out, b)
		case llm.Image:
			b.MediaType = r.Line(b.MediaType)
			if r.Limit > 0 && len(b.Data) > maxImage {
				b.MediaType = "" // its size is shown
			}
			out = append(out, b)
		}
	}
	return out
}

// maxImage is the size of the largest image that a page with limits has.
const maxImage = 512 << 10

// ofCall returns the blocks of a result, none above the limit.
func (r *Reader) ofCall(given llm.Blocks) llm.Blocks {
	out := r.blocks(given)
	for i, b := range out {
		switch b := b.(type) {
		case llm.Text:
			out[i] = llm.Text{Text: r.clip(b.Text)}
		case llm.Document:
			if strings.HasPrefix(b.MediaType, "text/") {
				b.Data = []byte(r.clip(string(b.Data)))
				out[i] = b
			}
		}
	}
	return out
}

// clip shortens a text to the limit.
func (r *Reader) clip(s string) string {
	if r.Limit <= 0 || len(s) <= r.Limit {
		return s
	}
	return strings.ToValidUTF8(s[:r.Limit], "") + fmt.Sprintf("\n… %d more bytes", len(s)-r.Limit)
}

// Input returns the input of a call for people: a command line, a change, or JSON.
func (r *Reader) Input(raw json.RawMessage) string {
	return r.clip(r.Text(shownInput(Call{Input: redact.Plain(raw)})))
}

// input returns the input of a call as readable JSON.
func (r *Reader) input(u llm.ToolUse) json.RawMessage {
	if u.Invalid != "" {
		text, err := json.Marshal(r.Text(u.Invalid))
		if err != nil {
			return json.RawMessage("null")
		}
		return text
	}
	input := r.Hide.JSON(json.RawMessage(terminal.Text(string(redact.Plain(u.Input)))))
	var b bytes.Buffer
	if input == nil || json.Compact(&b, input) != nil {
		return json.RawMessage("null")
	}
	return b.Bytes()
}

// Text returns a text without secrets, control characters and marks that let it
// look like another one than it is.
func (r *Reader) Text(s string) string {
	return terminal.Text(r.Hide.Text(text.Clean(s)))
}

// Line returns a text in one line, as text does.
func (r *Reader) Line(s string) string { return text.OneLine(r.Text(s)) }
