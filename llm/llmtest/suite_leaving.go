package llmtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/llm"
)

// longStall is a step that falls silent for ever amid its text.
func longStall() Step {
	return Step{Text: strings.Repeat("word ", 50), Pieces: 20, Stall: time.Hour, StallAfter: 8}
}

func testCancelEarly(s *suite) {
	before := goroutines()
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	s.startRule(func(*Request, int) Step {
		cancel()
		return Step{Delay: time.Hour}
	})
	if _, err := s.listen(ctx, ask("Hello.")); !errors.Is(err, context.Canceled) {
		s.Errorf("got %v, want context.Canceled", err)
	}
	s.mustBeQuiet(before)
}

func testCancelMidway(s *suite) {
	before := goroutines()
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	s.start(longStall())
	var last error
	for d, err := range s.model.Stream(ctx, ask("Hello.")) {
		last = err
		if d.Text != "" {
			cancel() // the first delta comes while the server is still sending
		}
	}
	if !errors.Is(last, context.Canceled) {
		s.Errorf("the stream ended with %v, want context.Canceled", last)
	}
	s.mustBeQuiet(before)
}

func testLeave(s *suite) {
	before := goroutines()
	s.start(longStall())
	for d, err := range s.model.Stream(s.ctx, ask("Hello.")) {
		if err != nil {
			s.Fatalf("the stream failed: %v", err)
		}
		if d.Text != "" {
			break
		}
	}
	s.mustBeQuiet(before)
}

// mustBeQuiet waits until the server has seen the client leave, and nothing
// runs any more that did not run before.
func (s *suite) mustBeQuiet(before map[string]string) {
	s.Helper()
	if !s.eventually(func() bool { return s.server.active.Load() == 0 }) {
		s.Errorf("the client still holds its connection")
	}
	s.server.Close()
	var left []string
	quiet := s.eventually(func() bool {
		left = newGoroutines(before, reflect.TypeOf(s.model))
		return len(left) == 0
	})
	if !quiet {
		s.Errorf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
	}
}

// eventually waits up to 5 s for a condition.
func (s *suite) eventually(holds func() bool) bool {
	for range 500 {
		if holds() {
			return true
		}
		if wait(s.ctx, 10*time.Millisecond) != nil {
			break
		}
	}
	return holds()
}

func testConcurrent(s *suite) {
	s.startRule(func(r *Request, _ int) Step { return Say("you said " + r.Prompt()) })
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			said := fmt.Sprintf("number %d", i)
			got, err := llm.Collect(s.ctx, s.model, ask(said))
			if err != nil || got.Message.Text() != "you said "+said {
				s.Errorf("%s: got %+v, %v", said, got, err)
			}
		})
	}
	wg.Wait()
}
