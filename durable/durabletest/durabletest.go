// Package durabletest tests the parts of package durable: a backend and an engine, with
// workers that die. It has such a pair in memory, for tests of programs that use durable.
package durabletest

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
)

// A Pair is a backend and an engine to be tested, new and empty.
type Pair struct {
	// Connect connects a process. kill lets it die: nothing that it does has an effect then.
	Connect func() (b durable.Backend, kill func())
	// Engine returns the engine as a process with this connection uses it.
	Engine func(b durable.Backend) durable.Engine
	// Work lets a worker work until drain ends, and then until it has left its sessions. The
	// end of dead means that its process dies: Work returns soon.
	Work func(drain, dead context.Context, w *durable.Worker)
	// Beat is the time after which a silent worker counts as dead.
	Beat time.Duration
}

// Run tests a pair. open returns a new one. In a synctest bubble, which virtual asks for,
// hours pass in milliseconds; it is for pairs in memory.
func Run(t *testing.T, virtual bool, open func(t *testing.T) Pair) {
	for name, test := range map[string]func(*suite){
		"prompt":                 prompt,
		"kills":                  kills,
		"all workers dead":       allDead,
		"question":               question,
		"answers":                answers,
		"messages":               messages,
		"rejected":               rejected,
		"drain":                  drain,
		"drained call":           drainedCall,
		"frozen worker":          frozen,
		"lost bell":              lostBell,
		"watch":                  watch,
		"place":                  place,
		"settings":               settings,
		"kept":                   kept,
		"interrupt before turn":  interruptEarly,
		"full inbox":             full,
		"hour without workers":   hour,
		"one lease":              oneLease,
		"taken":                  taken,
		"finished call":          finished,
		"decided":                decided,
		"bells":                  bells,
		"twice":                  twice,
		"newer":                  newer,
		"compacted":              compacted,
		"drained compaction":     drainedCompaction,
		"interrupted compaction": interruptedCompaction,
		"resumed compaction":     interruptedResumedCompaction,
		"rejected late":          rejectedLate,
		"flapping place":         flapping,
		"deadly tool":            deadly,
		"large":                  large,
		"readers":                readers,
		"parity":                 parity,
		"behind a question":      behind,
		"decided again":          secondly,
		"late answer":            late,
		"agents":                 agents,
		"forks":                  forks,
		"forked place":           forkedPlace,
	} {
		t.Run(name, func(t *testing.T) {
			if virtual {
				synctest.Test(t, func(t *testing.T) { start(t, open(t), time.Hour, test) })
				return
			}
			t.Parallel()
			p := open(t)
			start(t, p, 6*p.Beat, test)
		})
	}
}

// A suite is one test with its workers.
type suite struct {
	*testing.T
	pair   Pair
	world  *world
	client *durable.Client
	away   time.Duration // an hour, or in real time as long as a test can wait
	all    sync.WaitGroup

	mu   sync.Mutex
	end  []func() // let the workers end
	over bool     // the test has ended
}

func start(t *testing.T, p Pair, away time.Duration, test func(*suite)) {
	b, _ := p.Connect()
	s := &suite{T: t, pair: p, away: away, world: &world{slow: p.Beat / 20, think: p.Beat / 40}, client: &durable.Client{Backend: b, Engine: p.Engine(b)}}
	defer func() {
		s.mu.Lock()
		s.over = true
		for _, end := range s.end {
			end()
		}
		s.mu.Unlock()
		s.all.Wait()
	}()
	test(s)
	for _, w := range s.world.wrong {
		t.Error(w)
	}
}

// A process is a worker of a test.
type process struct {
	drain context.CancelFunc
	kill  func()
	done  chan struct{}
}

// worker starts a worker. change may change it before.
func (s *suite) worker(change func(*durable.Worker)) *process {
	b, cut := s.pair.Connect()
	w := &durable.Worker{Backend: b, Agent: s.world.agent, Linger: s.pair.Beat / 2}
	if change != nil {
		change(w)
	}
	drain, stop := context.WithCancel(context.Background())
	dead, die := context.WithCancel(context.Background())
	p := &process{drain: stop, done: make(chan struct{}), kill: func() { cut(); die() }}
	s.all.Go(func() {
		defer close(p.done)
		s.pair.Work(drain, dead, w)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end = append(s.end, p.drain); s.over {
		p.drain()
	}
	return p
}

func (s *suite) send(session, id string, c durable.Command) string {
	s.Helper()
	id, err := s.client.Send(s.Context(), session, id, c)
	if err != nil {
		s.Fatalf("sending %T: %v", c, err)
	}
	return id
}

// wait waits for the end of a prompt's run.
func (s *suite) wait(session, id string) event.RunEnd {
	s.Helper()
	ctx, stop := context.WithTimeout(s.Context(), 100*s.pair.Beat)
	defer stop()
	end, err := s.client.Wait(ctx, session, id)
	if err != nil {
		s.Fatalf("waiting for prompt %s of %s: %v", id, session, err)
	}
	return end
}

// until waits until a condition holds.
func (s *suite) until(what string, holds func() bool) {
	s.Helper()
	for deadline := time.Now().Add(100 * s.pair.Beat); !holds(); time.Sleep(s.pair.Beat / 50) {
		if time.Now().After(deadline) {
			s.Fatalf("%s: not in time", what)
		}
	}
}

// read returns the facts of a session.
func (s *suite) read(session string) (all []event.Event) {
	s.Helper()
	for e, err := range s.client.Backend.Store("", nil).Read(s.Context(), session, 0) {
		if err != nil {
			s.Fatalf("reading %s: %v", session, err)
		}
		all = append(all, e)
	}
	return all
}

// facts returns the facts of a session, and holds that each call has one result.
func (s *suite) facts(session string) (all []event.Event) {
	s.Helper()
	all = s.read(session)
	results, uses := map[string]int{}, 0
	for _, e := range all {
		switch f := e.Data.(type) {
		case event.AssistantMessage:
			uses += len(f.Response.Message.ToolUses())
		case event.ToolResult:
			results[f.Call]++
		}
	}
	if len(results) != uses {
		s.Errorf("%s: %d calls have %d results", session, uses, len(results))
	}
	for call, n := range results {
		if n != 1 {
			s.Errorf("%s: call %s has %d results", session, call, n)
		}
	}
	return all
}
