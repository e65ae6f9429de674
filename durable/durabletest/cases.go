package durabletest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

func prompt(s *suite) {
	s.worker(nil)
	for i := range 3 {
		id := fmt.Sprint("p", i)
		end, err := s.client.Prompt(s.Context(), "s", id, "do "+id)
		if err != nil || end.Reason != event.Completed || end.Text != "done: do "+id {
			s.Errorf("%s ended as %s with %q, %v", id, end.Reason, end.Text, err)
		}
	}
	if end, err := s.client.Prompt(s.Context(), "s", "p1", "do it once more"); err != nil || end.Text != "done: do p1" {
		s.Errorf("a known prompt returns %q, %v", end.Text, err)
	}
	if n := s.world.total("charge"); n != 3 {
		s.Errorf("%d charges for 3 prompts", n)
	}
	s.facts("s")
}

// kills kills workers at random moments.
func kills(s *suite) {
	seed := rand.Uint64()
	s.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	workers := []*process{s.worker(nil), s.worker(nil), s.worker(nil)}
	const sessions = 8
	for i := range sessions {
		s.send(fmt.Sprint("s", i), fmt.Sprint("p", i), durable.Prompt{Text: fmt.Sprint("do ", i)})
	}
	sent := map[string]string{}
	for i := range 25 {
		time.Sleep(time.Duration(random.Int64N(int64(s.pair.Beat))) / 5)
		n := random.IntN(len(workers))
		workers[n].kill()
		workers[n] = s.worker(nil)
		id := fmt.Sprint("s", random.IntN(sessions))
		if i%2 == 0 {
			sent[s.send(id, "", durable.Prompt{Text: fmt.Sprint("do more ", i)})] = id
		} else {
			s.send(id, "", durable.Message{Text: "also this"})
		}
	}
	for i := range sessions {
		sent[fmt.Sprint("p", i)] = fmt.Sprint("s", i)
	}
	for prompt, id := range sent {
		if end := s.wait(id, prompt); end.Reason != event.Completed {
			s.Errorf("prompt %s of %s ended as %s: %s", prompt, id, end.Reason, end.Message)
		}
	}
	s.until("empty inboxes", func() bool {
		for i := range sessions {
			if in, err := s.client.Backend.Inbox(s.Context(), fmt.Sprint("s", i)); err != nil || len(in) > 0 {
				return false
			}
		}
		return true
	})
	resumed, unknown := 0, 0
	for i := range sessions {
		for _, e := range s.facts(fmt.Sprint("s", i)) {
			switch f := e.Data.(type) {
			case event.Resumed:
				resumed++
			case event.ToolResult:
				if f.Cause != "" {
					unknown++
				}
			}
		}
	}
	s.Logf("runs were resumed %d times; the outcome of %d calls is not known", resumed, unknown)
	if resumed == 0 {
		s.Error("no worker died during a run")
	}
	if n := s.world.most("charge"); n > 1 {
		s.Errorf("a charge ran %d times", n)
	}
}

func allDead(s *suite) {
	w := s.worker(nil)
	id := s.send("s", "", durable.Prompt{Text: "do it"})
	s.until("a call", func() bool { return s.world.total("lookup") > 0 })
	w.kill()
	time.Sleep(2 * s.pair.Beat)
	s.send("s", "", durable.Message{Text: "are you there?"})
	time.Sleep(2 * s.pair.Beat)
	s.worker(nil)
	if end := s.wait("s", id); end.Reason != event.Completed {
		s.Errorf("the run ended as %s: %s", end.Reason, end.Message)
	}
	s.facts("s")
}

func question(s *suite) {
	w := s.worker(nil)
	id := s.send("s", "", durable.Prompt{Text: "do refund"})
	var call string
	s.until("a question", func() bool {
		q, err := s.client.Questions(s.Context())
		if err == nil && len(q) == 1 {
			call = q[0].Call
		}
		return call != ""
	})
	time.Sleep(2 * s.pair.Beat) // the run is suspended
	w.kill()
	time.Sleep(2 * s.pair.Beat)
	s.send("s", "", durable.Decide{Call: call, Decision: permission.Allow()})
	late := s.send("s", "", durable.Decide{Call: call, Decision: permission.Deny("too late")})
	s.worker(nil)
	if end := s.wait("s", id); end.Reason != event.Completed || len(end.Denials) > 0 {
		s.Errorf("the run ended as %s with %v", end.Reason, end.Denials)
	}
	if n := s.world.total("refund"); n != 1 {
		s.Errorf("%d refunds", n)
	}
	s.until("the second decision is rejected", func() bool {
		settled, err := s.client.Settled(s.Context(), "s", late)
		return settled && errors.Is(err, durable.ErrRejected)
	})
	s.facts("s")
}

// answers: the questions of a tool and of a permission are suspended together, and answered
// without a worker.
func answers(s *suite) {
	w := s.worker(nil)
	id := s.send("s", "", durable.Prompt{Text: "do ask"})
	var asks, permits string
	s.until("two questions", func() bool {
		list, err := s.client.Questions(s.Context())
		if err != nil || len(list) != 2 {
			return false
		}
		for _, q := range list {
			if len(q.Questions) > 0 {
				asks = q.Call
			} else {
				permits = q.Call
			}
		}
		return true
	})
	if asks == "" || permits == "" {
		s.Fatalf("the calls that wait are %q and %q", asks, permits)
	}
	time.Sleep(2 * s.pair.Beat) // the run is suspended
	w.kill()
	time.Sleep(2 * s.pair.Beat)
	second := []tool.Answer{{Options: []string{"the second"}}}
	bad := []string{
		s.send("s", "", durable.Answer{Call: asks, Answers: []tool.Answer{{Options: []string{"another"}}}}),
		s.send("s", "", durable.Answer{Call: permits, Answers: second}),
		s.send("s", "", durable.Decide{Call: asks, Decision: permission.Allow()}),
	}
	s.send("s", "", durable.Answer{Call: asks, Answers: second})
	bad = append(bad, s.send("s", "", durable.Answer{Call: asks, Answers: []tool.Answer{{Text: "too late"}}}))
	s.worker(nil)
	s.until("one question is left", func() bool {
		list, err := s.client.Questions(s.Context())
		return err == nil && len(list) == 1 && list[0].Call == permits
	})
	s.send("s", "", durable.Decide{Call: permits, Decision: permission.Allow()})
	if end := s.wait("s", id); end.Reason != event.Completed || len(end.Denials) > 0 {
		s.Errorf("the run ended as %s with %v", end.Reason, end.Denials)
	}
	if asked, refunds := s.world.total("ask"), s.world.total("refund"); s.world.most("ask") != 1 || asked != 1 || refunds != 1 {
		s.Errorf("%d questions of a tool, asked %d times, and %d refunds", asked, s.world.most("ask"), refunds)
	}
	for _, id := range bad {
		s.until("a wrong answer is rejected", func() bool {
			settled, err := s.client.Settled(s.Context(), "s", id)
			return settled && errors.Is(err, durable.ErrRejected)
		})
	}
	again := s.send("s", "", durable.Answer{Call: asks, Answers: second}) // as of a worker that died before it could settle it
	s.until("an answer that counts is settled", func() bool {
		settled, err := s.client.Settled(s.Context(), "s", again)
		if err != nil {
			s.Fatal(err)
		}
		return settled
	})
	said := ""
	for _, e := range s.facts("s") {
		if r, ok := e.Data.(event.ToolResult); ok && r.Call == asks {
			said = r.Result.Text()
		}
	}
	if said != "Which?\n> the second" {
		s.Errorf("the model was told %q", said)
	}
}

func messages(s *suite) {
	s.worker(nil)
	first := s.send("s", "", durable.Prompt{Text: "do it"})
	s.until("a call", func() bool { return s.world.total("lookup") > 0 })
	steer := s.send("s", "", durable.Message{Text: "also this"})
	s.send("s", steer, durable.Message{Text: "also this"})
	second := s.send("s", "", durable.Prompt{Text: "do more"})
	s.wait("s", second)
	began, seen := map[string]int{}, 0
	for _, e := range s.facts("s") {
		switch f := e.Data.(type) {
		case event.UserMessage:
			began[f.ID]++
			if f.ID == steer {
				seen = len(began)
			}
		}
	}
	if began[first] != 1 || began[steer] != 1 || began[second] != 1 || seen != 2 {
		s.Errorf("messages are on record %v times, the one to the run as number %d", began, seen)
	}
}

func rejected(s *suite) {
	s.worker(nil)
	bad := s.send("s", "", durable.Prompt{Text: "do it", Model: "no such model"})
	if _, err := s.client.Wait(s.Context(), "s", bad); !errors.Is(err, durable.ErrRejected) {
		s.Errorf("a prompt with an unknown model: %v", err)
	}
	unknown := s.send("s", "", durable.SetModel{Name: "no such model"})
	idle := s.send("s", "", durable.Interrupt{})
	for _, id := range []string{unknown, idle} {
		s.until("rejected", func() bool {
			settled, err := s.client.Settled(s.Context(), "s", id)
			return settled && errors.Is(err, durable.ErrRejected)
		})
	}
	if _, err := s.client.Send(s.Context(), "s", "", durable.Prompt{Text: " "}); err == nil {
		s.Error("an empty prompt was sent")
	}
	if _, err := s.client.Send(s.Context(), "../s", "", durable.Prompt{Text: "do it"}); err == nil {
		s.Error("a session with a bad id got a command")
	}
	if end, err := s.client.Prompt(s.Context(), "s", "", "do it"); err != nil || end.Reason != event.Completed {
		s.Errorf("a prompt after the rejected ones: %s, %v", end.Reason, err)
	}
}

// drain ends all workers in turn, as a rolling deploy does.
func drain(s *suite) {
	workers := []*process{s.worker(nil), s.worker(nil)}
	for i := range 6 {
		s.send(fmt.Sprint("s", i), "p", durable.Prompt{Text: fmt.Sprint("do ", i)})
	}
	for range 4 {
		time.Sleep(s.pair.Beat / 15)
		old := workers[0]
		workers = append(workers[1:], s.worker(nil))
		old.drain()
		<-old.done
	}
	for i := range 6 {
		id := fmt.Sprint("s", i)
		if end := s.wait(id, "p"); end.Reason != event.Completed {
			s.Errorf("%s ended as %s", id, end.Reason)
		}
		for _, e := range s.facts(id) {
			if r, ok := e.Data.(event.ToolResult); ok && r.Result.IsError {
				s.Errorf("%s: call %s has the result %q", id, r.Call, r.Result.Content.Text())
			}
		}
	}
	if n := s.world.most("charge"); n > 1 {
		s.Errorf("a charge ran %d times", n)
	}
}

// drainedCall ends a worker in the middle of a call. With enough grace the call ends there, and
// nothing more: another worker asks the model. Without, the worker leaves before the call has ended.
func drainedCall(s *suite) {
	s.world.slow = 2 * s.pair.Beat
	w := s.worker(func(w *durable.Worker) { w.Grace = 50 * s.pair.Beat })
	id := s.send("s", "", durable.Prompt{Text: "do it"})
	s.until("a call", func() bool { return s.world.total("lookup") == 2 })
	w.drain()
	<-w.done
	results := 0
	for _, e := range s.read("s") {
		switch d := e.Data.(type) {
		case event.ToolResult:
			if results++; d.Result.IsError {
				s.Errorf("call %s has the result %q", d.Call, d.Result.Content.Text())
			}
		case event.RunEnd:
			s.Errorf("the worker that was to end ended the run: %s", d.Reason)
		}
	}
	if results < 2 || s.world.total("charge") != 0 {
		s.Errorf("%d results and %d charges when the worker had left", results, s.world.total("charge"))
	}
	w = s.worker(func(w *durable.Worker) { w.Grace = s.pair.Beat / 10 })
	s.until("a charge", func() bool { return s.world.total("charge") == 1 })
	w.drain()
	<-w.done
	for _, e := range s.read("s") {
		if d, ok := e.Data.(event.ToolResult); ok && !d.Result.IsError && strings.HasPrefix(d.Result.Text(), "charge") {
			s.Error("the worker stayed until the end of the call, longer than its grace")
		}
	}
	s.world.mu.Lock()
	s.world.slow = 0
	s.world.mu.Unlock()
	s.worker(nil)
	if end := s.wait("s", id); end.Reason != event.Completed {
		s.Errorf("the run ended as %s: %s", end.Reason, end.Message)
	}
	s.facts("s")
	if n := s.world.most("charge"); n != 1 {
		s.Errorf("a charge ran %d times", n)
	}
}

// frozen takes a worker for dead that is not. Its writes come after another worker has the
// session.
func frozen(s *suite) {
	s.world.slow = 3 * s.pair.Beat
	w := s.worker(nil)
	id := s.send("s", "", durable.Prompt{Text: "do it"})
	s.until("a call", func() bool { return s.world.total("lookup") > 0 })
	w.kill() // the goroutines of its calls continue, and try to record results
	s.worker(nil)
	if end := s.wait("s", id); end.Reason != event.Completed {
		s.Errorf("the run ended as %s: %s", end.Reason, end.Message)
	}
	s.facts("s")
	if n := s.world.most("charge"); n != 1 {
		s.Errorf("a charge ran %d times", n)
	}
}

// lostBell loses the wake-up of a command. A sweep finds it.
func lostBell(s *suite) {
	s.worker(nil)
	silent := *s.client
	silent.Engine = noEngine{}
	id, err := silent.Send(s.Context(), "s", "", durable.Prompt{Text: "do it"})
	if err != nil {
		s.Fatal(err)
	}
	s.until("swept", func() bool {
		if err := s.client.Sweep(s.Context()); err != nil {
			s.Error(err)
		}
		settled, _ := s.client.Settled(s.Context(), "s", id)
		return settled
	})
	if end := s.wait("s", id); end.Reason != event.Completed {
		s.Errorf("the run ended as %s", end.Reason)
	}
}

type noEngine struct{}

func (noEngine) Wake(context.Context, string) error { return nil }

// watch reads events elsewhere, leaves and comes back.
func watch(s *suite) {
	s.worker(nil)
	var after int64
	signals := 0
	var got []event.Event
	id := s.send("s", "", durable.Prompt{Text: "do it"})
	read := func(n int) (ended bool) {
		for e, err := range s.client.Events(s.Context(), "s", after) {
			if err != nil {
				s.Fatal(err)
			}
			if e.Seq == 0 {
				signals++
				continue
			}
			after, got = e.Seq, append(got, e)
			if _, over := e.Data.(event.RunEnd); over {
				return true
			}
			if n--; n == 0 {
				return false
			}
		}
		return false
	}
	for !read(3) {
	}
	s.wait("s", id)
	all := s.facts("s")
	if len(got) != len(all) {
		s.Errorf("read %d facts, %d are on record", len(got), len(all))
	}
	for i, e := range got {
		if e.Seq != all[i].Seq {
			s.Errorf("fact %d came as number %d", e.Seq, i+1)
		}
	}
	if signals == 0 {
		s.Error("no signals came")
	}
}

// place binds a session to a worker's place, and lets another one take it once that is gone.
func place(s *suite) {
	var mu sync.Mutex
	lost, at := "", map[string]int{}
	named := func(name string) func(*durable.Worker) {
		return func(w *durable.Worker) {
			w.Place, w.Keep = name, -1
			w.Agent = func(ctx context.Context, where durable.Where) (durable.Hosted, error) {
				mu.Lock()
				at[name]++
				if where.Lost != "" {
					lost = where.Lost
				}
				mu.Unlock()
				h, err := s.world.agent(ctx, where)
				h.Bound = true
				if where.Lost != "" {
					h.Note = "the files of " + where.Lost + " are gone"
				}
				return h, err
			}
		}
	}
	a := s.worker(named("a"))
	s.wait("s", s.send("s", "", durable.Prompt{Text: "do 1"}))
	s.worker(named("b"))
	for i := range 3 {
		s.wait("s", s.send("s", "", durable.Prompt{Text: fmt.Sprint("do again ", i)}))
	}
	if at["b"] != 0 {
		s.Errorf("worker b made the agent of a session that is bound to a %d times", at["b"])
	}
	a.kill()
	s.wait("s", s.send("s", "", durable.Prompt{Text: "do last"}))
	told := 0
	for _, e := range s.facts("s") {
		if m, ok := e.Data.(event.UserMessage); ok && m.Message.Text() == "the files of a are gone" {
			told++
		}
	}
	if mu.Lock(); lost != "a" || told != 1 {
		s.Errorf("lost place %q; the model was told %d times", lost, told)
	}
	mu.Unlock()
}

// kept lets others rename, use and delete sessions that a worker only keeps after a run.
func kept(s *suite) {
	if _, lends := s.client.Backend.Store("", nil).(interface {
		Recall(ctx context.Context, id string) error
	}); !lends {
		s.Skip("the store does not lend sessions")
	}
	var mu sync.Mutex
	made := 0
	s.worker(func(w *durable.Worker) {
		w.Place, w.Keep = "a", time.Hour
		w.Agent = func(ctx context.Context, where durable.Where) (durable.Hosted, error) {
			mu.Lock()
			made++
			mu.Unlock()
			h, err := s.world.agent(ctx, where)
			h.Bound = true
			return h, err
		}
	})
	agents := func() int { mu.Lock(); defer mu.Unlock(); return made }
	store := s.client.Backend.Store("person", nil)
	idle := func() {
		s.Helper()
		s.until("the worker lends the session", func() bool {
			err := session.Rename(s.Context(), store, "s", "mine")
			if err != nil && !errors.Is(err, session.ErrBusy) {
				s.Fatal(err)
			}
			return err == nil
		})
	}
	s.wait("s", s.send("s", "", durable.Prompt{Text: "do 1"}))
	s.wait("s", s.send("s", "", durable.Prompt{Text: "do 2"}))
	if n := agents(); n != 1 {
		s.Errorf("the worker made %d agents for a session that it keeps", n)
	}
	idle()
	s.wait("s", s.send("s", "", durable.Prompt{Text: "do 3"})) // in spite of the facts of somebody else
	if n := agents(); n != 2 {
		s.Errorf("the worker made %d agents; it must make a second one for a session that was open elsewhere", n)
	}
	s.until("the worker lends the session", func() bool {
		err := session.Delete(s.Context(), store, "s")
		if err != nil && !errors.Is(err, session.ErrBusy) {
			s.Fatal(err)
		}
		return err == nil
	})
	s.wait("s", s.send("s", "new", durable.Prompt{Text: "do 4"}))
	if facts := s.facts("s"); len(facts) == 0 || facts[0].Seq != 1 {
		s.Errorf("the deleted session has %d facts", len(facts))
	}
}

func settings(s *suite) {
	w := s.worker(nil)
	id := s.send("s", "", durable.SetMode{Mode: permission.DontAsk})
	s.send("s", "", durable.Rename{Title: "a title"})
	s.send("s", "", durable.SetTag{Tag: "a tag"})
	s.until("set", func() bool {
		settled, err := s.client.Settled(s.Context(), "s", id)
		return settled && err == nil
	})
	w.drain()
	<-w.done
	s.worker(nil)
	for range 2 { // the mode is on record after the first run
		end := s.wait("s", s.send("s", "", durable.Prompt{Text: "do refund"}))
		if end.Reason != event.Completed || len(end.Denials) != 1 {
			s.Errorf("the run ended as %s with denials %v", end.Reason, end.Denials)
		}
	}
	list, err := s.client.Backend.Store("", nil).List(s.Context())
	if err != nil || len(list) != 1 || list[0].Title != "a title" || list[0].Tag != "a tag" {
		s.Errorf("list %+v, %v", list, err)
	}
}

// full fills inboxes that no worker empties.
func full(s *suite) {
	post := func(session, id string, size int) error {
		return s.client.Backend.Post(s.Context(), session, durable.Mail{ID: id, Body: []byte(`"` + strings.Repeat("x", size) + `"`)})
	}
	for i := range 1000 {
		if err := post("many", fmt.Sprint(i), 1); err != nil {
			s.Fatal(err)
		}
	}
	if err := post("many", "one more", 1); !errors.Is(err, durable.ErrFull) {
		s.Errorf("one more command: %v", err)
	}
	if err := post("many", "999", 1); err != nil {
		s.Errorf("a command that was sent again: %v", err)
	}
	if err := s.client.Backend.Settle(s.Context(), "many", "0"); err != nil {
		s.Fatal(err)
	}
	for name, err := range map[string]error{"after one was settled": post("many", "next", 1), "to another session": post("large", "0", 40<<20), "too large": post("large", "1", 30<<20), "small": post("large", "2", 1<<20)} {
		if (err != nil) != (name == "too large") || err != nil && !errors.Is(err, durable.ErrFull) {
			s.Errorf("%s: %v", name, err)
		}
	}
}

// interruptEarly stops prompts that have not begun, and then one that runs.
func interruptEarly(s *suite) {
	s.send("s", "p", durable.Prompt{Text: "do it"})
	s.send("s", "", durable.Interrupt{Prompt: "p"})
	s.worker(nil)
	if end := s.wait("s", "p"); end.Reason != event.Interrupted {
		s.Errorf("the first run ended as %s", end.Reason)
	}
	s.send("s", "q", durable.Prompt{Text: "do it"})
	s.until("a call", func() bool { return s.world.total("lookup") > 0 })
	late := s.send("s", "", durable.Interrupt{Prompt: "p"}) // a worker may have died before it settled the first one
	if end := s.wait("s", "q"); end.Reason != event.Completed {
		s.Errorf("an interrupt of another prompt ended the run as %s", end.Reason)
	}
	s.until("the second interrupt is settled", func() bool {
		settled, err := s.client.Settled(s.Context(), "s", late)
		if settled && err != nil {
			s.Error(err)
		}
		return settled
	})
}
