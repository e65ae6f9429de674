package durabletest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// supervised starts workers, one after the other, until the test ends: the next one when the
// last one has died. change may change a worker before it starts, and gets what kills it.
func (s *suite) supervised(change func(w *durable.Worker, kill func())) {
	begin := func() *process {
		var p *process
		ready := make(chan struct{})
		defer close(ready)
		p = s.worker(func(w *durable.Worker) { change(w, func() { <-ready; p.kill() }) })
		return p
	}
	p := begin()
	s.all.Go(func() {
		for {
			<-p.done
			s.mu.Lock()
			over := s.over
			s.mu.Unlock()
			if over {
				return
			}
			p = begin()
		}
	})
}

// counted lets a worker count how often it takes a session.
func counted(n *atomic.Int64) func(*durable.Worker) {
	return func(w *durable.Worker) {
		made := w.Agent
		w.Agent = func(ctx context.Context, at durable.Where) (durable.Hosted, error) {
			n.Add(1)
			return made(ctx, at)
		}
	}
}

// hour leaves sessions without a worker for an hour: a question, a wait before a model call is
// tried again, a time limit, a call, a prompt that has not begun.
func hour(s *suite) {
	const refund, limited, call, unread = "refund", "limited", "call", "unread"
	limit := s.away / 2
	s.world.rule = func(prompt string, turn int) (llmtest.Step, bool) {
		if prompt == "do limited" && turn == 0 && s.world.once("limited") {
			return llmtest.Fail(&llm.APIError{Class: llm.RateLimit, Status: 429, RetryAfter: limit}), true
		}
		return llmtest.Step{}, false
	}
	patient := func(w *durable.Worker) {
		made := w.Agent
		w.Agent = func(ctx context.Context, at durable.Where) (durable.Hosted, error) {
			h, err := made(ctx, at)
			h.Agent.Retry = &agent.Retry{MaxAfter: 2 * s.away, Cap: 2 * s.away}
			return h, err
		}
	}
	w := s.worker(patient)
	s.send(refund, "p", durable.Prompt{Text: "do refund", Budget: agent.Budget{Time: limit}})
	s.send(limited, "p", durable.Prompt{Text: "do limited"})
	s.send(call, "p", durable.Prompt{Text: "do it", Budget: agent.Budget{Time: limit}})
	question := s.question(refund)
	s.until("a call", func() bool { return s.world.total("lookup") > 0 && s.world.happened("limited") })
	time.Sleep(s.pair.Beat) // the run with the question is suspended
	w.kill()
	s.send(unread, "p", durable.Prompt{Text: "do it"})
	s.send(call, "m", durable.Message{Text: "are you there?"})
	time.Sleep(s.away)
	s.send(refund, "", durable.Decide{Call: question, Decision: permission.Allow()})
	s.worker(patient)
	for _, id := range []string{refund, limited, call, unread} {
		if end := s.wait(id, "p"); end.Reason != event.Completed {
			s.Errorf("the run of %s ended as %s: %s", id, end.Reason, end.Message)
		}
		s.facts(id)
	}
	if n := max(s.world.most("charge"), s.world.most("refund")); n != 1 {
		s.Errorf("a call that must not be repeated ran %d times", n)
	}
}

// question waits for the question of a session, and returns its call.
func (s *suite) question(session string) (call string) {
	s.Helper()
	s.until("a question", func() bool {
		q, err := s.client.Questions(s.Context(), session)
		if err == nil && len(q) == 1 {
			call = q[0].Call
		}
		return call != ""
	})
	return call
}

// direct returns a worker that the test calls itself: its engine is wrong about it.
func (s *suite) direct() *durable.Worker {
	b, _ := s.pair.Connect()
	return &durable.Worker{Backend: b, Agent: s.world.agent, Linger: s.pair.Beat / 2}
}

// post keeps a command that no worker is woken for.
func (s *suite) post(session, id string, c durable.Command) {
	s.Helper()
	silent := *s.client
	silent.Engine = noEngine{}
	if _, err := silent.Send(s.Context(), session, id, c); err != nil {
		s.Fatal(err)
	}
}

// oneLease gives a session to two workers at once. The second one must not take it by force,
// however long the first one needs.
func oneLease(s *suite) {
	s.world.slow = s.pair.Beat
	s.post("s", "p", durable.Prompt{Text: "do it"})
	var both sync.WaitGroup
	for range 2 {
		w := s.direct()
		both.Go(func() {
			if out, err := w.Work(s.Context(), "s", durable.Wake{}); err != nil || out != durable.Idle {
				s.Errorf("a worker left the session as %q, %v", out, err)
			}
		})
	}
	both.Wait()
	for _, e := range s.facts("s") {
		if _, resumed := e.Data.(event.Resumed); resumed {
			s.Error("a worker took the session away from one that is alive")
		}
	}
	if end := s.wait("s", "p"); end.Reason != event.Completed || s.world.most("lookup") != 1 || s.world.most("charge") != 1 {
		s.Errorf("the run ended as %s; a lookup ran %d times, a charge %d", end.Reason, s.world.most("lookup"), s.world.most("charge"))
	}
}

// taken ends the context of a worker's visit. That is no interrupt, unless somebody cancelled
// the work.
func taken(s *suite) {
	s.post("s", "p", durable.Prompt{Text: "do it"})
	visit := func(wake durable.Wake) (durable.Outcome, error) {
		ctx, stop := context.WithCancel(s.Context())
		before := s.world.total("lookup")
		s.all.Go(func() {
			s.until("a call", func() bool { return s.world.total("lookup") > before })
			stop()
		})
		return s.direct().Work(ctx, "s", wake)
	}
	if out, err := visit(durable.Wake{}); err != nil || out != durable.Yielded {
		s.Errorf("a worker that lost its session left it as %q, %v", out, err)
	}
	if out, err := s.direct().Work(s.Context(), "s", durable.Wake{}); err != nil || out != durable.Idle {
		s.Errorf("the next worker left the session as %q, %v", out, err)
	}
	if end := s.wait("s", "p"); end.Reason != event.Completed {
		s.Errorf("the run ended as %s", end.Reason)
	}
	s.post("s", "q", durable.Prompt{Text: "do more"})
	if out, err := visit(durable.Wake{Cancelled: func(context.Context) bool { return true }}); err != nil || out != durable.Idle {
		s.Errorf("a worker whose work was cancelled left the session as %q, %v", out, err)
	}
	if end := s.wait("s", "q"); end.Reason != event.Interrupted {
		s.Errorf("a cancelled run ended as %s", end.Reason)
	}
	s.facts("s")
}

// finished lets a worker leave a session while one call has ended and another one works. The
// call that has ended must not be repeated.
func finished(s *suite) {
	s.world.rule = func(prompt string, turn int) (llmtest.Step, bool) {
		return llmtest.Call(llmtest.Use("", "quick", item{1}), llmtest.Use("", "stuck", item{2})), turn == 0
	}
	quick, again := make(chan struct{}), false
	s.world.more = func(session string) []tool.Tool {
		made := func(name string, do func(context.Context)) tool.Tool {
			return tool.New(tool.Spec{Name: name, ReadOnly: true}, func(ctx context.Context, call tool.Call, _ item) (*tool.Result, error) {
				s.world.count(name, session+"/"+call.ID)
				do(ctx)
				return tool.Text(name), ctx.Err()
			})
		}
		return []tool.Tool{
			made("quick", func(context.Context) {
				if !again {
					close(quick)
				}
			}),
			made("stuck", func(ctx context.Context) {
				if !again {
					<-ctx.Done()
				}
			}),
		}
	}
	s.post("s", "p", durable.Prompt{Text: "do it"})
	ctx, stop := context.WithCancel(s.Context())
	s.all.Go(func() {
		<-quick
		time.Sleep(s.pair.Beat / 5)
		stop()
	})
	if out, err := s.direct().Work(ctx, "s", durable.Wake{}); err != nil || out != durable.Yielded {
		s.Errorf("a worker that lost its session left it as %q, %v", out, err)
	}
	again = true
	if out, err := s.direct().Work(s.Context(), "s", durable.Wake{}); err != nil || out != durable.Idle {
		s.Errorf("the next worker left the session as %q, %v", out, err)
	}
	s.facts("s")
	if q, w := s.world.most("quick"), s.world.most("stuck"); q != 1 || w != 2 {
		s.Errorf("the call that had ended ran %d times, the other one %d times", q, w)
	}
}

// decided lets a worker die between recording a decision and continuing the run.
func decided(s *suite) {
	w := s.worker(nil)
	s.send("s", "p", durable.Prompt{Text: "do refund"})
	call := s.question("s")
	s.until("the run is suspended", func() bool {
		facts := s.read("s")
		end, ok := facts[len(facts)-1].Data.(event.RunEnd)
		return ok && end.Reason == event.Suspended
	})
	w.drain()
	<-w.done
	b, _ := s.pair.Connect()
	h, _ := s.world.agent(s.Context(), durable.Where{Session: "s"})
	h.Agent.Sessions = b.Store("", nil)
	session := h.Agent.Session("s")
	if err := session.Decide(s.Context(), call, permission.Allow()); err != nil {
		s.Fatal(err)
	}
	if err := session.Close(); err != nil {
		s.Error(err)
	}
	s.worker(nil)
	if err := s.client.Engine.Wake(s.Context(), "s"); err != nil {
		s.Fatal(err)
	}
	if end := s.wait("s", "p"); end.Reason != event.Completed || s.world.total("refund") != 1 {
		s.Errorf("the run ended as %s with %d refunds", end.Reason, s.world.total("refund"))
	}
	s.facts("s")
	// That worker has not settled the command: it comes again.
	for id, d := range map[string]permission.Decision{"same": permission.Allow(), "other": permission.Deny("no")} {
		s.send("s", id, durable.Decide{Call: call, Decision: d})
		s.until(id+" is settled", func() bool {
			settled, err := s.client.Settled(s.Context(), "s", id)
			if settled && errors.Is(err, durable.ErrRejected) != (id == "other") {
				s.Errorf("the %s decision as the one on record: %v", id, err)
			}
			return settled
		})
	}
}

// bells rings a thousand times for one prompt.
func bells(s *suite) {
	var visits atomic.Int64
	s.worker(counted(&visits))
	s.send("s", "p", durable.Prompt{Text: "do it"})
	s.until("a call", func() bool { return s.world.total("lookup") > 0 })
	var ringing sync.WaitGroup
	for range 10 {
		ringing.Go(func() {
			for range 100 {
				if err := s.client.Engine.Wake(s.Context(), "s"); err != nil {
					s.Error(err)
				}
			}
		})
	}
	ringing.Wait()
	if end := s.wait("s", "p"); end.Reason != event.Completed {
		s.Errorf("the run ended as %s", end.Reason)
	}
	s.wait("s", s.send("s", "", durable.Prompt{Text: "do more"}))
	if n := visits.Load(); n > 100 {
		s.Errorf("1,000 bells during a run led to %d visits", n)
	}
	if n := s.world.most("charge"); n != 1 || s.world.total("charge") != 2 {
		s.Errorf("%d charges for two prompts, one ran %d times", s.world.total("charge"), n)
	}
	s.facts("s")
}

// twice sends each command twice: before a worker sees it, and when it was settled for long.
func twice(s *suite) {
	s.send("s", "p", durable.Prompt{Text: "do it"})
	s.send("s", "p", durable.Prompt{Text: "do it"})
	s.send("s", "compact", durable.Compact{})
	s.send("s", "compact", durable.Compact{})
	s.worker(nil)
	s.wait("s", "p")
	settled := func(id string) {
		s.until(id+" is settled", func() bool {
			ok, err := s.client.Settled(s.Context(), "s", id)
			return ok && (err == nil || errors.Is(err, durable.ErrRejected))
		})
	}
	settled("compact")
	s.send("s", "refused", durable.SetModel{Name: "no such model"})
	settled("refused")
	s.send("s", "first", durable.Rename{Title: "first"})
	settled("first")
	s.send("s", "second", durable.Rename{Title: "second"})
	settled("second")
	s.send("s", "interrupt", durable.Interrupt{})
	settled("interrupt")
	before := len(s.facts("s"))
	again := map[string]durable.Command{"p": durable.Prompt{Text: "do it"}, "compact": durable.Compact{}, "first": durable.Rename{Title: "first"},
		"refused": durable.SetModel{Name: "no such model"}, "interrupt": durable.Interrupt{}}
	for id, c := range again {
		s.send("s", id, c)
	}
	for id := range again {
		settled(id)
	}
	if _, err := s.client.Settled(s.Context(), "s", "refused"); !errors.Is(err, durable.ErrRejected) {
		s.Errorf("a rejected command that was sent again: %v", err)
	}
	if after := s.facts("s"); len(after) != before {
		s.Errorf("commands that were sent again put %d facts on record, the last one a %T", len(after)-before, after[len(after)-1].Data)
	}
	list, err := s.client.Backend.Store("", nil).List(s.Context())
	if err != nil || len(list) != 1 || list[0].Title != "second" {
		s.Errorf("list %+v, %v", list, err)
	}
	if end := s.wait("s", s.send("s", "", durable.Prompt{Text: "do more"})); end.Reason != event.Completed || s.world.total("charge") != 2 {
		s.Errorf("the next run ended as %s; %d charges for two prompts", end.Reason, s.world.total("charge"))
	}
}

// newer sends commands of a newer program: one that this one does not know, and one with a
// member that it does not know.
func newer(s *suite) {
	s.worker(nil)
	s.send("s", "before", durable.Prompt{Text: "do it"})
	for id, body := range map[string]string{"unknown": `{"type":"summon","data":{}}`, "member": `{"type":"prompt","data":{"text":"do it","safely":true}}`, "broken": `{"type":`} {
		if err := s.client.Backend.Post(s.Context(), "s", durable.Mail{ID: id, Body: []byte(body)}); err != nil {
			s.Fatal(err)
		}
		if err := s.client.Engine.Wake(s.Context(), "s"); err != nil {
			s.Fatal(err)
		}
		s.until("rejected", func() bool {
			_, err := s.client.Settled(s.Context(), "s", id)
			return errors.Is(err, durable.ErrRejected) && (id == "broken" || strings.Contains(err.Error(), "newer"))
		})
	}
	s.send("s", "after", durable.Prompt{Text: "do it"})
	for _, id := range []string{"before", "after"} {
		if end := s.wait("s", id); end.Reason != event.Completed {
			s.Errorf("prompt %s ended as %s", id, end.Reason)
		}
	}
	if n := s.world.total("charge"); n != 2 {
		s.Errorf("%d charges for two prompts", n)
	}
}

// flapping lets the worker at a place die and come back, until it stays away.
func flapping(s *suite) {
	var mu sync.Mutex
	made, lost := map[string]int{}, map[string]bool{}
	named := func(name string) func(*durable.Worker) {
		return func(w *durable.Worker) {
			w.Place, w.Keep = name, -1
			w.Agent = func(ctx context.Context, at durable.Where) (durable.Hosted, error) {
				mu.Lock()
				made[name]++
				lost[at.Lost] = true
				mu.Unlock()
				h, err := s.world.agent(ctx, at)
				h.Bound = true
				return h, err
			}
		}
	}
	a := s.worker(named("a"))
	s.wait("s", s.send("s", "", durable.Prompt{Text: "do 1"}))
	s.worker(named("b"))
	for i := range 3 {
		calls := s.world.total("lookup")
		id := s.send("s", "", durable.Prompt{Text: fmt.Sprint("do again ", i)})
		s.until("a call", func() bool { return s.world.total("lookup") > calls })
		a.kill()
		a = s.worker(named("a"))
		if end := s.wait("s", id); end.Reason != event.Completed {
			s.Errorf("the run ended as %s", end.Reason)
		}
	}
	mu.Lock()
	if made["b"] != 0 || lost["a"] {
		s.Errorf("a session whose place came back each time was taken elsewhere %d times", made["b"])
	}
	mu.Unlock()
	a.kill()
	s.wait("s", s.send("s", "", durable.Prompt{Text: "do elsewhere"}))
	s.worker(named("a")) // too late: the session is bound to b now
	before := func() int { mu.Lock(); defer mu.Unlock(); return made["a"] }()
	s.wait("s", s.send("s", "", durable.Prompt{Text: "do there again"}))
	mu.Lock()
	defer mu.Unlock()
	if made["b"] == 0 || !lost["a"] || made["a"] != before {
		s.Errorf("a place that is gone: the agent was made %v times, places lost %v", made, lost)
	}
	s.facts("s")
}

// deadly has a tool that kills its process. It is tried four times.
func deadly(s *suite) {
	s.world.rule = func(prompt string, turn int) (llmtest.Step, bool) {
		return llmtest.Call(llmtest.Use("", "deadly", item{1})), prompt == "do deadly" && turn == 0
	}
	s.supervised(func(w *durable.Worker, kill func()) {
		made := w.Agent
		w.Agent = func(ctx context.Context, at durable.Where) (durable.Hosted, error) {
			h, err := made(ctx, at)
			h.Agent.Tools = append(h.Agent.Tools, tool.New(tool.Spec{Name: "deadly", ReadOnly: true}, func(ctx context.Context, call tool.Call, _ item) (*tool.Result, error) {
				s.world.count("deadly", at.Session+"/"+call.ID)
				kill()
				<-ctx.Done()
				return nil, ctx.Err()
			}))
			h.Agent.Permissions.Allow = append(h.Agent.Permissions.Allow, "deadly")
			return h, err
		}
	})
	if end := s.wait("s", s.send("s", "", durable.Prompt{Text: "do deadly"})); end.Reason != event.Completed {
		s.Errorf("the run ended as %s", end.Reason)
	}
	if n := s.world.most("deadly"); n != 4 {
		s.Errorf("a call that kills its process was tried %d times", n)
	}
	if end := s.wait("s", s.send("s", "", durable.Prompt{Text: "do it"})); end.Reason != event.Completed {
		s.Errorf("the next run ended as %s", end.Reason)
	}
	s.facts("s")
}
