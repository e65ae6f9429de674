package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session"
)

// A response answers one of our control requests.
type response struct {
	Subtype  string          `json:"subtype"`
	ID       string          `json:"request_id"`
	Response json.RawMessage `json:"response"`
	Error    string          `json:"error"`
	Code     string          `json:"error_code"`
}

func (r response) err() error {
	switch {
	case r.Subtype == "success":
		return nil
	case r.Code == "unsupported_request":
		return fmt.Errorf("%w: %s", errors.ErrUnsupported, r.Error)
	case r.Error == "":
		return errors.New("the program refused the request without a reason")
	}
	return errors.New(text.Runes(text.Clean(r.Error), 2000))
}

// take handles a line of the program. It does not wait.
func (s *Session) take(line []byte) {
	s.mu.Lock()
	s.lines++
	n := s.lines
	s.mu.Unlock()
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(line, &members); err != nil || line[0] != '{' {
		s.fail(fmt.Errorf("line %d of its output is not a JSON object: %s", n, text.Runes(text.OneLine(text.Clean(text.Bytes(string(line), 1000))), 200)))
		return
	}
	if s.ctx.Err() != nil && context.Cause(s.ctx) != errEnded { // it is being ended: nothing counts any more
		return
	}
	if id := str(members["session_id"]); id != "" {
		s.mu.Lock()
		s.id = id
		s.mu.Unlock()
	}
	switch str(members["type"]) {
	case "keep_alive":
	case "control_response":
		var r response
		if json.Unmarshal(members["response"], &r) == nil {
			s.answered(r)
		}
	case "control_request":
		s.request(str(members["request_id"]), members["request"])
	case "control_cancel_request":
		s.withdraw(str(members["request_id"]))
	default:
		s.receive(newMessage(members, line))
	}
}

func (s *Session) receive(m Message) {
	s.mu.Lock()
	s.received++
	m.number = s.received
	s.queue = append(s.queue, m)
	s.unread += len(m.Raw)
	full := s.unread > maxUnread
	s.mu.Unlock()
	if full {
		s.fail(fmt.Errorf("%d MB of messages wait to be read; read them with Messages", maxUnread>>20))
		return
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// write sends a line.
func (s *Session) write(line any) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if err := s.input.add(data); err != nil {
		if err == errEnded { // its input is closed: say why as soon as that is known
			within(leaving, s.done)
		}
		if ended := s.ending(); ended != nil {
			return ended
		}
		return err
	}
	return nil
}

// expect prepares for the answer to a request.
func (s *Session) expect() (string, chan response) {
	id, answers := "req_"+session.NewID(), make(chan response, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[id] = answers
	return id, answers
}

func (s *Session) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

func (s *Session) answered(r response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answers, ok := s.calls[r.ID]; ok {
		delete(s.calls, r.ID)
		answers <- r
	}
}

// request answers a request of the program, in a goroutine of its own.
func (s *Session) request(id string, raw json.RawMessage) {
	if id == "" {
		s.fail(errors.New("the program made a control request without a request_id"))
		return
	}
	var head struct {
		Subtype string `json:"subtype"`
	}
	err := json.Unmarshal(raw, &head)
	handlers := map[string]func(context.Context, json.RawMessage) (any, error){"can_use_tool": s.canUseTool, "hook_callback": s.hookCallback, "mcp_message": s.mcpMessage}
	handle := handlers[head.Subtype]
	if err != nil || handle == nil {
		s.respond(id, nil, &unsupported{head.Subtype})
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	many, twice := len(s.asked) >= maxAsked, s.asked[id] != nil
	if !many && !twice {
		s.asked[id] = cancel
	}
	s.mu.Unlock()
	if many || twice {
		cancel()
		s.respond(id, nil, fmt.Errorf("%d requests are being answered, or one with the same request_id", maxAsked))
		return
	}
	s.callbacks.Go(func() {
		defer cancel()
		var answer any
		err := errors.New("the callback called runtime.Goexit instead of returning")
		defer func() {
			s.mu.Lock()
			delete(s.asked, id)
			s.mu.Unlock()
			if ctx.Err() == nil { // else it was withdrawn, and nobody waits
				s.respond(id, answer, err)
			}
		}()
		answer, err = handle(ctx, raw)
	})
}

// withdraw ends the answering of a request.
func (s *Session) withdraw(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.asked[id]; cancel != nil {
		cancel()
	}
}

// unsupported is the error of a request that is not known here.
type unsupported struct{ subtype string }

func (e *unsupported) Error() string {
	return fmt.Sprintf("this client does not answer requests of the subtype %.50q", e.subtype)
}

// respond answers a request. A failure to write means that the program has ended.
func (s *Session) respond(id string, answer any, err error) {
	body := map[string]any{"subtype": "success", "request_id": id, "response": answer}
	if err != nil {
		body = map[string]any{"subtype": "error", "request_id": id, "error": err.Error()}
		if u := new(unsupported); errors.As(err, &u) {
			body["error_code"] = "unsupported_request"
		}
	}
	_ = s.write(map[string]any{"type": "control_response", "response": body})
}
