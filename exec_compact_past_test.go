package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/export"
)

// You can rewind to before a compaction, fork there and read it. Before it the conversation
// is the old one, after it the new one.
func TestCompactedPast(t *testing.T) {
	for name, store := range map[string]session.Store{"memory": session.Memory(), "dir": session.Dir(t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			a := &agent.Agent{Sessions: store, Model: llmtest.Script(say(strings.Repeat("early ", 500)), say("middle"), say("<summary>In short.</summary>"), say("late"), say("again"), say("once more"))}
			s := a.Session("s")
			defer func() { s.Close() }()
			conversation := func(s *agent.Session) string {
				t.Helper()
				m, err := s.Messages(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return fmt.Sprint(m)
			}
			ask := func(prompt string) {
				t.Helper()
				if _, err := s.Prompt(t.Context(), prompt); err != nil {
					t.Fatal(err)
				}
			}
			ask("first")
			ask("second")
			before := conversation(s)
			if err := s.Compact(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			after := conversation(s)
			ask("third")
			var at int64
			for _, e := range history(t, store, "s") {
				if f, ok := e.Data.(event.Compacted); ok && f.Until > 0 {
					at = e.Seq
				}
			}
			if at == 0 || !strings.Contains(after, "In short.") || strings.Contains(after, "early early") {
				t.Fatalf("compacted by fact %d: %.300s", at, after)
			}

			for through, want := range map[int64]string{at - 1: before, at: after} {
				f, err := s.Fork(t.Context(), through)
				if err != nil {
					t.Fatal(err)
				}
				if got := conversation(f); got != want {
					t.Errorf("forked at %d of %d: %.300s", through, at, got)
				}
				f.Close()
			}
			for format, write := range map[string]func(context.Context, io.Writer, session.Store, string, export.Options) error{"markdown": export.Markdown, "html": export.HTML, "json": export.JSON} {
				var b bytes.Buffer
				if err := write(t.Context(), &b, store, "s", export.Options{}); err != nil {
					t.Fatal(err)
				}
				for _, want := range []string{"first", "early early", "middle", "third", "late"} {
					if !strings.Contains(b.String(), want) {
						t.Errorf("%s: %q is not in it", format, want)
					}
				}
				if strings.Contains(b.String(), "In short.") {
					t.Errorf("%s: the summary is there as if somebody had said it", format)
				}
				if format == "json" && !json.Valid(b.Bytes()) {
					t.Error("not JSON")
				}
			}

			if err := s.Rewind(t.Context(), at); err != nil { // to after it
				t.Fatal(err)
			}
			if got := conversation(s); got != after {
				t.Errorf("rewound to after it: %.300s", got)
			}
			ask("fourth")
			if err := s.Rewind(t.Context(), at-1); err != nil { // to before it
				t.Fatal(err)
			}
			if got := conversation(s); got != before {
				t.Errorf("rewound to before it: %.300s", got)
			}
			ask("fifth")
			live := conversation(s)
			s.Close()
			s = a.Session("s")
			if got := conversation(s); got != live || !strings.Contains(got, "early early") || strings.Contains(got, "In short.") {
				t.Errorf("resumed: %.300s", got)
			}
		})
	}
}
