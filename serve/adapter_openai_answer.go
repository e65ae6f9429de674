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

// piece shows a piece of the run.
func (o *completion) piece(p piece) (bool, error) {
	switch p.kind {
	case said:
		if o.in.Output != nil { // only the last answer satisfies the schema
			return true, nil
		}
		return true, o.say(p.text)
	case thought:
		return true, o.think(p.text)
	case answered, withdrawn:
		o.gap = o.answer.Len() > 0
		return true, nil
	case called:
		return true, o.line(p.tool + " " + text.Runes(compactJSON(p.input), 200))
	case returned:
		if p.failed || p.denied {
			return true, o.line("failed: " + text.Runes(text.OneLine(p.text), 200))
		}
	case asks:
		o.timers = append(o.timers, time.AfterFunc(questionTime, func() { o.nobody(p) }))
		return true, o.line(fmt.Sprintf("waits %d minutes for an answer of a person on /s/%s: %s: %s", questionTime/time.Minute, o.l.at.id, p.tool, text.Runes(text.OneLine(p.text), 200)))
	case ended:
		o.end = &p.end
		if p.end.Output != nil {
			if err := o.say(string(p.end.Output)); err != nil {
				return false, err
			}
		}
		whole := append(slices.Clone(o.turns), turn{role: "assistant", text: o.answer.String()})
		if runError(p.end) == nil && o.answer.Len() > 0 {
			o.s.heads.put(chatKey(o.c.user, o.person, whole), head{o.l.at.id, p.seq, o.system})
		}
		return false, nil
	}
	return true, nil
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

// say adds text to the answer.
func (o *completion) say(s string) error {
	if o.gap {
		s, o.gap = "\n\n"+s, false
	}
	o.answer.WriteString(s)
	return o.chunk(map[string]any{"content": s}, nil)
}

// line adds a line about a call to the reasoning.
func (o *completion) line(s string) error {
	switch o.req.option("tools") {
	case "none":
		return nil
	case "text":
		if o.in.Output == nil {
			o.gap = o.gap || o.answer.Len() > 0
			err := o.say("> " + s)
			o.gap = true
			return err
		}
	}
	return o.think("\n" + s + "\n")
}

// think adds text to the reasoning.
func (o *completion) think(s string) error {
	o.thinking.WriteString(s)
	return o.chunk(map[string]any{"reasoning_content": s}, nil)
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
		message := map[string]any{"role": "assistant", "content": o.answer.String(), "refusal": nil}
		if o.thinking.Len() > 0 {
			message["reasoning_content"] = strings.TrimSpace(o.thinking.String())
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
