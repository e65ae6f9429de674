package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

// A program that looks at a link before a person opens it does not use the code up.
func TestLoginCodeOutlastsHead(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script()})
	path := "/login?code=" + s.server.LoginCode()
	if status, _, h := s.answer(s.request("HEAD", path, "")); status != 200 || h.Get("Set-Cookie") != "" {
		t.Errorf("HEAD: %d %v", status, h)
	}
	if status, _, h := s.answer(s.request("GET", path, "")); status != http.StatusSeeOther || h.Get("Set-Cookie") == "" {
		t.Errorf("GET after HEAD: %d %v", status, h)
	}
}

// Behind a proxy that encrypts, browsers send the cookie by encrypted connections only.
func TestEncryptedCookie(t *testing.T) {
	for _, encrypted := range []bool{false, true} {
		s := newSite(t, agent.Agent{Model: llmtest.Script()}, func(s *Server) { s.Encrypted = encrypted })
		_, _, h := s.answer(s.request("GET", "/login?code="+s.server.LoginCode(), ""))
		if cookie := h.Get("Set-Cookie"); cookie == "" || strings.Contains(cookie, "Secure") != encrypted {
			t.Errorf("encrypted %v: the cookie is %q", encrypted, cookie)
		}
	}
}

// A page of facts ends before it is too large. The next page continues it.
func TestPageBytes(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script()})
	var facts []event.Event
	for i := range int64(6) {
		facts = append(facts, event.Event{Seq: i + 1, Prev: i, Time: now(), Session: "chat", Data: event.UserMessage{ID: fmt.Sprint(i), Delivery: fact.AsPrompt, Message: llm.UserText(strings.Repeat("x", pageBytes/3))}})
	}
	facts[5].Data = event.UserMessage{ID: "large", Delivery: fact.AsPrompt, Message: llm.UserText(strings.Repeat("x", pageBytes+1))}
	if err := session.Create(t.Context(), s.store, session.Header{Session: "chat", Created: now()}, facts); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for p := (eventPage{More: true}); p.More; sizes = append(sizes, len(p.Events)) {
		s.do("GET", fmt.Sprintf("/v1/sessions/chat/events?after=%d", p.Last), "", 200, &p)
	}
	if fmt.Sprint(sizes) != "[2 2 1 1]" {
		t.Errorf("the pages have %v facts", sizes)
	}
}

// timed notes the time limits of writes.
type timed struct {
	*httptest.ResponseRecorder
	limits []time.Duration
}

func (w *timed) SetWriteDeadline(at time.Time) error {
	limit := time.Duration(0)
	if !at.IsZero() {
		limit = time.Until(at)
	}
	w.limits = append(w.limits, limit)
	return nil
}

// Each write to a client has a limit. A stream has none while nothing is to be written.
func TestWriteLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &timed{ResponseRecorder: httptest.NewRecorder()}
		(&Server{Token: testToken, Hosts: []string{"example.com"}}).ServeHTTP(w, httptest.NewRequest("GET", "/v1/health", nil))
		if fmt.Sprint(w.limits) != "[30s]" {
			t.Errorf("an answer: %v", w.limits)
		}
		w = &timed{ResponseRecorder: httptest.NewRecorder()}
		out := newStream(&recorder{ResponseWriter: w}, 0)
		if err := out.write(jsonFrame("ping", 1)); err != nil {
			t.Fatal(err)
		}
		if err := out.flush(); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(w.limits) != "[30s 30s 0s]" {
			t.Errorf("a stream: %v", w.limits)
		}
	})
}
