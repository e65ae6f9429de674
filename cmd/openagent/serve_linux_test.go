package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/serve"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/sse"
	"github.com/openagent-go/agent/llm/llmtest"
)

// A sessionServer is "openagent serve" as a process of its own.
type sessionServer struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr strings.Builder
	start  serve.Start
	token  string
}

func (f *folderOfTriggers) serveSessions(args ...string) *sessionServer {
	f.t.Helper()
	s := &sessionServer{t: f.t, cmd: f.command(append([]string{"serve", "--listen", "127.0.0.1:0", "--output-format", "json", "--log-level", "info", "--grace", "200ms"}, args...)...)}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	s.cmd.Stderr = &s.stderr
	if err := s.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &s.start) != nil || s.start.Type != "serve_start" {
		f.t.Fatalf("the server says %q: %v, %s", lines.Text(), s.cmd.Wait(), s.stderr.String())
	}
	b, err := os.ReadFile(s.start.TokenFile)
	if err != nil {
		f.t.Fatal(err)
	}
	s.token = strings.TrimSpace(string(b))
	return s
}

func (s *sessionServer) request(method, path, body string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.start.Address+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if strings.Contains(path, "/events") {
		r.Header.Set("Accept", "text/event-stream")
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return res
}

// asks makes a request that must have the status, and returns the answer.
func (s *sessionServer) asks(method, path, body string, status int) string {
	s.t.Helper()
	res := s.request(method, path, body)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		s.t.Fatalf("%s %s: %d %s %v, want %d", method, path, res.StatusCode, b, err, status)
	}
	return string(b)
}

// end ends the server by a signal and returns its exit code.
func (s *sessionServer) end(sig os.Signal) int {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
	return exitCode(s.cmd.Wait())
}

// follow reads the facts of the session after the given one, until a type comes or the server has
// gone. Once the stream is open, it calls meanwhile.
func (s *sessionServer) follow(after int64, until string, meanwhile ...func()) (seqs []int64) {
	s.t.Helper()
	res := s.request("GET", fmt.Sprintf("/v1/sessions/chat/events?after=%d", after), "")
	defer res.Body.Close()
	for _, do := range meanwhile {
		do()
	}
	lines := sse.NewReader(res.Body, 0)
	for {
		e, err := lines.Next()
		if err != nil {
			return seqs
		}
		var got struct {
			Seq  int64
			Type string
		}
		if err := json.Unmarshal(e.Data, &got); err != nil {
			s.t.Fatal(err)
		}
		if string(e.Type) == "fact" {
			seqs = append(seqs, got.Seq)
		}
		if got.Type == until || string(e.Type) == "state" && until != "" && strings.Contains(string(e.Data), `"`+until+`"`) {
			return seqs
		}
	}
}

// decide allows the call that the session asks about.
func (s *sessionServer) decide() {
	s.t.Helper()
	var list struct{ Questions []struct{ Call string } }
	if err := json.Unmarshal([]byte(s.asks("GET", "/v1/sessions/chat/pending", "", 200)), &list); err != nil || len(list.Questions) != 1 {
		s.t.Fatalf("%+v %v", list, err)
	}
	s.asks("POST", "/v1/sessions/chat/calls/"+list.Questions[0].Call+"/decision", `{"behavior":"allow"}`, 200)
}

// A session survives the ends of its server: by a signal, and by kill -9. What
// streams have received is the journal, each fact once.
func TestServe(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t, writeStep("a.txt"), llmtest.Say("one"), writeStep("b.txt"), llmtest.Say("two"), llmtest.Call(llmtest.Use("", "Bash", map[string]string{"command": "sleep 2"})), llmtest.Say("three"))
	f := newFolderOfTriggers(t, t.TempDir(), server)
	s := f.serveSessions("--sandbox", "off")
	token := s.token
	if info, err := os.Stat(s.start.TokenFile); err != nil || info.Mode().Perm() != 0o600 || len(s.token) != 64 {
		t.Errorf("the token: %v %v", info, err)
	}
	if res, err := http.Get(s.start.Address + "/v1/sessions"); err != nil || res.StatusCode != 401 {
		t.Errorf("without a token: %v %v", res, err)
	}
	s.asks("POST", "/v1/sessions", `{"session":"chat","text":"x","dir":"/"}`, 403)
	s.asks("POST", "/v1/sessions", `{"session":"chat","id":"m1","text":"Write a file."}`, 201)
	got := s.follow(0, "permission_request")
	last := func() int64 { return got[len(got)-1] }
	s.decide()
	got = append(got, s.follow(last(), "run_end")...)
	if b, err := os.ReadFile(filepath.Join(f.dir, "a.txt")); err != nil || string(b) != "x\n" {
		t.Errorf("%q %v", b, err)
	}

	// The next run asks. A signal ends the server, and the question waits.
	s.asks("POST", "/v1/sessions/chat/messages", `{"id":"m2","text":"Write more."}`, 202)
	got = append(got, s.follow(last(), "permission_request")...)
	ended := make(chan int, 1)
	got = append(got, s.follow(last(), "", func() { go func() { ended <- s.end(syscall.SIGTERM) }() })...)
	if code := <-ended; code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d: %s", code, s.stderr.String())
	}
	for _, secret := range []string{s.token, "Write a file", "sk-test"} {
		if strings.Contains(s.stderr.String(), secret) {
			t.Errorf("the log has %q:\n%s", secret, s.stderr.String())
		}
	}
	if !strings.Contains(s.stderr.String(), "POST /v1/sessions") {
		t.Errorf("the log:\n%s", s.stderr.String())
	}

	s = f.serveSessions("--sandbox", "off", "--resume-all")
	if s.token != token {
		t.Error("there is another token")
	}
	got = append(got, s.follow(last(), "permission_request")...)
	s.decide()
	got = append(got, s.follow(last(), "run_end")...)

	// A server that is killed leaves a run, which the next one continues.
	s.asks("POST", "/v1/sessions/chat/messages", `{"id":"m3","text":"Sleep."}`, 202)
	got = append(got, s.follow(last(), "tool_start")...)
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()
	s = f.serveSessions("--sandbox", "off", "--resume-all")
	got = append(got, s.follow(last(), "run_end")...)
	var page struct{ Events []event.Event }
	r, _ := http.NewRequestWithContext(t.Context(), "GET", s.start.Address+"/v1/sessions/chat/events?limit=10000", nil)
	r.Header.Set("Authorization", "Bearer "+s.token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&page); err != nil {
		t.Fatal(err)
	}
	var want []int64
	for _, e := range page.Events {
		want = append(want, e.Seq)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("streams had the facts %v, the journal has %v", got, want)
	}
	if code := s.end(syscall.SIGINT); code != 128+int(syscall.SIGINT) {
		t.Errorf("exit code %d: %s", code, s.stderr.String())
	}
}

// With a certificate the server encrypts, and browsers send its cookie only encrypted.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	f := newFolderOfTriggers(t, t.TempDir(), llmtest.NewServer(t))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"agents.example.com"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(f.dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := f.serveSessions("--tls-cert", "cert.pem", "--tls-key", "key.pem", "--host", "agents.example.com")
	if !strings.HasPrefix(s.start.Address, "https://127.0.0.1:") {
		t.Errorf("the address is %s", s.start.Address)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "agents.example.com"}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for host, want := range map[string]int{"agents.example.com": http.StatusSeeOther, "other.example.com": http.StatusMisdirectedRequest} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.start.Address+"/login", strings.NewReader("token="+s.token))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if cookie := res.Header.Get("Set-Cookie"); res.StatusCode != want || (want == http.StatusSeeOther) != strings.Contains(cookie, "; Secure") {
			t.Errorf("Host %s: %d, cookie %q", host, res.StatusCode, cookie)
		}
	}
	client.CloseIdleConnections()
	if code := s.end(syscall.SIGTERM); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d: %s", code, s.stderr.String())
	}
}

// Other addresses need encryption, and the token file has to be private.
func TestServeRefusals(t *testing.T) {
	t.Parallel()
	f := newFolderOfTriggers(t, t.TempDir(), llmtest.NewServer(t))
	for _, c := range [][]string{
		{"--tls-cert", "--listen", "0.0.0.0:0"},
		{"--tls-cert", "--listen", "[::]:0"},
		{"--tls-cert", "--listen", "agents.example.com:0"},
		{"--tls-cert", "--listen", ":0"},
		{"belong together", "--tls-cert", "x"},
		{"--read-only forbids", "--read-only", "--resume-all"},
		{"HOST:PORT", "--listen", "4777"},
		{"whole origin", "--cors", "*"},
		{"whole origin", "--cors", "app.example.com"},
		{"whole origin", "--cors", "https://*.example.com"},
		{"whole origin", "--cors", "https://app.example.com/"},
	} {
		if out := f.run(cli.ExitUsage, "", append([]string{"serve"}, c[1:]...)...); !strings.Contains(out, c[0]) {
			t.Errorf("%v: %s", c[1:], out)
		}
	}
	s := f.serveSessions("--read-only")
	s.asks("POST", "/v1/sessions", `{"text":"x"}`, 403)
	s.end(syscall.SIGTERM)
	if err := os.Chmod(s.start.TokenFile, 0o644); err != nil {
		t.Fatal(err)
	}
	if out := f.run(cli.ExitUsage, "", "serve", "--listen", "127.0.0.1:0"); !strings.Contains(out, "others can read the token") {
		t.Error(out)
	}
	if err := os.WriteFile(s.start.TokenFile, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = os.Chmod(s.start.TokenFile, 0o600)
	if out := f.run(cli.ExitUsage, "", "serve", "--listen", "127.0.0.1:0"); !strings.Contains(out, "too short") {
		t.Error(out)
	}
}
