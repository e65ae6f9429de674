package mcpserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxBody        = 4 << 20 // bytes of a request
	headerVersion  = "Mcp-Protocol-Version"
	headerSession  = "Mcp-Session-Id"
	retryInSeconds = "30"
)

// handlers makes the HTTP handlers. One end point serves clients with sessions, and those
// of versions without sessions.
func (s *Server) handlers() {
	get := func(*http.Request) *sdk.Server { return s.sdk }
	// Hosts are checked in ServeHTTP, where more names may be right.
	s.http.sessions = sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Logger: s.options.Log, SessionTimeout: s.options.Idle, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true})
	s.http.calls = sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: true, Logger: s.options.Log, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true, PropagateRequestCancellation: true})
}

// ServeHTTP answers a request of streamable HTTP, under any path. It checks no
// authorization: everyone who reaches it may call the tools.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.admits(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	if !s.begin() {
		http.Error(w, errClosed.Error(), http.StatusServiceUnavailable)
		return
	}
	defer s.running.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	r = r.WithContext(ctx)
	if r.Header.Get(headerVersion) >= newest {
		s.http.calls.ServeHTTP(w, r)
		return
	}
	switch id := r.Header.Get(headerSession); {
	case r.Method == http.MethodPost && id == "" && s.full():
		w.Header().Set("Retry-After", retryInSeconds)
		http.Error(w, "there are too many sessions", http.StatusServiceUnavailable)
		return
	case r.Method == http.MethodDelete && id != "":
		s.cancelCalls(id) // the end of the session waits for them
	}
	s.http.sessions.ServeHTTP(w, r)
}

// admits returns the reason to refuse a request, nil if there is none. It refuses web pages
// of other origins, which browsers name in Origin, and names bound to this address by DNS
// rebinding.
func (s *Server) admits(r *http.Request) error {
	host := hostname(r.Host)
	if net.ParseIP(host) == nil && !strings.EqualFold(host, "localhost") && !slices.ContainsFunc(s.options.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		return fmt.Errorf("the host %q is not one of this server's names", host)
	}
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(s.options.Origins, origin) {
		return nil
	}
	if u, err := url.Parse(origin); err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
		return fmt.Errorf("pages of %q may not call this server", origin)
	}
	return nil
}

// hostname is a host without its port.
func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func (s *Server) full() bool {
	n := 0
	for range s.sdk.Sessions() {
		n++
	}
	return n >= s.options.MaxSessions
}

func (s *Server) cancelCalls(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ss, ses := range s.sessions {
		if ss.ID() == id {
			ses.cancel()
		}
	}
}
