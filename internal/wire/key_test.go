package wire

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/llm"
)

func TestKeys(t *testing.T) {
	var k Keys
	for _, tt := range []struct {
		name, key string
		err       error
		want      llm.Class // "": a key
		says      string
	}{
		{"plain", " key-number-one\n", nil, "", "key-number-one"},
		{"empty", " \n", nil, llm.Auth, "empty"},
		{"two lines", "one\ntwo", nil, llm.Auth, "one line"},
		{"failed", "", errors.New("vault says key-number-one is old"), llm.Auth, "getting the key: vault says *** is old"},
		{"class kept", "", &llm.APIError{Class: llm.Network, Message: "no line", RetryAfter: -1}, llm.Network, "no line"},
	} {
		key, err := k.Ask(t.Context(), "p", func(context.Context) (string, error) { return tt.key, tt.err }, false)
		var api *llm.APIError
		switch {
		case tt.want == "" && (err != nil || key != tt.says):
			t.Errorf("%s: %q, %v", tt.name, key, err)
		case tt.want != "" && (!errors.As(err, &api) || api.Class != tt.want || api.Provider != "p" || !strings.Contains(api.Message, tt.says)):
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	refused := ""
	_, _ = k.Ask(t.Context(), "p", func(ctx context.Context) (string, error) { refused = llm.RefusedKey(ctx); return "two", nil }, true)
	if refused != "key-number-one" || k.Count() != 2 || !slices.Equal(k.Secrets(), []string{"key-number-one", "two"}) {
		t.Errorf("refused %q, %d of %q", refused, k.Count(), k.Secrets())
	}
	if _, err := k.Ask(t.Context(), "p", func(context.Context) (string, error) { return "two", nil }, true); !errors.Is(err, ErrSame) {
		t.Errorf("the same again: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Ask(ctx, "p", func(context.Context) (string, error) { return "", errors.New("x") }, false); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}

// Credentials are asked for once, and once more when they are refused.
func TestAuthorize(t *testing.T) {
	var sent []string
	status := http.StatusUnauthorized
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
		if r.Header.Get("Authorization") == "Bearer second-token" {
			_, _ = w.Write([]byte("{}"))
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"error":{"message":"` + r.Header.Get("Authorization") + ` is bad"}}`))
	}))
	defer server.Close()
	tokens := []string{"first-token", "second-token"}
	exchange := func() *Exchange {
		return &Exchange{Provider: "p", URL: server.URL, Header: http.Header{}, Body: [][]byte{[]byte("{}")}, Explain: Explain,
			Authorize: func(r *http.Request, again bool) error {
				i := 0
				if again {
					i = 1
				}
				r.Header.Set("Authorization", "Bearer "+tokens[i])
				return nil
			}}
	}
	r, err := exchange().Do(t.Context())
	if err != nil || !slices.Equal(sent, []string{"Bearer first-token", "Bearer second-token"}) {
		t.Fatalf("%v, sent %q", err, sent)
	}
	r.Close(true)
	for name, tt := range map[string]struct {
		status int
		want   int
	}{"refused again": {401, 2}, "forbidden": {403, 1}, "proxy": {407, 1}, "busy": {429, 1}} {
		status, sent, tokens[1] = tt.status, nil, "third-token"
		_, err := exchange().Do(t.Context())
		if len(sent) != tt.want || err == nil || strings.Contains(err.Error(), "-token") {
			t.Errorf("%s: %v, sent %q", name, err, sent)
		}
	}
	x := exchange()
	x.Authorize = func(*http.Request, bool) error { return errors.New("no credentials: set SOMETHING") }
	var api *llm.APIError
	if _, err := x.Do(t.Context()); !errors.As(err, &api) || api.Class != llm.Auth || api.Retryable() || api.Message != "no credentials: set SOMETHING" {
		t.Errorf("no credentials: %v", err)
	}
	x = exchange()
	x.Headers = 5 * time.Millisecond
	x.Authorize = func(r *http.Request, _ bool) error { <-r.Context().Done(); return r.Context().Err() }
	if _, err := x.Do(t.Context()); !errors.As(err, &api) || api.Class != llm.Timeout {
		t.Errorf("hung: %v", err)
	}
}

func TestJoin(t *testing.T) {
	for base, want := range map[string]string{"http://h/v1/": "http://h/v1/x", "http://h/d?api-version=1": "http://h/d/x?api-version=1", "http://h": "http://h/x"} {
		if got := Join(base, "/x"); got != want {
			t.Errorf("Join(%q) = %q", base, got)
		}
	}
}

func TestJWT(t *testing.T) {
	for key, want := range map[string]bool{"eyJhbGciOi.J9.sig": true, "0123456789abcdef": false, "a.b.c": false} {
		if JWT(key) != want {
			t.Errorf("JWT(%q) = %v", key, !want)
		}
	}
}
