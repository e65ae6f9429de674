package responses

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

// A decoder turns one reply into deltas and a response.
type decoder struct {
	wire.Draft
	items   []*item       // in order of appearance
	at      map[int]*item // by output_index
	blocks  int           // number of blocks begun by deltas
	scratch []byte
}

// whole is a response as the API writes it.
type whole struct {
	ID         string            `json:"id"`
	Object     string            `json:"object"`
	Model      string            `json:"model"`
	Status     string            `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Usage      *usage            `json:"usage"`
	Error      *failure          `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

type failure struct {
	Code    string `json:"code"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

type usage struct {
	Input    wire.Count `json:"input_tokens"`
	Output   wire.Count `json:"output_tokens"`
	InputHas struct {
		Cached  wire.Count `json:"cached_tokens"`
		Written wire.Count `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputHas struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func (u *usage) normal() llm.Usage {
	read, written := u.InputHas.Cached, u.InputHas.Written
	return llm.Usage{
		Input: int(max(0, u.Input-read-written)), Output: int(u.Output),
		CacheRead: int(read), CacheWrite: int(written), Reasoning: int(u.OutputHas.Reasoning),
	}
}

func newDecoder() *decoder { return &decoder{at: map[int]*item{}} }

func (d *decoder) Whole(body []byte) error {
	var w whole
	if err := json.Unmarshal(body, &w); err != nil || w.Object != "response" && w.Status == "" && w.Output == nil {
		if c, ok := wire.Complain(body); ok {
			return d.Complaint(c)
		}
		return d.Protocol("the reply is no response")
	}
	return d.end(&w)
}

func (d *decoder) Cut(err error) error { return d.Truncated(err, "response.completed") }

type streamEvent struct {
	Type      string          `json:"type"`
	Index     int             `json:"output_index"`
	Summary   int             `json:"summary_index"`
	Delta     json.RawMessage `json:"delta"`
	Arguments string          `json:"arguments"`
	Item      json.RawMessage `json:"item"`
	Response  *whole          `json:"response"`
}

// Event handles an event and skips unknown ones.
func (d *decoder) Event(data []byte) error {
	if string(bytes.TrimSpace(data)) == "[DONE]" {
		return d.Cut(io.EOF)
	}
	if kind, index, text, ok := d.quick(data); ok {
		return d.grow(kind, index, text)
	}
	var e streamEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return d.Protocol("an event is not valid: %v", err)
	}
	switch e.Type {
	case "response.created", "response.in_progress", "response.queued":
		if e.Response != nil {
			d.begin(e.Response)
		}
	case "response.output_item.added":
		_, err := d.add(e.Index, e.Item)
		return err
	case "response.output_item.done":
		return d.done(e.Index, e.Item)
	case "response.output_text.delta", "response.refusal.delta", "response.function_call_arguments.delta",
		"response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		var text string
		if json.Unmarshal(e.Delta, &text) != nil {
			return d.Protocol("the delta of a %s is no string", e.Type)
		}
		return d.grow(deltaOf([]byte(e.Type)), e.Index, []byte(text))
	case "response.reasoning_summary_part.added":
		return d.paragraph(e.Index)
	case "response.function_call_arguments.done":
		if it := d.at[e.Index]; it != nil && it.kind == "function_call" {
			return d.fill(it, e.Arguments)
		}
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		if e.Response == nil {
			return d.Protocol("a %s without a response", e.Type)
		}
		if e.Response.Status == "" {
			e.Response.Status = strings.TrimPrefix(e.Type, "response.")
		}
		return d.end(e.Response)
	case "error":
		c, _ := wire.Complain(data)
		return d.complaint(c)
	case "":
		if c, ok := wire.Complain(data); ok {
			return d.complaint(c)
		}
		return d.Protocol("an event has no type")
	}
	return nil
}

// A delta is a kind of text that arrives in pieces.
type delta uint8

const (
	noDelta delta = iota
	textDelta
	refusalDelta
	argumentsDelta
	thoughtDelta
)

func deltaOf(event []byte) delta {
	switch string(event) {
	case "response.output_text.delta":
		return textDelta
	case "response.refusal.delta":
		return refusalDelta
	case "response.function_call_arguments.delta":
		return argumentsDelta
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return thoughtDelta
	}
	return noDelta
}

func (d *decoder) begin(w *whole) {
	if w.ID != "" {
		d.Res.ID = w.ID
	}
	if w.Model != "" {
		d.Res.Model = w.Model
	}
}

// end passes the response to the caller.
func (d *decoder) end(w *whole) error {
	d.begin(w)
	if w.Status == "failed" || w.Status == "cancelled" {
		c := wire.Complaint{Kind: w.Status, Message: "the provider ended the response as " + w.Status}
		if w.Error != nil {
			c = wire.Complaint{Kind: cmp.Or(w.Error.Type, w.Error.Code), Code: w.Error.Code, Message: w.Error.Message}
		}
		return d.complaint(c)
	}
	for i, raw := range w.Output {
		if it := d.at[i]; it == nil || it.final == nil {
			if err := d.done(i, raw); err != nil {
				return err
			}
		}
	}
	if w.Usage != nil {
		d.Res.Usage = w.Usage.normal()
	}
	slices.SortStableFunc(d.items, func(a, b *item) int { return cmp.Compare(a.output, b.output) })
	d.Res.Message = llm.Message{Role: llm.Assistant}
	for _, it := range d.items {
		d.Res.Message.Content = append(d.Res.Message.Content, it.content()...)
	}
	d.Res.Stop = d.stop(w)
	return d.Done()
}

// stop returns the reason for the end of the reply. Undocumented reasons stay as they are.
func (d *decoder) stop(w *whole) llm.StopReason {
	calls, refused := false, false
	for _, it := range d.items {
		calls = calls || it.kind == "function_call"
		refused = refused || it.refuse
	}
	switch reason := w.Incomplete.Reason; {
	case reason == "content_filter":
		return llm.Refusal
	case reason == "max_output_tokens" || w.Status == "incomplete" && reason == "":
		return llm.MaxTokens
	case w.Status == "incomplete":
		return llm.StopReason(reason)
	case calls:
		return llm.UseTools
	case refused:
		return llm.Refusal
	}
	return llm.EndTurn
}
