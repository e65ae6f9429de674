package executor

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
)

// cut returns the fact of a truncation: the content that does not fit the model's window
// and is no longer sent whole.
func (x *Executor) cut(e engine.Cut, c *engine.TruncationPlan) event.Fact {
	f := event.Compacted{Key: e.Key(), Trigger: fact.Overflow, Before: e.Before, After: e.Before}
	if len(c.Cleared) == 0 {
		f.Failed = "the conversation does not fit the model's context window, and nothing of it can be left out"
		return f
	}
	f.Cleared, f.After = c.Cleared, int(float64(e.Fixed+c.After)*e.Scale)
	if len(c.Large) > 0 {
		f.TooLarge = x.tooLarge(e, c.Large)
	}
	return f
}

// tooLarge returns the message for a run that ended because of content that is too large.
// It says what to do.
func (x *Executor) tooLarge(e engine.Cut, large []engine.Large) string {
	var b strings.Builder
	for i, l := range large {
		if i > 0 {
			b.WriteString(", and ")
		}
		switch l.Kind {
		case "result":
			fmt.Fprintf(&b, "the result of %s", l.Tool)
		default:
			b.WriteString("the " + l.Kind)
		}
		if start := x.startOf(l.Start); start != "" {
			fmt.Fprintf(&b, " that begins with %q", start)
		}
		if e.Bytes {
			fmt.Fprintf(&b, " (about %.1f MB)", float64(l.Bytes)/1e6)
		} else {
			fmt.Fprintf(&b, " (about %d tokens)", l.Tokens)
		}
	}
	verb := "is"
	if len(large) > 1 {
		verb = "are"
	}
	fmt.Fprintf(&b, " %s too large for the model", verb)
	switch {
	case e.Bytes:
	case e.Before > e.Room:
		fmt.Fprintf(&b, ", which can be sent about %d tokens at a time, %d of them for the system prompt and the tools", e.Room, e.Fixed)
	default:
		fmt.Fprintf(&b, ", which did not take the request of about %d tokens", e.Before)
	}
	b.WriteString(". From the next prompt on only the beginning and the end are sent; the whole is on record. Say it in parts, or put it into a file to be read in parts")
	return b.String()
}

const maxStart = 60 // most characters of startOf

// startOf returns the first words of a text.
func (x *Executor) startOf(said string) string {
	return text.Runes(text.FirstLine(text.Clean(x.Secrets.Text(said))), maxStart)
}
