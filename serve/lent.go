package serve

import (
	"net/http"
	"slices"
	"strings"

	"github.com/openagent-go/agent/session"
)

// This file is about a server of one session, see [Server].Session.

// lentWrites are the routes by which users change a session that the program runs itself: they answer
// its questions, and send messages to its run.
var lentWrites = []string{
	"POST /v1/sessions/{id}/messages", "POST /v1/sessions/{id}/interrupt", "POST /v1/sessions/{id}/calls/{call}/decision", "POST /v1/sessions/{id}/calls/{call}/answers",
	"POST /s/{id}/messages", "POST /s/{id}/interrupt", "POST /s/{id}/calls/{call}",
}

// lentReads are the routes without a session in their path that such a server has.
var lentReads = []string{"GET /{$}", "GET /openapi.json", "GET /metrics"}

// checkLent refuses what a server of one session does not serve: other sessions, lists of them, and
// changes that the program makes itself.
func (s *Server) checkLent(c *call, at route) error {
	if s.Session == nil || at.open || strings.Contains(at.path, "/shares") {
		return nil
	}
	if !strings.Contains(at.path, "{id}") {
		if slices.Contains(lentReads, at.pattern()) {
			return nil
		}
		return &Error{http.StatusNotFound, "one_session", "this server shows one session", "start openagent serve for all of them"}
	}
	if c.r.PathValue("id") != s.Session.ID {
		return session.ErrNotFound
	}
	if at.method == http.MethodGet || slices.Contains(lentWrites, at.pattern()) {
		return nil
	}
	return errLent
}

// errLent means that only the program which runs a session can do something with it.
var errLent = &Error{http.StatusConflict, "at_terminal", "the session runs in the program that shows it here", "do this there"}

// lent reports whether the program runs the session itself.
func (l *live) lent() bool { return l.server.Session != nil && l.server.Session == l.hosted.get() }

// toldWatched tells the program how many streams there are.
func (s *Server) toldWatched() {
	if s.Watched == nil {
		return
	}
	s.telling.Lock()
	defer s.telling.Unlock()
	s.mu.Lock()
	n := s.streams
	s.mu.Unlock()
	s.sharing.mu.Lock()
	n += s.sharing.streams
	s.sharing.mu.Unlock()
	s.Watched(n)
}
