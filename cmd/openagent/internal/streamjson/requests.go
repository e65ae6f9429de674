package streamjson

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/session"
)

// requests are the control requests to the host that wait for answers.
type requests struct {
	mu        sync.Mutex
	settled   *sync.Cond // signals that a request was closed
	waiting   map[string]chan replyEnvelope
	questions int           // those of them that ask a person
	gone      chan struct{} // closed when no host answers any more
}

func newRequests() *requests {
	r := &requests{waiting: map[string]chan replyEnvelope{}, gone: make(chan struct{})}
	r.settled = sync.NewCond(&r.mu)
	return r
}

// A replyEnvelope is the body of a control_response from the host.
type replyEnvelope struct {
	Subtype  string          `json:"subtype"`
	ID       string          `json:"request_id"`
	Response json.RawMessage `json:"response"`
	Error    string          `json:"error"`
}

// errHost is matched by the error of a request that the host answered with an error.
var errHost = errors.New("the host answered with an error")

// request sends a control request and waits for its answer. The error is app.ErrNoPerson if no host
// answers any more. A request that ends with ctx is withdrawn.
func (d *Session) request(ctx context.Context, body any, question bool) (json.RawMessage, error) {
	return d.send(body, question)(ctx)
}

// send sends a control request and returns a function that waits for its answer. It must be called.
func (d *Session) send(body any, question bool) func(context.Context) (json.RawMessage, error) {
	r := d.requests
	id, answers := r.expect(question)
	if question {
		d.tellState("requires_action")
	}
	d.out.ask(controlRequest{Type: "control_request", ID: id, Request: body, Origin: d.sign()})
	return func(ctx context.Context) (json.RawMessage, error) {
		defer r.forget(id, question)
		if question {
			defer d.tellState("running")
		}
		select {
		case e := <-answers:
			if e.Subtype != "success" {
				return nil, fmt.Errorf("%w: %s", errHost, cmp.Or(cli.Clip(e.Error), "no reason given"))
			}
			return e.Response, nil
		case <-r.gone:
			return nil, app.ErrNoPerson
		case <-ctx.Done():
			d.out.ask(cancelRequest{Type: "control_cancel_request", ID: id, Origin: d.sign()})
			return nil, ctx.Err()
		}
	}
}

// expect prepares for the answer to a new request.
func (r *requests) expect(question bool) (id string, answers chan replyEnvelope) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, answers = "req_"+session.NewID(), make(chan replyEnvelope, 1)
	r.waiting[id] = answers
	if question {
		r.questions++
	}
	return id, answers
}

func (r *requests) forget(id string, question bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, id)
	if question {
		r.questions--
	}
	r.settled.Broadcast()
}

// rest waits until no question is open, so that no question is withdrawn after its run's result.
func (r *requests) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.questions > 0 {
		r.settled.Wait()
	}
}

// answer handles a reply. It ignores replies to closed requests.
func (r *requests) answer(e replyEnvelope) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if answers, ok := r.waiting[e.ID]; ok {
		delete(r.waiting, e.ID)
		answers <- e
	}
}

// close ends every open request without an answer.
func (r *requests) close() { close(r.gone) }
