package llmtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/internal/httptape"
	"github.com/openagent-go/agent/internal/promptcache"
	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
)

const (
	maxBody     = 32 << 20  // bytes; as the Messages API
	maxRecorded = 256 << 20 // bytes of bodies that a server keeps
	pipeURL     = "http://llm.test"
)

// A Server speaks the Anthropic Messages API (POST …/messages, …/count_tokens),
// the OpenAI Chat Completions API (POST …/chat/completions) and the OpenAI
// Responses API (POST …/responses), blocking and streaming, and answers with steps.
// It also serves the Messages API as Amazon Bedrock (POST /model/…/invoke) and
// Vertex AI (POST …/models/…:rawPredict) do, and counts tokens as each of them does. A request that breaks a rule of its API
// gets status 400 and the provider's words, uses up no step and is on record.
//
// The zero Server refuses every request. Fields must not change after the
// first request; [Server.Listen] serves on loopback, [Server.Client] in memory. Close it.
type Server struct {
	Steps []Step // the answers, in order
	Rule  Rule   // answers the requests after Steps

	Lenient bool   // answer requests that break rules; they are on record all the same
	Keyless bool   // take requests without a key, as local hosts do
	Host    string // whose rules Chat Completions has: openai, the default, compat (hosts without rules of their own), deepseek, gemini, glm, groq, kimi, llamacpp, lmstudio, mistral, ollama, vllm or xai

	// Limits of the model in tokens, at four bytes a token; 0: none. A prompt beyond Window
	// is refused (rule A53) and that is not a violation; a max_tokens beyond MaxOutput is
	// one (A52).
	Window, MaxOutput int

	// Cache counts the input of requests to the Messages API whose step has no usage as the
	// provider's prompt cache does. Without it all input is read without a cache.
	Cache bool

	// URL is the base URL: for Anthropic as it is, for OpenAI with or without
	// /v1. Listen sets it, and Client where it is empty: in memory any will do.
	URL string

	test      tb // of Start; nil: none
	prompts   promptcache.Cache
	mu        sync.Mutex
	requests  []*Request
	recorded  int
	steps     int
	ids       atomic.Int64
	active    atomic.Int64 // requests being handled
	http      *http.Server
	pipe      *pipeListener
	transport *http.Transport
	closed    bool
	serving   sync.WaitGroup // listeners
	conns     sync.WaitGroup
}

// NewServer returns a server on loopback that plays steps until the test ends. t is a
// *testing.T or *testing.B. It fails the test if a request broke a rule or had no step, unless Lenient is set by then. For a
// server with other fields, see [Server.Start].
func NewServer(t tb, steps ...Step) *Server {
	t.Helper()
	s := &Server{Steps: steps}
	s.Start(t)
	return s
}

// Start serves on loopback until the test ends, and sets URL. It fails the test if a
// request broke a rule or had no step, unless Lenient is set by then.
//
//	server := &llmtest.Server{Rule: llmtest.Cast(parts), Host: "groq"}
//	server.Start(t)
func (s *Server) Start(t tb) {
	t.Helper()
	s.until(t)
	if err := s.Listen(); err != nil {
		t.Fatalf("starting the model server: %v", err)
	}
}

// NewPipe is like [NewServer] for a server in memory, reached by its Client at
// its URL: for testing/synctest, where a socket would stop the clock.
func NewPipe(t tb, steps ...Step) *Server {
	t.Helper()
	s := &Server{Steps: steps, URL: pipeURL}
	s.until(t)
	return s
}

// until closes the server when the test ends, and fails the test if a request broke a rule.
func (s *Server) until(t tb) {
	s.test = t
	t.Cleanup(func() {
		s.Close()
		if s.Lenient {
			return
		}
		for _, v := range s.Violations() {
			t.Errorf("%s", v)
		}
	})
}

// Listen serves on a free loopback port and sets URL.
func (s *Server) Listen() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		if l, err = net.Listen("tcp6", "[::1]:0"); err != nil {
			return fmt.Errorf("listening on loopback: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.serve(l); err != nil {
		return err
	}
	s.URL = "http://" + l.Addr().String()
	return nil
}

// Client returns an HTTP client whose connections lead to this server through memory, for
// every URL. For https it leaves TLS out, so that a client can be made to think that it
// talks to a provider. All clients share a transport.
func (s *Server) Client() *http.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pipe == nil {
		s.URL = cmp.Or(s.URL, pipeURL)
		s.pipe = newPipeListener()
		s.transport = &http.Transport{DialContext: s.pipe.dial, DialTLSContext: s.pipe.dial}
		if s.serve(s.pipe) != nil {
			s.pipe.Close() // a closed server: every request will fail
		}
	}
	return &http.Client{Transport: s.transport}
}

// serve starts serving l, which it closes if the server is closed. s.mu is held.
func (s *Server) serve(l net.Listener) error {
	if s.closed {
		l.Close()
		return errors.New("llmtest: the server is closed")
	}
	if s.http == nil {
		s.http = &http.Server{
			Handler:           http.HandlerFunc(s.handle),
			ErrorLog:          log.New(io.Discard, "", 0),
			ReadHeaderTimeout: time.Minute,
			ConnState:         s.track,
			ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		}
	}
	s.serving.Go(func() { s.http.Serve(l) }) // ends with the listener
	return nil
}

type connKey struct{}

func (s *Server) track(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.conns.Add(1)
	case http.StateClosed:
		s.conns.Done()
	}
}

// Close ends every connection and waits until no goroutine of the server runs. Pending
// replies break off. It may be called twice.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	server, transport := s.http, s.transport
	s.mu.Unlock()
	if server == nil {
		return
	}
	server.Close() // also closes the listeners; nothing to do about an error
	s.serving.Wait()
	server.Close() // a connection accepted in the meantime
	s.conns.Wait()
	if transport != nil {
		transport.CloseIdleConnections()
	}
}

// Requests returns the requests so far, refused ones included, those to count
// tokens only if they broke a rule. Beyond 256 MB of bodies only their headers are kept.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Violations returns the rules that requests broke so far, each as a line with the number
// of the request, from 0, the rule, the part of the body as the provider names it, and the
// provider's answer. Rules are A01 to A55 for Anthropic Messages, O01 to O29 for OpenAI Chat
// Completions, O40 to O50 for single hosts of it, R01 to R31 for OpenAI Responses, A00, O00
// and R00 for a body that is not JSON, and H01 to H04 for headers: key, anthropic-version,
// content type, Content-Length.
func (s *Server) Violations() []string {
	var out []string
	for i, r := range s.Requests() {
		for _, v := range r.broken {
			out = append(out, fmt.Sprintf("request %d to the model broke rule %s at %q: %s", i, v.Rule, v.Path, v.Message))
		}
	}
	return out
}

// handle routes a request.
func (s *Server) handle(w http.ResponseWriter, hr *http.Request) {
	s.active.Add(1)
	defer s.active.Add(-1)
	path := strings.TrimRight(hr.URL.Path, "/")
	var api wire = anthropicWire{}
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		api = openaiWire{}
	case strings.HasSuffix(path, "/responses"):
		api = responsesWire{}
	}
	id := fmt.Sprintf("req_%06d", s.ids.Add(1))
	w.Header().Set(api.requestID(), id)
	if c := countingOf(hr.URL); c != nil && hr.Method == http.MethodPost {
		s.count(w, hr, c)
		return
	}
	if p := platformOf(hr.URL); p != nil && hr.Method == http.MethodPost {
		s.answerPlatform(w, hr, p)
		return
	}
	switch {
	case hr.Method == http.MethodGet && strings.HasSuffix(path, "/models"):
		writeJSON(w, http.StatusOK, strictapi.Object{"object": "list", "has_more": false, "data": []strictapi.Object{{
			"id": provider, "type": "model", "object": "model", "display_name": provider, "created": 0, "owned_by": provider,
		}}})
	case hr.Method != http.MethodPost:
		refuse(w, api, refusal{status: http.StatusNotFound})
	case strings.HasSuffix(path, "/messages"), strings.HasSuffix(path, "/chat/completions"), strings.HasSuffix(path, "/responses"):
		s.answer(w, hr, api)
	default:
		refuse(w, api, refusal{status: http.StatusNotFound})
	}
}

// answerPlatform answers a request that comes by way of Bedrock or Vertex.
func (s *Server) answerPlatform(w http.ResponseWriter, hr *http.Request, p *platform) {
	path := hr.URL.Path
	w, hr, broken, unread := p.translate(w, hr)
	if unread != nil {
		refuse(w, anthropicWire{}, *unread)
		return
	}
	if len(broken) > 0 && !s.Lenient {
		s.record(&Request{Path: path, Header: hr.Header, broken: broken}, false)
		refuse(w, anthropicWire{}, refusal{status: http.StatusBadRequest, message: broken[0].Message})
		return
	}
	s.answer(w, hr, anthropicWire{})
}

// readBody reads a body of known length, as the real APIs want it.
func readBody(hr *http.Request) ([]byte, *refusal) {
	if hr.ContentLength < 0 {
		return nil, &refusal{status: http.StatusLengthRequired, rules: []string{"H04"}}
	}
	if hr.ContentLength > maxBody {
		io.Copy(io.Discard, io.LimitReader(hr.Body, 4*maxBody)) // so that the client reads the answer
		return nil, &refusal{status: http.StatusRequestEntityTooLarge}
	}
	body, err := io.ReadAll(io.LimitReader(hr.Body, maxBody))
	if err != nil {
		return nil, &refusal{status: http.StatusBadRequest, message: "reading the request body: " + err.Error()}
	}
	return body, nil
}

// answer checks a request, records it, and plays the step that is due.
func (s *Server) answer(w http.ResponseWriter, hr *http.Request, api wire) {
	body, unread := readBody(hr)
	r := &Request{Path: hr.URL.Path, Header: hr.Header.Clone(), Body: body}
	var verdict *refusal
	if unread != nil {
		verdict = unread
		for _, rule := range unread.rules {
			r.broken = append(r.broken, strictapi.Violation{Rule: rule, Path: "Content-Length", Message: faultOf(unread.status).message})
		}
	} else {
		v, err := strictapi.Parse(body)
		if err == nil {
			api.read(r, strictapi.ObjectOf(v))
			r.wantsUsage = r.wantsUsage || strictapi.Host(s.Host) == strictapi.Mistral // which tells it unasked
		}
		r.broken = append(s.checkHeader(hr.Header, api), s.check(api, r, v, err)...)
		verdict = s.judge(r)
	}
	n := s.record(r, verdict == nil)
	if verdict != nil {
		refuse(w, api, *verdict)
		return
	}
	step := s.due(r, n)
	var wrong *httptape.MismatchError
	if errors.As(step.Err, &wrong) && s.test != nil && !s.Lenient {
		s.test.Errorf("%v", wrong)
	}
	if wait(hr.Context(), step.Delay) != nil {
		return
	}
	player{s: s, w: w, ctx: hr.Context(), step: step, api: api, request: r}.play()
}

// due returns the step for a request, with its Reply made. A panic in a rule is a mismatch,
// for the HTTP server would hide it.
func (s *Server) due(r *Request, n int) (step Step) {
	defer func() {
		if p := recover(); p != nil {
			step = mismatch("the rule for request %d panicked: %v", n+1, p)
		}
	}()
	if step = stepFor(s.Steps, s.Rule, r, n); step.Reply != nil {
		answer := step.Reply(&r.Request)
		step.Reply = func(*llm.Request) llm.Response { return answer }
	}
	return step
}

func (s *Server) check(api wire, r *Request, v any, err error) []strictapi.Violation {
	if err != nil {
		return api.check(r.Body, strictapi.Host(s.Host))
	}
	broken := api.checkParsed(v, strictapi.Host(s.Host))
	if s.MaxOutput > 0 && r.MaxTokens > s.MaxOutput {
		broken = append(broken, strictapi.Violation{Rule: "A52", Path: "max_tokens", Message: fmt.Sprintf(
			"max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", r.MaxTokens, s.MaxOutput, r.Model)})
	}
	return broken
}

// checkHeader returns the rules for headers that a request breaks.
func (s *Server) checkHeader(h http.Header, api wire) []strictapi.Violation {
	var broken []strictapi.Violation
	if !s.Keyless && !api.hasKey(h) {
		broken = append(broken, strictapi.Violation{Rule: "H01", Path: "header", Message: "no API key was sent"})
	}
	if name := api.versionHeader(); name != "" && h.Get(name) == "" {
		broken = append(broken, strictapi.Violation{Rule: "H02", Path: "header", Message: name + ": header is required"})
	}
	if media, _, _ := strings.Cut(h.Get("Content-Type"), ";"); strings.TrimSpace(media) != "application/json" {
		broken = append(broken, strictapi.Violation{Rule: "H03", Path: "header", Message: "Content-Type: must be application/json"})
	}
	return broken
}

// judge returns why a request is not answered, nil if it is.
func (s *Server) judge(r *Request) *refusal {
	if len(r.broken) > 0 && !s.Lenient {
		v := r.broken[0]
		verdict := &refusal{status: http.StatusBadRequest, message: v.Message, param: v.Path}
		if v.Rule == "H01" {
			verdict.status = http.StatusUnauthorized
		}
		for _, v := range r.broken {
			verdict.rules = append(verdict.rules, v.Rule)
		}
		return verdict
	}
	if n := promptcache.Tokens(len(r.Body)); s.Window > 0 && n > s.Window {
		return &refusal{status: http.StatusBadRequest, code: tooLongCode,
			message: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", n, s.Window)}
	}
	return nil
}

// record keeps a request and returns the number of the step that is due for it.
func (s *Server) record(r *Request, answered bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := r
	if s.recorded += len(r.Body); s.recorded > maxRecorded {
		kept = &Request{Path: r.Path, Header: r.Header, Model: r.Model, broken: r.broken}
	}
	s.requests = append(s.requests, kept)
	if !answered {
		return -1
	}
	s.steps++
	return s.steps - 1
}

// usage returns the step's usage, or an estimate that keeps to max_tokens.
func (r *Request) usage(answer llm.Response, cache *promptcache.Cache) llm.Usage {
	if answer.Usage != (llm.Usage{}) {
		return answer.Usage
	}
	size := 0
	for _, b := range answer.Message.Content {
		switch c := b.(type) {
		case llm.Text:
			size += len(c.Text)
		case llm.Thinking:
			size += len(c.Text)
		case llm.ToolUse:
			size += len(c.Name) + len(inputText(c))
		}
	}
	u := llm.Usage{Input: promptcache.Tokens(len(r.Body))}
	if cache != nil {
		u = cache.Usage(r.Body)
	}
	u.Output = promptcache.Tokens(size)
	if r.MaxTokens > 0 {
		u.Output = min(u.Output, r.MaxTokens)
	}
	return u
}
