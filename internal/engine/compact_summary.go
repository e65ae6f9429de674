package engine

import (
	"slices"
	"sort"

	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/llm"
)

// A mark is the kind of a message of a transcript, and its fact.
type mark struct {
	seq  int64
	kind messageKind
}

type messageKind uint8

const (
	isOther   messageKind = iota // notices; texts of hooks and the engine
	isPrompt                     // the prompt of a run
	isSaid                       // later messages of the user
	isContext                    // notes about the place
	isAnswer
	isResults
	isSummary
)

// cuttable reports whether a message of this kind may be truncated.
func (k messageKind) cuttable() bool {
	return k == isOther || k == isPrompt || k == isSaid || k == isContext
}

func kindOf(d event.Delivery) messageKind {
	switch d {
	case fact.AsPrompt:
		return isPrompt
	case fact.AsSteer, fact.AsFollowUp:
		return isSaid
	case fact.AsContext:
		return isContext
	}
	return isOther
}

// add appends a message.
//
//go:noinline // called from many places: every program stays smaller
func (t *Transcript) add(m llm.Message, seq int64, kind messageKind) {
	t.Messages = append(t.Messages, m)
	t.marks = append(t.marks, mark{seq, kind})
}

// A SummaryPlan is a compaction in the making: the messages to summarise and those that
// stay.
type SummaryPlan struct {
	// Request are the messages to be summarised. They end where the conversation does.
	Request []llm.Message
	// Until, Kept and Cleared are those of [event.Compacted]. Until is 0 where nothing is
	// left to be summarised.
	Until   int64
	Kept    []int64
	Cleared []event.Cleared
	Memory  []string // of earlier compactions

	messages []llm.Message
	marks    []mark
}

// Shorten plans the work of a [Compact].
func (t *Transcript) Shorten(e Compact) SummaryPlan {
	n := len(t.Messages)
	p := SummaryPlan{Memory: t.memory, messages: t.Messages[:n:n], marks: t.marks[:n:n]}
	p.Request = p.messages
	if e.Less > 0 {
		p.Request = p.lessOf(e.Room)
	}
	from := p.tail(e.Keep)
	for i := range from {
		if p.marks[i].kind != isContext && p.marks[i].kind != isSummary && p.marks[i].seq > p.Until {
			p.Until = p.marks[i].seq
		}
	}
	p.keep(from, e.Keep, e.Pending)
	if kept := p.lostTo(from); kept == 0 {
		p.Until, p.Kept = 0, nil
		return p
	}
	p.clear(from, e.Most)
	return p
}

// lostTo counts the messages before from that do not stay.
func (p *SummaryPlan) lostTo(from int) int {
	n := 0
	for i := range from {
		if p.marks[i].kind != isSummary && !slices.Contains(p.Kept, p.marks[i].seq) {
			n++
		}
	}
	return n
}

// splits reports whether a cut before message i would part a call from its result, or an
// answer from the rest of it.
func (p *SummaryPlan) splits(i int) bool {
	if i <= 0 || i >= len(p.messages) {
		return false
	}
	return p.marks[i].kind == isResults || hasResults(p.messages[i].Content) ||
		p.messages[i].Role == llm.Assistant && p.messages[i-1].Role == llm.Assistant ||
		p.marks[i].seq == p.marks[i-1].seq
}

func hasResults(bs llm.Blocks) bool {
	return slices.ContainsFunc(bs, func(b llm.Block) bool { _, ok := b.(llm.ToolResult); return ok })
}

// tail returns where the messages begin that stay as they are: of the last ones as many
// as have so many tokens, and at least the last answer that has results.
func (p *SummaryPlan) tail(tokens int) int {
	from, sum := len(p.messages), 0
	for i := len(p.messages) - 1; i >= 0; i-- {
		if p.marks[i].kind == isSummary {
			break
		}
		sum += contentTokens(p.messages[i].Content)
		if sum > tokens && from < len(p.messages) {
			break
		}
		if !p.splits(i) {
			from = i
		}
		if sum > tokens && from < len(p.messages) {
			break
		}
	}
	return from
}

// keep lists the messages before from that stay: the notes about the place and, with
// pending, the user's present requests. If those are too much, only the newest stay.
func (p *SummaryPlan) keep(from, tokens int, pending bool) {
	said := pending
	for i := from; i < len(p.marks) && said; i++ {
		said = p.marks[i].kind != isPrompt // it stays anyway
	}
	for i := from - 1; i >= 0; i-- {
		m := p.marks[i]
		switch m.kind {
		case isContext:
		case isPrompt, isSaid:
			if !said {
				continue
			}
			tokens -= contentTokens(p.messages[i].Content)
			if said = m.kind == isSaid; said && tokens < 0 {
				continue
			}
		default:
			continue
		}
		if !slices.Contains(p.Kept, m.seq) {
			p.Kept = append(p.Kept, m.seq)
		}
	}
	sort.Sort(order.By(len(p.Kept), func(i, j int) bool { return p.Kept[i] < p.Kept[j] }, func(i, j int) { p.Kept[i], p.Kept[j] = p.Kept[j], p.Kept[i] }))
}

// clear truncates the largest results of the messages that stay, so that these have at most
// so many tokens. If that is not enough it removes them, the largest first.
func (p *SummaryPlan) clear(from, most int) {
	c := cutter{messages: p.messages[from:], marks: p.marks[from:], size: contentTokens, floor: minKept}
	sum := c.sum(c.messages)
	if sum <= most {
		return
	}
	large := c.pieces()
	large = large[:order.Keep(len(large), func(i int) bool { return large[i].is.Call != "" }, func(to, from int) { large[to] = large[from] })]
	if p.Cleared = c.down(nil, large, most, most); p.Cleared != nil {
		return
	}
	sort.Stable(order.By(len(large), func(i, j int) bool { return large[i].size > large[j].size }, func(i, j int) { large[i], large[j] = large[j], large[i] }))
	for _, r := range large {
		if sum <= most || r.size < minClear {
			return
		}
		sum -= r.size - clearedTokens
		p.Cleared = append(p.Cleared, r.is)
	}
}

// resultsIn returns the results in message i that could be cleared.
func (p *SummaryPlan) resultsIn(i int) []result {
	if i == 0 || p.marks[i].kind != isResults || p.marks[i-1].kind != isAnswer {
		return nil
	}
	var out []result
	n := 0
	for _, b := range p.messages[i].Content {
		if r, ok := b.(llm.ToolResult); ok {
			if tokens := contentTokens(r.Content); !r.IsError {
				out = append(out, result{call: callID(p.marks[i-1].seq, n), tokens: tokens})
			}
			n++
		}
	}
	return out
}

// The text that replaces parts left out of the messages to summarise.
const leftOut = "[The beginning of the conversation is left out here: it does not fit.]"

// lessOf returns the messages without old results, and without as many of the first as
// do not fit.
func (p *SummaryPlan) lessOf(room int) []llm.Message {
	var cleared []event.Cleared
	sum := 0
	for i := len(p.messages) - 1; i >= 0; i-- {
		found := p.resultsIn(i)
		size := contentTokens(p.messages[i].Content)
		if sum+size > room/3 {
			for _, r := range found {
				if r.tokens >= minClear {
					cleared = append(cleared, event.Cleared{Call: r.call})
					size -= r.tokens - clearedTokens
				}
			}
		}
		sum += size
	}
	messages := clearResults(p.messages, p.marks, cleared)
	first := 0
	if len(messages) > 0 && p.marks[0].kind == isSummary {
		first = 1
	}
	for i := first; i < len(messages)-1 && sum > room; i++ {
		sum -= contentTokens(messages[i].Content)
		if !p.splits(i + 1) {
			first = i + 1
		}
	}
	if rest := (&cutter{messages: messages[first:], marks: p.marks[first:], size: contentTokens, floor: minKept}); sum > room { // the last ones alone
		messages = append(slices.Clip(messages[:first]), clearResults(rest.messages, rest.marks, rest.down(nil, rest.pieces(), room, room))...)
	}
	if first == 0 || first == 1 && p.marks[0].kind == isSummary {
		return messages
	}
	var out []llm.Message
	if p.marks[0].kind == isSummary {
		out = append(out, messages[0])
	}
	out = append(out, llm.UserText(leftOut))
	for _, i := range p.wanted(first) {
		if contentTokens(messages[i].Content) <= room/4 {
			out = append(out, messages[i])
		}
	}
	return append(out, messages[first:]...)
}

// wanted lists the messages before i that hold the user's present requests.
func (p *SummaryPlan) wanted(i int) []int {
	var out []int
	for k := len(p.marks) - 1; k >= 0; k-- {
		if m := p.marks[k].kind; (m == isPrompt || m == isSaid) && k < i {
			out = append(out, k)
		}
		if p.marks[k].kind == isPrompt {
			break
		}
	}
	slices.Reverse(out)
	return out
}

// Tokens estimates the conversation without and with a compaction, on the high side.
func (p *SummaryPlan) Tokens(f *event.Compacted) (before, after int) {
	for _, m := range p.messages {
		before += contentTokens(m.Content)
	}
	messages, _ := compactedMessages(p.messages, p.marks, f)
	for _, m := range messages {
		after += contentTokens(m.Content)
	}
	return before, after
}

// compact takes a compaction into the conversation. Requests hold the old messages.
func (t *Transcript) compact(f event.Compacted) {
	if f.Failed != "" {
		return
	}
	t.Messages, t.marks = compactedMessages(t.Messages, t.marks, &f)
	t.last.id = ""
	if f.Until > 0 {
		t.memory = f.Memory
	}
}

// Memory returns the decisions, constraints and preferences that compactions have found.
func (t *Transcript) Memory() []string { return t.memory }

// compactedMessages returns messages after a compaction.
func compactedMessages(messages []llm.Message, marks []mark, f *event.Compacted) ([]llm.Message, []mark) {
	messages = clearResults(messages, marks, f.Cleared)
	if f.Until == 0 {
		return messages, marks
	}
	out := make([]llm.Message, 0, len(messages)+1)
	kinds := make([]mark, 0, len(messages)+1)
	out, kinds = append(out, llm.UserText(summaryText(f))), append(kinds, mark{f.Until, isSummary})
	for i, m := range marks {
		switch {
		case m.kind == isSummary:
			continue
		case m.seq <= f.Until && !(slices.Contains(f.Kept, m.seq) && (m.kind == isPrompt || m.kind == isSaid || m.kind == isContext)):
			continue
		}
		out, kinds = append(out, messages[i]), append(kinds, m)
	}
	return out, kinds
}

// summaryText is the message that replaces the summarised messages.
func summaryText(f *event.Compacted) string {
	var b strings.Builder
	b.WriteString("This conversation was compacted to make room. The summary stands in the place of what was said before; what follows it is word for word. Go on with the work from there, without a word about the summary.\n\n<summary>\n")
	b.WriteString(f.Summary)
	b.WriteString("\n</summary>")
	if f.Cut {
		b.WriteString("\n\nThe summary was cut off before its end. What it would have said of where the work stands and of what comes next is missing: look how things are before you go on.")
	}
	if len(f.Memory) > 0 {
		b.WriteString("\n\nDecisions, constraints and preferences so far, which still hold:\n<memory>")
		for _, m := range f.Memory {
			b.WriteString("\n- " + m)
		}
		b.WriteString("\n</memory>")
	}
	if f.Notes != "" {
		b.WriteString("\n\n" + f.Notes)
	}
	return b.String()
}
