package pages

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/pager"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
	"github.com/openagent-go/agent/tool"
)

// A recorder writes facts into a session.
type recorder struct {
	t    testing.TB
	id   string
	log  session.Log
	seq  int64
	prev int64
}

func record(t testing.TB, store session.Store) *recorder { return recordAs(t, store, "s") }

func recordAs(t testing.TB, store session.Store, id string) *recorder {
	log, err := store.Open(context.Background(), id, session.Header{Created: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return &recorder{t: t, id: id, log: log}
}

func (r *recorder) add(facts ...event.Data) {
	for _, d := range facts {
		r.seq++
		if err := r.log.Append(context.Background(), r.seq-1, false, event.Event{Seq: r.seq, Prev: r.prev, Session: r.id, Time: time.Unix(r.seq, 0), Data: d}); err != nil {
			r.t.Fatal(err)
		}
		r.prev = r.seq
	}
}

// turn records a prompt and an answer with a call.
func (r *recorder) turn(n int) {
	key := fmt.Sprintf("model/%d", n)
	r.add(event.UserMessage{ID: fmt.Sprint(n), Delivery: fact.AsPrompt, Message: llm.UserText(fmt.Sprintf("prompt %d.", n))},
		fact.ModelStart{Key: key, Model: "m"})
	use := llm.ToolUse{ID: "u", Name: "Bash", Input: []byte(`{"command":"ls"}`)}
	r.add(event.AssistantMessage{Key: key, Model: "m", Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: fmt.Sprintf("answer %d.", n)}, use}}}})
	r.add(event.ToolResult{Key: "tool", Call: fmt.Sprintf("c%d.0", r.seq), Result: tool.Result{Content: llm.Blocks{llm.Text{Text: fmt.Sprintf("output %d.", n)}}}},
		event.RunEnd{Reason: event.Completed})
}

// all returns the texts of all items, page by page.
func all(t *testing.T, b *Book) []string {
	var out []string
	for n := range b.Opened().Pages {
		items, err := b.Page(context.Background(), n)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			if c, ok := it.Data.(*view.Call); ok && c.Result == nil {
				t.Errorf("page %d cuts a call", n)
			}
			out = append(out, pager.Text(it))
		}
	}
	return out
}

func TestPages(t *testing.T) {
	for name, store := range map[string]session.Store{"memory": session.Memory(), "folder": session.Dir(t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			r := record(t, store)
			for n := range 300 {
				r.turn(n)
			}
			b, err := Open(context.Background(), store, "s")
			if err != nil {
				t.Fatal(err)
			}
			if n := b.Opened().Pages; n < 5 || n > 10 {
				t.Errorf("%d pages", n)
			}
			var whole view.State
			for e, err := range store.Read(context.Background(), "s", 0) {
				if err != nil {
					t.Fatal(err)
				}
				whole.Apply(e)
			}
			got := all(t, b)
			if len(got) != len(whole.Items) {
				t.Fatalf("%d items, want %d", len(got), len(whole.Items))
			}
			for i, it := range whole.Items {
				if got[i] != pager.Text(it) {
					t.Fatalf("item %d is %q, want %q", i, got[i], pager.Text(it))
				}
			}
			hits, err := b.Find(context.Background(), "output 277.")
			if err != nil || len(hits) != 1 {
				t.Fatal(hits, err)
			}
			items, err := b.Page(context.Background(), hits[0].Page)
			if err != nil || !pager.Has(items[hits[0].Item], "output 277.") {
				t.Errorf("%v: %v", hits, err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := b.Find(ctx, "output"); err == nil {
				t.Error("a search that was given up succeeds")
			}
		})
	}
}

func TestRefresh(t *testing.T) {
	store := session.Memory()
	r := record(t, store)
	for n := range 100 {
		r.turn(n)
	}
	b, err := Open(context.Background(), store, "s")
	if err != nil {
		t.Fatal(err)
	}
	first := b.Opened()
	for n := range 100 {
		r.turn(100 + n)
	}
	if err := b.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	second := b.Opened()
	if second.Edition != first.Edition || second.Pages <= first.Pages {
		t.Errorf("%v, then %v", first, second)
	}
	r.prev = 50 * 5 // the last fact of the first 50 turns
	r.add(event.Rewound{})
	r.turn(1000)
	if err := b.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	third := b.Opened()
	if third.Edition == second.Edition {
		t.Errorf("a rewind changes no page: %v", third)
	}
	if got := all(t, b); len(got) != 51*4+1 || got[len(got)-2] != "Bash\n$ ls\noutput 1000." {
		t.Errorf("after a rewind: %d items, %q", len(got), got[max(0, len(got)-4):])
	}
}

// What agents did is on the pages too.
func TestAgents(t *testing.T) {
	store := session.Dir(t.TempDir())
	r := record(t, store)
	r.add(event.UserMessage{ID: "1", Delivery: fact.AsPrompt, Message: llm.UserText("prompt")}, fact.ModelStart{Key: "m", Model: "m"})
	use := llm.ToolUse{ID: "u", Name: "Agent", Input: []byte(`{"prompt":"look"}`)}
	r.add(event.AssistantMessage{Key: "m", Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{use}}}})
	call := fmt.Sprintf("c%d.0", r.seq)
	r.add(event.AgentStart{Key: "a", Call: call, Session: "inner", Agent: "reader"})
	recordAs(t, session.Under(store, "s"), "inner").turn(7)
	r.add(event.AgentEnd{Key: "a", Session: "inner", Agent: "reader", Reason: event.Completed}, event.ToolResult{Key: "t", Call: call})
	b, err := Open(context.Background(), store, "s")
	if err != nil {
		t.Fatal(err)
	}
	hits, err := b.Find(context.Background(), "output 7.")
	if err != nil || len(hits) != 1 {
		t.Error(hits, err)
	}
}

// A session of 10,000 messages: opening the book, a page in the middle, a search.
func BenchmarkLong(b *testing.B) {
	store := session.Dir(b.TempDir())
	r := record(b, store)
	for n := range 3333 { // three messages each
		r.turn(n)
	}
	b.ResetTimer()
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			if _, err := Open(context.Background(), store, "s"); err != nil {
				b.Fatal(err)
			}
		}
	})
	book, err := Open(context.Background(), store, "s")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("page", func(b *testing.B) {
		for b.Loop() {
			if _, err := book.Page(context.Background(), 40); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("find", func(b *testing.B) {
		for b.Loop() {
			if _, err := book.Find(context.Background(), "not there"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
