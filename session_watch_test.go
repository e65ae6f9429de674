package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// lonely is a store with the methods of session.Store alone, which Go cannot compare. So a
// watcher does not find the run in this process, as in another process, and has to poll.
type lonely struct {
	session.Store
	_ []int
}

func watchStores(t *testing.T) map[string]session.Store {
	dir := t.TempDir()
	return map[string]session.Store{"memory": session.Memory(), "dir": session.Dir(dir + "/d"), "pointer": session.Dir(dir + "/p"), "other": lonely{Store: session.Memory()}}
}

// watchUntil watches a session until a fact satisfies end. It checks that the facts follow
// after, each once, and returns all events.
func watchUntil(ctx context.Context, s *agent.Session, after int64, end func(event.Event) bool) (events []event.Event, err error) {
	next := after + 1
	for e, err := range s.Watch(ctx, after) {
		if err != nil {
			return events, fmt.Errorf("after %d facts: %w", len(events), err)
		}
		events = append(events, e)
		if e.Seq == 0 {
			continue
		}
		if e.Seq != next || e.Session != s.ID {
			return events, fmt.Errorf("got fact %d of %s, want %d of %s", e.Seq, e.Session, next, s.ID)
		}
		if next++; end(e) {
			return events, nil
		}
	}
	return events, errors.New("the watch ended")
}

func runEnds(n int) func(event.Event) bool {
	return func(e event.Event) bool {
		if _, ok := e.Data.(event.RunEnd); ok {
			n--
		}
		return n == 0
	}
}

// Watchers that join at any time, after any fact, with a Session and an Agent of their own,
// see each fact after it once, in order, until they leave. The runs do not notice.
func TestWatchersJoinAtAnyTime(t *testing.T) {
	for name, store := range watchStores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const watchers, prompts, turns = 10, 3, 40
			asked := 0
			model := &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step {
				if asked++; asked%turns == 0 {
					return say("done")
				}
				return llmtest.Call(llmtest.Use("", "double", number{asked}))
			}}
			a := agent.Agent{Model: model, Tools: []tool.Tool{double}, Sessions: store}
			var wg sync.WaitGroup
			failed := make(chan error, watchers)
			for i := range watchers {
				wait := time.Duration(rand.IntN(20)) * time.Millisecond
				if i < 2 {
					wait = 0 // before the session exists
				}
				wg.Go(func() {
					time.Sleep(wait)
					own := a
					s := own.Session("s")
					last := int64(0)
					if info, err := session.Stat(t.Context(), store, "s"); err == nil && info.Facts > 0 {
						last = rand.Int64N(info.Facts + 1)
					}
					ends, over := runEnds(prompts), false
					for e, err := range store.Read(t.Context(), "s", 0) {
						if err != nil || e.Seq > last {
							break
						}
						over = ends(e)
					}
					if over { // it came after everything
						failed <- nil
						return
					}
					_, err := watchUntil(t.Context(), s, last, ends)
					failed <- err
				})
			}
			for range prompts {
				s := a.Session("s")
				res, err := s.Prompt(t.Context(), "go")
				s.Close()
				if err != nil || res.Turns != turns {
					t.Fatal(res, err)
				}
			}
			wg.Wait()
			for range watchers {
				if err := <-failed; err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// gatedSpeaker answers with one piece of text each time that it is told to.
type gatedSpeaker struct{ pieces chan string }

func (gatedSpeaker) Name() string { return "gated" }

func (g gatedSpeaker) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		all := ""
		for piece := range g.pieces {
			all += piece
			if piece == "" {
				break
			}
			if !yield(llm.Delta{Text: piece}, nil) {
				return
			}
		}
		yield(llm.Delta{Done: &llm.Response{Stop: llm.EndTurn, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: all}}}}}, nil)
	}
}

// A watcher that joins in the middle of an answer gets all of its text, whether or not
// others watch. Each piece comes once.
func TestWatchShowsTheTextSoFar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gatedSpeaker{make(chan string)}
		a := &agent.Agent{Model: g, Sessions: session.Memory()}
		s := a.Session("s")
		defer s.Close()
		go s.Prompt(t.Context(), "go")
		texts := make([]string, 3)
		var wg sync.WaitGroup
		for i := range texts {
			g.pieces <- fmt.Sprint("a", i, " ")
			g.pieces <- fmt.Sprint("b", i, " ")
			synctest.Wait()
			wg.Go(func() {
				_, err := watchUntil(t.Context(), a.Session("s"), 0, func(e event.Event) bool {
					_, ok := e.Data.(event.RunEnd)
					return ok
				})
				if err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() {
				for e, err := range a.Session("s").Watch(t.Context(), 0) {
					if err != nil {
						t.Error(err)
					}
					if d, ok := e.Data.(event.TextDelta); ok {
						if d.Restart {
							texts[i] = ""
						}
						texts[i] += d.Text
					}
					if _, ok := e.Data.(event.RunEnd); ok {
						return
					}
				}
			})
			synctest.Wait()
		}
		g.pieces <- "end"
		g.pieces <- ""
		wg.Wait()
		for i, text := range texts {
			if text != "a0 b0 a1 b1 a2 b2 end" {
				t.Errorf("watcher %d got the text %q", i, text)
			}
		}
	})
}

// A watcher that stands still delays nobody. Then it gets all facts, and is told how many
// signals it has missed. The text of the answer at that time comes as a whole.
func TestWatchSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, joined := make(chan struct{}), make(chan struct{})
		show := tool.Func(tool.Spec{Name: "double", ReadOnly: true}, func(ctx context.Context, n number) (int, error) { return 2 * n.N, nil })
		store := session.Dir(t.TempDir())
		a := &agent.Agent{Model: &caller{800}, Tools: []tool.Tool{show}, Sessions: store}
		s := a.Session("s")
		defer s.Close()
		missed := int64(0)
		done := make(chan error, 1)
		go func() {
			first := true
			_, err := watchUntil(t.Context(), a.Session("s"), 0, func(e event.Event) bool {
				if first {
					first = false
					close(joined)
					<-release
				}
				_, ok := e.Data.(event.RunEnd)
				return ok
			})
			done <- err
		}()
		if _, err := s.Prompt(t.Context(), "go"); err != nil { // ends although nobody takes the events
			t.Fatal(err)
		}
		<-joined
		go func() {
			for e, err := range a.Session("s").Watch(t.Context(), 0) {
				if err != nil {
					break
				}
				if m, ok := e.Data.(event.Missed); ok {
					missed += m.Signals
				}
			}
		}()
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Missed signals are counted, and texts begin again after them.
func TestWatchTellsWhatIsMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gatedSpeaker{make(chan string)}
		noisy := tool.New(tool.Spec{Name: "double", ReadOnly: true}, func(context.Context, tool.Call, number) (*tool.Result, error) { return tool.Text("ok"), nil })
		calls := llmtest.Step{}
		for i := range 900 {
			calls.Calls = append(calls.Calls, llmtest.Use(fmt.Sprint("u", i), "double", number{i}))
		}
		model := turnsOf{llmtest.Script(calls), g}
		a := &agent.Agent{Model: &model, Tools: []tool.Tool{noisy}, Sessions: session.Memory()}
		s := a.Session("s")
		defer s.Close()
		ended := make(chan error, 1)
		hold := make(chan struct{})
		text, missed := "", int64(0)
		go func() {
			_, err := watchUntilAll(t.Context(), a.Session("s"), func(e event.Event) bool {
				switch d := e.Data.(type) {
				case fact.Configured:
					<-hold
				case event.Missed:
					missed += d.Signals
					text = ""
				case event.TextDelta:
					if d.Restart {
						text = ""
					}
					text += d.Text
				case event.RunEnd:
					return true
				}
				return false
			})
			ended <- err
		}()
		go func() {
			if _, err := s.Prompt(t.Context(), "go"); err != nil {
				t.Error(err)
			}
		}()
		g.pieces <- "one "
		g.pieces <- "two "
		synctest.Wait()
		close(hold)
		synctest.Wait()
		g.pieces <- "three"
		synctest.Wait()
		if text != "one two three" {
			t.Errorf("the text is %q", text)
		}
		g.pieces <- ""
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if missed == 0 {
			t.Error("no signal was missed")
		}
	})
}

// turnsOf answers with one model after the other.
type turnsOf []llm.Model

func (m *turnsOf) Name() string { return "turns" }

func (m *turnsOf) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Delta, error] {
	next := (*m)[0]
	if len(*m) > 1 {
		*m = (*m)[1:]
	}
	return next.Stream(ctx, r)
}

// watchUntilAll is watchUntil, with end called for signals too.
func watchUntilAll(ctx context.Context, s *agent.Session, end func(event.Event) bool) (n int64, err error) {
	for e, err := range s.Watch(ctx, 0) {
		if err != nil {
			return n, err
		}
		if e.Seq != 0 {
			if n++; e.Seq != n {
				return n, fmt.Errorf("got fact %d, want %d", e.Seq, n)
			}
		}
		if end(e) {
			return n, nil
		}
	}
	return n, errors.New("the watch ended")
}

// A watcher that leaves does not stop the run.
func TestLeaveAWatch(t *testing.T) {
	for name, store := range watchStores(t) {
		t.Run(name, func(t *testing.T) {
			a := &agent.Agent{Model: &caller{50}, Tools: []tool.Tool{double}, Sessions: store}
			s := a.Session("s")
			defer s.Close()
			left := make(chan struct{})
			go func() {
				defer close(left)
				for e := range s.Watch(t.Context(), 0) {
					if _, ok := e.Data.(event.ToolStart); ok {
						return
					}
				}
			}()
			if res, err := s.Prompt(t.Context(), "go"); err != nil || res.Turns != 50 {
				t.Error(res, err)
			}
			<-left
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			for _, err := range s.Watch(ctx, 0) {
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			var last error
			ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			for _, last = range s.Watch(ctx, 0) {
			}
			if !errors.Is(last, context.DeadlineExceeded) {
				t.Errorf("the watch ended with %v", last)
			}
		})
	}
}

// A watch waits for the session's first fact. It ends when the session is deleted, also if
// another one takes its id, and at once after a fact that is not there.
func TestWatchADeletedSession(t *testing.T) {
	for name, store := range watchStores(t) {
		if name == "other" {
			continue // it cannot delete
		}
		for _, again := range []bool{false, true} {
			t.Run(fmt.Sprint(name, again), func(t *testing.T) {
				id := fmt.Sprint("s", again)
				a := &agent.Agent{Model: &caller{5}, Tools: []tool.Tool{double}, Sessions: store}
				seen, ended := make(chan int64, 1000), make(chan error, 1)
				go func() {
					for e, err := range a.Session(id).Watch(t.Context(), 0) {
						if err != nil {
							ended <- err
						} else if e.Seq > 0 {
							seen <- e.Seq
						}
					}
				}()
				prompt := func() int64 {
					s := a.Session(id)
					defer s.Close()
					if _, err := s.Prompt(t.Context(), "go"); err != nil {
						t.Fatal(err)
					}
					info, err := session.Stat(t.Context(), store, id)
					if err != nil {
						t.Fatal(err)
					}
					return info.Facts
				}
				for n := prompt(); <-seen < n; {
				}
				if err := store.(interface {
					Delete(context.Context, string) error
				}).Delete(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				if again {
					prompt()
				}
				select {
				case err := <-ended:
					if !errors.Is(err, session.ErrNotFound) {
						t.Errorf("ended with %v", err)
					}
				case <-time.After(time.Minute):
					t.Fatal("the watch does not end")
				}
				for _, err := range a.Session(id).Watch(t.Context(), 1000) {
					if !errors.Is(err, session.ErrNotFound) {
						t.Errorf("watching after fact 1000: %v", err)
					}
				}
			})
		}
	}
}

// Facts without a run are watched too: titles, modes, rewinds, answers to questions and what
// other programs write. A fork has watchers of its own.
func TestWatchBetweenRuns(t *testing.T) {
	for name, store := range watchStores(t) {
		t.Run(name, func(t *testing.T) {
			work := write(func(context.Context, tool.Call, int) (*tool.Result, error) { return tool.Text("wrote"), nil })
			a := &agent.Agent{Model: llmtest.Script(uses("write"), say("one"), say("two"), say("three")), Tools: []tool.Tool{work}, Sessions: store, CanUseTool: deferAsked}
			types, forked := make(chan string, 1000), make(chan string, 1000)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			watch := func(id string, types chan<- string) {
				s := a.Session(id)
				_, err := watchUntil(ctx, s, 0, func(e event.Event) bool { types <- event.Type(e.Data); return false })
				if !errors.Is(err, context.Canceled) {
					t.Errorf("watching %s: %v", id, err)
				}
			}
			var wg sync.WaitGroup
			wg.Go(func() { watch("s", types) })
			from := types
			sees := func(typ string) {
				t.Helper()
				types := from
				for {
					select {
					case got := <-types:
						if got == typ {
							return
						}
					case <-time.After(time.Minute):
						t.Fatalf("saw no %s", typ)
					}
				}
			}
			s := a.Session("s")
			if _, err := s.Prompt(ctx, "go"); !errors.Is(err, agent.ErrSuspended) {
				t.Fatal(err)
			}
			sees("run_end")
			pending, err := s.Pending(ctx)
			if err != nil || len(pending) != 1 {
				t.Fatal(pending, err)
			}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(s.Decide(ctx, pending[0].Call.ID, permission.Allow()))
			sees("answered")
			resume(t, s)
			sees("run_end")
			must(s.SetTitle(ctx, "title"))
			sees("session_named")
			must(s.SetMode(ctx, permission.Plan))
			sees("mode_changed")
			must(s.Rewind(ctx, 2))
			sees("rewound")
			must(s.Close())
			must(session.Rename(ctx, store, "s", "another"))
			sees("session_named")
			must(session.Fork(ctx, store, "s", "f", 0))
			wg.Go(func() { watch("f", forked) })
			from = forked
			sees("rewound")
			sees("session_named")
			f := a.Session("f")
			defer f.Close()
			_, err = f.Prompt(ctx, "go on")
			must(err)
			sees("run_end")
			select {
			case typ := <-types:
				t.Errorf("the original got a %s", typ)
			case <-time.After(20 * time.Millisecond):
			}
			cancel()
			wg.Wait()
		})
	}
}

// A compaction is watched in the order of the journal, whatever the conversation loses.
func TestWatchACompaction(t *testing.T) {
	store := session.Memory()
	work := laborious{window: 200_000, calls: 20, tokens: 3000, summary: "the summary", tool: "work"}
	long := tool.Func(tool.Spec{Name: "work", ReadOnly: true}, func(_ context.Context, n number) (string, error) { return strings.Repeat("word ", n.N), nil })
	a := &agent.Agent{Model: work.model(t), Tools: []tool.Tool{long}, Sessions: store}
	s := a.Session("s")
	defer s.Close()
	done := make(chan error, 1)
	go func() { _, err := watchUntil(t.Context(), a.Session("s"), 0, runEnds(3)); done <- err }()
	for i := range 3 {
		if _, err := s.Do(t.Context(), agent.Input{Text: "go", Compact: i == 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Those who watch a session get the events of its sub-agents as its stream does, also if
// they join after the start of the agent.
func TestWatchSubagents(t *testing.T) {
	for _, background := range []bool{false, true} {
		t.Run(fmt.Sprint("background ", background), func(t *testing.T) {
			g := gatedSpeaker{make(chan string)}
			store := session.Dir(t.TempDir())
			inner := &agent.Agent{Name: "inner", Model: g}
			outer := &agent.Agent{Name: "outer", Model: byTurn(t, delegates(1), say("outer is done")), Tools: []tool.Tool{delegate(inner, false)}}
			a := &agent.Agent{Model: byTurn(t, delegates(1), say("end"), say("end")), Tools: []tool.Tool{delegate(outer, background)}, Sessions: store, AwaitAgents: true}
			s := a.Session("s")
			defer s.Close()
			ended := make(chan error, 1)
			go func() { _, err := s.Prompt(t.Context(), "go"); ended <- err }()
			g.pieces <- "said before " // nobody watches yet
			text, agents, facts, said := make(chan string, 100), make(chan string, 1000), 0, ""
			watched := make(chan error, 1)
			go func() {
				_, err := watchUntilAll(t.Context(), a.Session("s"), func(e event.Event) bool {
					if _, ok := e.Data.(event.AgentStart); ok {
						text <- ""
					}
					path := ""
					for {
						below, ok := e.Data.(event.AgentEvent)
						if !ok {
							break
						}
						if below.Call == "" || below.ID == "" {
							t.Errorf("an event of %s has no call", below.Agent)
						}
						path += "/" + below.Agent
						e = *below.Event
					}
					if path != "" && e.Seq > 0 {
						agents <- path + " " + event.Type(e.Data)
						facts++
					}
					if d, ok := e.Data.(event.TextDelta); ok && path == "/outer/inner" {
						if d.Restart {
							said = ""
						}
						said += d.Text
						text <- said
					}
					_, end := e.Data.(event.RunEnd)
					return end && path == ""
				})
				watched <- err
			}()
			<-text // it has joined
			time.Sleep(5 * time.Millisecond)
			g.pieces <- "and after"
			got := <-text
			for got == "said before " { // it was under way, or came while the watcher joined
				got = <-text
			}
			if got != "said before and after" {
				t.Errorf("the text of the agent's agent is %q", got)
			}
			g.pieces <- ""
			for _, ends := range []<-chan error{ended, watched} {
				if err := <-ends; err != nil {
					t.Error(err)
				}
			}
			close(agents)
			all := ""
			for e := range agents {
				all += e + "\n"
			}
			for _, want := range []string{"/outer/inner assistant_message\n", "/outer/inner run_end\n", "/outer run_end\n"} {
				if strings.Count(all, want) != 1 {
					t.Errorf("%q is not there once in\n%s", want, all)
				}
			}
		})
	}
}
