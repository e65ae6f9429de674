package durabletest

import (
	"errors"
	"strings"
	"sync/atomic"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
)

// compacted lets a worker die after a compaction and before it settles the command.
func compacted(s *suite) {
	var calls atomic.Int64
	s.world.compact = &llmtest.Model{ID: "summaries", Rule: func(*llmtest.Request, int) llmtest.Step {
		calls.Add(1)
		return llmtest.Say("They did it.")
	}}
	w := s.worker(nil)
	s.wait("s", s.send("s", "", durable.Prompt{Text: "do it"}))
	w.drain()
	<-w.done
	b, _ := s.pair.Connect()
	h, _ := s.world.agent(s.Context(), durable.Where{Session: "s"})
	h.Agent.Sessions = b.Store("", nil)
	session := h.Agent.Session("s")
	for _, in := range []agent.Input{{ID: "c", Compact: true}, {Text: "do more"}} {
		if _, err := session.Do(s.Context(), in); err != nil {
			s.Fatal(err)
		}
	}
	if err := session.Close(); err != nil {
		s.Error(err)
	}
	s.send("s", "c", durable.Compact{})
	s.worker(nil)
	s.until("the command is settled", func() bool {
		settled, err := s.client.Settled(s.Context(), "s", "c")
		if err != nil {
			s.Fatal(err)
		}
		return settled
	})
	if end := s.wait("s", s.send("s", "", durable.Prompt{Text: "do it"})); end.Reason != event.Completed || calls.Load() != 1 {
		s.Errorf("the run after it ended as %s; %d summaries were made for one command", end.Reason, calls.Load())
	}
}

// drainedCompaction ends a worker in the middle of a compaction. Another worker carries out the command.
func drainedCompaction(s *suite) {
	calls := s.slowSummaries()
	w := s.worker(nil)
	s.wait("s", s.send("s", "", durable.Prompt{Text: "do it"}))
	s.send("s", "c", durable.Compact{})
	s.until("the summary", func() bool { return calls.Load() == 1 })
	w.drain()
	<-w.done
	if settled, err := s.client.Settled(s.Context(), "s", "c"); settled || err != nil {
		s.Errorf("the worker that was to end left the command settled %t, with error %v", settled, err)
	}
	s.worker(nil)
	if err := s.settled("c"); err != nil {
		s.Error(err)
	}
	if end := s.wait("s", s.send("s", "", durable.Prompt{Text: "do it"})); end.Reason != event.Completed {
		s.Errorf("the run after it ended as %s", end.Reason)
	}
	compactions := 0
	for _, e := range s.facts("s") {
		if _, ok := e.Data.(event.Compacted); ok {
			compactions++
		}
	}
	if compactions != 1 {
		s.Errorf("the conversation was compacted %d times", compactions)
	}
}

// interruptedCompaction interrupts a compaction, which has no prompt.
func interruptedCompaction(s *suite) {
	calls := s.slowSummaries()
	s.worker(nil)
	s.wait("s", s.send("s", "", durable.Prompt{Text: "do it"}))
	s.send("s", "c", durable.Compact{})
	s.until("the summary", func() bool { return calls.Load() == 1 })
	s.send("s", "i", durable.Interrupt{Prompt: "c"})
	if err := s.settled("c"); !errors.Is(err, durable.ErrRejected) || !strings.Contains(err.Error(), "interrupted") {
		s.Errorf("the compaction that was interrupted: %v", err)
	}
	if err := s.settled("i"); err != nil {
		s.Errorf("the interrupt: %v", err)
	}
	for _, e := range s.facts("s") {
		if _, ok := e.Data.(event.Compacted); ok {
			s.Error("the conversation was compacted")
		}
	}
}

// interruptedResumedCompaction interrupts a compaction that another worker has begun. An interrupt of the
// prompt before it changes nothing.
func interruptedResumedCompaction(s *suite) {
	calls := s.slowSummaries()
	w := s.worker(nil)
	p := s.send("s", "", durable.Prompt{Text: "do it"})
	s.wait("s", p)
	s.send("s", "c", durable.Compact{})
	s.until("the summary", func() bool { return calls.Load() == 1 })
	w.drain()
	<-w.done
	w = s.worker(nil)
	s.until("the second summary", func() bool { return calls.Load() == 2 })
	s.send("s", "of the prompt", durable.Interrupt{Prompt: p})
	s.send("s", "i", durable.Interrupt{Prompt: "c"})
	if err := s.settled("i"); err != nil {
		s.Errorf("the interrupt: %v", err)
	}
	if err := s.settled("c"); !errors.Is(err, durable.ErrRejected) || !strings.Contains(err.Error(), "interrupted") {
		s.Errorf("the compaction that was interrupted: %v", err)
	}
	if err := s.settled("of the prompt"); !errors.Is(err, durable.ErrRejected) {
		s.Errorf("the interrupt of a run that is over: %v", err)
	}
	for _, e := range s.facts("s") {
		if _, ok := e.Data.(event.Compacted); ok {
			s.Error("the conversation was compacted")
		}
	}
	w.drain()
	<-w.done
	s.send("s", "again", durable.Interrupt{Prompt: "c"}) // as if the worker had died before it settled it
	s.worker(nil)
	if err := s.settled("again"); err != nil {
		s.Errorf("the interrupt that was carried out before: %v", err)
	}
}

// slowSummaries makes each summary take two beats. It returns the number of summaries begun.
func (s *suite) slowSummaries() *atomic.Int64 {
	var calls atomic.Int64
	s.world.compact = &llmtest.Model{ID: "summaries", Rule: func(*llmtest.Request, int) llmtest.Step {
		calls.Add(1)
		step := llmtest.Say("They did it.")
		step.Delay = 2 * s.pair.Beat
		return step
	}}
	return &calls
}

// settled waits until a command of session s is settled. It returns the error if it was rejected.
func (s *suite) settled(id string) (err error) {
	s.until(id+" is settled", func() (settled bool) {
		settled, err = s.client.Settled(s.Context(), "s", id)
		return settled || err != nil
	})
	return err
}

// rejectedLate rejects a command that another worker has carried out. The first outcome counts.
func rejectedLate(s *suite) {
	s.worker(nil)
	s.send("s", "c", durable.Rename{Title: "new"})
	if err := s.settled("c"); err != nil {
		s.Fatal(err)
	}
	for _, id := range []string{"c", "never posted"} {
		if err := s.client.Backend.Reject(s.Context(), "s", id, "it came too late"); err != nil {
			s.Fatal(err)
		}
		if err := s.settled(id); err != nil {
			s.Errorf("%s: %v", id, err)
		}
	}
}
