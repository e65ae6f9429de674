package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/eventtable"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/fill"
	"github.com/openagent-go/agent/internal/sharetext"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// sharing lets the users of a site share sessions.
func sharesIn(file string) func(*Server) {
	return func(s *Server) {
		s.Shares = &Shares{File: file, Secrets: func() []string { return []string{"known-secret-value"} }, Rules: []string{`PROJ-\d+`}}
	}
}

// share makes a share after a preview.
func (s *site) share(body string) (made shareMade, shown sharePreview) {
	s.t.Helper()
	s.do("POST", "/v1/shares/preview", body, 200, &shown)
	s.do("POST", "/v1/shares", `{"preview":"`+shown.Preview+`"}`, 201, &made)
	return made, shown
}

// strange makes a request without any login.
func (s *site) strange(method, path string, change ...func(*http.Request)) (int, string, http.Header) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.http.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range change {
		c(r)
	}
	return s.answer(r)
}

// watch opens the stream of a share.
func (s *site) watch(path string, change ...func(*http.Request)) *reader {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), "GET", s.http.URL+path+"/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range change {
		c(r)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	if res.StatusCode != 200 {
		b, _ := io.ReadAll(res.Body)
		s.t.Fatalf("stream: %d %s", res.StatusCode, b)
	}
	return (&reader{res: res}).init()
}

// A share is made after a preview that its maker has confirmed. It shows the session without secrets to
// anybody with the link, until it is revoked.
func TestShare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "shares.json")
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("The key is sk-ant-api03-abcDEF0123456789abcdef, see PROJ-12."))}, sharesIn(file))
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"mail jane@example.com with known-secret-value <b>bold</b>"}`, 201, nil)
	end := s.open("chat", 0)
	end.until(t, isType("run_end"))
	end.close()

	s.fails("POST", "/v1/shares", `{"session":"chat"}`, 400, "bad_request")
	s.fails("POST", "/v1/shares", `{"preview":"`+strings.Repeat("0", 32)+`"}`, 409, "no_preview")
	before := time.Now()
	made, shown := s.share(`{"session":"chat","live":true}`)
	found := map[string]int{}
	for _, r := range shown.Rules {
		found[r.Rule] = r.Count
		if r.Count > 0 && (len(r.Samples) == 0 || strings.Contains(fmt.Sprint(r.Samples), "jane@")) {
			t.Errorf("the samples of %s are %q", r.Rule, r.Samples)
		}
	}
	if found["known secrets"] == 0 || found["e-mail addresses"] != 1 || found["keys of services"] != 1 || found[`own rule PROJ-\d+`] != 1 || found["PEM blocks"] != 0 || shown.Items != 3 || !strings.Contains(shown.Notice, "Patterns can miss things") {
		t.Errorf("the preview is %+v", shown)
	}
	s.fails("POST", "/v1/shares", `{"preview":"`+shown.Preview+`"}`, 409, "no_preview") // it works once
	if d := made.Expires.Sub(before); d < 24*time.Hour-time.Minute || d > 24*time.Hour+time.Minute {
		t.Errorf("it expires in %v", d)
	}
	if !regexp.MustCompile(`^/share/[0-9a-f]{32}$`).MatchString(made.Path) {
		t.Errorf("the path is %s", made.Path)
	}

	kept, err := os.ReadFile(file)
	if token := strings.TrimPrefix(made.Path, "/share/"); err != nil || bytes.Contains(kept, []byte(token)) || !bytes.Contains(kept, []byte(hashOf(token))) {
		t.Errorf("the file is %s %v", kept, err)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}

	status, page, header := s.strange("GET", made.Path)
	if status != 200 || header.Get("X-Robots-Tag") == "" || !strings.Contains(page, "noindex") || header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%d %v", status, header)
	}
	for _, want := range []string{"mail [e-mail] with *** &lt;b&gt;bold", "The key is ***, see ***."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
	for _, secret := range []string{"jane@", "known-secret", "abcDEF", "PROJ-12", "/s/chat", `"chat"`} {
		if strings.Contains(page, secret) {
			t.Errorf("the page has %q: %s", secret, page)
		}
	}

	watching := s.watch(made.Path, func(r *http.Request) { r.Header.Set("User-Agent", "a browser") })
	watching.until(t, isNamed("state"))
	var list shareList
	s.do("GET", "/v1/shares", "", 200, &list)
	if len(list.Shares) != 1 || len(list.Shares[0].Viewers) != 1 || list.Shares[0].Viewers[0].Browser != "a browser" || list.Shares[0].Viewers[0].Since.IsZero() || !list.Shares[0].Live || list.Shares[0].Role != "watch" {
		t.Errorf("the list is %+v", list)
	}
	s.do("DELETE", "/v1/shares/"+made.ID, "", 200, nil)
	all := watching.until(t, isNamed("gone"))
	if gone := all[len(all)-1]; !strings.Contains(gone.data, "revoked") {
		t.Errorf("the stream ends with %s", gone.data)
	}
	if _, err := watching.next(); err == nil {
		t.Error("the stream goes on after the share was revoked")
	}
	watching.close()
	s.fails("DELETE", "/v1/shares/"+made.ID, "", 404, "no_share")
	for _, path := range []string{"", "/part?since=0", "/events"} {
		if status, body, _ := s.strange("GET", made.Path+path); status != 404 || strings.Contains(body, "mail") {
			t.Errorf("%s after the end: %d %s", path, status, body)
		}
	}
}

// Without Server.Shares nothing can be shared.
func TestNoShares(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"))})
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	s.fails("POST", "/v1/shares/preview", `{"session":"chat"}`, 404, "no_shares")
	s.fails("POST", "/v1/shares", `{"preview":"x"}`, 404, "no_shares")
	s.fails("GET", "/v1/shares", "", 404, "no_shares")
	s.fails("DELETE", "/v1/shares/x", "", 404, "no_shares")
	if status, _, _ := s.strange("GET", "/share/"+strings.Repeat("0", 32)); status != 404 {
		t.Error(status)
	}
}

func TestShareRequests(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"))}, sharesIn(""))
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	end := s.open("chat", 0)
	end.until(t, isType("run_end"))
	end.close()
	for _, bad := range []string{
		`{"session":"chat","role":"comment"}`, `{"session":"chat","expires_in":"1s"}`, `{"session":"chat","expires_in":"9000h"}`, `{"session":"chat","expires_in":"soon"}`,
		`{"session":"chat","password":"short"}`, `{"session":"chat","results":"all"}`, `{"session":"chat","from":-1}`, `{"session":"chat","from":3,"to":2}`,
		`{"session":"chat","to":99999}`, `{"session":"chat","from":99999}`, `{"session":"chat","live":true,"to":2}`, `{"session":"../chat"}`, `{}`, `{"session":"chat","token":"x"}`,
	} {
		s.fails("POST", "/v1/shares/preview", bad, 400, "bad_request")
	}
	s.fails("POST", "/v1/shares/preview", `{"session":"other"}`, 404, "not_found")
}

// A share shows one session, from one fact to another, and nothing else: not other facts, other
// sessions, agents, files or routes, whatever its viewers ask for.
func TestShareScope(t *testing.T) {
	store := session.Dir(filepath.Join(t.TempDir(), "sessions"))
	s := newSite(t, agent.Agent{Sessions: store, Model: llmtest.Script(llmtest.Say("answer BEFORE"), llmtest.Say("answer WITHIN"), llmtest.Say("answer AFTER"), llmtest.Say("answer OTHER"))}, sharesIn(""))
	var facts []int64
	for i, text := range []string{"prompt BEFORE", "prompt WITHIN", "prompt AFTER"} {
		if i == 0 {
			s.do("POST", "/v1/sessions", `{"session":"chat","text":"`+text+`"}`, 201, nil)
		} else {
			s.do("POST", "/v1/sessions/chat/messages", `{"text":"`+text+`"}`, 202, nil)
		}
		last := int64(0)
		if i > 0 {
			last = facts[i-1]
		}
		r := s.open("chat", last)
		all := r.until(t, isType("run_end"))
		r.close()
		facts = append(facts, all[len(all)-1].event.Seq)
	}
	s.do("POST", "/v1/sessions", `{"session":"other","text":"prompt OTHER"}`, 201, nil)
	r := s.open("other", 0)
	r.until(t, isType("run_end"))
	r.close()
	under := session.Under(store, "chat")
	agent := event.Event{Seq: 1, Time: time.Now().UTC(), Session: "helper", Data: event.UserMessage{ID: "m", Delivery: fact.AsPrompt, Message: llm.UserText("prompt OF AGENT")}}
	log, err := under.Open(t.Context(), "helper", session.Header{})
	if err == nil {
		err = log.Append(t.Context(), 0, true, agent)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}

	made, _ := s.share(fmt.Sprintf(`{"session":"chat","from":%d,"to":%d}`, facts[0]+1, facts[1]))
	live, _ := s.share(fmt.Sprintf(`{"session":"chat","from":%d,"live":true}`, facts[1]+1))
	locked, _ := s.share(`{"session":"other","password":"a long password"}`)
	token := strings.TrimPrefix(made.Path, "/share/")
	check := func(what, body string, may ...string) {
		t.Helper()
		for _, word := range []string{"BEFORE", "WITHIN", "AFTER", "OTHER", "OF AGENT", "prompt", testToken, "root:"} {
			if !slices.Contains(may, word) && strings.Contains(body, word) {
				t.Errorf("%s shows %s: %s", what, word, body)
			}
		}
	}
	_, page, _ := s.strange("GET", made.Path)
	if check("the page", page, "WITHIN", "prompt"); strings.Count(page, "WITHIN") < 2 {
		t.Errorf("the page is %s", page)
	}
	_, page, _ = s.strange("GET", live.Path)
	if check("the live page", page, "AFTER", "prompt"); strings.Count(page, "AFTER") < 2 {
		t.Errorf("the live page is %s", page)
	}

	withToken := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	withCookie := func(r *http.Request) { r.Header.Set("Cookie", s.server.cookieName()+"="+token) }
	var paths []string
	for _, at := range slices.Concat(routes, pageRoutes) {
		if !at.open {
			paths = append(paths, at.method+" "+filled(at))
		}
	}
	for _, p := range []string{"/part?since=0&id=other", "/part?since=1&session=other&all=1", "?all=1&from=1&to=99999", "?session=other", "/events?after=0&from=1", "/../../s/chat", "/..%2f..%2fs%2fchat", "/%2e%2e/%2e%2e/s/other",
		"/files", "/files/etc/passwd", "/part/../../../etc/passwd", "/agents/helper", "/s/chat", "/export", "/timeline", "/messages", "/events/..%2f..%2f..%2f..%2fetc%2fpasswd"} {
		paths = append(paths, "GET "+made.Path+p)
	}
	for _, p := range []string{"/share/", "/share/" + token[:31], "/share/" + token + "0", "/share/" + strings.ToUpper(token), "/share/" + hashOf(token), "/share/" + made.ID, "/share/*", "/share/%00", "/share/chat", "/shares/" + made.ID} {
		paths = append(paths, "GET "+p)
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		paths = append(paths, method+" "+made.Path+"/messages", method+" "+made.Path+"/events", method+" "+made.Path+"/part", method+" "+made.Path+"/calls/c1/decision")
	}
	journal := s.journal("chat")
	for _, p := range paths {
		method, path, _ := strings.Cut(p, " ")
		for _, change := range []func(*http.Request){func(*http.Request) {}, withToken, withCookie} {
			if strings.Contains(path, "/events?") || path == made.Path+"/events" {
				got := s.watch(made.Path)
				state := got.until(t, isNamed("state"))
				got.close()
				check(p, state[len(state)-1].data)
				continue
			}
			status, body, _ := s.strange(method, path, change)
			if strings.HasPrefix(path, made.Path+"?") || strings.HasPrefix(path, made.Path+"/part?") {
				if check(p, body, "WITHIN", "prompt"); status != 200 {
					t.Errorf("%s: %d", p, status)
				}
				continue
			}
			if check(p, body); status < 300 {
				t.Errorf("%s: %d %s", p, status, body)
			}
		}
	}
	for _, path := range []string{locked.Path, locked.Path + "/part?since=0", locked.Path + "/events"} {
		status, body, _ := s.strange("GET", path)
		if check(path, body); status != 401 {
			t.Errorf("%s without the password: %d", path, status)
		}
	}
	if now := s.journal("chat"); !slices.Equal(now, journal) {
		t.Errorf("the journal changed: %v, it was %v", now, journal)
	}

	// Another session with the same id is not shared.
	s.do("DELETE", "/v1/sessions/chat", "", 200, nil)
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"prompt OTHER"}`, 201, nil)
	for _, path := range []string{made.Path, live.Path} {
		status, body, _ := s.strange("GET", path)
		if check(path, body); status != 404 {
			t.Errorf("%s of a deleted session: %d", path, status)
		}
	}
}

// The share handler has a reader of facts, and nothing that leads to a session or to the server.
func TestShareIsReadOnly(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var look func(typ reflect.Type, path string)
	look = func(typ reflect.Type, path string) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		switch typ {
		case reflect.TypeFor[Server](), reflect.TypeFor[agent.Session](), reflect.TypeFor[agent.Agent](), reflect.TypeFor[session.Store](), reflect.TypeFor[live]():
			t.Errorf("%s leads to %s", path, typ)
		}
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.Chan:
			look(typ.Elem(), path)
		case reflect.Struct:
			for i := range typ.NumField() {
				look(typ.Field(i).Type, path+"."+typ.Field(i).Name)
			}
		}
	}
	look(reflect.TypeFor[feed](), "feed")
	look(reflect.TypeFor[redactor](), "redactor")
}

func TestSharePassword(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"), llmtest.Say("two"))}, sharesIn(""))
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	r := s.open("chat", 0)
	r.until(t, isType("run_end"))
	r.close()
	made, _ := s.share(`{"session":"chat","live":true,"password":"correct horse"}`)
	second, _ := s.share(`{"session":"chat","live":true,"password":"another one"}`)
	if status, body, _ := s.strange("GET", made.Path); status != 401 || strings.Contains(body, "hello") || !strings.Contains(body, `type="password"`) {
		t.Errorf("%d %s", status, body)
	}
	enter := func(path, password string) (int, string) {
		body := url.Values{"password": {password}}.Encode()
		status, _, header := s.strange("POST", path, func(r *http.Request) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Body = io.NopCloser(strings.NewReader(body))
		})
		cookie, _, _ := strings.Cut(header.Get("Set-Cookie"), ";")
		if cookie != "" && (!strings.Contains(header.Get("Set-Cookie"), "HttpOnly") || !strings.Contains(header.Get("Set-Cookie"), "SameSite=Lax")) {
			t.Errorf("the cookie is %s", header.Get("Set-Cookie"))
		}
		return status, cookie
	}
	with := func(cookie string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Cookie", cookie) }
	}
	status, cookie := enter(made.Path, "correct horse")
	if status != 303 || cookie == "" {
		t.Fatal(status, cookie)
	}
	if status, body, _ := s.strange("GET", made.Path, with(cookie)); status != 200 || !strings.Contains(body, "hello") {
		t.Errorf("%d %s", status, body)
	}
	stream := s.watch(made.Path, with(cookie))
	stream.until(t, isNamed("state"))
	stream.close()
	_, value, _ := strings.Cut(cookie, "=")
	for name, c := range map[string]string{"the cookie of another share": cookie, "its value": "openagent_share_" + second.ID + "=" + value, "a guess": "openagent_share_" + second.ID + "=" + strings.Repeat("0", 64)} {
		for _, path := range []string{"", "/part?since=0", "/events"} {
			if status, _, _ := s.strange("GET", second.Path+path, with(c)); status != 401 {
				t.Errorf("%s opens %s: %d", name, path, status)
			}
		}
	}
	for i := range maxGuesses {
		if status, cookie := enter(made.Path, fmt.Sprint("guess ", i)); status != 401 || cookie != "" {
			t.Fatal(status, cookie)
		}
	}
	if status, cookie := enter(made.Path, "correct horse"); status != 429 || cookie != "" {
		t.Errorf("after %d guesses: %d", maxGuesses, status)
	}
	if status, _ := enter(second.Path, "another one"); status != 303 {
		t.Errorf("guesses at one share keep people from another: %d", status)
	}
}

// A stream ends when its share expires.
func TestShareExpires(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"))}, sharesIn(""))
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	r := s.open("chat", 0)
	r.until(t, isType("run_end"))
	r.close()
	made, _ := s.share(`{"session":"chat","live":true,"expires_in":"1m"}`)
	if err := s.server.changeShares(t.Context(), func(all []share) ([]share, error) {
		all[0].Expires = time.Now().Add(300 * time.Millisecond)
		return all, nil
	}); err != nil {
		t.Fatal(err)
	}
	watching := s.watch(made.Path)
	all := watching.until(t, isNamed("gone"))
	if gone := all[len(all)-1]; !strings.Contains(gone.data, "expired") {
		t.Errorf("the stream ends with %s", gone.data)
	}
	watching.close()
	if status, _, _ := s.strange("GET", made.Path); status != 404 {
		t.Errorf("%d after it expired", status)
	}
	var list shareList
	if s.do("GET", "/v1/shares", "", 200, &list); len(list.Shares) != 0 {
		t.Errorf("%+v", list)
	}
}

// Shares outlast the program. One that was revoked does not come back, not even if another program
// with the same file has seen it.
func TestSharesAreKept(t *testing.T) {
	file, store := filepath.Join(t.TempDir(), "shares.json"), session.Dir(filepath.Join(t.TempDir(), "sessions"))
	newOne := func() *site {
		return newSite(t, agent.Agent{Sessions: store, Model: llmtest.Script(llmtest.Say("one"))}, sharesIn(file))
	}
	first := newOne()
	first.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	r := first.open("chat", 0)
	r.until(t, isType("run_end"))
	r.close()
	kept, _ := first.share(`{"session":"chat"}`)
	ended, _ := first.share(`{"session":"chat","live":true}`)
	second := newOne()
	for _, made := range []shareMade{kept, ended} {
		if status, _, _ := second.strange("GET", made.Path); status != 200 {
			t.Errorf("after a restart: %d", status)
		}
	}
	watching := second.watch(ended.Path)
	watching.until(t, isNamed("state"))
	first.do("DELETE", "/v1/shares/"+ended.ID, "", 200, nil)
	if status, _, _ := second.strange("GET", ended.Path); status != 404 {
		t.Errorf("another server still shows it: %d", status)
	}
	all := watching.until(t, isNamed("gone")) // within some seconds
	if !strings.Contains(all[len(all)-1].data, "revoked") {
		t.Errorf("%s", all[len(all)-1].data)
	}
	watching.close()
	another, _ := second.share(`{"session":"chat"}`)
	third := newOne()
	for made, want := range map[string]int{kept.Path: 200, ended.Path: 404, another.Path: 200} {
		if status, _, _ := third.strange("GET", made); status != want {
			t.Errorf("%d, want %d", status, want)
		}
	}
	if err := os.WriteFile(file, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, body, _ := third.strange("GET", kept.Path); status != 404 || strings.Contains(body, "hello") {
		t.Errorf("with a damaged file: %d %s", status, body)
	}
}

// A secret that comes in several pieces is never sent, not even a part of it that could be used.
func TestSharedPieces(t *testing.T) {
	text := "Set it: password is known-secret-value.\nThe key sk-ant-api03-abcDEF0123456789abcdef and\n-----BEGIN RSA PRIVATE KEY-----\nMIIEsecret1\nMIIEsecret2\n-----END RSA PRIVATE KEY-----\nthen postgres://app:p4ssw0rd@db/x and mail bob@example.com\nDB_PASSWORD=zebra quagga\nthe end \n"
	secrets := []string{"known-se", "cret-value", "abcDEF", "456789abcdef", "MIIE", "secret1", "p4ssw0rd", "bob@", "zebra", "quagga"}
	for seed := range uint64(4) {
		g := gated{make(chan string)}
		s := newSite(t, agent.Agent{Model: g}, sharesIn(""))
		s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
		made, _ := s.share(`{"session":"chat","live":true}`)
		watching := s.watch(made.Path)
		sent := watching.until(t, isNamed("state"))
		rnd := rand.New(rand.NewPCG(seed, 1))
		late := rnd.IntN(len(text))
		for rest := text; rest != ""; {
			n := 1 + rnd.IntN(min(9, len(rest)))
			g.pieces <- rest[:n]
			rest = rest[n:]
			if len(rest) < late && late > 0 { // a viewer comes in the middle
				late = 0
				second := s.watch(made.Path)
				sent = append(sent, second.until(t, isNamed("state"))...)
				second.close()
				_, page, _ := s.strange("GET", made.Path)
				sent = append(sent, received{name: "page", data: page})
			}
		}
		shown := ""
		for !strings.Contains(shown, "the end ") {
			got, err := watching.next()
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, got)
			if got.name == "text" {
				var p sharedPiece
				if err := json.Unmarshal([]byte(got.data), &p); err != nil {
					t.Fatal(err)
				}
				if p.Restart {
					shown = ""
				}
				shown += p.Text
			}
		}
		g.pieces <- ""
		sent = append(sent, watching.until(t, isNamed("changed"))...)
		watching.close()
		for _, got := range sent {
			for _, secret := range secrets {
				if strings.Contains(got.data, secret) {
					t.Errorf("seed %d: %s has %q: %s", seed, got.name, secret, got.data)
				}
			}
		}
		for _, secret := range secrets {
			if strings.Contains(shown, secret) {
				t.Errorf("seed %d: %q was sent: %s", seed, secret, shown)
			}
		}
		s.close()
	}
}

// No secret that is anywhere in the facts of a session is in any byte that a share sends.
func TestSharesShowNoSecrets(t *testing.T) {
	for seed := range uint64(20) {
		showsNoSecrets(t, seed)
	}
}

func showsNoSecrets(t *testing.T, seed uint64) {
	file := filepath.Join(t.TempDir(), "shares.json")
	rnd := rand.New(rand.NewPCG(seed, 4))
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = letters[rnd.IntN(len(letters))]
		}
		return string(b)
	}
	known := []string{"K1" + word(20), "two words " + word(12), word(8) + "\n" + word(12)}
	var hidden []string
	secret := func() string {
		switch w := "Z" + word(22); rnd.IntN(9) {
		case 0, 1, 2:
			k := known[rnd.IntN(len(known))]
			hidden = append(hidden, strings.Fields(k)...)
			return k
		case 3:
			hidden = append(hidden, w)
			return "see sk-proj-" + w + " there"
		case 4:
			hidden = append(hidden, w)
			return "-----BEGIN PRIVATE KEY-----\n" + w + "\n-----END PRIVATE KEY-----"
		case 5:
			hidden = append(hidden, w)
			return "https://user:" + w + "@host/path"
		case 6:
			hidden = append(hidden, w)
			return "text\n  12\tMY_TOKEN=" + w + " x\n"
		case 7:
			hidden = append(hidden, w)
			return "mail " + w + "@example.com now"
		default:
			hidden = append(hidden, w)
			return `{"password": "` + w + `"}`
		}
	}
	store := session.Dir(filepath.Join(t.TempDir(), "sessions"))
	log, err := store.Open(t.Context(), "chat", session.Header{})
	if err != nil {
		t.Fatal(err)
	}
	// A conversation as the view folds it, with secrets in all of its texts, and then each type of fact with
	// secrets in each of its strings.
	input := func() json.RawMessage {
		b, _ := json.Marshal(map[string]any{"command": secret(), "nested": []string{secret()}, secret(): 1})
		return b
	}
	details, _ := json.Marshal(map[string]string{"diff": "+" + secret(), "other": secret()})
	datas := []event.Data{
		event.UserMessage{ID: "m1", Delivery: fact.AsPrompt, Message: llm.UserText(secret())},
		event.UserMessage{ID: "m2", Delivery: "context", Message: llm.UserText(secret())},
		fact.ModelStart{Key: "model/1", Model: "m"},
		event.AssistantMessage{Key: "model/1", Model: "m", Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Thinking{Text: secret()}, llm.Text{Text: secret()},
			llm.ToolUse{ID: "t1", Name: "Bash", Input: input()}, llm.ToolUse{ID: "t2", Name: secret(), Input: input()}}}}},
		event.ToolStart{Call: "c4.0"},
	}
	var result event.ToolResult
	result.Call, result.Result.Title, result.Result.Details = "c4.0", secret(), details
	result.Result.Content = llm.Blocks{llm.Text{Text: secret()}, llm.Text{Text: strings.Repeat("long line\n", 6000) + secret() + "\n" + secret()}}
	datas = append(datas, result, event.RunEnd{Reason: event.ModelError, Message: secret()})
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for n := range eventtable.Zero {
			if !yield(n) {
				return
			}
		}
	}) {
		if _, ok := eventtable.Zero[name].(event.Fact); !ok || name == "rewound" {
			continue
		}
		b, err := json.Marshal(fill.New(reflect.TypeOf(eventtable.Zero[name])).Interface())
		if err != nil {
			t.Fatal(name, err)
		}
		var v any
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		b, _ = json.Marshal(salted(v, secret))
		d := reflect.New(reflect.TypeOf(eventtable.Zero[name]))
		if err := json.Unmarshal(b, d.Interface()); err != nil {
			continue // a field takes only some words
		}
		datas = append(datas, d.Elem().Interface().(event.Data))
	}
	for i, d := range datas {
		e := event.Event{Seq: int64(i + 1), Prev: int64(i), Time: time.Now().UTC(), Session: "chat", Data: d}
		if err := log.Append(t.Context(), int64(i), true, e); err != nil {
			t.Fatal(i, event.Type(d), err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, agent.Agent{Sessions: store, Model: llmtest.Script(llmtest.Say("one"))}, func(s *Server) {
		s.Shares = &Shares{File: file, Secrets: func() []string { return known }}
	})
	made, shown := s.share(`{"session":"chat","live":true}`)
	if len(datas) < 20 || shown.Items < 6 {
		t.Errorf("%d facts, %d items", len(datas), shown.Items)
	}
	rules, _ := json.Marshal(shown)
	watching := s.watch(made.Path)
	state := watching.until(t, isNamed("state"))
	watching.close()
	_, page, _ := s.strange("GET", made.Path+"?all=1")
	_, part, _ := s.strange("GET", made.Path+"/part?since=0")
	if !strings.Contains(page, "***") {
		t.Error(page)
	}
	for what, sent := range map[string]string{"the preview": string(rules), "the stream": state[len(state)-1].data, "the page": page, "a part": part} {
		for _, h := range hidden {
			if len(h) >= 8 && strings.Contains(sent, h) {
				i := strings.Index(sent, h)
				t.Fatalf("%s has %q: %s", what, h, sent[max(0, i-200):min(len(sent), i+200)])
			}
		}
	}
}

// salted returns decoded JSON with secrets in its strings.
func salted(v any, secret func() string) any {
	switch v := v.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return v
		}
		return secret()
	case []any:
		for i := range v {
			v[i] = salted(v[i], secret)
		}
	case map[string]any:
		for name := range v {
			if name == "type" || name == "role" { // they name the type of a block
				continue
			}
			v[name] = salted(v[name], secret)
		}
	}
	return v
}

// A share follows its session through rewinds and runs. A fork is another session.
func TestShareForkAndRewind(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("answer one"), llmtest.Say("answer two"), llmtest.Say("answer FORKED"), llmtest.Say("answer three"))}, sharesIn(""))
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"first"}`, 201, nil)
	r := s.open("chat", 0)
	all := r.until(t, isType("run_end"))
	end := all[len(all)-1].event.Seq
	made, _ := s.share(`{"session":"chat","live":true}`)
	watching := s.watch(made.Path)
	watching.until(t, isNamed("state"))
	s.do("POST", "/v1/sessions/chat/messages", `{"text":"second"}`, 202, nil)
	r.until(t, isType("run_end"))
	watching.until(t, isNamed("changed"))
	var f forked
	s.do("POST", "/v1/sessions/chat/fork", fmt.Sprintf(`{"fact":%d}`, end), 201, &f)
	s.do("POST", "/v1/sessions/"+f.Session+"/messages", `{"text":"in the FORK"}`, 202, nil)
	other := s.open(f.Session, 0)
	other.until(t, func(r received) bool {
		d, ok := r.event.Data.(event.AssistantMessage)
		return ok && strings.Contains(d.Response.Message.Text(), "FORKED")
	})
	other.close()
	s.do("POST", "/v1/sessions/chat/rewind", fmt.Sprintf(`{"fact":%d}`, end), 200, nil)
	watching.until(t, isNamed("reload"))
	s.do("POST", "/v1/sessions/chat/messages", `{"text":"third"}`, 202, nil)
	r.until(t, isType("run_end"))
	r.close()
	var page string
	for range 100 { // the reader of the share may be behind
		if _, page, _ = s.strange("GET", made.Path); strings.Contains(page, "answer three") {
			break
		}
		watching.until(t, isNamed("changed"))
	}
	watching.close()
	for want, is := range map[string]bool{"answer one": true, "answer two": false, "answer three": true, "FORK": false} {
		if strings.Contains(page, want) != is {
			t.Errorf("%q is in the page: %v, want %v: %s", want, !is, is, page)
		}
	}
}

// The pages make, list and revoke shares without scripts.
func TestSharePages(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"))}, sharesIn(""))
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"mail jane@example.com"}`, 201, nil)
	r := s.open("chat", 0)
	r.until(t, isType("run_end"))
	r.close()
	if page := s.page("/shares?session=chat"); !strings.Contains(page, `value="chat"`) || !strings.Contains(page, "Nothing is shared") {
		t.Errorf("%s", page)
	}
	page := s.post("/shares/preview", url.Values{"session": {"chat"}, "live": {"1"}, "expires_in": {"2h"}, "results": {"omit"}}, 200)
	code := regexp.MustCompile(`name="preview" value="([0-9a-f]+)"`).FindStringSubmatch(page)
	if code == nil || !strings.Contains(page, "mail [e-mail]") || !strings.Contains(page, "Patterns can miss things") || strings.Contains(page, "jane@") {
		t.Fatalf("%s", page)
	}
	page = s.post("/shares", url.Values{"preview": {code[1]}}, 200)
	link := regexp.MustCompile(`href="(/share/[0-9a-f]{32})"`).FindStringSubmatch(page)
	if link == nil {
		t.Fatalf("%s", page)
	}
	if status, body, _ := s.strange("GET", link[1]); status != 200 || !strings.Contains(body, "mail [e-mail]") {
		t.Errorf("%d %s", status, body)
	}
	page = s.page("/shares")
	id := regexp.MustCompile(`action="/shares/([0-9a-f]+)/revoke"`).FindStringSubmatch(page)
	if id == nil || strings.Contains(page, link[1]) {
		t.Fatalf("%s", page)
	}
	s.post("/shares/"+id[1]+"/revoke", nil, 303)
	if status, _, _ := s.strange("GET", link[1]); status != 404 {
		t.Error(status)
	}
}

// Shares belong to the user who made them.
func TestSharesOfUsers(t *testing.T) {
	stores := map[string]session.Store{"ann": session.Memory(), "bob": session.Memory()}
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"))}, sharesIn(""), func(s *Server) {
		s.User = func(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil }
		s.Sessions = func(user string) session.Store { return stores[user] }
	})
	as := func(user, method, path, body string) (int, string) {
		r := s.request(method, path, body)
		r.Header.Set("X-User", user)
		status, got, _ := s.answer(r)
		return status, got
	}
	as("ann", "POST", "/v1/sessions", `{"session":"chat","text":"words of ann"}`)
	var shown sharePreview
	var made shareMade
	for range 100 {
		if _, body := as("ann", "GET", "/v1/sessions/chat/events", ""); strings.Contains(body, "run_end") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	_, body := as("ann", "POST", "/v1/shares/preview", `{"session":"chat"}`)
	if err := json.Unmarshal([]byte(body), &shown); err != nil {
		t.Fatal(body)
	}
	if status, body := as("bob", "POST", "/v1/shares/preview", `{"session":"chat"}`); status != 404 {
		t.Error(status, body)
	}
	if status, body := as("bob", "POST", "/v1/shares", `{"preview":"`+shown.Preview+`"}`); status != 409 {
		t.Error(status, body)
	}
	_, body = as("ann", "POST", "/v1/shares", `{"preview":"`+shown.Preview+`"}`)
	if err := json.Unmarshal([]byte(body), &made); err != nil || made.Path == "" {
		t.Fatal(body)
	}
	if _, body := as("bob", "GET", "/v1/shares", ""); strings.Contains(body, made.ID) {
		t.Error(body)
	}
	if status, _ := as("bob", "DELETE", "/v1/shares/"+made.ID, ""); status != 404 {
		t.Error(status)
	}
	if status, page, _ := s.strange("GET", made.Path); status != 200 || !strings.Contains(page, "words of ann") {
		t.Error(status, page)
	}
}

// Strangers cannot take the streams of the user, and end with the server.
func TestSharedStreams(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"))}, sharesIn(""))
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	own := s.open("chat", 0)
	own.until(t, isType("run_end"))
	own.close()
	var all []*reader
	for range maxStreams / maxWatching {
		made, _ := s.share(`{"session":"chat","live":true}`)
		for range maxWatching {
			r := s.watch(made.Path)
			r.until(t, isNamed("state"))
			all = append(all, r)
		}
		if status, _, _ := s.strange("GET", made.Path+"/events"); status != 429 {
			t.Errorf("more than %d streams of a share: %d", maxWatching, status)
		}
	}
	another, _ := s.share(`{"session":"chat","live":true}`)
	if status, _, _ := s.strange("GET", another.Path+"/events"); status != 429 {
		t.Errorf("more than %d streams of all shares: %d", maxStreams, status)
	}
	own = s.open("chat", 0)
	own.until(t, isNamed("state"))
	own.close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	for _, r := range all {
		got := r.until(t, isNamed("gone"))
		if !strings.Contains(got[len(got)-1].data, "shutdown") {
			t.Error(got[len(got)-1].data)
		}
		r.close()
	}
}

// Images and large results are shown only if the maker of a share wants it.
func TestShareImagesAndResults(t *testing.T) {
	big := tool.New(tool.Spec{Name: "big", Description: "Returns much.", ReadOnly: true}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
		return tool.Text(strings.Repeat("line of a result\n", 400)), nil
	})
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "big", struct{}{})), llmtest.Say("one")), Tools: []tool.Tool{big}}, sharesIn(""))
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"look","blocks":[{"type":"image","media_type":"image/png","data":"`+pixel+`"}]}`, 201, nil)
	r := s.open("chat", 0)
	r.until(t, isType("run_end"))
	r.close()
	for _, c := range []struct {
		options        string
		image, results bool
	}{{``, false, true}, {`,"images":true`, true, true}, {`,"results":"omit"`, false, false}} {
		made, shown := s.share(`{"session":"chat"` + c.options + `}`)
		_, page, _ := s.strange("GET", made.Path)
		if strings.Contains(page, pixel) != c.image || strings.Contains(page, "an image that is not shared") == c.image {
			t.Errorf("%s: image %v: %s", c.options, !c.image, page)
		}
		if strings.Contains(page, "line of a result") != c.results || (shown.LeftOut > 0) == c.results {
			t.Errorf("%s: results %v, %d left out", c.options, !c.results, shown.LeftOut)
		}
		if strings.Contains(page, "<details open") {
			t.Errorf("a large result is open: %s", page)
		}
	}
}

// Pieces of a summary are not shown: it may tell what is out of scope. New secrets are hidden from the next
// page on.
func TestSharedSummaries(t *testing.T) {
	rules := func(secrets ...string) *sharetext.Rules {
		r, err := sharetext.New(sharetext.Options{Secrets: secrets})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	f := &feed{rules: &ruleSet{rules(), 0}, items: map[string]sharedItem{}, side: map[string]bool{}, writing: map[string]*sharedAnswer{}}
	at := func(seq int64, d event.Data) { f.fact(event.Event{Seq: seq, Prev: seq - 1, Time: time.Now(), Data: d}) }
	at(1, fact.ModelStart{Key: "summary", Compacts: "x"})
	at(2, fact.ModelStart{Key: "answer", Model: "m"})
	for _, key := range []string{"summary", "answer"} {
		f.piece(event.TextDelta{Key: key, Text: key + " text\n"})
	}
	if len(f.writing) != 1 || f.writing["answer"].text.Shown() != "answer text\n" {
		t.Errorf("%v", f.writing)
	}
	at(3, event.AssistantMessage{Key: "answer", Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "it is new-secret-value now"}}}}})
	for _, c := range []struct {
		rules *ruleSet
		want  string
	}{{f.rules, "is new-secret-value now"}, {&ruleSet{rules("new-secret-value"), 1}, "is *** now"}} {
		f.use(c.rules)
		v, err := f.page(0, true)
		if err != nil || len(v.Turns) != 1 || !strings.Contains(string(v.Turns[0].HTML), c.want) {
			t.Errorf("%+v %v", v, err)
		}
	}
}
