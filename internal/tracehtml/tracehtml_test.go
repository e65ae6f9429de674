package tracehtml

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/openagent-go/agent/internal/htmlpage"
	"github.com/openagent-go/agent/internal/tracefile"
)

var began = time.Date(2030, 1, 1, 14, 0, 0, 0, time.UTC)

func span(id, parent, kind, name string, at, took float64, attrs tracefile.Attributes) tracefile.Record {
	return tracefile.Record{Span: id, Parent: parent, Kind: kind, Name: name, Start: began.Add(time.Duration(at) * time.Millisecond), Duration: took, Attrs: attrs}
}

func write(t *testing.T, title string, spans []tracefile.Record) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, title, spans); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWrite(t *testing.T) {
	got := write(t, "Fix it", []tracefile.Record{
		span("r", "", "run", "", 0, 1000, tracefile.Attributes{"cost_usd": 0.25}),
		span("m", "r", "model", "big", 100, 400, tracefile.Attributes{"input_tokens": 1000, "cache_read_tokens": 500, "output_tokens": 20, "cost_usd": 0.25}),
		span("t", "r", "tool", "Agent", 500, 250, nil),
		{Span: "a", Parent: "t", Kind: "run", Agent: "Explore", Start: began.Add(600 * time.Millisecond), Duration: 5000, Error: "interrupted"},
	})
	for _, want := range []string{"4 spans in 1 run, $0.2500", `<td class="d1">big<td><svg><rect x="10.00%" width="40.00%"/></svg><td>100 ms<td>400 ms<td>1.5k<td>20<td>$0.2500`,
		`<td class="d2">Explore (run) <em>interrupted</em><td><svg><rect x="60.00%" width="40.00%"/></svg>`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

// noIcon are the attributes of the link that keeps browsers from asking for an icon.
var noIcon = []html.Attribute{{Key: "rel", Val: "icon"}, {Key: "href", Val: "data:,"}}

// Names come from models and servers: none leaves its place or loads something.
func TestHostileNames(t *testing.T) {
	evil := "<script>x</script>\"'><img src=https://x.example/a onerror=b>\u202e\x1b[2J${{.}}"
	got := write(t, evil, []tracefile.Record{{Span: evil, Kind: evil, Name: evil, Agent: evil, Error: evil, Message: evil, Start: began}, {Span: "loop", Parent: "loop", Kind: "tool"}})
	doc, err := html.Parse(strings.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data == "link" && slices.Equal(n.Attr, noIcon) {
			continue
		}
		switch n.Data {
		case "script", "img", "iframe", "a", "link", "form":
			t.Errorf("an element %s", n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "href" || a.Key == "style" {
				t.Errorf("the attribute %s of %s", a.Key, n.Data)
			}
		}
	}
	if strings.ContainsAny(got, "\u202e\x1b") {
		t.Error("a character that reorders others is left")
	}
}

func TestManySpans(t *testing.T) {
	spans := []tracefile.Record{span("r", "", "run", "", 0, 1e6, nil)}
	for i := range 10_000 {
		spans = append(spans, span(fmt.Sprint(i), "r", "tool", "mcp__server__a_tool_with_a_long_name", float64(i), 10, nil))
	}
	got := write(t, "many", spans)
	if len(got) > maxPage || !strings.Contains(got, "more spans are left out") {
		t.Errorf("%d bytes", len(got))
	}
	if len(got) < maxPage*9/10 {
		t.Errorf("only %d bytes: more would have had room", len(got))
	}
	if !strings.HasSuffix(got, htmlpage.End) {
		t.Error("the page has no end")
	}
}
