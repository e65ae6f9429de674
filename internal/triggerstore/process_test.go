package triggerstore

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A process that serves triggers from a file.
type process struct {
	url   string
	lines *bufio.Scanner
}

func startProcess(t *testing.T, path string) process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), servedFile+"="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	p := process{lines: bufio.NewScanner(out)}
	p.url = p.line(t)
	return p
}

func (p process) line(t *testing.T) string {
	t.Helper()
	if !p.lines.Scan() {
		t.Fatalf("the other process says nothing more: %v", p.lines.Err())
	}
	return p.lines.Text()
}

func putTrigger(t *testing.T, s Store, r Record) {
	t.Helper()
	if err := s.Update(t.Context(), r.ID, func(*Record) (*Record, error) { return &r, nil }); err != nil {
		t.Fatal(err)
	}
}

// request signs a request as a client does.
func request(t *testing.T, target string, secret Secret, body string, at time.Time) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	message{http.MethodPost, req.URL.Host, req.URL.RequestURI(), sha256.Sum256([]byte(body))}.sign(secret, at).write(req.Header)
	return req
}

// An exchanged request is a request with its answer.
type exchanged struct {
	status int
	body   string
	header http.Header
}

func exchange(t *testing.T, req *http.Request) exchanged {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Header.Del("Date")
	return exchanged{resp.StatusCode, string(data), resp.Header}
}

// Between two processes: a correctly signed request runs once. All others never run, and
// get the same answer whatever is wrong.
func TestProcesses(t *testing.T) {
	store := &File{Path: filepath.Join(t.TempDir(), "a", "triggers.json")}
	old, secret := NewSecret(), NewSecret()
	rec := Record{Trigger{ID: NewID(), Name: "build", Prompt: "Build it.", Enabled: true, Created: time.Now()}, []Secret{secret, old}}
	off := Record{Trigger{ID: NewID(), Name: "off", Created: time.Now()}, []Secret{secret}}
	remote := Record{Trigger{ID: NewID(), Name: "remote", URL: "https://example.com/triggers/x", Enabled: true, Created: time.Now()}, []Secret{secret}}
	for _, r := range []Record{rec, off, remote} {
		putTrigger(t, store, r)
	}
	p := startProcess(t, store.Path)
	target := p.url + "/hooks/triggers/" + rec.ID

	client := &Client{AllowPrivate: true}
	for _, s := range []Secret{secret, old} {
		a, err := client.Send(t.Context(), target, s, []byte(`{"payload":1}`))
		if err != nil || a.Status != http.StatusAccepted || a.Run == "" {
			t.Fatalf("%+v, %v", a, err)
		}
		if line := p.line(t); line != "ran build "+a.Run+` {"payload":1}` {
			t.Errorf("got %q", line)
		}
	}
	if a, err := new(Client).Send(t.Context(), target, secret, nil); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("a client that may not reach this machine got %+v, %v", a, err)
	}
	var refused *StatusError
	if _, err := client.Send(t.Context(), target, NewSecret(), nil); !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized {
		t.Errorf("a wrong secret gives %v", err)
	}

	wrong := exchange(t, request(t, target, NewSecret(), "x", time.Now()))
	if wrong.status != http.StatusUnauthorized || wrong.body != "{\"error\":\"refused\"}\n" {
		t.Errorf("%+v", wrong)
	}
	replayed := request(t, target, secret, "once", time.Now())
	if got := exchange(t, replayed); got.status != http.StatusAccepted {
		t.Fatalf("%+v", got)
	}
	if line := p.line(t); !strings.HasSuffix(line, " once") {
		t.Errorf("got %q", line)
	}
	changed := func(change func(*http.Request)) *http.Request {
		req := request(t, target, secret, "body", time.Now())
		change(req)
		return req
	}
	body := func(req *http.Request, s string) {
		req.Body, req.ContentLength, req.GetBody = io.NopCloser(strings.NewReader(s)), int64(len(s)), nil
	}
	body(replayed, "once")
	for name, req := range map[string]*http.Request{
		"replayed":          replayed,
		"stale":             request(t, target, secret, "x", time.Now().Add(-defaultWindow-time.Second)),
		"from the future":   request(t, target, secret, "x", time.Now().Add(defaultWindow+time.Minute)),
		"before the server": request(t, target, secret, "x", time.Now().Add(-time.Minute)),
		"changed body":      changed(func(r *http.Request) { body(r, "Body") }),
		"more body":         changed(func(r *http.Request) { body(r, "body ") }),
		"changed query":     changed(func(r *http.Request) { r.URL.RawQuery = "x=1" }),
		"changed nonce":     changed(func(r *http.Request) { r.Header.Set(nonceHeader, strings.Repeat("x", 26)) }),
		"two nonces":        changed(func(r *http.Request) { r.Header.Add(nonceHeader, strings.Repeat("x", 26)) }),
		"changed time":      changed(func(r *http.Request) { r.Header.Set(timestampHeader, "9"+r.Header.Get(timestampHeader)[1:]) }),
		"no signature":      changed(func(r *http.Request) { r.Header.Del(signatureHeader) }),
		"other path":        changed(func(r *http.Request) { r.URL.Path = "/hooks/triggers/" + off.ID }),
		"unknown":           request(t, p.url+"/hooks/triggers/"+NewID(), secret, "x", time.Now()),
		"odd id":            request(t, p.url+"/hooks/triggers/a/b%00c", secret, "x", time.Now()),
		"disabled":          request(t, p.url+"/hooks/triggers/"+off.ID, secret, "x", time.Now()),
		"not ours":          request(t, p.url+"/hooks/triggers/"+remote.ID, secret, "x", time.Now()),
	} {
		got := exchange(t, req)
		if got.status != wrong.status || got.body != wrong.body || len(got.header) != len(wrong.header) {
			t.Errorf("%s: %+v, want %+v", name, got, wrong)
		}
	}
	for status, req := range map[int]*http.Request{
		http.StatusRequestEntityTooLarge: request(t, target, secret, strings.Repeat("x", defaultMaxBody+1), time.Now()),
		http.StatusMethodNotAllowed:      changed(func(r *http.Request) { r.Method = http.MethodGet; r.Body = nil; r.ContentLength = 0 }),
	} {
		if got := exchange(t, req); got.status != status {
			t.Errorf("got %+v, want status %d", got, status)
		}
	}
	// Nothing of all that has run: the next line is that of the next right request.
	rec.Secrets = []Secret{secret}
	putTrigger(t, store, rec)
	if _, err := client.Send(t.Context(), target, old, nil); err == nil {
		t.Error("a secret that was taken back still works")
	}
	if _, err := client.Send(t.Context(), target, secret, []byte("last")); err != nil {
		t.Error(err)
	}
	if line := p.line(t); !strings.HasSuffix(line, " last") {
		t.Errorf("ran what should not: %q", line)
	}
	if data, err := os.ReadFile(store.Path); err != nil || !bytes.Contains(data, []byte(string(secret))) {
		t.Errorf("the file does not hold the secret: %v", err)
	}
}
