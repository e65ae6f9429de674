package llmtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/bedrock"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/azure"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/responses"
	"github.com/openagent-go/agent/llm/vertex"
)

// clients are the models of all protocols, reached at a base URL.
func clients(t *testing.T) map[string]func(base string, http *http.Client) llm.Model {
	return map[string]func(base string, http *http.Client) llm.Model{
		"anthropic": func(base string, http *http.Client) llm.Model {
			return (&anthropic.Client{APIKey: "k", BaseURL: base, HTTP: http}).Model("claude-sonnet-4-6")
		},
		"openai": func(base string, http *http.Client) llm.Model {
			return (&openai.Client{APIKey: "k", BaseURL: base + "/v1", HTTP: http}).Model("gpt-4.1")
		},
		"responses": func(base string, http *http.Client) llm.Model {
			return (&responses.Client{APIKey: "k", BaseURL: base + "/v1", HTTP: http}).Model("gpt-4.1")
		},
		"azure": func(base string, http *http.Client) llm.Model {
			m, err := (&azure.Client{Endpoint: base, Client: openai.Client{APIKey: "k", HTTP: http}}).Model("gpt-4.1")
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
		"bedrock": func(base string, http *http.Client) llm.Model {
			return (&bedrock.Client{Region: "us-east-1", Client: anthropic.Client{APIKey: "k", BaseURL: base, HTTP: http}}).Model("anthropic.claude-sonnet-4-6")
		},
		"vertex": func(base string, http *http.Client) llm.Model {
			return (&vertex.Client{Project: "p", Region: "us-east5", Client: anthropic.Client{Key: func(context.Context) (string, error) { return "token", nil }, BaseURL: base, HTTP: http}}).Model("claude-sonnet-4-6")
		},
	}
}

// A mismatch between script and request ends the prompt at once, in every protocol: no try
// follows the first one.
func TestMismatchIsNotRetried(t *testing.T) {
	for name, client := range clients(t) {
		for wrong, server := range map[string]*llmtest.Server{
			"no step":        {},
			"no part":        {Rule: llmtest.Cast(map[string]llmtest.Rule{"another": llmtest.Steps(llmtest.Say("x"))})},
			"the rule says":  {Rule: func(*llmtest.Request, int) llmtest.Step { return llmtest.Fail(errors.New("the rule says no")) }},
			"panicked: oops": {Rule: func(*llmtest.Request, int) llmtest.Step { panic("oops") }},
			"1 step":         {Steps: []llmtest.Step{llmtest.Call(llmtest.Use("", "none", struct{}{}))}},
		} {
			want := strings.Replace(wrong, "no step", "the script has 0 steps", 1)
			t.Run(name+"/"+wrong, func(t *testing.T) {
				test := &fakeTB{TB: t}
				server.Start(test)
				begin := time.Now()
				a := &agent.Agent{Model: client(server.URL, nil)}
				_, err := a.Prompt(t.Context(), "hi")
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v", err)
				}
				var api *llm.APIError
				if !errors.As(err, &api) || api.Class != llm.Invalid || api.Retryable() {
					t.Errorf("%#v", api)
				}
				if n, most := len(server.Requests()), max(1, len(server.Steps)+1); n != most || time.Since(begin) > 1500*time.Millisecond {
					t.Errorf("%d requests in %v, want %d", n, time.Since(begin), most)
				}
				if told := test.said(); (len(told) == 0) != (wrong == "the rule says") || len(told) > 0 && !strings.Contains(told[0], want) {
					t.Errorf("the test is told %q", told)
				}
			})
		}
	}
}

// A request that a recording does not have ends the prompt at once.
func TestReplayMismatchIsNotRetried(t *testing.T) {
	file := filepath.Join(t.TempDir(), "empty.json")
	if err := os.WriteFile(file, []byte(`{"version":1,"exchanges":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, client := range clients(t) {
		test := &fakeTB{TB: t}
		tries := 0
		replay := llmtest.Replay(test, file, nil).Transport
		counting := roundTrip(func(r *http.Request) (*http.Response, error) { tries++; return replay.RoundTrip(r) })
		a := &agent.Agent{Model: client("http://llm.test", &http.Client{Transport: counting})}
		_, err := a.Prompt(t.Context(), "hi")
		var api *llm.APIError
		if !errors.As(err, &api) || api.Class != llm.Invalid || tries != 1 || !strings.Contains(err.Error(), "has no request left") {
			t.Errorf("%s: %d tries, %v", name, tries, err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A fakeTB keeps the failures of a test.
type fakeTB struct {
	testing.TB
	mu    sync.Mutex
	texts []string
}

func (f *fakeTB) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}

func (f *fakeTB) said() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.texts
}

// Each agent gets the answers of its part, however the requests interleave.
func TestCast(t *testing.T) {
	rule := llmtest.Cast(map[string]llmtest.Rule{
		"Review":        llmtest.Steps(llmtest.Say("r1"), llmtest.Say("r2")),
		"Review server": llmtest.Steps(llmtest.Say("s1")),
		"You are the":   func(_ *llmtest.Request, n int) llmtest.Step { return llmtest.Say(fmt.Sprintf("boss %d", n)) },
	})
	request := func(system string, texts ...string) *llm.Request {
		r := &llm.Request{System: system}
		for _, text := range texts {
			r.Messages = append(r.Messages, llm.UserText(text))
		}
		return r
	}
	m := &llmtest.Model{Rule: rule}
	for _, c := range []struct {
		req  *llm.Request
		want string
	}{
		{request("", "Review the client"), "r1"},
		{request("You are the boss.", "anything"), "boss 0"},
		{request("", "Review server.go"), "s1"},
		{request("", "a note before the prompt", "Review the client"), "r2"},
		{request("You are the boss.", "more"), "boss 1"},
	} {
		res, err := llm.Collect(t.Context(), m, c.req)
		if err != nil || res.Message.Text() != c.want {
			t.Errorf("%+v, %v, want %s", res, err, c.want)
		}
	}
	for _, req := range []*llm.Request{request("", "Review again"), request("", "nobody's"), {}} {
		var api *llm.APIError
		if _, err := llm.Collect(t.Context(), m, req); !errors.As(err, &api) || api.Retryable() {
			t.Errorf("%v", err)
		}
	}
}

// The client of every protocol keeps the contract of a model.
func TestContractOfEachProtocol(t *testing.T) {
	for name, client := range clients(t) {
		t.Run(name, func(t *testing.T) {
			llmtest.RunContract(t, func(t *testing.T, steps ...llmtest.Step) llm.Model {
				return client(llmtest.NewServer(t, steps...).URL, nil)
			})
		})
	}
}

// A misspelt way to break off is told, and not taken for another.
func TestUnknownCut(t *testing.T) {
	_, err := llm.Collect(t.Context(), llmtest.Script(llmtest.Step{Text: "a", CutAfter: 1, Cut: "rest"}), &llm.Request{})
	if err == nil || !strings.Contains(err.Error(), `Step.Cut is "rest"`) {
		t.Error(err)
	}
}

// In process, the error names llmtest once.
func TestMismatchNamesLLMTestOnce(t *testing.T) {
	a := &agent.Agent{Model: llmtest.Script()}
	_, err := a.Prompt(t.Context(), "hi")
	if want := "agent: run ended: model_error: llmtest: invalid_request: request 1 was made, but the script has 0 steps"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
