package serve

import (
	"net/http"
	"slices"
	"strings"
)

// apiPaths are the beginnings of paths that are not pages.
var apiPaths = []string{"/v1/", "/openai/v1/", "/ai-sdk/", "/agui"}

// isForeign reports whether a request is one to the API by a page of an origin of Origins.
func (s *Server) isForeign(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin != "" && origin != "null" && slices.Contains(s.Origins, origin) &&
		slices.ContainsFunc(apiPaths, func(p string) bool { return strings.HasPrefix(r.URL.Path, p) })
}

// cors lets pages of the origins of Origins read answers of the API. It returns the request without
// cookies: only a token that the page itself has counts. It reports whether it has answered it.
func (s *Server) cors(w http.ResponseWriter, r *http.Request) (_ *http.Request, answered bool) {
	if !s.isForeign(r) {
		return r, false
	}
	w.Header().Add("Vary", "Origin")
	w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST, PATCH, DELETE")
		w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID")
		w.Header().Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
		return r, true
	}
	r = r.Clone(r.Context())
	r.Header.Del("Cookie")
	return r, false
}
