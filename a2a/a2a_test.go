package a2aagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"go.uber.org/goleak"

	"github.com/openagent-go/agent"
	a2aagent "github.com/openagent-go/agent/a2a"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/serve"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testToken = "0123456789abcdef0123456789abcdef"

// A site is an agent of a test that clients of the protocol reach.
type site struct {
	t      *testing.T
	server *serve.Server
	http   *httptest.Server
	store  session.Store
	tries  *http.Transport
}

// newSite serves an agent. The store is a folder, unless the agent has one.
func newSite(t *testing.T, a agent.Agent, change ...func(*a2aagent.Handler)) *site {
	t.Helper()
	if a.Sessions == nil {
		a.Sessions = session.Dir(filepath.Join(t.TempDir(), "sessions"))
	}
	s := &site{t: t, store: a.Sessions, tries: &http.Transport{}}
	s.server = &serve.Server{Token: testToken, UserRequests: 1e6, Sessions: func(string) session.Store { return a.Sessions }, Agent: func(context.Context, serve.Place) (*agent.Agent, error) { return &a, nil }}
	h := &a2aagent.Handler{Server: s.server, Card: a2a.AgentCard{Name: "Tester", Description: "It is tested."}}
	for _, c := range change {
		c(h)
	}
	s.http = httptest.NewServer(h)
	t.Cleanup(s.close)
	return s
}

func (s *site) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		s.t.Error(err)
	}
	s.tries.CloseIdleConnections()
	s.http.CloseClientConnections()
	s.http.Close()
}

// login sends requests with a token.
type login struct {
	token string
	next  http.RoundTripper
}

func (l login) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if l.token != "" {
		r.Header.Set("Authorization", "Bearer "+l.token)
	}
	return l.next.RoundTrip(r)
}

func (s *site) web(token string) *http.Client { return &http.Client{Transport: login{token, s.tries}} }

// client returns a client that uses a transport, as the card of the agent describes it.
func (s *site) client(transport a2a.TransportProtocol, token string) *a2aclient.Client {
	s.t.Helper()
	card, err := agentcard.NewResolver(s.web(token)).Resolve(s.t.Context(), s.http.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := a2aclient.NewFromCard(s.t.Context(), card, a2aclient.WithDefaultsDisabled(), a2aclient.WithJSONRPCTransport(s.web(token)), a2aclient.WithRESTTransport(s.web(token)),
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{transport}}))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Destroy() })
	return c
}

// each runs a test with each transport.
func each(t *testing.T, do func(t *testing.T, transport a2a.TransportProtocol)) {
	for _, transport := range []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON} {
		t.Run(strings.ReplaceAll(string(transport), "+", "_"), func(t *testing.T) { do(t, transport) })
	}
}

// message returns a request with a message. Of task, if it is not nil, it is a further message.
func message(id, text string, task *a2a.Task) *a2a.SendMessageRequest {
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
	m.ID = id
	if task != nil {
		m.TaskID, m.ContextID = task.ID, task.ContextID
	}
	return &a2a.SendMessageRequest{Message: m}
}

// send sends a message and returns its task.
func send(t *testing.T, c *a2aclient.Client, in *a2a.SendMessageRequest) *a2a.Task {
	t.Helper()
	res, err := c.SendMessage(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return res.(*a2a.Task)
}

// answer returns the text of the answer of a task.
func answer(task *a2a.Task) string {
	if len(task.Artifacts) == 0 {
		return ""
	}
	return task.Artifacts[0].Parts[0].Text()
}

// A followed is what a client has read from a stream.
type followed struct {
	task   *a2a.Task // with the answer, as updates have changed it
	pieces int       // of artifacts
}

// follow reads a stream. after is called with each event; false leaves the stream.
func follow(t *testing.T, events iter.Seq2[a2a.Event, error], after func(a2a.Event) bool) followed {
	t.Helper()
	var f followed
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *a2a.Task:
			f.task = e
		case *a2a.TaskStatusUpdateEvent:
			f.task.Status = e.Status
		case *a2a.TaskArtifactUpdateEvent:
			f.pieces++
			if !e.Append {
				f.task.Artifacts = []*a2a.Artifact{e.Artifact}
				break
			}
			f.task.Artifacts[0].Parts[0].Content = a2a.Text(answer(f.task) + e.Artifact.Parts[0].Text())
		}
		if after != nil && !after(e) {
			break
		}
	}
	if f.task == nil {
		t.Fatal("the stream had no task")
	}
	return f
}

// wants fails the test unless a task has a state and an answer.
func wants(t *testing.T, task *a2a.Task, state a2a.TaskState, text string) {
	t.Helper()
	if task.Status.State != state || answer(task) != text {
		b, _ := json.Marshal(task)
		t.Fatalf("the task is %s, want %s and the answer %q", b, state, text)
	}
}

// said returns the text that a status says.
func said(task *a2a.Task) string {
	if task.Status.Message == nil {
		return ""
	}
	return task.Status.Message.Parts[0].Text()
}

// held is a model that writes a piece of an answer, and the rest once it is let go.
type held struct {
	goOn  chan struct{}
	began func() // called when a request begins; nil: nothing is
}

func (held) Name() string { return "held" }

func (h held) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	if h.began != nil {
		h.began()
	}
	return func(yield func(llm.Delta, error) bool) {
		if !yield(llm.Delta{Block: llm.Text{}, Text: "one "}, nil) {
			return
		}
		select {
		case <-h.goOn:
			if yield(llm.Delta{Text: "two"}, nil) {
				yield(llm.Delta{Done: &llm.Response{Model: "held", Stop: llm.EndTurn, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "one two"}}}}}, nil)
			}
		case <-ctx.Done():
			yield(llm.Delta{}, ctx.Err())
		}
	}
}

// writeTool is a tool that needs permission.
func writeTool(runs *int) tool.Tool {
	return tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
		*runs++
		return tool.Text("written"), nil
	})
}

// A message makes a task with an answer, the next one of its context knows the first, and both can be
// read again.
func TestMessages(t *testing.T) {
	each(t, func(t *testing.T, transport a2a.TransportProtocol) {
		m := llmtest.Script(llmtest.Say("Hello!"), llmtest.Say("You said hi."))
		c := newSite(t, agent.Agent{Model: m}).client(transport, testToken)
		first := send(t, c, message("m1", "hi", nil))
		wants(t, first, a2a.TaskStateCompleted, "Hello!")
		if first.ContextID == "" || len(first.History) != 1 || first.History[0].ID != "m1" || first.History[0].Parts[0].Text() != "hi" {
			t.Errorf("the task is %+v", first)
		}
		in := message("m2", "what did I say?", nil)
		in.Message.ContextID = first.ContextID
		second := send(t, c, in)
		wants(t, second, a2a.TaskStateCompleted, "You said hi.")
		if second.ID == first.ID || second.ContextID != first.ContextID {
			t.Errorf("the tasks are %s in %s and %s in %s", first.ID, first.ContextID, second.ID, second.ContextID)
		}
		if text := m.Requests()[1].Transcript(); !strings.Contains(text, "Hello!") {
			t.Errorf("the model does not know the context: %s", text)
		}
		for _, want := range []*a2a.Task{first, second} {
			got, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: want.ID})
			if err != nil {
				t.Fatal(err)
			}
			wants(t, got, a2a.TaskStateCompleted, answer(want))
		}
	})
}

// A message that is sent again has the task that it had, and nothing runs twice.
func TestAgain(t *testing.T) {
	m := llmtest.Script(llmtest.Say("once"), llmtest.Say("next"))
	c := newSite(t, agent.Agent{Model: m}).client(a2a.TransportProtocolJSONRPC, testToken)
	first := send(t, c, message("m1", "hi", nil))
	next := message("m2", "next", nil)
	next.Message.ContextID = first.ContextID
	second := send(t, c, next)
	for range 2 {
		again := send(t, c, message("m1", "hi", nil))
		wants(t, again, a2a.TaskStateCompleted, "once")
		if again.ID != first.ID {
			t.Errorf("the task is %s, want %s", again.ID, first.ID)
		}
	}
	f := follow(t, c.SendStreamingMessage(t.Context(), next), nil)
	wants(t, f.task, a2a.TaskStateCompleted, "next")
	if f.task.ID != second.ID || len(m.Requests()) != 2 {
		t.Errorf("the task is %s, want %s; there were %d requests", f.task.ID, second.ID, len(m.Requests()))
	}
}

// A stream shows the answer piece by piece. A client that has left it subscribes to the task.
func TestStream(t *testing.T) {
	each(t, func(t *testing.T, transport a2a.TransportProtocol) {
		h := held{goOn: make(chan struct{})}
		c := newSite(t, agent.Agent{Model: h}).client(transport, testToken)
		left := follow(t, c.SendStreamingMessage(t.Context(), message("m1", "count", nil)), func(e a2a.Event) bool {
			_, piece := e.(*a2a.TaskArtifactUpdateEvent)
			return !piece
		})
		wants(t, left.task, a2a.TaskStateWorking, "one ")
		got := follow(t, c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: left.task.ID}), func(e a2a.Event) bool {
			if _, piece := e.(*a2a.TaskArtifactUpdateEvent); piece && h.goOn != nil {
				close(h.goOn)
				h.goOn = nil
			}
			return true
		})
		wants(t, got.task, a2a.TaskStateCompleted, "one two")
		if got.pieces != 2 {
			t.Errorf("the answer came in %d pieces, want 2", got.pieces)
		}
		for _, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: got.task.ID}) {
			if !errors.Is(err, a2a.ErrUnsupportedOperation) {
				t.Errorf("subscribing to a task that has ended: %v", err)
			}
		}
	})
}

// Of several answers in a run, the artifact has the last one.
func TestLastAnswer(t *testing.T) {
	runs := 0
	call := llmtest.Call(llmtest.Use("1", "write", struct{}{}))
	call.Text = "I write it."
	done := llmtest.Say("Done.")
	call.EventDelay, done.EventDelay = 40*time.Millisecond, 40*time.Millisecond // so that pieces come one by one
	a := agent.Agent{Model: llmtest.Script(call, done), Tools: []tool.Tool{writeTool(&runs)}, Permissions: permission.Policy{Mode: permission.Bypass}}
	c := newSite(t, a).client(a2a.TransportProtocolJSONRPC, testToken)
	text := ""
	f := follow(t, c.SendStreamingMessage(t.Context(), message("m1", "write", nil)), func(e a2a.Event) bool {
		if u, ok := e.(*a2a.TaskArtifactUpdateEvent); ok {
			if !u.Append {
				text = ""
			}
			text += u.Artifact.Parts[0].Text()
			if !strings.HasPrefix("I write it.", text) && !strings.HasPrefix("Done.", text) {
				t.Errorf("the artifact is %q", text)
			}
		}
		return true
	})
	wants(t, f.task, a2a.TaskStateCompleted, "Done.")
	got, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: f.task.ID})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, got, a2a.TaskStateCompleted, "Done.")
}

// A question about permission makes the task wait. Its answer continues the task, also after a
// restart of the program; the same answer sent again does not answer the next question.
func TestPermission(t *testing.T) {
	each(t, func(t *testing.T, transport a2a.TransportProtocol) {
		runs := 0
		write := func(id string) llmtest.Step { return llmtest.Call(llmtest.Use(id, "write", struct{}{})) }
		m := llmtest.Script(write("1"), write("2"), write("3"), llmtest.Say("done"))
		a := agent.Agent{Model: m, Tools: []tool.Tool{writeTool(&runs)}, Sessions: session.Dir(filepath.Join(t.TempDir(), "sessions"))}
		s := newSite(t, a)
		c := s.client(transport, testToken)
		task := send(t, c, message("m1", "write", nil))
		wants(t, task, a2a.TaskStateInputRequired, "")
		if !strings.HasPrefix(said(task), "May the agent use write?") || runs != 0 {
			t.Errorf("the question is %q, %d runs", said(task), runs)
		}
		for range 2 {
			task = send(t, c, message("m2", "Allow", task))
			wants(t, task, a2a.TaskStateInputRequired, "")
		}
		if runs != 1 {
			t.Fatalf("the tool ran %d times, want once", runs)
		}
		task = send(t, c, message("m3", "not now, it is late", task))
		wants(t, task, a2a.TaskStateInputRequired, "")

		if err := s.server.Shutdown(t.Context()); err != nil { // the next program continues
			t.Fatal(err)
		}
		s = newSite(t, a)
		c = s.client(transport, testToken)
		task, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
		if err != nil {
			t.Fatal(err)
		}
		wants(t, task, a2a.TaskStateInputRequired, "")
		call := task.Status.Message.Parts[1].Data().(map[string]any)["call"]
		in := message("m4", "", task)
		in.Message.Parts = a2a.ContentParts{a2a.NewDataPart(map[string]any{"call": call, "behavior": "allow"})}
		f := follow(t, c.SendStreamingMessage(t.Context(), in), nil)
		wants(t, f.task, a2a.TaskStateCompleted, "done")
		if last := m.Requests()[3].Transcript(); runs != 2 || !strings.Contains(last, "not now, it is late") {
			t.Errorf("the tool ran %d times; the model got %s", runs, last)
		}
	})
}

// A question of a tool is answered by a text.
func TestQuestion(t *testing.T) {
	ask := llmtest.Use("1", "AskUser", json.RawMessage(`{"questions":[{"question":"Which colour?","header":"Colour","options":[{"label":"red"},{"label":"blue"}]}]}`))
	m := llmtest.Script(llmtest.Call(ask), llmtest.Say("done"))
	c := newSite(t, agent.Agent{Model: m, Tools: []tool.Tool{tools.AskUser()}, Permissions: permission.Policy{Mode: permission.Bypass}}).client(a2a.TransportProtocolJSONRPC, testToken)
	f := follow(t, c.SendStreamingMessage(t.Context(), message("m1", "ask", nil)), nil)
	wants(t, f.task, a2a.TaskStateInputRequired, "")
	if !strings.Contains(said(f.task), "Which colour?") {
		t.Errorf("the question is %q", said(f.task))
	}
	wants(t, send(t, c, message("m2", "green", f.task)), a2a.TaskStateCompleted, "done")
	if text := m.Requests()[1].Transcript(); !strings.Contains(text, "green") {
		t.Errorf("the model got %s", text)
	}
}

// Questions of a tool outlast the program. They are answered one by one, or all by the same text.
func TestQuestions(t *testing.T) {
	ask := func(id string) llmtest.Step {
		return llmtest.Call(llmtest.Use(id, "AskUser", json.RawMessage(`{"questions":[{"question":"Which colour?","options":[{"label":"red"},{"label":"blue"}]},{"question":"Which size?"}]}`)))
	}
	m := llmtest.Script(ask("1"), ask("2"), ask("3"), llmtest.Say("done"))
	a := agent.Agent{Model: m, Tools: []tool.Tool{tools.AskUser()}, Permissions: permission.Policy{Mode: permission.Bypass}, Sessions: session.Dir(filepath.Join(t.TempDir(), "sessions"))}
	s := newSite(t, a)
	c := s.client(a2a.TransportProtocolHTTPJSON, testToken)
	task := send(t, c, message("m1", "ask", nil))
	wants(t, task, a2a.TaskStateInputRequired, "")
	if !strings.Contains(said(task), "Which colour?") || !strings.Contains(said(task), "Which size?") {
		t.Errorf("the question is %q", said(task))
	}
	in := message("m2", "", task)
	in.Message.Parts = a2a.ContentParts{a2a.NewDataPart(map[string]any{"call": task.Status.Message.Parts[1].Data().(map[string]any)["call"],
		"answers": []any{map[string]any{"options": []string{"blue"}}, map[string]any{"text": "large"}}})}
	task = send(t, c, in)
	wants(t, task, a2a.TaskStateInputRequired, "")
	task = send(t, c, message("m3", "whichever you like", task))
	wants(t, task, a2a.TaskStateInputRequired, "")
	if err := s.server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	c = newSite(t, a).client(a2a.TransportProtocolHTTPJSON, testToken)
	wants(t, send(t, c, message("m4", "small and red", task)), a2a.TaskStateCompleted, "done")
	for i, want := range []string{"blue", "whichever you like", "small and red"} {
		if text := m.Requests()[i+1].Transcript(); !strings.Contains(text, want) {
			t.Errorf("the model did not get %q: %s", want, text)
		}
	}
}

// Cancelling a task whose question waits without a program does not answer it.
func TestCancelWaiting(t *testing.T) {
	for _, call := range []llmtest.Step{
		llmtest.Call(llmtest.Use("1", "write", struct{}{})),
		llmtest.Call(llmtest.Use("1", "AskUser", json.RawMessage(`{"questions":[{"question":"Which colour?"},{"question":"Which size?"}]}`))),
	} {
		runs := 0
		a := agent.Agent{Model: llmtest.Script(call, llmtest.Say("ended by itself")), Tools: []tool.Tool{writeTool(&runs), tools.AskUser()}, Sessions: session.Dir(filepath.Join(t.TempDir(), "sessions"))}
		s := newSite(t, a)
		task := send(t, s.client(a2a.TransportProtocolJSONRPC, testToken), message("m1", "go", nil))
		wants(t, task, a2a.TaskStateInputRequired, "")
		if err := s.server.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := newSite(t, a).client(a2a.TransportProtocolJSONRPC, testToken).CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
		if err != nil || !got.Status.State.Terminal() || runs != 0 {
			t.Errorf("the task is %+v, %v, %d runs", got, err, runs)
		}
	}
}

// A question that the program puts off makes the task wait too.
func TestDeferred(t *testing.T) {
	runs := 0
	a := agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("1", "write", struct{}{})), llmtest.Say("done")), Tools: []tool.Tool{writeTool(&runs)}}
	a.CanUseTool = func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
		return permission.Defer(), nil
	}
	c := newSite(t, a).client(a2a.TransportProtocolJSONRPC, testToken)
	f := follow(t, c.SendStreamingMessage(t.Context(), message("m1", "write", nil)), nil)
	wants(t, f.task, a2a.TaskStateInputRequired, "")
	wants(t, send(t, c, message("m2", "allow", f.task)), a2a.TaskStateCompleted, "done")
	if runs != 1 {
		t.Errorf("the tool ran %d times", runs)
	}
}

// The same answer that is sent many times at once answers one question.
func TestAnswerAtOnce(t *testing.T) {
	runs := 0
	const rounds = 8
	steps := make([]llmtest.Step, 3*rounds)
	for i := range steps {
		steps[i] = llmtest.Call(llmtest.Use("", "write", struct{}{}))
	}
	c := newSite(t, agent.Agent{Model: llmtest.Script(steps...), Tools: []tool.Tool{writeTool(&runs)}}).client(a2a.TransportProtocolJSONRPC, testToken)
	task := send(t, c, message("m1", "write", nil))
	for i := range rounds {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := c.SendMessage(t.Context(), message(fmt.Sprint("answer", i), "allow", task)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	if runs != rounds {
		t.Errorf("the tool ran %d times, want %d", runs, rounds)
	}
}

// A context may have any name that a session can have.
func TestNames(t *testing.T) {
	each(t, func(t *testing.T, transport a2a.TransportProtocol) {
		names := []string{"chat 7", "user:42", "50%41?#&", "über", "~x", "a.b", "-"}
		c := newSite(t, agent.Agent{Model: echo(len(names))}).client(transport, testToken)
		for _, name := range names {
			in := message("m1", "hi", nil)
			in.Message.ContextID = name
			task := send(t, c, in)
			got, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
			if err != nil || got.ContextID != name || answer(got) != "ok" {
				t.Errorf("the context %q: %+v, %v", name, got, err)
			}
		}
	})
}

// The object of an answer with a schema is a part of the artifact.
func TestOutput(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say(`{"n":7}`))})
	_, err := (&agent.Agent{Model: llmtest.Script(llmtest.Say(`{"n":7}`)), Sessions: s.store}).Session("chat").Do(t.Context(), agent.Input{Text: "count", Output: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)})
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.client(a2a.TransportProtocolJSONRPC, testToken).ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: "chat", IncludeArtifacts: true})
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := json.Marshal(list.Tasks[0].Artifacts); !strings.Contains(string(b), `"data":{"n":7}`) {
		t.Errorf("the artifacts are %s", b)
	}
}

// The limits of the server hold. A message that is on record has its task, also if the client cannot
// wait for it.
func TestLimits(t *testing.T) {
	h := held{goOn: make(chan struct{})}
	s := newSite(t, agent.Agent{Model: h}, func(h *a2aagent.Handler) { h.Server.MaxStreams, h.Server.UserRequests = 1, 50 })
	c := s.client(a2a.TransportProtocolHTTPJSON, testToken)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for e, err := range c.SendStreamingMessage(ctx, message("m1", "count", nil)) {
		if err != nil {
			t.Fatal(err)
		}
		if _, piece := e.(*a2a.TaskArtifactUpdateEvent); !piece {
			continue
		}
		wants(t, send(t, c, message("m2", "count", nil)), a2a.TaskStateWorking, "")
		for _, err := range c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: e.TaskInfo().TaskID}) {
			if err != nil && !strings.Contains(err.Error(), "too many streams") {
				t.Errorf("a stream too many: %v", err)
			}
		}
		break
	}
	for range 10000 {
		res, body := s.raw("GET", "/a2a/v1/tasks/none.1", "")
		if res.StatusCode == http.StatusTooManyRequests {
			if res.Header.Get("Retry-After") == "" || !strings.Contains(string(body), "too_many_requests") {
				t.Errorf("%v %s", res.Header, body)
			}
			return
		}
	}
	t.Error("there is no limit of requests")
}

// A server that only shows sessions takes no messages, and one that ends says so to those who watch.
func TestServer(t *testing.T) {
	s := newSite(t, agent.Agent{Model: held{}}, func(h *a2aagent.Handler) { h.Server.ReadOnly = true })
	if _, err := s.client(a2a.TransportProtocolJSONRPC, testToken).SendMessage(t.Context(), message("m1", "hi", nil)); !errors.Is(err, a2a.ErrUnauthorized) {
		t.Errorf("a message to a server that only shows sessions: %v", err)
	}
	s = newSite(t, agent.Agent{Model: held{}})
	told := false
	for e, err := range s.client(a2a.TransportProtocolJSONRPC, testToken).SendStreamingMessage(t.Context(), message("m1", "hi", nil)) {
		if err != nil {
			if told = errors.Is(err, a2a.ErrServerError); !told {
				t.Error(err)
			}
			break
		}
		if _, piece := e.(*a2a.TaskArtifactUpdateEvent); piece {
			if err := s.server.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !told {
		t.Error("the stream did not say that the server ends")
	}
}

// A message to a task at work reaches its run, and a message without the task is refused meanwhile.
func TestSteer(t *testing.T) {
	h := held{goOn: make(chan struct{})}
	c := newSite(t, agent.Agent{Model: h}).client(a2a.TransportProtocolJSONRPC, testToken)
	in := message("m1", "count", nil)
	in.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	task := send(t, c, in)
	wants(t, task, a2a.TaskStateWorking, "")
	other := message("m2", "something else", nil)
	other.Message.ContextID = task.ContextID
	if _, err := c.SendMessage(t.Context(), other); !errors.Is(err, a2a.ErrUnsupportedOperation) || !strings.Contains(err.Error(), "taskId") {
		t.Errorf("a second task of the context: %v", err)
	}
	more := message("m3", "faster", task)
	more.Config = in.Config
	for range 2 {
		wants(t, send(t, c, more), a2a.TaskStateWorking, "")
	}
	f := follow(t, c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}), func(e a2a.Event) bool {
		if _, first := e.(*a2a.Task); first {
			close(h.goOn)
		}
		return true
	})
	wants(t, f.task, a2a.TaskStateCompleted, "one two")
	got, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
	if err != nil || len(got.History) != 2 || got.History[1].ID != "m3" {
		t.Errorf("the history is %+v, %v", got, err)
	}
	if _, err := c.SendMessage(t.Context(), message("m4", "more", task)); !errors.Is(err, a2a.ErrUnsupportedOperation) {
		t.Errorf("a message to a task that has ended: %v", err)
	}
}

// Cancelling ends a run, also one that waits for a person while no program has it.
func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, transport a2a.TransportProtocol) {
		c := newSite(t, agent.Agent{Model: held{}}).client(transport, testToken)
		in := message("m1", "count", nil)
		in.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
		task := send(t, c, in)
		for range 2 {
			got, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
			if err != nil || got.Status.State != a2a.TaskStateCanceled {
				t.Fatalf("the task is %+v, %v", got, err)
			}
		}

		runs := 0
		a := agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("1", "write", struct{}{})), llmtest.Say("done")), Tools: []tool.Tool{writeTool(&runs)}, Sessions: session.Dir(filepath.Join(t.TempDir(), "sessions"))}
		s := newSite(t, a)
		c = s.client(transport, testToken)
		task = send(t, c, message("m1", "write", nil))
		got, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
		if err != nil || got.Status.State != a2a.TaskStateCanceled || runs != 0 {
			t.Fatalf("the task is %+v, %v, %d runs", got, err, runs)
		}
		done := send(t, c, message("m2", "done", nil))
		if _, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: done.ID}); !errors.Is(err, a2a.ErrTaskNotCancelable) {
			t.Errorf("cancelling a task that has ended: %v", err)
		}
	})
}

// A run that fails makes a task that failed and says why.
func TestFailure(t *testing.T) {
	c := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Fail(errors.New("out of order"))), Retry: &agent.Retry{Tries: -1}}).client(a2a.TransportProtocolHTTPJSON, testToken)
	f := follow(t, c.SendStreamingMessage(t.Context(), message("m1", "hi", nil)), nil)
	wants(t, f.task, a2a.TaskStateFailed, "")
	if !strings.Contains(said(f.task), "out of order") {
		t.Errorf("the task says %q", said(f.task))
	}
}

// A task that the model refuses is rejected; an answer that is cut off completes its task.
func TestStops(t *testing.T) {
	for stop, want := range map[llm.StopReason]a2a.TaskState{llm.Refusal: a2a.TaskStateRejected, llm.MaxTokens: a2a.TaskStateCompleted} {
		step := llmtest.Say("so")
		step.Stop = stop
		c := newSite(t, agent.Agent{Model: llmtest.Script(step, step, step, step)}).client(a2a.TransportProtocolJSONRPC, testToken)
		if task := send(t, c, message("m1", "hi", nil)); task.Status.State != want {
			t.Errorf("after %s the task is %+v", stop, task.Status)
		}
	}
}

// Files come with the message as the model takes them; addresses are not loaded.
func TestFiles(t *testing.T) {
	m := llmtest.Script(llmtest.Say("seen"))
	c := newSite(t, agent.Agent{Model: m}).client(a2a.TransportProtocolJSONRPC, testToken)
	in := message("m1", "look", nil)
	in.Message.Parts = append(in.Message.Parts, &a2a.Part{Content: a2a.Raw("some notes"), MediaType: "text/plain", Filename: "a.txt"}, a2a.NewDataPart(map[string]any{"n": 7}))
	wants(t, send(t, c, in), a2a.TaskStateCompleted, "seen")
	if b, _ := json.Marshal(m.Requests()[0].Messages); !strings.Contains(string(b), "a.txt") || !strings.Contains(string(b), `{\"n\":7}`) {
		t.Errorf("the model got %s", b)
	}
	for _, p := range []*a2a.Part{a2a.NewFileURLPart("http://169.254.169.254/latest", "image/png"), {Content: a2a.Raw("x"), MediaType: "video/mp4"}} {
		in := message("m2", "look", nil)
		in.Message.Parts = a2a.ContentParts{p}
		if _, err := c.SendMessage(t.Context(), in); !errors.Is(err, a2a.ErrUnsupportedContentType) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// newUsers serves an agent to ann and bob, whose names are their tokens.
func newUsers(t *testing.T, m llm.Model) *site {
	t.Helper()
	stores := map[string]session.Store{"ann": session.Memory(), "bob": session.Memory()}
	a := &agent.Agent{Model: m}
	return newSite(t, *a, func(h *a2aagent.Handler) {
		h.Server.Token = ""
		h.Server.Sessions = func(user string) session.Store { return stores[user] }
		h.Server.Agent = func(context.Context, serve.Place) (*agent.Agent, error) { return a, nil }
		h.Server.User = func(r *http.Request) (string, error) {
			name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			if stores[name] == nil {
				return "", errors.New("no such user")
			}
			return name, nil
		}
	})
}

// Nothing works without a login, and nobody reaches the tasks and contexts of another user.
func TestUsers(t *testing.T) {
	each(t, func(t *testing.T, transport a2a.TransportProtocol) {
		s := newUsers(t, llmtest.Script(llmtest.Say("for ann"), llmtest.Say("for bob")))
		ann, bob := s.client(transport, "ann"), s.client(transport, "bob")
		task := send(t, ann, message("m1", "hi", nil))
		wants(t, task, a2a.TaskStateCompleted, "for ann")
		if _, err := bob.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID}); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("bob gets ann's task: %v", err)
		}
		if _, err := bob.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID}); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("bob cancels ann's task: %v", err)
		}
		if _, err := bob.SendMessage(t.Context(), message("m2", "hi", task)); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("bob sends a message to ann's task: %v", err)
		}
		for _, err := range bob.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}) {
			if !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("bob subscribes to ann's task: %v", err)
			}
		}
		own := message("m1", "hi", nil)
		own.Message.ContextID = task.ContextID
		if got := send(t, bob, own); answer(got) != "for bob" {
			t.Errorf("bob gets %q by ann's context and message", answer(got))
		}
	})
	s := newUsers(t, nil)
	for _, path := range []string{"/a2a", "/a2a/v1/message:send", "/a2a/v1/tasks", "/.well-known/agent-card.json"} {
		for _, token := range []string{"", "eve"} {
			method := "POST"
			if strings.Contains(path, "card") || strings.Contains(path, "tasks") {
				method = "GET"
			}
			r, err := http.NewRequest(method, s.http.URL+path, strings.NewReader("{"))
			if err != nil {
				t.Fatal(err)
			}
			res, err := s.web(token).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s as %q: %d", method, path, token, res.StatusCode)
			}
		}
	}
}

// Requests that a browser sends for another site, and those for another host, are refused as the
// server does. So are bodies without end.
func TestHostile(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script()}, func(h *a2aagent.Handler) { h.PublicCard = true })
	try := func(path, body string, change func(*http.Request)) int {
		t.Helper()
		method := "POST"
		if body == "" {
			method = "GET"
		}
		r, err := http.NewRequest(method, s.http.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		change(r)
		res, err := s.web(testToken).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode
	}
	const rpc = `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x.1"}}`
	if got := try("/a2a", rpc, func(*http.Request) {}); got != 200 {
		t.Errorf("a good request: %d", got)
	}
	if got := try("/a2a", rpc, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }); got != 403 {
		t.Errorf("another site: %d", got)
	}
	if got := try("/a2a", rpc, func(r *http.Request) { r.Host = "evil.example" }); got != 421 {
		t.Errorf("another host: %d", got)
	}
	if got := try("/.well-known/agent-card.json", "", func(r *http.Request) { r.Host = "evil.example" }); got != 421 {
		t.Errorf("the card for another host: %d", got)
	}
	if got := try("/a2a/v1/message:send", `{"message":{"messageId":"`+strings.Repeat("x", 11<<20), func(*http.Request) {}); got != 413 {
		t.Errorf("a body of 11 MB: %d", got)
	}
	card, err := agentcard.NewResolver(s.web("")).Resolve(t.Context(), s.http.URL)
	if err != nil || card.Name != "Tester" {
		t.Errorf("the public card: %+v, %v", card, err)
	}
}

// A client that goes away leaves the run alone, and finds its task again by the same message.
func TestLeave(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := held{goOn: make(chan struct{}), began: cancel}
	c := newSite(t, agent.Agent{Model: h}).client(a2a.TransportProtocolJSONRPC, testToken)
	if _, err := c.SendMessage(ctx, message("m1", "count", nil)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(h.goOn)
	wants(t, send(t, c, message("m1", "count", nil)), a2a.TaskStateCompleted, "one two")
}
