package serve

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	_ "embed"
)

// counters count what the server has done.
type counters struct {
	runs, failed atomic.Int64

	mu       sync.Mutex
	requests map[requestKind]int64
}

// requestKind is a kind of requests that are counted together.
type requestKind struct {
	route  string
	status int
}

func (c *counters) request(route string, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == nil {
		c.requests = map[requestKind]int64{}
	}
	c.requests[requestKind{route, status}]++
}

// metrics answers with figures in the text format of Prometheus.
func metrics(s *Server, c *call) (any, error) {
	c.w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	s.mu.Lock()
	opened, streams := s.opened, s.streams
	s.mu.Unlock()
	var b strings.Builder
	line := func(name, kind, help string, value int64) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n%s %d\n", name, help, name, kind, name, value)
	}
	line("openagent_sessions_open", "gauge", "Sessions that are open.", int64(opened))
	line("openagent_streams_open", "gauge", "Streams of events that are open.", int64(streams))
	line("openagent_runs_total", "counter", "Runs that were started.", s.counts.runs.Load())
	line("openagent_runs_failed_total", "counter", "Runs that did not complete.", s.counts.failed.Load())
	if waits, oldest, known, err := s.overdue(c.ctx()); err != nil {
		s.log().Warn("counting the sessions that wait for a worker failed", "error", err)
	} else if known {
		line("openagent_sessions_without_worker", "gauge", "Sessions that want a worker, and have waited for more than ten seconds.", int64(waits))
		line("openagent_sessions_without_worker_seconds", "gauge", "How long the oldest of them waits.", int64(oldest.Seconds()))
	}
	fmt.Fprintf(&b, "# HELP openagent_refused_total Requests that a limit refused.\n# TYPE openagent_refused_total counter\n")
	b.WriteString(strings.Join(s.usage.refusals(), ""))
	fmt.Fprintf(&b, "# HELP openagent_requests_total Requests by route and status.\n# TYPE openagent_requests_total counter\n")
	s.counts.mu.Lock()
	var rows []string
	for k, n := range s.counts.requests {
		rows = append(rows, fmt.Sprintf("openagent_requests_total{route=%q,status=\"%d\"} %d\n", k.route, k.status, n))
	}
	s.counts.mu.Unlock()
	slices.Sort(rows)
	b.WriteString(strings.Join(rows, ""))
	_, err := io.WriteString(c.w, b.String())
	return nil, broken(err)
}

//go:embed openapi.json
var openAPI []byte

// document answers with the description of the API.
func document(_ *Server, c *call) (any, error) {
	c.w.Header().Set("Content-Type", "application/json")
	_, err := c.w.Write(openAPI)
	return nil, broken(err)
}

// loginByCode exchanges a code for a cookie.
func loginByCode(s *Server, c *call) (any, error) {
	if s.User != nil {
		return nil, &Error{http.StatusNotFound, "not_found", "this server has no logins of its own", "log in where you got the address"}
	}
	if c.r.Method == http.MethodHead { // the preview of a link must not use the code up
		return nil, nil
	}
	if s.isForPrograms(c.r) {
		return nil, errForPrograms
	}
	cookie, err := s.login(c.r.URL.Query().Get("code"), "")
	if err != nil {
		return nil, err
	}
	s.setCookie(c, cookie)
	return nil, nil
}
