package streamjson

import (
	"os"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
)

// BenchmarkDeltas measures a piece of an answer from the event to the write of its line, with the lines
// of Claude Code and with our own.
func BenchmarkDeltas(b *testing.B) {
	for name, claude := range map[string]*claudeLines{"own": nil, "claude": {tasks: new(tasks)}} {
		b.Run(name, func(b *testing.B) {
			null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			if err != nil {
				b.Fatal(err)
			}
			defer null.Close()
			out := NewWriter(null, func(err error) { b.Error(err) })
			r := NewReport("01a21ad2-744b-768b-80a1-0b187a500caf", "anthropic", out.Put)
			r.Started, r.claude = true, claude
			r.showPieces()
			r.Event(event.Event{Data: fact.ModelStart{Key: "model/3.0/0", Model: "claude-sonnet-4-6"}})
			delta := event.Event{Data: event.TextDelta{Key: "model/3.0/0", Text: "a few words "}}
			b.ReportAllocs()
			for b.Loop() {
				r.Event(delta)
			}
			if err := out.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
