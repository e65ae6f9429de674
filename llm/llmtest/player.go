package llmtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"github.com/openagent-go/agent/internal/promptcache"
	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
)

// wire is one of the APIs.
type wire interface {
	check(body []byte, host strictapi.Host) []strictapi.Violation
	checkParsed(v any, host strictapi.Host) []strictapi.Violation
	hasKey(h http.Header) bool
	versionHeader() string // "" if it has none
	requestID() string     // name of the header
	read(r *Request, body strictapi.Object)
	idPrefix() string
	// body returns a blocking reply, events a streamed one.
	body(r llm.Response) strictapi.Object
	events(r llm.Response, request *Request, pieces int) [][]byte
	failure(r refusal) strictapi.Object
	failureEvent(r refusal) []byte
}

// player answers one request with one step.
type player struct {
	s       *Server
	w       http.ResponseWriter
	ctx     context.Context
	step    Step
	api     wire
	request *Request
}

func (p player) play() {
	switch {
	case p.step.CutAfter < 0:
		p.hangUp()
	case p.step.fails():
		r := p.step.refusal()
		if r.status == 0 {
			p.hangUp()
		}
		refuse(p.w, p.api, r)
	case p.step.Raw != nil:
		p.playBody(p.step.Raw, "text/html")
	default:
		p.playAnswer()
	}
}

func (p player) playAnswer() {
	r := p.step.response(&p.request.Request, func() string { return p.s.newID(p.api.idPrefix()) })
	r.ID = cmp.Or(r.ID, p.s.newID("msg_"))
	r.Model = cmp.Or(r.Model, p.request.Model)
	var cache *promptcache.Cache
	if _, ok := p.api.(anthropicWire); ok && p.s.Cache {
		cache = &p.s.prompts
	}
	r.Usage = p.request.usage(r, cache)
	if p.request.Blocking {
		data, err := json.Marshal(p.api.body(r))
		if err != nil {
			refuse(p.w, p.api, refusal{status: http.StatusInternalServerError, message: "encoding the step: " + err.Error()})
			return
		}
		p.playBody(data, "application/json")
		return
	}
	events := p.api.events(r, p.request, p.step.Pieces)
	p.writeHeader("text/event-stream", -1)
	p.flush()
	p.write(len(events), true, func(i int) []byte { return events[i] })
}

func (s *Server) newID(prefix string) string { return fmt.Sprintf("%s%06d", prefix, s.ids.Add(1)) }

// playBody sends a body that is not a stream of events.
func (p player) playBody(body []byte, contentType string) {
	size := len(body)
	if p.step.CutAfter > 0 && p.step.Cut == cutEnd {
		size = -1
	}
	p.writeHeader(contentType, size)
	if p.step.CutAfter == 0 && p.step.Stall == 0 && p.step.EventDelay == 0 {
		p.w.Write(body) // a client that left does not read it
		return
	}
	p.write(len(body), false, func(i int) []byte { return body[i : i+1] })
}

// writeHeader sends status and header; a negative size means chunks.
func (p player) writeHeader(contentType string, size int) {
	h := p.w.Header()
	h.Set("Content-Type", contentType)
	if size >= 0 {
		h.Set("Content-Length", strconv.Itoa(size))
	}
	for k, v := range p.step.Header {
		h[http.CanonicalHeaderKey(k)] = v
	}
	status := http.StatusOK
	if p.step.Raw != nil {
		status = cmp.Or(p.step.Status, status)
	}
	p.w.WriteHeader(status)
}

func (p player) flush() { http.NewResponseController(p.w).Flush() }

// write sends n units with the faults of the step. Faults may also come after the last one.
func (p player) write(n int, events bool, unit func(int) []byte) {
	for i := range n + 1 {
		if p.step.Stall > 0 && i == p.step.StallAfter {
			p.flush()
			if wait(p.ctx, p.step.Stall) != nil {
				return
			}
		}
		if p.step.CutAfter > 0 && i == p.step.CutAfter {
			p.flush()
			if p.cut(events) {
				return
			}
		}
		if i == n {
			return
		}
		if p.step.EventDelay > 0 {
			p.flush()
			if wait(p.ctx, p.step.EventDelay) != nil {
				return
			}
		}
		if _, err := p.w.Write(unit(i)); err != nil {
			return
		}
		if events {
			p.flush()
		}
	}
}

// cut cuts the reply as the step says and reports whether it is over.
func (p player) cut(events bool) bool {
	switch {
	case p.step.Cut == cutEnd:
		return true
	case p.step.Cut == cutError && events:
		r := p.step.refusal()
		r.status = cmp.Or(r.status, 529)
		r.message = cmp.Or(r.message, faultOf(r.status).message)
		p.w.Write(p.api.failureEvent(r)) // a client that left does not read it
		return true
	case p.step.Cut == cutGarbage && events:
		p.w.Write([]byte("data: {\"type\": \"content_bl\n\n"))
		return false
	}
	p.hangUp()
	return true
}

// hangUp closes the connection, or resets it, at once.
func (p player) hangUp() {
	if tcp, ok := p.ctx.Value(connKey{}).(*net.TCPConn); ok && p.step.Cut == cutReset {
		tcp.SetLinger(0) // this turns closing into a reset; without it a plain close remains
	}
	panic(http.ErrAbortHandler)
}

// refuse answers with a failure in the API's envelope.
func refuse(w http.ResponseWriter, api wire, r refusal) {
	r.message = cmp.Or(r.message, faultOf(r.status).message)
	for k, v := range r.header {
		w.Header()[http.CanonicalHeaderKey(k)] = v
	}
	writeJSON(w, r.status, api.failure(r))
}

func writeJSON(w http.ResponseWriter, status int, v strictapi.Object) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // objects made here of strings and numbers
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	w.Write(data) // a client that left does not read it
}
