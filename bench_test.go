package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// caller is a model without cost: it calls a tool in every answer but the last.
type caller struct{ turns int }

func (c *caller) Name() string { return "caller" }

func (c *caller) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		r := &llm.Response{Model: "caller", Stop: llm.UseTools, Usage: llm.Usage{Input: 100, Output: 10}}
		n := len(req.Messages) / 2
		if n < c.turns-1 {
			input := json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))
			r.Message = llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.ToolUse{ID: "t", Name: "double", Input: input}}}
		} else {
			r.Stop = llm.EndTurn
			r.Message = llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "done"}}}
		}
		yield(llm.Delta{Done: r}, nil)
	}
}

// BenchmarkTurns measures a run of n turns, each with one call of a tool. The
// cost of a turn should not depend on n.
func BenchmarkTurns(b *testing.B) {
	for _, store := range []string{"memory", "dir"} {
		for _, turns := range []int{10, 1000} {
			b.Run(fmt.Sprintf("%s/%d", store, turns), func(b *testing.B) {
				b.ReportAllocs()
				a := &agent.Agent{Model: &caller{turns}, Tools: []tool.Tool{double}}
				if store == "dir" {
					a.Sessions = session.Dir(b.TempDir())
				}
				for b.Loop() {
					s := a.Session("") // keeps its facts in memory
					res, err := s.Prompt(b.Context(), "go")
					s.Close()
					if err != nil || res.Turns != turns {
						b.Fatal(res, err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*turns), "ns/turn")
			})
		}
	}
}

// speaker answers with n deltas.
type speaker struct{ deltas int }

func (s speaker) Name() string { return "speaker" }

func (s speaker) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if !yield(llm.Delta{Block: llm.Text{}}, nil) {
			return
		}
		for range s.deltas {
			if !yield(llm.Delta{Text: "some words of text"}, nil) {
				return
			}
		}
		yield(llm.Delta{Done: &llm.Response{Stop: llm.EndTurn, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "x"}}}}}, nil)
	}
}

// BenchmarkDeltas measures what a streamed delta costs between the model's
// client and the reader of the stream.
func BenchmarkDeltas(b *testing.B) {
	const n = 10_000
	b.ReportAllocs()
	a := &agent.Agent{Model: speaker{n}}
	for b.Loop() {
		for _, err := range a.Stream(b.Context(), "go") {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/delta")
}

// BenchmarkConstruction measures an agent with ten tools, and one prompt's start.
func BenchmarkConstruction(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		a := &agent.Agent{Model: speaker{1}}
		for i := range 10 {
			a.Tools = append(a.Tools, tool.Func(tool.Spec{Name: fmt.Sprintf("tool%d", i)}, func(context.Context, number) (int, error) { return 0, nil }))
		}
		s := a.Session("")
		s.Close()
	}
}

// BenchmarkRun measures what a prompt costs beside its turns: ten tools, one answer.
func BenchmarkRun(b *testing.B) {
	b.ReportAllocs()
	a := &agent.Agent{Model: &caller{1}}
	for i := range 10 {
		a.Tools = append(a.Tools, tool.Func(tool.Spec{Name: fmt.Sprintf("tool%d", i)}, func(context.Context, number) (int, error) { return 0, nil }))
	}
	for b.Loop() {
		if _, err := a.Prompt(b.Context(), "go"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpenSession opens a session of 10,000 facts, 2,500 calls of a tool with 2 KB
// of result each.
func BenchmarkOpenSession(b *testing.B) {
	long := tool.Func(tool.Spec{Name: "double", ReadOnly: true}, func(context.Context, number) (string, error) {
		return strings.Repeat("a line of text that a tool has found\n", 55), nil
	})
	store := session.Dir(b.TempDir())
	a := &agent.Agent{Model: &caller{2500}, Tools: []tool.Tool{long}, Sessions: store}
	s := a.Session("s")
	_, err := s.Prompt(b.Context(), "go")
	if err := errors.Join(err, s.Close()); err != nil {
		b.Fatal(err)
	}
	info, err := session.Stat(b.Context(), store, "s")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s := a.Session("s")
		_, err := s.CanResume(b.Context())
		if err := errors.Join(err, s.Close()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(info.Facts), "facts")
}
