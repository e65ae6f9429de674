package durabletest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// fork forks a session, as another process does.
func (s *suite) fork(from, to string) {
	s.Helper()
	b, _ := s.pair.Connect()
	if err := session.Fork(s.Context(), b.Store("", nil), from, to, 0); err != nil {
		s.Fatalf("forking %s: %v", from, err)
	}
}

// forks forks sessions while a worker runs them, and while they wait for a person. Both continue, each by
// its own answer.
func forks(s *suite) {
	tree := agentTrees[2] // deep
	s.worker(func(w *durable.Worker) {
		made := w.Agent
		w.Agent = func(ctx context.Context, at durable.Where) (durable.Hosted, error) {
			if at.Session == tree.name || at.Session == "fork-of-"+tree.name {
				return durable.Hosted{Agent: tree.agent(s.world, at.Session)}, nil
			}
			return made(ctx, at)
		}
	})
	s.send("runs", "p", durable.Prompt{Text: "do it"})
	s.until("a call", func() bool { return s.world.total("lookup") > 0 })
	s.fork("runs", "fork-of-runs")
	for _, id := range []string{"runs", "fork-of-runs"} {
		if end := s.wait(id, s.send(id, "", durable.Prompt{Text: "do more"})); end.Reason != event.Completed {
			s.Errorf("%s: the next run ended as %s: %s", id, end.Reason, end.Message)
		}
		if end := s.wait(id, "p"); end.Reason != event.Completed {
			s.Errorf("%s: the run that was forked ended as %s: %s", id, end.Reason, end.Message)
		}
		s.facts(id)
	}
	// The fork does not charge for what its original was charging when it was made.
	if n := s.world.most("charge"); n != 1 || s.world.total("charge") < 3 || s.world.total("charge") > 4 {
		s.Errorf("%d charges, one ran %d times", s.world.total("charge"), n)
	}
	for name, prompt := range map[string]string{"asks": "do refund", tree.name: "do it"} {
		s.send(name, "p", durable.Prompt{Text: prompt})
		call := s.question(name)
		s.suspended(name)
		fork := "fork-of-" + name
		s.fork(name, fork)
		if again := s.question(fork); again != call {
			s.Errorf("%s waits for an answer about %s, its fork about %s", name, call, again)
		}
		refunds := s.world.total("refund")
		s.send(fork, "", durable.Decide{Call: call, Decision: permission.Deny("not here")})
		s.send(name, "", durable.Decide{Call: call, Decision: permission.Allow()})
		for _, id := range []string{name, fork} {
			if end := s.wait(id, "p"); end.Reason != event.Completed {
				s.Errorf("%s: the run ended as %s: %s", id, end.Reason, end.Message)
			}
			s.facts(id)
		}
		if n := s.world.total("refund") - refunds; n != 1 {
			s.Errorf("%s: %d refunds by one permission", name, n)
		}
	}
}

// forkedPlace forks a session that is bound to a place. The fork needs the files of that place too.
func forkedPlace(s *suite) {
	var mu sync.Mutex
	at := map[string]string{} // where sessions worked, and what was lost
	named := func(name string) func(*durable.Worker) {
		return func(w *durable.Worker) {
			w.Place, w.Keep = name, -1
			w.Agent = func(ctx context.Context, where durable.Where) (durable.Hosted, error) {
				mu.Lock()
				at[where.Session] += fmt.Sprint(name, where.Lost, " ")
				mu.Unlock()
				h, err := s.world.agent(ctx, where)
				h.Bound = true
				return h, err
			}
		}
	}
	a := s.worker(named("a"))
	s.wait("s", s.send("s", "", durable.Prompt{Text: "do 1"}))
	time.Sleep(s.pair.Beat / 2) // the visit is over
	a.drain()
	<-a.done
	s.worker(named("b"))
	s.fork("s", "early")
	s.fork("early", "second")
	early := s.send("early", "", durable.Prompt{Text: "do 2"})
	s.wait("early", early) // the place has no worker any more
	s.worker(named("a"))
	s.wait("second", s.send("second", "", durable.Prompt{Text: "do 3"}))
	s.wait("s", s.send("s", "", durable.Prompt{Text: "do 4"}))
	mu.Lock()
	defer mu.Unlock()
	for session, want := range map[string][2]string{"s": {"a ", "a "}, "early": {"ba ", "b "}, "second": {"b ", "b "}} {
		later, ok := strings.CutPrefix(at[session], want[0])
		if !ok || strings.ReplaceAll(later, want[1], "") != "" { // a worker may look after a session again
			s.Errorf("session %s worked at %q", session, at[session])
		}
	}
}
