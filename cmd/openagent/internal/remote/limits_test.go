package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
)

// prompt is a fact whose text has so many bytes.
func prompt(seq int64, size int) string {
	return fmt.Sprintf(`{"v":1,"seq":%d,"prev":%d,"type":"user_message","session":"s","time":"2026-01-01T00:00:00Z","data":{"id":"m","delivery":"prompt","message":{"role":"user","content":[{"type":"text","text":"%s"}]}}}`, seq, seq-1, strings.Repeat("x", size))
}

// pages serves a page for each number.
func pages(t *testing.T, page func(after int64) string) *Store {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, page(after))
	}))
	t.Cleanup(s.Close)
	return &Store{Client: &Client{URL: s.URL, Token: token}}
}

func limit(t *testing.T, at *int, to int) {
	t.Helper()
	before := *at
	*at = to
	t.Cleanup(func() { *at = before })
}

// Reading comes to its end with any pages that a server sends, and a reader who keeps the facts
// that belong together needs no more memory than allowed.
func TestPagesOfAHostileServer(t *testing.T) {
	limit(t, &maxFacts, 50)
	limit(t, &stretchFacts, 10)
	limit(t, &stretchBytes, 8<<10)
	page := func(size int, last int64, seqs ...int64) string {
		var facts []string
		for _, seq := range seqs {
			facts = append(facts, prompt(seq, size))
		}
		return fmt.Sprintf(`{"events":[%s],"last":%d,"more":true}`, strings.Join(facts, ","), last)
	}
	for name, c := range map[string]struct {
		page func(after int64) string
		want string
		most int
	}{
		"endless":      {func(after int64) string { return page(1, after+2, after+1, after+2) }, "more than 50 facts", 50},
		"large":        {func(after int64) string { return page(3<<10, after+1, after+1) }, "a part of the session has more than", 2},
		"no progress":  {func(after int64) string { return page(1, after) }, "do not come to an end", 0},
		"back":         {func(after int64) string { return page(1, 3-after, 1, 2, 3) }, "do not come to an end", 3},
		"out of order": {func(after int64) string { return page(1, after+2, after+2, after+1) }, "not in order", 1},
		"beyond":       {func(after int64) string { return page(1, after+1, after+1, after+9) }, "not in order", 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := 0
			var failed error
			for _, err := range pages(t, c.page).Read(t.Context(), "s", 0) {
				if failed = err; err == nil {
					got++
				}
			}
			if failed == nil || !strings.Contains(failed.Error(), c.want) || got > c.most {
				t.Errorf("%d facts, %v, want %d and %q", got, failed, c.most, c.want)
			}
		})
	}
}

// A session whose parts are of an allowed size is read whole, however large it is.
func TestLargeSession(t *testing.T) {
	limit(t, &stretchFacts, 10)
	limit(t, &stretchBytes, 40<<10)
	s := pages(t, func(after int64) string {
		return fmt.Sprintf(`{"events":[%s],"last":%d,"more":%t}`, prompt(after+1, 3<<10), after+1, after < 59)
	})
	got := 0
	for _, err := range s.Read(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		got++
	}
	if got != 60 {
		t.Errorf("%d facts, want 60", got)
	}
}

// A watcher gets no more than a screen can keep, with anything that a server sends.
func TestWatchOfAHostileServer(t *testing.T) {
	limit(t, &maxWatched, 64<<10)
	before := waits
	waits = []time.Duration{time.Millisecond}
	defer func() { waits = before }()
	for name, send := range map[string]func(w io.Writer, n int64) error{
		"large facts": func(w io.Writer, n int64) error {
			_, err := fmt.Fprintf(w, "event: fact\ndata: %s\n\n", prompt(n, 10<<10))
			return err
		},
		"small signals": func(w io.Writer, n int64) error {
			_, err := fmt.Fprintf(w, "event: signal\ndata: {\"v\":1,\"type\":\"text_delta\",\"session\":\"s\",\"time\":\"2026-01-01T00:00:00Z\",\"data\":{\"key\":\"%d\",\"text\":\"x\"}}\n\n", n)
			return err
		},
		"states": func(w io.Writer, _ int64) error {
			_, err := io.WriteString(w, "event: state\ndata: {\"seq\":0}\n\n")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				n, _ := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
				for end := n + 100; n < end; { // then the connection breaks, and another one continues
					if n++; send(w, n) != nil {
						return
					}
				}
			}))
			defer s.Close()
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			told := 0
			err := (&Client{URL: s.URL, Token: token}).Watch(ctx, "s", 0, func(u Update) {
				switch u.(type) {
				case event.Event, State:
					told++
				}
			})
			if !errors.Is(err, ErrFull) || told == 0 || told > 64<<10/eventCost {
				t.Errorf("%d updates, then %v", told, err)
			}
		})
	}
}
