package engine

import (
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

// Facts of calls of the model.

const (
	maxContinuations = 3  // of an answer cut off at max_tokens, in a row
	maxPauses        = 10 // pause_turn answers in a row
)

// wantModel makes a new model call wanted.
//
//go:noinline // called from many places: every program stays smaller
func (s *State) wantModel(cause int64) {
	s.run.reopen()
	if a := s.run.answer; a != nil {
		a.output, a.judged = nil, false
		if s.run.end == event.Completed { // by an answer that is not the last
			s.run.end = ""
		}
	}
	s.need = need{kind: needModel}
	s.model.want(cause)
}

func (s *State) modelStart(f fact.ModelStart) bool {
	started := false
	switch {
	case !s.open:
	case f.Call != "":
		started = s.calls.digestStarted(f, s.run.last)
	case s.model.calling || len(s.calls.list) > 0:
	case f.Compacts != "":
		started = s.stop == nil && s.model.wait == nil && s.compactor().started(f, s.run.last)
	case !s.context.compacting() && f.Key == s.model.key() && s.need.kind == needModel:
		s.model.calling, s.model.wait, s.model.reserved = true, nil, reservation{f.Model, f.ReservedUSD, s.run.last}
		started = true
	}
	if started {
		s.run.modelCalls++
	}
	return started
}

func (s *State) answered(seq int64, f event.AssistantMessage) bool {
	if !s.open || !s.model.calling || f.Key != s.model.key() {
		return false
	}
	r := &f.Response
	s.model.calling = false
	s.run.turns++
	s.run.api += f.Duration
	if s.run.first == 0 {
		s.run.first = s.run.last.Sub(s.run.began) + f.First
	}
	s.run.spend(f.Model, r.Usage, f.CostUSD)
	s.context.answered(&f)
	text := r.Message.Text()
	if a := s.run.answer; a != nil {
		a.part = text
	}
	if s.run.continuing {
		text = s.run.text + text
	}
	s.run.text, s.run.partial, s.run.continuing = text, "", r.Stop == llmconst.PauseTurn

	s.need = s.after(r)
	s.calls.propose(seq, &f, &s.settings, &s.run)
	if len(s.calls.list) == 0 && s.need.kind == needModel {
		s.wantModel(seq)
	}
	s.model.cause, s.model.attempt = seq, 0
	return true
}

// after decides how the run proceeds after an answer without open calls.
func (s *State) after(r *llm.Response) need {
	if !truncated(r.Stop) {
		s.run.continuations = 0
	}
	if r.Stop != llmconst.PauseTurn {
		s.run.pauses = 0
	}
	switch {
	case r.Stop == llm.Refusal:
		return need{kind: needEnd, reason: event.Refused, msg: "the model refused to answer"}
	case r.Stop == llmconst.Overflow && !s.settings.noCompaction() && s.context.tooLong(&s.settings, need{needEnd, event.ContextOverflow, "the context window is full", llm.TooLong, 0, ""}):
		if s.run.continuations++; s.run.continuations > maxContinuations {
			return need{kind: needEnd, reason: event.MaxTokens}
		}
		return need{kind: needContinue}
	case r.Stop == llmconst.Overflow:
		return need{kind: needEnd, reason: event.ContextOverflow, msg: "the context window is full", class: llm.TooLong}
	case r.Stop == llm.MaxTokens:
		if s.run.continuations++; s.run.continuations > maxContinuations {
			return need{kind: needEnd, reason: event.MaxTokens}
		}
		return need{kind: needContinue}
	case r.Stop == llmconst.PauseTurn:
		if s.run.pauses++; s.run.pauses > maxPauses {
			return need{kind: needEnd, reason: event.ModelError, class: llmconst.Protocol,
				msg: "the provider paused the turn too often in a row"}
		}
		return need{kind: needModel}
	case slices.ContainsFunc(r.Message.Content, isToolUse):
		return need{kind: needModel}
	}
	return need{kind: needEnd, reason: event.Completed}
}

func (s *State) modelFailed(seq int64, f event.ModelFailed) bool {
	if c := s.context.compact; s.open && c != nil && c.calling && f.Key == s.context.effectKey("compact", c.cause) {
		return s.summaryFailed(seq, &f)
	}
	if !s.open || !s.model.calling || f.Key != s.model.key() {
		return false
	}
	s.model.calling = false
	s.model.attempt++
	s.model.tries++
	s.run.api += f.Duration
	s.run.partial = f.Partial
	if f.Usage != (llm.Usage{}) {
		s.brokeOff(&f, s.model.reserved.usd)
	}
	switch {
	case s.stop != nil:
	case s.model.changed: // another one is wanted by now
		s.model.changed, s.model.tries = false, 0
	case f.Class == llmconst.Detached: // not the model's failure
		s.model.tries--
	case f.Retry && s.model.tries <= s.settings.cfg.Retries:
		s.model.wait = &wait{key("wait", seq, 0, 0), f.RetryAt}
	case s.settings.fallBack(&f):
		s.model.tries = 0
	case f.Class == llm.TooLong, f.Class == llmconst.TooLarge:
		end := need{needEnd, event.ContextOverflow, f.Message, f.Class, f.Status, f.RequestID}
		if f.Class == llmconst.TooLarge && s.context.over == nil && (!s.context.spoken() || s.settings.noCompaction()) {
			end.reason = event.ModelError
		}
		if !s.context.tooLong(&s.settings, end) {
			s.need = end
		}
	case f.Class == llm.OverQuota:
		s.need = need{needEnd, event.MaxBudget, f.Message, f.Class, f.Status, f.RequestID}
	default:
		s.need = need{needEnd, event.ModelError, f.Message, f.Class, f.Status, f.RequestID}
	}
	return true
}

func (s *State) waited(f fact.Waited) bool {
	switch {
	case !s.open:
		return false
	case s.model.wait != nil && f.Key == s.model.wait.key:
		s.model.wait = nil
		return true
	case s.settings.cfg.Limits.Time > 0 && !s.run.rang && f.Key == s.run.alarmKey():
		s.run.rang = true
		if s.stop == nil || s.stop.Reason == event.Suspended {
			s.stop = &fact.Stopped{Reason: event.TimedOut, Message: "the time limit of " + s.settings.cfg.Limits.Time.String() + " is over"}
		}
		return true
	}
	return false
}
