package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/responses"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

func picture() []byte {
	var b bytes.Buffer
	png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 3, 2)))
	return b.Bytes()
}

// whim answers in one of the ways that make conversations hard to repeat.
func whim(rnd *rand.Rand) llmtest.Rule {
	cut := llmtest.Use("t:0", "write", number{1})
	cut.Invalid = `{"n": 1`
	steps := []llmtest.Step{
		say("fine"), say(" \n\t"), {},
		{Thinking: "let me see", Text: "fine "},
		{Thinking: "only thoughts"},
		{Text: "half ", Stop: llm.MaxTokens}, {Text: "  ", Stop: llm.MaxTokens},
		{Text: "half", Calls: []llm.ToolUse{cut}, Stop: llm.MaxTokens},
		{Thinking: "hm", Calls: []llm.ToolUse{llmtest.Use("", "double", number{1}), llmtest.Use("", "write", number{2}), llmtest.Use("", "show", number{3})}},
		{Text: "same ids", Calls: []llm.ToolUse{llmtest.Use("f.f:0", "double", number{1})}},
		llmtest.Call(llmtest.Use("", "nothing", number{1}), llmtest.Use("", "odd name!", number{1})),
		llmtest.Call(llmtest.Use("", "show", number{2}), llmtest.Use("", "fail", number{1})),
		{Text: "stopped", Stop: llm.Refusal},
		{Text: "cut off", CutAfter: 3},
	}
	var mu sync.Mutex // a request that was given up may still be answered
	return func(*llmtest.Request, int) llmtest.Step {
		mu.Lock()
		defer mu.Unlock()
		return steps[rnd.IntN(len(steps))]
	}
}

// No request breaks a rule of its provider. This holds for any answers of models, for runs
// that are cut, killed, resumed and steered, and for any model that continues them.
func TestRequestsStayLegal(t *testing.T) {
	seed := uint64(1)
	if os.Getenv("CI") == "" {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	asked := 0
	for round := range uint64(12) {
		rnd := rand.New(rand.NewPCG(seed, round))
		a, o := llmtest.NewPipe(t), llmtest.NewPipe(t)
		a.Rule, o.Rule = whim(rand.New(rand.NewPCG(seed, 2*round))), whim(rand.New(rand.NewPCG(seed, 2*round+1)))
		models := []llm.Model{
			(&anthropic.Client{APIKey: "k", BaseURL: a.URL, HTTP: a.Client()}).Model("claude-haiku-4-5"),
			(&anthropic.Client{APIKey: "k", BaseURL: a.URL, HTTP: a.Client()}).Model("claude-sonnet-4-6"),
			(&openai.Client{APIKey: "k", BaseURL: o.URL + "/v1", HTTP: o.Client()}).Model("gpt-4.1"),
			(&responses.Client{APIKey: "k", BaseURL: o.URL + "/v1", HTTP: o.Client()}).Model("gpt-5.2"),
		}
		show := tool.New(tool.Spec{Name: "show", ReadOnly: true}, func(_ context.Context, _ tool.Call, in number) (*tool.Result, error) {
			return &tool.Result{IsError: in.N == 2, Content: llm.Blocks{llm.Text{Text: " "}, llm.Image{MediaType: "image/jpeg", Data: picture()},
				llm.Document{MediaType: "application/pdf", Data: []byte("%PDF-1.4 x")}, llm.Text{}}}, nil
		})
		fail := tool.New(tool.Spec{Name: "fail", ReadOnly: true}, func(context.Context, tool.Call, number) (*tool.Result, error) {
			return &tool.Result{IsError: true}, nil
		})
		store := &failingStore{Store: session.Memory(), left: 1 << 30}
		ag := &agent.Agent{Model: models[rnd.IntN(len(models))], Tools: []tool.Tool{double, show, fail, fine}, Permissions: bypass, Sessions: store,
			Retry: &agent.Retry{Tries: 1, Base: time.Millisecond}, Budget: agent.Budget{Turns: 6}}
		s := ag.Session("s")
		for n := range 12 {
			if rnd.IntN(3) == 0 {
				s.SetModel(t.Context(), models[rnd.IntN(len(models))])
			}
			s.SetThinking(t.Context(), llm.Thought{Effort: []string{"", "low", "high"}[rnd.IntN(3)]})
			ctx, cancel := context.WithCancel(t.Context())
			events := s.Stream(ctx, fmt.Sprint("prompt ", n), llm.Image{MediaType: "image/png", Data: picture()})
			if open, _ := s.CanResume(ctx); open && rnd.IntN(2) == 0 {
				events = s.Resume(ctx)
			}
			if rnd.IntN(4) == 0 {
				store.left = rnd.IntN(12) // the program dies
			}
			at, steer := rnd.IntN(40), rnd.IntN(20)
			for e, err := range events {
				if err != nil && strings.Contains(err.Error(), "invalid_request") {
					t.Errorf("round %d: %v", round, err)
				}
				if end, ok := e.Data.(event.RunEnd); ok && end.Class == llm.Invalid {
					t.Errorf("round %d: %s", round, end.Message)
				}
				if at--; at == 0 {
					cancel()
				}
				if steer--; steer == 0 {
					if _, err := s.Steer(ctx, agent.Input{Text: "  by the way"}); err != nil && !errors.Is(err, agent.ErrNotRunning) && !errors.Is(err, context.Canceled) && store.left > 0 {
						t.Error(err)
					}
				}
			}
			cancel()
			store.left = 1 << 30
			if rnd.IntN(3) == 0 {
				s.Close()
				s = ag.Session("s")
			}
		}
		s.Close()
		asked += len(a.Requests()) + len(o.Requests())
	}
	if asked < 100 {
		t.Errorf("only %d requests were made", asked)
	}
}
