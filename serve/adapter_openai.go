package serve

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// This file serves the agent as a model of OpenAI's Chat Completions API. A client sends the whole
// conversation each time. The session of a conversation is the one that the client names, or the one
// whose conversation is the same word for word. See docs/serve.md.

// agentModel is the name of the agent among the models.
const agentModel = "agent"

// questionTime is how long a run of a client that cannot answer waits for a person.
const questionTime = 2 * time.Minute

// chatRequest is what the server reads of a request. Other fields, such as temperature, are the
// agent's own business.
type chatRequest struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
	Stream   bool          `json:"stream"`
	Options  struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	N          *int            `json:"n"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	Format     struct {
		Type   string `json:"type"`
		Schema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	User     string         `json:"user"`
	SafetyID string         `json:"safety_identifier"`
	Metadata map[string]any `json:"metadata"`
}

type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a text or a list of parts
}

type chatPart struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Image struct {
		URL string `json:"url"`
	} `json:"image_url"`
	File struct {
		Name string `json:"filename"`
		Data string `json:"file_data"`
	} `json:"file"`
}

// turns returns the conversation, and the instructions of the client.
func (r *chatRequest) turns() (turns []turn, system string, err error) {
	var instructions []string
	for _, m := range r.Messages {
		t, err := m.turn()
		if err != nil {
			return nil, "", err
		}
		switch {
		case m.Role == "system" || m.Role == "developer":
			instructions = append(instructions, t.text)
		case m.Role == "user", m.Role == "assistant" && t.text != "":
			turns = append(turns, t)
		case m.Role == "assistant", m.Role == "tool", m.Role == "function": // calls of tools of another model
		default:
			return nil, "", bad("a message has the unknown role %q", text.Runes(m.Role, 40))
		}
	}
	return turns, strings.Join(instructions, "\n\n"), nil
}

func (m *chatMessage) turn() (turn, error) {
	t := turn{role: m.Role}
	if len(m.Content) == 0 || string(m.Content) == "null" {
		return t, nil
	}
	if json.Unmarshal(m.Content, &t.text) == nil {
		return t, nil
	}
	var parts []chatPart
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return t, bad("the content of a message must be a text or a list of parts")
	}
	var texts []string
	for _, p := range parts {
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "refusal":
		case "image_url", "file":
			kind, data, err := dataURL(cmp.Or(p.Image.URL, p.File.Data))
			if err != nil {
				return t, err
			}
			b, err := block(kind, p.File.Name, data)
			if err != nil {
				return t, err
			}
			t.blocks = append(t.blocks, b)
		default:
			return t, bad("parts of the type %q cannot be sent to the agent", text.Runes(p.Type, 40))
		}
	}
	t.text = strings.Join(texts, "\n")
	return t, nil
}

// check refuses what the agent cannot do.
func (r *chatRequest) check() error {
	var choice string
	named := len(r.ToolChoice) > 0 && json.Unmarshal(r.ToolChoice, &choice) != nil
	switch {
	case r.N != nil && *r.N != 1:
		return bad("n must be 1: the agent gives one answer")
	case named, choice == "required":
		return bad("tool_choice must be auto or none: the agent calls its own tools only")
	case r.Format.Type == "json_object":
		return bad("response_format must be text or json_schema")
	}
	return nil
}

// option returns a text of the metadata.
func (r *chatRequest) option(name string) string {
	s, _ := r.Metadata[name].(string)
	return s
}

// A chatID names what a client's conversation is known by.
type chatID [sha256.Size]byte

// chatKey returns the id of a conversation of a user. person names who it is of, if a client has
// several. No two conversations write the same bytes: lists begin with their number of members, and
// texts with their length.
func chatKey(user string, person []string, turns []turn) chatID {
	h := sha256.New()
	number := func(n int) {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(n))
		h.Write(b[:])
	}
	add := func(parts ...string) {
		for _, p := range parts {
			number(len(p))
			h.Write([]byte(p))
		}
	}
	add(user)
	number(len(person))
	add(person...)
	number(len(turns))
	for _, t := range turns {
		add(t.role, strings.TrimSpace(t.text))
		number(len(t.blocks))
		for _, b := range t.blocks {
			switch b := b.(type) {
			case llm.Image:
				add("image", b.MediaType, string(b.Data))
			case llm.Document:
				add("document", b.MediaType, string(b.Data))
			default:
				add(fmt.Sprintf("%T", b), "", "")
			}
		}
	}
	return chatID(h.Sum(nil))
}

// maxHeads is how many conversations are known.
const maxHeads = 10000

// heads are the conversations that clients can continue without naming a session.
type heads struct {
	mu    sync.Mutex
	m     map[chatID]head
	order []chatID       // the oldest first
	taken map[place]bool // sessions that a request continues
}

// A head is where a conversation is in its session.
type head struct {
	session string
	fact    int64    // the end of its last run
	system  [32]byte // hash of the client's instructions that it knows
}

func (h *heads) get(id chatID) (head, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, ok := h.m[id]
	return at, ok
}

func (h *heads) put(id chatID, at head) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.m == nil {
		h.m = map[chatID]head{}
	}
	if _, ok := h.m[id]; !ok {
		if len(h.order) >= maxHeads {
			delete(h.m, h.order[0])
			h.order = slices.Delete(h.order, 0, 1)
		}
		h.order = append(h.order, id)
	}
	h.m[id] = at
}

// take reserves a session for one request: of clients that continue the same conversation at once, only
// one continues its session. It reports false if another request has the session.
func (h *heads) take(at place) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken[at] {
		return false
	}
	if h.taken == nil {
		h.taken = map[place]bool{}
	}
	h.taken[at] = true
	return true
}

func (h *heads) release(at place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.taken, at)
}

// A completion is a request while it is answered.
type completion struct {
	s      *Server
	c      *call
	l      *live
	req    chatRequest
	in     agent.Input
	turns  []turn
	person []string // of a client with several, as it names them
	client string   // its instructions
	system [32]byte // their hash
	known  head     // where the session of the conversation is
	named  bool     // the client names the session
	taken  bool     // that session is reserved for this request

	begun    bool // the run has begun
	out      eventStream
	streams  bool
	answer   strings.Builder // what the client has got as the answer
	gap      bool            // the next text is of another answer of the model
	thinking strings.Builder
	timers   []*time.Timer
	end      *event.RunEnd
}

func chatCompletions(s *Server, c *call) (any, error) {
	o := &completion{s: s, c: c}
	if err := c.readLoose(&o.req); err != nil {
		return nil, err
	}
	if err := o.req.check(); err != nil {
		return nil, err
	}
	leave, err := s.admit(c.user)
	if err != nil {
		return nil, err
	}
	defer leave()
	defer o.release()
	if err := o.place(); err != nil {
		return nil, err
	}
	err = o.run()
	for _, another := range []func() error{o.fork, o.restart} {
		if err == nil || o.begun || o.named || errorOf(err).Code != "session_busy" {
			break
		}
		if err = another(); err == nil {
			err = o.run()
		}
	}
	if err != nil && !o.begun {
		return nil, err
	}
	if c.ctx().Err() != nil {
		return nil, broken(err)
	}
	if err == nil {
		if failed := runError(*o.end); failed != nil {
			err = failed
		}
	}
	return o.finish(err)
}

// run runs the prompt in the session, and tells the client about it.
func (o *completion) run() error {
	ctx := o.c.ctx()
	o.l = o.s.live(o.c.place())
	defer o.l.leave()
	before, err := o.l.lastFact(ctx)
	if err != nil {
		return err
	}
	err = o.l.tell(ctx, &telling{prompt: o.in.ID, last: before}, o.begin, o)
	for _, t := range o.timers {
		t.Stop()
	}
	if o.begun && ctx.Err() != nil {
		o.l.abandon(ctx, o.in.ID)
	}
	o.release() // before the client learns of the end, and continues the conversation
	return err
}

// release lets other requests continue the session.
func (o *completion) release() {
	if o.taken {
		o.s.heads.release(place{o.c.user, o.known.session})
		o.taken = false
	}
}

// begin begins the run and the answer.
func (o *completion) begin() error {
	c := o.c
	if _, err := o.l.prompt(c.ctx(), "", o.in); err != nil {
		return err
	}
	o.begun = true
	o.s.log().Info("message accepted", "session", o.l.at.id, "message", o.in.ID, "by", c.by)
	c.w.Header().Set("X-Session-Id", o.l.at.id)
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Time{}) // a ReadTimeout would end the request
	if !o.req.Stream {
		return nil
	}
	o.out, o.streams = lines(c), true
	return o.chunk(map[string]any{"role": "assistant", "content": ""}, nil)
}

// place finds the session of the conversation, and makes the prompt.
func (o *completion) place() (err error) {
	c := o.c
	id := cmp.Or(c.r.Header.Get("X-Session-Id"), c.r.Header.Get("X-OpenWebUI-Chat-Id"), o.req.option("session_id"))
	if o.turns, o.client, err = o.req.turns(); err != nil {
		return err
	}
	if n := len(o.turns); n == 0 || o.turns[n-1].role != "user" {
		return bad("the last message must be the user's")
	}
	o.system = sha256.Sum256([]byte(o.client))
	o.person = personOf(&o.req, c.r.Header.Get("X-OpenWebUI-User-Id"), o.system)
	if id != "" {
		if err := session.CheckID(id); err != nil {
			return err
		}
		o.named = true
		l := o.s.live(place{c.user, id})
		has, err := l.exists(c.ctx())
		l.leave()
		if err != nil {
			return err
		}
		o.enter(id, has)
		return nil
	}
	past, _ := promptOf(o.turns, true)
	known, has := o.s.heads.get(chatKey(c.user, o.person, past))
	if !has || len(past) == 0 {
		return o.restart()
	}
	o.known = known
	err = o.goOn()
	if errors.Is(err, session.ErrNotFound) { // it was deleted
		return o.restart()
	}
	return err
}

// personOf returns who a conversation is of, as the client says. If it names nobody, callers with
// other instructions count as other people.
func personOf(r *chatRequest, header string, system [32]byte) []string {
	if r.User == "" && r.SafetyID == "" && header == "" {
		return []string{string(system[:])}
	}
	return []string{r.User, r.SafetyID, header}
}

// enter makes a session the one of the request, and makes the prompt. has: the session has the past.
func (o *completion) enter(id string, has bool) {
	o.c.r.SetPathValue("id", id)
	_, o.in = promptOf(o.turns, has)
	if o.client != "" && (!has || !o.named && o.known.system != o.system) {
		o.in.Text = instructions(o.client, o.in.Text)
	}
	o.in.ID = session.NewID()
	if o.req.Model != agentModel {
		o.in.Model = o.req.Model
	}
	if o.req.Format.Type == "json_schema" {
		o.in.Output = o.req.Format.Schema.Schema
	}
}

// goOn continues the session of the conversation, or a fork of it if the session has gone another way
// since, or if another request continues it.
func (o *completion) goOn() error {
	if !o.s.heads.take(place{o.c.user, o.known.session}) {
		return o.fork()
	}
	o.taken = true
	latest, err := session.Last(o.c.ctx(), o.s.store(o.c.user), o.known.session, 1, func(typ string) bool {
		return typ == "user_message" || typ == "run_end" || typ == "rewound"
	})
	if err != nil {
		return err
	}
	if len(latest) != 1 || latest[0].Seq != o.known.fact {
		return o.fork()
	}
	o.enter(o.known.session, true)
	return nil
}

// fork continues the conversation in a fork of its session.
func (o *completion) fork() error {
	o.release()
	id := session.NewID()
	if err := session.Fork(o.c.ctx(), o.s.store(o.c.user), o.known.session, id, o.known.fact); err != nil {
		return err
	}
	o.enter(id, true)
	return nil
}

// restart begins a new session, which has the past as a quotation.
func (o *completion) restart() error {
	o.release()
	o.enter(session.NewID(), false)
	return nil
}

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

func chatModel() map[string]any {
	return map[string]any{"id": agentModel, "object": "model", "created": 0, "owned_by": "openagent"}
}

func chatModels(*Server, *call) (any, error) {
	return map[string]any{"object": "list", "data": []any{chatModel()}}, nil
}

func oneChatModel(_ *Server, c *call) (any, error) {
	if c.r.PathValue("model") != agentModel {
		return nil, &Error{http.StatusNotFound, "model_not_found", "there is no such model", "the model is named " + agentModel}
	}
	return chatModel(), nil
}
