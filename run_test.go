package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/responses"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// fine is a tool that changes something and always succeeds.
var fine = write(func(context.Context, tool.Call, int) (*tool.Result, error) { return tool.Text("ok"), nil })

// A model that makes the same mistake again and again is stopped, whatever the mistake.
func TestEndlessMistakes(t *testing.T) {
	broken := llmtest.Use("", "double", number{1})
	broken.Invalid = `{"n":`
	never := hook.Hook{On: hook.PreToolUse, Match: "write", Func: func(context.Context, *hook.Input) (hook.Output, error) {
		return hook.Output{Permission: permission.Denied, Reason: "never"}, nil
	}}
	for name, step := range map[string]llmtest.Step{
		"denied by a hook": uses("write"),
		"denied by no one": uses("other"),
		"unknown tool":     uses("nothing"),
		"not JSON":         llmtest.Call(broken),
		"breaks schema":    llmtest.Call(llmtest.Use("", "double", map[string]string{"n": "x"})),
	} {
		m := &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step { return step }}
		other := tool.Func(tool.Spec{Name: "other"}, func(context.Context, number) (int, error) { return 0, nil })
		a := &agent.Agent{Model: m, Tools: []tool.Tool{double, fine, other}, Hooks: []hook.Hook{never}, Budget: agent.Budget{Turns: 50}}
		res, err := a.Prompt(t.Context(), "go")
		if !errors.Is(err, agent.ErrLimit) || res.Reason != event.DoomLoop || res.Turns != 3 || res.Message == "" {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
}

// A store that fails ends the run at once, also when a denial is to be recorded
// right before a call.
func TestStoreFailsAtDenial(t *testing.T) {
	for n := 1; n < 20; n++ {
		failed := false
		synctest.Test(t, func(t *testing.T) {
			failing := &failingStore{Store: session.Memory(), left: n}
			var s *agent.Session
			a := &agent.Agent{Model: llmtest.Script(uses("write"), say("end")), Sessions: failing, Tools: []tool.Tool{fine},
				CanUseTool: func(ctx context.Context, _ tool.Call, _ permission.Decision) (permission.Decision, error) {
					s.SetMode(ctx, permission.Plan)
					return permission.Allow(), nil
				}}
			s = a.Session("s")
			defer s.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			_, err := s.Prompt(ctx, "go")
			if failed = err != nil; ctx.Err() != nil {
				t.Errorf("with %d appends the run hangs", n)
			}
		})
		if !failed {
			return
		}
	}
	t.Error("the store never stopped failing")
}

// An interrupt empties the queue also when the run is stopping already.
func TestInterruptTwice(t *testing.T) {
	started, free := make(chan struct{}), make(chan struct{})
	slow := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
		close(started)
		<-free
		return tool.Text("ok"), nil
	})
	a := &agent.Agent{Model: llmtest.Script(uses("write"), say("next")), Tools: []tool.Tool{slow}, Permissions: bypass}
	s := a.Session("")
	defer s.Close()
	go func() {
		defer close(free)
		<-started
		s.Interrupt(t.Context())
		s.Steer(t.Context(), agent.Input{ID: "late", Text: "more"})
		if r, err := s.Interrupt(t.Context()); err != nil || len(r.Cleared) != 1 {
			t.Errorf("receipt %+v, %v", r, err)
		}
	}()
	if res, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrInterrupted) || len(res.Queued) != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

// A tool that does not end when the run is cancelled is named by the error.
func TestStuckToolIsNamed(t *testing.T) {
	for _, hooked := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			started, free := make(chan struct{}), make(chan struct{})
			defer close(free)
			slow := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
				close(started)
				<-free
				return tool.Text("late"), nil
			})
			a := &agent.Agent{Model: llmtest.Script(uses("write")), Tools: []tool.Tool{slow}, Permissions: bypass}
			if hooked {
				a.Hooks = []hook.Hook{{On: hook.PostToolUse, Func: func(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{}, nil }}}
			}
			s := a.Session("")
			defer s.Close()
			go func() {
				<-started
				s.Interrupt(t.Context())
			}()
			if res, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrToolStuck) || !errors.Is(err, agent.ErrInterrupted) || res == nil {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
}

// A stream of an agent can be ranged over once, as that of a session.
func TestAgentStreamOnce(t *testing.T) {
	m := llmtest.Script(say("a"), say("b"))
	stream := (&agent.Agent{Model: m}).Stream(t.Context(), "go")
	for range stream {
	}
	again := 0
	for _, err := range stream {
		again++
		if !errors.Is(err, agent.ErrUsed) {
			t.Errorf("ranging twice gives %v", err)
		}
	}
	if again != 1 || len(m.Requests()) != 1 {
		t.Errorf("%d pairs, %d requests", again, len(m.Requests()))
	}
}

// What tools, hooks and models return cannot make a session unusable.
func TestUnrecordable(t *testing.T) {
	for name, result := range map[string]*tool.Result{
		"details": {Details: []byte(`{"a":`)},
		"state":   {Patch: tool.Patch{State: []byte(`{"a":`)}},
		"blocks":  {Content: llm.Blocks{nil, llm.Text{Text: "x"}, llm.Verbatim{Raw: []byte("{")}}},
		"secret":  {Details: []byte(`{"pid":12345678,"b":true}`)},
	} {
		for _, hooked := range []bool{false, true} {
			a := &agent.Agent{Model: llmtest.Script(uses("write"), say("done")), Permissions: bypass, Secrets: []string{"12345678"},
				Sessions: session.Dir(t.TempDir()), Tools: []tool.Tool{fine}}
			if hooked {
				a.Hooks = []hook.Hook{{On: hook.PostToolUse, Func: func(context.Context, *hook.Input) (hook.Output, error) {
					return hook.Output{Result: result}, nil
				}}}
			} else {
				a.Tools = []tool.Tool{write(func(context.Context, tool.Call, int) (*tool.Result, error) { return result, nil })}
			}
			if res, err := a.Prompt(t.Context(), "go"); err != nil || res.Text != "done" {
				t.Errorf("%s, by a hook: %v: %+v, %v", name, hooked, res, err)
			}
		}
	}
	odd := llm.Blocks{nil, llm.Thinking{Text: "t", Extra: []byte("[")}, llm.Verbatim{Shown: "done", Raw: []byte("{")}, llm.ToolUse{Name: "write", Input: []byte("{")}}
	m := llmtest.Script(llmtest.Step{Reply: func(*llm.Request) llm.Response {
		return llm.Response{Message: llm.Message{Content: odd}, Stop: llm.UseTools}
	}}, say("done"))
	a := &agent.Agent{Model: m, Sessions: session.Dir(t.TempDir()), Tools: []tool.Tool{fine}}
	if res, err := a.Prompt(t.Context(), "go"); err != nil || res.Text != "done" {
		t.Errorf("%+v, %v", res, err)
	}
}

// A decision from outside is checked as the callback's is.
func TestDecideNonsense(t *testing.T) {
	asked := make(chan string, 1)
	a := &agent.Agent{Model: llmtest.Script(uses("write"), say("done")), Sessions: session.Dir(t.TempDir()), Tools: []tool.Tool{fine},
		CanUseTool: func(ctx context.Context, c tool.Call, _ permission.Decision) (permission.Decision, error) {
			asked <- c.ID
			<-ctx.Done()
			return permission.Decision{}, ctx.Err()
		}}
	s := a.Session("")
	defer s.Close()
	go func() {
		id := <-asked
		if err := s.Decide(t.Context(), id, permission.AllowWith([]byte(`{"n":`))); err == nil {
			t.Error("input that is not JSON is accepted")
		}
		s.Decide(t.Context(), id, permission.Deny("no"))
	}()
	if res, err := s.Prompt(t.Context(), "go"); err != nil || res.Text != "done" || len(res.Denials) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
}

// How much to think can be changed before a run goes on, like the model.
func TestThinkingOfResumedRun(t *testing.T) {
	m := llmtest.Script(uses("write"), say("done"))
	a := &agent.Agent{Model: m, Tools: []tool.Tool{fine}, CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
		return permission.Defer(), nil
	}}
	s := a.Session("")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
		t.Fatal(err)
	}
	s.SetThinking(t.Context(), llm.Thought{Effort: "high"})
	s.SetCanUseTool(t.Context(), nil)
	for _, err := range s.Resume(t.Context()) {
		if err != nil {
			t.Error(err)
		}
	}
	if got := m.Requests()[1].Thinking.Effort; got != "high" {
		t.Errorf("the resumed run thinks %q", got)
	}
}

// A run that is cut short while it closes an earlier one ends as interrupted.
func TestCancelledWhileClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := session.Memory()
		closing := make(chan struct{})
		var n atomic.Int32
		a := &agent.Agent{Model: llmtest.Script(uses("write"), llmtest.Step{Text: "late", Delay: time.Hour}), Sessions: store, Permissions: bypass, Tools: []tool.Tool{fine},
			Hooks: []hook.Hook{{On: hook.PostToolUse, Func: func(ctx context.Context, _ *hook.Input) (hook.Output, error) {
				if n.Add(1) == 2 {
					close(closing)
				}
				<-ctx.Done()
				return hook.Output{}, ctx.Err()
			}}}}
		cut := &failingStore{Store: store, left: 6} // up to ToolDone
		a.Sessions = cut
		s := a.Session("s")
		defer s.Close()
		first, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		s.Prompt(first, "one")
		cut.left = 1000
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			select {
			case <-closing:
			case <-time.After(time.Minute):
			}
			cancel()
		}()
		res, err := s.Prompt(ctx, "two")
		if !errors.Is(err, agent.ErrInterrupted) || res.Reason != event.Interrupted {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

// keeper is a tool that keeps something for each session.
type keeper struct {
	tool.Tool
	ended chan string
}

func (k keeper) EndSession(id string) error { k.ended <- id; return nil }

// The tools of a tool set are told of the session's end, and asked for news, as
// the agent's own are.
func TestToolsOfSets(t *testing.T) {
	ended := make(chan string, 1)
	news := &noticing{Tool: double}
	m := llmtest.Script(say("one"), say("two"))
	a := &agent.Agent{Model: m, Toolsets: []tool.Set{set{keeper{fine, ended}, news}}}
	s := a.Session("s")
	news.notice("something ended")
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if len(ended) != 1 {
		t.Error("the tool does not know of the end")
	}
	if got := m.Requests()[0].Messages; len(got) != 2 || got[1].Text() != "something ended" {
		t.Errorf("the request has %v", got)
	}
}

// An input that is known already, to a program that starts again.
func TestKnownInputOfOldSession(t *testing.T) {
	a := &agent.Agent{Model: llmtest.Script(say("one")), Sessions: session.Memory()}
	for range 2 {
		s := a.Session("s")
		res, err := s.Do(t.Context(), agent.Input{ID: "x", Text: "go"})
		if err != nil || res == nil || res.Text != "one" {
			t.Errorf("%+v, %v", res, err)
		}
		s.Close()
	}
}

// keyed is a model whose client knows a key.
type keyed struct{ llm.Model }

func (keyed) Secrets() []string { return []string{"key-of-the-client"} }

func TestSecretsOfModels(t *testing.T) {
	leak := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
		return &tool.Result{Content: llm.Blocks{llm.Text{Text: "a key-of-the-client"}, llm.Document{MediaType: "text/plain", Data: []byte("b key-of-the-client")}}}, nil
	})
	m := llmtest.Script(uses("write"), say("done"))
	a := &agent.Agent{Model: keyed{m}, Tools: []tool.Tool{leak}, Permissions: bypass}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	content := m.Requests()[1].Messages[2].Content[0].(llm.ToolResult).Content
	if content.Text() != "a ***" || string(content[1].(llm.Document).Data) != "b ***" {
		t.Errorf("the model sees %v", content)
	}
}

// The clients tell the agent their keys.
func TestSecretsOfClients(t *testing.T) {
	header := http.Header{"X-Gateway-Token": {"token-of-the-gateway"}}
	for _, m := range []llm.Model{
		(&anthropic.Client{APIKey: "key-of-the-client", Header: header}).Model("claude-sonnet-4-6"),
		(&openai.Client{APIKey: "key-of-the-client", Header: header}).Model("gpt-4.1"),
	} {
		secrets := m.(interface{ Secrets() []string }).Secrets()
		if !slices.Contains(secrets, "key-of-the-client") || !slices.Contains(secrets, "token-of-the-gateway") {
			t.Errorf("%T knows %q", m, secrets)
		}
	}
}

// A key that was got during the run is a secret of it, and so is the one that
// came in its place.
func TestSecretsThatAreFetched(t *testing.T) {
	for _, name := range []string{"anthropic", "openai", "responses"} {
		t.Run(name, func(t *testing.T) {
			n := 0
			server := llmtest.NewPipe(t, uses("write"), llmtest.Step{Status: 401}, say("done"))
			m := (&anthropic.Client{Key: rotating(&n), BaseURL: server.URL, HTTP: server.Client()}).Model("claude-sonnet-4-6")
			switch name {
			case "responses":
				m = (&responses.Client{Key: rotating(&n), BaseURL: server.URL, HTTP: server.Client()}).Model("gpt-4.1")
			case "openai":
				m = (&openai.Client{Key: rotating(&n), BaseURL: server.URL, HTTP: server.Client()}).Model("gpt-4.1")
			}
			leak := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
				return &tool.Result{Content: llm.Blocks{llm.Text{Text: "a fetched-key-1"}}}, nil
			})
			a := &agent.Agent{Model: m, Tools: []tool.Tool{leak}, Permissions: bypass}
			if _, err := a.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			requests := server.Requests()
			last := requests[len(requests)-1]
			if len(requests) != 3 || strings.Contains(string(last.Body), "fetched-key") || !strings.Contains(string(last.Body), "a ***") {
				t.Errorf("%d requests, the last %s", len(requests), last.Body)
			}
			var sent []string
			for _, r := range requests {
				sent = append(sent, r.Header.Get("X-Api-Key")+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			}
			if want := []string{"fetched-key-1", "fetched-key-2", "fetched-key-3 after fetched-key-2"}; !slices.Equal(sent, want) {
				t.Errorf("keys %q", sent)
			}
		})
	}
}

// rotating gives another key each time.
func rotating(n *int) llm.KeyFunc {
	return func(ctx context.Context) (string, error) {
		*n++
		key := fmt.Sprintf("fetched-key-%d", *n)
		if refused := llm.RefusedKey(ctx); refused != "" {
			key += " after " + refused
		}
		return key, nil
	}
}

// The error of a run leads to the provider's own: its status and request.
func TestErrorNamesTheRequest(t *testing.T) {
	server := llmtest.NewPipe(t, llmtest.Step{Status: 403, Header: http.Header{"Request-Id": {"req_1"}}})
	m := (&anthropic.Client{APIKey: "k", BaseURL: server.URL, HTTP: server.Client()}).Model("claude-sonnet-4-6")
	_, err := (&agent.Agent{Model: m}).Prompt(t.Context(), "go")
	var api *llm.APIError
	if !errors.As(err, &api) || api.Status != 403 || api.RequestID != "req_1" || !errors.Is(err, llm.ErrAuth) || !errors.Is(err, agent.ErrModel) {
		t.Errorf("%v, %+v", err, api)
	}
}

// Where one prompt leaves the working directory the next one begins, unless the
// agent's own has changed.
func TestDirStays(t *testing.T) {
	var dirs []string
	home, there := t.TempDir(), t.TempDir()
	move := write(func(_ context.Context, call tool.Call, _ int) (*tool.Result, error) {
		dirs = append(dirs, call.Dir)
		return &tool.Result{Patch: tool.Patch{Dir: there}}, nil
	})
	a := &agent.Agent{Model: llmtest.Script(uses("write"), say("one"), uses("write"), say("two")), Tools: []tool.Tool{move}, Permissions: bypass, Dir: home}
	s := a.Session("")
	defer s.Close()
	for range 2 {
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
	}
	if len(dirs) != 2 || dirs[1] != there {
		t.Errorf("called in %q, moved to %s", dirs, there)
	}
}
