package durabletest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// suspended waits until a session's run is suspended.
func (s *suite) suspended(session string) {
	s.Helper()
	s.until("the run is suspended", func() bool {
		facts := s.read(session)
		end, ok := facts[len(facts)-1].Data.(event.RunEnd)
		return ok && end.Reason == event.Suspended
	})
}

// rejected waits until a command is settled, and holds that it was rejected for a reason.
func (s *suite) rejected(session, id, reason string) {
	s.Helper()
	s.until(id+" is settled", func() bool {
		settled, err := s.client.Settled(s.Context(), session, id)
		if settled && (!errors.Is(err, durable.ErrRejected) || !strings.Contains(err.Error(), reason)) {
			s.Errorf("%s was settled with %v, want a rejection with %q", id, err, reason)
		}
		return settled
	})
}

// behind has commands behind a question that waits. They wait too, and no worker claims the
// session for them.
func behind(s *suite) {
	var visits atomic.Int64
	s.worker(counted(&visits))
	s.send("s", "p", durable.Prompt{Text: "do refund"})
	call := s.question("s")
	s.suspended("s")
	s.send("s", "q", durable.Prompt{Text: "do it"})
	s.send("s", "stop q", durable.Interrupt{Prompt: "q"})
	s.send("s", "r", durable.Prompt{Text: "do it"})
	s.rejectedNow("s", "stop other", durable.Interrupt{Prompt: "other"})
	time.Sleep(2 * s.pair.Beat) // the last visit is over
	before, facts := visits.Load(), len(s.read("s"))
	time.Sleep(6 * time.Second) // the commands are old enough for a sweep
	for range 3 {
		if err := s.client.Sweep(s.Context()); err != nil {
			s.Error(err)
		}
		time.Sleep(s.pair.Beat / 2)
	}
	if n, more := visits.Load()-before, len(s.read("s"))-facts; n != 0 || more != 0 {
		s.Errorf("a session that waits for a person was claimed %d times, and has %d more facts", n, more)
	}
	silent := *s.client
	silent.Engine = noEngine{}
	if _, err := silent.Send(s.Context(), "s", "", durable.Decide{Call: call, Decision: permission.Allow()}); err != nil {
		s.Fatal(err)
	}
	s.until("a sweep finds the decision", func() bool {
		if err := s.client.Sweep(s.Context()); err != nil {
			s.Error(err)
		}
		return visits.Load() > before
	})
	for id, reason := range map[string]event.EndReason{"p": event.Completed, "q": event.Interrupted, "r": event.Completed} {
		if end := s.wait("s", id); end.Reason != reason {
			s.Errorf("the run of %s ended as %s, want %s", id, end.Reason, reason)
		}
	}
	s.facts("s")
}

// rejectedNow sends a command and waits until it is rejected.
func (s *suite) rejectedNow(session, id string, c durable.Command) {
	s.Helper()
	s.send(session, id, c)
	s.rejected(session, id, "")
}

// secondly answers a call again in another way, during the wait for another answer and later.
func secondly(s *suite) {
	s.worker(nil)
	s.send("s", "p", durable.Prompt{Text: "do ask"})
	var asks, permits string
	s.until("two questions", func() bool {
		list, err := s.client.Questions(s.Context(), "s")
		for _, q := range list {
			if len(q.Questions) > 0 {
				asks = q.Call
			} else {
				permits = q.Call
			}
		}
		return err == nil && asks != "" && permits != ""
	})
	s.suspended("s")
	input := json.RawMessage(`{ "n": 7 }`)
	s.send("s", "first", durable.Decide{Call: permits, Decision: permission.AllowWith(input)})
	s.until("the first decision counts", func() bool {
		settled, err := s.client.Settled(s.Context(), "s", "first")
		return settled && err == nil
	})
	again := func(when string) {
		s.Helper()
		s.send("s", "same "+when, durable.Decide{Call: permits, Decision: permission.AllowWith(json.RawMessage(`{"n":7}`))})
		s.until("the same decision counts", func() bool {
			settled, err := s.client.Settled(s.Context(), "s", "same "+when)
			if err != nil {
				s.Fatal(err)
			}
			return settled
		})
		for id, d := range map[string]permission.Decision{"another input": permission.AllowWith(json.RawMessage(`{"n":8}`)), "no input": permission.Allow(), "denied": permission.Deny("no")} {
			s.send("s", id+" "+when, durable.Decide{Call: permits, Decision: d})
			s.rejected("s", id+" "+when, "decided before in another way")
		}
	}
	again("while another question waits")
	if list, err := s.client.Questions(s.Context(), "s"); err != nil || len(list) != 1 || list[0].Call != asks {
		s.Errorf("the questions that wait are %+v, %v", list, err)
	}
	s.send("s", "", durable.Answer{Call: asks, Answers: []tool.Answer{{Text: "any"}}})
	if end := s.wait("s", "p"); end.Reason != event.Completed || s.world.total("refund") != 1 {
		s.Errorf("the run ended as %s with %d refunds", end.Reason, s.world.total("refund"))
	}
	again("after the run")
	for _, e := range s.facts("s") {
		if r, ok := e.Data.(event.ToolResult); ok && r.Call == permits && r.Result.Text() != "refund 7" {
			s.Errorf("the call was made as %q", r.Result.Text())
		}
	}
}

// late lets a question expire while no worker has its session. The next visit denies its call.
func late(s *suite) {
	expires := time.Now().Add(3 * s.pair.Beat)
	s.worker(func(w *durable.Worker) {
		made := w.Agent
		w.Agent = func(ctx context.Context, at durable.Where) (durable.Hosted, error) {
			h, err := made(ctx, at)
			h.Agent.CanUseTool = func(_ context.Context, _ tool.Call, verdict permission.Decision) (permission.Decision, error) {
				d := permission.Decision{}
				if verdict.Behavior == permission.Asked {
					d = permission.Defer()
					d.Expires = expires
				}
				return d, nil
			}
			return h, err
		}
	})
	s.send("s", "p", durable.Prompt{Text: "do refund"})
	call := s.question("s")
	s.suspended("s")
	time.Sleep(time.Until(expires))
	s.rejectedNow("s", "too late", durable.Decide{Call: call, Decision: permission.Allow()})
	s.send("s", "q", durable.Prompt{Text: "do it"})
	if end := s.wait("s", "p"); end.Reason != event.Completed || len(end.Denials) != 1 {
		s.Errorf("the run ended as %s with denials %v", end.Reason, end.Denials)
	}
	if end := s.wait("s", "q"); end.Reason != event.Completed || s.world.total("refund") != 0 {
		s.Errorf("the next run ended as %s; there were %d refunds", end.Reason, s.world.total("refund"))
	}
	s.facts("s")
}
