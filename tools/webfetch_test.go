package tools

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/tools/search"
)

// A site is a server on this machine and the tool that may fetch from it.
type site struct {
	testing.TB
	*http.ServeMux
	url   string
	fetch tool.Tool
	hits  atomic.Int32
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{TB: t, ServeMux: http.NewServeMux(), fetch: WebFetch(Web{AllowPrivate: true})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.hits.Add(1)
		s.ServeMux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// page serves a body of a type at path.
func (s *site) page(path, contentType, body string) {
	s.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		io.WriteString(w, body)
	})
}

func (s *site) get(path string) *tool.Result {
	s.Helper()
	return tooltest.Run(s, s.fetch, fetchInput{URL: s.url + path})
}

func (s *site) wants(path, text string) {
	s.Helper()
	if r := s.get(path); r.IsError || !strings.HasSuffix(r.Text(), "\n\n"+text+"\n") {
		s.Errorf("%s: got %q, want %q", path, r.Text(), text)
	}
}

func (s *site) refuses(path, why string) {
	s.Helper()
	if r := s.get(path); !r.IsError || !strings.Contains(r.Text(), why) {
		s.Errorf("%s: got %.300q, want %q", path, r.Text(), why)
	}
}

func TestWebFetchPage(t *testing.T) {
	s := newSite(t)
	var header http.Header
	s.HandleFunc("/page", func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		io.WriteString(w, `<html><title>The page</title><h1>Hello</h1><a href="other">more</a></html>`)
	})
	r := s.get("/page#part")
	want := fmt.Sprintf("URL: %s/page\nStatus: 200 OK\nTitle: The page\nContent: text/html; charset=utf-8, 74 bytes\n\n# Hello\n\n[more](%s/other)\n", s.url, s.url)
	if r.IsError || r.Text() != want {
		t.Errorf("got %q\nwant %q", r.Text(), want)
	}
	if got := header.Get("User-Agent"); got != "openagent-go" {
		t.Errorf("User-Agent %q", got)
	}
	var d struct {
		URL, FinalURL, ContentType string
		Status, Bytes              int
		Cached, Truncated          bool
	}
	if err := json.Unmarshal(r.Details, &d); err != nil || d.URL != s.url+"/page" || d.FinalURL != d.URL || d.Status != 200 || d.Bytes != 74 || d.Cached || d.Truncated {
		t.Errorf("details %s", r.Details)
	}
	again := s.get("/page")
	if s.hits.Load() != 1 || !strings.Contains(again.Text(), "Cached: ") || !strings.Contains(string(again.Details), `"cached":true`) || !strings.HasSuffix(again.Text(), "/other)\n") {
		t.Errorf("again: %d requests, %q", s.hits.Load(), again.Text())
	}
	s.page("/next", "", "x")
	s.HandleFunc("/cookie", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, len(r.Cookies())) })
	s.wants("/cookie", "0")
}

func TestWebFetchTypes(t *testing.T) {
	s := newSite(t)
	for i, c := range []struct{ contentType, body, want string }{
		{"text/plain; charset=iso-8859-1", "caf\xe9", "café"},
		{"text/html; charset=windows-1251", "<p>\xcf\xf0\xe8\xe2\xe5\xf2", "Привет"},
		{"text/html", `<meta charset="shift_jis"><p>` + "\x93\xfa\x96\x7b", "日本"},
		{"text/html", "<p>x" + strings.Repeat("a", 1100) + "é", "x" + strings.Repeat("a", 1100) + "é"},
		{"text/plain", "\xff\xfeh\x00i\x00", "hi"},
		{"text/plain", "\xef\xbb\xbfbom", "bom"},
		{"text/plain", "not UTF-8: \xe9", "not UTF-8: é"},
		{"text/plain; charset=utf-8", "broken \xff", "broken \uFFFD"},
		{"application/json", `{"a": "<b>"}`, `{"a": "<b>"}`},
		{"image/svg+xml", "<svg/>", "<svg/>"},
		{"", "<!DOCTYPE html><p>x", "x"},
		{"application/octet-stream", "plain all the same", "plain all the same"},
		{"text/markdown", "# as *it* is", "# as *it* is"},
		{"text/html", "<script>app()</script>", "(There is no text in the page. It may need JavaScript or a login.)"},
	} {
		path := fmt.Sprintf("/%d", i)
		s.page(path, c.contentType, c.body)
		s.wants(path, c.want)
	}
	for path, c := range map[string]struct{ contentType, body, why string }{
		"/zip": {"application/zip", "PK\x03\x04\x00\x00", "application/zip"}, "/elf": {"", "\x7fELF\x02\x01\x00\x00\x00", "ELF program"}, "/video": {"video/mp4", "text", "video/mp4"},
		"/lie": {"text/html", "MZ\x90\x00\x03\x00", "text/html"}, "/damaged": {"image/png", "\x89PNG\r\n\x1a\nxx", "cannot be shown"}, "/pdf": {"application/pdf", "%PDF-1.7 cut", "has no end"},
	} {
		s.page(path, c.contentType, c.body)
		s.refuses(path, c.why)
	}
}

func TestWebFetchMedia(t *testing.T) {
	s := newSite(t)
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	s.page("/i", "text/plain", b.String()) // the content counts, not the declared type
	s.page("/doc/x.pdf", "application/pdf", "%PDF-1.7\n/Type /Page\n%%EOF")
	for range 2 { // the second time from the cache
		r := tooltest.Run(t, s.fetch, fetchInput{URL: s.url + "/i", Prompt: "what is it?"})
		if img, ok := r.Content[len(r.Content)-1].(llm.Image); !ok || img.MediaType != "image/png" || !bytes.Equal(img.Data, b.Bytes()) || !strings.Contains(r.Text(), "3x2") {
			t.Errorf("image: %+v", r)
		}
		if r.Digest != "" {
			t.Error("a model that sees text alone is asked about an image")
		}
		r = s.get("/doc/x.pdf")
		if doc, ok := r.Content[len(r.Content)-1].(llm.Document); !ok || doc.Title != "x.pdf" || doc.MediaType != "application/pdf" {
			t.Errorf("document: %+v", r)
		}
	}
	if n := s.hits.Load(); n != 2 {
		t.Errorf("%d requests", n)
	}
	s.page("/large", "image/png", b.String()+strings.Repeat("x", maxPage))
	s.refuses("/large", "more than 10 MB")
}

func TestWebFetchPrompt(t *testing.T) {
	s := newSite(t)
	s.page("/a", "text/plain", "the content")
	s.Handle("/gone", http.NotFoundHandler())
	r := tooltest.Run(t, s.fetch, fetchInput{URL: s.url + "/a", Prompt: " what? "})
	if r.Digest != "what?" || !strings.Contains(r.Text(), "the content") {
		t.Errorf("%+v", r)
	}
	if r := tooltest.Run(t, s.fetch, fetchInput{URL: s.url + "/gone", Prompt: "what?"}); r.Digest != "" || !r.IsError {
		t.Errorf("of an error: %+v", r)
	}
}

func TestWebFetchRedirects(t *testing.T) {
	s := newSite(t)
	other := newSite(t)
	other.page("/there", "text/plain", "elsewhere")
	s.Handle("/a", http.RedirectHandler("/b", http.StatusMovedPermanently))
	s.Handle("/b", http.RedirectHandler("c?x#y", http.StatusTemporaryRedirect))
	s.page("/c", "text/plain", "arrived")
	s.Handle("/loop", http.RedirectHandler("/loop", http.StatusFound))
	s.Handle("/away", http.RedirectHandler(other.url+"/there", http.StatusFound))
	for path, to := range map[string]string{"/file": "file:///etc/passwd", "/user": "http://u:p@a.org/", "/number": "http://2130706433/"} {
		s.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
		s.refuses(path, "redirects to an address that is not fetched")
	}
	s.wants("/a", "arrived")
	if text := s.get("/a").Text(); !strings.Contains(text, "Redirected to: "+s.url+"/c?x\n") {
		t.Errorf("got %q", text)
	}
	s.refuses("/loop", "more than 10 redirects")
	r := s.get("/away")
	if r.IsError || !strings.Contains(r.Text(), "fetch "+other.url+"/there\n") || !strings.Contains(string(r.Details), `"redirect":"`+other.url+`/there"`) || other.hits.Load() != 0 {
		t.Errorf("to another host: %q, %d requests there", r.Text(), other.hits.Load())
	}
}

func TestSameSite(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"http://a/x", "http://a/y", true}, {"http://a/", "https://a/", true}, {"https://a/", "http://a/", false}, {"https://a/", "https://b.a/", false},
		{"https://a/", "https://a:8443/", false}, {"http://a:8080/", "https://a/", false}, {"http://a:8080/", "http://a:8080/x", true},
	} {
		from, _ := url.Parse(c.from)
		to, _ := url.Parse(c.to)
		if got := sameSite(from, to); got != c.want {
			t.Errorf("%s to %s: %v", c.from, c.to, got)
		}
	}
}

func TestWebFetchErrors(t *testing.T) {
	s := newSite(t)
	s.HandleFunc("/500", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, "<p>went <b>wrong</b> "+strings.Repeat("very ", 1000))
	})
	r := s.get("/500")
	if !r.IsError || !strings.Contains(r.Text(), "Status: 500 Internal Server Error") || !strings.Contains(r.Text(), "went **wrong**") || len(r.Text()) > 2500 {
		t.Errorf("got %.200q… of %d bytes", r.Text(), len(r.Text()))
	}
	s.get("/500")
	if n := s.hits.Load(); n != 2 {
		t.Errorf("an error was kept: %d requests", n)
	}
	s.HandleFunc("/br", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		io.WriteString(w, "xxxx")
	})
	s.refuses("/br", "not asked for: br")
	s.HandleFunc("/cut", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	s.refuses("/cut", "reading the page")
	for in, why := range map[string]string{"a.org/x": "must begin with https://", "https://user:hunter2@a.org/": "user name", "http://0x7f.1/": "usual form"} {
		r := tooltest.Run(t, s.fetch, fetchInput{URL: in})
		if !r.IsError || !strings.Contains(r.Text(), why) || strings.Contains(r.Text(), "hunter2") {
			t.Errorf("%s: %q", in, r.Text())
		}
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	if r := tooltest.Run(t, s.fetch, fetchInput{URL: closed.URL}); !r.IsError || !strings.Contains(r.Text(), "refused") {
		t.Errorf("nobody there: %q", r.Text())
	}
}

// Nothing on this machine is reached unless that is allowed, and then not by a
// redirect either.
func TestWebFetchPrivate(t *testing.T) {
	s := newSite(t)
	s.page("/secret", "text/plain", "secret")
	s.fetch = WebFetch(Web{})
	s.refuses("/secret", "127.0.0.1 may not be reached: it is a loopback address, and the configuration does not allow those")
	if n := s.hits.Load(); n != 0 {
		t.Errorf("%d requests were made", n)
	}
	s.fetch = WebFetch(Web{AllowPrivate: true})
	if r := tooltest.Run(t, s.fetch, fetchInput{URL: "http://169.254.169.254/latest/meta-data/"}); !r.IsError || !strings.Contains(r.Text(), "metadata") {
		t.Errorf("metadata service: %q", r.Text())
	}
}

func TestWebFetchLimits(t *testing.T) {
	s := newSite(t)
	s.HandleFunc("/bomb", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		block := bytes.Repeat([]byte("a"), 1<<20)
		for range 1000 {
			if _, err := z.Write(block); err != nil || r.Context().Err() != nil {
				return
			}
		}
		z.Close()
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := s.get("/bomb")
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 200 {
		t.Errorf("%d MB were allocated for a page of which %d are read", took, maxPage>>20)
	}
	if len(r.Text()) > maxPage+1000 || !strings.Contains(r.Text(), "too large to be shown as a whole") || !strings.Contains(string(r.Details), `"truncated":true`) {
		t.Errorf("%d bytes, %s", len(r.Text()), r.Details)
	}
	if r.Truncated {
		t.Error("the executor would not cut it")
	}
}

// A page without end is left when as much of it is read as is shown.
func TestWebFetchEndless(t *testing.T) {
	s := newSite(t)
	sent := make(chan int, 1)
	s.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		block := bytes.Repeat([]byte("a"), 1<<20)
		n := 0
		for ; n < 500; n++ {
			if _, err := w.Write(block); err != nil {
				break
			}
		}
		sent <- n
	})
	if r := s.get("/endless"); !strings.Contains(string(r.Details), `"truncated":true`) {
		t.Errorf("%s", r.Details)
	}
	if n := <-sent; n > 100 {
		t.Errorf("%d MB were sent", n)
	}
}

// fakeNet serves requests for any host within a synctest bubble.
func fakeNet(t *testing.T, handle http.HandlerFunc) *http.Client {
	rt := roundTripper(func(r *http.Request) (*http.Response, error) {
		near, far := net.Pipe()
		server := &http.Server{Handler: handle}
		l := &oneConn{conn: far, closed: make(chan struct{})}
		go server.Serve(l)
		stop := context.AfterFunc(r.Context(), func() { near.Close() })
		tr := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
		resp, err := tr.RoundTrip(r)
		if err != nil {
			stop()
			server.Close()
			return nil, err
		}
		resp.Body = &closing{resp.Body, func() { stop(); server.Close() }}
		return resp, nil
	})
	return &http.Client{Transport: rt}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type closing struct {
	io.ReadCloser
	then func()
}

func (c *closing) Close() error { defer c.then(); return c.ReadCloser.Close() }

// A oneConn is a listener with a single connection.
type oneConn struct {
	conn   net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}
func (l *oneConn) Close() error   { close(l.closed); return nil }
func (l *oneConn) Addr() net.Addr { return &net.IPAddr{} }

const somewhere = "http://93.184.216.34/"

func fetchOnce(ctx context.Context, tl tool.Tool) toolrun.Outcome {
	input, _ := json.Marshal(fetchInput{URL: somewhere})
	return toolrun.Run(ctx, tl, tool.Call{ID: "c1.0", Name: "WebFetch", Input: input}, time.Second)
}

func TestWebFetchTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		slow := fakeNet(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			io.WriteString(w, "begun")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		start := time.Now()
		out := fetchOnce(t.Context(), WebFetch(Web{HTTP: slow}))
		if took := time.Since(start); took != 30*time.Second || out.Fault != toolrun.TimedOut || !strings.Contains(out.Result.Text(), "within 30s") {
			t.Errorf("after %v: %v %q", took, out.Fault, out.Result.Text())
		}
		start = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		out = fetchOnce(ctx, WebFetch(Web{HTTP: slow, Timeout: time.Minute}))
		if took := time.Since(start); took != 5*time.Second || out.Result == nil || !out.Result.IsError {
			t.Errorf("cancelled after %v: %+v", took, out)
		}

		requests = 0
		tl := WebFetch(Web{HTTP: fakeNet(t, func(w http.ResponseWriter, r *http.Request) { requests++; fmt.Fprint(w, "page ", requests) })})
		for _, c := range []struct {
			wait time.Duration
			want string
		}{{0, "page 1"}, {15*time.Minute - 1, "page 1"}, {1, "page 2"}} {
			time.Sleep(c.wait)
			if out := fetchOnce(t.Context(), tl); !strings.HasSuffix(out.Result.Text(), c.want+"\n") {
				t.Errorf("got %q, want %s", out.Result.Text(), c.want)
			}
		}
	})
}

// Cancelled or refused, large or slow: a fetch leaves nothing running.
func TestWebFetchLeaksNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	mux := http.NewServeMux()
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/fast", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "x") })
	mux.Handle("/away", http.RedirectHandler("http://127.0.0.2/", http.StatusFound))
	server := httptest.NewServer(mux)
	defer server.Close()
	tl := WebFetch(Web{AllowPrivate: true, Timeout: 50 * time.Millisecond})
	for _, path := range []string{"/slow", "/fast", "/away", "/none"} {
		tooltest.Run(t, tl, fetchInput{URL: server.URL + path})
	}
}

func TestWebFetchClassify(t *testing.T) {
	tl := WebFetch(Web{})
	policy := permission.Policy{Mode: permission.Bypass, Deny: []permission.Rule{"WebFetch(domain:evil.org)"}}
	for in, denied := range map[string]bool{
		"https://a.org/evil.org": false, "https://EVIL.org/x": true, "https://ｅvil.org/": true, "https://evil.org./": true, "https://x.evil.org": true, "https://evil.org@a.org/": false, "https://evil.org:8443/": true,
	} {
		class := toolrun.Classify(tl, tool.Call{Name: "WebFetch", Input: tooltest.Input(t, fetchInput{URL: in})})
		d := policy.Decide(permission.Request{Tool: "WebFetch", Access: class.Access, ReadOnly: class.ReadOnly, Dir: "/w"})
		if got := d.Behavior == permission.Denied; got != denied || !class.ReadOnly || len(class.Access) != 1 || class.Access[0].Kind != permission.FetchURL {
			t.Errorf("%s: %+v, %+v", in, d, class)
		}
	}
}

func TestWebTools(t *testing.T) {
	nowhere := &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) { return nil, os.ErrClosed })}
	for _, tl := range []tool.Tool{WebFetch(Web{HTTP: nowhere}), WebSearch(nil), WebSearch(search.DuckDuckGo(search.Options{HTTP: nowhere}))} {
		tooltest.Check(t, tl)
		if s := tl.Spec(); !s.ReadOnly || !s.OpenWorld {
			t.Errorf("%s: %+v", s.Name, s)
		}
	}
}
