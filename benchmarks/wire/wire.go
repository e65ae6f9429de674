// Package wire is a server that streams text and calls a tool through the three
// APIs that the measured clients speak: Anthropic Messages, OpenAI Chat
// Completions and OpenAI Responses.
//
// Replies are made beforehand, so that what is measured is the client:
//
//	/burst/2000/…  that many deltas of text, as fast as the socket takes them
//	/flush/2000/…  each event in a write of its own
//	/first/…       a delta that is the time of its writing, between pauses
//	/agent/…       a call of the tool, then a text once its result has come
package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/benchmarks/harness"
)

// A Server answers requests. The zero Server is ready to use.
type Server struct {
	mu     sync.Mutex
	bodies map[string][][]byte // the events of replies, by API and number of deltas
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	a, ok := apis[parts[len(parts)-1]]
	if !ok && len(parts) > 1 {
		a, ok = apis[parts[len(parts)-2]+"/"+parts[len(parts)-1]]
	}
	if !ok {
		http.NotFound(w, r)
		return
	}
	switch parts[0] {
	case "burst", "flush":
		n, err := strconv.Atoi(parts[1])
		if err != nil || n < 1 || n > 1e6 {
			http.Error(w, "how many deltas?", http.StatusBadRequest)
			return
		}
		s.deltas(w, a, n, parts[0] == "flush")
	case "first":
		pause(w, a)
	case "agent":
		converse(w, a, body)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) deltas(w http.ResponseWriter, a *api, n int, flush bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	events := s.events(a, n)
	if !flush {
		w.Write(bytes.Join(events, nil))
		return
	}
	f := http.NewResponseController(w)
	for _, e := range events {
		w.Write(e)
		f.Flush()
	}
}

// events returns the reply of n deltas.
func (s *Server) events(a *api, n int) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprint(a.name, n)
	if s.bodies[key] == nil {
		piece := []byte(fmt.Sprintf(a.delta, harness.Piece))
		events := [][]byte{[]byte(a.head)}
		for range n {
			events = append(events, piece)
		}
		if s.bodies == nil {
			s.bodies = map[string][][]byte{}
		}
		s.bodies[key] = append(events, []byte(a.tail))
	}
	return s.bodies[key]
}

const gap = 10 * time.Millisecond

func pause(w http.ResponseWriter, a *api) {
	w.Header().Set("Content-Type", "text/event-stream")
	f := http.NewResponseController(w)
	io.WriteString(w, a.head)
	f.Flush()
	time.Sleep(gap)
	fmt.Fprintf(w, a.delta, strconv.FormatInt(time.Now().UnixNano(), 10))
	f.Flush()
	time.Sleep(gap)
	io.WriteString(w, a.tail)
}

// converse calls the tool, and says the final words when the tool's result is there.
func converse(w http.ResponseWriter, a *api, request []byte) {
	replies := a.call
	if bytes.Contains(request, []byte(a.result)) {
		replies = a.final
	}
	if bytes.Contains(bytes.ReplaceAll(request, []byte(" "), nil), []byte(`"stream":true`)) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, replies.stream)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, replies.whole)
}
