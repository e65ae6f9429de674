package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/serve"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

const token = "0123456789abcdef0123456789abcdef"

// newServer serves an agent. All its connections break when cut is called.
func newServer(t *testing.T, a *agent.Agent) (c *Client, store session.Store, cut func()) {
	t.Helper()
	store = session.Dir(t.TempDir())
	s := &serve.Server{Token: token, Sessions: func(string) session.Store { return store },
		Agent: func(context.Context, serve.Place) (*agent.Agent, error) { return a, nil }}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		h.CloseClientConnections()
		h.Close()
	})
	return &Client{URL: h.URL, Token: token}, store, h.CloseClientConnections
}

// talker answers with some words, one after the other.
type talker struct{ pause time.Duration }

func (talker) Name() string { return "talker" }

func (m talker) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		said := ""
		for i := range 40 {
			time.Sleep(m.pause)
			if ctx.Err() != nil {
				yield(llm.Delta{}, ctx.Err())
				return
			}
			piece := fmt.Sprint(i, " ")
			said += piece
			if !yield(llm.Delta{Text: piece}, nil) {
				return
			}
		}
		yield(llm.Delta{Done: &llm.Response{Stop: llm.EndTurn, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: said}}}}}, nil)
	}
}

// Whenever connections break, a watcher gets the facts of the journal, each once and in order, and
// every answer whole.
func TestWatchWithBrokenConnections(t *testing.T) {
	before := waits
	waits = []time.Duration{time.Millisecond}
	defer func() { waits = before }()
	c, store, cut := newServer(t, &agent.Agent{Model: talker{200 * time.Microsecond}})
	if err := c.ask(t.Context(), http.MethodPost, "/v1/sessions", map[string]string{"session": "s", "id": "m0", "text": "go"}, nil); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	const runs = 12
	var (
		seqs  []int64
		ends  int
		texts = map[string]string{}
		lost  int
		done  = make(chan error, 1)
		all   = make(chan struct{}, runs)
	)
	go func() {
		done <- c.Watch(ctx, "s", 0, func(u Update) {
			one := func(e event.Event) {
				switch d := e.Data.(type) {
				case event.TextDelta:
					if d.Restart {
						texts[d.Key] = ""
					}
					texts[d.Key] += d.Text
				case event.AssistantMessage:
					if got, want := texts[d.Key], d.Response.Message.Text(); got != "" && !strings.HasPrefix(want, got) {
						t.Errorf("got the text %q, want %q", got, want)
					}
				case event.RunEnd:
					ends++
					all <- struct{}{}
				}
			}
			switch u := u.(type) {
			case event.Event:
				if u.Seq > 0 {
					seqs = append(seqs, u.Seq)
				}
				one(u)
			case State:
				for _, e := range u.Signals {
					one(e)
				}
			case Lost:
				lost++
			}
		})
	}()
	var cutter sync.WaitGroup
	random := rand.New(rand.NewPCG(1, 2))
	var cuts atomic.Int64 // of this run; a slow machine would never get to its end without a limit
	cutter.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(time.Duration(random.IntN(8)) * time.Millisecond)
			if cuts.Add(1) <= 15 {
				cut()
			}
		}
	})
	<-all
	for n := 1; n < runs; n++ {
		cuts.Store(0)
		for {
			err := c.Send(t.Context(), "s", Message{ID: fmt.Sprint("m", n), Text: "go", Delivery: "prompt"})
			var refused *Error
			if err == nil {
				break
			}
			if errors.As(err, &refused) {
				t.Fatal(err)
			}
		}
		<-all
	}
	stop()
	cutter.Wait()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	var want []int64
	for e, err := range (&Store{c}).Read(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, e.Seq)
	}
	if fmt.Sprint(seqs) != fmt.Sprint(want[:len(seqs)]) || len(seqs) == 0 || ends != runs || lost == 0 {
		t.Errorf("%d connections were lost, %d runs ended; got the facts %v, want %v", lost, ends, seqs, want)
	}
	messages := 0
	for e := range store.Read(t.Context(), "s", 0) {
		if _, ok := e.Data.(event.UserMessage); ok {
			messages++
		}
	}
	if messages != runs {
		t.Errorf("%d messages are on record, want %d", messages, runs)
	}
}

// A stream on which nothing comes is given up, and a ping that is ahead shows that an event is
// missing.
func TestWatchNoticesSilence(t *testing.T) {
	for name, c := range map[string]struct {
		sends string
		want  error
		after time.Duration
	}{
		"silence": {"event: state\ndata: {\"seq\":0}\n\n", errSilence, silence},
		"behind":  {"event: ping\ndata: {\"seq\":7}\n\n", errBehind, 0},
		"gone":    {"event: gone\ndata: {\"reason\":\"shutdown\"}\n\n", errEnded, 0},
		"bad":     {"event: fact\ndata: {\"seq\":\"x\"}\n\n", errBadEvent, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				before := transport.Transport
				defer func() { transport.Transport = before }()
				r, w := io.Pipe()
				transport.Transport = roundTrip(func(q *http.Request) (*http.Response, error) {
					go func() {
						_, _ = io.WriteString(w, c.sends)
						<-q.Context().Done()
						w.CloseWithError(q.Context().Err())
					}()
					return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r}, nil
				})
				ctx, stop := context.WithCancel(t.Context())
				err := (&Client{URL: "http://x"}).Watch(ctx, "s", 0, func(u Update) {
					if l, ok := u.(Lost); ok {
						if !errors.Is(l.Err, c.want) || time.Since(began) != c.after {
							t.Errorf("after %v: %v, want %v", time.Since(began), l.Err, c.want)
						}
						stop()
					}
				})
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The token does not follow a redirect, and goes nowhere if the address is not trusted.
func TestTokenStays(t *testing.T) {
	got := ""
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") }))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	if err := (&Client{URL: first.URL, Token: token}).Check(t.Context()); !errors.Is(err, errForeign) || got != "" {
		t.Errorf("%v, and the other server got %q", err, got)
	}
	no := errors.New("not trusted")
	if err := (&Client{URL: other.URL, Token: token, Trusted: func() error { return no }}).Check(t.Context()); !errors.Is(err, no) || got != "" {
		t.Errorf("%v, and the server got %q", err, got)
	}
}

// A server of another version is told apart from one that is none.
func TestCheck(t *testing.T) {
	for answer, want := range map[string]string{
		`{"ok":true,"api":1}`: "",
		`{"ok":true,"api":2}`: "has version 2 of the API",
		`{"ok":true}`:         "has version 0 of the API",
		`<html>`:              "not one of openagent serve",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer)
		}))
		err := (&Client{URL: s.URL, Token: token}).Check(t.Context())
		s.Close()
		if said := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(said, want) {
			t.Errorf("%s: %v, want %q", answer, err, want)
		}
	}
}

// A rule that a question offers is kept for the session: the next call of its kind is not asked
// about. Other rules are refused, and so is the second answer, which says who was first.
func TestRules(t *testing.T) {
	write := tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) { return tool.Text("written"), nil })
	use := func() llmtest.Step { return llmtest.Call(llmtest.Use("", "write", struct{}{})) }
	c, _, _ := newServer(t, &agent.Agent{Model: llmtest.Script(use(), use(), llmtest.Say("done")), Tools: []tool.Tool{write}})
	if err := c.ask(t.Context(), http.MethodPost, "/v1/sessions", map[string]string{"session": "s", "text": "go"}, nil); err != nil {
		t.Fatal(err)
	}
	asked, calls := make(chan struct{}, 10), 0
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	ended := make(chan struct{})
	go func() {
		done <- c.Watch(ctx, "s", 0, func(u Update) {
			switch u := u.(type) {
			case State:
				asked <- struct{}{}
			case event.Event:
				switch u.Data.(type) {
				case event.PermissionRequest:
					asked <- struct{}{}
				case event.ToolResult:
					calls++
				case event.RunEnd:
					close(ended)
				}
			}
		})
	}()
	var q Question
	for q.Call == "" || len(q.Widths) == 0 {
		<-asked
		list, err := c.Pending(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 1 {
			q = list[0]
		}
	}
	if err := c.Decide(t.Context(), "s", q.Call, Decision{Behavior: "allow", Keep: []permission.Rule{"Bash(*)"}}); !IsCode(err, "bad_request") {
		t.Errorf("a rule that was not offered: %v", err)
	}
	if err := c.Decide(t.Context(), "s", q.Call, Decision{Behavior: "allow", Keep: q.Widths[0].Rules}); err != nil {
		t.Fatal(err)
	}
	if err := c.Decide(t.Context(), "s", q.Call, Decision{Behavior: "deny"}); !IsCode(err, "answered") || !strings.Contains(err.Error(), "by api") {
		t.Errorf("the second answer: %v", err)
	}
	<-ended
	stop()
	<-done
	if calls != 2 {
		t.Errorf("%d calls ran", calls)
	}
}
