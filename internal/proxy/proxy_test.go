package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	netproxy "golang.org/x/net/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names is a resolver that knows what it is told, each answer once unless it is
// the last.
type names struct {
	mu sync.Mutex
	of map[string][][]netip.Addr
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	answers := n.of[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		n.of[host] = answers[1:]
	}
	return answers[0], nil
}

func knows(list map[string]string) *names {
	n := &names{of: map[string][][]netip.Addr{}}
	for host, addrs := range list {
		var answer []netip.Addr
		for a := range strings.FieldsSeq(addrs) {
			answer = append(answer, netip.MustParseAddr(a))
		}
		n.of[host] = [][]netip.Addr{answer}
	}
	return n
}

func start(t *testing.T, c Config) *Proxy {
	t.Helper()
	p, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
		if err := p.Close(); err != nil {
			t.Errorf("closing again: %v", err)
		}
		if _, err := os.Stat(p.folder); err == nil {
			t.Errorf("%s is still there", p.folder)
		}
	})
	return p
}

// through is a client of a proxy's socket.
func through(p *Proxy) *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy"}),
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", p.Socket()) },
		DisableKeepAlives: true,
	}}
}

func server(t *testing.T) (port string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s%s", r.Method, r.Host, r.Header.Get("Proxy-Authorization"), body)
	}))
	t.Cleanup(s.Close)
	_, port, _ = net.SplitHostPort(s.Listener.Addr().String())
	return port
}

var here = map[string]string{"good.example.com": "127.0.0.1", "bad.example.com": "127.0.0.1"}

func TestForward(t *testing.T) {
	port := server(t)
	p := start(t, Config{Rules: Rules{Allow: []string{"good.example.com"}, Private: true}, Resolver: knows(here)})
	res, err := through(p).Post("http://good.example.com:"+port+"/x", "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if want := "POST good.example.com:" + port + " hello"; string(body) != want {
		t.Errorf("%q, want %q", body, want)
	}
	res, err = through(p).Get("http://bad.example.com:" + port)
	if err != nil {
		t.Fatal(err)
	}
	body, _ = io.ReadAll(res.Body)
	res.Body.Close()
	if res.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "network.allowedDomains") || !strings.Contains(string(body), `"bad.example.com"`) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if d := p.Denials(); len(d) != 1 || d[0].Host != "bad.example.com" {
		t.Errorf("denials %v", d)
	}
}

// A request's Host is not another host than the one that was judged.
func TestForwardHost(t *testing.T) {
	port := server(t)
	p := start(t, Config{Rules: Rules{Allow: []string{"good.example.com"}, Private: true}, Resolver: knows(here)})
	got := talk(t, p, "GET http://good.example.com:"+port+"/ HTTP/1.1\r\nHost: bad.example.com\r\nConnection: close\r\n\r\n")
	if !strings.Contains(got, "GET good.example.com:"+port) {
		t.Errorf("%s", got)
	}
}

// talk sends text and returns all that comes.
func talk(t *testing.T, p *Proxy, text string) string {
	t.Helper()
	c, err := net.Dial("unix", p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	if text[0] == socksVersion {
		_ = closeWrite(c) // to an HTTP server, the client may have gone
	}
	data, _ := io.ReadAll(c)
	return string(data)
}

func TestConnect(t *testing.T) {
	port := server(t)
	p := start(t, Config{Rules: Rules{Allow: []string{"good.example.com"}, Private: true}, Resolver: knows(here)})
	// Data sent ahead goes through the tunnel.
	got := talk(t, p, "CONNECT good.example.com:"+port+" HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: inner\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 200 ") || !strings.Contains(got, "GET inner") {
		t.Errorf("%s", got)
	}
	for _, tt := range []struct{ ask, says string }{
		{"CONNECT bad.example.com:" + port, "403 "},
		{"CONNECT 127.0.0.1:" + port, "403 "},
		{"CONNECT good.example.com", "400 "},
		{"CONNECT good.example.com:0", "400 "},
		{"GET /", "400 "},
		{"GET https://good.example.com:" + port + "/", "400 "},
		{"GET ftp://good.example.com/", "400 "},
		{"CONNECT gone.example.com:1", "403 "},
	} {
		got := talk(t, p, tt.ask+" HTTP/1.1\r\nHost: good.example.com\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 "+tt.says) {
			t.Errorf("%s: %s", tt.ask, got)
		}
	}
}

// A name that leads to a private address is refused, also if it is an allowed one and if
// only some of its addresses are private; the judged address is the one dialled.
func TestPrivateAddresses(t *testing.T) {
	port := server(t)
	n := knows(map[string]string{"in.example.com": "127.0.0.1", "mapped.example.com": "::ffff:127.0.0.1", "meta.example.com": "169.254.169.254",
		"ten.example.com": "10.1.2.3", "localhost": "127.0.0.1", "six.example.com": "::1", "nat64.example.com": "64:ff9b::7f00:1"})
	// The first answer is public, the second is not: a name is looked up once.
	n.of["rebind.example.com"] = [][]netip.Addr{{netip.MustParseAddr("192.0.2.1")}, {netip.MustParseAddr("127.0.0.1")}}
	p := start(t, Config{Rules: Rules{Allow: []string{"*.example.com", "localhost", "127.0.0.1", "169.254.169.254"}}, Resolver: n})
	for _, tt := range []struct{ host, says string }{
		{"in.example.com", "which is a loopback address"},
		{"mapped.example.com", "which is a loopback address"},
		{"six.example.com", "which is a loopback address"},
		{"nat64.example.com", "which is a loopback address"},
		{"ten.example.com", "network.allowPrivateNetworks"},
		{"meta.example.com", "metadata service"},
		{"169.254.169.254", "metadata service"},
		{"rebind.example.com", "192.0.2.1"},
		{"localhost", "200 "},
		{"127.0.0.1", "200 "},
	} {
		got := talk(t, p, "GET http://"+tt.host+":"+port+"/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if !strings.Contains(got, tt.says) {
			t.Errorf("%s: %s", tt.host, got)
		}
	}
}

func TestSOCKS(t *testing.T) {
	port := server(t)
	p := start(t, Config{Rules: Rules{Allow: []string{"good.example.com", "127.0.0.1"}, Private: true}, Resolver: knows(here)})
	dialer, err := netproxy.SOCKS5("unix", p.Socket(), nil, netproxy.Direct)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ host, says string }{{"good.example.com", ""}, {"127.0.0.1", ""}, {"bad.example.com", "not allowed by ruleset"}, {"::1", "not allowed by ruleset"}} {
		c, err := dialer.Dial("tcp", net.JoinHostPort(tt.host, port))
		if tt.says != "" {
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v", tt.host, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.host, err)
			continue
		}
		_, _ = io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
		data, _ := io.ReadAll(c)
		c.Close()
		if !strings.Contains(string(data), "200 OK") {
			t.Errorf("%s: %s", tt.host, data)
		}
	}
	for _, tt := range []struct{ ask, answer string }{
		{"\x05\x01\x00\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50", "\x05\x00\x05\x07"}, // bind
		{"\x05\x01\x00\x05\x03\x00\x01\x7f\x00\x00\x01\x00\x50", "\x05\x00\x05\x07"}, // UDP
		{"\x05\x01\x00\x05\x01\x00\x09\x7f\x00\x00\x01\x00\x50", "\x05\x00\x05\x08"},
		{"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x00", "\x05\x00\x05\x01"},
		{"\x05\x01\x01", "\x05\xff"},
		{"\x04\x01\x00\x50\x7f\x00\x00\x01x\x00\r\n\r\n", "HTTP/1.1 400"},
		{"\x05", ""},
	} {
		if got := talk(t, p, tt.ask); !strings.HasPrefix(got, tt.answer) {
			t.Errorf("%q: %q, want %q", tt.ask, got, tt.answer)
		}
	}
}

// Close ends all open connections and leaves no goroutine behind.
func TestCloseEndsConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	far := make(chan net.Conn, 2)
	go func() {
		defer close(far)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			far <- c
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	p := start(t, Config{Rules: Rules{Allow: []string{"127.0.0.1"}}})
	var conns []net.Conn
	for _, hello := range []string{"", "GET http://127.0.0.1:" + port + "/ HTTP/1.1\r\n", "\x05", "CONNECT 127.0.0.1:" + port + " HTTP/1.1\r\n\r\n", "\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00"} {
		c, err := net.Dial("unix", p.Socket())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, hello)
		conns = append(conns, c)
	}
	if line, err := bufio.NewReader(conns[3]).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%q %v", line, err)
	}
	tunnel := <-far
	defer tunnel.Close()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := tunnel.Read(make([]byte, 1)); err == nil {
		t.Error("the far end of the tunnel is still open")
	}
	for i, c := range conns {
		if i == 3 {
			continue
		}
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Logf("%d: %v", i, err)
		}
	}
	l.Close()
	for c := range far {
		c.Close()
	}
}

func FuzzProxy(f *testing.F) {
	for _, s := range []string{"\x05\x01\x00\x05\x01\x00\x03\x0bexample.com\x01\xbb", "CONNECT a:1 HTTP/1.1\r\n\r\n", "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "\x05\x00", "\x04"} {
		f.Add([]byte(s))
	}
	p, err := Start(Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { p.Close() })
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := net.Dial("unix", p.Socket())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = c.Write(data)
		_ = closeWrite(c)
		answer, _ := io.ReadAll(c)
		if strings.Contains(string(answer), "200 Connection") || strings.HasPrefix(string(answer), "\x05\x00\x05\x00") {
			t.Fatalf("%q was let through: %q", data, answer)
		}
	})
}

// Connections without a target keep no other command from the network, and take no
// place from those that have one.
func TestSilentClients(t *testing.T) {
	port := server(t)
	p := start(t, Config{Rules: Rules{Allow: []string{"good.example.com"}, Private: true}, Resolver: knows(here)})
	dial := func(says string) net.Conn {
		c, err := net.Dial("unix", p.Socket())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, says); err != nil {
			t.Fatal(err)
		}
		return c
	}
	tunnel := dial("CONNECT good.example.com:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n")
	in := bufio.NewReader(tunnel)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%q, %v", line, err)
	}
	for _, says := range []string{"", "\x05", "\x05\x01\x00", "CONNECT good", "GET http://good.example.com/ HTTP/1.1\r\nX: "} {
		for range maxConns {
			dial(says)
		}
		if res, err := through(p).Get("http://good.example.com:" + port); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("behind clients that say %q: %v, %v", says, res, err)
		} else {
			res.Body.Close()
		}
	}
	if _, err := io.WriteString(tunnel, "GET / HTTP/1.1\r\nHost: good.example.com\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(in); err != nil || !strings.Contains(string(rest), "GET good.example.com") {
		t.Errorf("the tunnel ended: %q, %v", rest, err)
	}
}
