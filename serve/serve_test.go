package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/sse"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testToken = "0123456789abcdef0123456789abcdef"

// A site is a server of a test.
type site struct {
	t      *testing.T
	server *Server
	http   *httptest.Server
	store  session.Store
	agent  *agent.Agent
}

// newSite serves an agent with a store of its own.
func newSite(t *testing.T, a agent.Agent, change ...func(*Server)) *site {
	t.Helper()
	return newSiteAt(t, "127.0.0.1:0", a, change...)
}

// newSiteAt serves at an address.
func newSiteAt(t *testing.T, address string, a agent.Agent, change ...func(*Server)) *site {
	t.Helper()
	if a.Sessions == nil {
		a.Sessions = session.Dir(filepath.Join(t.TempDir(), "sessions"))
	}
	s := &site{t: t, store: a.Sessions, agent: &a}
	s.server = &Server{Token: testToken, UserRequests: 1e6, Sessions: func(string) session.Store { return a.Sessions }, Agent: func(context.Context, Place) (*agent.Agent, error) { return &a, nil }}
	for _, c := range change {
		c(s.server)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s.http = &httptest.Server{Listener: l, Config: &http.Server{Handler: s.server}}
	s.http.Start()
	t.Cleanup(s.close)
	return s
}

func (s *site) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		s.t.Error(err)
	}
	s.http.CloseClientConnections()
	s.http.Close()
	http.DefaultClient.CloseIdleConnections()
}

// request makes a request with the token.
func (s *site) request(method, path, body string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.http.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// do makes a request that must have the status, and decodes the answer.
func (s *site) do(method, path, body string, status int, into any) {
	s.t.Helper()
	res, err := http.DefaultClient.Do(s.request(method, path, body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		s.t.Fatalf("%s %s: %d %s %v, want %d", method, path, res.StatusCode, b, err, status)
	}
	if into != nil {
		reflect.ValueOf(into).Elem().SetZero()
		if err := json.Unmarshal(b, into); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, b)
		}
	}
}

// fails makes a request that must fail with a code.
func (s *site) fails(method, path, body string, status int, code string) {
	s.t.Helper()
	var f failure
	s.do(method, path, body, status, &f)
	if f.Error == nil || f.Error.Code != code || f.Error.Message == "" {
		s.t.Fatalf("%s %s: %+v, want the code %s", method, path, f.Error, code)
	}
}

// A reader reads a stream of a session.
type reader struct {
	res   *http.Response
	lines *sse.Reader
}

func (s *site) open(id string, after int64) *reader {
	s.t.Helper()
	r := s.request("GET", "/v1/sessions/"+id+"/events", "")
	r.Header.Set("Accept", "text/event-stream")
	if after > 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatInt(after, 10))
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		b, _ := io.ReadAll(res.Body)
		s.t.Fatalf("stream: %d %s", res.StatusCode, b)
	}
	return (&reader{res: res}).init()
}

func (r *reader) init() *reader {
	r.lines = sse.NewReader(r.res.Body, 0)
	return r
}

func (r *reader) close() { r.res.Body.Close() }

// A received is an event of a stream.
type received struct {
	name  string
	event event.Event // of a fact or a signal
	data  string
}

func (r *reader) next() (received, error) {
	e, err := r.lines.Next()
	if err != nil {
		return received{}, err
	}
	got := received{name: string(e.Type), data: string(e.Data)}
	if got.name == "fact" || got.name == "signal" {
		if err := json.Unmarshal(e.Data, &got.event); err != nil {
			return got, fmt.Errorf("%w in %s", err, e.Data)
		}
	}
	if got.name == "fact" && string(e.ID) != strconv.FormatInt(got.event.Seq, 10) {
		return got, fmt.Errorf("the id %s is not that of fact %d", e.ID, got.event.Seq)
	}
	return got, nil
}

// until reads events until one satisfies end, and returns all of them.
func (r *reader) until(t *testing.T, end func(received) bool) []received {
	t.Helper()
	var all []received
	for {
		got, err := r.next()
		if err != nil {
			t.Fatalf("after %d events: %v", len(all), err)
		}
		if all = append(all, got); end(got) {
			return all
		}
	}
}

func isType(typ string) func(received) bool {
	return func(r received) bool { return r.event.Data != nil && event.Type(r.event.Data) == typ }
}

func isNamed(name string) func(received) bool { return func(r received) bool { return r.name == name } }

// journal returns the numbers of the facts that users may see.
func (s *site) journal(id string) []int64 {
	s.t.Helper()
	var all []int64
	for e, err := range s.store.Read(s.t.Context(), id, 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		if isShown(e) {
			all = append(all, e.Seq)
		}
	}
	return all
}

func factsOf(all []received) []int64 {
	var seqs []int64
	for _, r := range all {
		if r.name == "fact" {
			seqs = append(seqs, r.event.Seq)
		}
	}
	return seqs
}

// A prompt over HTTP runs. A stream has every fact of it once, and messages can be sent again.
func TestPromptAndStream(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"), llmtest.Say("two"))})
	var made accepted
	s.do("POST", "/v1/sessions", `{"session":"chat","id":"m1","text":"hello","title":"My chat"}`, 201, &made)
	if made != (accepted{Session: "chat", ID: "m1"}) {
		t.Fatalf("%+v", made)
	}
	r := s.open("chat", 0)
	defer r.close()
	all := r.until(t, isType("run_end"))
	s.do("POST", "/v1/sessions", `{"session":"chat","id":"m1","text":"hello"}`, 201, &made)
	if !made.Known {
		t.Error("the same message begins another run")
	}
	s.fails("POST", "/v1/sessions", `{"session":"chat","text":"x"}`, 409, "exists")
	s.do("POST", "/v1/sessions/chat/messages", `{"id":"m2","text":"more"}`, 202, &made)
	if made.Known {
		t.Error("a new message is known")
	}
	all = append(all, r.until(t, isType("run_end"))...)
	s.do("POST", "/v1/sessions/chat/messages", `{"id":"m2","text":"more"}`, 202, &made)
	if !made.Known {
		t.Error("m2 is not known")
	}
	if got, want := fmt.Sprint(factsOf(all)), fmt.Sprint(s.journal("chat")); got != want {
		t.Errorf("got the facts %s, want %s", got, want)
	}
	var info sessionInfo
	s.do("GET", "/v1/sessions/chat", "", 200, &info)
	if info.Title != "My chat" || info.Prompt != "hello" || !info.Here || info.Viewers != 1 || info.State != session.StateIdle {
		t.Errorf("%+v", info)
	}
	var list sessionList
	s.do("GET", "/v1/sessions?q=CHAT", "", 200, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].Session != "chat" {
		t.Errorf("%+v", list)
	}
	if s.do("GET", "/v1/sessions?q=other", "", 200, &list); len(list.Sessions) != 0 {
		t.Errorf("%+v", list)
	}
	var page eventPage
	s.do("GET", "/v1/sessions/chat/events?limit=2&after=1", "", 200, &page)
	if len(page.Events) != 2 || !page.More {
		t.Errorf("%+v", page)
	}
	s.do("GET", "/v1/sessions/chat/events?types=run_end", "", 200, &page)
	if len(page.Events) != 2 || page.More {
		t.Errorf("%+v", page)
	}
	var total spent
	if s.do("GET", "/v1/sessions/chat/cost", "", 200, &total); total.Runs != 2 || total.Turns != 2 {
		t.Errorf("%+v", total)
	}
	for _, format := range []string{"html", "markdown", "json"} {
		res, err := http.DefaultClient.Do(s.request("GET", "/v1/sessions/chat/export?format="+format, ""))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 200 || !bytes.Contains(b, []byte("hello")) {
			t.Errorf("%s: %d %s", format, res.StatusCode, b)
		}
	}
}

// gated is a model that says a piece for each text that it gets, and ends with "".
type gated struct{ pieces chan string }

func (gated) Name() string { return "gated" }

func (g gated) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		all := ""
		for {
			select {
			case <-ctx.Done():
				yield(llm.Delta{}, ctx.Err())
				return
			case piece := <-g.pieces:
				if piece != "" {
					all += piece
					if !yield(llm.Delta{Text: piece}, nil) {
						return
					}
					continue
				}
			}
			break
		}
		yield(llm.Delta{Done: &llm.Response{Stop: llm.EndTurn, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: all}}}}}, nil)
	}
}

// written returns the text of an answer as a page shows it.
func written(all []received) string {
	out := ""
	for _, r := range all {
		if d, ok := r.event.Data.(event.TextDelta); ok {
			if d.Restart {
				out = ""
			}
			out += d.Text
		}
		if r.name == "state" {
			out = ""
			var st stateOf
			if err := json.Unmarshal([]byte(r.data), &st); err != nil {
				return err.Error()
			}
			for _, e := range st.Signals {
				if d, ok := e.Data.(event.TextDelta); ok {
					out += d.Text
				}
			}
		}
	}
	return out
}

// A viewer that comes in the middle of an answer gets what is under way, and then the rest.
func TestJoinInTheMiddle(t *testing.T) {
	g := gated{make(chan string)}
	s := newSite(t, agent.Agent{Model: g})
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	first := s.open("chat", 0)
	defer first.close()
	g.pieces <- "one "
	g.pieces <- "two "
	seen := first.until(t, func(r received) bool { return strings.Contains(r.data, "two") })
	last := factsOf(seen)[len(factsOf(seen))-1]
	second := s.open("chat", last)
	defer second.close()
	late := second.until(t, isNamed("state"))
	if len(factsOf(late)) != 0 || written(late) != "one two " {
		t.Errorf("the late viewer got %+v", late)
	}
	var st stateOf
	if err := json.Unmarshal([]byte(late[len(late)-1].data), &st); err != nil || !st.Running || !st.Here || st.Seq < last {
		t.Errorf("%+v, %v", st, err)
	}
	go func() { g.pieces <- "three"; g.pieces <- "" }()
	late = append(late, second.until(t, isType("run_end"))...)
	if got := written(late); got != "one two three" {
		t.Errorf("the late viewer has %q", got)
	}
	seen = append(seen, first.until(t, isType("run_end"))...)
	if got := written(seen); got != "one two three" {
		t.Errorf("the first viewer has %q", got)
	}
}

// A run waits for a decision over HTTP. The first one counts, and the second one learns of it.
func TestQuestions(t *testing.T) {
	ran := atomic.Int32{}
	write := tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
		ran.Add(1)
		return tool.Text("written"), nil
	})
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "write", struct{}{})), llmtest.Say("done"), llmtest.Call(llmtest.Use("", "write", struct{}{})), llmtest.Say("done")), Tools: []tool.Tool{write}})
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"write"}`, 201, nil)
	r := s.open("chat", 0)
	defer r.close()
	r.until(t, func(got received) bool { return strings.Contains(got.data, "permission_request") })
	var list questionList
	s.do("GET", "/v1/sessions/chat/pending", "", 200, &list)
	if len(list.Questions) != 1 || list.Questions[0].Tool != "write" || list.Questions[0].Kind != "permission" {
		t.Fatalf("%+v", list)
	}
	call := list.Questions[0].Call
	s.fails("POST", "/v1/sessions/chat/calls/"+call+"/decision", `{"behavior":"ask"}`, 400, "bad_request")
	s.fails("POST", "/v1/sessions/chat/messages", `{"text":"more"}`, 409, "session_busy")
	late := s.open("chat", 0)
	defer late.close()
	if all := late.until(t, isNamed("state")); !strings.Contains(all[len(all)-1].data, `"permission_request"`) {
		t.Errorf("the state has no question: %s", all[len(all)-1].data)
	}
	s.do("POST", "/v1/sessions/chat/calls/"+call+"/decision", `{"behavior":"allow"}`, 200, nil)
	s.fails("POST", "/v1/sessions/chat/calls/"+call+"/decision", `{"behavior":"deny"}`, 409, "answered")
	r.until(t, isType("run_end"))
	if ran.Load() != 1 {
		t.Errorf("the tool ran %d times", ran.Load())
	}
	if s.do("GET", "/v1/sessions/chat/pending", "", 200, &list); len(list.Questions) != 0 {
		t.Errorf("%+v", list)
	}

	s.do("POST", "/v1/sessions/chat/messages", `{"text":"write"}`, 202, nil)
	r.until(t, func(got received) bool { return strings.Contains(got.data, "permission_request") })
	s.do("POST", "/v1/sessions/chat/interrupt", "", 200, nil)
	r.until(t, isType("run_end"))
	s.fails("POST", "/v1/sessions/chat/interrupt", "", 409, "not_running")
}

// A question outlasts the server: after a restart it waits, and its answer continues the run.
func TestQuestionAfterRestart(t *testing.T) {
	store := session.Dir(t.TempDir())
	write := tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) { return tool.Text("written"), nil })
	model := llmtest.Script(llmtest.Call(llmtest.Use("", "write", struct{}{})), llmtest.Say("done"))
	a := agent.Agent{Model: model, Tools: []tool.Tool{write}, Sessions: store}
	old := newSite(t, a)
	old.do("POST", "/v1/sessions", `{"session":"chat","text":"write"}`, 201, nil)
	r := old.open("chat", 0)
	all := r.until(t, func(got received) bool { return strings.Contains(got.data, "permission_request") })
	last := factsOf(all)[len(factsOf(all))-1]
	go old.server.Shutdown(context.Background())
	r.until(t, isNamed("gone"))
	r.close()
	old.close()

	s := newSite(t, a)
	r = s.open("chat", last)
	defer r.close()
	state := r.until(t, isNamed("state"))
	if data := state[len(state)-1].data; !strings.Contains(data, `"permission_request"`) {
		t.Errorf("the state has no question: %s", data)
	}
	all = append(all, state...)
	if n, err := s.server.Resume(t.Context(), ""); err != nil || n != 0 {
		t.Fatal(n, err) // it waits for the answer
	}
	var list questionList
	if s.do("GET", "/v1/sessions/chat/pending", "", 200, &list); len(list.Questions) != 1 {
		t.Fatalf("%+v", list)
	}
	s.do("POST", "/v1/sessions/chat/calls/"+list.Questions[0].Call+"/decision", `{"behavior":"allow"}`, 200, nil)
	all = append(all, r.until(t, isType("run_end"))...)
	if got, want := fmt.Sprint(factsOf(all)), fmt.Sprint(s.journal("chat")); got != want {
		t.Errorf("got the facts %s, want %s", got, want)
	}
}

// A viewer that joins as soon as a session begins sees the question of its first run, however
// fast the run asks.
func TestQuestionAtOnce(t *testing.T) {
	write := tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) { return tool.Text("written"), nil })
	steps := slices.Repeat([]llmtest.Step{llmtest.Call(llmtest.Use("", "write", struct{}{}))}, 100)
	s := newSite(t, agent.Agent{Model: llmtest.Script(steps...), Tools: []tool.Tool{write}})
	for i := range 100 {
		id := fmt.Sprintf("chat%d", i)
		s.do("POST", "/v1/sessions", fmt.Sprintf(`{"session":%q,"text":"write"}`, id), 201, nil)
		r := s.open(id, 0)
		r.until(t, func(got received) bool { return strings.Contains(got.data, "permission_request") })
		r.close()
		s.do("POST", "/v1/sessions/"+id+"/interrupt", "", 200, nil)
	}
}

// A message that is sent many times at once runs once, and all who sent it learn that it is on record.
func TestSameMessageAtOnce(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(slices.Repeat([]llmtest.Step{llmtest.Say("done")}, 21)...)})
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	r := s.open("chat", 0)
	defer r.close()
	r.until(t, isType("run_end"))
	for i := range 20 {
		var (
			wg    sync.WaitGroup
			fresh atomic.Int32
		)
		for range 8 {
			wg.Go(func() {
				status, body, _ := s.answer(s.request("POST", "/v1/sessions/chat/messages", fmt.Sprintf(`{"id":"m%d","text":"x"}`, i)))
				if status != 202 {
					t.Errorf("%d %s", status, body)
				}
				if !strings.Contains(body, `"known"`) {
					fresh.Add(1)
				}
			})
		}
		wg.Wait()
		if fresh.Load() != 1 {
			t.Errorf("%d answers say that the message is new", fresh.Load())
		}
		r.until(t, isType("run_end"))
	}
}

// held is a store whose next Last, once hold is set, tells it and then waits for the end of its ctx.
type held struct {
	session.Store
	hold atomic.Pointer[chan struct{}]
}

func (h *held) Last(ctx context.Context, id string, n int, keep func(string) bool) ([]event.Event, error) {
	if entered := h.hold.Swap(nil); entered != nil {
		close(*entered)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.Store.(session.LastReader).Last(ctx, id, n, keep)
}

// A message is not taken for known because another request, which then fails, is about to begin its
// run: it would be lost.
func TestMessageAfterBrokenRequest(t *testing.T) {
	store := &held{Store: session.Dir(t.TempDir())}
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"), llmtest.Say("two")), Sessions: store})
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	r := s.open("chat", 0)
	defer r.close()
	r.until(t, isType("run_end"))
	l := s.server.live(place{"", "chat"})
	defer l.leave()
	l.hosted.mu.Lock()
	done := l.hosted.done
	l.hosted.mu.Unlock()
	<-done // the run of the first message looks for its last fact until then
	const message = `{"id":"m","text":"more"}`
	entered := make(chan struct{})
	store.hold.Store(&entered)
	ctx, breakOff := context.WithCancel(t.Context())
	var requests sync.WaitGroup
	requests.Go(func() {
		if _, err := http.DefaultClient.Do(s.request("POST", "/v1/sessions/chat/messages", message).WithContext(ctx)); err == nil {
			t.Error("the broken request got an answer")
		}
	})
	<-entered
	requests.Go(func() {
		if status, body, _ := s.answer(s.request("POST", "/v1/sessions/chat/messages", message)); status != 202 || strings.Contains(body, "known") {
			t.Errorf("%d %s", status, body)
		}
	})
	time.Sleep(50 * time.Millisecond) // the second request comes while the first one is open
	breakOff()
	requests.Wait()
	r.until(t, isType("run_end"))
}

// A run has not begun with a fact from before it, which the reader sees late. Otherwise a message that
// cannot run would be accepted.
func TestLateFact(t *testing.T) {
	seen := make(chan struct{})
	l := &live{server: &Server{}, begun: []beginning{{5, seen}}}
	l.show(event.Event{Seq: 5, Data: event.SessionNamed{Title: "T"}})
	select {
	case <-seen:
		t.Error("a fact from before the run began it")
	default:
	}
	l.show(event.Event{Seq: 6, Data: event.Resumed{}})
	<-seen
}

// No id of a message means something else to the server.
func TestMessageNamedResume(t *testing.T) {
	store, g := session.Dir(t.TempDir()), gated{make(chan string)}
	a := agent.Agent{Model: g, Sessions: store}
	old := newSite(t, a)
	old.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	old.close()
	s := newSite(t, a)
	s.do("POST", "/v1/sessions/chat/resume", "", 202, nil)
	s.fails("POST", "/v1/sessions/chat/messages", `{"id":"resume","text":"more"}`, 409, "session_busy")
}

// A request for a new session adds nothing to one that began with another message. Notes about the folder,
// which come before the first message, change nothing in that.
func TestSessionExists(t *testing.T) {
	notes := func(context.Context, agent.Place) []agent.Note {
		return []agent.Note{{ID: "git", Text: "Branch: main"}}
	}
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one")), Context: notes})
	s.do("POST", "/v1/sessions", `{"session":"chat","id":"m1","text":"hello"}`, 201, nil)
	r := s.open("chat", 0)
	r.until(t, isType("run_end"))
	r.close()
	s.fails("POST", "/v1/sessions", `{"session":"chat","id":"m2","text":"other","title":"T"}`, 409, "exists")
	var out accepted
	if s.do("POST", "/v1/sessions", `{"session":"chat","id":"m1","text":"hello"}`, 201, &out); !out.Known {
		t.Errorf("%+v", out)
	}
}
