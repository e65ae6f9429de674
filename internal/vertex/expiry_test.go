package vertex

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// A token is used until shortly before its end; then one request gets another for all
// that wait. While it lasts a failure to renew it is none, afterwards it is.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := llmtest.NewPipe(t)
		server.Rule = func(*llmtest.Request, int) llmtest.Step { return llmtest.Step{Text: "ok"} }
		var mu sync.Mutex
		asked, broken := 0, false
		source := func(context.Context) (Token, error) {
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			if asked++; broken {
				return Token{}, errors.New("the token server is gone")
			}
			return Token{Value: fmt.Sprint("ya29.token-number-", asked), Expires: time.Now().Add(time.Hour)}, nil
		}
		m := (&Client{Project: "p", Tokens: source, Client: anthropic.Client{BaseURL: server.URL, HTTP: server.Client()}}).Model("claude-sonnet-4-6")
		collect := func() error {
			_, err := llm.Collect(t.Context(), m, &request)
			return err
		}
		together := func(n int) {
			t.Helper()
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {
					if err := collect(); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		}
		sent := func(from int) string {
			seen := ""
			for _, r := range server.Requests()[from:] {
				seen += strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ya29.token-number-")
			}
			return seen
		}
		together(5)
		time.Sleep(54 * time.Minute)
		together(2)
		if got := sent(0); got != "1111111" || asked != 1 {
			t.Errorf("sent %s, asked %d times", got, asked)
		}
		time.Sleep(2 * time.Minute) // less than five are left
		together(5)
		if got := sent(7); got != "22222" || asked != 2 {
			t.Errorf("sent %s, asked %d times", got, asked)
		}
		time.Sleep(56 * time.Minute)
		broken = true
		together(1)
		if got := sent(12); got != "2" || asked != 3 {
			t.Errorf("with a broken token server: sent %s, asked %d times", got, asked)
		}
		time.Sleep(time.Hour)
		if err := collect(); !errors.Is(err, llm.ErrAuth) || !strings.Contains(err.Error(), "the token server is gone") {
			t.Errorf("the token has ended: %v", err)
		}
		broken = false
		together(1)
		if secrets := m.(interface{ Secrets() []string }).Secrets(); len(secrets) != 3 {
			t.Errorf("the secrets are %q", secrets)
		}
	})
}

// The credentials of a token request do not go elsewhere, wherever the token server
// redirects.
func TestTokenRedirects(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("asked %s %s with %q", r.Method, r.URL, r.FormValue("refresh_token")+r.Header.Get("Metadata-Flavor"))
		fmt.Fprint(w, `{"access_token":"foreign","expires_in":1800}`)
	}))
	defer elsewhere.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	alone(t)
	u, _ := url.Parse(s.URL)
	t.Setenv("NO_GCE_CHECK", "")
	t.Setenv("GCE_METADATA_HOST", u.Host)
	user, err := FromJSON([]byte(`{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"rt","token_uri":"`+s.URL+`"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]TokenSource{"machine": Metadata(nil), "user": user} {
		if got, err := source(t.Context()); err == nil || !strings.Contains(err.Error(), "HTTP 307") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
