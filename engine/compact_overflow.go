package engine

import (
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
)

// What becomes of requests that a provider finds too long.

// An overflow is such a request.
type overflow struct {
	due   bool // something is to be done about it
	last  bool // the one before was too long as well: what is too large is taken out of the way, and that is all
	bytes bool // the provider speaks of the size of the body
	cut   bool // results cannot be cut so that it is enough
	end   need // how the run ends otherwise
}

// tooLong takes in that the provider has found a request too long. It reports false
// where nothing can be done about it.
func (s *State) tooLong(end need) bool {
	again, shortens := s.over != nil, s.spoken() && !s.noCompaction()
	o := &overflow{due: true, end: end, bytes: end.class == llm.TooLarge, last: again || s.spoken() && !shortens}
	s.over = o
	switch {
	case o.last:
		o.due = o.bytes || int(s.size.largest)*2 > s.size.said
	case !shortens:
		o.due = o.bytes || s.size.largest > minKept
	default:
		s.shorten()
		if !o.bytes {
			s.learnWindow(s.Model())
		}
	}
	return o.due
}

// noCompaction reports whether the conversation is not to be compacted by itself.
func (s *State) noCompaction() bool { return s.cfg.Compaction != nil && s.cfg.Compaction.Off }

// learnWindow concludes that a model's window is smaller than was thought.
func (s *State) learnWindow(model string) {
	n := s.size.tokens(model)
	known := s.Info(model).Window // of which a mistaken refusal makes no other one
	if _, window := s.room(model); n < window && n > known/2 {
		if s.compact.windows == nil {
			s.compact.windows = map[string]int{}
		}
		s.compact.windows[model] = n
	}
}

// cutsOnly reports whether nothing is to be done about a request that is too long but to
// cut what is too large.
func (s *State) cutsOnly() bool { return !s.spoken() || s.over.last }

// spoken reports whether there is something that can be summarised.
func (s *State) spoken() bool { return s.answers > 0 || s.compact != nil && s.compact.made }

// cutsFirst reports whether something is so large that a summary would not make room:
// results, or what was said since the last one.
func (s *State) cutsFirst() bool {
	room, _ := s.room(s.Model())
	return !s.cutsOnly() && !s.over.cut && (int(s.size.output) > room/2 || s.answers == 0 && int(s.size.largest) > s.cut(true).Target)
}

// cut is the effect that cuts what is too large for the window.
func (s *State) cut(first bool) Cut {
	model := s.Model()
	room, _ := s.room(model)
	e := Cut{key: s.compactionKey(s.compactionCause(event.Overflow)), Before: s.size.tokens(model), Fixed: s.size.fixed, Scale: s.size.scale(model),
		Room: room, Bytes: s.over.bytes, Last: s.over.last, First: first}
	if s.compact != nil {
		e.files = s.compact.results
	}
	e.Target = max(0, int(float64(min(room, e.Before*7/10))/e.Scale)-s.size.fixed)
	return e
}

// cutFailed takes in that nothing can be cut that would be enough.
func (s *State) cutFailed(why string) {
	o := s.over
	if s.cutsFirst() { // perhaps a summary does
		o.cut = true
		return
	}
	o.due = false
	s.need = o.end
	if s.need.msg == "" {
		s.need.msg = why
	}
}

// tooLarge ends a run that cannot go on with what is said in it.
func (s *State) tooLarge(f event.Compacted) {
	class := llm.TooLong
	if s.over.bytes {
		class = llm.TooLarge
	}
	end := s.over.end
	s.need = need{needEnd, event.ContextOverflow, f.TooLarge, class, end.status, end.id}
}
