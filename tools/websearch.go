package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/web"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools/search"
)

//go:embed websearch.md
var webSearchText string

const (
	maxQuery   = 1000 // bytes
	maxDomains = 50
)

type searchInput struct {
	Query   string   `json:"query"`
	Allowed []string `json:"allowed_domains,omitempty"`
	Blocked []string `json:"blocked_domains,omitempty"`
	Count   int      `json:"num_results,omitempty"`
}

const noProvider = "No search engine is configured. Set one of the environment variables BRAVE_API_KEY, TAVILY_API_KEY, EXA_API_KEY or " +
	"SEARXNG_URL, or give the tool a search provider. Until then use WebFetch with URLs that you know."

// WebSearch returns the tool that searches the web with p, see [search.FromEnv].
// Where p is nil the tool answers how to configure one.
func WebSearch(p search.Client) tool.Tool {
	return tool.New(tool.Spec{
		Name: "WebSearch", Title: "Search the web", Description: webSearchText,
		ReadOnly: true, NonDestructive: true, Idempotent: true, OpenWorld: true,
	}, func(ctx context.Context, _ tool.Call, in searchInput) (*tool.Result, error) {
		q, err := in.query()
		if err != nil {
			return nil, err
		}
		if p == nil {
			return tool.Errorf(noProvider), nil
		}
		tool.Progress(ctx, tool.Status{Text: "Searching for " + q.Text})
		found, err := p.Search(ctx, q)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return searchFailed(err), nil
		}
		return listHits(q, found), nil
	}).OnClassify(func(_ tool.Call, in searchInput) tool.Traits {
		return tool.Traits{ReadOnly: true, Touches: []string{"search:" + in.Query}}
	})
}

func (in searchInput) query() (search.Query, error) {
	q := search.Query{Text: text.OneLine(in.Query), Count: in.Count, Allowed: in.Allowed, Blocked: in.Blocked}
	var problem string
	switch {
	case q.Text == "":
		problem = "query must not be empty"
	case len(q.Text) > maxQuery:
		problem = fmt.Sprintf("query is longer than %d bytes", maxQuery)
	case in.Count < 0 || in.Count > web.MaxHits:
		problem = fmt.Sprintf("num_results must be from 1 to %d", web.MaxHits)
	case slices.ContainsFunc(slices.Concat(in.Allowed, in.Blocked), func(d string) bool { return strings.TrimSpace(d) == "" }):
		problem = "allowed_domains and blocked_domains must not have an empty member"
	case len(in.Allowed)+len(in.Blocked) > maxDomains:
		problem = fmt.Sprintf("allowed_domains and blocked_domains have more than %d members", maxDomains)
	default:
		return q, nil
	}
	return q, &tool.InputError{Tool: "WebSearch", Problems: []string{problem}}
}

func searchFailed(err error) *tool.Result {
	r := tool.Errorf("%v", err)
	var described json.Marshaler
	if errors.As(err, &described) {
		r.Details, _ = json.Marshal(described) // without details if an engine's error has no JSON
	}
	return r
}

// listHits shows results, after the filter that no provider can go around.
func listHits(q search.Query, found []search.Hit) *tool.Result {
	found = q.Filter(found)
	var b strings.Builder
	for i, h := range found {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, h.Title, h.URL)
		if h.Date != "" {
			fmt.Fprintf(&b, "   (%s)\n", h.Date)
		}
		if h.Snippet != "" {
			fmt.Fprintf(&b, "   %s\n", h.Snippet)
		}
		b.WriteByte('\n')
	}
	if len(found) == 0 {
		fmt.Fprintf(&b, "Nothing was found for %q", q.Text)
		if len(q.Allowed)+len(q.Blocked) > 0 {
			b.WriteString(" within these domains")
		}
		b.WriteString(". Other or fewer words may help.\n")
	}
	r := tool.Text(b.String())
	r.Title = fmt.Sprintf("Searched for %q (%s)", q.Text, text.Count(len(found), "result"))
	r.Details = toolapi.Details(searchDetails{q.Text, append([]search.Hit{}, found...)})
	return r
}

// searchDetails are the Details of a result of WebSearch.
type searchDetails struct {
	Query   string       `json:"query"`
	Results []search.Hit `json:"results"`
}
