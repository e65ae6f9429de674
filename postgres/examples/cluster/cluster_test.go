//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/postgres/internal/pgtest"
)

// mainVar makes the test the program itself.
const mainVar = "CLUSTER_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(databaseVar) != "" || os.Getenv(mainVar) != "" {
		main()
	}
	os.Exit(m.Run())
}

// program returns the program with a folder for its files, which must be empty at the end, as
// its processes must be gone.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if _, err := pgtest.Find(); err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "cl")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // the database has a user of its own
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("left in the folder: %v, %v", left, err)
		}
		_ = os.RemoveAll(dir)
	})
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), mainVar+"=1", "CI=", "TMPDIR="+dir, "GORACE=atexit_sleep_ms=0")
	c.WaitDelay = 10 * time.Second // a process that is left keeps the output open
	return c
}

func TestAuto(t *testing.T) {
	t.Parallel()
	out, err := program(t, "-auto", "-orders", "6", "-kills", "2").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("6 of 6 orders are paid, 0 twice\n")) || bytes.Count(out, []byte("killed worker-")) != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestPage: a page shows the session move on when its worker is killed. Ctrl-C ends everything.
func TestPage(t *testing.T) {
	t.Parallel()
	c := program(t)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	defer func() {
		if !ended {
			_ = c.Process.Signal(os.Interrupt)
			t.Log(c.Wait(), errs.String())
		}
	}()
	base := ""
	lines := bufio.NewScanner(out)
	for lines.Scan() && base == "" {
		if _, rest, ok := strings.Cut(lines.Text(), "Open "); ok {
			base, _, _ = strings.Cut(rest, " ")
		}
	}
	status := func(method, path string, form url.Values, change func(*http.Request)) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if change != nil {
			change(r)
		}
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	kill := url.Values{"worker": {"worker-1"}}
	for name, got := range map[string]int{
		"page by another name":  status("GET", "/", nil, func(r *http.Request) { r.Host = "example.com" }),
		"kill by another site":  status("POST", "/kill", kill, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }),
		"order at another name": status("POST", "/order", url.Values{"desk": {"desk-1"}}, func(r *http.Request) { r.Host = "example.com" }),
	} {
		if got != http.StatusForbidden {
			t.Errorf("%s: %d", name, got)
		}
	}
	if got := status("GET", "/", nil, nil); got != http.StatusOK {
		t.Errorf("page: %d", got)
	}
	if got := status("POST", "/order", url.Values{"desk": {"desk-1"}}, nil); got != http.StatusSeeOther {
		t.Errorf("order: %d", got)
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", base+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	desk, killed := "", ""
	continued := false
	for notes := bufio.NewScanner(resp.Body); !continued && notes.Scan(); {
		data, ok := strings.CutPrefix(notes.Text(), "data: ")
		var n note
		if !ok || json.Unmarshal([]byte(data), &n) != nil {
			continue
		}
		words := strings.Fields(n.Text)
		if len(words) < 2 || words[0] != "→" {
			continue
		}
		switch worker := words[1]; {
		case killed == "" && status("POST", "/kill", url.Values{"worker": {worker}}, nil) == http.StatusSeeOther:
			desk, killed = n.Desk, worker
		case n.Desk == desk:
			continued = worker != killed
		}
	}
	if !continued {
		t.Errorf("%s of %s did not continue elsewhere", desk, killed)
	}
	ended = true
	_ = c.Process.Signal(os.Interrupt)
	for lines.Scan() { // until the output is closed
	}
	if err := c.Wait(); err != nil {
		t.Errorf("after an interrupt: %v\n%s", err, errs.String())
	}
}
