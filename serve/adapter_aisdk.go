package serve

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// This file serves the agent to useChat of the AI SDK, with UI message streams. A chat is a session. A
// run belongs to the server: a page that comes back gets its stream from the beginning.

type uiRequest struct {
	ID        string      `json:"id"` // of the chat
	Messages  []uiMessage `json:"messages"`
	Trigger   string      `json:"trigger"`
	MessageID string      `json:"messageId"` // that is edited or answered again
}

type uiMessage struct {
	ID    string   `json:"id"`
	Role  string   `json:"role"`
	Parts []uiPart `json:"parts"`
}

type uiPart struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	URL       string `json:"url"`
	MediaType string `json:"mediaType"`
	Name      string `json:"filename"`
	Call      string `json:"toolCallId"`
	State     string `json:"state"`
	Approval  *struct {
		ID       string `json:"id"`
		Approved bool   `json:"approved"`
		Reason   string `json:"reason"`
	} `json:"approval"`
}

// turn returns a message as a turn.
func (m *uiMessage) turn() (turn, error) {
	t := turn{role: m.Role}
	var texts []string
	for _, p := range m.Parts {
		switch {
		case p.Type == "text":
			texts = append(texts, p.Text)
		case p.Type == "file" && m.Role == "user":
			if err := t.addFile(p.MediaType, p.Name, p.URL); err != nil {
				return t, err
			}
		}
	}
	t.text = strings.Join(texts, "\n")
	return t, nil
}

// A uiStream writes a run as a UI message stream.
type uiStream struct {
	s    *Server
	c    *call
	out  eventStream
	on   bool
	id   string // of the message of the client; "": the message continues the one that the client has
	part string // type of the open part; "": none
	n    int    // of the part
	key  string // of the answer in the open step; "": none is open
	ask  map[string]bool
}

func uiChat(s *Server, c *call) (any, error) {
	var in uiRequest
	if err := c.readLoose(&in); err != nil {
		return nil, err
	}
	if err := session.CheckID(in.ID); err != nil {
		return nil, err
	}
	if len(in.Messages) == 0 {
		return nil, bad("there is no message")
	}
	c.r.SetPathValue("id", in.ID)
	leave, err := s.admit(c.user)
	if err != nil {
		return nil, err
	}
	defer leave()
	l := s.live(c.place())
	defer l.leave()
	u := &uiStream{s: s, c: c}
	if last := in.Messages[len(in.Messages)-1]; last.Role == "assistant" {
		return nil, u.decided(l, last)
	}
	input, from, err := in.input(c, l)
	if err != nil {
		return nil, err
	}
	before, err := l.lastFact(c.ctx())
	if err != nil {
		return nil, err
	}
	u.id = answerID(input.ID)
	return nil, u.tell(l, &telling{prompt: input.ID, last: before}, func() error {
		if err := l.goBack(c, from); err != nil {
			return err
		}
		return l.promptOnce(c, input)
	})
}

// answerID returns the id of the message that answers a prompt.
func answerID(prompt string) string { return "answer-" + prompt }

// input returns the prompt. from is the fact that the session goes back to first, for a message that is
// edited or answered again; 0: it does not.
func (r *uiRequest) input(c *call, l *live) (in agent.Input, from int64, err error) {
	var turns []turn
	for i := range r.Messages {
		t, err := r.Messages[i].turn()
		if err != nil {
			return in, 0, err
		}
		turns = addTurn(turns, t)
	}
	in, has, err := l.nextPrompt(c.ctx(), turns)
	if err != nil {
		return in, 0, err
	}
	in.ID = r.Messages[len(r.Messages)-1].ID
	if in.ID == "" {
		in.ID = session.NewID()
	}
	if has && (r.Trigger == "regenerate-message" || r.MessageID != "") {
		from, err = l.promptFact(c.ctx(), in.ID)
		in.ID += "~" + session.NewID()
	}
	return in, from, err
}

// promptFact returns the fact of a message of a client, 0 if there is none. A message that was edited or
// answered again has a suffix.
func (l *live) promptFact(ctx context.Context, id string) (int64, error) {
	all, err := session.Last(ctx, l.store, l.at.id, 1000, func(typ string) bool { return typ == "user_message" })
	for i := len(all) - 1; i >= 0; i-- {
		if d, ok := all[i].Data.(event.UserMessage); ok && (d.ID == id || strings.HasPrefix(d.ID, id+"~")) {
			return all[i].Seq, nil
		}
	}
	return 0, err
}

// goBack rewinds the session to before a prompt. 0: it stays.
func (l *live) goBack(c *call, prompt int64) error {
	if prompt == 0 {
		return nil
	}
	open, err := l.use(c.ctx())
	if err != nil {
		return err
	}
	for e, err := range l.store.Read(c.ctx(), l.at.id, prompt-1) {
		if err != nil {
			return err
		}
		if err := rewindTo(c.ctx(), open, e.Prev); err != nil {
			return err
		}
		l.server.log().Info("session rewound", "session", l.at.id, "fact", e.Prev, "by", c.by)
		return nil
	}
	return nil
}

// decided takes the answers to questions in a message, and tells how the run goes on.
func (u *uiStream) decided(l *live, m uiMessage) error {
	t, err := l.continued(u.c.ctx())
	if err != nil {
		return err
	}
	var given []uiPart
	for _, p := range m.Parts {
		switch {
		case p.State == "approval-responded" && p.Approval != nil:
			given = append(given, p)
			t.once("? " + p.Approval.ID)
			u.asked(p.Call)
		case p.State == "output-available", p.State == "output-error", p.State == "output-denied":
			t.once("= " + p.Call)
		}
	}
	if len(given) == 0 {
		return errNoPrompt
	}
	return u.tell(l, t, func() error {
		for _, p := range given {
			if err := l.answerAsk(u.c, p.Approval.ID, p.Approval.Approved, p.Approval.Reason); err != nil {
				return err
			}
		}
		return nil
	})
}

// uiResume answers with the stream of the run, from its beginning. Without a run there is no content.
func uiResume(s *Server, c *call) (any, error) {
	leave, err := s.admit(c.user)
	if err != nil {
		return nil, err
	}
	defer leave()
	l := s.live(c.place())
	defer l.leave()
	if _, run := l.running(); run == "" {
		c.w.WriteHeader(http.StatusNoContent)
		return nil, nil
	}
	prompts, err := session.Last(c.ctx(), l.store, l.at.id, 1000, func(typ string) bool { return typ == "user_message" })
	if err != nil {
		return nil, err
	}
	for i := len(prompts) - 1; i >= 0; i-- {
		if d := prompts[i].Data.(event.UserMessage); d.Delivery == "prompt" {
			u := &uiStream{s: s, c: c, id: answerID(d.ID)}
			return nil, u.tell(l, &telling{last: prompts[i].Seq}, func() error { return nil })
		}
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil, nil
}

// tell tells a run to the client. An error after the beginning is a part of the stream.
func (u *uiStream) tell(l *live, t *telling, begin func() error) error {
	err := l.tell(u.c.ctx(), t, func() error {
		if err := begin(); err != nil {
			return err
		}
		u.on = true
		u.c.w.Header().Set("X-Vercel-AI-UI-Message-Stream", "v1")
		u.out = lines(u.c)
		if u.id == "" {
			return u.out.typed("start")
		}
		return u.out.typed("start", "messageId", u.id)
	}, u)
	if !u.on {
		return err
	}
	if err != nil && u.c.ctx().Err() == nil {
		_ = u.out.typed("error", "errorText", errorOf(err).Message)
		_ = u.out.raw("[DONE]")
	}
	return broken(err)
}

func (u *uiStream) quiet() error { return u.out.quiet() }

// asked notes that a person is asked about a call.
func (u *uiStream) asked(call string) {
	if u.ask == nil {
		u.ask = map[string]bool{}
	}
	u.ask[call] = true
}

// piece writes a piece of the run.
func (u *uiStream) piece(p piece) (bool, error) {
	switch p.kind {
	case said, thought:
		kind := map[pieceKind]string{said: "text", thought: "reasoning"}[p.kind]
		if err := u.open(kind, p.key); err != nil {
			return false, err
		}
		return true, u.out.typed(kind+"-delta", "id", u.partID(), "delta", p.text)
	case withdrawn:
		return true, u.close()
	case called:
		if err := u.step(p.key); err != nil {
			return false, err
		}
		return true, u.out.typed("tool-input-available", "toolCallId", p.call, "toolName", p.tool, "input", p.input, "dynamic", true)
	case returned:
		switch {
		case p.denied && u.ask[p.call]:
			return true, u.out.typed("tool-output-denied", "toolCallId", p.call)
		case p.failed || p.denied:
			return true, u.out.typed("tool-output-error", "toolCallId", p.call, "errorText", p.text, "dynamic", true)
		}
		return true, u.out.typed("tool-output-available", "toolCallId", p.call, "output", p.text, "dynamic", true)
	case asks:
		if p.answers > 0 { // the protocol knows permission only
			return true, u.out.typed("data-question", "id", p.asked, "data", map[string]any{"call": p.asked, "tool": p.tool, "text": p.text})
		}
		u.asked(p.call)
		if err := u.out.typed("tool-approval-request", "approvalId", p.asked, "toolCallId", p.call, "reason", p.text); err != nil {
			return false, err
		}
		return false, u.finish("tool-calls", nil)
	case ended:
		reason := "stop"
		if failed := runError(p.end); failed != nil {
			if err := u.out.typed("error", "errorText", failed.Message); err != nil {
				return false, err
			}
			reason = "error"
		}
		switch p.end.Reason {
		case event.MaxTokens:
			reason = "length"
		case event.Refused:
			reason = "content-filter"
		case event.Interrupted:
			reason = "other"
		}
		return false, u.finish(reason, map[string]any{"session": u.c.place().id, "reason": p.end.Reason, "usage": p.end.Usage, "cost_usd": p.end.CostUSD})
	}
	return true, nil
}

// partID names the open part. Parts of a stream that goes on have other names than those before.
func (u *uiStream) partID() string { return u.part + "-" + strconv.Itoa(u.n) }

// step opens the step of an answer, and closes what is open of another one.
func (u *uiStream) step(key string) error {
	if err := u.close(); err != nil || key == u.key && key != "" || key == "" && u.key != "" {
		return err
	}
	if u.key != "" {
		if err := u.out.typed("finish-step"); err != nil {
			return err
		}
	}
	if u.key = key; key == "" {
		u.key = "?"
	}
	return u.out.typed("start-step")
}

// open opens a part of an answer, unless it is open.
func (u *uiStream) open(kind, key string) error {
	if u.part == kind && u.key == key {
		return nil
	}
	if err := u.step(key); err != nil {
		return err
	}
	u.part, u.n = kind, u.n+1
	return u.out.typed(kind+"-start", "id", u.partID())
}

// close closes the open part.
func (u *uiStream) close() error {
	if u.part == "" {
		return nil
	}
	err := u.out.typed(u.part+"-end", "id", u.partID())
	u.part = ""
	return err
}

// finish ends the stream.
func (u *uiStream) finish(reason string, about any) error {
	if err := u.close(); err != nil {
		return err
	}
	if u.key != "" {
		if err := u.out.typed("finish-step"); err != nil {
			return err
		}
	}
	members := []any{"finishReason", reason}
	if about != nil {
		members = append(members, "messageMetadata", about)
	}
	if err := u.out.typed("finish", members...); err != nil {
		return err
	}
	return u.out.raw("[DONE]")
}

// failUI writes an error as a text, which useChat shows.
func failUI(c *call, e *Error) {
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	c.w.WriteHeader(e.Status)
	_, _ = c.w.Write([]byte(e.Message + ": " + e.Hint))
}
