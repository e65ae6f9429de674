package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/watchers"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// This file is what the adapters share: routes that speak the protocols of chat programs. They begin
// runs and answer questions as the API does, and tell a run in pieces.

// A piece is a step of a run as chat programs show it.
type piece struct {
	kind    pieceKind
	key     string          // of the answer
	text    string          // that is added, or of a result, or why a person is asked
	call    string          // id of the call in this session
	asked   string          // with ask: id of the call that waits, also one of a sub-agent
	tool    string          // its name
	input   json.RawMessage // of the call
	failed  bool            // the call did
	denied  bool
	answers int // with ask: how many answers it needs; 0: a decision
	end     event.RunEnd
	seq     int64 // with ended: of the fact
}

// A pieceKind says what a piece is.
type pieceKind int

const (
	said      pieceKind = iota // text of an answer
	thought                    // a part of the model's reasoning
	withdrawn                  // the answer failed: its text does not count
	answered                   // the answer is whole
	called                     // a call of a tool
	returned                   // its result
	asks                       // a person is asked
	ended                      // the run
)

// A telling turns the events of a run into pieces.
type telling struct {
	prompt string // id of the prompt of the run: what comes before it is left out; "": nothing is
	shown  map[string]*writing
	calls  map[string]bool // ids of calls, questions ("? "), results ("= ") and whole answers ("k ") that were told
	last   int64           // number of the last fact
}

// apply takes an event in.
func (t *telling) apply(e event.Event) (out []piece) {
	t.last = max(t.last, e.Seq)
	if t.prompt != "" {
		if d, ok := e.Data.(event.UserMessage); ok && d.ID == t.prompt {
			t.prompt = ""
		}
		return nil
	}
	switch d := e.Data.(type) {
	case event.TextDelta:
		if t.calls["k "+d.Key] {
			return nil
		}
		w := t.writing(d.Key)
		if d.Restart {
			return rest(said, d.Key, &w.text, d.Text)
		}
		w.text = append(w.text, d.Text...)
		return []piece{{kind: said, key: d.Key, text: d.Text}}
	case event.ThinkingDelta:
		if t.calls["k "+d.Key] {
			return nil
		}
		w := t.writing(d.Key)
		w.thinking = append(w.thinking, d.Text...)
		return []piece{{kind: thought, key: d.Key, text: d.Text}}
	case event.AssistantMessage:
		return t.answer(e.Seq, d)
	case event.ModelFailed:
		t.once("k " + d.Key)
		if t.shown[d.Key] != nil {
			delete(t.shown, d.Key)
			return []piece{{kind: withdrawn, key: d.Key, text: d.Message}}
		}
	case event.ToolStart:
		if !t.calls[d.Call] && e.Call != nil { // a part of a batch
			return t.call(d.Call, "", e.Call.Tool, e.Call.Input)
		}
	case event.ToolResult:
		if !t.calls[d.Call] && e.Call != nil {
			out = t.call(d.Call, "", e.Call.Tool, e.Call.Input)
		}
		if t.calls[d.Call] && t.once("= "+d.Call) {
			out = append(out, piece{kind: returned, call: d.Call, text: d.Result.Text(), failed: d.Result.IsError || d.Fault != "", denied: d.Cause == "denied"})
		}
		return out
	case event.PermissionRequest:
		return t.ask(d.Call.ID, d.Call, d.Reason, 0)
	case event.UserQuestion:
		return t.ask(d.Call.ID, d.Call, questionText(d.Questions), len(d.Questions))
	case event.AgentEvent:
		if d.Event == nil {
			return nil
		}
		inner := d.Event.Data
		for {
			a, ok := inner.(event.AgentEvent)
			if !ok || a.Event == nil {
				break
			}
			inner = a.Event.Data
		}
		switch q := inner.(type) {
		case event.PermissionRequest:
			return t.ask(d.Call, q.Call, q.Reason, 0)
		case event.UserQuestion:
			return t.ask(d.Call, q.Call, questionText(q.Questions), len(q.Questions))
		}
	case event.RunEnd:
		return []piece{{kind: ended, end: d, seq: e.Seq}}
	}
	return nil
}

// answer tells what is new in an answer that is whole.
func (t *telling) answer(seq int64, d event.AssistantMessage) (out []piece) {
	var thinking strings.Builder
	for _, b := range d.Response.Message.Content {
		if th, ok := b.(llm.Thinking); ok {
			thinking.WriteString(th.Text)
		}
	}
	w := t.writing(d.Key)
	out = append(out, rest(thought, d.Key, &w.thinking, thinking.String())...)
	out = append(out, rest(said, d.Key, &w.text, d.Response.Message.Text())...)
	delete(t.shown, d.Key)
	t.once("k " + d.Key)
	for i, u := range d.Response.Message.ToolUses() {
		out = append(out, t.call("c"+strconv.FormatInt(seq, 10)+"."+strconv.Itoa(i), d.Key, u.Name, u.Input)...)
	}
	return append(out, piece{kind: answered, key: d.Key})
}

// rest tells what a whole text has beyond the part that was shown.
func rest(kind pieceKind, key string, shown *[]byte, whole string) []piece {
	more, ok := strings.CutPrefix(whole, string(*shown))
	if !ok || more == "" { // another text than the one that was streamed cannot be taken back
		return nil
	}
	*shown = []byte(whole)
	return []piece{{kind: kind, key: key, text: more}}
}

func (t *telling) writing(key string) *writing {
	if t.shown == nil {
		t.shown = map[string]*writing{}
	}
	if t.shown[key] == nil {
		t.shown[key] = &writing{key: key}
	}
	return t.shown[key]
}

func (t *telling) once(id string) bool {
	if t.calls[id] {
		return false
	}
	if t.calls == nil {
		t.calls = map[string]bool{}
	}
	t.calls[id] = true
	return true
}

func (t *telling) call(id, key, name string, input json.RawMessage) []piece {
	if !t.once(id) {
		return nil
	}
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	return []piece{{kind: called, key: key, call: id, tool: name, input: input}}
}

func (t *telling) ask(outer string, c tool.Call, why string, answers int) []piece {
	if !t.once("? " + c.ID) {
		return nil
	}
	return []piece{{kind: asks, call: outer, asked: c.ID, tool: c.Name, input: c.Input, text: why, answers: answers}}
}

// questionText returns questions as a text.
func questionText(questions []tool.Question) string {
	var b strings.Builder
	for i, q := range questions {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(q.Text)
		for _, o := range q.Options {
			b.WriteString("\n- " + o.Label)
		}
	}
	return b.String()
}

// errNoEnd is for a run that stopped without an end on record.
var errNoEnd = &Error{http.StatusServiceUnavailable, "run_stopped", "the run stopped before its end", "GET /v1/sessions/{id} has its state"}

// A teller gets what a run does.
type teller interface {
	// piece gets the pieces. It returns false to leave the run alone.
	piece(piece) (more bool, err error)
	// quiet is called while nothing happens, so that a dead connection is noticed.
	quiet() error
}

// tell begins a run and tells it until its end. It returns errNoEnd for a run without an end, and the
// error of begin.
func (l *live) tell(ctx context.Context, t *telling, begin func() error, to teller) error {
	ctx, stop := context.WithCancel(ctx)
	watching, halt := context.WithCancel(ctx)
	joined, pieces, failed := make(chan struct{}), make(chan piece), make(chan error, 1)
	over := !l.server.spawn(func() {
		failed <- l.watchRun(ctx, watchers.WithJoined(watching, func() { close(joined) }), t, pieces)
	})
	wait := func() {}
	defer func() {
		stop()
		if !over {
			<-failed
		}
		halt()
		wait()
	}()
	if over {
		return errClosed
	}
	select {
	case <-joined: // a signal before that, such as a question, would be lost
	case err := <-failed:
		over = true
		return err
	}
	if err := begin(); err != nil {
		return err
	}
	l.hosted.mu.Lock()
	run, done := l.hosted.run, l.hosted.done
	l.hosted.mu.Unlock()
	if run == "" { // all of it is on record
		done = make(chan struct{})
		close(done)
	}
	wait = stopAfter(watching, done, halt)
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		select {
		case p := <-pieces:
			if p.kind == ended { // then the next prompt finds the session free
				select {
				case <-done:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			if more, err := to.piece(p); err != nil || !more || p.kind == ended {
				return err
			}
		case err := <-failed:
			over = true
			return err
		case <-ping.C:
			if err := to.quiet(); err != nil {
				return err
			}
		}
	}
}

// watchRun sends the pieces of a run until its end. watching ends when it has stopped here: what is
// left is on record then.
func (l *live) watchRun(ctx, watching context.Context, t *telling, to chan<- piece) error {
	send := func(e event.Event) (over bool, err error) {
		for _, p := range t.apply(e) {
			select {
			case to <- p:
			case <-ctx.Done():
				return true, ctx.Err()
			}
			if p.kind == ended {
				return true, nil
			}
		}
		return false, nil
	}
	for e, err := range watcher(l.store, l.at.id).Watch(watching, t.last) {
		if err != nil {
			if watching.Err() == nil {
				return err
			}
			break
		}
		if over, err := send(e); over {
			return err
		}
	}
	for e, err := range l.store.Read(ctx, l.at.id, t.last) {
		if err != nil {
			return err
		}
		if over, err := send(e); over {
			return err
		}
	}
	return errNoEnd
}

// continued returns a telling of a run that waits, for a client that has its last answer.
func (l *live) continued(ctx context.Context) (*telling, error) {
	last, err := session.Last(ctx, l.store, l.at.id, 1, func(typ string) bool { return typ == "assistant_message" })
	if err != nil {
		return nil, err
	}
	if len(last) == 0 {
		return nil, agent.ErrNoQuestion
	}
	t := &telling{last: last[0].Seq}
	t.answer(last[0].Seq, last[0].Data.(event.AssistantMessage))
	return t, nil
}

// answerAsk allows or denies a call for a client.
func (l *live) answerAsk(c *call, id string, allow bool, reason string) error {
	d := decision{Behavior: "deny", Reason: reason}
	if allow {
		d.Behavior = "allow"
	}
	c.r.SetPathValue("call", id)
	_, err := l.server.decide(c, d)
	return err
}

// stopAfter calls stop when a run is closed. The returned function waits for its goroutine, which ends
// with ctx as well.
func stopAfter(ctx context.Context, done <-chan struct{}, stop func()) func() {
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		select {
		case <-done:
			stop()
		case <-ctx.Done():
		}
	}()
	return func() { <-finished }
}

// abandon interrupts the run of a prompt whose client has gone.
func (l *live) abandon(ctx context.Context, prompt string) {
	open, run := l.running()
	if open == nil || run != prompt {
		return
	}
	if _, err := open.Interrupt(context.WithoutCancel(ctx)); err != nil && !errors.Is(err, agent.ErrNotRunning) {
		l.server.log().Warn("interrupting a run failed", "session", l.at.id, "error", err)
		return
	}
	l.server.log().Info("run interrupted, its client has gone", "session", l.at.id)
}

// adapterRoutes are the routes of other protocols. openapi.json does not describe them.
var adapterRoutes []route

func init() {
	adapterRoutes = []route{
		{method: "POST", path: "/openai/v1/chat/completions", do: chatCompletions, fail: failChat},
		{method: "GET", path: "/openai/v1/models", do: chatModels, fail: failChat},
		{method: "GET", path: "/openai/v1/models/{model}", do: oneChatModel, fail: failChat},
		{method: "POST", path: "/ai-sdk/chat", do: uiChat, fail: failUI},
		{method: "GET", path: "/ai-sdk/chat/{id}/stream", do: uiResume, fail: failUI},
		{method: "POST", path: "/agui", do: agui},
	}
}
