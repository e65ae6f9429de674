package attached

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/remote"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/agentview"
	"github.com/openagent-go/agent/internal/timeline"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/serve"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

const token = "0123456789abcdef0123456789abcdef"

// newServer serves an agent with a tool that has to be asked about, and a session of it with
// a first answer.
func newServer(t *testing.T, script ...llmtest.Step) (*remote.Client, session.Store) {
	t.Helper()
	write := tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) { return tool.Text("written"), nil })
	store := session.Dir(t.TempDir())
	s := &serve.Server{Token: token, Sessions: func(string) session.Store { return store },
		Agent: func(context.Context, serve.Place) (*agent.Agent, error) {
			return &agent.Agent{Model: llmtest.Script(append([]llmtest.Step{llmtest.Say("ready")}, script...)...), Tools: []tool.Tool{write}}, nil
		}}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		h.CloseClientConnections()
		h.Close()
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/v1/sessions", strings.NewReader(`{"session":"s","text":"hello"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil || res.StatusCode >= 300 {
		t.Fatal(res, err)
	}
	_ = res.Body.Close()
	return &remote.Client{URL: h.URL, Token: token}, store
}

// A watcher is a view without a terminal.
type watcher struct {
	*View
	facts []int64
	ended chan struct{} // gets a value at the end of each run
	stop  func()
}

func watch(t *testing.T, c *remote.Client) *watcher {
	t.Helper()
	info, err := c.Session(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{View: New(&cli.IO{Getenv: func(string) string { return "" }}, c, info), ended: make(chan struct{}, 100)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Watch(ctx, "s", 0, func(u remote.Update) {
			w.update(ctx, u)
			e, ok := u.(event.Event)
			if !ok {
				return
			}
			if e.Seq > 0 {
				w.facts = append(w.facts, e.Seq)
			}
			if _, ok := e.Data.(event.RunEnd); ok {
				w.ended <- struct{}{}
			}
		})
	}()
	w.stop = sync.OnceFunc(func() { cancel(); <-done; w.work.Wait() })
	t.Cleanup(w.stop)
	<-w.ended // the first answer
	return w
}

// card waits for the card of a question that was not answered yet, and returns its number and call.
func (w *watcher) card(ctx context.Context, t *testing.T) (int, string) {
	t.Helper()
	for {
		w.questions(ctx)
		w.mu.Lock()
		for id, c := range w.cards {
			if !c.sent && c.by == "" {
				w.mu.Unlock()
				return id, c.Call
			}
		}
		w.mu.Unlock()
		if ctx.Err() != nil {
			t.Fatal("no question came")
		}
	}
}

// Two terminals and a program with the API answer the same question at once: one answer counts, the
// tool runs once, and both terminals end with the same facts and without cards.
func TestTwoTerminalsAndTheAPI(t *testing.T) {
	const rounds = 8
	var script []llmtest.Step
	for range rounds {
		script = append(script, llmtest.Call(llmtest.Use("", "write", struct{}{})), llmtest.Say("done"))
	}
	c, store := newServer(t, script...)
	a, b := watch(t, c), watch(t, c)
	for n := range rounds {
		from := []*watcher{a, b}[n%2]
		from.send(t.Context(), ui.Message{N: n, Text: "go"})
		first, call := a.card(t.Context(), t)
		second, same := b.card(t.Context(), t)
		if call != same {
			t.Fatalf("one terminal asks about %s, the other one about %s", call, same)
		}
		var all sync.WaitGroup
		all.Go(func() { a.decide(t.Context(), first, ui.Decision{Allow: true}) })
		all.Go(func() { b.decide(t.Context(), second, ui.Decision{Reason: "no"}) })
		all.Go(func() {
			if err := c.Decide(t.Context(), "s", call, remote.Decision{Behavior: "allow"}); err != nil && !remote.IsCode(err, "answered") && !remote.IsCode(err, "no_question") {
				t.Error(err)
			}
		})
		all.Wait()
		<-a.ended
		<-b.ended
	}
	a.stop()
	b.stop()
	a.questions(t.Context())
	b.questions(t.Context())
	if fmt.Sprint(a.facts) != fmt.Sprint(b.facts) || len(a.facts) == 0 {
		t.Errorf("one terminal got %v, the other one %v", a.facts, b.facts)
	}
	for i, v := range []*watcher{a, b} {
		if len(v.cards) != 0 || v.running || len(v.sent) != 0 {
			t.Errorf("terminal %d: cards %v, running %t, messages on the way %v", i, v.cards, v.running, v.sent)
		}
	}
	results := map[string]int{}
	for e, err := range store.Read(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Data.(event.ToolResult); ok {
			results[d.Call]++
		}
	}
	for call, n := range results {
		if n != 1 {
			t.Errorf("call %s has %d results", call, n)
		}
	}
	if len(results) != rounds {
		t.Errorf("%d calls have results, want %d", len(results), rounds)
	}
}

// The timeline of an attached terminal has what that of the server's program has, though the facts
// of bookkeeping are missing.
func TestTimelineOverAttach(t *testing.T) {
	c, store := newServer(t, llmtest.Call(llmtest.Use("", "write", struct{}{})), llmtest.Say("done"),
		llmtest.Call(llmtest.Use("", "write", struct{}{})), llmtest.Say("done"), llmtest.Fail(errors.New("bad")))
	w := watch(t, c)
	for n, allow := range []bool{true, false} {
		w.send(t.Context(), ui.Message{N: n, Text: "go"})
		id, _ := w.card(t.Context(), t)
		w.decide(t.Context(), id, ui.Decision{Allow: allow, Reason: "no"})
		<-w.ended
	}
	w.send(t.Context(), ui.Message{N: 3, Text: "go"})
	<-w.ended
	w.stop()
	read := func(s session.Store) (lines []string) {
		var state timeline.State
		if err := agentview.ReadTimeline(t.Context(), s, "s", &state); err != nil {
			t.Fatal(err)
		}
		for _, l := range state.Timeline(w.info.Updated).Lanes {
			for _, sp := range l.Spans {
				lines = append(lines, fmt.Sprint(sp.Kind, " ", sp.Name, " ", sp.What, " ", sp.Item, " ", sp.Call, " ", sp.Failed, " ", sp.Open))
			}
		}
		return lines
	}
	here, there := strings.Join(read(w.store), "\n"), strings.Join(read(store), "\n")
	if here != there || here == "" {
		t.Errorf("attached:\n%s\non the server:\n%s", here, there)
	}
}
