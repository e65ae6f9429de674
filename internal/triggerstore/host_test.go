package triggerstore

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A request is good for the host that it was signed for, whatever its Host header
// says.
func TestHosts(t *testing.T) {
	store, r := new(Memory), record("a")
	putTrigger(t, store, r)
	serve := func(network, address string, h *Handler) string {
		h.Store, h.Run = store, func(context.Context, Trigger, Payload) error { return nil }
		l, err := net.Listen(network, address)
		if err != nil {
			t.Skip("no such address here: ", err)
		}
		s := httptest.NewUnstartedServer(h)
		s.Listener.Close()
		s.Listener = l
		s.Start()
		t.Cleanup(func() { s.Close(); h.Close() })
		return l.Addr().String()
	}
	var log strings.Builder
	good := serve("tcp", "127.0.0.1:0", new(Handler))
	other := serve("tcp", "127.0.0.1:0", &Handler{Log: slog.New(slog.NewTextHandler(&log, nil))})
	named := serve("tcp", "127.0.0.1:0", &Handler{Hosts: []string{"Hooks.example.com", "hooks.example.com:8443"}})
	_, port, _ := net.SplitHostPort(good)
	for _, c := range []struct {
		what, signed, sent, header string
		want                       int
	}{
		{"its address", good, good, "", 202},
		{"its name on this machine", "localhost:" + port, good, "", 202},
		{"upper case", "LOCALHOST:" + port, good, "", 401},
		{"sent on to another", good, other, "", 401},
		{"sent on with its header", good, other, good, 401},
		{"a lie", "evil.example:1", good, "evil.example:1", 401},
		{"no host", "", good, "", 401},
		{"another port", "127.0.0.1", good, "", 401},
		{"a given name", "hooks.example.com", named, "", 202},
		{"another given name", "hooks.example.com:8443", named, "backend", 202},
		{"not among the given", named, named, "", 401},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+c.sent+prefix+r.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.header
		message{http.MethodPost, c.signed, prefix + r.ID, sha256.Sum256(nil)}.sign(r.Secrets[0], time.Now()).write(req.Header)
		if got := exchange(t, req); got.status != c.want {
			t.Errorf("%s: %d, want %d", c.what, got.status, c.want)
		}
	}
	if !strings.Contains(log.String(), "signed for a host that is not this one") || strings.Contains(log.String(), string(r.Secrets[0])) {
		t.Errorf("the log does not say why: %s", &log)
	}

	six := serve("tcp", "[::1]:0", new(Handler))
	front := func(to string) string {
		proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{Scheme: "http", Host: to})
		}})
		t.Cleanup(proxy.Close)
		return proxy.URL
	}
	behind := &Handler{}
	at := serve("tcp", "127.0.0.1:0", behind)
	outside := front(at)
	client := &Client{AllowPrivate: true}
	for url, want := range map[string]bool{"http://" + six: true, front(six): false} {
		if _, err := client.Send(t.Context(), url+prefix+r.ID, r.Secrets[0], nil); (err == nil) != want {
			t.Errorf("%s: %v", url, err)
		}
	}
	behind.Hosts = []string{strings.TrimPrefix(outside, "http://")}
	if _, err := client.Send(t.Context(), outside+prefix+r.ID, r.Secrets[0], nil); err != nil {
		t.Errorf("behind a proxy: %v", err)
	}
}

// A request that came by no connection needs hosts that are given.
func TestNoHost(t *testing.T) {
	store, r := new(Memory), record("a")
	putTrigger(t, store, r)
	h := &Handler{Store: store, Run: func(context.Context, Trigger, Payload) error { return nil }}
	defer h.Close()
	if got := ask(t, h, r, time.Now()); got != http.StatusUnauthorized {
		t.Errorf("got %d", got)
	}
}
