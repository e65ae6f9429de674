package engine

import (
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

// Handling of requests that a provider finds too long.

// An overflow is such a request.
type overflow struct {
	due   bool // something is to be done about it
	last  bool // the request before was too long as well: truncate only the largest parts
	bytes bool // the provider speaks of the size of the body
	cut   bool // results cannot be cut so that it is enough
	end   need // how the run ends otherwise
}

// tooLong takes in that the provider has found a request too long. It reports false
// where nothing can be done about it.
func (x *contextState) tooLong(t *settings, end need) bool {
	again, shortens := x.over != nil, x.spoken() && !t.noCompaction()
	o := &overflow{due: true, end: end, bytes: end.class == llmconst.TooLarge, last: again || x.spoken() && !shortens}
	x.over = o
	switch {
	case o.last:
		o.due = o.bytes || int(x.size.largest)*2 > x.size.said
	case !shortens:
		o.due = o.bytes || x.size.largest > minKept
	default:
		x.shorten()
		if !o.bytes {
			x.learnWindow(t, t.model())
		}
	}
	return o.due
}

// learnWindow concludes that a model's window is smaller than was thought.
func (x *contextState) learnWindow(t *settings, model string) {
	n := x.size.tokens(model)
	known := t.info(model).Window // of which a mistaken refusal makes no other one
	if _, window := x.room(t, model); n < window && n > known/2 {
		put(&x.compact.windows, model, n)
	}
}

// spoken reports whether there is something that can be summarised.
func (x *contextState) spoken() bool { return x.answers > 0 || x.compact != nil && x.compact.made }

// cutsOnly reports whether truncating the largest parts is the only thing left to do about
// a request that is too long.
func (x *contextState) cutsOnly() bool { return !x.spoken() || x.over.last }

// cutsFirst reports whether a summary would not make enough room, because results, or texts
// since the last summary, are too large.
func (k compactor) cutsFirst() bool {
	room, _ := k.room(k.settings, k.settings.model())
	return !k.cutsOnly() && !k.over.cut && (int(k.size.output) > room/2 || k.answers == 0 && int(k.size.largest) > k.cut(true).Target)
}

// cut is the effect that truncates parts that are too large for the window.
func (k compactor) cut(first bool) Cut {
	model := k.settings.model()
	room, _ := k.room(k.settings, model)
	e := Cut{key: k.key(fact.Overflow), Before: k.size.tokens(model), Fixed: k.size.fixed, Scale: k.size.scale(model),
		Room: room, Bytes: k.over.bytes, Last: k.over.last, First: first}
	if k.compact != nil {
		e.files = k.compact.results
	}
	e.Target = max(0, int(float64(min(room, e.Before*7/10))/e.Scale)-k.size.fixed)
	return e
}

// failed is how the run ends when nothing can be cut that would be enough.
func (o *overflow) failed(why string) need {
	o.due = false
	end := o.end
	if end.msg == "" {
		end.msg = why
	}
	return end
}

// tooLarge is the end of a run whose conversation cannot be made to fit.
func (o *overflow) tooLarge(f *event.Compacted) need {
	class := llm.TooLong
	if o.bytes {
		class = llmconst.TooLarge
	}
	return need{needEnd, event.ContextOverflow, f.TooLarge, class, o.end.status, o.end.id}
}
