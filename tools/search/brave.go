package search

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// Brave returns a client of the Brave Search API, "web/search"
// (https://api-dashboard.search.brave.com/documentation). BaseURL is
// https://api.search.brave.com unless you give another. The key is sent as
// X-Subscription-Token.
func Brave(o Options) Client { return (*brave)(&o) }

type brave Options

// Search implements [Client]. Domains are put into the query as operators.
func (b *brave) Search(ctx context.Context, q Query) ([]Hit, error) {
	c := call{engine: "Brave", client: b.HTTP, base: b.BaseURL, path: "/res/v1/web/search", key: b.Key, refuse: refuseBrave}
	if err := needKey(c.engine, b.Key); err != nil {
		return nil, err
	}
	address, err := c.endpoint("https://api.search.brave.com", url.Values{
		"q": {q.operators()}, "count": {strconv.Itoa(q.count())}, "result_filter": {"web"}, "text_decorations": {"false"},
	})
	if err != nil {
		return nil, err
	}
	data, err := c.do(ctx, http.MethodGet, address, header("X-Subscription-Token", b.Key), "")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Web struct {
			Results []struct{ Title, URL, Description, Age string }
		}
	}
	if err := c.decode(data, &answer); err != nil {
		return nil, err
	}
	var found []Hit
	for _, r := range answer.Web.Results {
		found = append(found, Hit{Title: r.Title, URL: r.URL, Snippet: r.Description, Date: r.Age})
	}
	return q.Filter(found), nil
}

// refuseBrave reads {"error":{"code":…,"detail":…}}. A wrong key has status 422.
func refuseBrave(_ int, body []byte) (string, string) {
	var answer struct {
		Error struct{ Code, Detail string }
	}
	if json.Unmarshal(body, &answer) != nil {
		return "", ""
	}
	switch answer.Error.Code {
	case "SUBSCRIPTION_TOKEN_INVALID", "SUBSCRIPTION_NOT_FOUND", "RESOURCE_NOT_ALLOWED", "OPTION_NOT_IN_PLAN":
		return keyRefused, answer.Error.Detail
	case "RATE_LIMITED", "QUOTA_LIMITED":
		return rateLimited, answer.Error.Detail
	}
	return "", answer.Error.Detail
}
