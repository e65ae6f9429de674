package serve

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// This file serves the agent by the Agent-User Interaction protocol. A thread is a session. A question
// ends the client's run with an interrupt, and the next run brings the answer; the run of the session
// waits in between.

type aguiRequest struct {
	Thread   string            `json:"threadId"`
	Run      string            `json:"runId"`
	State    json.RawMessage   `json:"state"`
	Messages []json.RawMessage `json:"messages"`
	Context  []struct {
		Description string `json:"description"`
		Value       string `json:"value"`
	} `json:"context"`
	Resume []aguiAnswer `json:"resume"`
}

type aguiAnswer struct {
	ID      string `json:"interruptId"`
	Status  string `json:"status"` // resolved or cancelled
	Payload struct {
		Approved bool          `json:"approved"`
		Reason   string        `json:"reason"`
		Answers  []tool.Answer `json:"answers"`
	} `json:"payload"`
}

type aguiMessage struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Call    string          `json:"toolCallId"`
}

type aguiPart struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Source struct {
		Type  string `json:"type"`
		Value string `json:"value"`
		Kind  string `json:"mimeType"`
	} `json:"source"`
}

// turn returns a message as a turn.
func (m *aguiMessage) turn() (turn, error) {
	t := turn{role: m.Role}
	if m.Role != "user" && m.Role != "assistant" && m.Role != "system" && m.Role != "developer" || len(m.Content) == 0 || json.Unmarshal(m.Content, &t.text) == nil {
		return t, nil
	}
	var parts []aguiPart
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return t, bad("the content of a message must be a text or a list of parts")
	}
	var texts []string
	for _, p := range parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
			continue
		}
		if p.Source.Type != "data" {
			return t, bad("send images and files as data: the server loads no addresses")
		}
		if err := t.addFile(p.Source.Kind, "", "data:"+p.Source.Kind+";base64,"+p.Source.Value); err != nil {
			return t, err
		}
	}
	t.text = strings.Join(texts, "\n")
	return t, nil
}

// An aguiStream writes a run as events of the protocol.
type aguiStream struct {
	s   *Server
	c   *call
	in  aguiRequest
	out eventStream
	on  bool
	run string // id of the prompt of the session's run

	messages []any          // of the thread, as the client should have them
	now      map[string]any // the assistant's message that is being made; nil: none
	part     pieceKind      // said or thought, if one is open
	id       string         // of the open message; "": none is open
	key      string         // of the answer that now belongs to
	n        int            // of messages of the run
}

func agui(s *Server, c *call) (any, error) {
	a := &aguiStream{s: s, c: c}
	if err := c.readLoose(&a.in); err != nil {
		return nil, err
	}
	if err := session.CheckID(a.in.Thread); err != nil {
		return nil, err
	}
	if a.in.Run == "" {
		return nil, bad("the run has no id")
	}
	if len(a.in.State) > 0 && string(a.in.State) != "null" {
		if err := json.Unmarshal(a.in.State, &map[string]any{}); err != nil {
			return nil, bad("the state must be an object")
		}
	}
	c.r.SetPathValue("id", a.in.Thread)
	leave, err := s.admit(c.user)
	if err != nil {
		return nil, err
	}
	defer leave()
	l := s.live(c.place())
	defer l.leave()
	begin, t, err := a.prepare(l)
	if err != nil {
		return nil, err
	}
	return nil, a.tell(l, t, begin)
}

// prepare returns what begins the run, or answers its questions.
func (a *aguiStream) prepare(l *live) (begin func() error, t *telling, err error) {
	var (
		c        = a.c
		turns    []turn
		system   []string
		returned []string
	)
	for _, raw := range a.in.Messages {
		var m aguiMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, nil, bad("a message is not valid: %v", err)
		}
		t, err := m.turn()
		if err != nil {
			return nil, nil, err
		}
		switch m.Role {
		case "system", "developer":
			system = append(system, t.text)
		case "tool":
			returned = append(returned, m.Call)
		default:
			turns = addTurn(turns, t)
		}
		a.messages = append(a.messages, raw)
	}
	if len(a.in.Resume) > 0 {
		if t, err = l.continued(c.ctx()); err != nil {
			return nil, nil, err
		}
		for _, id := range returned {
			t.once("= " + id)
		}
		for _, r := range a.in.Resume {
			t.once("? " + r.ID)
		}
		return func() error {
			for _, r := range a.in.Resume {
				if err := a.answer(l, r); err != nil {
					return err
				}
			}
			_, a.run = l.running()
			return nil
		}, t, nil
	}
	in, has, err := l.nextPrompt(c.ctx(), turns)
	if err != nil {
		return nil, nil, err
	}
	if has {
		system = nil
	}
	for _, about := range a.in.Context {
		system = append(system, about.Description+": "+about.Value)
	}
	if len(system) > 0 {
		in.Text = instructions(strings.Join(system, "\n\n"), in.Text)
	}
	before, err := l.lastFact(c.ctx())
	if err != nil {
		return nil, nil, err
	}
	in.ID, a.run = a.in.Run, a.in.Run
	return func() error { return l.promptOnce(c, in) }, &telling{prompt: in.ID, last: before}, nil
}

// answer settles a question that has ended a run of the client.
func (a *aguiStream) answer(l *live, r aguiAnswer) error {
	list, err := l.pending(a.c.ctx())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(q question) bool { return q.Call == r.ID })
	if i < 0 {
		return agent.ErrNoQuestion
	}
	if list[i].Kind == "permission" {
		return l.answerAsk(a.c, r.ID, r.Status == "resolved" && r.Payload.Approved, r.Payload.Reason)
	}
	given := r.Payload.Answers
	if r.Status != "resolved" {
		given = make([]tool.Answer, len(list[i].Questions))
		for i := range given {
			given[i].Text = "(The person did not answer.)"
		}
	}
	a.c.r.SetPathValue("call", r.ID)
	_, err = a.s.answer(a.c, answers{given})
	return err
}

func (a *aguiStream) tell(l *live, t *telling, begin func() error) error {
	err := l.tell(a.c.ctx(), t, func() error {
		if err := begin(); err != nil {
			return err
		}
		a.on, a.out = true, lines(a.c)
		if err := a.send("RUN_STARTED", "threadId", a.in.Thread, "runId", a.in.Run); err != nil {
			return err
		}
		return a.state(nil)
	}, a)
	if !a.on {
		return err
	}
	if a.c.ctx().Err() != nil {
		l.abandon(a.c.ctx(), a.run)
	} else if err != nil {
		e := errorOf(err)
		_ = a.send("RUN_ERROR", "message", e.Message, "code", e.Code)
	}
	return broken(err)
}

func (a *aguiStream) quiet() error { return a.out.quiet() }

// send writes an event of a type, with more members by name.
func (a *aguiStream) send(kind string, members ...any) error {
	return a.out.typed(kind, append([]any{"timestamp", now().UnixMilli()}, members...)...)
}

// state sends the state of the client with a member of the server.
func (a *aguiStream) state(more map[string]any) error {
	all := map[string]any{}
	if len(a.in.State) > 0 {
		if err := json.Unmarshal(a.in.State, &all); err != nil {
			return err
		}
	}
	if all == nil {
		all = map[string]any{}
	}
	own := map[string]any{"session": a.in.Thread, "running": more == nil}
	for k, v := range more {
		own[k] = v
	}
	all["openagent"] = own
	return a.send("STATE_SNAPSHOT", "snapshot", all)
}

// piece writes a piece of the run.
func (a *aguiStream) piece(p piece) (bool, error) {
	switch p.kind {
	case said, thought:
		if err := a.open(p.kind, p.key); err != nil {
			return false, err
		}
		a.add(p.text)
		kind := "TEXT_MESSAGE_CONTENT"
		if p.kind == thought {
			kind = "REASONING_MESSAGE_CONTENT"
		}
		return true, a.send(kind, "messageId", a.id, "delta", p.text)
	case withdrawn:
		err := a.close()
		if a.now != nil { // the messages at the end do not have it
			a.messages, a.now = a.messages[:len(a.messages)-1], nil
		}
		return true, err
	case answered:
		err := a.close()
		a.now = nil
		return true, err
	case called:
		return true, a.call(p)
	case returned:
		id := "result-" + p.call + "-" + a.in.Run
		m := map[string]any{"id": id, "role": "tool", "toolCallId": p.call, "content": p.text}
		if p.failed || p.denied {
			m["error"] = text.Runes(text.OneLine(p.text), 200)
		}
		a.messages = append(a.messages, m)
		return true, a.send("TOOL_CALL_RESULT", "messageId", id, "toolCallId", p.call, "content", p.text, "role", "tool")
	case asks:
		return false, a.interrupt(p)
	case ended:
		return false, a.finish(p)
	}
	return true, nil
}

// message returns the assistant's message of an answer.
func (a *aguiStream) message(key string) map[string]any {
	if a.now == nil || a.key != key {
		a.n++
		a.key, a.now = key, map[string]any{"id": a.in.Run + "-" + strconv.Itoa(a.n), "role": "assistant"}
		a.messages = append(a.messages, a.now)
	}
	return a.now
}

// add adds text to the open message.
func (a *aguiStream) add(s string) {
	if a.part == said {
		old, _ := a.now["content"].(string)
		a.now["content"] = old + s
	}
}

// open opens a message for text or reasoning, unless it is open.
func (a *aguiStream) open(kind pieceKind, key string) error {
	if a.id != "" && a.part == kind && a.key == key {
		return nil
	}
	if err := a.close(); err != nil {
		return err
	}
	a.part = kind
	if kind == said {
		a.id, _ = a.message(key)["id"].(string)
		return a.send("TEXT_MESSAGE_START", "messageId", a.id, "role", "assistant")
	}
	a.n++
	a.id = a.in.Run + "-reasoning-" + strconv.Itoa(a.n)
	if a.now == nil {
		a.key = key
	}
	if err := a.send("REASONING_START", "messageId", a.id); err != nil {
		return err
	}
	return a.send("REASONING_MESSAGE_START", "messageId", a.id, "role", "reasoning")
}

// close closes the open message.
func (a *aguiStream) close() error {
	id := a.id
	if a.id = ""; id == "" {
		return nil
	}
	if a.part == said {
		return a.send("TEXT_MESSAGE_END", "messageId", id)
	}
	if err := a.send("REASONING_MESSAGE_END", "messageId", id); err != nil {
		return err
	}
	return a.send("REASONING_END", "messageId", id)
}

// call tells a call with its whole input.
func (a *aguiStream) call(p piece) error {
	if err := a.close(); err != nil {
		return err
	}
	m, input := a.message(p.key), compactJSON(p.input)
	calls, _ := m["toolCalls"].([]any)
	m["toolCalls"] = append(calls, map[string]any{"id": p.call, "type": "function", "function": map[string]any{"name": p.tool, "arguments": input}})
	if err := a.send("TOOL_CALL_START", "toolCallId", p.call, "toolCallName", p.tool, "parentMessageId", m["id"]); err != nil {
		return err
	}
	if err := a.send("TOOL_CALL_ARGS", "toolCallId", p.call, "delta", input); err != nil {
		return err
	}
	return a.send("TOOL_CALL_END", "toolCallId", p.call)
}

// interrupt ends the client's run with a question.
func (a *aguiStream) interrupt(p piece) error {
	ask := map[string]any{"id": p.asked, "reason": "permission", "message": p.text, "toolCallId": p.call, "metadata": map[string]any{"openagent": map[string]any{"tool": p.tool, "input": p.input}}}
	if p.answers > 0 {
		ask["reason"] = "question"
		ask["responseSchema"] = map[string]any{"type": "object", "required": []string{"answers"}, "properties": map[string]any{"answers": map[string]any{"type": "array",
			"minItems": p.answers, "maxItems": p.answers, "items": map[string]any{"type": "object", "properties": map[string]any{
				"text": map[string]any{"type": "string"}, "options": map[string]any{"type": "array", "items": map[string]any{"type": "string"}}}}}}}
	} else {
		ask["responseSchema"] = map[string]any{"type": "object", "required": []string{"approved"}, "properties": map[string]any{"approved": map[string]any{"type": "boolean"}, "reason": map[string]any{"type": "string"}}}
	}
	if err := a.close(); err != nil {
		return err
	}
	if err := a.send("MESSAGES_SNAPSHOT", "messages", a.messages); err != nil {
		return err
	}
	return a.send("RUN_FINISHED", "threadId", a.in.Thread, "runId", a.in.Run, "outcome", map[string]any{"type": "interrupt", "interrupts": []any{ask}})
}

// finish ends the run of the client with the session's.
func (a *aguiStream) finish(p piece) error {
	if err := a.close(); err != nil {
		return err
	}
	u := p.end.Usage
	if err := a.state(map[string]any{"reason": p.end.Reason, "cost_usd": p.end.CostUSD, "turns": p.end.Turns}); err != nil {
		return err
	}
	if err := a.send("MESSAGES_SNAPSHOT", "messages", a.messages); err != nil {
		return err
	}
	if failed := runError(p.end); failed != nil {
		return a.send("RUN_ERROR", "message", failed.Message, "code", failed.Code)
	}
	return a.send("RUN_FINISHED", "threadId", a.in.Thread, "runId", a.in.Run, "outcome", map[string]any{"type": "success"}, "usage", []any{aguiUsage(u)})
}

func aguiUsage(u llm.Usage) map[string]any {
	in := u.Input + u.CacheRead + u.CacheWrite
	return map[string]any{"inputTokens": in, "outputTokens": u.Output, "totalTokens": in + u.Output, "reasoningTokens": u.Reasoning, "cachedInputTokens": u.CacheRead, "cacheWriteInputTokens": u.CacheWrite}
}
