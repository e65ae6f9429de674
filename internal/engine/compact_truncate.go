package engine

import (
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/llm"
)

// Of a message or result that is cut, in tokens.
const (
	minKept = minClear // stays at least
	ownKept = 2000     // stays at most of a message that ends the run: the user must say it again
)

// A TruncationPlan lists the parts of a conversation that are no longer sent whole.
type TruncationPlan struct {
	Cleared []event.Cleared // empty: nothing that would be enough
	After   int             // tokens of the messages then
	Large   []Large         // the message that ends the run: a part of it cannot be answered
}

// Large is something that is too large for the window.
type Large struct {
	Kind   string // prompt, message or result
	Tool   string // of a result
	Start  string // of its text
	Tokens int
	Bytes  int
}

// Cut plans the work of a [Cut]. Old results go first. Then the largest other results and
// notes lose their middle. If that is not enough, so does the user's present request, which
// then no longer counts as a request.
func (t *Transcript) Cut(e Cut) TruncationPlan {
	n := len(t.Messages)
	c := cutter{messages: t.Messages[:n:n], marks: t.marks[:n:n], size: contentTokens, floor: minKept, files: e.files}
	if e.Bytes {
		c.size, c.floor = contentBytes, 3*minKept
	}
	whole := c.sum(c.messages)
	target := e.Target
	if e.Bytes {
		target = whole / 2
	}
	all := c.pieces()
	if e.Last {
		i := order.Find(len(all), func(i int) bool { return all[i].size > whole/2 })
		if i < 0 {
			return TruncationPlan{}
		}
		return c.named(c.down(nil, all[i:i+1], min(target, whole/2), c.own()), t)
	}
	var old []event.Cleared
	left := whole
	for _, p := range all {
		if p.old && p.size >= c.floor && left > target {
			old, left = append(old, p.is), left-p.size+clearedTokens
		}
	}
	if len(old) > 0 && c.after(old) <= target {
		return c.cutting(old)
	}
	var theirs, own []piece
	for _, p := range all {
		switch {
		case p.own:
			own = append(own, p)
		case !p.old || !slices.Contains(old, p.is):
			theirs = append(theirs, p)
		}
	}
	if cleared := c.down(old, theirs, target, whole); cleared != nil {
		return c.cutting(cleared)
	}
	if e.First && !order.Any(len(own), func(i int) bool { return own[i].size > target }) {
		return TruncationPlan{}
	}
	cleared := c.down(nil, own, target, c.own())
	if cleared == nil {
		cleared = c.down(old, append(theirs, own...), target, c.own())
	}
	return c.named(cleared, t)
}

// A cutter cuts messages.
type cutter struct {
	messages []llm.Message
	marks    []mark
	size     func(llm.Blocks) int
	floor    int      // least size of a truncated part
	files    []result // that hold results as a whole
}

// A piece is a result, or a message of the user's side, that can be cut.
type piece struct {
	is      event.Cleared
	at      int // the message
	content llm.Blocks
	size    int
	own     bool // the user's present request
	old     bool // a result that is not of the last answer
}

// pieces lists the parts that can be truncated, in the order of the conversation.
func (c *cutter) pieces() []piece {
	var out []piece
	prompt, answer := -1, -1 // the last ones
	for i, m := range c.marks {
		switch m.kind {
		case isPrompt:
			prompt = i
		case isAnswer:
			answer = i
		}
	}
	for i, m := range c.marks {
		switch m.kind {
		case isResults:
			if i == 0 || c.marks[i-1].kind != isAnswer {
				continue
			}
			n := 0
			for _, b := range c.messages[i].Content {
				r, ok := b.(llm.ToolResult)
				if !ok {
					continue
				}
				is := event.Cleared{Call: callID(c.marks[i-1].seq, n)}
				if k := order.Find(len(c.files), func(i int) bool { return c.files[i].call == is.Call }); k >= 0 {
					is.File = c.files[k].file
				}
				out = append(out, piece{is: is, at: i, content: r.Content, size: c.size(r.Content), old: i < answer})
				n++
			}
		default:
			if !m.kind.cuttable() {
				continue
			}
			p := piece{is: event.Cleared{Fact: m.seq}, at: i, content: c.messages[i].Content, size: c.size(c.messages[i].Content), own: i >= prompt && (m.kind == isPrompt || m.kind == isSaid)}
			for _, before := range c.marks[:i] {
				if before.seq == m.seq && before.kind.cuttable() {
					p.is.Index++
				}
			}
			out = append(out, p)
		}
	}
	return out
}

func (c *cutter) sum(messages []llm.Message) int {
	n := 0
	for _, m := range messages {
		n += c.size(m.Content)
	}
	return n
}

// after is the size of all pieces once some are truncated.
func (c *cutter) after(cleared []event.Cleared) int {
	return c.sum(clearResults(c.messages, c.marks, cleared))
}

// own is the most that stays of a message that ends the run.
func (c *cutter) own() int { return c.floor / minKept * ownKept }

// down truncates the largest of some pieces to one size, so that all pieces together fit
// the target. It returns nil if that is impossible.
func (c *cutter) down(cleared []event.Cleared, pieces []piece, target, most int) []event.Cleared {
	sizes := make([]int, 0, len(pieces))
	for _, p := range pieces {
		sizes = append(sizes, p.size)
	}
	excess := c.after(cleared) - target
	if excess <= 0 {
		return cleared
	}
	for most = min(most, level(sizes, excess)); ; most = most * 3 / 4 {
		most = max(most, c.floor)
		out := slices.Clip(cleared)
		for _, p := range pieces {
			if p.size > most+clearedTokens {
				p.is.Keep = c.keep(p, most-clearedTokens)
				out = append(out, p.is)
			}
		}
		switch {
		case len(out) > 0 && c.after(out) <= target:
			return out
		case most == c.floor:
			return nil
		}
	}
}

// keep returns how many bytes of a piece's text have about so much.
func (c *cutter) keep(p piece, size int) int {
	text := p.content.Text()
	whole := c.size(llm.Blocks{llm.Text{Text: text}})
	return max(1, int(float64(len(text))*min(1, float64(size)/float64(max(whole, 1)))))
}

// level returns the size to which the largest of some sizes must shrink so that together
// they lose an excess.
func level(sizes []int, excess int) int {
	slices.Sort(sizes)
	slices.Reverse(sizes)
	sum := 0
	for i, n := range sizes {
		sum += n
		next := 0
		if i+1 < len(sizes) {
			next = sizes[i+1]
		}
		if l := (sum - excess) / (i + 1); l >= next {
			return l
		}
	}
	return 0
}

func (c *cutter) cutting(cleared []event.Cleared) TruncationPlan {
	n := 0
	for _, m := range clearResults(c.messages, c.marks, cleared) {
		n += contentTokens(m.Content)
	}
	return TruncationPlan{Cleared: cleared, After: n}
}

// named describes a truncation that ends the run: it quotes the user's message, or else
// names its kind.
func (c *cutter) named(cleared []event.Cleared, t *Transcript) TruncationPlan {
	if len(cleared) == 0 {
		return TruncationPlan{}
	}
	out := c.cutting(cleared)
	var others []Large
	for _, p := range c.pieces() {
		if !order.Any(len(cleared), func(i int) bool {
			return cleared[i].Call == p.is.Call && cleared[i].Fact == p.is.Fact && cleared[i].Index == p.is.Index
		}) {
			continue
		}
		l := Large{Kind: "message", Start: p.content.Text(), Tokens: contentTokens(p.content), Bytes: contentBytes(p.content)}
		switch {
		case p.is.Call != "":
			l.Kind = "result"
			if call := t.Call(p.is.Call); call != nil {
				l.Tool = call.Name
			}
		case c.marks[p.at].kind == isPrompt:
			l.Kind = "prompt"
		}
		if p.own {
			out.Large = append(out.Large, l)
		} else {
			others = append(others, l)
		}
	}
	if len(out.Large) == 0 {
		out.Large = others
	}
	return out
}

// contentBytes estimates the size of blocks in the body of a request.
func contentBytes(bs llm.Blocks) int {
	n := 0
	for _, b := range bs {
		switch b := b.(type) {
		case llm.Text:
			n += len(b.Text)
		case llm.Image:
			n += len(b.Data) * 4 / 3
		case llm.Document:
			n += len(b.Data) * 4 / 3
		case llm.ToolResult:
			n += contentBytes(b.Content)
		}
	}
	return n
}
