package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent/llm/llmtest"
)

// A browser is one that has opened the address of a conversation.
type browser struct {
	t       *testing.T
	client  *http.Client
	address string
	page    string // path of the session
}

// opens logs a browser in with the last address on the screen.
func (p *person) opens() *browser {
	p.t.Helper()
	all := regexp.MustCompile(`(http://openagent-[0-9a-f]{16}\.localhost:\d+)/login\?code=[0-9a-f]{64}`).FindAllStringSubmatch(p.all.String(), -1)
	if all == nil {
		p.t.Fatalf("there is no address on the screen: %q", p.all.String())
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	// As browsers do, it finds this machine by each name below localhost.
	find := func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	}
	b := &browser{t: p.t, client: &http.Client{Jar: jar, Transport: &http.Transport{DialContext: find}}, address: all[len(all)-1][1]}
	res, err := b.client.Get(all[len(all)-1][0])
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 200 {
		p.t.Fatal(res.Status)
	}
	b.page = res.Request.URL.Path
	p.t.Cleanup(b.client.CloseIdleConnections)
	return b
}

// streams opens the stream of the session, and returns its lines until it ends.
func (b *browser) streams() <-chan string {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), "GET", b.address+"/v1/sessions/"+strings.TrimPrefix(b.page, "/s/")+"/events", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	res, err := b.client.Do(r)
	if err != nil || res.StatusCode != 200 {
		b.t.Fatal(res, err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		defer res.Body.Close()
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return lines
}

// reads waits for a line with a text.
func reads(t *testing.T, lines <-chan string, want string) string {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("the stream ended before %q", want)
			}
			if strings.Contains(line, want) {
				return line
			}
		case <-limit:
			t.Fatalf("no %q on the stream", want)
		}
	}
}

// posts sends a form and returns the status of the page that follows.
func (b *browser) posts(path string, form url.Values) int {
	b.t.Helper()
	res, err := b.client.PostForm(b.address+path, form)
	if err != nil {
		b.t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// gets returns a page.
func (b *browser) gets(path string) (int, string) {
	b.t.Helper()
	res, err := b.client.Get(b.address + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// asked returns the path of the form of the question on the page.
func (b *browser) asked() string {
	b.t.Helper()
	for range 100 {
		_, page := b.gets(b.page)
		if at := regexp.MustCompile(`action="(/s/[^"]+/calls/[^"]+)"`).FindStringSubmatch(page); at != nil {
			return at[1]
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.t.Fatal("the page shows no question")
	return ""
}

// The terminal UI shows its session in a browser. The browser answers a question: its card goes, and what
// the person has typed meanwhile stays. /live off ends the streams.
func TestLiveInUI(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := sitAtUI(t, dir, nil, callBash("touch made"), llmtest.Say("It is made now."), llmtest.Say("You typed it."))
	p.sees(`enter send`)
	p.types("/live\r")
	p.sees(`opens this session in one browser`)
	p.sees(`live · 0 viewers`)
	b := p.opens()
	lines := b.streams()
	p.sees(`1 viewer`)
	p.types("make a file\r")
	p.sees(`\? .*Bash`)
	p.types("typed meanwhile")
	if status := b.posts(b.asked(), url.Values{"behavior": {"allow"}}); status != 200 {
		t.Error(status)
	}
	p.sees(`allowed in the browser`)
	p.sees(`It is made now`)
	p.sees(`done · 2 turns`)
	reads(t, lines, `"run_end"`)
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Error(err)
	}
	p.types("\r")
	p.sees(`You typed it`)
	if _, page := b.gets(b.page); !strings.Contains(page, "typed meanwhile") {
		t.Errorf("the input was lost: %s", page)
	}
	if status := b.posts(b.page+"/messages", url.Values{"text": {"from the browser"}}); status != 409 {
		t.Errorf("the browser begins a run: %d", status)
	}
	p.sees(`done · 1 turn`)
	p.types("/live off\r")
	p.sees(`live off`)
	reads(t, lines, `"shutdown"`)
	for range lines { // to its end
	}
	if res, err := b.client.Get(b.address + b.page); err == nil {
		res.Body.Close()
		t.Error("it still listens: ", res.Status)
	}
	p.types("\x04")
	p.sees(`openagent --resume`)
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// In plain lines, --live does the same. With /live watch the browser cannot answer.
func TestLiveInLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := sitAt(t, llmtest.NewServer(t, callBash("touch made"), llmtest.Say("It is made now."), callBash("touch second"), llmtest.Say("As you wish.")), dir, nil, []string{"--live"})
	p.sees(`opens this session in one browser`)
	p.sees(`> `)
	p.types("/live watch\n")
	p.sees(`it may only watch`)
	b := p.opens()
	lines := b.streams()
	p.sees(`live: 1 viewer`)
	p.types("make a file\n")
	p.sees(`allow Bash\?`)
	call := regexp.MustCompile(`"id":"(c[0-9.]+)"`).FindStringSubmatch(reads(t, lines, `"permission_request"`))
	if call == nil {
		t.Fatal("the stream does not name the call")
	}
	if status := b.posts(b.page+"/calls/"+call[1], url.Values{"behavior": {"allow"}}); status != 403 {
		t.Errorf("a browser that watches answers: %d", status)
	}
	p.thinks()
	p.types("1\n")
	p.sees(`It is made now`)
	p.sees(`> `)
	p.types("/live\n")
	p.sees(`it may answer questions`)
	b = p.opens()
	p.types("another file\n")
	p.sees(`allow Bash\?`)
	if status := b.posts(b.page+"/messages", url.Values{"text": {"look at the clock"}, "delivery": {"steer"}}); status != 200 {
		t.Error("the browser cannot send a message to the run: ", status)
	}
	if status := b.posts(b.asked(), url.Values{"behavior": {"deny"}, "reason": {"not now"}}); status != 200 {
		t.Error(status)
	}
	p.sees(`2 turns, 1 call, 1 denied`)
	for _, want := range []string{"denied in the browser", "look at the clock", "As you wish"} { // the first two in either order
		if !strings.Contains(p.all.String(), want) {
			t.Errorf("the terminal does not show %q", want)
		}
	}
	p.sees(`> `)
	p.types("/quit\n")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// /share shows what it hides, and makes a link after a yes. The link ends with the conversation.
func TestShareInUI(t *testing.T) {
	t.Parallel()
	p := sitAtUI(t, t.TempDir(), nil, llmtest.Say("Ask jane@example.com."))
	p.sees(`enter send`)
	p.types("/share\r")
	p.sees(`nothing of this session is on record yet`)
	p.types("who knows it?\r")
	p.sees(`done · 1 turn`)
	p.types("/share yes\r")
	p.sees(`there is no preview to confirm`)
	p.types("/share for 2h\r")
	p.sees(`Ask \[e-mail\]`)
	p.sees(`Patterns can miss things`)
	p.sees(`/share yes makes a link`)
	p.types("/share yes\r")
	p.sees(`it ends with this conversation`)
	p.sees(`shared · 0 viewers`)
	link := regexp.MustCompile(`(http://127\.0\.0\.1:\d+)(/share/[0-9a-f]{32})`).FindStringSubmatch(p.all.String())
	if link == nil {
		t.Fatalf("%q", p.all.String())
	}
	b := &browser{t: t, client: http.DefaultClient, address: link[1]}
	if status, page := b.gets(link[2]); status != 200 || !strings.Contains(page, "Ask [e-mail]") {
		t.Errorf("%d %s", status, page)
	}
	if status, page := b.gets("/v1/sessions"); status != 401 {
		t.Errorf("%d %s", status, page)
	}
	p.types("/share list\r")
	p.sees(`live  until .*  0 viewers`)
	p.types("/share revoke all\r")
	p.sees(`revoked 1 share`)
	if res, err := http.Get(link[0]); err == nil {
		if res.Body.Close(); res.StatusCode != 404 {
			t.Errorf("the link works after it was revoked: %s", res.Status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	p.types("\x04")
	p.leaves()
}

// Links of openagent serve outlast kill -9. openagent share makes and revokes them; one that was revoked
// does not come back. A session that another process continues is shown, and no secret of it.
func TestShareCommand(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t, llmtest.Say("Ask jane@example.com."), llmtest.Say("The word is PROJ-77, or sk-ant-api03-abcDEF0123456789abcdef."))
	f := newFolderOfTriggers(t, t.TempDir(), server)
	run := func(code int, args ...string) string {
		t.Helper()
		out, err := f.command(args...).CombinedOutput()
		if got := exitCode(err); got != code {
			t.Fatalf("%q: exit code %d, want %d: %s", args, got, code, out)
		}
		return string(out)
	}
	run(0, "-p", "--session-id", "chat", "who knows it?")
	run(2, "share", "chat")             // nobody can say yes
	run(2, "share")                     //
	run(2, "share", "unknown", "--yes") //
	run(2, "share", "chat", "--yes", "--expires", "never")
	s := f.serveSessions()
	if out := run(0, "share", "chat", "--live", "--yes"); !strings.Contains(out, "Ask [e-mail]") || !strings.Contains(out, "Patterns can miss things") {
		t.Errorf("the preview is %s", out)
	}
	second := run(0, "share", "chat", "--yes")
	var list []struct{ ID, Session string }
	if err := json.Unmarshal([]byte(run(0, "share", "--list", "--output-format", "json")), &list); err != nil || len(list) != 2 || list[0].Session != "chat" {
		t.Fatalf("%+v %v", list, err)
	}
	live := run(0, "share", "chat", "--live", "--yes")
	path := func(out string) string {
		t.Helper()
		at := regexp.MustCompile(regexp.QuoteMeta(s.start.Address) + `(/share/[0-9a-f]{32})`).FindStringSubmatch(out)
		if at == nil {
			t.Fatalf("no link to %s in %s", s.start.Address, out)
		}
		return at[1]
	}
	kept, revoked := path(live), path(second)
	get := func(path string) (int, string) {
		t.Helper()
		res, err := http.Get(s.start.Address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	run(0, "share", "--revoke", list[0].ID)
	for path, want := range map[string]int{kept: 200, revoked: 404} {
		if status, page := get(path); status != want || status == 200 && !strings.Contains(page, "Ask [e-mail]") {
			t.Errorf("%d, want %d: %s", status, want, page)
		}
	}
	s.end(syscall.SIGKILL)
	run(0, "share", "--revoke", list[1].ID) // of the first one
	s = f.serveSessions("--settings", `{"share":{"redact":["PROJ-\\d+"]}}`)
	for path, want := range map[string]int{kept: 200, revoked: 404} {
		if status, _ := get(path); status != want {
			t.Errorf("after a restart: %d, want %d", status, want)
		}
	}
	res, err := http.Get(s.start.Address + kept + "/events")
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		defer res.Body.Close()
		for sc := bufio.NewScanner(res.Body); sc.Scan(); {
			lines <- sc.Text()
		}
	}()
	reads(t, lines, `"version"`)
	run(0, "-p", "--resume", "chat", "and the word?") // in another process
	reads(t, lines, "changed")
	page := ""
	for range 100 {
		if _, page = get(kept); strings.Contains(page, "The word is") {
			break
		}
		reads(t, lines, "changed")
	}
	if !strings.Contains(page, "The word is ***, or ***.") {
		t.Errorf("%s", page)
	}
	s.end(syscall.SIGTERM)
	if line := reads(t, lines, "shutdown"); line == "" {
		t.Error("no end")
	}
	http.DefaultClient.CloseIdleConnections()
}
