package triggerstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func record(name string) Record {
	return Record{Trigger{ID: NewID(), Name: name, Prompt: "Do it.", Enabled: true, Created: time.Now()}, []Secret{NewSecret()}}
}

const host = "triggers.test"

// ask sends a signed request to a handler.
func ask(t *testing.T, h http.Handler, r Record, at time.Time) int {
	t.Helper()
	return answered(h, request(t, "http://"+host+prefix+r.ID, r.Secrets[0], "x", at)).Code
}

func answered(h http.Handler, req *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, r := new(Memory), record("a")
		putTrigger(t, store, r)
		h := &Handler{Hosts: []string{host}, Store: store, Run: func(context.Context, Trigger, Payload) error { return nil }, since: time.Now()}
		defer h.Close()
		time.Sleep(time.Hour)
		for _, c := range []struct {
			off  time.Duration
			want int
		}{{0, 202}, {-5 * time.Minute, 202}, {-5*time.Minute - time.Millisecond, 401}, {5 * time.Minute, 202}, {5*time.Minute + time.Millisecond, 401}, {-time.Hour, 401}} {
			if got := ask(t, h, r, time.Now().Add(c.off)); got != c.want {
				t.Errorf("signed %v off: %d, want %d", c.off, got, c.want)
			}
			synctest.Wait()
		}
		// A request from the future is remembered for as long as it is no older than
		// the window.
		early := request(t, "http://"+host+prefix+r.ID, r.Secrets[0], "", time.Now().Add(4*time.Minute))
		for i := range 18 {
			want := 401
			if i == 0 {
				want = 202
			}
			if got := answered(h, early).Code; got != want {
				t.Errorf("after %d half minutes: %d, want %d", i, got, want)
			}
			synctest.Wait()
			time.Sleep(30 * time.Second)
		}
		time.Sleep(time.Hour)
		if got := ask(t, h, r, time.Now()); got != 202 {
			t.Errorf("got %d", got)
		}
		if n := len(h.seen.seen[r.ID]); n != 1 {
			t.Errorf("%d requests are remembered", n)
		}
	})
}

func TestNoncesAreBounded(t *testing.T) {
	var n nonces
	now := time.Now()
	for i := range maxNonces {
		if !n.add("a", fmt.Sprint(i), now.Add(time.Minute), now) {
			t.Fatalf("%d is refused", i)
		}
	}
	if n.add("a", "more", now.Add(time.Minute), now) {
		t.Error("there is no bound")
	}
	if n.add("a", "0", now.Add(time.Minute), now) {
		t.Error("an old one was forgotten to make room")
	}
	if !n.add("b", "0", now.Add(time.Minute), now) {
		t.Error("one trigger fills the memory of another")
	}
	if later := now.Add(2 * time.Minute); !n.add("a", "more", later.Add(time.Minute), later) || len(n.seen["a"]) != 1 || n.seen["b"] != nil {
		t.Errorf("%d are remembered", len(n.seen["a"]))
	}
}

// Of the same request sent by many at once one is taken.
func TestReplayAtOnce(t *testing.T) {
	store, r := new(Memory), record("a")
	putTrigger(t, store, r)
	h := &Handler{Hosts: []string{host}, Store: store, Parallel: 100, Run: func(context.Context, Trigger, Payload) error { return nil }}
	defer h.Close()
	req := request(t, "http://"+host+prefix+r.ID, r.Secrets[0], "", time.Now())
	var mu sync.Mutex
	codes := map[int]int{}
	var wg sync.WaitGroup
	for range 50 {
		again := req.Clone(t.Context())
		again.Body = http.NoBody
		wg.Go(func() {
			code := answered(h, again).Code
			mu.Lock()
			defer mu.Unlock()
			codes[code]++
		})
	}
	wg.Wait()
	if codes[202] != 1 || codes[401] != 49 {
		t.Errorf("got %v", codes)
	}
}

func TestRunsAreBounded(t *testing.T) {
	store, r := new(Memory), record("a")
	putTrigger(t, store, r)
	begun, ended := make(chan string, 10), make(chan error, 10)
	h := &Handler{Hosts: []string{host}, Store: store, Parallel: 2, Run: func(ctx context.Context, t Trigger, _ Payload) error {
		begun <- t.Name
		<-ctx.Done()
		ended <- ctx.Err()
		panic("ouch")
	}}
	for want, n := range map[int]int{202: 2} {
		for range n {
			if got := ask(t, h, r, time.Now()); got != want {
				t.Errorf("got %d", got)
			}
		}
	}
	w := answered(h, request(t, "http://"+host+prefix+r.ID, r.Secrets[0], "", time.Now()))
	if w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("one too many: %d %v", w.Code, w.Header())
	}
	if _, err := h.Fire(r.Trigger, Payload{}); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	<-begun
	<-begun
	h.Close()
	if len(ended) != 2 {
		t.Errorf("%d runs have ended", len(ended))
	}
	if got := ask(t, h, r, time.Now()); got != 503 {
		t.Errorf("after Close: %d", got)
	}
}

// A store that fails says nothing to strangers.
// What runs may end by itself until the time is over.
func TestShutdown(t *testing.T) {
	for _, patient := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan error, 1)
			h := &Handler{Hosts: []string{host}, Store: new(Memory), Run: func(ctx context.Context, _ Trigger, _ Payload) error {
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
				ended <- ctx.Err()
				return nil
			}}
			if _, err := h.Fire(Trigger{ID: "a"}, Payload{}); err != nil {
				t.Fatal(err)
			}
			patience := time.Second
			if patient {
				patience = time.Hour
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := h.Shutdown(ctx); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; (err == nil) != patient {
				t.Errorf("patient %v: %v", patient, err)
			}
			if _, err := h.Fire(Trigger{ID: "a"}, Payload{}); err == nil {
				t.Error("it starts a run after the end")
			}
		})
	}
}

// A folder has its own triggers, and one process answers for them.
func TestFolders(t *testing.T) {
	file := &File{Path: filepath.Join(t.TempDir(), "home", "triggers.json")}
	a, b := t.TempDir(), t.TempDir()
	mine, other := In(file, a), In(file, b)
	r := record("mine")
	putTrigger(t, mine, r)
	if got, err := mine.Get(t.Context(), r.ID); err != nil || got.Dir != a {
		t.Errorf("%+v, %v", got.Trigger, err)
	}
	if _, err := other.Get(t.Context(), r.ID); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if err := other.Update(t.Context(), r.ID, func(*Record) (*Record, error) { return nil, nil }); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	for s, want := range map[Store]int{mine: 1, other: 0, file: 1} {
		if list, err := s.List(t.Context()); err != nil || len(list) != want {
			t.Errorf("%d triggers, %v", len(list), err)
		}
	}
	r.Dir = "here"
	if err := r.Check(); err == nil {
		t.Error("a relative folder")
	}
	release, err := file.Claim(a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&File{Path: file.Path}).Claim(a); !errors.Is(err, ErrServed) {
		t.Errorf("claimed twice: %v", err)
	}
	if free, err := file.Claim(b); err != nil || free() != nil {
		t.Error(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if again, err := file.Claim(a); err != nil || again() != nil {
		t.Error(err)
	}
}

func TestStoreFails(t *testing.T) {
	var log strings.Builder
	h := &Handler{Hosts: []string{host}, Store: &File{Path: t.TempDir()}, Log: slog.New(slog.NewTextHandler(&log, nil))} // a folder
	w := answered(h, request(t, "http://"+host+prefix+"x", NewSecret(), "", time.Now()))
	if w.Code != 503 || w.Body.String() != "{\"error\":\"not available\"}\n" || !strings.Contains(log.String(), "not a regular file") {
		t.Errorf("%d %s, log %s", w.Code, w.Body, &log)
	}
	if w := answered(h, httptest.NewRequest("POST", "/elsewhere", nil)); w.Code != 404 {
		t.Errorf("got %d", w.Code)
	}
}

func TestClientFollowsNothing(t *testing.T) {
	reached := false
	var target string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "/reached", http.StatusTemporaryRedirect)
		case "/reached":
			reached = true
		case "/long":
			w.WriteHeader(http.StatusAccepted)
			for range 64 {
				_, _ = w.Write(make([]byte, 64<<10))
			}
		case "/slow":
			<-r.Context().Done()
		case "/run":
			fmt.Fprint(w, `{"run":"<script>"}`)
		default:
			target = r.RequestURI
		}
	}))
	defer s.Close()
	c := &Client{AllowPrivate: true}
	var status *StatusError
	if _, err := c.Send(t.Context(), s.URL+"/redirect", NewSecret(), []byte("x")); !errors.As(err, &status) || reached {
		t.Errorf("got %v, reached %v", err, reached)
	}
	if a, err := c.Send(t.Context(), s.URL+"/long", NewSecret(), nil); err != nil || len(a.Text) != maxAnswer {
		t.Errorf("%d bytes, %v", len(a.Text), err)
	}
	if a, err := c.Send(t.Context(), s.URL+"/run", NewSecret(), nil); err != nil || a.Run != "" {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := c.Send(t.Context(), s.URL+"/a%2Fb?q=1#f", NewSecret(), nil); err != nil || target != "/a%2Fb?q=1" {
		t.Errorf("asked for %q, %v", target, err)
	}
	slow := &Client{AllowPrivate: true, Timeout: 10 * time.Millisecond}
	if _, err := slow.Send(t.Context(), s.URL+"/slow", NewSecret(), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	for _, bad := range []string{"", "file:///etc/passwd", "ftp://x", "http://user:pw@example.com/", "http://2130706433/", "http://169.254.169.254/latest"} {
		if _, err := c.Send(t.Context(), bad, NewSecret(), nil); err == nil {
			t.Errorf("%q is sent to", bad)
		}
	}
}

func TestSecretIsNotShown(t *testing.T) {
	r := record("a")
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "record", r, "secret", r.Secrets[0])
	for _, text := range []string{string(data), log.String(), fmt.Sprint(r), fmt.Sprintf("%+v %#v %q %s", r, r, r.Secrets, r.Secrets[0])} {
		if strings.Contains(text, string(r.Secrets[0])) {
			t.Errorf("shown in %s", text)
		}
	}
	if a, b := NewSecret(), NewSecret(); a == b || len(a) < 50 {
		t.Error("secrets are not random")
	}
}

func TestStores(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) Store{
		"memory": func(*testing.T) Store { return new(Memory) },
		"file":   func(t *testing.T) Store { return &File{Path: filepath.Join(t.TempDir(), "x", "t.json")} },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			if list, err := s.List(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("%v, %v", list, err)
			}
			if _, err := s.Get(t.Context(), "none"); !errors.Is(err, ErrUnknown) {
				t.Errorf("got %v", err)
			}
			first, second := record("first"), record("second")
			first.Created = second.Created.Add(-time.Hour)
			putTrigger(t, s, second)
			putTrigger(t, s, first)
			got, err := s.Get(t.Context(), first.ID)
			if err != nil || got.Name != "first" || len(got.Secrets) != 1 || got.Secrets[0] != first.Secrets[0] || !got.Created.Equal(first.Created) {
				t.Errorf("%+v, %v", got, err)
			}
			got.Secrets[0] = "changed outside of the store"
			if again, _ := s.Get(t.Context(), first.ID); again.Secrets[0] != first.Secrets[0] {
				t.Error("a caller changes what is stored")
			}
			if list, err := s.List(t.Context()); err != nil || len(list) != 2 || list[0].Name != "first" {
				t.Errorf("%v, %v", list, err)
			}
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					err := s.Update(t.Context(), first.ID, func(old *Record) (*Record, error) { old.Prompt += "+"; return old, nil })
					if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if got, _ := s.Get(t.Context(), first.ID); got.Prompt != first.Prompt+strings.Repeat("+", 20) {
				t.Errorf("updates are lost: %q", got.Prompt)
			}
			for what, change := range map[string]func(r *Record){
				"id":         func(r *Record) { r.ID = "other" },
				"name":       func(r *Record) { r.Name = " " },
				"line":       func(r *Record) { r.Name = "a\nb" },
				"prompt":     func(r *Record) { r.Prompt = strings.Repeat("x", maxPrompt+1) },
				"url":        func(r *Record) { r.URL = "file:///x" },
				"no secret":  func(r *Record) { r.Secrets = nil },
				"bad secret": func(r *Record) { r.Secrets[0] = "short" },
				"schedule":   func(r *Record) { r.Schedule = strings.Repeat("x", 1000) },
			} {
				if err := s.Update(t.Context(), first.ID, func(old *Record) (*Record, error) { change(old); return old, nil }); err == nil {
					t.Errorf("%s: no error", what)
				}
			}
			boom := errors.New("boom")
			if err := s.Update(t.Context(), first.ID, func(*Record) (*Record, error) { return nil, boom }); !errors.Is(err, boom) {
				t.Errorf("got %v", err)
			}
			if err := s.Update(t.Context(), first.ID, func(*Record) (*Record, error) { return nil, nil }); err != nil {
				t.Error(err)
			}
			if list, _ := s.List(t.Context()); len(list) != 1 || list[0].ID != second.ID {
				t.Errorf("after removing: %v", list)
			}
		})
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.json")
	s := &File{Path: path}
	r := record("a")
	putTrigger(t, s, r)
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 2 { // the file and its lock
		t.Errorf("left: %v", entries)
	}
	other := &File{Path: path}
	if got, err := other.Get(t.Context(), r.ID); err != nil || got.Name != "a" {
		t.Errorf("%+v, %v", got, err)
	}
	if runtime.GOOS != "windows" {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, err := s.List(t.Context()); err == nil || !strings.Contains(err.Error(), "0600") {
			t.Errorf("a file that others may read: %v", err)
		}
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		if _, err := (&File{Path: link}).List(t.Context()); err == nil {
			t.Error("a link is followed")
		}
	}
	for _, content := range []string{"{", `[{"id":"x"}]`, `[{"secrets":["a secret that nobody may see"],"id":7}]`} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.List(t.Context()); err == nil || strings.Contains(err.Error(), "nobody may see") {
			t.Errorf("%s: %v", content, err)
		}
		if err := s.Update(t.Context(), r.ID, func(*Record) (*Record, error) { return &r, nil }); err == nil {
			t.Errorf("%s is overwritten", content)
		}
	}
}

func FuzzProof(f *testing.F) {
	h := http.Header{}
	message{"POST", host, "/triggers/x", [32]byte{}}.sign(NewSecret(), time.Now()).write(h)
	f.Add(h.Get(timestampHeader), h.Get(nonceHeader), h.Get(signatureHeader))
	f.Add("0", "x", "v1=")
	f.Add("-1", strings.Repeat("é", 8), "v1="+strings.Repeat("g", 64))
	f.Add("999999999999999", strings.Repeat("-", 64), "v1="+strings.Repeat("A", 64))
	f.Fuzz(func(t *testing.T, stamp, nonce, sum string) {
		in := http.Header{timestampHeader: {stamp}, nonceHeader: {nonce}, signatureHeader: {sum}}
		p, err := readProof(in)
		if err != nil {
			return
		}
		out := http.Header{}
		p.write(out)
		if fmt.Sprint(in) != fmt.Sprint(out) || fmt.Sprint(p.at.UnixMilli()) != stamp {
			t.Errorf("%v is read as %v", in, out)
		}
		m := message{"POST", host, "/triggers/x", [32]byte{}}
		if m.signed(p, []Secret{NewSecret()}) || m.signed(p, nil) || m.signed(p, []Secret{""}) && p.mac != m.mac("", p.stamp, p.nonce) {
			t.Error("a made-up signature holds")
		}
	})
}
