package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
)

// conversation is so many messages of text, with a call and its result in each pair.
func conversation(messages int) []llm.Message {
	var list []llm.Message
	for i := range messages / 2 {
		id := fmt.Sprint("u", i)
		list = append(list,
			llm.Message{Role: llm.User, Content: llm.Blocks{llm.ToolResult{ID: id, Content: llm.Blocks{llm.Text{Text: "result of " + id}}}, llm.Text{Text: "go on"}}},
			llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "let me look"}, llm.ToolUse{ID: id + "'", Name: "Read", Input: []byte(`{}`)}}})
	}
	return list
}

var watchStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// turn shows a watch one request and its answer.
func turn(w *CacheWatch, s *State, t *Transcript, key string, read, write int) *event.CacheBroken {
	w.Apply(event.Event{Time: watchStart, Data: fact.ModelStart{Key: key, Model: "m"}}, s, t)
	return w.Apply(event.Event{Time: watchStart, Data: event.AssistantMessage{Key: key, Response: llm.Response{Usage: llm.Usage{CacheRead: read, CacheWrite: write}}}}, s, t)
}

// Where less was read than the cache held, the first difference is named by its place.
func TestCacheWatchNames(t *testing.T) {
	tools := []llm.Tool{{Name: "Read", Description: "reads"}, {Name: "Write", Description: "writes"}}
	for name, tt := range map[string]struct {
		change func(w *CacheWatch, t *Transcript)
		want   event.CacheBroken
	}{
		"nothing": {func(*CacheWatch, *Transcript) {},
			event.CacheBroken{Cause: cacheLost, Message: -1, Text: "the request begins as the last one did: the provider did not find what it had kept"}},
		"a text": {func(_ *CacheWatch, t *Transcript) { t.Messages[1].Content[0] = llm.Text{Text: "let us look"} },
			event.CacheBroken{Cause: cacheMessages, Message: 1, Byte: 4, Text: "message 1 changed, in block 0 at byte 4"}},
		"a result": {func(_ *CacheWatch, t *Transcript) {
			t.Messages[2].Content[0] = llm.ToolResult{ID: "u1", Content: llm.Blocks{llm.Text{Text: "result of u2"}}}
		}, event.CacheBroken{Cause: cacheMessages, Message: 2, Byte: 11, Text: "message 2 changed, in block 0 at byte 11"}},
		"one block more": {func(_ *CacheWatch, t *Transcript) {
			t.Messages[3].Content = append(t.Messages[3].Content, llm.Text{Text: "and more"})
		}, event.CacheBroken{Cause: cacheMessages, Message: 3, Block: 2, Text: "message 3 changed, in block 2 at byte 0"}},
		"fewer messages": {func(_ *CacheWatch, t *Transcript) { t.Messages = t.Messages[:2] },
			event.CacheBroken{Cause: cacheMessages, Message: 2, Text: "message 2 and what follows it are gone"}},
		"a compaction": {func(w *CacheWatch, t *Transcript) {
			w.Apply(event.Event{Data: event.Compacted{}}, new(State), t)
			t.Messages = []llm.Message{llm.UserText("a summary")}
		}, event.CacheBroken{Cause: cacheMessages, Text: "the conversation was compacted"}},
		"a compaction that failed": {func(w *CacheWatch, t *Transcript) {
			w.Apply(event.Event{Data: event.Compacted{Failed: "no"}}, new(State), t)
		}, event.CacheBroken{Cause: cacheLost, Message: -1, Text: "the request begins as the last one did: the provider did not find what it had kept"}},
		"the system prompt": {func(_ *CacheWatch, t *Transcript) { t.System = "You are quick." },
			event.CacheBroken{Cause: cacheSystem, Message: -1, Byte: 8, Text: "the system prompt changed at byte 8"}},
		"a tool more": {func(_ *CacheWatch, t *Transcript) { t.Tools = append(t.Tools[:2:2], llm.Tool{Name: "Late"}) },
			event.CacheBroken{Cause: cacheTools, Message: -1, Tool: "Late", Text: "the tool Late was added"}},
		"a tool less": {func(_ *CacheWatch, t *Transcript) { t.Tools = t.Tools[:1] },
			event.CacheBroken{Cause: cacheTools, Message: -1, Tool: "Write", Text: "the tool Write is gone"}},
		"another order": {func(_ *CacheWatch, t *Transcript) { t.Tools = []llm.Tool{t.Tools[1], t.Tools[0]} },
			event.CacheBroken{Cause: cacheTools, Message: -1, Tool: "Write", Text: "the tool Write stands where Read was"}},
	} {
		t.Run(name, func(t *testing.T) {
			w, s, tr := new(CacheWatch), new(State), &Transcript{System: "You are careful.", Tools: tools, Messages: conversation(4)}
			if b := turn(w, s, tr, "a", 0, 5000); b != nil {
				t.Fatalf("the first answer: %+v", b)
			}
			tr.Messages = conversation(4) // equal values need not share memory
			tt.change(w, tr)
			b := turn(w, s, tr, "b", 0, 5000)
			if b == nil {
				t.Fatal("nothing was found")
			}
			if b.Cause != tt.want.Cause || b.Message != tt.want.Message || b.Block != tt.want.Block || b.Byte != tt.want.Byte || b.Tool != tt.want.Tool || b.Text != tt.want.Text {
				t.Errorf("got %+v\nwant %+v", b, tt.want)
			}
			if b := turn(w, s, tr, "c", 5000, 100); b != nil {
				t.Errorf("and once more: %+v", b)
			}
		})
	}
}

// The cost of a watched turn does not grow with the conversation.
func TestCacheWatchIsFlat(t *testing.T) {
	allocs := func(messages int) float64 {
		w, s, tr := new(CacheWatch), new(State), &Transcript{Messages: conversation(messages)}
		return testing.AllocsPerRun(100, func() { turn(w, s, tr, "k", 5000, 100) })
	}
	if few, many := allocs(10), allocs(10_000); few != many {
		t.Errorf("%v allocations a turn with 10 messages, %v with 10,000", few, many)
	}
}

// BenchmarkCacheWatch measures the extra cost of a watched turn.
func BenchmarkCacheWatch(b *testing.B) {
	for _, messages := range []int{10, 1000} {
		b.Run(fmt.Sprint(messages), func(b *testing.B) {
			b.ReportAllocs()
			w, s, tr := new(CacheWatch), new(State), &Transcript{Messages: conversation(messages)}
			start := event.Event{Data: fact.ModelStart{Key: "k", Model: "m"}}
			answer := event.Event{Data: event.AssistantMessage{Key: "k", Response: llm.Response{Usage: llm.Usage{CacheRead: 5000, CacheWrite: 100}}}}
			for b.Loop() {
				w.Apply(start, s, tr)
				w.Apply(answer, s, tr)
			}
		})
	}
}
