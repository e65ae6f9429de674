// Package authserver is an OAuth 2.1 authorisation server with a resource that it
// guards, for tests: real HTTP, tokens in memory, and a person who
// agrees to everything.
package authserver

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Server serves both the authorisation server and, at Path, the resource that it guards.
// Set the fields before New.
type Server struct {
	// Resource is the handler behind the tokens, at Path, which is "/mcp" by default.
	Resource http.Handler
	Path     string
	Lifetime time.Duration // of access tokens, in whole seconds; 0 is an hour
	Scopes   []string      // that the resource says it knows
	// Needs returns the scope that a request needs, "" for none.
	Needs func(*http.Request) string
	// Clients are registered by hand: secrets by id, "" for public ones.
	Clients map[string]string
	// Methods are the ways of clients to say who they are; nil takes none only.
	Methods []string
	// Granted are the scopes that are given of those asked for; nil gives all.
	Granted []string
	// Change changes a document before it is sent: "resource", "server", "registration",
	// "callback" or "token". The values of callback are strings.
	Change func(document string, values map[string]any)

	URL string // of the server, set by New
	web *httptest.Server

	mu      sync.Mutex
	clients map[string]client
	codes   map[string]grant
	access  map[string]grant
	refresh map[string]grant
	used    map[string]grant // refresh tokens that were exchanged
	counts  map[string]int
}

type client struct {
	secret, method string
	callbacks      []string // nil: any on 127.0.0.1
}

// A grant is the data behind a code or token.
type grant struct {
	client, callback, challenge, resource, family string
	scopes                                        []string
	until                                         time.Time
}

// New starts the server. Close ends it.
func New(s *Server) *Server {
	s.clients, s.counts = map[string]client{}, map[string]int{}
	s.codes, s.access, s.refresh, s.used = map[string]grant{}, map[string]grant{}, map[string]grant{}, map[string]grant{}
	for id, secret := range s.Clients {
		method := "none"
		if secret != "" {
			method = "client_secret_basic"
		}
		s.clients[id] = client{secret: secret, method: method}
	}
	if s.Path == "" {
		s.Path = "/mcp"
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-protected-resource"+s.Path, s.describeResource)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.describe)
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /revoke", s.revoke)
	mux.HandleFunc(s.Path, s.guard)
	s.web = httptest.NewServer(mux)
	s.URL = s.web.URL
	return s
}

// Close ends the server.
func (s *Server) Close() { s.web.Close() }

// ResourceURL is where the guarded resource is.
func (s *Server) ResourceURL() string { return s.URL + s.Path }

// Count says how often something was done: "register", "authorize", "code" and
// "refresh" (tokens given for these), "own" (tokens given to clients themselves), "reuse" (of a refresh token), "revoke", "resource".
func (s *Server) Count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[what]
}

// Expire ends all access tokens; with refresh the refresh tokens as well.
func (s *Server) Expire(refresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
	if refresh {
		clear(s.refresh)
	}
}

// Secrets are all tokens that hold.
func (s *Server) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for token := range s.access {
		list = append(list, token)
	}
	for token := range s.refresh {
		list = append(list, token)
	}
	return list
}

func (s *Server) send(w http.ResponseWriter, document string, status int, values map[string]any) {
	if s.Change != nil {
		s.Change(document, values)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(values) // who asked may have gone
}

func (s *Server) fail(w http.ResponseWriter, code, text string) {
	s.send(w, "error", http.StatusBadRequest, map[string]any{"error": code, "error_description": text})
}

func (s *Server) describeResource(w http.ResponseWriter, _ *http.Request) {
	v := map[string]any{"resource": s.ResourceURL(), "authorization_servers": []string{s.URL}, "bearer_methods_supported": []string{"header"}}
	if s.Scopes != nil {
		v["scopes_supported"] = s.Scopes
	}
	s.send(w, "resource", http.StatusOK, v)
}

func (s *Server) describe(w http.ResponseWriter, _ *http.Request) {
	methods := s.Methods
	if methods == nil {
		methods = []string{"none"}
	}
	s.send(w, "server", http.StatusOK, map[string]any{"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
		"registration_endpoint": s.URL + "/register", "revocation_endpoint": s.URL + "/revoke", "response_types_supported": []string{"code"},
		"grant_types_supported": []string{"authorization_code", "refresh_token"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": methods, "authorization_response_iss_parameter_supported": true})
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Callbacks []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
	}
	if json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in) != nil || len(in.Callbacks) == 0 {
		s.fail(w, "invalid_client_metadata", "redirect_uris are missing")
		return
	}
	c := client{method: in.Method, callbacks: in.Callbacks}
	if c.method == "" {
		c.method = "client_secret_basic"
	}
	v := map[string]any{"client_id": "client-" + rand.Text(), "redirect_uris": in.Callbacks, "token_endpoint_auth_method": c.method}
	if c.method != "none" {
		c.secret = "secret-" + rand.Text()
		v["client_secret"], v["client_secret_expires_at"] = c.secret, 0
	}
	s.mu.Lock()
	s.clients[v["client_id"].(string)] = c
	s.counts["register"]++
	s.mu.Unlock()
	s.send(w, "registration", http.StatusCreated, v)
}

// authorize is the page on which a person agrees. This one agrees at once.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	c, known := s.clients[q.Get("client_id")]
	known = known || strings.HasPrefix(q.Get("client_id"), "https://")
	s.counts["authorize"]++
	s.mu.Unlock()
	callback, err := url.Parse(q.Get("redirect_uri"))
	if !known || err != nil || callback.Hostname() != "127.0.0.1" || c.callbacks != nil && !slices.Contains(c.callbacks, callback.String()) {
		http.Error(w, "This program or its redirect_uri is not known.", http.StatusBadRequest)
		return
	}
	answer := map[string]any{"state": q.Get("state"), "iss": s.URL}
	switch {
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43:
		answer["error"] = "invalid_request"
	case q.Get("resource") != s.ResourceURL():
		answer["error"] = "invalid_target"
	default:
		code := "code-" + rand.Text()
		answer["code"] = code
		s.mu.Lock()
		s.codes[code] = grant{client: q.Get("client_id"), callback: callback.String(), challenge: q.Get("code_challenge"), resource: q.Get("resource"),
			scopes: strings.Fields(q.Get("scope")), family: rand.Text(), until: time.Now().Add(time.Minute)}
		s.mu.Unlock()
	}
	if s.Change != nil {
		s.Change("callback", answer)
	}
	back := url.Values{}
	for name, value := range answer {
		back.Set(name, value.(string))
	}
	callback.RawQuery = back.Encode()
	http.Redirect(w, r, callback.String(), http.StatusFound)
}

// identified returns the id of the client that makes a request.
func (s *Server) identified(r *http.Request) (string, bool) {
	id, secret, basic := r.BasicAuth()
	method := "client_secret_basic"
	if basic {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret, method = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret"), "client_secret_post"
		if secret == "" {
			method = "none"
		}
	}
	c, known := s.clients[id]
	if strings.HasPrefix(id, "https://") { // described by a document, which is not fetched here
		return id, method == "none"
	}
	return id, known && c.secret == secret && c.method == method
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<16)
	if r.ParseForm() != nil {
		s.fail(w, "invalid_request", "the form cannot be read")
		return
	}
	s.mu.Lock()
	v, code := s.exchange(r)
	s.mu.Unlock()
	if code != "" {
		s.fail(w, code, "no token for "+r.PostForm.Get("refresh_token")+r.PostForm.Get("code"))
		return
	}
	s.send(w, "token", http.StatusOK, v)
}

// exchange gives tokens for a code or a refresh token, each of which it takes
// once. One that comes a second time ends all tokens of its login (RFC 9700, 4.14.2).
func (s *Server) exchange(r *http.Request) (values map[string]any, code string) {
	id, ok := s.identified(r)
	if !ok {
		return nil, "invalid_client"
	}
	kind, token := r.PostForm.Get("grant_type"), r.PostForm.Get("refresh_token")
	if kind == "client_credentials" {
		return s.own(r, id)
	}
	from := s.refresh
	if kind == "authorization_code" {
		from, token = s.codes, r.PostForm.Get("code")
	}
	if g, ok := s.used[token]; ok {
		s.counts["reuse"]++
		s.end(g.family)
		return nil, "invalid_grant"
	}
	g, ok := from[token]
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	switch {
	case !ok || g.client != id:
		return nil, "invalid_grant"
	case r.PostForm.Get("resource") != g.resource:
		return nil, "invalid_target"
	case kind == "authorization_code" && (time.Now().After(g.until) || g.callback != r.PostForm.Get("redirect_uri") || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:])):
		return nil, "invalid_grant"
	}
	delete(from, token)
	s.used[token] = g
	if kind == "authorization_code" {
		s.counts["code"]++
	} else {
		s.counts["refresh"]++
	}
	return s.tokens(g), ""
}

// own gives a token to a client with a secret, for itself.
func (s *Server) own(r *http.Request, id string) (values map[string]any, code string) {
	switch {
	case s.clients[id].secret == "":
		return nil, "unauthorized_client"
	case r.PostForm.Get("resource") != s.ResourceURL():
		return nil, "invalid_target"
	}
	s.counts["own"]++
	return s.tokens(grant{client: id, resource: s.ResourceURL(), scopes: strings.Fields(r.PostForm.Get("scope")), family: rand.Text()}), ""
}

// tokens makes an access and a refresh token.
func (s *Server) tokens(g grant) map[string]any {
	life := s.Lifetime
	if life == 0 {
		life = time.Hour
	}
	g.until = time.Now().Add(life)
	if s.Granted != nil {
		g.scopes = slices.DeleteFunc(slices.Clone(g.scopes), func(scope string) bool { return !slices.Contains(s.Granted, scope) })
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	s.access[access], s.refresh[refresh] = g, g
	return map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": int(life.Seconds()), "scope": strings.Join(g.scopes, " ")}
}

func (s *Server) end(family string) {
	for _, tokens := range []map[string]grant{s.access, s.refresh} {
		for token, g := range tokens {
			if g.family == family {
				delete(tokens, token)
			}
		}
	}
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<16)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.identified(parsed(r)); !ok {
		s.fail(w, "invalid_client", "")
		return
	}
	s.counts["revoke"]++
	token := r.PostForm.Get("token")
	for _, g := range []grant{s.access[token], s.refresh[token]} {
		if g.family != "" {
			s.end(g.family)
		}
	}
}

func parsed(r *http.Request) *http.Request {
	_ = r.ParseForm() // a form that cannot be read is empty
	return r
}

// guard lets through who has a token with the scope that the request needs.
func (s *Server) guard(w http.ResponseWriter, r *http.Request) {
	need := ""
	if s.Needs != nil {
		need = s.Needs(r)
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	s.counts["resource"]++
	g, ok := s.access[token]
	s.mu.Unlock()
	challenge := `Bearer resource_metadata="` + s.URL + "/.well-known/oauth-protected-resource" + s.Path + `"`
	switch {
	case !ok || !time.Now().Before(g.until):
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(http.StatusUnauthorized)
	case need != "" && !slices.Contains(g.scopes, need):
		w.Header().Set("WWW-Authenticate", challenge+`, error="insufficient_scope", scope="`+need+`"`)
		w.WriteHeader(http.StatusForbidden)
	default:
		s.Resource.ServeHTTP(w, r)
	}
}
