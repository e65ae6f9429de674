package engine

import (
	"encoding/json"
	"math"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/tokens"
	"github.com/openagent-go/agent/llm"
)

// contextState holds the length of the conversation and the data for making it shorter.
type contextState struct {
	size    size
	answers int            // of the model, since the last summary
	compact *compaction    // nil: nothing is known that matters to one
	over    *overflow      // of the last request; nil: there is none
	hidden  map[string]int // tokens of the deferred tools that were not found yet, by name
}

// configured takes in the system prompt and the tools.
func (x *contextState) configured(f *fact.Configured) {
	fixed := textTokens(f.System)
	if f.Output != nil {
		fixed += textTokens(f.Output.Schema)
	}
	x.hidden = nil
	for i := range f.Tools {
		t := &f.Tools[i]
		if tokens := specTokens(t); t.Deferred {
			put(&x.hidden, t.Name, tokens)
		} else {
			fixed += tokens
		}
	}
	x.size.configured(fixed)
}

// toolChanged replaces the tool of the same name. Calls that were proposed before keep the
// traits of the old one.
func (x *contextState) toolChanged(t *settings, f fact.ToolChanged) bool {
	tools, old, ok := t.tools().replace(f.Tool)
	if !ok {
		return false
	}
	t.cfg.Tools = tools
	if _, hidden := x.hidden[f.Tool.Name]; hidden {
		x.hidden[f.Tool.Name] = specTokens(&f.Tool)
	} else {
		x.size.configured(x.size.fixed - specTokens(&old) + specTokens(&f.Tool))
	}
	return true
}

// toolsChanged takes another list of tools. Those that were found stay found.
func (x *contextState) toolsChanged(s *settings, f fact.ToolsChanged) bool {
	old, hidden := s.tools(), x.hidden
	fixed := textTokens(f.System)
	x.hidden = map[string]int{}
	for i := range f.Tools {
		t := &f.Tools[i]
		_, unfound := hidden[t.Name]
		if t.Deferred && (unfound || old.find(t.Name).Name == "") {
			x.hidden[t.Name] = specTokens(t)
			continue
		}
		fixed += specTokens(t)
	}
	x.size.configured(fixed)
	s.cfg.Tools = f.Tools
	return true
}

// found takes in that the model sees deferred tools from now on.
func (x *contextState) found(names []string) {
	for _, name := range names {
		x.size.added += x.hidden[name]
		delete(x.hidden, name)
	}
}

func specTokens(t *fact.Tool) int {
	return textTokens(t.Name) + textTokens(t.Description) + textTokens(t.Input)
}

// begin takes in that a run begins.
func (x *contextState) begin() {
	x.over = nil
	if c := x.compact; c != nil {
		c.skip = 0
	}
}

// end takes in that a run ends.
func (x *contextState) end(reason event.EndReason) {
	x.over = nil
	if c := x.compact; c != nil {
		if c.settled(); reason != event.Suspended {
			c.wish.seq = 0
		}
		c.calling = false
		c.attempt++
	}
}

// compacting reports whether a summary is being made.
func (x *contextState) compacting() bool { return x.compact != nil && x.compact.doing != "" }

// reconsider forgets that compactions have not helped: something else is configured.
func (x *contextState) reconsider() {
	if x.compact != nil {
		x.compact.misses = 0
	}
}

// answered takes in an answer.
func (x *contextState) answered(f *event.AssistantMessage) {
	r := &f.Response
	x.answers++
	if r.Stop != llmconst.Overflow {
		x.over = nil
		if c := x.compact; c != nil && r.Usage.Context() > c.windows[f.Model] {
			delete(c.windows, f.Model)
		}
	}
	x.size.answered(f.Model, r)
}

// size estimates the tokens of the next request: the provider's own count of the last one,
// and [tokens.AtMost] for everything since.
type size struct {
	fixed   int    // system prompt and tools
	said    int    // all messages
	model   string // that counted last; "" for none
	counted int    // request and answer of its call
	added   int    // since then
	largest int32  // of all messages and results that were ever added
	output  int32  // of results since the last compaction
}

func (s *size) add(tokens int) {
	s.said += tokens
	s.added += tokens
	s.largest = max(s.largest, int32(min(tokens, math.MaxInt32)))
}

func (s *size) configured(fixed int) {
	s.added += max(0, fixed-s.fixed)
	s.fixed = fixed
}

func (s *size) answered(model string, r *llm.Response) {
	s.add(contentTokens(r.Message.Content))
	if c := r.Usage.Context(); c > 0 {
		s.model, s.counted, s.added = model, c+max(r.Usage.Output, 0), 0
	}
}

// tokens is a high estimate: it decides how much a call can cost. Models count differently,
// so a count of another model is not trusted alone.
//
//go:noinline // called from many places: every program stays smaller
func (s *size) tokens(model string) int {
	switch {
	case s.model == "":
		return s.fixed + s.said
	case s.model != model:
		return max(s.counted+s.added, s.fixed+s.said)
	}
	return s.counted + s.added
}

// scale is how many tokens the provider counts for one that is estimated, as far as it
// has counted.
func (s *size) scale(model string) float64 {
	if whole := s.fixed + s.said; whole > 0 {
		return max(0.25, float64(s.tokens(model))/float64(whole))
	}
	return 1
}

// compacted takes in that a request has so many tokens now, as the provider may count.
func (s *size) compacted(model string, tokens int) {
	if scale := s.scale(model); scale < 1 { // back to the high side, until it has counted
		tokens = int(float64(tokens) / scale)
	}
	s.said, s.model, s.counted, s.added, s.output = max(0, tokens-s.fixed), "", 0, 0, 0
}

// rescaled turns estimated tokens into the count to expect of the provider.
func (s *size) rescaled(model string, tokens int) int {
	return int(float64(tokens) * s.scale(model))
}

//go:noinline // called from many places: every program stays smaller
func textTokens[T string | json.RawMessage](s T) int { return tokens.AtMost(s) }

// blockTokens is the overhead of a block beside its text.
const blockTokens = 8

func contentTokens(bs llm.Blocks) int {
	n := 0
	for _, b := range bs {
		n += blockTokens
		switch b := b.(type) {
		case llm.Text:
			n += textTokens(b.Text)
		case llm.Thinking:
			n += textTokens(b.Text)
		case llm.RedactedThinking:
			n += textTokens(b.Data)
		case llm.Image:
			n += tokens.Image
		case llm.Document:
			n += max(3000, len(b.Data)/10)
		case llm.ToolUse:
			n += textTokens(b.Input) + textTokens(b.Name)
		case llm.ToolResult:
			n += contentTokens(b.Content)
		case llm.Verbatim:
			n += textTokens(b.Raw)
		}
	}
	return n
}
