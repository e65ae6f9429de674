package wire

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

func TestCounting(t *testing.T) {
	status, body := 0, ""
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer s.Close()
	ask := func(c *Counting) (int, error) {
		return c.Ask(t.Context(), "n", func() (*Exchange, error) {
			return &Exchange{Provider: "p", URL: s.URL, Header: http.Header{}, Explain: Explain}, nil
		})
	}
	for _, tt := range []struct {
		status int
		body   string
		n      int
		class  llm.Class
		again  bool
	}{
		{200, `{"n":12}`, 12, "", true},
		{200, `{"n":0}`, 0, llmconst.Protocol, true},
		{200, `{"n":-3}`, 0, llmconst.Protocol, true},
		{200, `{"n":"x"}`, 0, llmconst.Protocol, true},
		{200, `{"n":1e300}`, MaxCount, "", true},
		{200, `[1]`, 0, llmconst.Protocol, true},
		{200, `{"n":1,"x":"` + strings.Repeat("x", 1<<20) + `"}`, 0, llmconst.Protocol, true},
		{400, `{"error":{"message":"prompt is too long: 9 tokens"}}`, 0, llm.TooLong, true},
		{401, `{}`, 0, llm.Auth, true},
		{429, `{}`, 0, llm.RateLimit, true},
		{500, `{}`, 0, llm.ServerError, true},
		{400, `{}`, 0, llm.Invalid, false},
		{403, `{}`, 0, llm.Forbidden, false},
		{404, ``, 0, llmconst.NotFound, false},
		{501, ``, 0, llm.ServerError, false},
	} {
		c := new(Counting)
		status, body, asked = tt.status, tt.body, 0
		n, err := ask(c)
		var api *llm.APIError
		if errors.As(err, &api); n != tt.n || (err != nil) != (tt.class != "") || err != nil && api.Class != tt.class {
			t.Errorf("%d %.60s: %d, %v", tt.status, tt.body, n, err)
		}
		_, _ = ask(c)
		if (asked == 2) != tt.again || errors.Is(err, errors.ErrUnsupported) == tt.again {
			t.Errorf("%d %.60s: asked %d times, %v", tt.status, tt.body, asked, err)
		}
	}
}

// A host that never answers does not hold up a count for long.
func TestCountingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		began := time.Now()
		_, err := new(Counting).Ask(t.Context(), "n", func() (*Exchange, error) {
			return &Exchange{Provider: "p", URL: "http://h", Header: http.Header{}, Explain: Explain, HTTP: &http.Client{Transport: hangs}, Total: time.Hour}, nil
		})
		var api *llm.APIError
		if !errors.As(err, &api) || api.Class != llm.Timeout || time.Since(began) != countTime {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
