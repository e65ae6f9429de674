package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session"
)

const (
	maxRecord     = 60_000 // bytes of the record that a review reads
	maxRecordHead = 20_000 // of it, from the beginning
	maxSaid       = 2_000  // bytes of a message of the user or the model
	maxOutput     = 300    // bytes of the output of a tool
)

// A record is what a review reads of a session.
type record struct {
	id     string
	last   int64 // the number of the last fact
	order  []int64
	lines  map[int64]*recordLine
	skills []string // that were used
}

type recordLine struct {
	text string
	user string // what the user said, whole; "" if it is not from the user
}

// readRecord reads the facts of a session that a review is about.
func readRecord(ctx context.Context, store session.Store, id string) (*record, error) {
	r := &record{id: id, lines: map[int64]*recordLine{}}
	tools := map[string]string{}
	add := func(seq int64, user, format string, args ...any) {
		r.order = append(r.order, seq)
		r.lines[seq] = &recordLine{fmt.Sprintf("#%d ", seq) + secrets.Text(fmt.Sprintf(format, args...)) + "\n", user}
	}
	for e, err := range store.Read(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		r.last = e.Seq
		switch f := e.Data.(type) {
		case event.UserMessage:
			if f.Delivery == fact.AsPrompt || f.Delivery == fact.AsSteer || f.Delivery == fact.AsFollowUp {
				said := f.Message.Text()
				if x := f.Expansion; x != nil && x.Scope != nil && !slices.Contains(r.skills, x.Scope.Skill) {
					r.skills = append(r.skills, x.Scope.Skill)
				}
				if f.Expansion != nil { // the text of a skill is not what the user said
					add(e.Seq, "", "user ran a command: %s", text.Bytes(said, maxOutput))
				} else {
					add(e.Seq, said, "user: %s", text.Bytes(said, maxSaid))
				}
			}
		case event.AssistantMessage:
			m := f.Response.Message
			var calls []string
			for i, u := range m.ToolUses() {
				tools[fmt.Sprintf("c%d.%d", e.Seq, i)] = u.Name
				calls = append(calls, u.Name+" "+text.Bytes(string(u.Input), maxOutput))
			}
			said := text.Bytes(m.Text(), maxSaid)
			if len(calls) > 0 {
				said = strings.TrimSpace(said + "\n  calls " + strings.Join(calls, "\n  calls "))
			}
			add(e.Seq, "", "agent: %s", said)
		case event.ToolResult:
			if s := f.Result.Patch.Begin; s != nil && !slices.Contains(r.skills, s.Skill) {
				r.skills = append(r.skills, s.Skill)
			}
			verdict := "output"
			if f.Result.IsError {
				verdict = "error"
			}
			add(e.Seq, "", "%s of %s: %s", verdict, tools[f.Call], text.OneLine(text.Bytes(f.Result.Text(), maxOutput)))
		}
	}
	return r, nil
}

// user reports whether the user said something.
func (r *record) user() bool {
	for _, l := range r.lines {
		if l.user != "" {
			return true
		}
	}
	return false
}

// text returns the record, shortened in the middle.
func (r *record) text() string {
	size := 0
	for _, n := range r.order {
		size += len(r.lines[n].text)
	}
	var head, tail []string
	headSize, tailSize, cut := 0, 0, size > maxRecord
	for i, n := range r.order {
		t := r.lines[n].text
		if cut && headSize+len(t) > maxRecordHead {
			for _, n := range slices.Backward(r.order[i:]) {
				t := r.lines[n].text
				if tailSize+len(t) > maxRecord-maxRecordHead {
					break
				}
				tail, tailSize = append(tail, t), tailSize+len(t)
			}
			break
		}
		head, headSize = append(head, t), headSize+len(t)
	}
	out := strings.Join(head, "")
	if len(head)+len(tail) < len(r.order) {
		out += fmt.Sprintf("(%d left out)\n", len(r.order)-len(head)-len(tail))
	}
	slices.Reverse(tail)
	return out + strings.Join(tail, "")
}

// said reports whether the user said the sentence in one of the facts.
func (r *record) said(quote string, facts []int64) bool {
	quote = text.OneLine(quote)
	return len(quote) >= 10 && len(quote) <= maxSaid && slices.ContainsFunc(facts, func(n int64) bool {
		return strings.Contains(text.OneLine(r.lines[n].user), quote)
	})
}
