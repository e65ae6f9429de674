package serve

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A chatAnswer is an answer as a client gets it, made of the pieces of a run.
type chatAnswer struct {
	tools  string // how calls are told: "none", "text", or else with the reasoning
	schema bool   // only what satisfies the schema of the request is the answer

	text, thinking strings.Builder
	gap            bool // the next text is of another answer of the model
}

// add adds a piece, and returns what it adds to the text and to the reasoning.
func (a *chatAnswer) add(p piece) (shown, thinking string) {
	switch p.kind {
	case said:
		if !a.schema {
			return a.say(p.text), ""
		}
	case thought:
		return "", a.think(p.text)
	case answered, withdrawn:
		a.gap = a.text.Len() > 0
	case called:
		return a.line(p.tool + " " + text.Runes(compactJSON(p.input), 200))
	case returned:
		if p.failed || p.denied {
			return a.line("failed: " + text.Runes(text.OneLine(p.text), 200))
		}
	case ended:
		return a.say(string(p.end.Output)), ""
	}
	return "", ""
}

// say adds text.
func (a *chatAnswer) say(s string) string {
	if s == "" {
		return ""
	}
	if a.gap {
		s, a.gap = "\n\n"+s, false
	}
	a.text.WriteString(s)
	return s
}

// line adds a line about a call.
func (a *chatAnswer) line(s string) (shown, thinking string) {
	switch {
	case a.tools == "none":
		return "", ""
	case a.tools == "text" && !a.schema:
		a.gap = a.gap || a.text.Len() > 0
		shown = a.say("> " + s)
		a.gap = true
		return shown, ""
	}
	return "", a.think("\n" + s + "\n")
}

// think adds reasoning.
func (a *chatAnswer) think(s string) string {
	a.thinking.WriteString(s)
	return s
}

// piece shows a piece of the run.
func (o *completion) piece(p piece) (bool, error) {
	shown, thinking := o.answer.add(p)
	switch p.kind {
	case asks:
		o.timers = append(o.timers, time.AfterFunc(questionTime, func() { o.nobody(p) }))
		shown, thinking = o.answer.line(o.waits(p))
	case ended:
		o.end = &p.end
		whole := append(slices.Clone(o.turns), turn{role: "assistant", text: o.answer.text.String()})
		if runError(p.end) == nil && o.answer.text.Len() > 0 {
			o.s.heads.put(chatKey(o.c.user, o.person, whole), head{o.l.at.id, p.seq, mark(o.system)})
		}
	}
	for name, added := range map[string]string{"content": shown, "reasoning_content": thinking} {
		if added == "" {
			continue
		}
		if err := o.chunk(map[string]any{name: added}, nil); err != nil {
			return false, err
		}
	}
	return p.kind != ended, nil
}

// waits tells that a person is asked.
func (o *completion) waits(p piece) string {
	return fmt.Sprintf("waits %d minutes for an answer of a person on /s/%s: %s: %s", questionTime/time.Minute, o.l.at.id, p.tool, text.Runes(text.OneLine(p.text), 200))
}

// nobody answers a question that no person has answered in time.
func (o *completion) nobody(p piece) {
	const why = "nobody answered in time"
	ctx := o.c.ctx()
	if ctx.Err() != nil {
		return
	}
	open := o.l.hosted.get()
	if open == nil {
		return
	}
	var err error
	if p.answers > 0 {
		given := make([]tool.Answer, p.answers)
		for i := range given {
			given[i].Text = "(" + why + ")"
		}
		err = open.Answer(ctx, p.asked, given)
	} else {
		d := permission.Deny(why)
		d.By = o.c.by
		err = open.Decide(ctx, p.asked, d)
	}
	if err == nil || errors.Is(err, agent.ErrNoQuestion) || errors.Is(err, agent.ErrNotRunning) {
		return
	}
	o.s.log().Warn("a question without an answer could not be denied", "session", o.l.at.id, "error", err)
}

func (o *completion) quiet() error {
	if o.streams {
		return o.out.quiet()
	}
	return nil
}

func (o *completion) id() string { return "chatcmpl-" + o.in.ID }

// chunk writes a piece of the answer to a client that wants it in pieces.
func (o *completion) chunk(delta map[string]any, finish any) error {
	if !o.streams {
		return nil
	}
	return o.out.event(map[string]any{"id": o.id(), "object": "chat.completion.chunk", "created": now().Unix(), "model": cmp.Or(o.req.Model, agentModel),
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
}

// finish ends the answer.
func (o *completion) finish(err error) (any, error) {
	if !o.streams {
		if err != nil {
			return nil, err
		}
		message := map[string]any{"role": "assistant", "content": o.answer.text.String(), "refusal": nil}
		if o.answer.thinking.Len() > 0 {
			message["reasoning_content"] = strings.TrimSpace(o.answer.thinking.String())
		}
		return map[string]any{"id": o.id(), "object": "chat.completion", "created": now().Unix(), "model": cmp.Or(o.req.Model, agentModel), "usage": usageOf(o.end.Usage),
			"choices": []any{map[string]any{"index": 0, "message": message, "logprobs": nil, "finish_reason": finishReason(o.end.Reason)}}}, nil
	}
	if err != nil {
		return nil, broken(o.out.event(chatFailure(errorOf(err))))
	}
	err = o.chunk(map[string]any{}, finishReason(o.end.Reason))
	if err == nil && o.req.Options.Usage {
		err = o.out.event(map[string]any{"id": o.id(), "object": "chat.completion.chunk", "created": now().Unix(), "model": cmp.Or(o.req.Model, agentModel), "choices": []any{}, "usage": usageOf(o.end.Usage)})
	}
	if err == nil {
		err = o.out.raw("[DONE]")
	}
	return nil, broken(err)
}

func finishReason(r event.EndReason) string {
	switch r {
	case event.MaxTokens:
		return "length"
	case event.Refused:
		return "content_filter"
	}
	return "stop"
}

func usageOf(u llm.Usage) map[string]any {
	in := u.Input + u.CacheRead + u.CacheWrite
	return map[string]any{"prompt_tokens": in, "completion_tokens": u.Output, "total_tokens": in + u.Output,
		"prompt_tokens_details": map[string]any{"cached_tokens": u.CacheRead}, "completion_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning}}
}

func chatFailure(e *Error) map[string]any {
	kind := "invalid_request_error"
	switch {
	case e.Status == http.StatusUnauthorized:
		kind = "authentication_error"
	case e.Status == http.StatusForbidden:
		kind = "permission_error"
	case e.Status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case e.Status == http.StatusUnprocessableEntity:
		kind = "agent_error"
	case e.Status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	message := e.Message
	if e.Hint != "" {
		message += ": " + e.Hint
	}
	return map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": e.Code}}
}

// failChat writes an error as OpenAI does.
func failChat(c *call, e *Error) { writeJSON(c.w, e.Status, chatFailure(e)) }
