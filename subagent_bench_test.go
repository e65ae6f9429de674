package agent_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// A slow caller answers after a time.
type slowCaller struct {
	caller
	delay time.Duration
}

func (c *slowCaller) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	time.Sleep(c.delay)
	return c.caller.Stream(ctx, req)
}

// A starter calls delegate so many times in its first answer.
type starter struct{ agents int }

func (s starter) Name() string { return "starter" }

func (s starter) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		r := &llm.Response{Model: "starter", Stop: llm.EndTurn, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "done"}}}}
		if len(req.Messages) == 1 {
			r.Stop, r.Message.Content = llm.UseTools, nil
			for i := range s.agents {
				r.Message.Content = append(r.Message.Content, llm.ToolUse{ID: fmt.Sprint("t", i), Name: "delegate", Input: fmt.Appendf(nil, `{"n":%d}`, i)})
			}
		}
		yield(llm.Delta{Done: r}, nil)
	}
}

const agents, answers, delay = 100, 5, 20 * time.Millisecond

// crowd puts agents to work at once that have so many answers each.
func crowd() *agent.Agent {
	kind := &agent.Agent{Name: "helper", Model: &slowCaller{caller{answers}, delay}, Tools: []tool.Tool{double}}
	return &agent.Agent{Model: starter{agents}, MaxParallelCalls: agents, Tools: []tool.Tool{delegate(kind, false)}}
}

// BenchmarkAgentsMemory measures what each of 100 agents at once holds in memory in its
// fourth of five answers.
func BenchmarkAgentsMemory(b *testing.B) {
	a := crowd()
	b.ReportAllocs()
	var most uint64
	for b.Loop() {
		s := a.Session("")
		before := live()
		ended := make(chan error, 1)
		go func() { _, err := s.Prompt(b.Context(), "go"); ended <- err }()
		time.Sleep(answers * delay * 3 / 4)
		if now := live(); now > before {
			most = max(most, now-before)
		}
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
	b.ReportMetric(float64(most)/agents/1000, "KB/agent")
}

// BenchmarkAgentsAtOnce measures the time of 100 agents at once that have five answers
// each, of a model that takes 20 ms, beside what the model alone takes.
func BenchmarkAgentsAtOnce(b *testing.B) {
	a := crowd()
	b.ReportAllocs()
	for b.Loop() {
		s := a.Session("")
		if _, err := s.Prompt(b.Context(), "go"); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(answers*delay), "x-ideal")
}

// live is how many bytes are in use, after a collection.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
