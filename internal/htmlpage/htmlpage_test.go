package htmlpage

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// A title stays a text, and the policy permits the one style sheet of the page.
func TestBegin(t *testing.T) {
	const title, style = `</title><script>x</script>"`, "body{margin:0}"
	root, err := html.Parse(strings.NewReader(Begin(title, style) + "<p>x</p>" + End))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		text := ""
		if n.FirstChild != nil && n.FirstChild.Type == html.TextNode {
			text = n.FirstChild.Data
		}
		for _, a := range n.Attr {
			if n.Data == "meta" && a.Key == "content" && strings.Contains(a.Val, "default-src") {
				text = a.Val
			}
		}
		got[n.Data] += text
	}
	sum := sha256.Sum256([]byte(style))
	if _, scripts := got["script"]; scripts || got["title"] != title || got["style"] != style || got["p"] != "x" ||
		!strings.Contains(got["meta"], "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
		t.Errorf("%q", got)
	}
}
