package agent_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/eventstream"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/bedrock"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/vertex"
	"github.com/openagent-go/agent/tool"
)

// platforms make a model of Bedrock and of Vertex.
var platforms = map[string]func(base string, hc *http.Client) llm.Model{
	"bedrock": func(base string, hc *http.Client) llm.Model {
		c := &bedrock.Client{Region: "us-east-1", Credentials: awsCredentials, Client: anthropic.Client{BaseURL: base, HTTP: hc}}
		return c.Model("us.anthropic.claude-sonnet-4-6")
	},
	"vertex": func(base string, hc *http.Client) llm.Model {
		c := &vertex.Client{Project: "p", Region: "global", Client: anthropic.Client{BaseURL: base, HTTP: hc},
			Tokens: func(context.Context) (vertex.Token, error) { return vertex.Token{Value: "token-of-google"}, nil }}
		return c.Model("claude-sonnet-4-6")
	},
}

// TestFaultsOfPlatforms tests a provider's faults in the forms of Bedrock and Vertex:
// statuses, exceptions inside a stream, streams that break off.
func TestFaultsOfPlatforms(t *testing.T) {
	limited := func(after string) llmtest.Step {
		return llmtest.Step{Status: 429, Header: http.Header{"Retry-After": {after}}}
	}
	busy := llmtest.Step{Status: 503}
	cut := llmtest.Step{Text: "half of it", Pieces: 4, CutAfter: 4}
	broken := cut
	broken.Cut, broken.Status = "error", 529
	for _, tt := range []struct {
		name     string
		steps    []llmtest.Step
		class    llm.Class // "": it ends well
		from, to time.Duration
	}{
		{"L1 retry-after", []llmtest.Step{limited("7"), say("done")}, "", 7 * time.Second, 7 * time.Second},
		{"L2 an hour", []llmtest.Step{limited("3600")}, llmconst.Unavailable, 0, 0},
		{"L3 three times", []llmtest.Step{busy, busy, busy, say("done")}, "", 10 * time.Second, 18 * time.Second},
		{"L3 for ever", []llmtest.Step{busy, busy, busy, busy}, llm.Overloaded, 10 * time.Second, 18 * time.Second},
		{"L4 500", []llmtest.Step{{Status: 500}, say("done")}, "", 1500 * time.Millisecond, 2500 * time.Millisecond},
		{"L5 400", []llmtest.Step{{Status: 400}}, llm.Invalid, 0, 0},
		{"L5 401", []llmtest.Step{{Status: 401}}, llm.Auth, 0, 0},
		{"L5 403", []llmtest.Step{{Status: 403}}, llm.Forbidden, 0, 0},
		{"L5 404", []llmtest.Step{{Status: 404}}, llmconst.NotFound, 0, 0},
		{"L5 413", []llmtest.Step{{Status: 413}}, llmconst.TooLarge, 0, 0},
		{"L6 cut", []llmtest.Step{cut, say("done")}, "", 1500 * time.Millisecond, 2500 * time.Millisecond},
		{"L6 exception", []llmtest.Step{broken, say("done")}, "", 1500 * time.Millisecond, 2500 * time.Millisecond},
	} {
		for name, reach := range platforms {
			t.Run(tt.name+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := llmtest.NewPipe(t, tt.steps...)
					start := time.Now()
					res, err := (&agent.Agent{Model: reach(server.URL, server.Client()), Permissions: bypass}).Prompt(t.Context(), "go")
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
				if res, err := (&agent.Agent{Model: platforms["bedrock"](server.URL, server.Client()), Permissions: bypass}).Prompt(t.Context(), "go"); err != nil || res.Text != "done" {
					t.Errorf("%+v, %v", res, err)
				}
			})
		})
	}
	for _, usage := range []llm.Usage{{Input: -5, Output: -7}, {Input: math.MaxInt, Output: math.MaxInt}} {
		for name, reach := range platforms {
			t.Run(fmt.Sprint("L18 ", usage.Input, " ", name), func(t *testing.T) {
				server := llmtest.NewPipe(t, llmtest.Step{Text: "done", Usage: usage})
				res, err := (&agent.Agent{Model: reach(server.URL, server.Client()), Permissions: bypass}).Prompt(t.Context(), "go")
				if err != nil || res.Text != "done" {
					t.Fatalf("%+v, %v", res, err)
				}
				if u := res.Usage; u.Input < 0 || u.Output < 0 || max(u.Input, u.Output) > math.MaxInt>>2 {
					t.Errorf("%+v", u)
				}
			})
		}
	}
}

// TestNoUsageOfPlatforms is L18: replies of Bedrock and Vertex without usage.
func TestNoUsageOfPlatforms(t *testing.T) {
	for name, reach := range platforms {
		t.Run(name, func(t *testing.T) {
			server := llmtest.NewPipe(t, llmtest.Step{Text: "on my way", Calls: []llm.ToolUse{llmtest.Use("t1", "step", struct{}{})}}, say("done"))
			hc := server.Client()
			hc.Transport = silent{hc.Transport}
			ran := 0
			step := tool.New(tool.Spec{Name: "step", Description: "a step"}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
				ran++
				return tool.Text("ok"), nil
			})
			res, err := (&agent.Agent{Model: reach(server.URL, hc), Permissions: bypass, Tools: []tool.Tool{step}, Budget: agent.Budget{USD: 1}}).Prompt(t.Context(), "go")
			if err != nil || res.Text != "done" || ran != 1 {
				t.Fatalf("%+v, %v", res, err)
			}
			if u := res.Usage; u.Output != 0 || u.Input < 0 {
				t.Errorf("it is said to have used %+v", u)
			}
		})
	}
}

// silent takes the usage out of replies: of events as text, and of frames.
type silent struct{ http.RoundTripper }

func (s silent) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	without := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`"usage"`), []byte(`"abusage"`)) }
	if resp.Header.Get("Content-Type") != eventstream.MediaType {
		data = without(data)
	} else {
		frames := eventstream.NewReader(bytes.NewReader(data), 1<<20)
		data = nil
		for {
			chunk, err := frames.Chunk()
			if err != nil {
				break
			}
			payload := fmt.Appendf(nil, `{"bytes":%q}`, base64.StdEncoding.EncodeToString(without(chunk)))
			data = eventstream.Append(data, payload, ":event-type", "chunk", ":message-type", "event")
		}
	}
	resp.Header.Del("Content-Length")
	resp.ContentLength, resp.Body = -1, io.NopCloser(bytes.NewReader(data))
	return resp, nil
}

func classOf(err error) llm.Class {
	if e := (*llm.APIError)(nil); errors.As(err, &e) {
		return e.Class
	}
	return ""
}

func awsCredentials(context.Context) (bedrock.Credentials, error) {
	return bedrock.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret-of-aws"}, nil
}
