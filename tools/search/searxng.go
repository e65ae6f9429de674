package search

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// SearXNG returns a client of an instance of SearXNG whose settings have "json" among
// search.formats (https://docs.searxng.org/dev/search_api.html). BaseURL is that of the
// instance and required. The key, which may be "", is sent as a bearer token to a proxy that
// wants one.
func SearXNG(o Options) Client { return (*searXNG)(&o) }

type searXNG Options

// Search implements [Client]. Domains are put into the query as operators, which not all
// engines behind an instance understand. An instance returns pages of some 20 results.
func (s *searXNG) Search(ctx context.Context, q Query) ([]Hit, error) {
	c := call{engine: "SearXNG", client: s.HTTP, base: s.BaseURL, path: "/search", key: s.Key, refuse: refuseSearXNG}
	address, err := c.endpoint("", url.Values{"q": {q.operators()}, "format": {"json"}, "categories": {"general"}})
	if err != nil {
		return nil, err
	}
	h := header("", "")
	if s.Key != "" {
		h.Set("Authorization", "Bearer "+s.Key)
	}
	data, err := c.do(ctx, http.MethodGet, address, h, "")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Results []struct {
			Title, URL, Content string
			Date                string `json:"publishedDate"`
		}
		Unresponsive [][]any `json:"unresponsive_engines"` // name and reason of each
	}
	if err := c.decode(data, &answer); err != nil {
		return nil, err
	}
	if len(answer.Results) == 0 && len(answer.Unresponsive) > 0 {
		return nil, &failure{Engine: c.engine, Reason: badAnswer, Status: http.StatusOK, Message: "no engine answered: " + engines(answer.Unresponsive)}
	}
	var found []Hit
	for _, r := range answer.Results {
		found = append(found, Hit{Title: r.Title, URL: r.URL, Snippet: r.Content, Date: r.Date})
	}
	return q.Filter(found), nil
}

func engines(list [][]any) string {
	var names []string
	for _, e := range list[:min(len(list), 5)] {
		var words []string
		for _, w := range e[:min(len(e), 2)] {
			if s, ok := w.(string); ok {
				words = append(words, plain(s, 50))
			}
		}
		names = append(names, strings.Join(words, " "))
	}
	return strings.Join(names, ", ")
}

// refuseSearXNG knows that an instance refuses formats that it has not enabled.
func refuseSearXNG(status int, _ []byte) (string, string) {
	if status == http.StatusForbidden {
		return badAnswer, `the instance gives no JSON: its settings need "json" in search.formats`
	}
	return "", ""
}
