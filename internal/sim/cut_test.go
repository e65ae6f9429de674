package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

// unknown is in the result of a call that was cut short.
const unknown = "cut short"

// conversation returns what was said in a session, a line for each block.
func (w *world) conversation(h *handle) (lines []string) {
	messages, err := h.open.Messages(context.Background())
	w.expect(err, "reading messages")
	for _, m := range messages {
		for _, b := range m.Content {
			switch b := b.(type) {
			case llm.Text:
				lines = append(lines, string(m.Role)+" says "+b.Text)
			case llm.ToolUse:
				lines = append(lines, fmt.Sprintf("call %s %s", b.Name, b.Input))
			case llm.ToolResult:
				lines = append(lines, "result "+b.Content.Text())
			}
		}
	}
	return lines
}

// A run that is cut at any write and resumed ends with the conversation of one that is not
// cut, but for outcomes that nobody knows.
func TestCut(t *testing.T) {
	base := *first
	if base == 0 {
		base = 1
	}
	for i := range *seeds / 12 {
		g := &gen{Rand: rand.New(rand.NewPCG(base+uint64(i), 2))}
		p := Program{Seed: base + uint64(i), Wire: pick(g, "anthropic", "openai", "responses"), Mode: permission.Bypass, With: []string{"hook", "decider", "batch", "sub-agent"}}
		for _, f := range features {
			if p.has(f.name) {
				g.with = append(g.with, f)
			}
		}
		prompt := Prompt{Name: "p1", Turns: unasked(append(g.turns(0), g.turns(0)...))}
		p.Ops = []Op{prompt}
		t.Run("", func(t *testing.T) {
			whole := run(t, p)
			report(t, p, whole)
			for range 6 {
				p.Ops = []Op{Kill{1 + g.IntN(30), pick(g, "before", "after", "torn")}, prompt, Await{}, Resume{}, Await{}, Again{Name: "p1"}} // the prompt itself may be lost
				cut := run(t, p)
				report(t, p, cut)
				if len(whole.Said) == 0 || !equal(whole.Said, cut.Said) {
					t.Errorf("seed %d, cut by %+v: %s", p.Seed, p.Ops[0], difference(strings.Join(whole.Said, "\n"), strings.Join(cut.Said, "\n")))
				}
			}
		})
	}
}

// unasked takes the questions to people out of a script: they may answer in another way when
// they are asked again.
func unasked(turns []Turn) []Turn {
	calm := func(c *Call) {
		if c.Tool == "deploy" || strings.HasPrefix(c.Target, "hookdefer-") {
			c.Tool, c.Target = "act", "x0"
		}
	}
	for i := range turns {
		for j := range turns[i].Calls {
			c := &turns[i].Calls[j]
			calm(c)
			for k := range c.Parts {
				calm(&c.Parts[k])
			}
			unasked(c.Turns)
		}
	}
	return turns
}

// equal compares conversations. Results of one that was cut may be unknown.
func equal(whole, cut []string) bool {
	if len(whole) != len(cut) {
		return false
	}
	for i := range whole {
		if whole[i] != cut[i] && !(strings.HasPrefix(whole[i], "result ") && strings.Contains(cut[i], unknown)) {
			return false
		}
	}
	return true
}
