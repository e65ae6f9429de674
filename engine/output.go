package engine

import (
	"encoding/json"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// OutputTool is the tool by which a model gives its answer to a prompt with a schema,
// where it has no other way to be held to it. Only the engine knows of it: it is no
// action, needs no permission, and its result is the verdict about the answer.
const OutputTool = "StructuredOutput"

const unfit = "Your answer does not satisfy the schema: "

// An answer is what the prompt's schema has come to.
type answer struct {
	want        event.Output
	output      json.RawMessage // accepted
	judged      bool            // the final answer was
	part        string          // what the model said last, of a text of several parts
	corrections int
}

// Answer returns the final text of the run, and the part of it that came last.
func (s *State) Answer() (text, last string) {
	if s.need.reason == event.ToolEnded {
		return s.run.toolText, s.run.toolText
	}
	if s.run.answer == nil {
		return s.run.text, s.run.text
	}
	return s.run.text, s.run.answer.part
}

// Output returns what the answer to the prompt has to be, nil for anything.
func (s *State) Output() *event.Output {
	if s.run.answer == nil {
		return nil
	}
	return &s.run.answer.want
}

// Formats reports whether the next answer is held to the schema by the provider,
// and if not, whether the model must be made to call [OutputTool].
func (s *State) Formats() (native, force bool) {
	a := s.run.answer
	if a == nil {
		return false, false
	}
	if !a.want.Tool && s.Info(s.Model()).Formats {
		return true, false
	}
	return false, !s.cfg.Thinking.On() && (len(s.cfg.Tools) == 0 || a.corrections > 0)
}

// answersBy reports whether a call is the answer.
func (s *State) answersBy(u llm.ToolUse) bool {
	return s.run.answer != nil && strings.EqualFold(u.Name, OutputTool)
}

// unjudged reports whether the run would end with an answer that was not checked.
func (s *State) unjudged() bool {
	if s.run.answer == nil || s.run.answer.judged {
		return false
	}
	switch s.need.reason {
	case event.Completed, event.ToolEnded, event.MaxTokens:
		return true
	}
	return false
}

func (s *State) checkOutput() Effect {
	return CheckOutput{key("final", s.model.cause, s.run.ends, 0), ""}
}

// outputChecked takes a verdict.
func (s *State) outputChecked(f event.OutputChecked) bool {
	if !s.open || s.stop != nil || s.run.answer == nil {
		return false
	}
	if f.Call != "" {
		c := s.find(f.Call)
		if c == nil || c.phase != checking || f.Key != c.key("output") {
			return false
		}
		c.phase, c.verdict = refused, &event.ToolResult{Call: c.id, Result: *tool.Text("Your answer is accepted.")}
		switch {
		case f.Problem == "":
			s.accept(f)
			s.run.end = event.Completed
		case s.corrected():
			c.verdict.Result, c.verdict.Fault = *tool.Errorf("%s%s\nCall %s again with the whole answer.", unfit, f.Problem, OutputTool), tool.InvalidInput
		default:
			c.verdict.Result, c.verdict.Fault = *tool.Errorf("%s%s", unfit, f.Problem), tool.InvalidInput
			s.run.end, s.run.doom = event.OutputInvalid, f.Problem
		}
		return true
	}
	if len(s.calls) > 0 || s.need.kind != needEnd || !s.unjudged() || f.Key != s.checkOutput().Key() {
		return false
	}
	switch {
	case f.Problem == "":
		s.accept(f)
		if s.need.reason == event.MaxTokens {
			s.need.reason = event.Completed
		}
	case s.need.reason != event.MaxTokens && s.corrected():
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

// accept makes an answer the output of the run.
func (s *State) accept(f event.OutputChecked) {
	a := s.run.answer
	a.output, a.judged, a.corrections = f.Output, true, 0
	s.run.text, s.run.toolText = string(f.Output), string(f.Output)
}

// corrected counts a correction. It reports false if there were enough.
func (s *State) corrected() bool {
	a := s.run.answer
	a.corrections++
	return a.corrections <= a.want.Corrections
}
