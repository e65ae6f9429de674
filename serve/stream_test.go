package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
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
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// busy is an agent whose runs have many turns with large results.
func busy(turns int) agent.Agent {
	asked := 0
	var mu sync.Mutex
	return agent.Agent{
		Model: &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step {
			mu.Lock()
			defer mu.Unlock()
			if asked++; asked%turns == 0 {
				return llmtest.Say(strings.Repeat("done ", 100))
			}
			return llmtest.Call(llmtest.Use("", "large", map[string]int{"n": asked}))
		}},
		Tools: []tool.Tool{tool.New(tool.Spec{Name: "large", Description: "Returns much.", ReadOnly: true}, func(_ context.Context, _ tool.Call, in struct {
			N int `json:"n"`
		}) (*tool.Result, error) {
			return tool.Text(strings.Repeat(fmt.Sprintf("row %d ", in.N), 1000)), nil
		})},
		Permissions: permission.Policy{Mode: permission.Bypass},
		Loop:        event.Loop{Off: true},
	}
}

// Viewers that come and go at random, some of them slow, get each fact that the journal has, once,
// in order.
func TestRandomDisconnects(t *testing.T) {
	const prompts, viewers = 2, 50
	s := newSite(t, busy(20))
	s.do("POST", "/v1/sessions", `{"session":"chat","id":"0","text":"go"}`, 201, nil)
	var wg sync.WaitGroup
	got := make([][]int64, viewers)
	failed := make([]error, viewers)
	for i := range viewers {
		random := rand.New(rand.NewPCG(uint64(i), 1))
		wg.Go(func() { got[i], failed[i] = s.follow(random, prompts, i%5 == 0) })
	}
	for i := 1; i < prompts; i++ {
		for {
			status, body, _ := s.answer(s.request("POST", "/v1/sessions/chat/messages", fmt.Sprintf(`{"id":"%d","text":"go"}`, i)))
			if status == 202 && !strings.Contains(body, "known") {
				break
			}
			if status != 409 {
				t.Fatal(status, body)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	wg.Wait()
	want := s.journal("chat")
	for i := range viewers {
		if failed[i] != nil {
			t.Errorf("viewer %d: %v", i, failed[i])
		} else if !slices.Equal(got[i], want) {
			t.Errorf("viewer %d got %d facts, the journal has %d", i, len(got[i]), len(want))
		}
	}
}

// follow reads the stream of the session chat until the given number of runs has ended, and leaves
// and comes back at random.
func (s *site) follow(random *rand.Rand, ends int, slow bool) (seqs []int64, err error) {
	last := int64(0)
	for {
		r := s.request("GET", "/v1/sessions/chat/events", "")
		r.Header.Set("Accept", "text/event-stream")
		if last > 0 {
			r.Header.Set("Last-Event-ID", fmt.Sprint(last))
		}
		ctx, cancel := context.WithCancel(s.t.Context())
		res, err := s.http.Client().Do(r.WithContext(ctx))
		if err != nil {
			cancel()
			return seqs, err
		}
		if res.StatusCode != 200 {
			res.Body.Close()
			cancel()
			if res.StatusCode == 429 {
				time.Sleep(time.Millisecond)
				continue
			}
			return seqs, fmt.Errorf("status %d", res.StatusCode)
		}
		stream := (&reader{res: res}).init()
		for n := random.IntN(200); n > 0 || slow; n-- {
			e, err := stream.next()
			if err != nil {
				cancel()
				return seqs, err
			}
			if e.name != "fact" {
				continue
			}
			seqs, last = append(seqs, e.event.Seq), e.event.Seq
			if slow && random.IntN(20) == 0 {
				time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
			}
			if _, over := e.event.Data.(event.RunEnd); over {
				if ends--; ends == 0 {
					cancel()
					res.Body.Close()
					return seqs, nil
				}
			}
		}
		cancel()
		res.Body.Close()
	}
}

// A viewer that reads nothing loses signals, gets a new state, and has all facts.
func TestSlowViewer(t *testing.T) {
	store := session.Memory()
	a := busy(100)
	a.Sessions = store
	s := &Server{Token: testToken, Sessions: func(string) session.Store { return store }, Agent: func(context.Context, Place) (*agent.Agent, error) { return &a, nil }}
	defer s.Shutdown(context.Background())
	l := s.live(place{"", "chat"})
	defer l.leave()
	v := newViewer()
	if _, err := l.open(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if err := l.read(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.join(v)
	defer l.quit(v)
	if _, err := l.prompt(t.Context(), "", agent.Input{Text: "go", ID: "m"}); err != nil {
		t.Fatal(err)
	}
	for _, run := l.running(); run != ""; _, run = l.running() {
		v.mu.Lock()
		waiting := v.bytes
		v.mu.Unlock()
		if waiting > maxQueue {
			t.Fatalf("%d bytes wait", waiting)
		}
		time.Sleep(time.Millisecond)
	}
	end, err := l.lastFact(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for last := int64(0); last < end; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		last = l.last
		l.mu.Unlock()
	}
	if _, lags, _ := v.take(); !lags {
		t.Fatal("the viewer was not too slow")
	}
	through, state := l.join(v)
	if frames, lags, _ := v.take(); lags || len(frames) != 0 || through == 0 || !strings.Contains(string(state.data), "event: state\n") {
		t.Errorf("%d frames, lags %v, through %d, %s", len(frames), lags, through, state.data)
	}
	w := httptest.NewRecorder()
	if err := l.catchUp(t.Context(), newStream(w, 0), through); err != nil {
		t.Fatal(err)
	}
	want := 0
	for e := range store.Read(t.Context(), "chat", 0) {
		if !e.IsBookkeeping() {
			want++
		}
	}
	if got := strings.Count(w.Body.String(), "event: fact\n"); got != want {
		t.Errorf("%d facts, want %d", got, want)
	}
}

// Pieces of an answer come at most every 33 ms, joined, and before the facts that follow them.
func TestPiecesAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{}
		l := &live{server: s, viewers: map[*viewer]bool{}}
		v := newViewer()
		l.viewers[v] = true
		for range 100 {
			l.show(event.Event{Data: event.TextDelta{Key: "a", Text: "x"}})
			time.Sleep(time.Millisecond)
		}
		l.show(event.Event{Data: event.ThinkingDelta{Key: "a", Text: "t"}})
		l.show(event.Event{Seq: 1, Data: event.AssistantMessage{Key: "a"}})
		frames, _, _ := v.take()
		var kinds []string
		total := 0
		for _, f := range frames {
			name, _, _ := strings.Cut(strings.TrimPrefix(string(f.data), "id: 1\n"), "\n")
			kinds = append(kinds, name)
			total += strings.Count(string(f.data), "x") - strings.Count(string(f.data), "text")
		}
		if len(frames) > 7 || total != 100 || kinds[len(kinds)-1] != "event: fact" {
			t.Errorf("%d frames with %d pieces: %v", len(frames), total, kinds)
		}
		time.Sleep(time.Second)
		if l.timer != nil {
			t.Error("a timer is left")
		}
	})
}

// A quiet stream has pings that name the last fact.
func TestPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		w := httptest.NewRecorder()
		over, err := newStream(w, 7).pump(ctx, newViewer())
		if !over || !errors.Is(err, context.DeadlineExceeded) || w.Body.String() != strings.Repeat("event: ping\ndata: {\"seq\":7}\n\n", 2) {
			t.Errorf("%v %v %q", over, err, w.Body)
		}
	})
}

// A time limit for reading requests does not end streams.
func TestReadTimeout(t *testing.T) {
	g := gated{make(chan string)}
	s := newSite(t, agent.Agent{Model: g})
	h := httptest.NewUnstartedServer(s.server)
	h.Config.ReadTimeout = 50 * time.Millisecond
	h.Start()
	defer h.Close()
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	r := s.request("GET", "/v1/sessions/chat/events", "")
	r.Header.Set("Accept", "text/event-stream")
	r.URL.Host = strings.TrimPrefix(h.URL, "http://")
	r.Host = r.URL.Host
	res, err := s.http.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	stream := (&reader{res: res}).init()
	defer stream.close()
	stream.until(t, isNamed("state"))
	time.Sleep(3 * h.Config.ReadTimeout)
	g.pieces <- "late"
	g.pieces <- ""
	stream.until(t, isType("run_end"))
}

// A session that another program runs can be watched. It cannot be controlled here.
func TestSessionOfAnotherProgram(t *testing.T) {
	dir := t.TempDir()
	g := gated{make(chan string)}
	other := (&agent.Agent{Model: g, Sessions: session.Dir(dir)}).Session("chat")
	defer other.Close()
	ended := make(chan error, 1)
	go func() { _, err := other.Prompt(context.Background(), "hello"); ended <- err }()
	g.pieces <- "one"
	s := newSite(t, agent.Agent{Model: llmtest.Script(), Sessions: session.Dir(dir)})
	r := s.open("chat", 0)
	defer r.close()
	all := r.until(t, isNamed("state"))
	var st stateOf
	if err := json.Unmarshal([]byte(all[len(all)-1].data), &st); err != nil || st.Here || !st.Running {
		t.Errorf("%+v %v", st, err)
	}
	s.fails("POST", "/v1/sessions/chat/messages", `{"text":"x"}`, 409, "session_busy")
	s.fails("POST", "/v1/sessions/chat/messages", `{"text":"x","delivery":"steer"}`, 409, "session_busy")
	s.fails("POST", "/v1/sessions/chat/interrupt", ``, 409, "session_busy")
	s.fails("DELETE", "/v1/sessions/chat", ``, 409, "session_busy")
	g.pieces <- ""
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	all = append(all, r.until(t, isType("run_end"))...)
	if got, want := fmt.Sprint(factsOf(all)), fmt.Sprint(s.journal("chat")); got != want {
		t.Errorf("got the facts %s, want %s", got, want)
	}
}

// A stream ends when its session is deleted. The list of sessions tells.
func TestDeleted(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"))})
	res, err := s.http.Client().Do(s.request("GET", "/v1/events", ""))
	if err != nil {
		t.Fatal(err)
	}
	list := (&reader{res: res}).init()
	defer list.close()
	list.until(t, isNamed("state"))
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	r := s.open("chat", 0)
	defer r.close()
	r.until(t, isType("run_end"))
	s.do("DELETE", "/v1/sessions/chat", "", 200, nil)
	if all := r.until(t, isNamed("gone")); !strings.Contains(all[len(all)-1].data, "deleted") {
		t.Errorf("%+v", all)
	}
	if _, err := r.next(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream goes on: %v", err)
	}
	var states []string
	list.until(t, func(r received) bool {
		var c listChange
		_ = json.Unmarshal([]byte(r.data), &c)
		states = append(states, c.State)
		return c.State == "deleted"
	})
	if got := strings.Join(states, " "); !strings.Contains(got, "running") || !strings.Contains(got, "idle") {
		t.Errorf("the list was told: %s", got)
	}
}

// Sessions that do nothing are closed after a while, or when another one needs the place.
func TestIdleSessionsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := session.Memory()
		a := &agent.Agent{Model: &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step { return llmtest.Say("one") }}}
		var (
			mu     sync.Mutex
			closed []string
		)
		s := &Server{Token: testToken, MaxSessions: 1, Sessions: func(string) session.Store { return store }, Agent: func(context.Context, Place) (*agent.Agent, error) { return a, nil },
			Closed: func(at Place) {
				mu.Lock()
				defer mu.Unlock()
				closed = append(closed, at.ID)
			}}
		defer s.Shutdown(context.Background())
		begin := func(id string) {
			l := s.live(place{"", id})
			defer l.leave()
			if _, err := l.prompt(t.Context(), "", agent.Input{ID: "m", Text: "go"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		check := func(want string, open int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			s.mu.Lock()
			defer s.mu.Unlock()
			if fmt.Sprint(closed) != want || s.opened != open || len(s.lives) != open {
				t.Errorf("closed: %v, open: %d, %d lives", closed, s.opened, len(s.lives))
			}
		}
		begin("a")
		begin("b")
		check("[a]", 1)
		time.Sleep(linger + time.Second)
		check("[a b]", 0)
	})
}

// All open sessions run: a further one is refused.
func TestMaxSessions(t *testing.T) {
	g := gated{make(chan string)}
	s := newSite(t, agent.Agent{Model: g}, func(s *Server) { s.MaxSessions = 2 })
	s.do("POST", "/v1/sessions", `{"session":"a","text":"go"}`, 201, nil)
	s.do("POST", "/v1/sessions", `{"session":"b","text":"go"}`, 201, nil)
	s.fails("POST", "/v1/sessions", `{"session":"c","text":"go"}`, 429, "too_many_sessions")
}

// What is under way in a sub-agent comes as its events.
func TestInflightOfAgents(t *testing.T) {
	inner := func(d event.Data) event.Event {
		return event.Event{Session: "s", Data: event.AgentEvent{Call: "c", ID: "i", Agent: "helper", Event: &event.Event{Session: "sub", Data: d}}}
	}
	var f inflight
	for _, e := range []event.Event{
		{Seq: 1, Data: event.UserMessage{ID: "m", Delivery: "prompt"}},
		{Data: event.TextDelta{Key: "k", Text: "out"}},
		inner(event.TextDelta{Key: "k", Text: "in"}),
		inner(event.PermissionRequest{Call: tool.Call{ID: "q"}}),
		{Seq: 2, Data: event.UserMessage{ID: "later", Delivery: "follow_up"}},
	} {
		f.apply(e)
	}
	b, err := json.Marshal(f.signals("s"))
	if err != nil || strings.Count(string(b), "text_delta") != 2 || strings.Count(string(b), "agent_event") != 2 || f.asking() != 1 || !f.running || fmt.Sprint(f.queue) != "[later]" {
		t.Errorf("%s %v, %d asking, queue %v", b, err, f.asking(), f.queue)
	}
	f.apply(inner(event.ToolStart{Call: "q"}))
	f.apply(inner(event.AssistantMessage{Key: "k", Response: llm.Response{}}))
	f.apply(event.Event{Seq: 3, Data: event.AssistantMessage{Key: "k"}})
	f.apply(event.Event{Seq: 4, Data: event.AgentEnd{Session: "sub"}})
	f.apply(event.Event{Seq: 5, Data: event.RunEnd{}})
	if left := f.signals("s"); len(left) != 0 || f.asking() != 0 || f.running || len(f.agents) != 0 || len(f.queue) != 0 {
		t.Errorf("left: %+v", f)
	}
}
