package firstrun

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve runs a server and returns its address as a base URL.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
}

func TestSearch(t *testing.T) {
	real := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		fmt.Fprint(w, `{"object":"list","data":[{"id":"qwen3:8b","object":"model"},{"id":"llama3.3:70b"}]}`)
	})
	gone := listenAndClose(t)
	for name, base := range map[string]string{
		"a web page":    serve(t, says("<html>")),
		"no list":       serve(t, says(`{"data":"x"}`)),
		"no model":      serve(t, says(`{"data":[]}`)),
		"another place": serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, real+"/models", http.StatusFound) }),
		"an error": serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			says(`{"data":[{"id":"a"}]}`)(w, nil)
		}),
		"no end":     serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		"too much":   serve(t, says(`{"data":[{"id":"a"}],"x":"`+strings.Repeat("x", maxList)+`"}`)),
		"nobody":     gone,
		"no address": "http://[",
	} {
		found := search(t.Context(), []Server{{Provider: "other", BaseURL: base}, {Provider: "ollama", BaseURL: real}}, 2*time.Second)
		if len(found) != 1 || found[0].Provider != "ollama" || strings.Join(found[0].Models, " ") != "qwen3:8b llama3.3:70b" {
			t.Errorf("beside %s: %+v", name, found)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if found := search(ctx, []Server{{BaseURL: real}}, time.Minute); found != nil {
		t.Errorf("cancelled: %+v", found)
	}
}

// listenAndClose returns the address of a port on which nobody listens any more.
func listenAndClose(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return "http://" + l.Addr().String() + "/v1"
}

// Any program may listen on the port, so its names are untrusted. Names that cannot be shown are left out.
func TestSearchIsBounded(t *testing.T) {
	many := strings.Repeat(`{"id":"m"},`, 2*maxModels)
	base := serve(t, says(`{"data":[{"id":"good"},{"id":"esc\u001b[31m"},{"id":"bidi\u202e"},{"id":"two words"},{"id":""},{"id":"`+strings.Repeat("x", maxNameLength+1)+`"},`+many+`{"id":"last"}]}`))
	found := search(t.Context(), []Server{{BaseURL: base}}, time.Minute)
	if len(found) != 1 || len(found[0].Models) != maxModels || found[0].Models[0] != "good" || found[0].Models[1] != "m" {
		t.Errorf("%+v", found)
	}
}

// The local servers are found where they listen by default, and reached without a proxy.
func TestKnownServers(t *testing.T) {
	var ports []string
	for _, s := range KnownServers() {
		ports = append(ports, s.Title+" "+s.Port())
	}
	if got := strings.Join(ports, ", "); got != "Ollama 11434, llama.cpp 8080, vLLM 8000, LM Studio 1234" {
		t.Error(got)
	}
}

func TestNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") }))
	search(t.Context(), []Server{{BaseURL: "http://models.invalid/v1"}}, time.Second)
}
