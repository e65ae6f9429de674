package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// What compactions go by where nothing else is configured.
const (
	minReserve     = 10_000 // tokens of the window that are kept free
	keepTokens     = 20_000 // at the end of the conversation, left as they are
	protectTokens  = 40_000 // newest results that are not cleared
	summaryTokens  = 8192   // of a summary, at most
	promptTokens   = 1500   // of what asks for it
	minClear       = 400    // tokens of a result that is worth clearing
	clearedTokens  = 60     // of what stands in its place
	maxMisses      = 3      // compactions in a row that fail or gain too little
	maxLess        = 3      // ways of asking for a summary of less
	summaryAnswers = 2      // since the last compaction, that make a summary worth while
)

// compaction is what a state knows of making the conversation shorter.
type compaction struct {
	results []result // that can be cleared, oldest first
	wish    struct { // somebody's
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
	reserved float64
	refused  bool           // a request for one was too long
	again    bool           // a summary was cut off, and another one is asked for
	asked    string         // the key for which hooks had nothing against it
	wishes   string         // of these hooks, for the summary
	skip     int64          // the cause of the model call that goes without
	misses   int            // in a row, over prompts and resumptions
	why      string         // the last one
	windows  map[string]int // of models that turned out to have smaller ones
}

// result is one that can be cleared.
type result struct {
	call   string
	file   string // that holds it as a whole
	tokens int
}

// shorten returns what is known of compactions, to be changed.
func (s *State) shorten() *compaction {
	if s.compact == nil {
		s.compact = new(compaction)
	}
	return s.compact
}

// produced takes note of a result that may be cleared later: not of errors, and not of
// the text of a skill.
func (s *State) produced(c *call, tokens int, r *tool.Result) {
	s.size.output = max(s.size.output, int32(min(tokens, math.MaxInt32)))
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
	k := s.shorten()
	k.results = append(k.results, out)
}

func (s *State) compactionConfig() event.Compaction {
	if s.cfg.Compaction != nil {
		return *s.cfg.Compaction
	}
	return event.Compaction{}
}

// room returns the tokens that a request may have, and the model's window.
func (s *State) room(model string) (room, window int) {
	cfg, info := s.compactionConfig(), s.Info(model)
	window, _ = info.Room()
	if c := s.compact; c != nil && c.windows[model] > 0 {
		window = min(window, c.windows[model])
	}
	reserve := cfg.Reserve
	if reserve <= 0 {
		output := s.cfg.MaxTokens
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

// trigger says why the conversation is to be compacted before the next model call, ""
// where it is not.
func (s *State) trigger() event.Trigger {
	c := s.compact
	switch {
	case c != nil && c.wish.seq > 0 && (s.need.kind == needModel || s.need.kind == needEnd && s.need.reason == event.Completed):
		return event.Manual
	case s.need.kind != needModel:
		return ""
	case s.over != nil && s.over.due:
		return event.Overflow
	case s.answers < summaryAnswers || s.cfg.Compaction != nil && s.cfg.Compaction.Off:
		return ""
	case c != nil && c.skip == s.model.cause:
		return ""
	}
	model := s.Model()
	if room, _ := s.room(model); s.size.tokens(model) <= room {
		return ""
	}
	return event.Auto
}

// compacting returns what a compaction wants done before anything else.
func (s *State) compacting(effects []Effect) ([]Effect, bool) {
	c := s.compact
	if c != nil && c.doing != "" {
		if w := s.model.wait; w != nil {
			return append(effects, Wait{w.key, w.until}), true
		}
		if e, ok := s.summarise(c.doing); ok || c.calling {
			return append(effects, e), true
		}
		return record(s.compactionFailed(c.doing, noBudget)), true
	}
	if s.model.calling || s.model.wait != nil {
		return nil, false
	}
	trigger := s.trigger()
	if trigger == "" {
		return nil, false
	}
	if trigger == event.Overflow && s.cutsOnly() {
		return append(effects, s.cut(false)), true
	}
	if c != nil && c.misses >= maxMisses && trigger != event.Manual {
		return record(s.compactionFailed(trigger, fmt.Sprintf("the conversation comes near the end of the context window, and %d compactions in a row have not helped: %s; compact it by hand, take a model with a larger window, or begin a new session", c.misses, c.why))), true
	}
	if trigger == event.Manual && s.answers == 0 {
		return record(s.compactionFailed(trigger, NothingToCompact)), true
	}
	cause := s.compactionCause(trigger)
	if s.fires(hook.PreCompact) && (c == nil || c.asked != s.preCompactKey(cause)) {
		f := CallHooks{key: s.preCompactKey(cause), Event: hook.PreCompact, Fields: map[string]string{"trigger": string(hookTrigger(trigger))}}
		if trigger == event.Manual {
			f.Fields["custom_instructions"] = c.wish.instructions
		}
		return append(effects, f), true
	}
	if trigger != event.Manual {
		if f, ok := s.clearing(trigger); ok {
			return record(f), true
		}
	}
	if trigger == event.Overflow && s.cutsFirst() {
		return append(effects, s.cut(true)), true
	}
	if trigger == event.Manual || (s.answers >= summaryAnswers || trigger == event.Overflow) && (c == nil || c.skip != s.model.cause) {
		if e, ok := s.summarise(trigger); ok {
			return append(effects, e), true
		}
		if trigger == event.Manual {
			return record(s.compactionFailed(trigger, noBudget)), true
		}
	}
	if trigger == event.Auto { // the budget says no: it says what becomes of the call as well
		return nil, false
	}
	return append(effects, s.cut(false)), true
}

// Why a compaction does nothing.
const (
	NothingToCompact = "there is nothing to compact yet"
	noBudget         = "a summary does not fit what is left of the budget"
)

func hookTrigger(t event.Trigger) event.Trigger {
	if t == event.Overflow {
		return event.Auto
	}
	return t
}

// compactionCause is the fact that makes a compaction wanted.
func (s *State) compactionCause(t event.Trigger) int64 {
	c := s.compact
	switch {
	case c != nil && c.doing != "":
		return c.cause
	case t == event.Manual && c != nil:
		return c.wish.seq
	}
	return s.model.cause
}

func (s *State) compactionKey(cause int64) string {
	attempt := 0
	if s.compact != nil {
		attempt = s.compact.attempt
	}
	return key("compact", cause, 0, attempt)
}

func (s *State) preCompactKey(cause int64) string {
	attempt := 0
	if s.compact != nil {
		attempt = s.compact.attempt
	}
	return key("precompact", cause, 0, attempt)
}

// compactionFailed makes the fact of a compaction that has not even begun, or does not
// go on.
func (s *State) compactionFailed(t event.Trigger, why string) event.Fact {
	n := s.size.tokens(s.Model())
	f := event.Compacted{Key: s.compactionKey(s.compactionCause(t)), Trigger: t, Failed: why, Before: n, After: n}
	if t == event.Manual {
		f.Instructions = s.compact.wish.instructions
	}
	return f
}

// clearing makes the fact of a compaction without a model: old results are cleared. The
// newest are not. It reports false where that does not gain enough.
func (s *State) clearing(t event.Trigger) (event.Fact, bool) {
	c := s.compact
	if c == nil || len(c.results) == 0 {
		return nil, false
	}
	model := s.Model()
	before := s.size.tokens(model)
	room, _ := s.room(model)
	protect := s.compactionConfig().Protect
	if protect <= 0 {
		protect = protectTokens
	}
	protect = min(protect, room/4)
	end, kept := len(c.results), 0
	last := answerOf(c.results[end-1].call) // what the model has just asked for is not taken away from it
	for end > 0 && (kept+c.results[end-1].tokens <= protect || answerOf(c.results[end-1].call) == last) {
		end--
		kept += c.results[end].tokens
	}
	if end == 0 {
		return nil, false
	}
	freed := 0
	f := event.Compacted{Key: s.compactionKey(s.compactionCause(t)), Trigger: t, Before: before}
	for _, r := range c.results[:end] {
		freed += r.tokens - clearedTokens
		f.Cleared = append(f.Cleared, event.Cleared{Call: r.call, File: r.file})
	}
	whole := s.size.fixed + s.size.said
	f.After = s.size.rescaled(model, whole-freed)
	enough := max(f.After, whole-freed)*10 <= room*8
	if t == event.Overflow { // what the provider counts is not known
		enough = (whole-freed)*10 <= whole*7
	}
	return f, enough
}

// summarise returns the effect of a summary. It reports false where the budget does not
// allow the call, or leaves none for the answer.
func (s *State) summarise(t event.Trigger) (Compact, bool) {
	c, cfg := s.compact, s.compactionConfig()
	model := cfg.Model
	if model == "" {
		model = s.Model()
	}
	_, window := s.room(model)
	room, _ := s.room(s.Model())
	e := Compact{key: s.compactionKey(s.compactionCause(t)), Trigger: t, Model: model, Before: s.size.tokens(s.Model()), Fixed: s.size.fixed,
		Scale: s.size.scale(s.Model()), Pending: !s.run.compacts, Thinking: s.cfg.Thinking}
	output := min(summaryTokens, window/4)
	if c != nil {
		e.Less, e.Tries, e.Again, e.Wishes = c.less, c.tries, c.again, c.wishes
	}
	if e.Again { // with more room, all of it for what is written
		output, e.Thinking = min(2*summaryTokens, window/4), llm.Thought{}
	}
	if t == event.Manual {
		e.Instructions = c.wish.instructions
	}
	asking := promptTokens + textTokens(e.Instructions) + textTokens(e.Wishes)
	if t == event.Overflow {
		e.Less = max(e.Less, 1)
		room = min(room, e.Before)
	}
	input := s.size.tokens(model) + asking
	if e.Less == 0 && input+output+e.Thinking.Tokens() > window {
		e.Less = 1
	}
	if e.Less > 0 {
		e.Thinking = llm.Thought{}
	}
	e.Room = window - output - e.Thinking.Tokens() - asking - s.size.fixed
	if t == event.Overflow || c != nil && c.refused { // whatever the window is said to be
		e.Room = min(e.Room, s.size.said*7/10)
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
	if t == event.Manual {
		e.Keep = min(e.Keep, s.size.said/10)
	}
	e.Most = room / 2
	var ok bool
	if l := s.cfg.Limits.ModelCalls; l > 0 && s.run.modelCalls+s.lent()+1 >= l && !s.run.compacts {
		return e, false
	}
	e.MaxTokens, e.ReservedUSD, ok = s.worst(model, input, output+e.Thinking.Tokens(), e.Thinking.Tokens())
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
