package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// recorded returns a store with a session of so many prompts.
func recorded(t *testing.T, prompts int) session.Store {
	store := session.Memory()
	log, err := store.Open(context.Background(), "s", session.Header{Created: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	for n := range int64(prompts) {
		e := event.Event{Seq: n + 1, Prev: n, Session: "s", Time: time.Unix(n, 0),
			Data: event.UserMessage{ID: fmt.Sprint(n), Delivery: "prompt", Message: llm.UserText(fmt.Sprintf("prompt number %d!", n))}}
		if err := log.Append(context.Background(), n, false, e); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

func withPager(store session.Store, id string) func(*Loop) {
	return func(l *Loop) {
		l.Recorded = func() (session.Store, string) { return store, id }
		l.Row = func(r styled.Row) string { return r.Text() }
	}
}

func TestWholeSession(t *testing.T) {
	s := sit(t, t.TempDir(), withPager(recorded(t, 1000), "s"))
	s.types("draft\x0f")
	s.shows("\x1b[?1049h")
	s.shows("prompt number 999!")
	s.types("/number 123!\r")
	s.shows("match in item 1 of 1")
	s.shows("prompt number 123!")
	s.types("y")
	s.shows("\x1b]52;c;")
	s.types("q")
	s.shows("\x1b[?1049l")
	s.types(" goes on")
	s.shows("> draft goes on")
	s.types("\x0f\x0f\x0f") // opened again, and left while it is being opened
	s.stop()
	if err := s.ends(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The timeline shows what was done. Enter goes to an item of the whole session, and back.
func TestTimeline(t *testing.T) {
	store := session.Memory()
	log, err := store.Open(context.Background(), "s", session.Header{Created: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	seq := int64(0)
	add := func(at int64, d event.Data) {
		e := event.Event{Seq: seq + 1, Prev: seq, Session: "s", Time: time.Unix(at, 0), Data: d}
		if err := log.Append(context.Background(), seq, false, e); err != nil {
			t.Fatal(err)
		}
		seq++
	}
	s := sit(t, t.TempDir(), withPager(store, "s"))
	s.types("\x14")
	s.shows("nothing has happened yet")
	add(1, event.UserMessage{ID: "1", Delivery: "prompt", Message: llm.UserText("list the files")})
	add(1, fact.ModelStart{Key: "k", Model: "m"})
	add(3, event.AssistantMessage{Key: "k", Model: "m", Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{
		llm.ToolUse{ID: "u", Name: "Bash", Input: []byte(`{"command":"ls -l"}`)}}}}})
	add(3, event.ToolStart{Call: "c3.0"})
	add(5, event.ToolResult{Call: "c3.0", Result: tool.Result{Content: llm.Blocks{llm.Text{Text: "invoice.sh"}}}})
	add(5, event.RunEnd{Reason: event.Completed})
	s.Tell(ui.Output{Lines: []ui.Line{{Text: "something has changed"}}})
	s.shows("ls -l")
	s.types("\r")
	s.shows("invoice.sh")
	s.types("qhq") // back to the timeline, to the answer, and to the conversation
	s.shows("\x1b[?1049l")
	s.stop()
	if err := s.ends(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A question does not take keys from the pager, which says that one waits.
func TestQuestionBehindPager(t *testing.T) {
	s := sit(t, t.TempDir(), withPager(recorded(t, 10), "s"))
	s.types("\x0f")
	s.shows("prompt number 9!")
	s.Tell(ui.Pose{Question: ui.Question{ID: 1, Tool: "Bash", Command: "rm x"}})
	s.shows("a question waits for you: press q")
	s.types("1yy")
	s.types("q")
	s.shows("\x1b[?1049l")
	s.stop()
	if err := s.ends(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for len(s.actions) > 0 {
		if a := <-s.actions; strings.HasPrefix(fmt.Sprintf("%T", a), "ui.Decide") {
			t.Errorf("keys in the pager answer a question: %v", a)
		}
	}
}

func TestNothingRecorded(t *testing.T) {
	s := sit(t, t.TempDir(), withPager(session.Memory(), "s"))
	s.types("\x0f")
	s.shows("nothing is recorded yet")
	s.types("q")
	s.shows("\x1b[?1049l")
	s.stop()
	if err := s.ends(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
