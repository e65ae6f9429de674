package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/contentjson"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/workspace"
)

// A Session is a running program with one conversation. It is safe for concurrent use, but
// only one loop at a time may read its messages.
type Session struct {
	o       Options
	hooks   []*hookrun.Set // one for each of Options.Hooks
	servers map[string]*toolServer

	parent context.Context // of Start
	ctx    context.Context // ends with the process, or ends it
	cancel context.CancelCauseFunc

	space     *workspace.Workspace
	process   workspace.Process
	input     *feed
	exit      workspace.Exit // complete once done is closed
	done      chan struct{}  // closed: the process has ended, and its last message is in the queue
	callbacks sync.WaitGroup
	changed   chan struct{} // has room for one: the queue is longer
	reading   chan struct{} // has room for one: a loop reads the messages

	mu       sync.Mutex // of all below
	id       string
	closing  bool
	calls    map[string]chan response      // our requests that have no answer yet
	asked    map[string]context.CancelFunc // requests of the program that are being answered
	queue    []Message
	unread   int // bytes in the queue
	received int // messages so far
	skip     int // results to pass over, with all messages before them: of prompts that were left
	lines    int
	stderr   []byte // the end of it
}

const (
	maxLine   = 64 << 20  // bytes
	maxUnread = 256 << 20 // bytes of messages that nobody reads
	maxAsked  = 256       // requests of the program at a time
	keptError = 8 << 10   // bytes of stderr
	shownTail = 1 << 10   // bytes of stderr in an error
)

var (
	errEnded = errors.New("the program has ended")
	errBusy  = errors.New("another loop reads the messages of this session; end that first")
)

// ID returns the session's id. It is "" until the program has named it, which is before
// the first result.
func (s *Session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// Prompt sends a prompt and yields the messages up to its result. When you leave the loop
// earlier, or when ctx ends, the run is interrupted and the rest of its messages is dropped.
// After an error nothing more is yielded.
func (s *Session) Prompt(ctx context.Context, prompt string, more ...llm.Block) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		if !s.begin() {
			yield(Message{}, errBusy)
			return
		}
		defer s.finish()
		id, from, err := s.send(prompt, more, "")
		if err != nil {
			yield(Message{}, err)
			return
		}
		complete := false
		defer func() {
			if !complete {
				s.abandon(id)
			}
		}()
		for {
			m, err := s.next(ctx)
			if err == io.EOF {
				err = fmt.Errorf("the program ended before the result of the prompt%s", s.tail())
			}
			if err != nil {
				yield(Message{}, err)
				return
			}
			complete = m.Result != nil && !m.background && m.number > from
			if !yield(m, nil) || complete {
				return
			}
		}
	}
}

// Send sends a message that joins the current run, or starts one. Read the messages with
// [Session.Messages].
func (s *Session) Send(message string, more ...llm.Block) error {
	_, _, err := s.send(message, more, "next")
	return err
}

// Messages yields messages until the program ends: those that [Session.Prompt] has not
// yielded, and those after them.
func (s *Session) Messages(ctx context.Context) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		if !s.begin() {
			yield(Message{}, errBusy)
			return
		}
		defer s.finish()
		for {
			m, err := s.next(ctx)
			if err == io.EOF {
				return
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

func (s *Session) begin() bool {
	select {
	case s.reading <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s *Session) finish() { <-s.reading }

// next returns the next message. After the last it returns why there are no more, [io.EOF]
// if the program ended as it should.
func (s *Session) next(ctx context.Context) (Message, error) {
	for {
		if m, ok := s.pop(); ok {
			return m, nil
		}
		switch cause := context.Cause(s.ctx); cause {
		case nil:
		case errEnded:
			if m, ok := s.pop(); ok { // it came before the end
				return m, nil
			}
			if err := s.ending(); err != nil {
				return Message{}, err
			}
			return Message{}, io.EOF
		default: // it is being ended
			return Message{}, cause
		}
		select {
		case <-s.changed:
		case <-s.ctx.Done():
		case <-ctx.Done():
			return Message{}, context.Cause(ctx)
		}
	}
}

func (s *Session) pop() (Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) > 0 {
		m := s.queue[0]
		s.queue[0] = Message{}
		s.queue = s.queue[1:]
		s.unread -= len(m.Raw)
		if s.skip == 0 {
			return m, true
		}
		if m.Result != nil && !m.background {
			s.skip--
		}
	}
	return Message{}, false
}

// send returns the id of the message, and how many messages had come before.
func (s *Session) send(prompt string, more llm.Blocks, priority string) (string, int, error) {
	var content any = prompt
	if len(more) > 0 {
		if prompt != "" {
			more = append(llm.Blocks{llm.Text{Text: prompt}}, more...)
		}
		content = contentjson.Blocks(more)
	}
	id := session.NewID()
	line := map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": content}, "parent_tool_use_id": nil, "session_id": s.ID(), "uuid": id}
	if priority != "" {
		line["priority"] = priority
	}
	s.mu.Lock()
	from := s.received
	s.mu.Unlock()
	return id, from, s.write(line)
}

// abandon interrupts the run of a prompt whose loop was left.
func (s *Session) abandon(id string) {
	s.mu.Lock()
	s.skip++
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(s.ctx, stopping)
	defer cancel()
	var receipt struct {
		Cancelled []string `json:"cancelled"`
	}
	err := s.Control(ctx, "interrupt", map[string]any{"cancel_queued": true}, &receipt)
	if err == nil && slices.Contains(receipt.Cancelled, id) { // it had not begun, and has no result
		s.mu.Lock()
		s.skip--
		s.mu.Unlock()
	}
}

// Interrupt stops the current run. Its result follows. Without a run it changes nothing.
func (s *Session) Interrupt(ctx context.Context) error { return s.Control(ctx, "interrupt", nil, nil) }

// SetMode changes the permission mode.
func (s *Session) SetMode(ctx context.Context, mode permission.Mode) error {
	return s.Control(ctx, "set_permission_mode", map[string]any{"mode": mode}, nil)
}

// SetModel changes the model. "" is the one that the program began with.
func (s *Session) SetModel(ctx context.Context, model string) error {
	members := map[string]any{"model": nil}
	if model != "" {
		members["model"] = model
	}
	return s.Control(ctx, "set_model", members, nil)
}

// MCPStatus returns the MCP servers that the program uses.
func (s *Session) MCPStatus(ctx context.Context) ([]Server, error) {
	var answer struct {
		Servers []struct {
			Server
			Tools []json.RawMessage `json:"tools"`
		} `json:"mcpServers"`
	}
	if err := s.Control(ctx, "mcp_status", nil, &answer); err != nil {
		return nil, err
	}
	var all []Server
	for _, one := range answer.Servers {
		for _, raw := range one.Tools {
			var t struct {
				Name string `json:"name"`
			}
			if json.Unmarshal(raw, &t) != nil {
				t.Name = str(raw) // of a program that lists names alone
			}
			if t.Name != "" {
				one.Server.Tools = append(one.Server.Tools, t.Name)
			}
		}
		all = append(all, one.Server)
	}
	return all, nil
}

// ContextUsage returns the tokens of the model's context in use, and how many it can hold.
// The answer to the control request get_context_usage has the details.
func (s *Session) ContextUsage(ctx context.Context) (tokens, window int, err error) {
	var answer struct {
		Total int `json:"totalTokens"`
		Max   int `json:"maxTokens"`
	}
	err = s.Control(ctx, "get_context_usage", nil, &answer)
	return answer.Total, answer.Max, err
}

// Control makes a control request with further members, and unmarshals the answer, if that
// is not nil. An error is [errors.ErrUnsupported] if the program does not know the request.
// The requests of openagent are in docs/command/stream-json.md.
func (s *Session) Control(ctx context.Context, subtype string, members map[string]any, answer any) error {
	request := map[string]any{"subtype": subtype}
	for name, m := range members {
		if name != "subtype" {
			request[name] = m
		}
	}
	id, answers := s.expect()
	defer s.forget(id)
	if err := s.write(map[string]any{"type": "control_request", "request_id": id, "request": request}); err != nil {
		return fmt.Errorf("%s: %w", subtype, err)
	}
	var r response
	select {
	case r = <-answers:
	case <-ctx.Done():
		if err := s.write(map[string]any{"type": "control_cancel_request", "request_id": id}); err != nil {
			return fmt.Errorf("%s: %w", subtype, err)
		}
		return fmt.Errorf("%s: %w", subtype, context.Cause(ctx))
	case <-s.done:
		select {
		case r = <-answers: // it was among the last lines
		default:
			if err := s.ending(); err != nil {
				return fmt.Errorf("%s: %w", subtype, err)
			}
			return fmt.Errorf("%s: %w", subtype, errEnded)
		}
	}
	if err := r.err(); err != nil {
		return fmt.Errorf("%s: %w", subtype, err)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(r.Response, answer); err != nil {
		return fmt.Errorf("%s: reading the answer: %w", subtype, err)
	}
	return nil
}

// Close ends the program: its input ends, then it is asked to end, then it is killed with
// everything that it has started. Close waits for that, and for callbacks that return soon.
// It returns an error if the program did not end by itself. A second Close changes nothing.
func (s *Session) Close() error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.input.Close()
	if !within(leaving, s.done) {
		s.process.Stop()
		<-s.done
	}
	s.rest()
	if len(s.exit.Survivors) > 0 {
		return fmt.Errorf("closing a client: %s could not be ended", text.Count(len(s.exit.Survivors), "process"))
	}
	if s.exit.Stopped && s.exit.Code == killed && s.parent.Err() == nil {
		return fmt.Errorf("closing a client: the program did not end when it was asked to; it was killed%s", s.tail())
	}
	return nil
}

// rest waits for callbacks that return soon.
func (s *Session) rest() {
	returned := make(chan struct{})
	go func() {
		s.callbacks.Wait()
		close(returned)
	}()
	within(returning, returned)
}

// killed is the exit code after SIGKILL.
const killed = 128 + 9

// within waits until c is closed, at most for d.
func within(d time.Duration, c <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

// ending returns why the program has ended, nil if it did as it should or has not ended.
func (s *Session) ending() error {
	select {
	case <-s.ctx.Done():
	default:
		return nil
	}
	cause := context.Cause(s.ctx)
	if cause != errEnded {
		return cause
	}
	<-s.done
	s.mu.Lock()
	closing := s.closing
	s.mu.Unlock()
	if closing || s.exit.Code == 0 {
		return nil
	}
	if s.exit.Signaled {
		return fmt.Errorf("the program was ended by signal %d%s", s.exit.Code-128, s.tail())
	}
	return fmt.Errorf("the program ended with exit code %d%s", s.exit.Code, s.tail())
}

// fail ends the program because of what it has done.
func (s *Session) fail(err error) {
	s.cancel(fmt.Errorf("%w%s", err, s.tail()))
}

// tail quotes the end of the program's error output.
func (s *Session) tail() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := text.Clean(string(s.stderr))
	if cut := len(t) - shownTail; cut > 0 {
		t = text.Ellipsis + text.Clean(t[cut:])
	}
	if t = text.OneLine(t); t == "" {
		return ""
	}
	return "; its error output: " + t
}
