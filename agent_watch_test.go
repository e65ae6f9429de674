package agent_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/watchers"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// feed collects the events of an agent until stop is called.
func feed(t *testing.T, a *agent.Agent, f agent.Feed) (stop func() []event.Event) {
	ctx, cancel := context.WithCancel(t.Context())
	var events []event.Event
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range a.Watch(ctx, f) {
			if err == nil {
				events = append(events, e)
			} else if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	}()
	synctest.Wait()
	return func() []event.Event {
		synctest.Wait()
		cancel()
		<-done
		return events
	}
}

// Those who watch an agent see its sessions and their sub-agents, in order, from the
// beginning of each to its end, and nothing of other agents.
func TestWatchAnAgent(t *testing.T) {
	for name, store := range map[string]session.Store{"memory": session.Memory(), "dir": session.Dir(t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				helper := &agent.Agent{Name: "helper", Model: byTurn(t, say("helped"))}
				a := &agent.Agent{Model: byTurn(t, delegates(1), say("end")), Tools: []tool.Tool{delegate(helper, false)}, Sessions: store}
				other := &agent.Agent{Model: llmtest.Script(say("hello")), Sessions: session.Memory()}
				all := feed(t, a, agent.Feed{})
				ends := feed(t, a, agent.Feed{Types: []string{"run_end"}})
				two := feed(t, a, agent.Feed{Sessions: []string{"two"}})
				facts := map[string]int64{}
				for _, id := range []string{"one", "two"} {
					s := a.Session(id)
					for e, err := range s.Stream(t.Context(), "go") {
						if err != nil {
							t.Fatal(err)
						}
						facts[id] = max(facts[id], e.Seq)
					}
					s.Close()
					s.Close()
				}
				if _, err := other.Prompt(t.Context(), "go"); err != nil {
					t.Fatal(err)
				}
				byType, last, parents := map[string]int{}, map[string]int64{}, ""
				for _, e := range all() {
					typ := event.Type(e.Data)
					byType[typ]++
					if d, ok := e.Data.(event.SessionBegan); ok {
						parents += " " + d.Parent + d.Agent
						if last[e.Session] != 0 {
							t.Errorf("session %s begins after fact %d", e.Session, last[e.Session])
						}
					}
					if e.Seq > 0 && e.Seq != last[e.Session]+1 {
						t.Errorf("fact %d of %s follows %d", e.Seq, e.Session, last[e.Session])
					}
					last[e.Session] = max(e.Seq, last[e.Session])
				}
				if parents != "  onehelper  twohelper" || byType["session_began"] != 4 || byType["session_ended"] != 4 || byType["run_end"] != 4 || byType["text_delta"] < 4 || byType["missed"] != 0 {
					t.Errorf("%v,%s", byType, parents)
				}
				if len(last) != 4 || last["one"] != facts["one"] || last["two"] != facts["two"] {
					t.Errorf("the facts are %v, want %v", last, facts)
				}
				for _, e := range ends() {
					if _, ok := e.Data.(event.RunEnd); !ok {
						t.Errorf("the filter let %T through", e.Data)
					}
				}
				n := int64(0)
				for _, e := range two() {
					if e.Session != "two" {
						t.Errorf("the filter let session %s through", e.Session)
					}
					n = max(n, e.Seq)
				}
				if n != facts["two"] {
					t.Errorf("%d facts of session two, want %d", n, facts["two"])
				}
			})
		})
	}
}

// A slow reader is told how many facts and signals it has missed. All others are there.
func TestWatchAnAgentSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent.Agent{Model: &caller{1000}, Tools: []tool.Tool{double}, Sessions: session.Memory()}
		hold := make(chan struct{})
		got, missed, gaps, next := int64(0), event.Missed{}, int64(0), int64(1)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for e, err := range a.Watch(t.Context(), agent.Feed{}) {
				if err != nil {
					t.Error(err)
				}
				switch d := e.Data.(type) {
				case fact.Configured:
					<-hold
				case event.Missed:
					missed.Facts += d.Facts
					missed.Signals += d.Signals
				case event.SessionEnded:
					return
				}
				if e.Seq > 0 {
					got++
					gaps += e.Seq - next
					next = e.Seq + 1
				}
			}
		}()
		synctest.Wait()
		s := a.Session("s")
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		close(hold)
		synctest.Wait()
		last, err := s.Do(t.Context(), agent.Input{Text: "again"})
		if err != nil {
			t.Fatal(last, err)
		}
		s.Close()
		<-done
		if missed.Facts == 0 || gaps != missed.Facts {
			t.Errorf("%d facts are missing, and %d were told", gaps, missed.Facts)
		}
		info, err := session.Stat(t.Context(), a.Sessions, "s")
		if err != nil || got+missed.Facts != info.Facts {
			t.Errorf("%d facts and %d missed of %d", got, missed.Facts, info.Facts)
		}
	})
}

// feedEvents notes the types of the events that a slow reader of an agent's events gets.
func feedEvents(t *testing.T, seen map[string]bool) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent.Agent{Tools: []tool.Tool{double}, Sessions: session.Memory()}
		hold, once := make(chan struct{}), sync.Once{}
		go func() {
			for e := range a.Watch(t.Context(), agent.Feed{}) {
				<-hold
				seen[event.Type(e.Data)] = true
			}
		}()
		for _, turns := range []int{1000, 1} {
			synctest.Wait()
			a.Model = &caller{turns}
			s := a.Session("")
			if _, err := s.Prompt(t.Context(), "go"); err != nil {
				t.Error(err)
			}
			s.Close()
			once.Do(func() { close(hold) })
		}
		synctest.Wait()
	})
}

// A feed that can never yield anything fails at once.
func TestWatchMisconfigured(t *testing.T) {
	for want, c := range map[string]struct {
		store session.Store
		types []string
	}{
		`"run_ends"`:     {session.Memory(), []string{"run_end", "run_ends"}},
		"set Sessions":   {},
		"cannot compare": {store: lonely{Store: session.Memory()}},
	} {
		n := 0
		for _, err := range (&agent.Agent{Sessions: c.store}).Watch(t.Context(), agent.Feed{Types: c.types}) {
			if n++; !errors.Is(err, agent.ErrConfig) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", want, err)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d pairs", want, n)
		}
	}
}

// BenchmarkWatched measures a turn of a run that so many watch.
func BenchmarkWatched(b *testing.B) {
	for _, n := range []int{0, 1, 10} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			const turns = 1000
			a := &agent.Agent{Model: &caller{turns}, Tools: []tool.Tool{double}, Sessions: session.Memory()}
			for b.Loop() {
				s := a.Session("")
				done := make(chan struct{}, n)
				for range n {
					go func() {
						defer func() { done <- struct{}{} }()
						for e := range s.Watch(b.Context(), 0) {
							if _, ok := e.Data.(event.RunEnd); ok {
								return
							}
						}
					}()
				}
				_, err := s.Prompt(b.Context(), "go")
				for range n {
					<-done
				}
				if err := errors.Join(err, s.Close()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*turns), "ns/turn")
		})
	}
}

// Watch begins with its call, so that no event is missed before the first range. A watcher
// that nobody ranges over leaves when it is collected.
func TestWatchBeginsWithCall(t *testing.T) {
	a := &agent.Agent{Model: llmtest.Script(say("one"), say("two")), Sessions: session.Memory()}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events := a.Watch(ctx, agent.Feed{Types: []string{"run_end"}})
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	for e, err := range events {
		if end, ok := e.Data.(event.RunEnd); !ok || end.Text != "one" || err != nil {
			t.Errorf("got %+v, %v", e, err)
		}
		break
	}
	before := watchers.Any()
	func() { a.Watch(ctx, agent.Feed{}) }()
	for end := time.Now().Add(10 * time.Second); watchers.Any() && time.Now().Before(end); time.Sleep(time.Millisecond) {
		runtime.GC()
	}
	if before || watchers.Any() {
		t.Errorf("there are watchers: %v before, %v after", before, watchers.Any())
	}
}
