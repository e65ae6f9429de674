package search

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// DuckDuckGo returns a client that reads the results page for browsers without JavaScript. It
// needs no key, but the page is made for people: the engine refuses those who ask often, and
// may change it. Use another engine for anything serious. BaseURL is
// https://html.duckduckgo.com unless you give another.
func DuckDuckGo(o Options) Client { return (*duckDuckGo)(&o) }

type duckDuckGo Options

// Search implements [Client]. Advertisements are left out.
func (d *duckDuckGo) Search(ctx context.Context, q Query) ([]Hit, error) {
	c := call{engine: "DuckDuckGo", client: d.HTTP, base: d.BaseURL, path: "/html/", refuse: refuseDuckDuckGo}
	address, err := c.endpoint("https://html.duckduckgo.com", nil)
	if err != nil {
		return nil, err
	}
	h := http.Header{"Accept": {"text/html"}, "Content-Type": {"application/x-www-form-urlencoded"}}
	data, err := c.do(ctx, http.MethodPost, address, h, url.Values{"q": {q.operators()}, "kl": {"wt-wt"}}.Encode())
	if err != nil {
		return nil, err
	}
	root, err := html.Parse(bytes.NewReader(data))
	if err != nil {
		return nil, &failure{Engine: c.engine, Reason: badAnswer, Status: http.StatusOK, Message: "it is not the page expected"}
	}
	found, known := results(root)
	if !known {
		if bytes.Contains(data, []byte("anomaly")) {
			return nil, &failure{Engine: c.engine, Reason: blocked, Status: http.StatusOK}
		}
		return nil, &failure{Engine: c.engine, Reason: badAnswer, Status: http.StatusOK, Message: "it is not the page expected"}
	}
	return q.Filter(found), nil
}

// refuseDuckDuckGo knows that a page with a puzzle comes with status 202, 403 or 418.
func refuseDuckDuckGo(status int, _ []byte) (string, string) {
	if status == http.StatusAccepted || status == http.StatusForbidden || status == http.StatusTeapot {
		return blocked, ""
	}
	return "", ""
}

const (
	maxFound = 200 // results that are looked at
	maxWords = 500 // nodes of a text
)

// results finds the results in a page. known is false if the page is not a page of results;
// such a page may be empty.
func results(root *html.Node) (found []Hit, known bool) {
	ad := false
	for n := range root.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case len(found) == maxFound:
			return found, known
		case class(n, "result"):
			known, ad = true, class(n, "result--ad")
			found = append(found, Hit{})
		case class(n, "no-results"), attribute(n, "id") == "links":
			known = true
		case len(found) == 0:
		case n.DataAtom == atom.A && class(n, "result__a"):
			h := &found[len(found)-1]
			if h.Title = words(n); !ad {
				h.URL = unwrap(attribute(n, "href"))
			}
		case class(n, "result__snippet"):
			found[len(found)-1].Snippet = words(n)
		}
	}
	return found, known
}

// unwrap returns where a link of the page leads: results go through
// //duckduckgo.com/l/?uddg=URL, advertisements through /y.js, which is nowhere.
func unwrap(href string) string {
	u, err := url.Parse(strings.TrimSpace(href))
	if err != nil {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	if host != "" && !within(host, []string{"duckduckgo.com"}) {
		return u.String()
	}
	if strings.TrimSuffix(u.Path, "/") == "/l" {
		to, err := url.Parse(u.Query().Get("uddg"))
		if err == nil && !(within(strings.ToLower(to.Hostname()), []string{"duckduckgo.com"}) && to.Path == "/y.js") {
			return to.String()
		}
	}
	return ""
}

func class(n *html.Node, name string) bool {
	for word := range strings.FieldsSeq(attribute(n, "class")) {
		if word == name {
			return true
		}
	}
	return false
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// words returns the text below n. Angle brackets in it that are not tags stay.
func words(n *html.Node) string {
	var b strings.Builder
	nodes := 0
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
		if nodes++; nodes == maxWords || b.Len() > maxSnippet {
			break
		}
	}
	return html.EscapeString(b.String())
}
