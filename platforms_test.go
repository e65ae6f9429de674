package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/bedrock"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/vertex"
)

// TestFaultsOfPlatforms plays the faults that come from the provider as Bedrock and
// Vertex put them: statuses, exceptions inside of a stream, streams that break off.
func TestFaultsOfPlatforms(t *testing.T) {
	platforms := map[string]func(*llmtest.Server) llm.Model{
		"bedrock": func(s *llmtest.Server) llm.Model {
			c := &bedrock.Client{Region: "us-east-1", Credentials: bedrock.Static("AKID", "secret-of-aws", ""), Client: anthropic.Client{BaseURL: s.URL, HTTP: s.Client()}}
			return c.Model("us.anthropic.claude-sonnet-4-6")
		},
		"vertex": func(s *llmtest.Server) llm.Model {
			c := &vertex.Client{Project: "p", Region: "global", Client: anthropic.Client{BaseURL: s.URL, HTTP: s.Client()},
				Tokens: func(context.Context) (vertex.Token, error) { return vertex.Token{Value: "token-of-google"}, nil }}
			return c.Model("claude-sonnet-4-6")
		},
	}
	limited := func(after string) llmtest.Step {
		return llmtest.Step{Status: 429, Header: http.Header{"Retry-After": {after}}}
	}
	busy := llmtest.Step{Status: 503}
	cut := llmtest.Step{Text: "half of it", Pieces: 4, CutAfter: 4}
	broken := cut
	broken.Cut, broken.Status = llmtest.CutError, 529
	for _, tt := range []struct {
		name     string
		steps    []llmtest.Step
		class    llm.Class // "": it ends well
		from, to time.Duration
	}{
		{"L1 retry-after", []llmtest.Step{limited("7"), say("done")}, "", 7 * time.Second, 7 * time.Second},
		{"L2 an hour", []llmtest.Step{limited("3600")}, llm.Unavailable, 0, 0},
		{"L3 three times", []llmtest.Step{busy, busy, busy, say("done")}, "", 10 * time.Second, 18 * time.Second},
		{"L3 for ever", []llmtest.Step{busy, busy, busy, busy}, llm.Overloaded, 10 * time.Second, 18 * time.Second},
		{"L4 500", []llmtest.Step{{Status: 500}, say("done")}, "", 1500 * time.Millisecond, 2500 * time.Millisecond},
		{"L5 400", []llmtest.Step{{Status: 400}}, llm.Invalid, 0, 0},
		{"L5 401", []llmtest.Step{{Status: 401}}, llm.Auth, 0, 0},
		{"L5 403", []llmtest.Step{{Status: 403}}, llm.Forbidden, 0, 0},
		{"L5 404", []llmtest.Step{{Status: 404}}, llm.NotFound, 0, 0},
		{"L5 413", []llmtest.Step{{Status: 413}}, llm.TooLarge, 0, 0},
		{"L6 cut", []llmtest.Step{cut, say("done")}, "", 1500 * time.Millisecond, 2500 * time.Millisecond},
		{"L6 exception", []llmtest.Step{broken, say("done")}, "", 1500 * time.Millisecond, 2500 * time.Millisecond},
	} {
		for name, reach := range platforms {
			t.Run(tt.name+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := llmtest.NewPipe(t, tt.steps...)
					start := time.Now()
					res, err := (&agent.Agent{Model: reach(server), Permissions: bypass}).Prompt(t.Context(), "go")
					if took := time.Since(start); took < tt.from || took > tt.to+time.Second/2 {
						t.Errorf("took %v", took)
					}
					switch {
					case res == nil:
						t.Fatal(err)
					case tt.class == "" && (err != nil || res.Text != "done"):
						t.Errorf("%+v, %v", res, err)
					case tt.class != "" && classOf(err) != tt.class:
						t.Errorf("class %q, want %s", classOf(err), tt.class)
					case tt.class != "" && (err == nil || res.Reason != event.ModelError):
						t.Errorf("%+v, %v", res, err)
					}
					if n := len(server.Requests()); n != len(tt.steps) {
						t.Errorf("%d requests", n)
					}
				})
			})
		}
		if tt.name != "L4 500" {
			continue
		}
		t.Run("L4 424 bedrock", func(t *testing.T) { // the model has failed
			synctest.Test(t, func(t *testing.T) {
				server := llmtest.NewPipe(t, llmtest.Step{Status: 424}, say("done"))
				if res, err := (&agent.Agent{Model: platforms["bedrock"](server), Permissions: bypass}).Prompt(t.Context(), "go"); err != nil || res.Text != "done" {
					t.Errorf("%+v, %v", res, err)
				}
			})
		})
	}
	for _, usage := range []llm.Usage{{Input: -5, Output: -7}, {Input: 1 << 50, Output: 1 << 50}} {
		for name, reach := range platforms {
			t.Run(fmt.Sprint("L18 ", usage.Input, " ", name), func(t *testing.T) {
				server := llmtest.NewPipe(t, llmtest.Step{Text: "done", Usage: usage})
				res, err := (&agent.Agent{Model: reach(server), Permissions: bypass}).Prompt(t.Context(), "go")
				if err != nil || res.Text != "done" {
					t.Fatalf("%+v, %v", res, err)
				}
				if u := res.Usage; u.Input < 0 || u.Output < 0 || u.Input > 1<<40 || u.Output > 1<<40 {
					t.Errorf("%+v", u)
				}
			})
		}
	}
}

func classOf(err error) llm.Class {
	if e := (*llm.APIError)(nil); errors.As(err, &e) {
		return e.Class
	}
	return ""
}
