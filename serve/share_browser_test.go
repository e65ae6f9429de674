package serve

import (
	"strings"
	"testing"

	"github.com/openagent-go/agent"
)

// A browser that watches a share sees an answer while it is written, without its secrets, and that the
// share was revoked. It asks no other server.
func TestShareInBrowser(t *testing.T) {
	b := newBrowser(t)
	g := gated{make(chan string)}
	s := newSite(t, agent.Agent{Model: g}, sharesIn(""))
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	made, _ := s.share(`{"session":"chat","live":true}`)
	b.look(1000, 700, "light")
	b.open(s.http.URL + made.Path)
	b.until(`document.getElementById("net").textContent === "live"`)
	g.pieces <- "the word\nis known-sec"
	b.until(`live.textContent === "the word\n"`)
	g.pieces <- "ret-value, "
	g.pieces <- "written later\n"
	b.until(`live.textContent === "the word\nis ***, written later\n"`)
	b.shoot("share")
	g.pieces <- ""
	b.until(`items.textContent.includes("is ***, written later") && items.textContent.includes("completed") && live.textContent === ""`)
	if dom := b.eval(`document.documentElement.outerHTML`); strings.Contains(dom, "known-sec") {
		t.Errorf("the page shows a secret: %s", dom)
	}
	s.do("DELETE", "/v1/shares/"+made.ID, "", 200, nil)
	b.until(`document.body && document.body.textContent.includes("this link does not work")`)
	b.clean(s.http.URL, "404")
}

// The page of a session leads to its shares, where there are shares.
func TestShareLinkOnPage(t *testing.T) {
	for _, shares := range []bool{true, false} {
		s := newSite(t, agent.Agent{Model: gated{make(chan string)}}, func(s *Server) {
			if shares {
				s.Shares = new(Shares)
			}
		})
		s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
		if page := s.page("/s/chat"); strings.Contains(page, `href="/shares?session=chat"`) != shares {
			t.Errorf("shares %v: %s", shares, page)
		}
	}
}
