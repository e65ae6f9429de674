package tools

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/tools/search"
)

type provider func(ctx context.Context, q search.Query) ([]search.Hit, error)

func (p provider) Search(ctx context.Context, q search.Query) ([]search.Hit, error) { return p(ctx, q) }

func TestWebSearch(t *testing.T) {
	var asked search.Query
	tl := WebSearch(provider(func(_ context.Context, q search.Query) ([]search.Hit, error) {
		asked = q
		return []search.Hit{
			{Title: "A <b>bold</b> &amp; \x1b[31mred title", URL: "https://a.org/1", Snippet: "line\none", Date: "2026"},
			{Title: "blocked", URL: "https://x.bad.org/"}, {Title: "code", URL: "javascript:alert(1)"}, {Title: "again", URL: "https://a.org/1"}, {URL: "https://b.org"},
		}, nil
	}))
	r := tooltest.Run(t, tl, `{"query":" go \n 1.26 ","blocked_domains":["https://Bad.org/"],"num_results":"3"}`)
	want := "1. A bold & [31mred title\n   https://a.org/1\n   (2026)\n   line one\n\n2. https://b.org/\n   https://b.org/\n\n"
	if r.IsError || r.Text() != want || r.Title != `Searched for "go 1.26" (2 results)` || asked.Text != "go 1.26" || asked.Count != 3 {
		t.Errorf("got %q, %q, asked %+v", r.Text(), r.Title, asked)
	}
	r = tooltest.Run(t, tl, searchInput{Query: "x", Allowed: []string{"c.org"}})
	if r.IsError || !strings.Contains(r.Text(), `Nothing was found for "x" within these domains`) || !strings.Contains(string(r.Details), `"results":[]`) {
		t.Errorf("got %q, %s", r.Text(), r.Details)
	}
	for in, why := range map[string]string{
		`{"query":" "}`: "must not be empty", `{"query":"x","num_results":21}`: "1 to 20", `{"query":"x","num_results":-1}`: "1 to 20", `{"query":"x","allowed_domains":[""]}`: "empty member",
		`{"query":"` + strings.Repeat("x", 1001) + `"}`: "longer", `{"query":"x","blocked_domains":["a"` + strings.Repeat(`,"a"`, 50) + `]}`: "more than 50", `{}`: "required",
	} {
		if r := tooltest.Run(t, tl, in); !r.IsError || !strings.Contains(r.Text(), why) {
			t.Errorf("%.50s: %q", in, r.Text())
		}
	}
}

func TestWebSearchErrors(t *testing.T) {
	if r := tooltest.Run(t, WebSearch(nil), searchInput{Query: "x"}); !r.IsError || !strings.Contains(r.Text(), "BRAVE_API_KEY, TAVILY_API_KEY, EXA_API_KEY or SEARXNG_URL") {
		t.Errorf("without a provider: %q", r.Text())
	}
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer busy.Close()
	limited := search.Brave(search.Options{Key: "k", BaseURL: busy.URL})
	r := tooltest.Run(t, WebSearch(limited), searchInput{Query: "x"})
	if want := `{"engine":"Brave","reason":"rate limited","status":429,"retryAfterSeconds":3}`; !r.IsError || !strings.Contains(r.Text(), "the next in 3s") || string(r.Details) != want {
		t.Errorf("got %q, %s", r.Text(), r.Details)
	}
	broken := provider(func(context.Context, search.Query) ([]search.Hit, error) { return nil, errors.New("out of order") })
	if r := tooltest.Run(t, WebSearch(broken), searchInput{Query: "x"}); !r.IsError || r.Text() != "out of order" {
		t.Errorf("got %q", r.Text())
	}
}
