package a2aagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// operations implements [a2asrv.RequestHandler] with the API of the server.
type operations struct{ h *Handler }

var _ a2asrv.RequestHandler = (*operations)(nil)

// caller returns who sends a request.
func (o *operations) caller(ctx context.Context) (*caller, error) {
	c, ok := ctx.Value(callerKey{}).(*caller)
	if !ok {
		return nil, a2a.ErrUnauthenticated
	}
	if call, ok := a2asrv.CallContextFrom(ctx); ok {
		if v, ok := call.ServiceParams().Get(a2a.SvcParamVersion); ok && len(v) > 0 && v[0] != "" && v[0] != string(a2a.Version) {
			return nil, a2a.NewError(a2a.ErrVersionNotSupported, "the agent speaks version "+string(a2a.Version)+" of the protocol")
		}
	}
	return c, nil
}

// GetTask implements [a2asrv.RequestHandler].
func (o *operations) GetTask(ctx context.Context, in *a2a.GetTaskRequest) (*a2a.Task, error) {
	c, err := o.caller(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkHistory(in.HistoryLength); err != nil {
		return nil, err
	}
	t, err := c.find(ctx, in.ID)
	if err != nil {
		return nil, protocolError(ctx, err)
	}
	return c.shown(ctx, t, in.HistoryLength)
}

// CancelTask implements [a2asrv.RequestHandler].
func (o *operations) CancelTask(ctx context.Context, in *a2a.CancelTaskRequest) (*a2a.Task, error) {
	c, err := o.caller(ctx)
	if err != nil {
		return nil, err
	}
	t, err := c.find(ctx, in.ID)
	if err != nil {
		return nil, protocolError(ctx, err)
	}
	if !t.ended() {
		closed, err := c.interrupt(ctx, t)
		if err != nil {
			return nil, protocolError(ctx, err)
		}
		for _, err := range c.follow(ctx, t, closed) {
			if err != nil {
				return nil, protocolError(ctx, err)
			}
		}
		return c.shown(ctx, t, nil)
	}
	if t.status(nil).State != a2a.TaskStateCanceled {
		return nil, a2a.NewError(a2a.ErrTaskNotCancelable, "the task has ended")
	}
	return c.shown(ctx, t, nil)
}

// SendMessage implements [a2asrv.RequestHandler].
func (o *operations) SendMessage(ctx context.Context, in *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	c, err := o.caller(ctx)
	if err != nil {
		return nil, err
	}
	t, answered, err := o.send(ctx, c, in)
	if err != nil {
		return nil, protocolError(ctx, err)
	}
	var length *int
	if in.Config != nil {
		length = in.Config.HistoryLength
	}
	if in.Config == nil || !in.Config.ReturnImmediately {
		for _, err := range c.follow(ctx, t, answered) {
			if err == nil {
				continue
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			break // the message is on record: the client can ask for the task later
		}
	}
	return c.shown(ctx, t, length)
}

// SendStreamingMessage implements [a2asrv.RequestHandler].
func (o *operations) SendStreamingMessage(ctx context.Context, in *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		c, err := o.caller(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		t, answered, err := o.send(ctx, c, in)
		if err != nil {
			yield(nil, protocolError(ctx, err))
			return
		}
		c.tell(ctx, t, answered, yield)
	}
}

// SubscribeToTask implements [a2asrv.RequestHandler].
func (o *operations) SubscribeToTask(ctx context.Context, in *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		c, err := o.caller(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		t, err := c.find(ctx, in.ID)
		if err == nil && t.ended() {
			err = a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended: get it instead")
		}
		if err != nil {
			yield(nil, protocolError(ctx, err))
			return
		}
		c.tell(ctx, t, nil, yield)
	}
}

// GetTaskPushConfig implements [a2asrv.RequestHandler].
func (o *operations) GetTaskPushConfig(context.Context, *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// ListTaskPushConfigs implements [a2asrv.RequestHandler].
func (o *operations) ListTaskPushConfigs(context.Context, *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// CreateTaskPushConfig implements [a2asrv.RequestHandler].
func (o *operations) CreateTaskPushConfig(context.Context, *a2a.PushConfig) (*a2a.PushConfig, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// DeleteTaskPushConfig implements [a2asrv.RequestHandler].
func (o *operations) DeleteTaskPushConfig(context.Context, *a2a.DeleteTaskPushConfigRequest) error {
	return a2a.ErrPushNotificationNotSupported
}

// GetExtendedAgentCard implements [a2asrv.RequestHandler].
func (o *operations) GetExtendedAgentCard(context.Context, *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return nil, a2a.NewError(a2a.ErrUnsupportedOperation, "the agent has one card only")
}

// ended reports whether a task is over.
func (t *task) ended() bool { return t.end != nil || t.over }

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

// find returns a task of the client.
func (c *caller) find(ctx context.Context, id a2a.TaskID) (*task, error) {
	if id == "" {
		return nil, invalid("there is no task id")
	}
	p, ok := placeOf(id)
	if !ok {
		return nil, noTask()
	}
	return c.read(ctx, p)
}

// noTask is the error about a task that the client does not have.
func noTask() error { return a2a.NewError(a2a.ErrTaskNotFound, "there is no such task") }

// read reads a task from its session.
func (c *caller) read(ctx context.Context, p place) (*task, error) {
	t := &task{place: p}
	for e, err := range c.facts(ctx, p.session, p.seq-1, "") {
		switch {
		case isCode(err, "not_found", "no_such_fact"):
			return nil, noTask()
		case err != nil:
			return nil, err
		}
		if t.last == 0 {
			if d, ok := e.Data.(event.UserMessage); !ok || e.Seq != p.seq || !isPrompt(d) {
				return nil, noTask()
			}
		}
		if !t.apply(e) {
			break
		}
	}
	if t.last == 0 {
		return nil, noTask()
	}
	return t, nil
}

// Facts come in pages that grow: most tasks have few facts, and long ones must not use up the requests of
// their user.
const (
	firstPage   = 200
	largestPage = 10000
)

// facts yields the facts of a session after one, all or those of a type.
func (c *caller) facts(ctx context.Context, id string, after int64, typ string) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for limit := firstPage; ; limit = min(4*limit, largestPage) {
			var page struct {
				Events []event.Event
				Last   int64
				More   bool
			}
			if err := c.do(ctx, http.MethodGet, fmt.Sprintf("%s/events?limit=%d&after=%d&types=%s", sessionPath(id), limit, after, typ), nil, &page); err != nil {
				yield(event.Event{}, err)
				return
			}
			for _, e := range page.Events {
				if !yield(e, nil) {
					return
				}
			}
			if !page.More {
				return
			}
			after = page.Last
		}
	}
}

// shown returns a task as it is now.
func (c *caller) shown(ctx context.Context, t *task, history *int) (*a2a.Task, error) {
	out, err := c.now(ctx, t, nil)
	if err != nil {
		return nil, protocolError(ctx, err)
	}
	cut(out, history)
	return out, nil
}

// now returns a task as it is now, without questions about calls that are answered.
func (c *caller) now(ctx context.Context, t *task, answered []string) (*a2a.Task, error) {
	var asked []question
	if !t.ended() {
		var err error
		if asked, err = c.waiting(ctx, t, answered); err != nil {
			return nil, err
		}
	}
	return t.task(asked), nil
}

// waiting returns the questions of a task that wait, without those of calls that are answered.
func (c *caller) waiting(ctx context.Context, t *task, answered []string) ([]question, error) {
	asked, err := c.pending(ctx, t.session)
	return slices.DeleteFunc(asked, func(q question) bool { return slices.Contains(answered, q.Call) }), err
}

// cut leaves the latest messages of a history. nil: all.
func cut(t *a2a.Task, length *int) {
	if length != nil && *length < len(t.History) {
		t.History = t.History[len(t.History)-*length:]
	}
}

// tell yields a task, and then what happens to it.
func (c *caller) tell(ctx context.Context, t *task, answered []string, yield func(a2a.Event, error) bool) {
	first, err := c.now(ctx, t, answered)
	if err != nil {
		yield(nil, protocolError(ctx, err))
		return
	}
	if !yield(first, nil) || first.Status.State != a2a.TaskStateWorking {
		return
	}
	for e, err := range c.follow(ctx, t, answered) {
		if !yield(e, protocolError(ctx, err)) || err != nil {
			return
		}
	}
}

var errGone = errors.New("the stream has ended")

// follow yields what happens to a task until it has ended or a question waits. answered are calls
// whose questions do not count any more.
func (c *caller) follow(ctx context.Context, t *task, answered []string) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if t.ended() {
			return
		}
		w := writing{t: t, shown: t.text}
		for f, err := range c.events(ctx, t.session, t.last) {
			if err != nil {
				yield(nil, err)
				return
			}
			_, ends := f.event.Data.(event.RunEnd)
			asked := f.kind == "state" || ends // a question that was put off has no signal
			var out []a2a.Event
			switch f.kind {
			case "fact":
				if f.event.Seq <= t.last {
					continue
				}
				out = w.fact(f.event)
			case "signal":
				out, asked = w.signal(f.event), asks(f.event.Data)
			case "state":
				for _, e := range f.signals {
					out = append(out, w.signal(e)...)
				}
			case "gone":
				yield(nil, a2a.NewError(a2a.ErrServerError, "the stream has ended ("+strings.TrimSpace(f.reason)+"): subscribe to the task again"))
				return
			}
			for _, e := range out {
				if !yield(e, nil) {
					return
				}
			}
			if t.ended() {
				return
			}
			if !asked {
				continue
			}
			open, err := c.waiting(ctx, t, answered)
			if err != nil {
				yield(nil, err)
				return
			}
			if len(open) > 0 {
				yield(w.status(open), nil)
				return
			}
		}
		yield(nil, errGone)
	}
}

// writing turns events of a session into updates of a task.
type writing struct {
	t     *task
	key   string // of the attempt whose text the artifact has
	shown string // that text, as clients have it
}

// fact takes a fact in.
func (w *writing) fact(e event.Event) (out []a2a.Event) {
	if !w.t.apply(e) {
		return []a2a.Event{w.status(nil)}
	}
	switch d := e.Data.(type) {
	case event.AssistantMessage:
		if text := d.Response.Message.Text(); text != "" {
			out = w.whole(text)
		}
	case event.RunEnd:
		if w.t.end == nil {
			return nil
		}
		switch a := w.t.answer(); {
		case a != nil && (w.t.text != w.shown || len(d.Output) > 0):
			out = append(out, &a2a.TaskArtifactUpdateEvent{TaskID: w.t.taskID(), ContextID: w.t.session, Artifact: a, LastChunk: true})
		case a == nil && w.shown != "": // the answer failed: its text does not count
			out = w.set("")
		}
		out = append(out, w.status(nil))
	}
	return out
}

// signal takes a signal in.
func (w *writing) signal(e event.Event) (out []a2a.Event) {
	d, ok := e.Data.(event.TextDelta)
	switch {
	case !ok:
	case d.Restart:
		out = w.whole(d.Text)
	case d.Key != w.key: // the text of another attempt does not count any more
		out = w.set(d.Text)
	default:
		out = w.add(d.Text)
	}
	w.key = cmp.Or(d.Key, w.key)
	return out
}

// asks reports whether a person is asked, also about a call of a sub-agent.
func asks(d event.Data) bool {
	switch d := d.(type) {
	case event.PermissionRequest, event.UserQuestion:
		return true
	case event.AgentEvent:
		return d.Event != nil && asks(d.Event.Data)
	}
	return false
}

// whole makes the artifact have a text.
func (w *writing) whole(text string) []a2a.Event {
	if more, ok := strings.CutPrefix(text, w.shown); ok && w.shown != "" {
		return w.add(more)
	}
	return w.set(text)
}

// add adds text to the artifact.
func (w *writing) add(text string) []a2a.Event {
	if text == "" {
		return nil
	}
	if w.shown == "" {
		return w.set(text)
	}
	w.shown += text
	return []a2a.Event{&a2a.TaskArtifactUpdateEvent{TaskID: w.t.taskID(), ContextID: w.t.session, Append: true,
		Artifact: &a2a.Artifact{ID: answerArtifact, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}}}
}

// set replaces the artifact.
func (w *writing) set(text string) []a2a.Event {
	w.shown = text
	return []a2a.Event{&a2a.TaskArtifactUpdateEvent{TaskID: w.t.taskID(), ContextID: w.t.session,
		Artifact: &a2a.Artifact{ID: answerArtifact, Name: "answer", Parts: a2a.ContentParts{a2a.NewTextPart(text)}}}}
}

// status returns the state of the task as an update.
func (w *writing) status(asked []question) a2a.Event {
	return &a2a.TaskStatusUpdateEvent{TaskID: w.t.taskID(), ContextID: w.t.session, Status: w.t.status(asked)}
}
