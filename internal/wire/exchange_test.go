package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

const key = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz"

func exchange(url string, client *http.Client) *Exchange {
	return &Exchange{
		Provider: "test", HTTP: client, URL: url, Explain: Explain,
		Header: http.Header{"X-Api-Key": {key}}, Body: [][]byte{[]byte(`{"a":`), nil, []byte(`1}`)},
	}
}

// ask carries out an exchange to the end of its body.
func ask(ctx context.Context, x *Exchange) (string, error) {
	r, err := x.Do(ctx)
	if err != nil {
		return "", err
	}
	defer r.Close(false)
	body, err := io.ReadAll(r)
	if err != nil {
		return string(body), r.Fail(err, llm.Truncated)
	}
	return string(body), nil
}

func apiError(t *testing.T, err error) *llm.APIError {
	t.Helper()
	var e *llm.APIError
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want an APIError", err, err)
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if strings.Contains(err.Error(), key[:12]) {
			t.Fatalf("the key is shown: %v", err)
		}
	}
	return e
}

func serve(t *testing.T, fn http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(fn)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func TestStatus(t *testing.T) {
	const ours = `{"type":"error","error":{"type":"%s","message":"%s"},"request_id":"req_1"}`
	for _, tt := range []struct {
		status int
		body   string
		want   llm.Class
		words  string
	}{
		{400, fmt.Sprintf(ours, "invalid_request_error", "bad"), llm.Invalid, "bad"},
		{400, fmt.Sprintf(ours, "invalid_request_error", "prompt is too long: 214431 tokens > 200000 maximum"), llm.TooLong, "prompt is too long"},
		{400, fmt.Sprintf(ours, "invalid_request_error", "input length and `max_tokens` exceed context limit: 1 + 2 > 2"), llm.TooLong, ""},
		{400, `{"error":{"message":"This model's maximum context length is 5 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}`, llm.TooLong, ""},
		{400, fmt.Sprintf(ours, "invalid_request_error", "Your credit balance is too low"), llmconst.Billing, "credit"},
		{401, fmt.Sprintf(ours, "authentication_error", "invalid x-api-key "+key), llm.Auth, "invalid x-api-key ***"},
		{401, `{"error":{"message":"Incorrect API key provided: sk-proj-****abcd.","type":"invalid_request_error","code":"invalid_api_key"}}`, llm.Auth, "***"},
		{402, `{"error":{"message":"Insufficient Balance"}}`, llmconst.Billing, ""},
		{403, fmt.Sprintf(ours, "permission_error", "no"), llm.Forbidden, ""},
		{404, fmt.Sprintf(ours, "not_found_error", "model: x"), llmconst.NotFound, "model: x"},
		{407, `proxy`, llm.Auth, ""},
		{408, `{"error":"slow"}`, llm.Timeout, "slow"},
		{413, fmt.Sprintf(ours, "request_too_large", "big"), llmconst.TooLarge, ""},
		{422, `{"detail":"odd"}`, llm.Invalid, "odd"},
		{422, `{"object":"error","message":{"detail":[{"loc":["body","x"],"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error"}`, llm.Invalid, "Extra inputs"},
		{422, `{"detail":[{"loc":["body"],"msg":"field required"},{"msg":"and another"}]}`, llm.Invalid, "field required; and another"},
		{400, `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***."}`, llm.Auth, "Incorrect"},
		{400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, llm.Auth, "not valid"},
		{403, `{"code":"The caller does not have permission","error":"Your newly created team doesn't have any credits yet."}`, llmconst.Billing, ""},
		{429, `{"error":{"message":"x","type":"exceeded_current_quota_error"}}`, llmconst.Billing, ""},
		{429, fmt.Sprintf(ours, "rate_limit_error", "slow down"), llm.RateLimit, ""},
		{429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, llmconst.Billing, ""},
		{500, fmt.Sprintf(ours, "api_error", "oops"), llm.ServerError, "oops"},
		{500, `[{"error":{"code":500,"message":"listed","status":"INTERNAL"}}]`, llm.ServerError, "listed"},
		{502, "<html><body>secret page</body></html>", llm.ServerError, "a web page"},
		{503, "", llm.Overloaded, "Service Unavailable"},
		{504, "plain text", llm.ServerError, "plain text"},
		{529, fmt.Sprintf(ours, "overloaded_error", "Overloaded"), llm.Overloaded, ""},
		{418, strings.Repeat("x", 1<<20), llm.Invalid, "xxx"},
		{302, "", llm.Invalid, "redirected"},
		{500, "\x1b[31mred\x00\xff", llm.ServerError, "␛[31mred␀\ufffd"},
	} {
		t.Run(fmt.Sprint(tt.status, " ", tt.want), func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Request-Id", "req_1")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			_, err := ask(t.Context(), exchange(s.URL, s.Client()))
			e := apiError(t, err)
			if e.Class != tt.want || e.Status != tt.status || e.RequestID != "req_1" || e.Provider != "test" || e.RetryAfter >= 0 {
				t.Errorf("got %+v", e)
			}
			if !strings.Contains(e.Message, tt.words) || len(e.Message) > maxMessage+10 || strings.ContainsAny(e.Message, "<\x1b\x00") {
				t.Errorf("message %q", e.Message)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string][2]time.Duration{
		"7":                             {7 * time.Second, 7 * time.Second},
		"0.5":                           {time.Second / 2, time.Second / 2},
		"3600":                          {time.Hour, time.Hour},
		"1e300":                         {100 * 365 * 24 * time.Hour, 100 * 365 * 24 * time.Hour},
		"-3":                            {-1, -1},
		"NaN":                           {-1, -1},
		"soon":                          {-1, -1},
		"":                              {-1, -1},
		"Fri, 31 Dec 1999 23:59:59 GMT": {0, 0},
		time.Now().Add(time.Hour).UTC().Format(http.TimeFormat):              {59 * time.Minute, time.Hour},
		time.Now().Add(time.Minute).UTC().Format("Mon Jan _2 15:04:05 2006"): {0, time.Hour},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if value != "" {
				w.Header().Set("Retry-After", value)
			}
			w.WriteHeader(http.StatusTooManyRequests)
		})
		_, err := ask(t.Context(), exchange(s.URL, s.Client()))
		if got := apiError(t, err).RetryAfter; got < want[0] || got > want[1] {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After-Ms", "250")
		w.Header().Set("Retry-After", "9")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	if _, err := ask(t.Context(), exchange(s.URL, s.Client())); apiError(t, err).RetryAfter != 250*time.Millisecond {
		t.Errorf("milliseconds: %v", err)
	}
}

func TestRedirects(t *testing.T) {
	reached := make(chan http.Header, 1)
	other := serve(t, func(_ http.ResponseWriter, r *http.Request) { reached <- r.Header })
	target := ""
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/there" {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("X-Api-Key"), body)
			return
		}
		http.Redirect(w, r, target, http.StatusPermanentRedirect)
	})
	target = "http://user:geheimnis@" + strings.TrimPrefix(other.URL, "http://") + "/"
	_, err := ask(t.Context(), exchange(s.URL, s.Client()))
	if e := apiError(t, err); e.Status != http.StatusPermanentRedirect || e.Retryable() || strings.Contains(err.Error(), "geheimnis") || len(reached) > 0 {
		t.Errorf("to another host: %v, reached %d times", err, len(reached))
	}
	target = "/there"
	if body, err := ask(t.Context(), exchange(s.URL, s.Client())); err != nil || body != "POST "+key+` {"a":1}` {
		t.Errorf("on the same host: %q, %v", body, err)
	}
	target = "/again"
	if _, err := ask(t.Context(), exchange(s.URL, s.Client())); apiError(t, err).Status != http.StatusPermanentRedirect {
		t.Errorf("in a circle: %v", err)
	}
}

func TestConnectionFailures(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	hangup := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	})
	proxy := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) })
	through, _ := url.Parse("http://user:geheimnis@" + strings.TrimPrefix(proxy.URL, "http://"))
	badProxy := func(*http.Request) (*url.URL, error) {
		return nil, errors.New(`invalid proxy address "http://user:geheimnis@host:port"`)
	}
	for name, tt := range map[string]struct {
		url       string
		transport *http.Transport
		want      llm.Class
		retry     bool
	}{
		"refused":               {closed.URL, &http.Transport{}, llm.Network, true},
		"no such host":          {"http://nowhere.invalid", &http.Transport{}, llm.Network, true},
		"hung up":               {hangup.URL, &http.Transport{}, llm.Network, true},
		"unknown certificate":   {secure.URL, &http.Transport{}, llmconst.TLS, false},
		"no TLS there":          {strings.Replace(proxy.URL, "http:", "https:", 1), &http.Transport{}, llmconst.TLS, false},
		"proxy wants a login":   {"https://models.example", &http.Transport{Proxy: http.ProxyURL(through)}, llm.Auth, false},
		"proxy, plain":          {"http://models.example", &http.Transport{Proxy: http.ProxyURL(through)}, llm.Auth, false},
		"proxy setting":         {"http://models.example", &http.Transport{Proxy: badProxy}, llm.Network, true},
		"base URL":              {"http://user:geheimnis@host:bad port/", &http.Transport{}, llm.Invalid, false},
		"base URL, no scheme":   {"models.example", &http.Transport{}, llm.Network, true},
		"login in the base URL": {strings.Replace(closed.URL, "//", "//user:geheimnis@", 1), &http.Transport{}, llm.Network, true},
	} {
		t.Run(name, func(t *testing.T) {
			defer tt.transport.CloseIdleConnections()
			_, err := ask(t.Context(), exchange(tt.url, &http.Client{Transport: tt.transport}))
			e := apiError(t, err)
			if e.Class != tt.want || e.Retryable() != tt.retry {
				t.Errorf("got %s: %v", e.Class, err)
			}
			for ; err != nil; err = errors.Unwrap(err) {
				if strings.Contains(err.Error(), "geheimnis") {
					t.Errorf("the password is shown: %v", err)
				}
			}
		})
	}
}

// slow answers after a while and then sends the pieces, each after a pause. It
// runs in a bubble of synctest, so that nobody waits.
type slow struct {
	header, pause time.Duration
	pieces        int
}

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := wait(r.Context(), s.header); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{}, Body: &slowBody{r.Context(), s.pause, s.pieces}}, nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

type slowBody struct {
	ctx    context.Context
	pause  time.Duration
	pieces int
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.pieces == 0 {
		return 0, io.EOF
	}
	if err := wait(b.ctx, b.pause); err != nil {
		return 0, err
	}
	b.pieces--
	p[0] = 'x'
	return 1, nil
}

func (b *slowBody) Close() error { return nil }

func TestTimeouts(t *testing.T) {
	for _, tt := range []struct {
		name string
		slow slow
		want string // in the message of the timeout, "" for none
		took time.Duration
	}{
		{"in time", slow{9 * time.Second, 4 * time.Second, 5}, "", 29 * time.Second},
		{"no header", slow{header: time.Hour}, "no reply within 10s", 10 * time.Second},
		{"silence", slow{time.Second, time.Hour, 1}, "no data for 5s", 6 * time.Second},
		{"one byte at a time", slow{0, time.Second, 1000}, "no complete reply within 1m0s", time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := exchange("http://models.example", &http.Client{Transport: tt.slow})
				x.Headers, x.Idle, x.Total = 10*time.Second, 5*time.Second, time.Minute
				start := time.Now()
				_, err := ask(t.Context(), x)
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if tt.want == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				if e := apiError(t, err); e.Class != llm.Timeout || e.Message != tt.want {
					t.Errorf("got %+v", e)
				}
			})
		})
	}
}

// TestSlowReader checks that the idle limit is for the provider, not for the caller.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := exchange("http://models.example", &http.Client{Transport: slow{0, time.Second, 3}})
		x.Idle = 2 * time.Second
		r, err := x.Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close(true)
		for range 3 {
			if _, err := r.Read(make([]byte, 1)); err != nil {
				t.Fatal(r.Fail(err, llm.Truncated))
			}
			time.Sleep(time.Minute)
		}
	})
}

func TestCancelling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, after := range []time.Duration{time.Second, 11 * time.Second} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(after, func() { cancel(errors.New("enough")) })
			if _, err := ask(ctx, exchange("http://models.example", &http.Client{Transport: slow{10 * time.Second, 10 * time.Second, 3}})); err != context.Canceled {
				t.Errorf("cancelled after %v: %v", after, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := ask(ctx, exchange("http://models.example", &http.Client{Transport: slow{header: time.Hour}})); err != context.DeadlineExceeded {
			t.Errorf("deadline: %v", err)
		}
	})
}

// TestClosing checks that the connection of a complete reply is used again, and
// that a reply which never ends does not hold up its closing.
func TestClosing(t *testing.T) {
	conns := map[string]bool{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		conns[r.RemoteAddr] = true
		_, _ = io.WriteString(w, "last event")
		w.(http.Flusher).Flush()
	})
	for range 3 {
		r, err := exchange(s.URL, s.Client()).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		r.Close(true)
	}
	if len(conns) != 1 {
		t.Errorf("%d connections for three requests", len(conns))
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r, err := exchange("http://models.example", &http.Client{Transport: slow{0, time.Hour, 1}}).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.Close(true)
		if took := time.Since(start); took != drainTime {
			t.Errorf("closing took %v", took)
		}
	})
}

// endless is a body that never ends.
type endless struct{}

func (endless) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{}, Body: io.NopCloser(endless{})}, nil
}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestReplyLimit(t *testing.T) {
	r, err := exchange("http://models.example", &http.Client{Transport: endless{}}).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(false)
	n, err := io.Copy(io.Discard, r)
	if e := apiError(t, r.Fail(err, llm.Network)); n != MaxReply || e.Class != llmconst.Oversized || e.Provider != "test" {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

func TestMask(t *testing.T) {
	for in, want := range map[string]string{
		"key " + key + " refused":             "key *** refused",
		"key " + key[:10] + "... refused":     "key ***... refused",
		"geheim7 and geheim":                  "*** and geheim",
		"Authorization: Bearer abcdef.ghi":    "Authorization: Bearer ***",
		"dial http://user:pw@host/x":          "dial http://***@host/x",
		"key sk-proj-********abcd":            "key ***",
		"nothing to hide, user@example.com":   "nothing to hide, user@example.com",
		"--dangerously-skip-permissions":      "--dangerously-skip-permissions",
		"skeletons_of_things":                 "skeletons_of_things",
		"mask the task at risk-free-standing": "mask the task at risk-free-standing",
	} {
		if got := Mask(in, []string{key, "geheim7", "x", ""}); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
	h := http.Header{"Authorization": {"Bearer tokentoken"}, "X-Secret": {"hidden-value"}, "X-Plain": {"plain"}}
	got := Mask("tokentoken hidden-value plain user-name pass-word", Secrets("http://user-name:pass-word@host", h))
	if got != "*** *** plain *** ***" {
		t.Errorf("got %q", got)
	}
}
