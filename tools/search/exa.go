package search

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/openagent-go/agent/internal/wire"
)

// Exa returns a client of the Exa API, "search" (https://docs.exa.ai). BaseURL is
// https://api.exa.ai unless you give another. The key is sent as x-api-key.
func Exa(o Options) Client { return (*exa)(&o) }

type exa Options

// Search implements [Client]. Snippets are Exa's highlights.
func (e *exa) Search(ctx context.Context, q Query) ([]Hit, error) {
	c := call{engine: "Exa", client: e.HTTP, base: e.BaseURL, path: "/search", key: e.Key, refuse: refuseExa}
	if err := needKey(c.engine, e.Key); err != nil {
		return nil, err
	}
	type contents struct {
		Highlights bool `json:"highlights"`
	}
	var answer struct {
		Results []struct {
			Title, URL, Text, Summary string
			Highlights                []string
			Date                      string `json:"publishedDate"`
		}
	}
	err := c.post(ctx, "https://api.exa.ai", header("x-api-key", e.Key), struct {
		Query    string   `json:"query"`
		Type     string   `json:"type"`
		Count    int      `json:"numResults"`
		Include  []string `json:"includeDomains,omitempty"`
		Exclude  []string `json:"excludeDomains,omitempty"`
		Contents contents `json:"contents"`
	}{q.Text, "auto", q.count(), domains(q.Allowed), domains(q.Blocked), contents{true}}, &answer)
	if err != nil {
		return nil, err
	}
	var found []Hit
	for _, r := range answer.Results {
		snippet := wire.First(strings.Join(r.Highlights, " … "), r.Summary, r.Text)
		found = append(found, Hit{Title: r.Title, URL: r.URL, Snippet: snippet, Date: r.Date})
	}
	return q.Filter(found), nil
}

// refuseExa reads {"error":…,"tag":…}.
func refuseExa(_ int, body []byte) (string, string) {
	var answer struct{ Error, Tag string }
	if json.Unmarshal(body, &answer) != nil {
		return "", ""
	}
	switch answer.Tag {
	case "INVALID_API_KEY":
		return keyRefused, answer.Error
	case "NO_MORE_CREDITS", "API_KEY_BUDGET_EXCEEDED":
		return rateLimited, answer.Error
	}
	return "", answer.Error
}
