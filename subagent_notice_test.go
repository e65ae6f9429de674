package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A dying store is a program's: it dies after so many facts of all its sessions, in
// the middle of what is appended at once.
type dying struct {
	session.Store
	life *life
}

type life struct {
	mu    sync.Mutex
	facts int       // that are left; < 0: any number
	skips int       // appends that fail, then it goes on
	dead  bool      // nothing is recorded any more
	lost  llm.Usage // of answers that were not recorded
}

// admit returns how many of n facts are recorded.
func (l *life) admit(n int) (facts int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.dead:
		return 0, false
	case l.facts < 0 || n <= l.facts:
		if l.facts >= 0 {
			l.facts -= n
		}
		return n, true
	case l.skips > 0:
		l.skips--
		facts, l.facts = l.facts, 5
		return facts, false
	}
	l.dead = true
	return l.facts, false
}

// lose counts the answers of agents that were paid for and are not on record.
func (l *life) lose(es []event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range es {
		if e.Session != "s" {
			l.lost = l.lost.Add(paid(e.Data))
		}
	}
}

// paid is what a fact says that a model was used for; of an answer that was cut short
// it is an estimate.
func paid(d event.Data) llm.Usage {
	switch f := d.(type) {
	case event.AssistantMessage:
		return f.Response.Usage
	case event.ModelFailed:
		return f.Usage
	}
	return llm.Usage{}
}

func (m dying) Under(id string) session.Store { return dying{session.Under(m.Store, id), m.life} }

func (m dying) Open(ctx context.Context, id string, h session.Header) (session.Log, error) {
	log, err := m.Store.Open(ctx, id, h)
	return &dyingLog{Log: log, life: m.life}, err
}

func (m dying) Stat(ctx context.Context, id string) (session.Info, error) {
	return session.Stat(ctx, m.Store, id)
}

type dyingLog struct {
	session.Log
	life   *life
	broken error
}

func (l *dyingLog) Append(ctx context.Context, after int64, sync bool, es ...event.Event) error {
	if l.broken != nil {
		return l.broken
	}
	n, ok := l.life.admit(len(es))
	if n > 0 {
		if err := l.Log.Append(ctx, after, sync, es[:n]...); err != nil {
			return err
		}
	}
	if !ok {
		l.life.lose(es[n:])
		l.broken = fmt.Errorf("%w: %w", session.ErrBroken, errDisk)
	}
	return l.broken
}

// A saga is one session through several lives of its program.
type saga struct {
	t     *testing.T
	rnd   *rand.Rand
	seed  uint64
	store session.Store
	kids  int
	lost  llm.Usage
	agent agent.Agent
}

func newSaga(t *testing.T, seed uint64, store session.Store) *saga {
	s := &saga{t: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 8)), store: store}
	s.kids = 1 + s.rnd.IntN(4)
	turns := 1 + s.rnd.IntN(3)
	delays := s.rnd.Perm(12)
	small := &llmtest.Model{ID: "small", Facts: priced, Rule: func(r *llmtest.Request, n int) llmtest.Step {
		step := say("found it")
		if len(r.Messages)/2 < turns-1 {
			step = uses("double")
		}
		step.Delay = time.Duration(delays[n%len(delays)]) * time.Millisecond
		return step
	}}
	big := &llmtest.Model{ID: "big", Facts: priced, Rule: func(r *llmtest.Request, n int) llmtest.Step {
		s.check(r)
		step := say("end")
		switch len(r.Messages) {
		case 1:
			step = delegates(slices.Collect(count(s.kids))...)
		case 3:
			step = uses("double")
		}
		step.Delay = time.Duration(delays[(n+5)%len(delays)]) * time.Millisecond
		return step
	}}
	kind := &agent.Agent{Name: "helper", Model: small, Tools: []tool.Tool{double}}
	s.agent = agent.Agent{Model: big, AwaitAgents: s.rnd.IntN(2) == 0, Tools: []tool.Tool{delegate(kind, true), double}}
	return s
}

// check fails where a request holds a notice twice.
func (s *saga) check(r *llmtest.Request) {
	for id, n := range notices(r.Messages) {
		if n > 1 {
			s.t.Errorf("seed %d: a request has %d notices of %s", s.seed, n, id)
		}
	}
}

// notices counts the notices of agents that have ended, by the agent's id.
func notices(messages []llm.Message) map[string]int {
	found := map[string]int{}
	for _, m := range messages {
		if m.Role != llm.User {
			continue
		}
		for _, b := range m.Content {
			text, _ := b.(llm.Text)
			for rest := text.Text; ; {
				_, after, ok := strings.Cut(rest, "[agent] helper (agent id: ")
				if !ok {
					break
				}
				id, more, _ := strings.Cut(after, ")")
				found[id]++
				rest = more
			}
		}
	}
	return found
}

// live is one life.
func (s *saga) live(l *life) {
	a := s.agent
	a.Sessions = dying{s.store, l}
	run := a.Session("s")
	defer func() {
		run.Close()
		s.lost = s.lost.Add(l.lost)
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if at := s.rnd.IntN(120); at < 30 {
		time.AfterFunc(time.Duration(at)*time.Millisecond, func() { run.Interrupt(ctx) })
	}
	open, err := run.CanResume(ctx)
	if err != nil {
		return
	}
	if open && s.rnd.IntN(3) > 0 {
		for range run.Resume(ctx) {
		}
	} else {
		run.Prompt(ctx, "go on")
	}
	if s.rnd.IntN(2) == 0 {
		time.Sleep(time.Duration(s.rnd.IntN(40)) * time.Millisecond)
		run.Prompt(ctx, "and now?")
	}
	if s.rnd.IntN(2) == 0 { // not all have ended when it is closed
		time.Sleep(time.Duration(s.rnd.IntN(40)) * time.Millisecond)
	}
}

// play lives so many lives, and then one without an end.
func (s *saga) play() {
	for range s.rnd.IntN(6) {
		s.live(&life{facts: s.rnd.IntN(60), skips: s.rnd.IntN(2)})
	}
	a := s.agent
	a.Sessions = s.store
	run := a.Session("s")
	defer run.Close()
	ctx := context.Background()
	open, err := run.CanResume(ctx)
	if err != nil {
		s.t.Errorf("seed %d: %v", s.seed, err)
		return
	}
	if open && s.rnd.IntN(2) == 0 {
		for _, err := range run.Resume(ctx) {
			if err != nil && !errors.Is(err, agent.ErrInterrupted) {
				s.t.Errorf("seed %d: resumed: %v", s.seed, err)
			}
		}
	}
	for i := range 2 { // what has been cut short before it began, begins
		if _, err := run.Prompt(ctx, "go on"); err != nil {
			s.t.Errorf("seed %d: prompt %d: %v", s.seed, i, err)
		}
		for len(run.Children()) > 0 {
			time.Sleep(time.Millisecond)
		}
	}
	if _, err := run.Prompt(ctx, "and?"); err != nil {
		s.t.Errorf("seed %d: %v", s.seed, err)
	}
	messages, err := run.Messages(ctx)
	if err != nil {
		s.t.Errorf("seed %d: %v", s.seed, err)
	}
	s.sums(notices(messages))
}

// sums checks that the end of each agent is told once, and what it used counts once.
func (s *saga) sums(told map[string]int) {
	var counted, used llm.Usage
	started := map[string]bool{}
	for e, err := range s.store.Read(context.Background(), "s", 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		switch f := e.Data.(type) {
		case event.AgentStart:
			started[f.Session] = true
		case event.RunEnd:
			counted = counted.Add(f.Models["small"].Usage)
		}
	}
	for id := range started {
		if told[id] != 1 {
			s.t.Errorf("seed %d: of the end of %s is told %d times", s.seed, id, told[id])
		}
		for e, err := range session.Under(s.store, "s").Read(context.Background(), id, 0) {
			if err != nil {
				break // it has not begun
			}
			used = used.Add(paid(e.Data))
		}
	}
	if len(told) != len(started) {
		s.t.Errorf("seed %d: told of %d agents, of %d", s.seed, len(told), len(started))
	}
	if most := used.Add(s.lost); counted.Input < used.Input || counted.Input > most.Input {
		s.t.Errorf("seed %d: the agents have used %d to %d tokens, and %d count", s.seed, used.Input, most.Input, counted.Input)
	}
}

// The end of background work is reported once, and its usage counts once. The order in
// which agents end, appends fail and programs die does not matter, even inside one append
// or a recovery.
func TestNoticesOnce(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) { newSaga(t, seed, session.Memory()).play() })
		if t.Failed() {
			return
		}
	}
}

// The same with files.
func TestNoticesOnceOnDisk(t *testing.T) {
	for seed := range uint64(24) {
		dir, err := os.MkdirTemp(t.TempDir(), fmt.Sprint(seed))
		if err != nil {
			t.Fatal(err)
		}
		newSaga(t, seed, session.Dir(dir)).play()
	}
}
