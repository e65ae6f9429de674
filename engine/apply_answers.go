package engine

import (
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
)

// Facts of calls of the model.

// wantModel makes a new model call wanted.
func (s *State) wantModel(cause int64) {
	s.anew()
	if a := s.run.answer; a != nil {
		a.output, a.judged = nil, false
		if s.run.end == event.Completed { // by an answer that is not the last
			s.run.end = ""
		}
	}
	s.need = need{kind: needModel}
	s.model.cause, s.model.attempt, s.model.tries = cause, 0, 0
	s.model.calling, s.model.wait, s.model.changed = false, nil, false
}

func (s *State) modelKey() string {
	return key("model", s.model.cause, 0, s.model.attempt)
}

func (s *State) modelStart(f event.ModelStart) bool {
	switch {
	case f.Call != "":
		return s.digestStart(f)
	case f.Compacts != "":
		return s.compactionStarted(f)
	}
	if !s.open || s.model.calling || s.compact != nil && s.compact.doing != "" || f.Key != s.modelKey() || s.need.kind != needModel || len(s.calls) > 0 {
		return false
	}
	s.model.calling, s.model.wait, s.model.reserved = true, nil, f.ReservedUSD
	s.run.modelCalls++
	return true
}

func (s *State) answered(seq int64, f event.AssistantMessage) bool {
	if !s.open || !s.model.calling || f.Key != s.modelKey() {
		return false
	}
	r := f.Response
	s.model.calling = false
	s.answers++
	if r.Stop != llm.Overflow {
		s.over = nil
	}
	if s.compact != nil && r.Stop != llm.Overflow {
		if r.Usage.Context() > s.compact.windows[f.Model] {
			delete(s.compact.windows, f.Model)
		}
	}
	s.run.turns++
	s.run.api += f.Duration
	if s.run.first == 0 {
		s.run.first = s.run.last.Sub(s.run.began) + f.First
	}
	s.spend(f.Model, r.Usage, f.CostUSD)
	s.size.answered(f.Model, r)
	text := r.Message.Text()
	if a := s.run.answer; a != nil {
		a.part = text
	}
	if s.run.continuing {
		text = s.run.text + text
	}
	s.run.text, s.run.partial, s.run.continuing = text, "", r.Stop == llm.PauseTurn

	s.need = s.after(r)
	s.propose(seq, f)
	if len(s.calls) == 0 && s.need.kind == needModel {
		s.wantModel(seq)
	}
	s.model.cause, s.model.attempt = seq, 0
	return true
}

// after says what an answer without open calls leads to.
func (s *State) after(r llm.Response) need {
	if !truncated(r.Stop) {
		s.run.continuations = 0
	}
	if r.Stop != llm.PauseTurn {
		s.run.pauses = 0
	}
	switch {
	case r.Stop == llm.Refusal:
		return need{kind: needEnd, reason: event.Refused, msg: "the model refused to answer"}
	case r.Stop == llm.Overflow && !s.noCompaction() && s.tooLong(need{needEnd, event.ContextOverflow, "the context window is full", llm.TooLong, 0, ""}):
		if s.run.continuations++; s.run.continuations > maxContinuations {
			return need{kind: needEnd, reason: event.MaxTokens}
		}
		return need{kind: needContinue}
	case r.Stop == llm.Overflow:
		return need{kind: needEnd, reason: event.ContextOverflow, msg: "the context window is full", class: llm.TooLong}
	case r.Stop == llm.MaxTokens:
		if s.run.continuations++; s.run.continuations > maxContinuations {
			return need{kind: needEnd, reason: event.MaxTokens}
		}
		return need{kind: needContinue}
	case r.Stop == llm.PauseTurn:
		if s.run.pauses++; s.run.pauses > maxPauses {
			return need{kind: needEnd, reason: event.ModelError, class: llm.Protocol,
				msg: "the provider paused the turn too often in a row"}
		}
		return need{kind: needModel}
	case slices.ContainsFunc(r.Message.Content, isToolUse):
		return need{kind: needModel}
	}
	return need{kind: needEnd, reason: event.Completed}
}

func isToolUse(b llm.Block) bool {
	_, ok := b.(llm.ToolUse)
	return ok
}

// truncated reports whether an answer may have ended inside a block.
func truncated(stop llm.StopReason) bool { return stop == llm.MaxTokens || stop == llm.Overflow }

func (s *State) modelFailed(seq int64, f event.ModelFailed) bool {
	if c := s.compact; s.open && c != nil && c.calling && f.Key == s.compactionKey(c.cause) {
		return s.summaryFailed(seq, f)
	}
	if !s.open || !s.model.calling || f.Key != s.modelKey() {
		return false
	}
	s.model.calling = false
	s.model.attempt++
	s.model.tries++
	s.run.api += f.Duration
	s.run.partial = f.Partial
	if f.Usage != (llm.Usage{}) {
		s.spend(f.Model, f.Usage, f.CostUSD)
		if f.CostUSD != nil { // the usage is an estimate, the budget a bound
			s.lose(max(0, s.model.reserved-*f.CostUSD))
		}
	}
	switch {
	case s.stop != nil:
	case s.model.changed: // another one is wanted meanwhile
		s.model.changed, s.model.tries = false, 0
	case f.Retry && s.model.tries <= s.cfg.Retries:
		s.model.wait = &wait{key("wait", seq, 0, 0), f.RetryAt}
	case s.fallBack(f):
	case f.Class == llm.TooLong, f.Class == llm.TooLarge:
		end := need{needEnd, event.ContextOverflow, f.Message, f.Class, f.Status, f.RequestID}
		if f.Class == llm.TooLarge && s.over == nil && (!s.spoken() || s.noCompaction()) {
			end.reason = event.ModelError
		}
		if !s.tooLong(end) {
			s.need = end
		}
	default:
		s.need = need{needEnd, event.ModelError, f.Message, f.Class, f.Status, f.RequestID}
	}
	return true
}

// fallBack moves on to the next fallback model, if another model can help.
func (s *State) fallBack(f event.ModelFailed) bool {
	switch f.Class {
	case llm.TooLong, llm.TooLarge, llm.Invalid, llm.Auth, llm.Forbidden, llm.TLS:
		return false
	}
	for s.model.fallback < len(s.cfg.Fallbacks) {
		s.model.fallback++
		if s.Model() != f.Model {
			s.model.tries = 0
			return true
		}
	}
	return false
}

func (s *State) waited(f event.Waited) bool {
	switch {
	case !s.open:
		return false
	case s.model.wait != nil && f.Key == s.model.wait.key:
		s.model.wait = nil
		return true
	case s.cfg.Limits.Time > 0 && !s.run.rang && f.Key == s.alarmKey():
		s.run.rang = true
		if s.stop == nil || s.stop.Reason == event.Suspended {
			s.stop = &event.Stopped{Reason: event.TimedOut, Message: "the time limit of " + s.cfg.Limits.Time.String() + " is over"}
		}
		return true
	}
	return false
}
