package search

import (
	"context"
	"encoding/json"
	"net/http"
)

// Tavily returns a client of the Tavily API, "search" (https://docs.tavily.com). BaseURL is
// https://api.tavily.com unless you give another. The key is sent as a bearer token.
func Tavily(o Options) Client { return (*tavily)(&o) }

type tavily Options

// Search implements [Client].
func (t *tavily) Search(ctx context.Context, q Query) ([]Hit, error) {
	c := call{engine: "Tavily", client: t.HTTP, base: t.BaseURL, path: "/search", key: t.Key, refuse: refuseTavily}
	if err := needKey(c.engine, t.Key); err != nil {
		return nil, err
	}
	var answer struct {
		Results []struct {
			Title, URL, Content string
			Date                string `json:"published_date"`
		}
	}
	err := c.post(ctx, "https://api.tavily.com", header("Authorization", "Bearer "+t.Key), struct {
		Query   string   `json:"query"`
		Max     int      `json:"max_results"`
		Depth   string   `json:"search_depth"`
		Include []string `json:"include_domains,omitempty"`
		Exclude []string `json:"exclude_domains,omitempty"`
	}{q.Text, q.count(), "basic", domains(q.Allowed), domains(q.Blocked)}, &answer)
	if err != nil {
		return nil, err
	}
	var found []Hit
	for _, r := range answer.Results {
		found = append(found, Hit{Title: r.Title, URL: r.URL, Snippet: r.Content, Date: r.Date})
	}
	return q.Filter(found), nil
}

// refuseTavily reads {"detail":{"error":…}}. Used up quotas have status 432 and 433.
func refuseTavily(status int, body []byte) (string, string) {
	var reason string
	if status == 432 || status == 433 {
		reason = rateLimited
	}
	var answer struct{ Detail struct{ Error string } }
	if json.Unmarshal(body, &answer) != nil {
		return reason, ""
	}
	return reason, answer.Detail.Error
}

// post sends a JSON request and reads a JSON answer.
func (c call) post(ctx context.Context, byDefault string, h http.Header, request, answer any) error {
	address, err := c.endpoint(byDefault, nil)
	if err != nil {
		return err
	}
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	h.Set("Content-Type", "application/json")
	data, err := c.do(ctx, http.MethodPost, address, h, string(body))
	if err != nil {
		return err
	}
	return c.decode(data, answer)
}
