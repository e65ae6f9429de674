package engine

import (
	"fmt"
	"iter"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// A proposal is a call that an answer asks for. [State] and [Transcript] make their calls
// of it.
type proposal struct {
	id    string
	batch string // the call that makes this one; "" for the model
	use   llm.ToolUse
	name  string      // of the tool that is meant
	spec  *event.Tool // an empty one if there is none
	known bool        // there is such a tool
}

func (ts toolset) proposal(id, batch string, u llm.ToolUse) proposal {
	name, known := ts.resolve(u.Name)
	return proposal{id, batch, u, name, ts.find(name), known}
}

// proposals yields the calls of an answer with the places of their blocks.
func (ts toolset) proposals(seq int64, content llm.Blocks) iter.Seq2[int, proposal] {
	return func(yield func(int, proposal) bool) {
		n := 0
		for at, b := range content {
			u, ok := b.(llm.ToolUse)
			if !ok {
				continue
			}
			if !yield(at, ts.proposal(callID(seq, n), "", u)) {
				return
			}
			n++
		}
	}
}

// parts returns the calls that a call of a batch tool asks for.
func (ts toolset) parts(batch string, u llm.ToolUse) ([]proposal, error) {
	uses, err := unbatch(u)
	if err != nil {
		return nil, err
	}
	out := make([]proposal, len(uses))
	for i, use := range uses {
		out[i] = ts.proposal(partID(batch, i), batch, use)
	}
	return out, nil
}

// propose makes calls of the tool uses of an answer.
func (l *callList) propose(seq int64, f event.AssistantMessage, t *settings, r *run) {
	content := f.Response.Message.Content
	l.guard.next()
	l.list = l.list[:0]
	for at, p := range t.tools().proposals(seq, content) {
		var c call
		if r.answersBy(p.use) {
			c = call{id: p.id, toolID: p.use.ID, name: OutputTool, spec: new(event.Tool), phase: checking, judged: true}
		} else {
			c = l.newCall(p, t, r)
		}
		switch {
		case f.Response.Stop == llm.Refusal:
			c.refuse(event.ByCancel, tool.NoFault, "not run: the model's answer was refused")
		case truncated(f.Response.Stop) && at == len(content)-1:
			c.refuse(event.ByTruncated, tool.NoFault, "not run: your answer was cut off inside this call at the limit of output tokens. Send it again, in smaller pieces if it is long.")
		case c.phase == proposed && c.spec.Batch:
			l.proposeBatch(&c, p.use, t, r)
		}
		l.list = append(l.list, c)
	}
}

// newCall makes a call of a proposal, with the reasons to refuse it that are known at once.
func (l *callList) newCall(p proposal, t *settings, r *run) call {
	c := call{id: p.id, batch: p.batch, toolID: p.use.ID, name: p.name, spec: p.spec, sig: signature(p.use)}
	c.guard = l.guard.repeats(&c, p.use.Name)
	switch {
	case !p.known:
		c.refuse(event.ByAbsence, tool.NoFault, "there is no tool %q%s", p.use.Name, t.tools().nearest(p.use.Name))
		r.stopRepeatedCall(c.guard, "there is no such tool")
	case p.use.Invalid != "":
		c.refuse(event.ByTool, tool.InvalidInput, "invalid input: it is not valid JSON: %s", text.Bytes(p.use.Invalid, 200))
		r.stopRepeatedCall(c.guard, "the input is not valid JSON")
	}
	return c
}

// nearest names the tool that an unknown name was probably meant to be.
func (ts toolset) nearest(name string) string {
	var names []string
	for _, t := range ts {
		if slices.Contains(t.Replaces, name) {
			return fmt.Sprintf("; use %s", t.Name)
		}
		names = append(names, t.Name)
	}
	if best := tool.Nearest(name, names); best != "" {
		return fmt.Sprintf("; did you mean %s?", best)
	}
	return ""
}

func isToolUse(b llm.Block) bool {
	_, ok := b.(llm.ToolUse)
	return ok
}

// truncated reports whether an answer may have ended inside a block.
func truncated(stop llm.StopReason) bool { return stop == llm.MaxTokens || stop == llm.Overflow }

const (
	sameCallLimit = 3 // answers in a row with the same call, until it is asked about
	faultLimit    = 3 // failures of a tool in a row, until it is asked about
)

// A loopGuard notices a model that goes round in circles.
type loopGuard struct {
	now    map[uint64]int // how many answers in a row have had a call, by its signature
	before map[uint64]int // the same, up to the answer before
	faults map[string]int // failures in a row by tool
}

// next begins another answer.
func (g *loopGuard) next() { g.before, g.now = g.now, nil }

// repeats counts a call, and returns why it must be asked about, "" if it need not be.
func (g *loopGuard) repeats(c *call, meant string) string {
	times := g.before[c.sig] + 1
	put(&g.now, c.sig, times)
	faults := g.faults[c.name]
	switch {
	case times >= sameCallLimit:
		return fmt.Sprintf("the same call of %s with the same input was made in %d answers in a row", meant, times)
	case faults >= faultLimit:
		return fmt.Sprintf("%s has failed %d times in a row", meant, faults)
	}
	return ""
}

// allowed takes in that someone has looked at a call.
func (g *loopGuard) allowed(c *call) {
	if c.guard != "" {
		delete(g.now, c.sig)
		delete(g.faults, c.name)
	}
}

// result counts the failures of a tool.
func (g *loopGuard) result(c *call, f event.ToolResult) {
	if f.Fault != tool.NoFault {
		put(&g.faults, c.name, g.faults[c.name]+1)
	} else if f.Cause == event.ByTool {
		delete(g.faults, c.name)
	}
}

// signature identifies calls by the FNV-1a hash of their tool and input. Inputs that differ
// only in space are the same.
func signature(u llm.ToolUse) uint64 {
	h := fnv(fnv(14695981039346656037, u.Name), "\x00")
	quoted := false
	for i := 0; i < len(u.Input); i++ {
		switch c := u.Input[i]; {
		case c == '\\' && i+1 < len(u.Input):
			h = (h ^ uint64(c)) * fnvPrime
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			continue
		}
		h = (h ^ uint64(u.Input[i])) * fnvPrime
	}
	return fnv(h, u.Invalid)
}

const fnvPrime = 1099511628211

func fnv(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}
