package engine

import (
	"fmt"
	"iter"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
)

// A proposal is a call that an answer asks for. [State] and [Transcript] make their calls
// of it.
type proposal struct {
	id    string
	batch string // the call that makes this one; "" for the model
	use   llm.ToolUse
	name  string     // of the tool that is meant
	spec  *fact.Tool // an empty one if there is none
	known bool       // there is such a tool
}

// propose makes p the proposal of a tool use.
func (ts toolset) propose(p *proposal, id, batch string, u *llm.ToolUse) {
	p.id, p.batch, p.use = id, batch, *u
	p.name, p.known = ts.resolve(u.Name)
	p.spec = ts.find(p.name)
}

// proposals yields the calls of an answer with the places of their blocks. The next call
// replaces a proposal.
func (ts toolset) proposals(seq int64, content llm.Blocks) iter.Seq2[int, *proposal] {
	return func(yield func(int, *proposal) bool) {
		n := 0
		var p proposal
		for at, b := range content {
			u, ok := b.(llm.ToolUse)
			if !ok {
				continue
			}
			ts.propose(&p, callID(seq, n), "", &u)
			if !yield(at, &p) {
				return
			}
			n++
		}
	}
}

// parts returns the calls that a call of a batch tool asks for.
func (ts toolset) parts(batch string, u *llm.ToolUse) ([]proposal, error) {
	uses, err := unbatch(u)
	if err != nil {
		return nil, err
	}
	out := make([]proposal, len(uses))
	for i := range uses {
		ts.propose(&out[i], partID(batch, i), batch, &uses[i])
	}
	return out, nil
}

// propose makes calls of the tool uses of an answer.
func (l *callList) propose(seq int64, f *event.AssistantMessage, t *settings, r *run) {
	content := f.Response.Message.Content
	l.guard.next()
	l.list = l.list[:0]
	for at, p := range t.tools().proposals(seq, content) {
		l.list = append(l.list, call{})
		c := &l.list[len(l.list)-1]
		if r.answersBy(&p.use) {
			c.id, c.toolID, c.name, c.spec, c.phase, c.judged = p.id, p.use.ID, OutputTool, &noTool, checking, true
		} else {
			l.make(c, p, t, r)
		}
		switch {
		case f.Response.Stop == llm.Refusal:
			c.refuse(fact.ByCancel, toolrun.NoFault, "not run: the model's answer was refused")
		case truncated(f.Response.Stop) && at == len(content)-1:
			c.refuse(fact.ByTruncated, toolrun.NoFault, "not run: your answer was cut off inside this call at the limit of output tokens. Send it again, in smaller pieces if it is long.")
		case c.phase == proposed && c.spec.Batch:
			l.proposeBatch(c, &p.use, t, r)
		}
	}
}

// make makes c the call of a proposal, with the reasons to refuse it that are known at once.
func (l *callList) make(c *call, p *proposal, t *settings, r *run) {
	c.id, c.batch, c.toolID, c.name, c.spec, c.sig = p.id, p.batch, p.use.ID, p.name, p.spec, signature(&p.use)
	c.guard = l.guard.proposed(c, p.use.Name, t.loop())
	switch {
	case !p.known:
		c.refuse(fact.ByAbsence, toolrun.NoFault, "there is no tool %q%s", p.use.Name, t.tools().nearest(p.use.Name))
		r.stopRepeatedCall(c.guard, "there is no such tool")
	case p.use.Invalid != "":
		c.refuse(fact.ByTool, toolrun.InvalidInput, "invalid input: it is not valid JSON: %s", text.Bytes(p.use.Invalid, 200))
		r.stopRepeatedCall(c.guard, "the input is not valid JSON")
	}
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
	if best := text.Nearest(name, names); best != "" {
		return fmt.Sprintf("; did you mean %s?", best)
	}
	return ""
}

func isToolUse(b llm.Block) bool {
	_, ok := b.(llm.ToolUse)
	return ok
}

// truncated reports whether an answer may have ended inside a block.
func truncated(stop llm.StopReason) bool { return stop == llm.MaxTokens || stop == llmconst.Overflow }
