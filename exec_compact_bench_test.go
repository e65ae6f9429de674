package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"runtime"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// steady calls a tool so many times for each prompt, and writes summaries.
type steady struct{ turns, at int }

func (s *steady) Name() string { return "steady" }

func (s *steady) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		m := llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "<summary>Numbers were doubled.</summary>"}}}
		stop := llm.EndTurn
		if s.at++; s.at%s.turns != 0 && !wantsSummary(req) {
			m.Content = llm.Blocks{llm.ToolUse{ID: fmt.Sprint("t", s.at), Name: "double", Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, s.at))}}
			stop = llm.UseTools
		}
		yield(llm.Delta{Done: &llm.Response{Model: "steady", Stop: stop, Usage: llm.Usage{Input: 100, Output: 10}, Message: m}}, nil)
	}
}

// BenchmarkCompactedTurns measures the turns of a conversation before and after it was
// compacted: what a compaction leaves behind costs the turns after it nothing.
func BenchmarkCompactedTurns(b *testing.B) {
	const turns = 200
	for _, compact := range []bool{false, true} {
		b.Run(map[bool]string{false: "before", true: "after"}[compact], func(b *testing.B) {
			var m runtime.MemStats
			mallocs := func() uint64 { runtime.ReadMemStats(&m); return m.Mallocs }
			sum, n := uint64(0), 0
			for b.Loop() {
				b.StopTimer()
				a := &agent.Agent{Model: &steady{turns: turns}, Tools: []tool.Tool{double}, Permissions: bypass}
				s := a.Session("")
				if _, err := s.Prompt(b.Context(), "go"); err != nil {
					b.Fatal(err)
				}
				if compact {
					if err := s.Compact(b.Context(), ""); err != nil {
						b.Fatal(err)
					}
					a.Model.(*steady).at = 0
				}
				begun := mallocs()
				b.StartTimer()
				res, err := s.Prompt(b.Context(), "go on")
				b.StopTimer()
				if sum, n = sum+mallocs()-begun, n+turns; err != nil || res.Turns != turns {
					b.Fatal(res, err)
				}
				s.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/turn")
			b.ReportMetric(float64(sum)/float64(n), "allocs/turn")
		})
	}
}
