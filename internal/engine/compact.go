package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// The defaults of compactions.
const (
	minReserve     = 10_000 // tokens of the window that are kept free
	keepTokens     = 20_000 // at the end of the conversation, left as they are
	protectTokens  = 40_000 // newest results that are not cleared
	summaryTokens  = 8192   // of a summary, at most
	promptTokens   = 1500   // of the request for it
	minClear       = 400    // tokens of a result that is worth clearing
	clearedTokens  = 60     // of the text that replaces it
	maxMisses      = 3      // compactions in a row that fail or gain too little
	maxLess        = 3      // ways of asking for a summary of less
	summaryAnswers = 2      // since the last compaction, that make a summary worth while
)

// compaction holds the state's data about making the conversation shorter.
type compaction struct {
	results []result // that can be cleared, oldest first
	wish    struct { // someone's
		seq          int64 // of the fact; 0: there is none
		instructions string
	}
	made     bool          // a summary
	doing    event.Trigger // a summary is being made; "": none
	calling  bool          // its model was called
	cause    int64         // the fact that made it wanted
	attempt  int           // counts all calls for summaries
	tries    int           // failures of this one
	less     int           // how much less than everything is summarised
	reserved reservation
	refused  bool           // a request for one was too long
	again    bool           // a summary was cut off, and another one is asked for
	asked    string         // the key for which hooks had nothing against it
	wishes   string         // of these hooks, for the summary
	skip     int64          // the cause of the model call that goes without
	misses   int            // in a row, over prompts and resumptions
	why      string         // the last one
	windows  map[string]int // of models that turned out to have smaller ones
}

// shorten returns the compaction data for changes.
func (x *contextState) shorten() *compaction {
	if x.compact == nil {
		x.compact = new(compaction)
	}
	return x.compact
}

// produced takes note of a result that may be cleared later: not of errors, and not of
// the text of a skill.
func (x *contextState) produced(c *call, tokens int, r *tool.Result) {
	x.size.output = max(x.size.output, int32(min(tokens, math.MaxInt32)))
	if tokens < minClear || r.IsError || r.Patch.Begin != nil {
		return
	}
	out := result{call: c.id, tokens: tokens}
	if r.Truncated {
		var details struct {
			File string `json:"outputPath"`
		}
		if json.Unmarshal(r.Details, &details) == nil {
			out.file = details.File
		}
	}
	k := x.shorten()
	k.results = append(k.results, out)
}

// room returns the tokens that a request may have, and the model's window.
func (x *contextState) room(t *settings, model string) (room, window int) {
	cfg, info := t.compaction(), t.info(model)
	window, _ = info.Room()
	if c := x.compact; c != nil && c.windows[model] > 0 {
		window = min(window, c.windows[model])
	}
	reserve := cfg.Reserve
	if reserve <= 0 {
		output := t.cfg.MaxTokens
		if info.MaxOutput > 0 {
			output = min(output, info.MaxOutput)
		}
		reserve = max(minReserve, output)
	}
	room = window - min(reserve, window/2)
	if cfg.At > 0 {
		room = min(room, int(cfg.At*float64(window)))
	}
	return room, window
}

// effectKey is the key of something that a compaction wants done.
func (x *contextState) effectKey(kind string, cause int64) string {
	attempt := 0
	if x.compact != nil {
		attempt = x.compact.attempt
	}
	return key(kind, cause, 0, attempt)
}

// A compactor decides about compactions. It reads the parts of the state that these
// depend on.
type compactor struct {
	*contextState
	budget
	need need
	next int64 // the cause of the next model call
}

// trigger says why the conversation is to be compacted before the next model call, ""
// where it is not.
func (k compactor) trigger() event.Trigger {
	c := k.compact
	switch {
	case c != nil && c.wish.seq > 0 && (k.need.kind == needModel || k.need.kind == needEnd && k.need.reason == event.Completed):
		return fact.Manual
	case k.need.kind != needModel:
		return ""
	case k.over != nil && k.over.due:
		return fact.Overflow
	case k.answers < summaryAnswers || k.settings.cfg.Compaction != nil && k.settings.cfg.Compaction.Off:
		return ""
	case c != nil && c.skip == k.next:
		return ""
	}
	model := k.settings.model()
	if room, _ := k.room(k.settings, model); k.size.tokens(model) <= room {
		return ""
	}
	return fact.Auto
}

// Why a compaction does nothing.
const (
	NothingToCompact = "there is nothing to compact yet"
	noBudget         = "a summary does not fit what is left of the budget"
)

func hookTrigger(t event.Trigger) event.Trigger {
	if t == fact.Overflow {
		return fact.Auto
	}
	return t
}

// causeOf is the fact that makes a compaction wanted.
func (k compactor) causeOf(t event.Trigger) int64 {
	c := k.compact
	switch {
	case c != nil && c.doing != "":
		return c.cause
	case t == fact.Manual && c != nil:
		return c.wish.seq
	}
	return k.next
}

// key is the key of a compaction.
func (k compactor) key(t event.Trigger) string { return k.effectKey("compact", k.causeOf(t)) }

// hookKey is the key for the hooks that are called before it.
func (k compactor) hookKey(t event.Trigger) string {
	return k.effectKey("precompact", k.causeOf(t))
}

// failed makes the fact of a compaction that did not begin, or that does not continue.
func (k compactor) failed(t event.Trigger, why string) event.Fact {
	n := k.size.tokens(k.settings.model())
	f := event.Compacted{Key: k.key(t), Trigger: t, Failed: why, Before: n, After: n}
	if t == fact.Manual {
		f.Instructions = k.compact.wish.instructions
	}
	return f
}

// clearing makes the fact of a compaction without a model: old results are cleared. The
// newest are not. It reports false where that does not gain enough.
func (k compactor) clearing(t event.Trigger) (event.Fact, bool) {
	c := k.compact
	if c == nil || len(c.results) == 0 {
		return nil, false
	}
	model := k.settings.model()
	before := k.size.tokens(model)
	room, _ := k.room(k.settings, model)
	protect := k.settings.compaction().Protect
	if protect <= 0 {
		protect = protectTokens
	}
	protect = min(protect, room/4)
	end, kept := len(c.results), 0
	last := answerOf(c.results[end-1].call) // the model has just asked for these
	for end > 0 && (kept+c.results[end-1].tokens <= protect || answerOf(c.results[end-1].call) == last) {
		end--
		kept += c.results[end].tokens
	}
	if end == 0 {
		return nil, false
	}
	freed := 0
	f := event.Compacted{Key: k.key(t), Trigger: t, Before: before}
	for _, r := range c.results[:end] {
		freed += r.tokens - clearedTokens
		f.Cleared = append(f.Cleared, event.Cleared{Call: r.call, File: r.file})
	}
	whole := k.size.fixed + k.size.said
	f.After = k.size.rescaled(model, whole-freed)
	enough := max(f.After, whole-freed)*10 <= room*8
	if t == fact.Overflow { // the provider's count is not known
		enough = (whole-freed)*10 <= whole*7
	}
	return f, enough
}

// summarise returns the effect of a summary. It reports false where the budget does not
// allow the call, or leaves none for the answer.
func (k compactor) summarise(t event.Trigger) (Compact, bool) {
	c, cfg := k.compact, k.settings.compaction()
	model := cfg.Model
	if model == "" {
		model = k.settings.model()
	}
	_, window := k.room(k.settings, model)
	room, _ := k.room(k.settings, k.settings.model())
	e := Compact{key: k.key(t), Trigger: t, Model: model, Before: k.size.tokens(k.settings.model()), Fixed: k.size.fixed,
		Scale: k.size.scale(k.settings.model()), Pending: !k.run.compacts, Thinking: k.settings.cfg.Thinking}
	output := min(summaryTokens, window/4)
	if c != nil {
		e.Less, e.Tries, e.Again, e.Wishes = c.less, c.tries, c.again, c.wishes
	}
	if e.Again { // with more room, all of it for new text
		output, e.Thinking = min(2*summaryTokens, window/4), llm.Thought{}
	}
	if t == fact.Manual {
		e.Instructions = c.wish.instructions
	}
	asking := promptTokens + textTokens(e.Instructions) + textTokens(e.Wishes)
	if t == fact.Overflow {
		e.Less = max(e.Less, 1)
		room = min(room, e.Before)
	}
	input := k.size.tokens(model) + asking
	if e.Less == 0 && input+output+e.Thinking.Tokens() > window {
		e.Less = 1
	}
	if e.Less > 0 {
		e.Thinking = llm.Thought{}
	}
	e.Room = window - output - e.Thinking.Tokens() - asking - k.size.fixed
	if t == fact.Overflow || c != nil && c.refused { // even if the window is said to be smaller
		e.Room = min(e.Room, k.size.said*7/10)
	}
	if e.Less > 1 {
		e.Room >>= e.Less - 1
	}
	e.Room = max(e.Room, 1000)
	e.Keep = cfg.Keep
	if e.Keep <= 0 {
		e.Keep = keepTokens
	}
	e.Keep = min(e.Keep, room/5)
	if t == fact.Manual {
		e.Keep = min(e.Keep, k.size.said/10)
	}
	e.Most = room / 2
	var ok bool
	calls := k.modelCalls()
	if !k.run.compacts {
		calls++ // the answer needs one too
	}
	if l := k.settings.cfg.Limits.ModelCalls; l > 0 && calls >= l {
		return e, false
	}
	e.MaxTokens, e.ReservedUSD, ok = k.worst(model, input, output+e.Thinking.Tokens(), e.Thinking.Tokens())
	return e, ok
}

// answerOf returns the number of the answer that has made a call.
func answerOf(call string) int64 {
	seq, _ := splitCall(call)
	return seq
}

// splitCall takes a call's id apart: the number of its answer, and its place there.
func splitCall(id string) (seq int64, index int) {
	a, b, _ := strings.Cut(strings.TrimPrefix(id, "c"), ".")
	b, _, _ = strings.Cut(b, ".")
	seq, err := strconv.ParseInt(a, 10, 64)
	if err != nil {
		return 0, 0
	}
	index, err = strconv.Atoi(b)
	if err != nil {
		return 0, 0
	}
	return seq, index
}

// started takes in that a model was called for a summary.
func (k compactor) started(f fact.ModelStart, now time.Time) bool {
	t := f.Compacts
	c := k.shorten()
	switch {
	case c.calling || f.Key != k.key(t):
		return false
	case c.doing == "" && t != k.trigger():
		return false
	case c.doing != "" && t != c.doing:
		return false
	}
	if e, ok := k.summarise(t); ok {
		c.less = e.Less
	}
	c.cause = k.causeOf(t)
	c.doing, c.calling, c.reserved = t, true, reservation{f.Model, f.ReservedUSD, now}
	return true
}

// shortened takes in a compaction that has changed the conversation.
func (k compactor) shortened(f *event.Compacted) {
	c := k.compact
	k.size.compacted(k.settings.model(), f.After)
	c.forget(f)
	if f.Until > 0 {
		k.answers, c.made = 0, true
	}
	if f.Trigger == fact.Manual {
		c.wish.seq = 0
	}
	if k.gainedTooLittle(f) {
		c.misses++
		c.why = fmt.Sprintf("the last one has made of %d tokens %d", f.Before, f.After)
	} else {
		c.misses = 0
	}
	c.settled()
	if k.over != nil {
		k.over.due = false
	}
}

// forget takes results out of the list that were cleared or summarised.
func (c *compaction) forget(f *event.Compacted) {
	r := c.results
	kept := func(i int) bool {
		cleared := func(k int) bool { return f.Cleared[k].Call == r[i].call && f.Cleared[k].Keep == 0 }
		return answerOf(r[i].call) > f.Until && !order.Any(len(f.Cleared), cleared)
	}
	n := order.Keep(len(r), kept, func(to, from int) { r[to] = r[from] })
	clear(r[n:])
	c.results = r[:n]
	for _, x := range f.Cleared {
		if i := order.Find(n, func(i int) bool { return r[i].call == x.Call }); i >= 0 {
			c.results[i].tokens = min(c.results[i].tokens, clearedTokens+x.Keep/3)
		}
	}
}

// gainedTooLittle reports whether a compaction counts as a failure: a summary that saves
// less than a tenth, or one made in time that leaves too much.
func (k compactor) gainedTooLittle(f *event.Compacted) bool {
	little := f.After*10 > f.Before*9
	if f.Trigger != fact.Auto {
		return little && f.Until > 0
	}
	room, _ := k.room(k.settings, k.settings.model())
	return little || f.After > room
}

// settled forgets how the last summary was asked for.
func (c *compaction) settled() {
	c.doing, c.less, c.tries, c.refused, c.again, c.wishes = "", 0, 0, false, false, ""
}

// equal reports whether two settings of compactions are.
func equal(a, b *fact.Compaction) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
