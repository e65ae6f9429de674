package engine

import (
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/tool"
)

const unfit = "Your answer does not satisfy the schema: "

// outputChecked takes a verdict.
func (s *State) outputChecked(f fact.OutputChecked) bool {
	if !s.open || s.stop != nil || s.run.answer == nil {
		return false
	}
	if f.Call != "" {
		c := s.calls.find(f.Call)
		if c == nil || c.phase != checking || f.Key != c.key("output") {
			return false
		}
		c.phase, c.verdict = refused, &event.ToolResult{Call: c.id, Result: *tool.Text("Your answer is accepted.")}
		switch {
		case f.Problem == "":
			s.run.accept(f)
			s.run.end = event.Completed
		case s.run.answer.corrected():
			c.verdict.Result, c.verdict.Fault = *tool.Errorf("%s%s\nCall %s again with the whole answer.", unfit, f.Problem, OutputTool), toolrun.InvalidInput
		default:
			c.verdict.Result, c.verdict.Fault = *tool.Errorf("%s%s", unfit, f.Problem), toolrun.InvalidInput
			s.run.end, s.run.endMessage = event.OutputInvalid, f.Problem
		}
		return true
	}
	if len(s.calls.list) > 0 || s.need.kind != needEnd || !s.run.unjudged(s.need.reason) || f.Key != s.run.ending.key("final", s.model.cause) {
		return false
	}
	switch {
	case f.Problem == "":
		s.run.accept(f)
		if s.need.reason == event.MaxTokens {
			s.need.reason = event.Completed
		}
	case s.need.reason != event.MaxTokens && s.run.answer.corrected():
		ask := "Answer again: the whole answer as one JSON object, and nothing else."
		if native, _ := s.Formats(); !native {
			ask = "Give the whole answer by calling " + OutputTool + "."
		}
		s.need = need{kind: needContinue, msg: unfit + f.Problem + "\n" + ask}
	default:
		s.run.answer.judged = true
		s.need = need{kind: needEnd, reason: event.OutputInvalid, msg: f.Problem}
	}
	return true
}
