package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/azure"
	"github.com/openagent-go/agent/llm/bedrock"
	"github.com/openagent-go/agent/llm/limit"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/vertex"
	"github.com/openagent-go/agent/tool"
)

// A meter enforces limits in front of a model's server and advertises them.
type meter struct {
	http.RoundTripper
	perMinute [4]float64 // requests, input, output, tokens
	style     string     // of the headers: anthropic or openai
	live      bool       // output counts when it is written, not as max_tokens at the start
	silent    bool       // no headers, only retry-after
	output    int        // tokens of each answer

	mu      sync.Mutex
	level   [4]float64
	at      time.Time
	refused int
	served  int
	input   float64 // tokens served
}

// best is how long so many requests take at least: what does not fit the full buckets
// is filled in by the minute.
func (m *meter) best(requests int) (d time.Duration) {
	for i, used := range []float64{float64(requests), m.input, float64(requests * m.output), 0} {
		if limit := m.perMinute[i]; limit > 0 {
			d = max(d, time.Duration((used-limit)/limit*float64(time.Minute)))
		}
	}
	return d
}

func (m *meter) fill() {
	now := time.Now()
	for i, limit := range m.perMinute {
		if m.at.IsZero() {
			m.level[i] = limit
		}
		m.level[i] = min(m.level[i]+limit/60*now.Sub(m.at).Seconds(), limit)
	}
	m.at = now
}

func (m *meter) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	var asked struct {
		MaxTokens int `json:"max_tokens"`
		Completes int `json:"max_completion_tokens"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	most := float64(max(asked.MaxTokens, asked.Completes))
	in := float64(len(body) / 4) // as the server counts them
	need := [4]float64{1, in, most, in + most}
	if m.live {
		need[2] = 0
	}
	m.mu.Lock()
	m.fill()
	wait := 0.0
	for i, limit := range m.perMinute {
		if limit > 0 && m.level[i] < min(need[i], limit)-1e-3 {
			wait = max(wait, (min(need[i], limit)-m.level[i])/limit*60)
		}
	}
	if wait > 0 {
		m.refused++
		h := http.Header{"Retry-After": {fmt.Sprint(math.Ceil(wait))}, "Content-Type": {"application/json"}}
		m.tell(h)
		m.mu.Unlock()
		return &http.Response{StatusCode: 429, Header: h, Request: req, Body: io.NopCloser(bytes.NewReader([]byte(`{"type":"error","error":{"type":"rate_limit_error","message":"too fast"}}`)))}, nil
	}
	for i := range need {
		m.level[i] -= need[i]
	}
	m.served++
	m.input += in
	m.mu.Unlock()
	resp, err := m.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.fill()
	m.tell(resp.Header)
	m.mu.Unlock()
	resp.Body = &atEnd{ReadCloser: resp.Body, fn: func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.fill()
		m.level[2] = min(m.level[2]+need[2]-float64(m.output), max(m.perMinute[2], 0))
	}}
	return resp, nil
}

// tell adds the headers of a reply.
func (m *meter) tell(h http.Header) {
	if m.silent {
		return
	}
	for i, name := range []string{"requests", "input-tokens", "output-tokens", "tokens"} {
		limit := m.perMinute[i]
		if limit == 0 {
			continue
		}
		left := math.Floor(max(m.level[i], 0))
		full := time.Duration((limit - left) / limit * float64(time.Minute))
		if m.style == "openai" || m.style == "azure" {
			h.Set("x-ratelimit-limit-"+name, fmt.Sprint(limit))
			h.Set("x-ratelimit-remaining-"+name, fmt.Sprintf("%.0f", left))
			h.Set("x-ratelimit-reset-"+name, full.Round(time.Millisecond).String())
			continue
		}
		h.Set("anthropic-ratelimit-"+name+"-limit", fmt.Sprint(limit))
		h.Set("anthropic-ratelimit-"+name+"-remaining", fmt.Sprintf("%.0f", left))
		h.Set("anthropic-ratelimit-"+name+"-reset", time.Now().Add(full).UTC().Format(time.RFC3339))
	}
}

type atEnd struct {
	io.ReadCloser
	once sync.Once
	fn   func()
}

func (b *atEnd) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.once.Do(b.fn)
	}
	return n, err
}

func (b *atEnd) Close() error { b.once.Do(b.fn); return b.ReadCloser.Close() }

// limitedModel returns a model whose requests wait for a limiter.
func limitedModel(t *testing.T, style, base string, hc *http.Client, l *limit.Limiter) llm.Model {
	chat := openai.Client{APIKey: "k", BaseURL: base, HTTP: hc, Limiter: l}
	messages := anthropic.Client{APIKey: "k", BaseURL: base, HTTP: hc, Limiter: l}
	switch style {
	case "openai":
		return chat.Model("gpt-5-mini")
	case "azure":
		m, err := (&azure.Client{Client: chat, Endpoint: base}).Model("gpt-5-mini")
		if err != nil {
			t.Fatal(err)
		}
		return m
	case "bedrock":
		messages.APIKey = ""
		return (&bedrock.Client{Client: messages, Region: "us-east-1", Credentials: awsCredentials}).Model("us.anthropic.claude-sonnet-4-6")
	case "vertex":
		return (&vertex.Client{Client: messages, Project: "p", Tokens: func(context.Context) (vertex.Token, error) { return vertex.Token{Value: "token-of-google"}, nil }}).Model("claude-sonnet-4-6")
	}
	return messages.Model("claude-sonnet-4-6")
}

// Many agents share a key whose provider enforces the limits that it advertises. No request
// is refused, the total takes little longer than the limits require, and no agent waits
// much longer than the others.
func TestRateLimits(t *testing.T) {
	const calls = 3
	text, prompt := strings.Repeat("word", 200), strings.Repeat("word", 700)
	for _, tt := range []*struct {
		name    string
		agents  int
		limiter limit.Limiter
		meter   meter
	}{
		{"requests", 200, limit.Limiter{}, meter{style: "anthropic", perMinute: [4]float64{300, 0, 0, 0}}},
		{"input", 200, limit.Limiter{}, meter{style: "anthropic", perMinute: [4]float64{1000, 100_000, 0, 0}}},
		{"output", 200, limit.Limiter{}, meter{style: "anthropic", perMinute: [4]float64{1000, 0, 40_000, 0}}},
		{"output as it is written", 200, limit.Limiter{}, meter{style: "anthropic", live: true, perMinute: [4]float64{1000, 0, 40_000, 0}}},
		{"all", 200, limit.Limiter{}, meter{style: "anthropic", perMinute: [4]float64{300, 200_000, 60_000, 0}}},
		{"openai", 100, limit.Limiter{}, meter{style: "openai", perMinute: [4]float64{150, 0, 0, 0}}},
		{"azure", 100, limit.Limiter{}, meter{style: "azure", perMinute: [4]float64{150, 0, 0, 0}}},
		{"bedrock", 100, limit.Limiter{Requests: 150, Concurrent: 10}, meter{style: "bedrock", silent: true, perMinute: [4]float64{150, 0, 0, 0}}},
		{"vertex", 100, limit.Limiter{Output: 20_000}, meter{style: "vertex", silent: true, perMinute: [4]float64{0, 0, 20_000, 0}}},
		{"bounds of one's own", 100, limit.Limiter{Requests: 150, Concurrent: 10}, meter{silent: true, perMinute: [4]float64{150, 0, 0, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := llmtest.NewPipe(t)
				server.Rule = func(r *llmtest.Request, _ int) llmtest.Step {
					s := llmtest.Step{Text: text, Delay: 500 * time.Millisecond}
					if len(r.Messages) < 2*calls-1 {
						s.Calls = []llm.ToolUse{{Name: "step", Input: json.RawMessage("{}")}}
					}
					return s
				}
				m := &tt.meter
				m.RoundTripper, m.output = server.Client().Transport, 200
				a := &agent.Agent{Model: limitedModel(t, m.style, server.URL, &http.Client{Transport: m}, &tt.limiter), MaxTokens: 2000, Tools: []tool.Tool{tool.New(tool.Spec{Name: "step", Description: "a step", ReadOnly: true}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) { return tool.Text("ok"), nil })}}
				start := time.Now()
				var mu sync.Mutex
				var ends []time.Duration
				var begun time.Duration // when the last agent had its first answer
				var wg sync.WaitGroup
				for range tt.agents {
					wg.Go(func() {
						answered := false
						for e, err := range a.Stream(t.Context(), prompt) {
							mu.Lock()
							switch f := e.Data.(type) {
							case event.AssistantMessage:
								if !answered {
									answered, begun = true, max(begun, time.Since(start))
								}
							case event.RunEnd:
								ends = append(ends, time.Since(start))
								if f.Reason != event.Completed {
									t.Errorf("a run ended: %s: %s", f.Reason, f.Message)
								}
							}
							mu.Unlock()
							if err != nil {
								t.Error(err)
							}
						}
					})
				}
				wg.Wait()
				slices.Sort(ends)
				all := ends[len(ends)-1]
				best := tt.meter.best(tt.agents * calls)
				t.Logf("%d requests, %d refused; %v, at best %v; first answers by %v, first agent done at %v, median %v",
					m.served, m.refused, all.Round(time.Millisecond), best.Round(time.Millisecond), begun.Round(time.Millisecond), ends[0].Round(time.Millisecond), ends[len(ends)/2].Round(time.Millisecond))
				if m.refused > 0 || m.served != tt.agents*calls {
					t.Errorf("%d of %d requests were refused", m.refused, m.served)
				}
				if all > best*11/10+3*time.Second {
					t.Errorf("it took %v, at best %v", all, best)
				}
				if ends[0] < begun {
					t.Errorf("an agent was done after %v; one had its first answer after %v", ends[0], begun)
				}
			})
		})
	}
}
