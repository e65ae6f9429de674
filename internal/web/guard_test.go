package web

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestCheck(t *testing.T) {
	for addr, want := range map[string]string{
		"93.184.216.34": "", "1.1.1.1": "", "2606:4700::1111": "", "64:ff9b::101:101": "", "::ffff:8.8.8.8": "", "172.15.0.1": "", "172.32.0.1": "", "100.128.0.1": "", "11.0.0.1": "",
		"127.0.0.1": "loopback", "127.255.0.1": "loopback", "::1": "loopback", "::ffff:127.0.0.1": "loopback", "64:ff9b::7f00:1": "loopback", "64:ff9b::a00:1": "private",
		"10.0.0.1": "private", "172.16.0.1": "private", "172.31.255.255": "private", "192.168.1.1": "private", "100.64.0.1": "private", "100.127.255.255": "private", "fd12::1": "private", "fc00::1": "private", "198.18.0.1": "private",
		"169.254.169.254": "metadata", "::ffff:169.254.169.254": "metadata", "64:ff9b::a9fe:a9fe": "metadata", "fd00:ec2::254": "metadata", "100.100.100.200": "metadata", "168.63.129.16": "metadata",
		"169.254.0.1": "link-local", "fe80::1": "link-local", "fe80::1%eth0": "one link", "fec0::1": "link-local",
		"0.0.0.0": "unspecified", "0.1.2.3": "unspecified", "::": "unspecified", "224.0.0.1": "multicast", "239.1.1.1": "multicast", "ff02::1": "multicast",
		"255.255.255.255": "reserved", "240.0.0.1": "reserved", "192.0.2.1": "reserved", "198.51.100.1": "reserved", "203.0.113.1": "reserved", "192.0.0.1": "reserved",
		"2001:db8::1": "reserved", "2002:7f00:1::": "reserved", "2001:0:7f00:1::": "reserved", "::7f00:1": "reserved", "64:ff9b:1::7f00:1": "reserved", "::ffff:0:127.0.0.1": "reserved", "100::1": "reserved", "5f00::1": "reserved",
	} {
		ip := netip.MustParseAddr(addr)
		err := new(Guard).Check("host", ip)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", addr, err, want)
		}
		allowed := want == "" || want == "loopback" || want == "private"
		if err := (&Guard{Private: true}).Check("host", ip); (err == nil) != allowed {
			t.Errorf("%s where private is allowed: %v", addr, err)
		}
		var refused *RefusedError
		if errors.As(err, &refused) && refused.Private != (want == "loopback" || want == "private") {
			t.Errorf("%s: Private is %v", addr, refused.Private)
		}
	}
}

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		" https://Example.COM ": "https://example.com/", "http://a.org:80/x?y#z": "http://a.org/x?y", "https://a.org:443": "https://a.org/", "https://a.org:8443/": "https://a.org:8443/",
		"https://a.org./": "https://a.org/", "https://bücher.example/": "https://xn--bcher-kva.example/", "https://ｅvil.org/": "https://evil.org/",
		"http://[::1]:80/": "http://[::1]/", "http://[2001:DB8::1]:81/": "http://[2001:db8::1]:81/", "http://127.0.0.1/": "http://127.0.0.1/", "http://my_host.a.org": "http://my_host.a.org/",
		"http://a.org/a%2Fb": "http://a.org/a%2Fb",
	} {
		u, err := Parse(in)
		if err != nil || u.String() != want {
			t.Errorf("%s: got %v, %v, want %s", in, u, err, want)
		}
	}
	for in, want := range map[string]string{
		"": "must begin", "a.org": "must begin", "ftp://a.org/": "must begin", "file:///etc/passwd": "must begin", "javascript:x": "must begin", "//a.org/": "must begin",
		"https://": "no host", "https:///x": "no host", "https://user:secret@a.org/": "user name", "https://user@a.org/": "user name", "https://a.org:x/": "cannot be read", "https://a.org\n/": "cannot be read",
		"http://2130706433/": "number", "http://0x7f000001/": "number", "http://0x7f.1/": "number", "http://0177.0.0.1/": "number", "http://127.1/": "number", "http://127.0.0.1./": "", "http://１２７.0.0.1/": "number", "http://0/": "number", "http://1.0x/": "number",
		"http://[fe80::1%25eth0]/": "one link", "http://a..b/": "not a host name", "http://a b/": "cannot be read", "https://%65vil.org/": "cannot be read", "http://a;b/": "not a host name", "http://-\u00df\u200d-.org/": "not a host name", "https://a.org/" + strings.Repeat("x", maxURL): "longer",
	} {
		u, err := Parse(in)
		if want == "" {
			if err == nil && u.Hostname() != "127.0.0.1" {
				t.Errorf("%s: got %v", in, u)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.60s: got %v, %v, want %q", in, u, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"https://a.org/", "http://[::1]:80/x", "http://0x7f.1", "https://ｅvil。org", "http://u@h", "http://a%00b/", "http://\u202e.org"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := Parse(s)
		if err != nil {
			return
		}
		again, err := Parse(u.String())
		if err != nil || again.String() != u.String() {
			t.Errorf("%q is read as %v, which is read as %v, %v", s, u, again, err)
		}
		if u.User != nil || u.Fragment != "" || strings.ToLower(u.Host) != u.Host {
			t.Errorf("%q: %#v", s, u)
		}
	})
}

// names is a DNS server. Each question for an address of a name is answered by
// the next of its addresses, the last one for ever.
type names struct {
	mu    sync.Mutex
	addrs map[string][]string
	asked map[string]int
}

func (n *names) resolver(t *testing.T) *net.Resolver {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			conn.WriteTo(n.answer(buf[:size]), from)
		}
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answer makes of a question with one name an answer with one address (RFC 1035).
func (n *names) answer(q []byte) []byte {
	var labels []string
	i := 12
	for q[i] != 0 {
		labels = append(labels, string(q[i+1:i+1+int(q[i])]))
		i += 1 + int(q[i])
	}
	end := i + 5
	kind := binary.BigEndian.Uint16(q[i+1:])
	a := append([]byte{}, q[:end]...)
	binary.BigEndian.PutUint16(a[2:], 0x8180)
	binary.BigEndian.PutUint16(a[6:], 0)
	binary.BigEndian.PutUint16(a[8:], 0)
	binary.BigEndian.PutUint16(a[10:], 0)
	n.mu.Lock()
	defer n.mu.Unlock()
	name := strings.ToLower(strings.Join(labels, "."))
	list := n.addrs[name]
	if list == nil {
		binary.BigEndian.PutUint16(a[2:], 0x8183) // no such name
		return a
	}
	if kind != 1 { // IPv4 only
		return a
	}
	addr := list[min(n.asked[name], len(list)-1)]
	n.asked[name]++
	ip := netip.MustParseAddr(addr).As4()
	binary.BigEndian.PutUint16(a[6:], 1)
	a = append(a, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
	return append(a, ip[:]...)
}

func get(t *testing.T, rt http.RoundTripper, address string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return string(body), nil
}

// serve starts a server on the loopback address and counts its requests.
func serve(t *testing.T) (port string, hits *atomic.Int32) {
	hits = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		io.WriteString(w, "served "+r.Host)
	}))
	t.Cleanup(s.Close)
	u, _ := url.Parse(s.URL)
	return u.Port(), hits
}

// A name that leads to a public address when it is judged and to this machine
// when it is dialled gets nowhere.
func TestTransportRebinding(t *testing.T) {
	port, hits := serve(t)
	dns := &names{asked: map[string]int{}, addrs: map[string][]string{
		"rebind.example.com": {"93.184.216.34", "127.0.0.1"}, "inside.example.com": {"127.0.0.1"},
	}}
	g := &Guard{Resolver: dns.resolver(t)}
	if err := g.Judge(t.Context(), "rebind.example.com"); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"rebind.example.com", "inside.example.com", "127.0.0.1", "[::ffff:127.0.0.1]"} {
		_, err := get(t, g.Transport(nil), "http://"+host+":"+port+"/")
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(refused.Why, "loopback") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests were made", n)
	}
	g.Private = true
	if body, err := get(t, g.Transport(nil), "http://inside.example.com:"+port+"/"); err != nil || body != "served inside.example.com:"+port {
		t.Errorf("allowed: %q, %v", body, err)
	}
}

func TestJudge(t *testing.T) {
	dns := &names{asked: map[string]int{}, addrs: map[string][]string{"in.example.com": {"10.1.2.3"}, "out.example.com": {"93.184.216.34"}}}
	g := &Guard{Resolver: dns.resolver(t)}
	for host, ok := range map[string]bool{
		"out.example.com": true, "in.example.com": false, "unknown.example.com": true, "localhost": false, "x.localhost": false, "printer": false, "metadata.google.internal": false,
		"router.lan": false, "a.local.": false, "10.0.0.1": false, "93.184.216.34": true,
	} {
		if err := g.Judge(t.Context(), host); (err == nil) != ok {
			t.Errorf("%s: %v", host, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Judge(ctx, "out.example.com"); err == nil {
		t.Error("a name that was not looked up passes")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A transport that is not net/http's does not get requests that the guard refuses.
func TestTransportOther(t *testing.T) {
	other := roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("other " + r.URL.Host))}, nil
	})
	rt := new(Guard).Transport(other)
	if body, err := get(t, rt, "http://93.184.216.34/"); err != nil || body != "other 93.184.216.34" {
		t.Errorf("got %q, %v", body, err)
	}
	if _, err := get(t, rt, "http://192.168.0.1/"); err == nil {
		t.Error("a private address was asked for")
	}
}

// The dial functions of a transport would go around the guard.
func TestTransportDials(t *testing.T) {
	dialled := false
	dial := func(context.Context, string, string) (net.Conn, error) { dialled = true; return nil, io.EOF }
	base := &http.Transport{DialContext: dial, DialTLSContext: dial}
	for _, address := range []string{"http://127.0.0.1:1/", "https://127.0.0.1:1/"} {
		var refused *RefusedError
		if _, err := get(t, new(Guard).Transport(base), address); !errors.As(err, &refused) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if dialled {
		t.Error("the transport's own dial function was called")
	}
}

// A proxy may be on this machine; the targets of its requests may not.
func TestTransportProxy(t *testing.T) {
	port, hits := serve(t)
	proxy := &url.URL{Scheme: "http", Host: "127.0.0.1:" + port}
	rt := new(Guard).Transport(&http.Transport{Proxy: http.ProxyURL(proxy)})
	if body, err := get(t, rt, "http://93.184.216.34/"); err != nil || body != "served 93.184.216.34" {
		t.Errorf("through the proxy: %q, %v", body, err)
	}
	for _, address := range []string{"http://127.0.0.1/", "http://169.254.169.254/latest", "http://localhost/", "https://10.0.0.1/"} {
		var refused *RefusedError
		if _, err := get(t, rt, address); !errors.As(err, &refused) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if n := hits.Load(); n != 1 {
		t.Errorf("the proxy was asked %d times", n)
	}
	broken := new(Guard).Transport(&http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return nil, errors.New("http://u:secret@x") }})
	if _, err := get(t, broken, "http://93.184.216.34/"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("broken settings: %v", err)
	}
}

const proxyChild = "WEB_TEST_PROXY_CHILD"

// The default transport takes the proxy of the environment, which net/http reads
// once: the test needs its own process.
func TestTransportEnvironment(t *testing.T) {
	if os.Getenv(proxyChild) != "" {
		if body, err := get(t, new(Guard).Transport(nil), "http://93.184.216.34/"); err != nil || body != "served 93.184.216.34" {
			t.Errorf("through the proxy: %q, %v", body, err)
		}
		return
	}
	port, _ := serve(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTransportEnvironment$")
	cmd.Env = append(os.Environ(), proxyChild+"=1", "HTTP_PROXY=http://127.0.0.1:"+port, "http_proxy=http://127.0.0.1:"+port, "NO_PROXY=", "no_proxy=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
