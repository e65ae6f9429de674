package serve

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/installed"
)

// A browser is a Chromium without a window that a test drives over its debugging pipe. All files that
// it writes are in a temporary folder.
type browser struct {
	t    *testing.T
	in   *os.File
	tab  string // its session
	next int

	mu      sync.Mutex
	answers map[int]chan json.RawMessage
	said    []string // errors and warnings of pages
	asked   []string // addresses that pages asked for
}

// newBrowser starts a browser. Without Chromium, the test is skipped, except where CI is true.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser is slow")
	}
	program := installed.Chromium(t)
	home, err := os.MkdirTemp("", "browser") // the browser's helpers may outlive it for a moment
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 50 {
			if os.RemoveAll(home) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Errorf("the folder %s of the browser is still in use", home)
	})
	fromUs, toBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromBrowser, toUs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--disable-extensions", "--hide-scrollbars", "--force-device-scale-factor=1", "--user-data-dir="+filepath.Join(home, "profile"), "--remote-debugging-pipe", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	cmd.ExtraFiles = []*os.File{fromUs, toUs}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fromUs.Close()
	toUs.Close()
	b := &browser{t: t, in: toBrowser, answers: map[int]chan json.RawMessage{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.read(bufio.NewReaderSize(fromBrowser, 1<<20))
	}()
	t.Cleanup(func() {
		_, _ = toBrowser.WriteString(`{"id":1000000,"method":"Browser.close"}` + "\x00")
		kill := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
		toBrowser.Close()
		<-done
		fromBrowser.Close()
		for range 200 { // its processes may still write
			if os.RemoveAll(home) == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	var made struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &made)
	var joined struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &joined)
	b.tab = joined.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// read takes what the browser sends: answers, and events of pages.
func (b *browser) read(r *bufio.Reader) {
	for {
		line, err := r.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			for _, c := range b.answers {
				close(c)
			}
			b.answers = nil
			b.mu.Unlock()
			return
		}
		var m struct {
			ID     int
			Method string
			Result json.RawMessage
			Error  *struct{ Message string }
			Params struct {
				Entry            struct{ Level, Text, URL string }
				ExceptionDetails json.RawMessage
				Request          struct{ URL string }
			}
		}
		if json.Unmarshal(bytes.TrimSuffix(line, []byte{0}), &m) != nil {
			continue
		}
		b.mu.Lock()
		switch {
		case m.ID > 0:
			if c := b.answers[m.ID]; c != nil {
				if m.Error != nil {
					m.Result, _ = json.Marshal(map[string]string{"failed": m.Error.Message})
				}
				c <- m.Result
				delete(b.answers, m.ID)
			}
		case m.Method == "Log.entryAdded":
			b.said = append(b.said, m.Params.Entry.Level+": "+m.Params.Entry.Text+" "+m.Params.Entry.URL)
		case m.Method == "Runtime.exceptionThrown":
			b.said = append(b.said, "exception: "+string(m.Params.ExceptionDetails))
		case m.Method == "Network.requestWillBeSent":
			b.asked = append(b.asked, m.Params.Request.URL)
		}
		b.mu.Unlock()
	}
}

// call calls a method of the debugging protocol.
func (b *browser) call(method string, params map[string]any, into any) {
	b.t.Helper()
	b.mu.Lock()
	b.next++
	id, answer := b.next, make(chan json.RawMessage, 1)
	if b.answers == nil {
		b.mu.Unlock()
		b.t.Fatalf("%s: the browser has ended", method)
	}
	b.answers[id] = answer
	b.mu.Unlock()
	request := map[string]any{"id": id, "method": method}
	if params != nil {
		request["params"] = params
	}
	if b.tab != "" {
		request["sessionId"] = b.tab
	}
	line, err := json.Marshal(request)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(line, 0)); err != nil {
		b.t.Fatal(err)
	}
	select {
	case got, ok := <-answer:
		var failed struct{ Failed string }
		if !ok || json.Unmarshal(got, &failed) == nil && failed.Failed != "" {
			b.t.Fatalf("%s: %s", method, failed.Failed)
		}
		if into != nil {
			if err := json.Unmarshal(got, into); err != nil {
				b.t.Fatal(err)
			}
		}
	case <-time.After(30 * time.Second):
		b.t.Fatalf("%s: no answer of the browser", method)
	}
}

// open opens a page, and waits until it is loaded.
func (b *browser) open(url string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	b.until(fmt.Sprintf("location.href === %q && document.readyState === 'complete'", url))
}

// eval runs a script in the page, and returns its value as text.
func (b *browser) eval(script string) string {
	b.t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true}, &got)
	if got.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", script, got.ExceptionDetails)
	}
	if got.Result.Value == nil {
		return ""
	}
	return fmt.Sprint(got.Result.Value)
}

// until waits until a script is true in the page.
func (b *browser) until(script string) {
	b.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if b.eval("!!("+script+")") == "true" {
			return
		}
	}
	b.t.Fatalf("it never came to %s; the page is\n%s", script, b.eval("document.documentElement.outerHTML"))
}

// look sets the size of the window, and light or dark.
func (b *browser) look(width, height int, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]string{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// shoot keeps a picture of the page in the folder that SERVE_TEST_SHOTS names, for people.
func (b *browser) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("SERVE_TEST_SHOTS")
	if dir == "" {
		return
	}
	var got struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &got)
	data, err := base64.StdEncoding.DecodeString(got.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), data, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// clean fails if a page broke its policy, threw an error, or asked another server than ours.
func (b *browser) clean(own string, allowed ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.said {
		ok := false
		for _, a := range allowed {
			ok = ok || strings.Contains(line, a)
		}
		if !ok {
			b.t.Errorf("the browser says: %s", line)
		}
	}
	ours := 0
	for _, url := range b.asked {
		switch {
		case strings.HasPrefix(url, own):
			ours++
		case !strings.HasPrefix(url, "data:") && url != "about:blank":
			b.t.Errorf("a page asked for %s", url)
		}
	}
	if ours == 0 {
		b.t.Error("no request was counted")
	}
}
