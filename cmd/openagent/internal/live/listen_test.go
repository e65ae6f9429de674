package live

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/serve"
	"github.com/openagent-go/agent/session"
)

// A server listens on both loopback addresses at one port, so that no other program gets what a browser
// sends to a name below localhost.
func TestLoopback(t *testing.T) {
	all, err := Loopback(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	port := all[0].Addr().(*net.TCPAddr).Port
	for i, l := range all {
		if at := l.Addr().(*net.TCPAddr); !IsLoopback(at.IP) || at.Port != port {
			t.Errorf("listener %d is at %s, want the port %d", i, at, port)
		}
	}
	if names := Names(all); !slices.Contains(names, all[0].Addr().String()) {
		t.Errorf("the names are %q", names)
	}
	all[0].Close()
	if len(all) < 2 {
		t.Skip("this machine has no ::1")
	}
	defer all[1].Close()
	if more, err := Loopback(t.Context(), port); err == nil {
		t.Errorf("%v, although another program has ::1", more[0].Addr())
	}
}

// Browsers log in at a name that nobody can guess. Programs use 127.0.0.1, where no cookie counts.
func TestLiveNames(t *testing.T) {
	store := session.Memory()
	s := New(&serve.Server{Sessions: func(string) session.Store { return store }}, []string{"tunnel.example.com"})
	if err := s.Listen(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer s.Show(&serve.Server{Sessions: func(string) session.Store { return store }})()
	address := s.Open()
	if !strings.HasPrefix(address, "http://openagent-") || strings.Contains(address, "127.0.0.1") {
		t.Errorf("the address for browsers is %s", address)
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(s.browsers, "http://"), "/")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	for name, want := range map[string]int{host: 303, "tunnel.example.com": 303, strings.TrimPrefix(s.Address, "http://"): 401, "localhost" + host[strings.LastIndex(host, ":"):]: 401, "x" + host: 421, "evil.localhost": 421} {
		_, path, _ := strings.Cut(strings.TrimPrefix(s.Open(), "http://"), "/")
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.Address+"/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = name
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want || (res.Header.Get("Set-Cookie") != "") != (want == 303) {
			t.Errorf("a login at %s: %d, want %d", name, res.StatusCode, want)
		}
	}
}
