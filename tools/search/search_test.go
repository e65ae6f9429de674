package search

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-very-secret-key"

// An engine is a server that answers as a search engine does, and a client of it.
type engine struct {
	name   string
	client func(base string) Client
	// check fails unless the request is as the engine documents it.
	check  func(t *testing.T, r *http.Request, body string)
	answer string
	// errors of the engine
	badKey  reply
	limited reply
}

type reply struct {
	status int
	header http.Header
	body   string
}

var query = Query{Text: `go "generics" & more`, Count: 5, Allowed: []string{"go.dev", "https://*.Example.org/x"}, Blocked: []string{"blog.go.dev"}}

var served = []engine{
	{
		name:   "Brave",
		client: func(base string) Client { return Brave(Options{Key: key, BaseURL: base}) },
		check: func(t *testing.T, r *http.Request, _ string) {
			q := r.URL.Query()
			if r.Method != "GET" || r.URL.Path != "/res/v1/web/search" || r.Header.Get("X-Subscription-Token") != key || q.Get("count") != "5" ||
				q.Get("q") != `go "generics" & more site:go.dev OR site:example.org -site:blog.go.dev` {
				t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
			}
		},
		answer: `{"type":"search","query":{"original":"x"},"web":{"type":"search","results":[
			{"title":"Tutorial: <strong>generics</strong> &amp; more","url":"https://go.dev/doc/tutorial/generics","is_source_local":false,"description":"This tutorial introduces the basics of\n<strong>generics</strong>.","age":"March 2022","meta_url":{"hostname":"go.dev"}},
			{"title":"Blocked","url":"https://blog.go.dev/x","description":"d"},
			{"title":"Elsewhere","url":"https://go.dev.evil.org/","description":"d"},
			{"title":"Second","url":"https://docs.example.org/b","description":"two"}]}}`,
		badKey: reply{422, nil, `{"type":"ErrorResponse","error":{"id":"1","status":422,"code":"SUBSCRIPTION_TOKEN_INVALID","detail":"The provided subscription token is invalid: ` + key + `"},"time":1}`},
		limited: reply{429, http.Header{"X-Ratelimit-Limit": {"1, 15000"}, "X-Ratelimit-Remaining": {"0, 100"}, "X-Ratelimit-Reset": {"2, 1419704"}},
			`{"type":"ErrorResponse","error":{"status":429,"code":"RATE_LIMITED","detail":"Request rate limit exceeded for plan."}}`},
	},
	{
		name:   "Tavily",
		client: func(base string) Client { return Tavily(Options{Key: key, BaseURL: base}) },
		check: func(t *testing.T, r *http.Request, body string) {
			if r.Method != "POST" || r.URL.Path != "/search" || r.Header.Get("Authorization") != "Bearer "+key || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
			}
			sameJSON(t, body, `{"query":"go \"generics\" & more","max_results":5,"search_depth":"basic","include_domains":["go.dev","example.org"],"exclude_domains":["blog.go.dev"]}`)
		},
		answer: `{"query":"x","answer":null,"images":[],"results":[
			{"title":"Tutorial: generics & more","url":"https://go.dev/doc/tutorial/generics","content":"This tutorial introduces the basics of generics.","score":0.99,"raw_content":null,"published_date":"March 2022"},
			{"title":"Blocked","url":"https://blog.go.dev/x","content":"d","score":0.5},{"title":"Elsewhere","url":"https://go.dev.evil.org/","content":"d","score":0.4},
			{"title":"Second","url":"https://docs.example.org/b","content":"two","score":0.3}],"response_time":1.2}`,
		badKey:  reply{401, nil, `{"detail":{"error":"Unauthorized: missing or invalid API key ` + key + `."}}`},
		limited: reply{432, http.Header{"Retry-After": {"2"}}, `{"detail":{"error":"This request exceeds your plan's set usage limit."}}`},
	},
	{
		name:   "Exa",
		client: func(base string) Client { return Exa(Options{Key: key, BaseURL: base}) },
		check: func(t *testing.T, r *http.Request, body string) {
			if r.Method != "POST" || r.URL.Path != "/search" || r.Header.Get("x-api-key") != key || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
			}
			sameJSON(t, body, `{"query":"go \"generics\" & more","type":"auto","numResults":5,"includeDomains":["go.dev","example.org"],"excludeDomains":["blog.go.dev"],"contents":{"highlights":true}}`)
		},
		answer: `{"requestId":"r","resolvedSearchType":"neural","results":[
			{"id":"1","title":"Tutorial: generics & more","url":"https://go.dev/doc/tutorial/generics","publishedDate":"March 2022","author":null,"highlights":["This tutorial introduces the basics of generics."],"highlightScores":[0.4]},
			{"id":"2","title":"Blocked","url":"https://blog.go.dev/x"},{"id":"3","title":"Elsewhere","url":"https://go.dev.evil.org/"},
			{"id":"4","title":"Second","url":"https://docs.example.org/b","text":"two"}],"costDollars":{"total":0.005}}`,
		badKey:  reply{401, nil, `{"requestId":"r","error":"Invalid API key: ` + key + `","tag":"INVALID_API_KEY"}`},
		limited: reply{429, http.Header{"Retry-After": {"2"}}, `{"error":"You've exceeded your Exa rate limit of 10 requests per second."}`},
	},
	{
		name:   "SearXNG",
		client: func(base string) Client { return SearXNG(Options{Key: key, BaseURL: base + "/searx/"}) },
		check: func(t *testing.T, r *http.Request, _ string) {
			q := r.URL.Query()
			if r.Method != "GET" || r.URL.Path != "/searx/search" || q.Get("format") != "json" || q.Get("q") != `go "generics" & more site:go.dev OR site:example.org -site:blog.go.dev` || r.Header.Get("Authorization") != "Bearer "+key {
				t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
			}
		},
		answer: `{"query":"x","number_of_results":0,"results":[
			{"url":"https://go.dev/doc/tutorial/generics","title":"Tutorial: generics & more","content":"This tutorial introduces the basics of generics.","publishedDate":"March 2022","engine":"brave","parsed_url":["https","go.dev"],"template":"default.html","engines":["brave"],"positions":[1],"score":1.0,"category":"general"},
			{"url":"https://blog.go.dev/x","title":"Blocked","content":null},{"url":"https://go.dev.evil.org/","title":"Elsewhere","content":""},
			{"url":"https://docs.example.org/b","title":"Second","content":"two","publishedDate":null}],
			"answers":[],"corrections":[],"infoboxes":[],"suggestions":[],"unresponsive_engines":[["google","timeout"]]}`,
		badKey:  reply{401, nil, `Unauthorized ` + key},
		limited: reply{429, http.Header{"Retry-After": {"2"}}, `Too Many Requests`},
	},
	{
		name:   "DuckDuckGo",
		client: func(base string) Client { return DuckDuckGo(Options{BaseURL: base}) },
		check: func(t *testing.T, r *http.Request, body string) {
			form, _ := url.ParseQuery(body)
			if r.Method != "POST" || r.URL.Path != "/html/" || form.Get("q") != `go "generics" & more site:go.dev OR site:example.org -site:blog.go.dev` || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
				t.Errorf("%s %s %v %s", r.Method, r.URL, r.Header, body)
			}
		},
		answer: `<!DOCTYPE html><html><body><div id="links" class="results">
			<div class="result results_links results_links_deep result--ad"><h2 class="result__title"><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=go.dev&amp;u3=x">Advertisement</a></h2><a class="result__snippet" href="x">Buy</a></div>
			<div class="result results_links results_links_deep result--ad"><h2 class="result__title"><a class="result__a" href="https://go.dev/ad">Advertisement</a></h2></div>
			<div class="result results_links results_links_deep web-result "><div class="links_main"><h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fgo.dev%2Fdoc%2Ftutorial%2Fgenerics&amp;rut=abc">Tutorial: <b>generics</b> &amp; more</a></h2>
			<div class="result__extras"><span>March 2022</span></div><a class="result__snippet" href="//duckduckgo.com/l/?uddg=x">This tutorial introduces the basics of <b>generics</b>.</a></div></div>
			<div class="result"><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fblog.go.dev%2Fx">Blocked</a></div>
			<div class="result"><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fgo.dev.evil.org">Elsewhere</a></div>
			<div class="result"><a class="result__a" href="https://docs.example.org/b">Second</a><a class="result__snippet">two</a></div></div></body></html>`,
		badKey:  reply{403, nil, `<html>no</html>`},
		limited: reply{429, http.Header{"Retry-After": {"2"}}, ``},
	},
}

func sameJSON(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Errorf("%v: %s", err, got)
	}
	json.Unmarshal([]byte(want), &w)
	a, _ := json.Marshal(g)
	b, _ := json.Marshal(w)
	if string(a) != string(b) {
		t.Errorf("got  %s\nwant %s", a, b)
	}
}

// serve answers every request with r.
func serve(t *testing.T, r reply, check func(*testing.T, *http.Request, string)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		if check != nil {
			check(t, req, string(body))
		}
		for name, values := range r.header {
			w.Header()[name] = values
		}
		w.WriteHeader(r.status)
		io.WriteString(w, r.body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestClients(t *testing.T) {
	for _, e := range served {
		t.Run(e.name, func(t *testing.T) {
			hits, err := e.client(serve(t, reply{200, nil, e.answer}, e.check)).Search(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			want := []Hit{
				{Title: "Tutorial: generics & more", URL: "https://go.dev/doc/tutorial/generics", Snippet: "This tutorial introduces the basics of generics.", Date: "March 2022"},
				{Title: "Second", URL: "https://docs.example.org/b", Snippet: "two"},
			}
			if e.name == "DuckDuckGo" {
				want[0].Date = "" // the page does not say
			}
			if len(hits) != 2 || hits[0] != want[0] || hits[1] != want[1] {
				t.Errorf("got %+v", hits)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	fails := func(t *testing.T, e engine, r reply, reason string) *failure {
		t.Helper()
		hits, err := e.client(serve(t, r, nil)).Search(t.Context(), query)
		var se *failure
		if !errors.As(err, &se) || se.Reason != reason || hits != nil {
			t.Fatalf("got %v, %v, want %s", hits, err, reason)
		}
		if strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), e.name) {
			t.Errorf("error %q", err)
		}
		return se
	}
	for _, e := range served {
		t.Run(e.name, func(t *testing.T) {
			reason := keyRefused
			if e.name == "DuckDuckGo" {
				reason = blocked
			}
			fails(t, e, e.badKey, reason)
			if se := fails(t, e, e.limited, rateLimited); se.RetryAfter != 2*time.Second || !strings.Contains(se.Error(), "the next in 2s") {
				t.Errorf("retry after %v: %v", se.RetryAfter, se)
			}
			fails(t, e, reply{500, nil, "<html><body>Internal\x00 Server\x1b Error"}, badAnswer)
			fails(t, e, reply{200, nil, "surprise"}, badAnswer)
			fails(t, e, reply{200, nil, strings.Repeat("x", maxAnswer+1)}, badAnswer)
			fails(t, e, reply{302, http.Header{"Location": {"https://a.org/"}}, ""}, badAnswer)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := e.client("http://127.0.0.1:1").Search(ctx, query); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
			closed := httptest.NewServer(nil)
			closed.Close()
			_, err := e.client(closed.URL).Search(t.Context(), query)
			var se *failure
			if !errors.As(err, &se) || se.Reason != unreachable || strings.Contains(err.Error(), "generics") {
				t.Errorf("nobody there: %v", err)
			}
			if _, err := e.client(":nonsense"+key).Search(t.Context(), query); err == nil || strings.Contains(err.Error(), key) {
				t.Errorf("broken base: %v", err)
			}
		})
	}
	for _, c := range []Client{&brave{}, &tavily{Key: " "}, &exa{}} {
		var se *failure
		if _, err := c.Search(t.Context(), query); !errors.As(err, &se) || se.Reason != noKey {
			t.Errorf("without a key: %v", err)
		}
	}
	if _, err := new(searXNG).Search(t.Context(), query); err == nil || !strings.Contains(err.Error(), "base URL") {
		t.Errorf("without an instance: %v", err)
	}
}

func TestEngineWords(t *testing.T) {
	for _, c := range []struct {
		client func(base string) Client
		reply  reply
		want   string
	}{
		{served[3].client, reply{403, nil, "Forbidden"}, "search.formats"},
		{served[3].client, reply{200, nil, `{"results":[],"unresponsive_engines":[["google","Suspended: CAPTCHA"],["brave",5]]}`}, "no engine answered: google Suspended: CAPTCHA, brave"},
		{served[4].client, reply{202, nil, `<div class="anomaly-modal">`}, "robot"},
		{served[4].client, reply{200, nil, `<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.`}, "robot"},
		{served[0].client, reply{422, nil, `{"error":{"code":"VALIDATION","detail":"Unable to validate request parameter(s)"}}`}, "Unable to validate"},
		{served[2].client, reply{402, nil, `{"error":"No credits left","tag":"NO_MORE_CREDITS"}`}, "quota is used up (status 402): No credits left"},
	} {
		if _, err := c.client(serve(t, c.reply, nil)).Search(t.Context(), query); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	for i, empty := range []string{`{}`, `{"results":[]}`, `{"results":[]}`, `{"results":[]}`, `<div id="links"><div class="no-results">No results.</div></div>`} {
		if hits, err := served[i].client(serve(t, reply{200, nil, empty}, nil)).Search(t.Context(), query); err != nil || len(hits) != 0 {
			t.Errorf("%s without results: %v, %v", served[i].name, hits, err)
		}
	}
}

func TestFilter(t *testing.T) {
	var many []Hit
	for range 50 {
		for _, path := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v"} {
			many = append(many, Hit{URL: "https://a.org/" + path})
		}
	}
	for count, want := range map[int]int{0: 8, 3: 3, 20: 20, 99: 20} {
		if got := len(Query{Count: count}.Filter(many)); got != want {
			t.Errorf("of %d: %d", count, got)
		}
	}
	bad := []Hit{{URL: ""}, {URL: "javascript:x"}, {URL: "https://u:p@a.org/"}, {URL: "/relative"}, {URL: "https://a.org/" + strings.Repeat("x", maxAddress)}}
	if got := (Query{}).Filter(bad); got != nil {
		t.Errorf("got %v", got)
	}
	long := Query{}.Filter([]Hit{{URL: "https://a.org", Title: strings.Repeat("<b>é ", 100_000), Snippet: strings.Repeat("x\n", 100_000), Date: strings.Repeat("9", 99)}})[0]
	if len(long.Title) > maxTitle || len(long.Snippet) > maxSnippet || len(long.Date) > maxDate {
		t.Errorf("%d, %d, %d bytes", len(long.Title), len(long.Snippet), len(long.Date))
	}
	if q := (Query{Text: "x", Allowed: strings.Split(strings.Repeat("a.org,", 9)+"b", ",")}); strings.Contains(q.operators(), "site:") {
		t.Errorf("a part of the domains would hide the rest: %s", q.operators())
	}
}

func TestUnwrap(t *testing.T) {
	for in, want := range map[string]string{
		"//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.org%2Fx%3Fy%3D1&rut=z": "https://a.org/x?y=1", "https://duckduckgo.com/l/?uddg=https%3A%2F%2Fduckduckgo.com%2Fy.js%3Fad_domain%3Da": "",
		"https://duckduckgo.com/y.js?ad_domain=a.org": "", "/l/?uddg=https%3A%2F%2Fa.org": "https://a.org", "https://a.org/": "https://a.org/", "https://a.org/l/?uddg=x": "https://a.org/l/?uddg=x",
		"//duckduckgo.com/l/?uddg=%3A": "", "": "", "https://[": "",
	} {
		if got := unwrap(in); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	at := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for _, c := range []struct {
		header   http.Header
		min, max time.Duration
	}{
		{http.Header{}, 0, 0}, {http.Header{"Retry-After": {"7"}}, 7 * time.Second, 7 * time.Second}, {http.Header{"Retry-After": {at}}, 59 * time.Minute, time.Hour},
		{http.Header{"Retry-After": {"-5"}}, 0, 0}, {http.Header{"Retry-After": {"soon"}}, 0, 0}, {http.Header{"Retry-After": {"99999999"}}, maxWait, maxWait},
		{http.Header{"X-Ratelimit-Remaining": {"1, 0"}, "X-Ratelimit-Reset": {"1, 600"}}, 10 * time.Minute, 10 * time.Minute},
		{http.Header{"X-Ratelimit-Reset": {"1, 600"}}, 0, 0}, {http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"x, y, z"}}, 0, 0},
	} {
		if got := retryAfter(c.header); got < c.min || got > c.max {
			t.Errorf("%v: %v", c.header, got)
		}
	}
}

func TestFromEnv(t *testing.T) {
	for _, name := range []string{"BRAVE_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY", "SEARXNG_URL"} {
		t.Setenv(name, " ")
	}
	if c := FromEnv(); c != nil {
		t.Errorf("got %T", c)
	}
	t.Setenv("SEARXNG_URL", "http://localhost:8888")
	if c, ok := FromEnv().(*searXNG); !ok || c.BaseURL != "http://localhost:8888" {
		t.Errorf("got %v", c)
	}
	t.Setenv("EXA_API_KEY", "e")
	if c, ok := FromEnv().(*exa); !ok || c.Key != "e" {
		t.Errorf("got %v", c)
	}
	t.Setenv("TAVILY_API_KEY", "t")
	if c, ok := FromEnv().(*tavily); !ok || c.Key != "t" {
		t.Errorf("got %v", c)
	}
	t.Setenv("BRAVE_API_KEY", " b ")
	if c, ok := FromEnv().(*brave); !ok || c.Key != "b" {
		t.Errorf("got %v", c)
	}
}

func FuzzDuckDuckGo(f *testing.F) {
	f.Add(served[4].answer)
	f.Add(`<a class=result__a href=x>`)
	f.Add(`<div class=result><div class=result__snippet>&lt;b&gt;<template>`)
	f.Fuzz(func(t *testing.T, page string) {
		rt := roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(page))}, nil
		})
		hits, err := (&duckDuckGo{HTTP: &http.Client{Transport: rt}}).Search(context.Background(), Query{Text: "x"})
		if err != nil {
			return
		}
		for _, h := range hits {
			if !strings.HasPrefix(h.URL, "http") || len(h.Title) > max(maxTitle, len(h.URL)) || strings.ContainsAny(h.Title+h.Snippet, "\n\x00\x1b") {
				t.Errorf("%+v", h)
			}
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
