package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/sharetext"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session/view"
	"github.com/openagent-go/agent/tool"
)

const (
	foldedResult = 4 << 10  // texts of calls above this are folded, or left out
	sharedText   = 64 << 10 // the most of one text that a share looks at
	titleRunes   = 80       // of the title of a share
)

// A redactor makes shared items of those of a session. It copies only what a share shows: what it does
// not name stays out.
type redactor struct {
	rules  *sharetext.Rules
	omit   bool // large texts of calls are left out
	left   int  // how many were
	images bool // images are shown
}

// item returns an item without secrets, nil for one that shares do not show.
func (r *redactor) item(it *view.Item) *view.Item {
	out := &view.Item{ID: opaque(it.ID), Seq: it.Seq, Time: it.Time, Version: it.Version, Final: it.Final}
	switch d := it.Data.(type) {
	case *view.Prompt:
		if !d.FromUser() { // files, folders, the state of git
			return nil
		}
		content := llm.Blocks{llm.Text{Text: r.text(d.Message.Message.Text())}}
		out.Data = &view.Prompt{Message: event.UserMessage{Delivery: d.Message.Delivery, Message: llm.Message{Role: llm.User, Content: append(content, r.attached(d.Message.Message.Content)...)}},
			Delivered: d.Delivered, Dropped: d.Dropped}
	case *view.Answer:
		out.Data = r.answer(it, d)
	case *view.Call:
		out.Data = r.call(d)
	case *view.Agent:
		a := &view.Agent{Start: event.AgentStart{Agent: r.text(d.Start.Agent)}, View: new(view.State)}
		if d.End != nil {
			a.End = &event.AgentEnd{Agent: a.Start.Agent, Reason: event.EndReason(r.text(string(d.End.Reason)))}
		}
		out.Data = a
	case *view.Notice:
		switch d.Event.(type) {
		case event.Compacted, event.Rewound, event.Resumed, event.ModelChanged:
			out.Data = &view.Notice{Text: r.text(d.Text)}
		default: // rules, hooks, budgets
			return nil
		}
	case *view.End:
		out.Data = &view.End{Fact: event.RunEnd{Reason: event.EndReason(r.text(string(d.Fact.Reason))), Turns: d.Fact.Turns, Duration: d.Fact.Duration, Message: r.text(d.Fact.Message)}, Calls: d.Calls, Denied: d.Denied, Time: d.Time}
	default:
		return nil
	}
	return out
}

// opaque returns another id for an item: ids may have names of models and calls.
func opaque(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

// attached returns images, or words in their place.
func (r *redactor) attached(content llm.Blocks) (out llm.Blocks) {
	for _, b := range content {
		switch b := b.(type) {
		case llm.Image:
			if r.images {
				out = append(out, llm.Image{MediaType: r.text(b.MediaType), Data: b.Data})
				continue
			}
			out = append(out, llm.Text{Text: "[an image that is not shared]"})
		case llm.Document:
			out = append(out, llm.Text{Text: "[a document that is not shared]"})
		}
	}
	return out
}

// answer returns an answer without its thinking. The text of one that is not complete comes by the
// stream.
func (r *redactor) answer(it *view.Item, d *view.Answer) view.Data {
	var v view.State
	e := event.Event{Seq: 1, Time: it.Time}
	switch {
	case d.Failed != nil:
		e.Data = event.ModelFailed{Model: r.text(d.Model), Message: r.text(d.Failed.Message)}
	case d.Fact != nil:
		e.Data = event.AssistantMessage{Model: r.text(d.Model), Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: r.text(d.Text())}}}}}
	default:
		return &view.Answer{Model: r.text(d.Model)}
	}
	v.Apply(e)
	return v.Items[0].Data
}

// call returns a call with its input and its result.
func (r *redactor) call(d *view.Call) *view.Call {
	c := &view.Call{ID: "c" + opaque(d.ID), Use: llm.ToolUse{Name: r.text(d.Use.Name), Input: r.input(d.Input())}, Phase: event.ToolPhase(r.text(string(d.Phase))), Started: d.Started, Ended: d.Ended}
	if d.Result != nil {
		res := tool.Result{IsError: d.Result.Result.IsError, Content: llm.Blocks{llm.Text{Text: r.large(d.Result.Result.Text(), "result")}}}
		if diff := d.Diff(); diff != "" {
			res.Details, _ = json.Marshal(map[string]string{"diff": r.large(diff, "diff")})
		}
		res.Content = append(res.Content, r.attached(d.Result.Result.Content)...)
		c.Result = &event.ToolResult{Result: res, Duration: d.Result.Duration}
	}
	if d.Denied() {
		c.Result.Cause = d.Result.Cause
	}
	for _, inner := range d.Items {
		if shared := r.item(inner); shared != nil {
			c.Items = append(c.Items, shared)
		}
	}
	return c
}

// input returns the input of a call.
func (r *redactor) input(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	if len(raw) > foldedResult && r.omit || len(raw) > sharedText {
		r.left++
		return json.RawMessage(text.QuoteJSON(fmt.Sprintf("an input of %d KB is not shared", len(raw)>>10)))
	}
	return r.rules.JSON(raw)
}

// large returns a text that may be left out.
func (r *redactor) large(s, what string) string {
	if r.omit && len(s) > foldedResult {
		r.left++
		return fmt.Sprintf("[a %s of %d KB is not shared]", what, len(s)>>10)
	}
	return r.text(s)
}

// text returns a text without secrets. The end of a very long one is missing, and nothing that the end
// would make a secret stays.
func (r *redactor) text(s string) string {
	if len(s) <= sharedText {
		return r.rules.Text(s)
	}
	begin := r.rules.Stream()
	begin.Write(s[:sharedText])
	return begin.Shown() + fmt.Sprintf("\n[the rest of %d KB is not shared]", len(s)>>10)
}

// title returns the title of a shared session: one line, cut after secrets are out, since the rules find no
// part of one.
func (r *redactor) title(title string) string {
	if title == "" {
		return "A session"
	}
	return terminal.Text(text.Runes(text.OneLine(r.text(title)), titleRunes))
}

// has reports whether a share shows a fact.
func (sh share) has(seq int64) bool { return seq >= sh.From && (sh.To == 0 || seq <= sh.To) }

// begins reports whether a fact begins a run, and returns the prompt, for a title.
func begins(e event.Event) (string, bool) {
	d, ok := e.Data.(event.UserMessage)
	if !ok || d.Delivery != fact.AsPrompt {
		return "", false
	}
	return d.Message.Text(), true
}
