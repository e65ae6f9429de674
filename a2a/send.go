package a2aagent

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// send passes a message on. It returns its task, and the call that it has answered, if it is an answer.
func (o *operations) send(ctx context.Context, c *caller, in *a2a.SendMessageRequest) (*task, []string, error) {
	m := in.Message
	switch {
	case m == nil:
		return nil, nil, invalid("there is no message")
	case m.ID == "" || len(m.ID) > 200:
		return nil, nil, invalid("a message needs an id of up to 200 bytes")
	case m.Role != a2a.MessageRoleUser:
		return nil, nil, invalid("the role of the message must be %s", a2a.MessageRoleUser)
	case len(m.Parts) == 0 || slices.Contains(m.Parts, nil):
		return nil, nil, invalid("the message has no parts")
	case in.Config != nil && in.Config.PushConfig != nil:
		return nil, nil, a2a.NewError(a2a.ErrPushNotificationNotSupported, "the agent sends no push notifications: subscribe to the task or get it")
	}
	if in.Config != nil {
		if err := checkHistory(in.Config.HistoryLength); err != nil {
			return nil, nil, err
		}
	}
	if m.TaskID != "" {
		return o.continueTask(ctx, c, m)
	}
	t, err := c.begin(ctx, m)
	return t, nil, err
}

// checkHistory refuses a number of messages that is negative.
func checkHistory(length *int) error {
	if length != nil && *length < 0 {
		return invalid("historyLength must not be negative")
	}
	return nil
}

// A prompt is a message as the API takes it.
type prompt struct {
	Session  string     `json:"session,omitempty"`
	ID       string     `json:"id"`
	Delivery string     `json:"delivery,omitempty"`
	Text     string     `json:"text,omitempty"`
	Blocks   llm.Blocks `json:"blocks,omitempty"`
}

// begin starts a task. A message that comes again has the same one.
func (c *caller) begin(ctx context.Context, m *a2a.Message) (*task, error) {
	text, blocks, err := contentOf(m)
	if err != nil {
		return nil, err
	}
	in := prompt{ID: m.ID, Text: text, Blocks: blocks}
	id := m.ContextID
	if id == "" {
		id = sessionOf(m.ID)
	}
	if err := session.CheckID(id); err != nil {
		return nil, invalid("the contextId must be up to 200 bytes without slashes and control characters")
	}
	var (
		info struct{ Facts int64 }
		out  struct{ Known bool }
	)
	switch err := c.do(ctx, http.MethodGet, sessionPath(id), nil, &info); {
	case err == nil:
		err = c.do(ctx, http.MethodPost, sessionPath(id)+"/messages", in, &out)
		if err != nil {
			return nil, busy(err)
		}
	case isCode(err, "not_found"):
		in.Session = id
		if err := c.do(ctx, http.MethodPost, "/v1/sessions", in, &out); err != nil {
			return nil, busy(err)
		}
	default:
		return nil, err
	}
	if out.Known {
		info.Facts = 0
	}
	p := place{session: id}
	for e, err := range c.facts(ctx, id, info.Facts, "user_message") {
		if err != nil {
			return nil, err
		}
		d, ok := e.Data.(event.UserMessage)
		if !ok {
			continue
		}
		if isPrompt(d) {
			p.seq = e.Seq
		}
		if d.ID == m.ID && p.seq > 0 {
			return c.read(ctx, p)
		}
	}
	return nil, fmt.Errorf("session %s does not have its message %s", id, m.ID)
}

// busy says what to do about a session that works on another task.
func busy(err error) error {
	if isCode(err, "session_busy", "suspended") {
		return a2a.NewError(a2a.ErrUnsupportedOperation, "another task of this context has not ended: send the message with its taskId, wait for its end, or use another contextId")
	}
	return err
}

// continueTask passes a message on to a task: as the answer to its question, or to its run.
func (o *operations) continueTask(ctx context.Context, c *caller, m *a2a.Message) (*task, []string, error) {
	t, err := c.find(ctx, m.TaskID)
	if err != nil {
		return nil, nil, err
	}
	if m.ContextID != "" && m.ContextID != t.session {
		return nil, nil, invalid("the task belongs to another context")
	}
	before := o.h.answered.of(answerKey{c.user, m.TaskID, m.ID})
	before.mu.Lock()
	defer before.mu.Unlock()
	if before.call != "" {
		return t, []string{before.call}, nil
	}
	if slices.ContainsFunc(t.history, func(old *a2a.Message) bool { return old.ID == m.ID }) {
		return t, nil, nil // it comes again
	}
	if t.ended() {
		return nil, nil, a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended: send the message without a taskId to begin the next task of its context")
	}
	asked, err := c.pending(ctx, t.session)
	if err != nil {
		return nil, nil, err
	}
	if len(asked) == 0 {
		text, blocks, err := contentOf(m)
		if err != nil {
			return nil, nil, err
		}
		err = c.do(ctx, http.MethodPost, sessionPath(t.session)+"/messages", prompt{ID: m.ID, Delivery: "steer", Text: text, Blocks: blocks}, nil)
		return t, nil, err
	}
	q, r, err := replyOf(m, asked)
	if err != nil {
		return nil, nil, err
	}
	if err := c.reply(ctx, t, q, r); err != nil {
		return nil, nil, err
	}
	before.call = q.Call
	return t, []string{q.Call}, nil
}

// reply answers a question.
func (c *caller) reply(ctx context.Context, t *task, q question, r reply) error {
	at := sessionPath(t.session) + "/calls/" + url.PathEscape(q.Call)
	if q.Kind == "permission" {
		return c.do(ctx, http.MethodPost, at+"/decision", map[string]string{"behavior": r.Behavior, "reason": r.Reason}, nil)
	}
	answer := func() error {
		return c.do(ctx, http.MethodPost, at+"/answers", map[string]any{"answers": r.Answers}, nil)
	}
	if err := answer(); !isCode(err, "not_running") {
		return err
	}
	// Only a run takes the answer to a question of a tool. One that is continued asks again.
	if err := c.resume(ctx, t); err != nil {
		return err
	}
	for f, err := range c.events(ctx, t.session, t.last) {
		if err != nil {
			return err
		}
		d, ok := f.event.Data.(event.RunEnd)
		if ok && d.Reason != event.Suspended || f.kind == "gone" {
			break
		}
		if !slices.ContainsFunc(append(f.signals, f.event), func(e event.Event) bool { return asks(e.Data) }) {
			continue
		}
		if err := answer(); !isCode(err, "no_question", "not_running") {
			return err
		}
	}
	return a2a.NewError(a2a.ErrUnsupportedOperation, "the question does not wait for an answer any more")
}

// resume continues the run of a task that no program has. One that runs already is left alone.
func (c *caller) resume(ctx context.Context, t *task) error {
	err := c.do(ctx, http.MethodPost, sessionPath(t.session)+"/resume", nil, nil)
	if isCode(err, "session_busy") {
		return nil
	}
	return err
}

// interrupt ends the run of a task. A run that waits without a program is continued first. It returns
// the calls whose questions are void.
func (c *caller) interrupt(ctx context.Context, t *task) (closed []string, err error) {
	asked, err := c.pending(ctx, t.session)
	if err != nil {
		return nil, err
	}
	for _, q := range asked {
		closed = append(closed, q.Call)
	}
	stop := func() error { return c.do(ctx, http.MethodPost, sessionPath(t.session)+"/interrupt", nil, nil) }
	if err := stop(); !isCode(err, "not_running") {
		return closed, err
	}
	for _, q := range asked {
		if q.Kind == "permission" {
			if err := c.reply(ctx, t, q, reply{Behavior: "deny", Reason: "the task was canceled"}); err != nil {
				return closed, err
			}
		}
	}
	if err := c.resume(ctx, t); err != nil && !isCode(err, "not_resumable") {
		return closed, err
	}
	if err := stop(); !isCode(err, "not_running") { // it has ended meanwhile
		return closed, err
	}
	return closed, nil
}

// pending returns the questions of a session that wait, the oldest first.
func (c *caller) pending(ctx context.Context, id string) ([]question, error) {
	var list struct{ Questions []question }
	err := c.do(ctx, http.MethodGet, sessionPath(id)+"/pending", nil, &list)
	return list.Questions, err
}
