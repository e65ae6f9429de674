// Package a2aagent serves an agent to other agents, by the Agent2Agent protocol (A2A).
//
// It stands before a [serve.Server], which runs the sessions and knows the users. A context of the
// protocol is a session, and a task is a prompt in it with all that follows. Tasks are read from the
// sessions, so they outlast the program.
//
//	s := &serve.Server{Token: token, Sessions: sessions, Agent: newAgent}
//	h := &a2aagent.Handler{Server: s, Card: a2a.AgentCard{Name: "Researcher", Description: "Answers questions."}}
//	mux := http.NewServeMux()
//	mux.Handle("/", s)                // optional: the API and the pages
//	mux.Handle("/a2a", h)             // JSON-RPC
//	mux.Handle("/a2a/", h)            // REST
//	mux.Handle("/.well-known/", h)    // the agent card
//	err := http.ListenAndServe("127.0.0.1:4777", mux)
//
// Nothing works without a login of the server, also not the card unless you make it public.
// docs/a2a.md has more.
package a2aagent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/log"

	"github.com/openagent-go/agent/serve"
)

// Paths of the handler.
const (
	rpcPath  = "/a2a"
	restPath = "/a2a/v1"
)

const (
	maxBody    = 10 << 20         // of a request
	keepAlive  = 10 * time.Second // between signs of life of a stream
	writeLimit = 30 * time.Second // for one write to a client
)

// A Handler is an [http.Handler] for the protocol: JSON-RPC at /a2a, REST at /a2a/v1, and the agent
// card at /.well-known/agent-card.json. Do not change or copy it once it is in use.
type Handler struct {
	// Server runs the sessions and decides who may do what. Required.
	Server *serve.Server
	// Card describes the agent: Name and Description are required, and Skills should say what it can
	// do. The handler fills in what you leave empty: interfaces, capabilities, types of content,
	// a version, a skill, and the token as the security scheme if the server has a Token.
	Card a2a.AgentCard
	// URL is where clients reach the handler, such as "https://agents.example.com". "": the address
	// that the request for the card came to.
	URL string
	// PublicCard shows the card to everybody, also without a login.
	PublicCard bool

	once     sync.Once
	mux      *http.ServeMux
	answered answered
}

// callerKey is the key of the client's request in contexts.
type callerKey struct{}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(h.prepare)
	h.mux.ServeHTTP(w, r)
}

func (h *Handler) prepare() {
	o := &operations{h}
	options := []a2asrv.TransportOption{a2asrv.WithTransportKeepAlive(keepAlive), a2asrv.WithTransportPanicHandler(func(v any) error {
		h.log().Error("a request of the A2A protocol panicked", "panic", v)
		return a2a.ErrInternalError
	})}
	h.mux = http.NewServeMux()
	h.mux.Handle(rpcPath, h.guard(a2asrv.NewJSONRPCHandler(o, options...)))
	h.mux.Handle(restPath+"/", h.guard(http.StripPrefix(restPath, a2asrv.NewRESTHandler(o, options...))))
	h.mux.HandleFunc("GET "+a2asrv.WellKnownAgentCardPath, h.card)
}

func (h *Handler) log() *slog.Logger {
	if h.Server.Log != nil {
		return h.Server.Log
	}
	return slog.New(slog.DiscardHandler)
}

// guard lets requests through that the server accepts.
func (h *Handler) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.accepts(w, r, "/openapi.json") {
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			refuse(w, &serve.Error{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Message: "the body has more than 10 MB, or did not come", Hint: "send less at once"})
			return
		}
		out := &timed{w, http.NewResponseController(w)}
		_ = out.SetReadDeadline(time.Time{}) // a ReadTimeout of the server would end streams
		out.Header().Set("X-Content-Type-Options", "nosniff")
		out.Header().Set("Cache-Control", "no-store")
		if v := r.URL.Query().Get(a2a.SvcParamVersion); v != "" {
			r.Header.Set(a2a.SvcParamVersion, v)
		}
		c := &caller{server: h.Server, request: r}
		if h.Server.User != nil {
			name, err := h.Server.User(r)
			if err != nil { // the login has ended just now
				refuse(w, &serve.Error{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "this request has no valid login", Hint: "log in again"})
				return
			}
			c.user = name
		}
		ctx := context.WithValue(log.AttachLogger(r.Context(), h.log()), callerKey{}, c)
		r = r.WithContext(ctx)
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(out, r)
	})
}

// timed bounds the time of each write: a client that reads nothing must not hold a connection.
type timed struct {
	http.ResponseWriter
	*http.ResponseController
}

// Write implements [http.ResponseWriter].
func (w *timed) Write(b []byte) (int, error) {
	_ = w.SetWriteDeadline(time.Now().Add(writeLimit)) // a writer without deadlines has none
	return w.ResponseWriter.Write(b)
}

// Flush implements [http.Flusher]. Then nothing is due.
func (w *timed) Flush() {
	_ = w.SetWriteDeadline(time.Now().Add(writeLimit))
	_ = w.ResponseController.Flush()
	_ = w.SetWriteDeadline(time.Time{})
}

// accepts reports whether the server would answer a request for a path. Otherwise it answers as the
// server does.
func (h *Handler) accepts(w http.ResponseWriter, r *http.Request, path string) bool {
	c := &caller{server: h.Server, request: r}
	header, err := c.send(r.Context(), http.MethodGet, path, nil, nil)
	if err == nil {
		return true
	}
	if wait := header.Get("Retry-After"); wait != "" {
		w.Header().Set("Retry-After", wait)
	}
	refuse(w, err)
	return false
}

// refuse writes an error that is about the request, not about the protocol.
func refuse(w http.ResponseWriter, err error) {
	e := apiError(err)
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": e})
}

// card answers with the agent card.
func (h *Handler) card(w http.ResponseWriter, r *http.Request) {
	path := "/openapi.json"
	if h.PublicCard {
		path = "/v1/health" // the server still checks the name that it is called by
	}
	if !h.accepts(w, r, path) {
		return
	}
	if h.Card.Name == "" || h.Card.Description == "" {
		err := &serve.Error{Status: http.StatusInternalServerError, Code: "no_card", Message: "the agent card has no name or no description", Hint: "the program has to set Handler.Card"}
		h.log().Error("there is no agent card", "error", err.Message+": "+err.Hint)
		refuse(w, err)
		return
	}
	base := strings.TrimRight(h.URL, "/")
	if base == "" {
		scheme := "http://"
		if r.TLS != nil || h.Server.Encrypted {
			scheme = "https://"
		}
		base = scheme + r.Host
	}
	b, err := json.Marshal(h.filled(base))
	if err != nil {
		h.log().Error("writing the agent card failed", "error", err)
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(b)
}

// filled returns the card with what the program has left out.
func (h *Handler) filled(base string) a2a.AgentCard {
	c := h.Card
	c.SupportedInterfaces = []*a2a.AgentInterface{
		a2a.NewAgentInterface(base+rpcPath, a2a.TransportProtocolJSONRPC),
		a2a.NewAgentInterface(base+restPath, a2a.TransportProtocolHTTPJSON),
	}
	c.Capabilities.Streaming = true
	c.Capabilities.PushNotifications = false
	c.Capabilities.ExtendedAgentCard = false
	c.Version = cmp.Or(c.Version, "1")
	if c.DefaultInputModes == nil {
		c.DefaultInputModes = []string{"text/plain", "application/json", "application/pdf", "image/png", "image/jpeg", "image/gif", "image/webp"}
	}
	if c.DefaultOutputModes == nil {
		c.DefaultOutputModes = []string{"text/plain", "application/json"}
	}
	if len(c.Skills) == 0 {
		c.Skills = []a2a.AgentSkill{{ID: "agent", Name: c.Name, Description: c.Description, Tags: []string{"agent"}}}
	}
	if c.SecuritySchemes == nil && h.Server.User == nil {
		c.SecuritySchemes = a2a.NamedSecuritySchemes{"bearer": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
		c.SecurityRequirements = a2a.SecurityRequirementsOptions{{"bearer": a2a.SecuritySchemeScopes{}}}
	}
	return c
}

// maxAnswered is how many answers to questions a handler remembers.
const maxAnswered = 1000

// answered holds the messages that have answered a question, so that one that is sent again does not
// answer the next one.
type answered struct {
	mu    sync.Mutex
	calls map[answerKey]*answerOf
	order []answerKey // the oldest first
}

// An answerKey names a message to a task.
type answerKey struct {
	user    string
	task    a2a.TaskID
	message string
}

// An answerOf is what a message has answered.
type answerOf struct {
	mu   sync.Mutex // held while it answers
	call string     // "": it has answered nothing
}

// of returns what a message has answered. If there are too many, the oldest of the same user is forgotten:
// one user who sends many must not make the handler forget the answers of others.
func (a *answered) of(key answerKey) *answerOf {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls[key] == nil {
		if len(a.order) >= maxAnswered {
			i := max(0, slices.IndexFunc(a.order, func(k answerKey) bool { return k.user == key.user }))
			delete(a.calls, a.order[i])
			a.order = slices.Delete(a.order, i, i+1)
		}
		if a.calls == nil {
			a.calls = map[answerKey]*answerOf{}
		}
		a.calls[key] = &answerOf{}
		a.order = append(a.order, key)
	}
	return a.calls[key]
}

// invalid is an error about the parameters of a request.
func invalid(format string, args ...any) error {
	return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf(format, args...))
}
