package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
)

// A loginServer guards a handler at /mcp, and is the authorisation server for it. It is as small as
// the example allows: every user agrees, and it checks only the challenge of a login.
type loginServer struct {
	*httptest.Server
	guarded http.Handler

	mu               sync.Mutex
	challenges       map[string]string // by code
	access, refresh  map[string]bool   // tokens that hold
	logins, renewals int
}

func newLoginServer(guarded http.Handler) *loginServer {
	s := &loginServer{guarded: guarded, challenges: map[string]string{}, access: map[string]bool{}, refresh: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", s.describeResource)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.describe)
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("/mcp", s.guard)
	s.Server = httptest.NewServer(mux)
	return s
}

// expire ends all access tokens.
func (s *loginServer) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
}

func (s *loginServer) describeResource(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
}

func (s *loginServer) describe(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "registration_endpoint": s.URL + "/register",
		"response_types_supported": []string{"code"}, "grant_types_supported": []string{"authorization_code", "refresh_token"},
		"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"}})
}

func (s *loginServer) register(w http.ResponseWriter, r *http.Request) {
	var program struct {
		Callbacks []string `json:"redirect_uris"`
	}
	if err := json.NewDecoder(r.Body).Decode(&program); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	send(w, http.StatusCreated, map[string]any{"client_id": "program", "redirect_uris": program.Callbacks, "token_endpoint_auth_method": "none"})
}

// authorize is the page where a person agrees. It sends the browser back with a code.
func (s *loginServer) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	code := rand.Text()
	s.mu.Lock()
	s.challenges[code] = query.Get("code_challenge")
	s.mu.Unlock()
	http.Redirect(w, r, query.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {query.Get("state")}}.Encode(), http.StatusFound)
}

// token exchanges a code or a refresh token for new tokens. Each counts once.
func (s *loginServer) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	code, old := r.FormValue("code"), r.FormValue("refresh_token")
	hash := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	switch {
	case code != "" && s.challenges[code] == base64.RawURLEncoding.EncodeToString(hash[:]):
		delete(s.challenges, code)
		s.logins++
	case s.refresh[old]:
		delete(s.refresh, old)
		s.renewals++
	default:
		send(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	access, refresh := rand.Text(), rand.Text()
	s.access[access], s.refresh[refresh] = true, true
	send(w, http.StatusOK, map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600})
}

// guard admits requests with an access token.
func (s *loginServer) guard(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	known := s.access[token]
	s.mu.Unlock()
	if !known {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource/mcp"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	s.guarded.ServeHTTP(w, r)
}

func send(w http.ResponseWriter, status int, values map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(values) // the client may be gone
}
