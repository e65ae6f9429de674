package durabletest

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A reading is what one reader has got of a session.
type reading struct {
	last    int64
	numbers []int64
	ended   bool // the run of the prompt has ended
}

// read reads at most n facts, or until the run of a prompt ends if n is 0.
func (r *reading) read(s *suite, session string, n int, prompt string) {
	run := false
	for e, err := range s.client.Events(s.Context(), session, r.last) {
		if err != nil {
			s.Error(err)
			r.ended = true
			return
		}
		if e.Seq == 0 {
			continue
		}
		r.last, r.numbers = e.Seq, append(r.numbers, e.Seq)
		switch f := e.Data.(type) {
		case event.UserMessage:
			run = run || strings.HasSuffix(f.ID, prompt)
		case event.RunEnd:
			if f.Text == "done: do "+prompt {
				r.ended = true
				return
			}
		}
		if n--; n == 0 {
			return
		}
	}
}

// readers has a hundred readers on one session whose workers die. One stops reading for a
// while, and one comes back again and again with the last number that it has.
func readers(s *suite) {
	all := make([]reading, 100)
	stopped, leaving := &all[0], &all[1]
	resume := make(chan struct{})
	var reading sync.WaitGroup
	for i := range all {
		r := &all[i]
		reading.Go(func() {
			switch r {
			case stopped:
				for e, err := range s.client.Events(s.Context(), "s", 0) {
					if err != nil || r.ended {
						s.Error(err)
						return
					}
					if e.Seq == 0 {
						continue
					}
					if len(r.numbers) == 3 {
						<-resume
					}
					r.last, r.numbers = e.Seq, append(r.numbers, e.Seq)
					if f, ok := e.Data.(event.RunEnd); ok && f.Text == "done: do last" {
						return
					}
				}
			case leaving:
				for !r.ended {
					r.read(s, "s", 2, "last")
				}
			default:
				r.read(s, "s", 0, "last")
			}
		})
	}
	w := s.worker(nil)
	for i := range 3 {
		calls := s.world.total("lookup")
		id := s.send("s", "", durable.Prompt{Text: fmt.Sprint("do ", i)})
		s.until("a call", func() bool { return s.world.total("lookup") > calls })
		w.kill()
		w = s.worker(nil)
		s.wait("s", id)
	}
	s.wait("s", s.send("s", "", durable.Prompt{Text: "do last"}))
	close(resume)
	reading.Wait()
	facts := s.facts("s")
	for i, r := range all {
		if len(r.numbers) != len(facts) {
			s.Errorf("reader %d got %d facts of %d", i, len(r.numbers), len(facts))
			continue
		}
		for k, e := range facts {
			if r.numbers[k] != e.Seq {
				s.Errorf("reader %d got fact %d as number %d", i, r.numbers[k], k)
				break
			}
		}
	}
}

// large has a session of more than 10,000 facts, an answer with 200 calls, and a result of
// 5 MB. Workers die in the middle.
func large(s *suite) {
	text := strings.Repeat("0123456789abcde\n", 5<<20/16)
	s.world.rule = func(prompt string, turn int) (step llmtest.Step, ok bool) {
		turns := 1
		if prompt == "do fill" {
			turns = 20
		}
		switch {
		case prompt == "do it" || turn >= turns:
			return step, false
		case prompt == "do print":
			return llmtest.Call(llmtest.Use("", "print", item{1})), true
		}
		var uses []llm.ToolUse
		for i := range 200 {
			uses = append(uses, llmtest.Use("", "ping", item{turn*1000 + i}))
		}
		return llmtest.Call(uses...), true
	}
	s.world.more = func(session string) []tool.Tool {
		ping := tool.New(tool.Spec{Name: "ping", ReadOnly: true}, func(_ context.Context, call tool.Call, in item) (*tool.Result, error) {
			s.world.count("ping", session+"/"+call.ID)
			return tool.Text(fmt.Sprint(in.N)), nil
		})
		print := tool.New(tool.Spec{Name: "print", ReadOnly: true}, func(_ context.Context, call tool.Call, _ item) (*tool.Result, error) {
			s.world.count("print", session+"/"+call.ID)
			return tool.Text(text), nil
		})
		return []tool.Tool{ping, print}
	}
	s.fill("s")
	change := func(w *durable.Worker) {
		made := w.Agent
		w.Agent = func(ctx context.Context, at durable.Where) (durable.Hosted, error) {
			h, err := made(ctx, at)
			h.Agent.Output = &tool.Output{Lines: -1, Bytes: -1}
			return h, err
		}
	}
	w := s.worker(change)
	for _, prompt := range []string{"do ping", "do print", "do it"} {
		tool := strings.TrimPrefix(prompt, "do ")
		if tool == "it" {
			tool = "lookup"
		}
		calls := s.world.total(tool)
		id := s.send("s", "", durable.Prompt{Text: prompt})
		s.until("a call", func() bool { return s.world.total(tool) > calls })
		w.kill()
		w = s.worker(change)
		if end := s.wait("s", id); end.Reason != event.Completed || end.Text != "done: "+prompt {
			s.Errorf("%s ended as %s with %q: %s", prompt, end.Reason, end.Text, end.Message)
		}
	}
	printed, facts := 0, s.facts("s")
	for _, e := range facts {
		if r, ok := e.Data.(event.ToolResult); ok {
			printed = max(printed, len(r.Result.Content.Text()))
		}
	}
	if len(facts) < 10_000 || printed != len(text) {
		s.Errorf("%d facts; the largest result has %d bytes", len(facts), printed)
	}
}

// fill makes a session of about 10,000 facts.
func (s *suite) fill(id string) {
	s.Helper()
	ctx, memory := s.Context(), session.Memory()
	h, _ := s.world.agent(ctx, durable.Where{Session: id})
	h.Agent.Sessions = memory
	slow, think := s.world.slow, s.world.think
	s.world.slow, s.world.think = 0, 0
	filled := h.Agent.Session(id)
	if _, err := filled.Prompt(ctx, "do fill"); err != nil {
		s.Fatal(err)
	}
	if err := filled.Close(); err != nil {
		s.Fatal(err)
	}
	s.world.slow, s.world.think = slow, think
	var facts []event.Event
	for e, err := range memory.Read(ctx, id, 0) {
		if err != nil {
			s.Fatal(err)
		}
		facts = append(facts, e)
	}
	s.Logf("%d facts", len(facts))
	log, err := s.client.Backend.Store("", nil).Open(ctx, id, session.Header{})
	if err != nil {
		s.Fatal(err)
	}
	for at := 0; at < len(facts); at += 1000 {
		if err := log.Append(ctx, log.Last(), true, facts[at:min(at+1000, len(facts))]...); err != nil {
			s.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		s.Fatal(err)
	}
}
