package serve

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// newWorkersSite serves sessions that a worker elsewhere runs.
func newWorkersSite(t *testing.T, a *agent.Agent) *site {
	t.Helper()
	db := &durabletest.Memory{}
	queue := &durabletest.Queue{}
	ctx, stop := context.WithCancel(context.Background())
	w := &durable.Worker{Backend: db.Connect(), Name: "w", Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
		return durable.Hosted{Agent: a}, nil
	}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		queue.Run(ctx, context.Background(), w)
	}()
	t.Cleanup(func() { stop(); <-ended })
	backend := db.Connect()
	store := backend.Store("", nil)
	return newSite(t, agent.Agent{Sessions: store}, func(s *Server) {
		s.Workers = &durable.Client{Backend: backend, Engine: queue}
		s.Sessions = func(string) session.Store { return store }
		s.Agent = func(context.Context, Place) (*agent.Agent, error) {
			t.Error("the server opens a session itself")
			return nil, errWorkers
		}
	})
}

// TestWorkers says things to sessions that a worker runs: prompts, steers, answers, interrupts and changes.
func TestWorkers(t *testing.T) {
	steered, stuck := make(chan struct{}), make(chan struct{}, 10)
	wait := tool.Func(tool.Spec{Name: "wait", ReadOnly: true}, func(ctx context.Context, _ struct{}) (string, error) {
		stuck <- struct{}{}
		select {
		case <-steered:
			return "waited", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	write := tool.Func(tool.Spec{Name: "write"}, func(context.Context, struct{}) (string, error) { return "written", nil })
	call := func(name string) llmtest.Step { return llmtest.Call(llmtest.Use("", name, struct{}{})) }
	s := newWorkersSite(t, &agent.Agent{Program: "p", Permissions: permission.Policy{Allow: []permission.Rule{"wait"}}, Tools: []tool.Tool{wait, write},
		Model: &llmtest.Model{Rule: llmtest.Cast(map[string]llmtest.Rule{
			"ask": llmtest.Steps(call("write"), llmtest.Say("It was allowed.")),
			"steer": llmtest.Steps(call("wait"), llmtest.Reply(func(r *llm.Request) llm.Response {
				text := r.Messages[len(r.Messages)-1].Text()
				return llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "I was told: " + text}}}, Stop: llm.EndTurn}
			})),
			"stop":  llmtest.Steps(call("wait")),
			"hello": llmtest.Steps(llmtest.Say("Hi."), llmtest.Say("Again.")),
		})}})
	endOf := func(id string) event.RunEnd {
		t.Helper()
		r := s.open(id, 0)
		defer r.close()
		all := r.until(t, isType("run_end"))
		return all[len(all)-1].event.Data.(event.RunEnd)
	}

	var made accepted
	s.do("POST", "/v1/sessions", `{"session":"a","id":"m1","text":"hello","title":"My chat"}`, 201, &made)
	if made != (accepted{Session: "a", ID: "m1"}) {
		t.Fatalf("%+v", made)
	}
	if end := endOf("a"); end.Text != "Hi." {
		t.Errorf("%+v", end)
	}
	s.do("POST", "/v1/sessions", `{"session":"a","id":"m1","text":"hello"}`, 201, &made)
	if !made.Known {
		t.Error("the same message begins another run")
	}
	s.do("PATCH", "/v1/sessions/a", `{"title":"Another","mode":"plan"}`, 200, nil)
	s.do("PATCH", "/v1/sessions/a", `{"budget_usd":0}`, 200, nil)
	s.fails("PATCH", "/v1/sessions/a", `{"budget_usd":3}`, 409, "rejected") // the model has no price
	var info sessionInfo
	s.do("GET", "/v1/sessions/a", "", 200, &info)
	if info.Title != "Another" || !info.Here {
		t.Errorf("%+v", info)
	}
	s.fails("POST", "/v1/sessions/a/messages", `{"text":"x","delivery":"steer"}`, 409, "not_running")
	s.fails("POST", "/v1/sessions/a/interrupt", "", 409, "not_running")
	s.fails("POST", "/v1/sessions/a/rewind", `{"fact":2,"what":"files"}`, 409, "no_checkpoints")
	s.fails("POST", "/v1/sessions/a/rewind", `{"fact":2000}`, 404, "not_found")
	s.fails("POST", "/v1/sessions", `{"dir":"/etc","text":"hello"}`, 403, "other_folder")
	s.do("POST", "/openai/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`, 409, nil)

	s.do("POST", "/v1/sessions", `{"session":"b","text":"ask"}`, 201, nil)
	var list questionList
	for len(list.Questions) == 0 {
		s.do("GET", "/v1/sessions/b/pending", "", 200, &list)
		time.Sleep(time.Millisecond)
	}
	s.do("PATCH", "/v1/sessions/b", `{"tag":"mine"}`, 200, &info) // a worker has it open
	if info.Tag != "mine" {
		t.Errorf("%+v", info)
	}
	path := "/v1/sessions/b/calls/" + list.Questions[0].Call + "/decision"
	s.fails("POST", "/v1/sessions/b/rewind", `{"fact":2}`, 409, "session_busy")
	s.fails("POST", path, `{"behavior":"allow","keep":["wait"]}`, 409, "rejected")
	s.fails("POST", path, `{"behavior":"deny","keep":["write"]}`, 400, "bad_request")
	s.do("POST", path, `{"behavior":"allow","keep":["write"]}`, 200, nil)
	if end := endOf("b"); end.Text != "It was allowed." {
		t.Errorf("%+v", end)
	}
	s.do("POST", "/v1/sessions/b/messages", `{"text":"ask"}`, 202, nil) // the rule allows it now
	last := func() (fact int64) {
		t.Helper()
		for e, err := range s.store.Read(t.Context(), "b", 0) {
			if err != nil {
				t.Fatal(err)
			}
			fact = e.Seq
		}
		return fact
	}
	for {
		if s.do("GET", "/v1/sessions/b", "", 200, &info); info.State == session.StateIdle {
			break
		}
		if info.State == session.StateWaiting {
			t.Fatal("the rule was not kept")
		}
		time.Sleep(time.Millisecond)
	}
	before := last()
	var back rewound
	s.do("POST", "/v1/sessions/b/rewind", `{"fact":2,"dry_run":true}`, 200, &back)
	if last() != before {
		t.Error("a dry run rewinds")
	}
	s.do("POST", "/v1/sessions/b/rewind", `{"fact":2}`, 200, &back)
	if back.Undo != before || last() <= before {
		t.Errorf("%+v, %d facts of %d", back, last(), before)
	}
	s.fails("POST", path, `{"behavior":"deny"}`, 409, "no_question")

	s.do("POST", "/v1/sessions", `{"session":"c","text":"steer"}`, 201, nil)
	<-stuck
	s.fails("POST", "/v1/sessions/c/messages", `{"text":"another prompt"}`, 409, "session_busy")
	s.do("POST", "/v1/sessions/c/messages", `{"text":"go left","delivery":"steer"}`, 202, nil)
	close(steered)
	if end := endOf("c"); end.Text != "I was told: go left" {
		t.Errorf("%+v", end)
	}

	steered = make(chan struct{})
	s.do("POST", "/v1/sessions", `{"session":"d","text":"stop"}`, 201, nil)
	<-stuck
	s.do("POST", "/v1/sessions/d/interrupt", "", 200, nil)
	if end := endOf("d"); end.Reason != event.Interrupted {
		t.Errorf("%+v", end)
	}
}

// TestFullInbox: a session without a worker takes no more than its inbox holds.
func TestFullInbox(t *testing.T) {
	backend := (&durabletest.Memory{}).Connect()
	store := backend.Store("", nil)
	s := newSite(t, agent.Agent{Sessions: store}, func(s *Server) {
		s.Workers, s.Sessions = &durable.Client{Backend: backend, Engine: &durabletest.Queue{}}, func(string) session.Store { return store }
	})
	for i := range 1000 {
		if err := backend.Post(t.Context(), "s", durable.Mail{ID: strconv.Itoa(i)}); err != nil {
			t.Fatal(err)
		}
	}
	s.fails("POST", "/v1/sessions", `{"session":"s","text":"hi"}`, http.StatusTooManyRequests, "too_many_commands")
}

// hiding is a store that shows its user no session.
type hiding struct{ session.Store }

func (hiding) List(context.Context) ([]session.Info, error) { return nil, nil }

func (hiding) Read(context.Context, string, int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) { yield(event.Event{}, session.ErrNotFound) }
}

// TestSessionOfAnother: a user who does not see a session says nothing to it by beginning one of its name.
func TestSessionOfAnother(t *testing.T) {
	backend := (&durabletest.Memory{}).Connect()
	root := backend.Store("", nil)
	s := newSite(t, agent.Agent{Sessions: root}, func(s *Server) {
		s.Workers, s.Sessions = &durable.Client{Backend: backend, Engine: &durabletest.Queue{}}, func(string) session.Store { return hiding{root} }
	})
	log, err := root.Open(t.Context(), "ada", session.Header{})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Append(t.Context(), 0, true, event.Event{Session: "ada", Seq: 1, Time: time.Now(), Data: event.UserMessage{ID: "p", Message: llm.UserText("mine")}}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	s.fails("POST", "/v1/sessions", `{"session":"ada","text":"send me all"}`, http.StatusConflict, "exists")
	if inbox, err := backend.Inbox(t.Context(), "ada"); err != nil || len(inbox) != 0 {
		t.Errorf("the session has got %v, %v", inbox, err)
	}
}

// TestBegunTwice: of two users who begin sessions of one name before a worker makes them, one is refused.
func TestBegunTwice(t *testing.T) {
	backend := (&durabletest.Memory{}).Connect()
	server := func() *Server {
		root := backend.Store("", nil)
		return &Server{Workers: &durable.Client{Backend: backend, Engine: &durabletest.Queue{}}, Sessions: func(string) session.Store { return root },
			User: func(*http.Request) (string, error) { return "", nil }}
	}
	post := func(s *Server, user, id string) error {
		_, err := s.live(place{user, "new"}).post(t.Context(), id, durable.Prompt{Text: "of " + user})
		return err
	}
	s := server()
	users := []string{"ada", "eve"}
	errs := make([]error, len(users))
	var all sync.WaitGroup
	for i, user := range users {
		all.Go(func() { errs[i] = post(s, user, "first of "+user) })
	}
	all.Wait()
	won := slices.Index(errs, nil)
	if won < 0 || !errors.Is(errs[1-won], session.ErrExists) {
		t.Fatalf("two users began a session: %v", errs)
	}
	winner, loser := users[won], users[1-won]
	for _, restarted := range []bool{false, true} {
		if restarted {
			s = server()
		}
		if err := post(s, loser, "another of "+loser); !errors.Is(err, session.ErrExists) {
			t.Errorf("restarted %v: the second user: %v", restarted, err)
		}
		if err := post(s, winner, "first of "+winner); err != nil {
			t.Errorf("restarted %v: the first user, again: %v", restarted, err)
		}
		if err := post(s, winner, "second of "+winner); err != nil {
			t.Errorf("restarted %v: the first user, more: %v", restarted, err)
		}
	}
	inbox, err := backend.Inbox(t.Context(), "new")
	if err != nil || len(inbox) != 2 {
		t.Errorf("the inbox has %v, %v", inbox, err)
	}
}

// TestTakenLooksLittle: a request that waits for a worker does not read the inbox all the time, and says that it waits.
func TestTakenLooksLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		if err := new(live).taken(t.Context(), func(context.Context) (bool, error) { looks++; return false, nil }); err != errWaiting || looks > 20 {
			t.Errorf("%d looks, %v", looks, err)
		}
	})
}
