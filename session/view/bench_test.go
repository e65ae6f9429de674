package view_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session/view"
)

// long returns a session of so many messages, with an answer in progress.
func long(messages int) *view.State {
	s := new(view.State)
	var seq int64
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	add := func(d event.Data) {
		seq++
		s.Apply(event.Event{Seq: seq, Prev: seq - 1, Time: now, Data: d})
	}
	for i := range messages / 2 {
		key := fmt.Sprintf("model/%d.0/0", i)
		add(event.UserMessage{ID: fmt.Sprint(i), Delivery: fact.AsPrompt, Message: llm.UserText("question")})
		add(fact.ModelStart{Key: key, Model: "m"})
		add(event.AssistantMessage{Key: key, Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "answer"}}}}})
		add(event.RunEnd{Reason: event.Completed})
	}
	add(event.UserMessage{ID: "last", Delivery: fact.AsPrompt, Message: llm.UserText("question")})
	add(fact.ModelStart{Key: "model/now", Model: "m"})
	return s
}

// BenchmarkDelta measures a delta of an answer that grows, in a short and in a long session.
func BenchmarkDelta(b *testing.B) {
	for _, messages := range []int{2, 10_000} {
		b.Run(fmt.Sprint(messages), func(b *testing.B) {
			s := long(messages)
			b.ReportAllocs()
			for b.Loop() {
				s.Apply(event.Event{Data: event.TextDelta{Key: "model/now", Text: "some words "}})
				_ = s.Items[len(s.Items)-1].Data.(*view.Answer).Text()
			}
		})
	}
}

// BenchmarkFold measures the fold of a session of 10,000 messages.
func BenchmarkFold(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		long(10_000)
	}
}
