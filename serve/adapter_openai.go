package serve

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// This file serves the agent as a model of OpenAI's Chat Completions API. A client sends the whole
// conversation each time. The session of a conversation is the one that the client names, or the one
// whose conversation is the same word for word. See docs/serve.md.

// agentModel is the name of the agent among the models.
const agentModel = "agent"

// questionTime is how long a run of a client that cannot answer waits for a person.
const questionTime = 2 * time.Minute

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

	begun   bool // the run has begun
	out     eventStream
	streams bool
	answer  chatAnswer // that the client has got
	timers  []*time.Timer
	end     *event.RunEnd
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
	if err := o.l.promptOnce(c, o.in); err != nil {
		return err
	}
	o.begun = true
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
	if !has {
		known, has = o.recall(past)
	}
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

// enter makes a session the one of the request, and makes the prompt. has: the session has the past.
func (o *completion) enter(id string, has bool) {
	o.c.r.SetPathValue("id", id)
	_, o.in = promptOf(o.turns, has)
	if o.client != "" && (!has || !o.named && o.known.system != mark(o.system)) {
		o.in.Text = instructions(o.client, o.in.Text)
	}
	o.in.ID = o.promptID()
	if o.req.Model != agentModel {
		o.in.Model = o.req.Model
	}
	if o.req.Format.Type == "json_schema" {
		o.in.Output = o.req.Format.Schema.Schema
	}
	o.answer.tools, o.answer.schema = o.req.option("tools"), o.in.Output != nil
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
	id := session.NewID() + o.sessionMark()
	if err := session.Fork(o.c.ctx(), o.s.store(o.c.user), o.known.session, id, o.known.fact); err != nil {
		return err
	}
	o.enter(id, true)
	return nil
}

// restart begins a new session, which has the past as a quotation.
func (o *completion) restart() error {
	o.release()
	o.enter(session.NewID()+o.sessionMark(), false)
	return nil
}

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
