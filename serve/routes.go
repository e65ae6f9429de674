package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/connlimit"
	"github.com/openagent-go/agent/session"
)

// A route is a row of the API. openapi.json is made of these rows.
type route struct {
	method, path string
	summary      string
	do           func(s *Server, c *call) (any, error) // nil answer: it has answered itself
	query        []parameter
	in, out      any // zero values of the bodies; nil: none
	status       int // of a success; 0: 200
	open         bool
	fail         func(*call, *Error) // writes errors as another protocol does; nil: they are as usual
}

// A parameter is one of a query.
type parameter struct{ name, kind, about string }

func (at route) pattern() string { return at.method + " " + at.path }

// routes are all routes of the server.
var routes []route

func init() {
	routes = []route{
		{method: "GET", path: "/v1/health", summary: "Tell that the server works. It needs no token.", do: health, out: healthy{}, open: true},
		{method: "GET", path: "/v1/sessions", summary: "List the sessions, the one changed last first.", do: listSessions, out: sessionList{}, query: []parameter{
			{"q", "string", "only sessions with this text in their title, tag or first prompt"}, {"state", "string", "only sessions in this state"}, {"tag", "string", "only sessions with this tag"}, {"dir", "string", "only sessions of this folder"},
			{"limit", "integer", "the most sessions to return, 100 if it is not given"}, {"before", "string", "only sessions that were changed before this time"}}},
		{method: "POST", path: "/v1/sessions", summary: "Begin a session with a prompt. With an id that you choose, the request can be sent again.", do: createSession, in: creation{}, out: accepted{}, status: 201},
		{method: "GET", path: "/v1/sessions/{id}", summary: "Get a session.", do: getSession, out: sessionInfo{}},
		{method: "PATCH", path: "/v1/sessions/{id}", summary: "Change the title, the tag, the permission mode or the budget of a session.", do: changeSession, in: changes{}, out: sessionInfo{}},
		{method: "DELETE", path: "/v1/sessions/{id}", summary: "Delete a session that nobody uses.", do: deleteSession, out: done{}},
		{method: "GET", path: "/v1/sessions/{id}/events", summary: "Get a page of facts. With Accept: text/event-stream, get them as a stream that continues with the events of runs.", do: sessionEvents, out: eventPage{}, query: []parameter{
			{"after", "integer", "only facts with a higher number; Last-Event-ID counts as well"}, {"limit", "integer", "the most facts in a page, 1000 if it is not given"}, {"types", "string", "only these types, separated by commas, in a page"}}},
		{method: "POST", path: "/v1/sessions/{id}/messages", summary: "Send a message. A known id is ignored, so the request can be sent again.", do: sendMessage, in: message{}, out: accepted{}, status: 202},
		{method: "GET", path: "/v1/sessions/{id}/messages/{message}", summary: "Tell what became of a message: it is on record, waits, or was rejected.", do: getMessage, out: messageState{}},
		{method: "POST", path: "/v1/sessions/{id}/interrupt", summary: "Stop the run.", do: interrupt, out: interrupted{}},
		{method: "POST", path: "/v1/sessions/{id}/resume", summary: "Continue a run that a crash cut short, or that was suspended.", do: resume, out: done{}, status: 202},
		{method: "POST", path: "/v1/sessions/{id}/compact", summary: "Summarise the conversation.", do: compact, in: compaction{}, out: done{}, status: 202},
		{method: "POST", path: "/v1/sessions/{id}/fork", summary: "Make a new session with the past of this one.", do: fork, in: position{}, out: forked{}, status: 201},
		{method: "POST", path: "/v1/sessions/{id}/rewind", summary: "Let the conversation continue from an earlier fact, bring its files back, or both. A dry run says which files would change, and how.", do: rewind, in: rewinding{}, out: rewound{}},
		{method: "GET", path: "/v1/sessions/{id}/pending", summary: "List the questions that wait for a person.", do: pending, out: questionList{}},
		{method: "POST", path: "/v1/sessions/{id}/calls/{call}/decision", summary: "Allow or deny a call. The first decision counts.", do: decide, in: decision{}, out: done{}},
		{method: "POST", path: "/v1/sessions/{id}/calls/{call}/answers", summary: "Answer the questions of a call. The first answers count.", do: answer, in: answers{}, out: done{}},
		{method: "GET", path: "/v1/sessions/{id}/context", summary: "Get the size of the next request by category. It needs a session that is open here.", do: contextUsage, out: agent.ContextUsage{}},
		{method: "GET", path: "/v1/sessions/{id}/cost", summary: "Get the cost of the runs so far.", do: cost, out: spent{}},
		{method: "GET", path: "/v1/sessions/{id}/export", summary: "Get the conversation as a file.", do: exportSession, query: []parameter{{"format", "string", "markdown, json or html; html if it is not given"}}},
		{method: "GET", path: "/v1/shares", summary: "List your shares, the newest first.", do: listShares, out: shareList{}},
		{method: "POST", path: "/v1/shares/preview", summary: "List what a share would hide. Nothing is shared yet.", do: previewShare, in: shareRequest{}, out: sharePreview{}},
		{method: "POST", path: "/v1/shares", summary: "Make the link of a preview.", do: createShare, in: shareConfirmed{}, out: shareMade{}, status: 201},
		{method: "DELETE", path: "/v1/shares/{share}", summary: "Revoke a share. Its streams end at once.", do: deleteShare, out: done{}},
		{method: "GET", path: "/share/{token}/events", summary: "Get what happens in a shared session as a stream, without secrets. The link is enough.", do: shareEvents, open: true},
		{method: "GET", path: "/v1/sessions/{id}/todos", summary: "Get the model's list of steps.", do: todos, out: todoList{}},
		{method: "GET", path: "/v1/sessions/{id}/agents", summary: "List the sub-agents.", do: agents, out: agentList{}},
		{method: "GET", path: "/v1/sessions/{id}/files", summary: "List the files that calls have read or changed.", do: files, out: fileList{}, query: []parameter{
			{"since", "integer", "only by calls after this fact"}, {"diff", "boolean", "true: with the diffs of the calls"}}},
		{method: "GET", path: "/v1/models", summary: "List the models whose properties are known, and those of your sessions. Your server may reach more or fewer.", do: models, out: modelList{}},
		{method: "GET", path: "/v1/tools", summary: "List the tools of a session's last prompt.", do: toolsOf, out: toolList{}, query: []parameter{{"session", "string", "id of the session"}}},
		{method: "GET", path: "/v1/stats", summary: "Get what your sessions have cost, and how their tools did.", do: stats, out: figures{}},
		{method: "GET", path: "/v1/events", summary: "Get changes of the list of sessions as a stream.", do: listEvents},
		{method: "GET", path: "/metrics", summary: "Get figures in the text format of Prometheus.", do: metrics},
		{method: "GET", path: "/openapi.json", summary: "Get this document.", do: document},
		{method: "GET", path: "/login", summary: "Log a browser in with a code. It answers with a cookie and sends the browser to the first page.", do: loginByCode, open: true, query: []parameter{{"code", "string", "a code that works once"}}},
	}
}

// A call is a request to a route.
type call struct {
	w    http.ResponseWriter
	r    *http.Request
	user string
	by   string // how decisions name the user

	status int // of the answer; 0: that of the route
}

// waits takes the error of something that waits for a worker as a success, with a state and a status.
func (c *call) waits(err error, state *string) error {
	if !errors.Is(err, errWaiting) {
		return err
	}
	*state, c.status = waiting, errWaiting.Status
	return nil
}

func (c *call) ctx() context.Context { return c.r.Context() }

// place returns the session of the path.
func (c *call) place() place { return place{c.user, c.r.PathValue("id")} }

// An endpoint serves a route.
type endpoint struct {
	server *Server
	route
	page bool // its errors are pages
}

// ServeHTTP implements [http.Handler].
func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{w: w, r: r}
	out, err := e.answer(c)
	switch {
	case !errors.Is(err, errWaiting):
	case e.page && r.PathValue("id") != "":
		c.back(r.PathValue("id")) // the page says that it waits
		return
	case !e.page:
		out, err = done{OK: true, State: waiting}, nil
		c.status = errWaiting.Status
	}
	if err != nil && errorOf(err).Status == http.StatusInternalServerError && c.ctx().Err() == nil {
		e.server.log().Error("a request failed", "route", e.pattern(), "error", err)
	}
	e.server.noteRefusal(w, err)
	if err != nil && errorOf(err).Status == http.StatusInternalServerError && e.server.isClosed() {
		err = errClosed // the shutdown closed a session that the request used
	}
	switch {
	case err != nil && e.fail != nil:
		e.fail(c, errorOf(err))
	case err != nil && (e.page || e.path == "/login"):
		e.failPage(c, err)
	case err != nil:
		writeError(w, err)
	case out != nil:
		writeJSON(w, cmp.Or(c.status, e.status, http.StatusOK), out)
	}
}

func (e endpoint) answer(c *call) (any, error) {
	if !e.open {
		var err error
		if c.user, c.by, err = e.server.user(c.r); err != nil {
			return nil, err
		}
		if err := e.server.countRequest(c.user, c.by); err != nil {
			return nil, err
		}
		connlimit.Admit(c.ctx())
	}
	if e.server.ReadOnly && e.method != http.MethodGet && !e.open {
		return nil, &Error{http.StatusForbidden, "read_only", "this server only shows sessions", "start it without read-only to send messages"}
	}
	if err := e.server.checkWorkers(e.route); err != nil {
		return nil, err
	}
	if strings.Contains(e.path, "{id}") {
		if err := session.CheckID(c.r.PathValue("id")); err != nil {
			return nil, err
		}
	}
	if err := e.server.checkLent(c, e.route); err != nil {
		return nil, err
	}
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, maxBody)
	return e.do(e.server, c)
}

// serve answers a request and returns its route, for logs.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) string {
	setHeaders(w.Header())
	if err := s.checkOrigin(r); err != nil {
		writeError(w, err)
		return "refused"
	}
	r, answered := s.cors(w, r)
	if answered {
		return "preflight"
	}
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		writeError(w, errClosed)
		return "closed"
	}
	h, pattern := s.routes.Handler(r)
	if pattern == "" {
		user, by, err := s.user(r) // strangers do not learn which paths there are
		if err == nil {
			err = s.countRequest(user, by)
		}
		if err != nil {
			s.noteRefusal(w, err)
			writeError(w, err)
			return "unknown"
		}
		known := &recorder{ResponseWriter: discard{http.Header{}}}
		h.ServeHTTP(known, r)
		if known.code() == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", known.Header().Get("Allow"))
			writeError(w, &Error{http.StatusMethodNotAllowed, "method_not_allowed", "this path does not accept " + r.Method, "/openapi.json lists the methods"})
		} else {
			writeError(w, &Error{http.StatusNotFound, "not_found", "there is no such path", "/openapi.json lists the paths"})
		}
		return "unknown"
	}
	s.routes.ServeHTTP(w, r)
	return pattern
}

// setHeaders sets the headers of all answers.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

var errClosed = &Error{http.StatusServiceUnavailable, "shutting_down", "the server is shutting down", "try again in a moment"}

func bad(format string, args ...any) *Error {
	return &Error{http.StatusBadRequest, "bad_request", fmt.Sprintf(format, args...), "/openapi.json describes the request"}
}

// errorOf returns the answer for an error.
func errorOf(err error) *Error {
	var e *Error
	var large *http.MaxBytesError
	var end *agent.EndError
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &large):
		return &Error{http.StatusRequestEntityTooLarge, "too_large", "the body has more than 10 MB", "send less at once"}
	case errors.Is(err, session.ErrBadID):
		return bad("the session id is not valid")
	case errors.Is(err, session.ErrNotFound):
		return &Error{http.StatusNotFound, "not_found", "there is no such session, or no such fact in it", "GET /v1/sessions lists the sessions"}
	case errors.Is(err, session.ErrBusy):
		message := "the session is in use"
		if known := interface{ Busy() string }(nil); errors.As(err, &known) {
			message += " by " + known.Busy()
		}
		return &Error{http.StatusConflict, "session_busy", message, "steer the run or wait for its end; if another program has the session, close it there"}
	case errors.Is(err, session.ErrExists):
		return &Error{http.StatusConflict, "exists", "there is such a session already", "choose another id"}
	case errors.Is(err, agent.ErrNotRunning):
		return &Error{http.StatusConflict, "not_running", "no prompt is running in the session", "send a prompt"}
	case errors.Is(err, agent.ErrNotResumable):
		return &Error{http.StatusConflict, "not_resumable", "the last run of the session has ended", "send a prompt"}
	case errors.Is(err, agent.ErrSuspended):
		return &Error{http.StatusConflict, "suspended", "the session waits for a decision", "GET …/pending lists the questions"}
	case errors.Is(err, agent.ErrNoQuestion):
		return &Error{http.StatusConflict, "no_question", "the call does not wait for an answer", "GET …/pending lists the questions"}
	case errors.Is(err, agent.ErrEmptyPrompt):
		return bad("the message is empty")
	case errors.Is(err, agent.ErrConfig):
		return bad("%v", err)
	case errors.As(err, &end):
		return &Error{http.StatusConflict, "run_failed", end.Error(), "the events of the session have more"}
	}
	return &Error{http.StatusInternalServerError, "internal", "the server could not do this", "its log says why"}
}

// writeError writes the answer for an error.
func writeError(w http.ResponseWriter, err error) {
	e := errorOf(err)
	writeJSON(w, e.Status, failure{e})
}

// A failure is the body of an answer to a request that failed.
type failure struct {
	Error *Error `json:"error"`
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"the answer could not be written"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n'))
}

// read reads the body of a request. An empty body is an empty object.
func (c *call) read(into any) error {
	if kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		if c.r.ContentLength == 0 {
			return nil
		}
		return &Error{http.StatusUnsupportedMediaType, "not_json", "the body must be JSON", "send Content-Type: application/json"}
	}
	d := json.NewDecoder(c.r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
			return err
		}
		return bad("the body is not valid: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return bad("the body has more than one value")
	}
	return nil
}

// A recorder notes the status and the size of an answer.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.hurry()
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// FlushError lets [http.ResponseController] send what was written. Then nothing is due.
func (r *recorder) FlushError() error {
	r.hurry()
	out := http.NewResponseController(r.ResponseWriter)
	err := out.Flush()
	_ = out.SetWriteDeadline(time.Time{})
	return err
}

// hurry bounds the time of a write: a client that reads nothing must not hold a connection.
func (r *recorder) hurry() {
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(writeLimit)) // a writer without deadlines has none
}

// Unwrap lets [http.ResponseController] find the writer.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) code() int { return r.status }

// discard is a writer whose answer nobody reads.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
