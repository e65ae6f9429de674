package serve

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// longSession makes a session with the given number of prompts and as many answers.
func longSession(b testing.TB, store session.Store, prompts int) {
	b.Helper()
	facts := make([]event.Event, 0, 3*prompts)
	add := func(d event.Data) {
		n := int64(len(facts)) + 1
		facts = append(facts, event.Event{Seq: n, Prev: n - 1, Time: now(), Session: "chat", Data: d})
	}
	for i := range prompts {
		key := fmt.Sprintf("model/%d.0/0", i)
		add(event.UserMessage{ID: fmt.Sprint(i), Delivery: fact.AsPrompt, Message: llm.UserText(fmt.Sprint("prompt ", i))})
		add(event.AssistantMessage{Key: key, Response: llm.Response{Stop: llm.EndTurn, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: strings.Repeat("Some **words** and `code`. ", 8)}}}}})
		add(event.RunEnd{Reason: event.Completed, Turns: 1})
	}
	if err := session.Create(context.Background(), store, session.Header{Session: "chat", Created: now()}, facts); err != nil {
		b.Fatal(err)
	}
}

func benchSite(b *testing.B) *Server {
	store := session.Dir(b.TempDir())
	longSession(b, store, 5000)
	return &Server{Token: testToken, UserRequests: 1e6, Hosts: []string{"example.com"}, Sessions: func(string) session.Store { return store }, Agent: func(context.Context, Place) (*agent.Agent, error) { return nil, nil }}
}

func get(b *testing.B, s *Server, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	r.Header.Set("Authorization", "Bearer "+testToken)
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != 200 {
		b.Fatal(w.Code, w.Body)
	}
	return w
}

// The page of a session with 10,000 messages, at first and when the server knows the session.
func BenchmarkPage(b *testing.B) {
	s := benchSite(b)
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(float64(get(b, s, "/s/chat").Body.Len()), "bytes")
		}
	})
	l := s.live(place{"", "chat"})
	defer l.leave()
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(float64(get(b, s, "/s/chat").Body.Len()), "bytes")
		}
	})
}

// A viewer that has nothing yet catches up with 15,000 facts.
func BenchmarkCatchUp(b *testing.B) {
	s := benchSite(b)
	l := s.live(place{"", "chat"})
	defer l.leave()
	for b.Loop() {
		w := httptest.NewRecorder()
		if err := l.catchUp(b.Context(), newStream(w, 0), 15000); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(w.Body.Len()), "bytes")
	}
}

// A piece of an answer goes to all viewers.
func BenchmarkDelta(b *testing.B) {
	for _, viewers := range []int{1, 50} {
		b.Run(fmt.Sprint(viewers), func(b *testing.B) {
			l := &live{server: &Server{}, viewers: map[*viewer]bool{}}
			for range viewers {
				l.viewers[newViewer()] = true
			}
			n := 0
			for b.Loop() {
				l.show(event.Event{Time: time.Time{}, Data: event.TextDelta{Key: "a", Text: "word "}})
				if n++; n%1000 == 0 {
					l.show(event.Event{Seq: int64(n), Data: event.AssistantMessage{Key: "a"}})
					for v := range l.viewers {
						v.take()
					}
				}
			}
			l.flush()
		})
	}
}

// The page of a share of a session with 10,000 messages, at first and when somebody watches it, and a
// preview of it.
func BenchmarkShare(b *testing.B) {
	s := benchSite(b)
	s.Shares = new(Shares)
	c := &call{r: httptest.NewRequest("GET", "/", nil)}
	shown, err := s.previewShare(c, shareRequest{Session: "chat"})
	if err != nil {
		b.Fatal(err)
	}
	made, err := s.createShare(c, shown.Preview)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			get(b, s, made.Path)
			s.sharing.mu.Lock()
			f := s.sharing.feeds[made.ID]
			s.sharing.mu.Unlock()
			f.over("measured")
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			get(b, s, made.Path)
		}
	})
	b.Run("preview", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.previewShare(c, shareRequest{Session: "chat"}); err != nil {
				b.Fatal(err)
			}
			clear(s.sharing.previews)
		}
	})
	s.endShares()
}
