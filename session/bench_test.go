package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/sessiontest"
	"github.com/openagent-go/agent/tool"
)

// typical is a fact of the usual size: the result of a tool, 2 KB of text.
func typical(seq int64) event.Event {
	text := fmt.Sprintf("%02000d", seq)
	return event.Event{Seq: seq, Prev: seq - 1, Time: time.Unix(seq, 0), Data: event.ToolResult{
		Key: "tool/12/0/1", Call: "c12.0", Result: *tool.Text(text), Duration: time.Second,
	}}
}

func BenchmarkAppend(b *testing.B) {
	for name, sync := range map[string]bool{"sync": true, "nosync": false} {
		b.Run(name, func(b *testing.B) {
			d := session.Folder{Path: b.TempDir()}
			log, err := d.Open(b.Context(), "s", session.Header{})
			if err != nil {
				b.Fatal(err)
			}
			defer log.Close()
			e := typical(1)
			b.ReportAllocs()
			for b.Loop() {
				if err := log.Append(b.Context(), e.Seq-1, sync, e); err != nil {
					b.Fatal(err)
				}
				e.Prev = e.Seq
				e.Seq++
			}
		})
	}
}

func BenchmarkAppendBlob(b *testing.B) {
	d := session.Folder{Path: b.TempDir()}
	log, err := d.Open(b.Context(), "s", session.Header{})
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	e := event.Event{Seq: 1, Data: event.UserMessage{ID: "m", Message: llm.UserText("", llm.Image{Data: make([]byte, 100<<10)})}}
	b.ReportAllocs()
	for b.Loop() {
		if err := log.Append(b.Context(), e.Seq-1, false, e); err != nil {
			b.Fatal(err)
		}
		e.Seq++
	}
}

func filled(b *testing.B, n int) session.Folder {
	b.Helper()
	d := session.Folder{Path: b.TempDir()}
	log, err := d.Open(b.Context(), "s", session.Header{})
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	facts := make([]event.Event, n)
	for i := range facts {
		facts[i] = typical(int64(i + 1))
	}
	if err := log.Append(b.Context(), 0, false, facts...); err != nil {
		b.Fatal(err)
	}
	return d
}

func BenchmarkRead10000(b *testing.B) {
	d := filled(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if n, err := sum(d); n != 10_000 || err != nil {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkOpen10000(b *testing.B) {
	d := filled(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		log, err := d.Open(b.Context(), "s", session.Header{})
		if err != nil {
			b.Fatal(err)
		}
		_ = log.Close()
	}
}

func BenchmarkList1000(b *testing.B) {
	d := session.Folder{Path: b.TempDir()}
	for range 1000 {
		log, err := d.Open(b.Context(), session.NewID(), session.Header{})
		if err == nil {
			err = log.Append(b.Context(), 0, false, sessiontest.Prompts(20)...)
		}
		if err != nil {
			b.Fatal(err)
		}
		_ = log.Close()
	}
	b.ReportAllocs()
	for b.Loop() {
		if list, err := d.List(b.Context()); len(list) != 1000 || err != nil {
			b.Fatal(len(list), err)
		}
	}
}

// BenchmarkLoad50 loads the last 50 of 10,000 messages.
func BenchmarkLoad50(b *testing.B) {
	d := filled(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if last, err := session.Load(b.Context(), d, "s", 50, -1); len(last) != 50 || err != nil {
			b.Fatal(len(last), err)
		}
	}
}

// BenchmarkFork copies a session of 200 facts.
func BenchmarkFork(b *testing.B) {
	d := filled(b, 200)
	b.ReportAllocs()
	for b.Loop() {
		if err := session.Fork(b.Context(), d, "s", session.NewID(), 0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSearch looks for a missing text in 20 MB.
func BenchmarkSearch(b *testing.B) {
	d := filled(b, 10_000)
	b.SetBytes(20 << 20)
	for b.Loop() {
		for h, err := range session.Search(b.Context(), d, "nowhere", session.SearchOptions{}) {
			b.Fatal(h, err)
		}
	}
}
