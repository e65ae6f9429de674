package sandbox_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/workspace"
)

// webServer is a server on the loopback, and its port.
func webServer(t *testing.T) (port string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// askProxy is a request through the proxy, in words of bash.
func askProxy(port string) string {
	return fmt.Sprintf(`p=${HTTP_PROXY#*://}; exec 3<>/dev/tcp/${p%%:*}/${p##*:} && printf 'GET http://localhost:%s/ HTTP/1.0\r\n\r\n' >&3 && cat <&3`, port)
}

// askDirectly is a request to an address, in words of bash.
func askDirectly(address string) string {
	return fmt.Sprintf(`exec 3<>/dev/tcp/%s && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && cat <&3`, strings.Replace(address, ":", "/", 1))
}

// Every command of a session reaches the proxy: neither the variables of an earlier
// command nor those that a command has set lead elsewhere.
func TestEachCommandReachesTheProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:3128")
	t.Setenv("no_proxy", "localhost")
	port := webServer(t)
	ws, _, _ := confined(t, sandbox.Settings{Network: sandbox.Network{AllowedDomains: []string{"localhost:" + port}}})
	ask := askProxy(port)
	for i, line := range []string{ask, ask, "export A=1 HTTP_PROXY=http://127.0.0.1:9 no_proxy=x TMPDIR=/; f() { :; }", ask, "unset HTTP_PROXY; readonly http_proxy=x; true", ask, `(` + ask + `)`} {
		o := run(t, ws, line, nil)
		if o.Code != 0 || strings.Contains(line, "exec") && !strings.Contains(o.Text, "hello") {
			t.Errorf("%d, %s: %d %q", i, line, o.Code, o.Text)
		}
	}
	if o := run(t, ws, `echo "$A,$no_proxy,$NO_PROXY,$http_proxy $HTTP_PROXY,$TMPDIR"`, nil); !strings.HasPrefix(o.Text, "1,,,http://127.0.0.1:") || strings.Contains(o.Text, ":9") || strings.HasSuffix(o.Text, ",/\n") {
		t.Errorf("%q", o.Text)
	}
	id, _, err := ws.StartJob(t.Context(), workspace.CommandLine{Session: "s", Command: ask})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for running := true; running; {
		r, err := ws.Job(t.Context(), "s", id, nil, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		text += r.Text
		running = r.Running
	}
	if !strings.Contains(text, "hello") {
		t.Errorf("in the background: %q", text)
	}
}

// A service on the host's loopback is reached where the rules allow it with its
// port, by programs that know no proxy too, and not otherwise.
func TestLoopbackServices(t *testing.T) {
	port, other := webServer(t), webServer(t)
	curl := func(url string) string { return "curl -sS -m 10 " + url }
	_, noCurl := exec.LookPath("curl")
	for _, tt := range []struct {
		name    string
		network sandbox.Network
		line    string
		want    bool
	}{
		{"localhost", sandbox.Network{AllowedDomains: []string{"localhost:" + port}}, askDirectly("127.0.0.1:" + port), true},
		{"an address", sandbox.Network{AllowedDomains: []string{"127.0.0.1:" + port}}, askDirectly("localhost:" + port), true},
		{"with own services", sandbox.Network{AllowedDomains: []string{"localhost:" + port}, AllowLocalBinding: true}, askDirectly("127.0.0.1:" + port), true},
		{"another port", sandbox.Network{AllowedDomains: []string{"localhost:" + port}}, askDirectly("127.0.0.1:" + other), false},
		{"another port by the proxy", sandbox.Network{AllowedDomains: []string{"localhost:" + port}}, askProxy(other), false},
		{"denied", sandbox.Network{AllowedDomains: []string{"localhost:" + port}, DeniedDomains: []string{"localhost"}}, askDirectly("127.0.0.1:" + port), false},
		{"not allowed", sandbox.Network{AllowedDomains: []string{"example.com"}}, askDirectly("127.0.0.1:" + port), false},
		{"curl, a port", sandbox.Network{AllowedDomains: []string{"localhost:" + port}}, curl("http://localhost:" + port), true},
		{"curl, every port", sandbox.Network{AllowedDomains: []string{"localhost"}}, curl("http://localhost:" + port), true},
		{"curl, every port of an address", sandbox.Network{AllowedDomains: []string{"127.0.0.1"}, AllowLocalBinding: true}, curl("http://127.0.0.1:" + port), true},
		{"curl, not allowed", sandbox.Network{AllowedDomains: []string{"example.com"}}, curl("http://localhost:" + port), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.HasPrefix(tt.line, "curl") && noCurl != nil {
				t.Skip("there is no curl")
			}
			ws, _, _ := confined(t, sandbox.Settings{Network: tt.network})
			for range 2 {
				if o := run(t, ws, tt.line, nil); strings.Contains(o.Text, "hello") != tt.want {
					t.Errorf("%d %q", o.Code, o.Text)
				}
			}
		})
	}
	t.Run("own services stay own", func(t *testing.T) {
		if _, err := exec.LookPath("python3"); err != nil || noCurl != nil {
			t.Skip("there is no python3, or no curl")
		}
		ws, _, _ := confined(t, sandbox.Settings{Network: sandbox.Network{AllowedDomains: []string{"example.com", "localhost:" + port}, AllowLocalBinding: true}})
		o := run(t, ws, `python3 -c '
import http.server,threading,subprocess
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(b"own")
s=http.server.HTTPServer(("127.0.0.1",0),H)
threading.Thread(target=s.serve_forever,daemon=True).start()
print(subprocess.run(["curl","-sS","-m","10","http://localhost:%d/"%s.server_port],capture_output=True,text=True).stdout)'`, nil)
		if !strings.Contains(o.Text, "own") {
			t.Errorf("%q", o.Text)
		}
	})
}
