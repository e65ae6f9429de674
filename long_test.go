package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

var entries = flag.Int("entries", 1000, "facts of TestLongHistory")

// A writer is a model that calls the tool write with growing numbers, and looks
// whether the conversation is whole.
type writer struct {
	turns int
	whole int // so many messages were looked at
	bad   error
}

func (w *writer) Name() string { return "writer" }

func (w *writer) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for ; w.whole < len(req.Messages)-1; w.whole++ {
			next := req.Messages[w.whole+1].Content
			for i, u := range req.Messages[w.whole].ToolUses() {
				if i >= len(next) {
					w.bad = fmt.Errorf("call %s has no result", u.ID)
				} else if r, ok := next[i].(llm.ToolResult); !ok || r.ID != u.ID {
					w.bad = fmt.Errorf("call %s is followed by %+v", u.ID, next[i])
				}
			}
		}
		r := &llm.Response{Model: "writer", Stop: llm.EndTurn, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "done"}}}}
		if n := len(req.Messages) / 2; n < w.turns {
			use := llm.ToolUse{ID: fmt.Sprint("t", n), Name: "write", Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
			r.Stop, r.Message.Content = llm.UseTools, llm.Blocks{use}
		}
		yield(llm.Delta{Done: r}, nil)
	}
}

// A session of any length that breaks off at random facts is resumed each time. No
// acknowledged fact is lost, no conversation is broken, and no write is repeated.
func TestLongHistory(t *testing.T) {
	dir := session.Dir(t.TempDir())
	writes := map[int]int{}
	w := write(func(_ context.Context, _ tool.Call, n int) (*tool.Result, error) {
		writes[n]++
		return tool.Text(fmt.Sprint("wrote ", n)), nil
	})
	turns := *entries / 5
	breaks, acked := 0, int64(0)
	for {
		store := &failingStore{Store: dir, left: 1 + rand.IntN(*entries/8)}
		model := &writer{turns: turns}
		s := (&agent.Agent{Model: model, Tools: []tool.Tool{w}, Permissions: bypass, Sessions: store,
			Compaction: &agent.Compaction{Off: true}}).Session("s") // the writer cannot summarise
		var err error
		if acked == 0 {
			_, err = s.Prompt(t.Context(), "go")
		} else {
			for _, e := range s.Resume(t.Context()) {
				err = errors.Join(err, e)
			}
		}
		_ = s.Close()
		if model.bad != nil {
			t.Fatal(model.bad)
		}
		info, statErr := session.Stat(t.Context(), dir, "s")
		acked = max(acked, store.acked)
		if statErr != nil || info.Facts < acked {
			t.Fatalf("%d facts are left of %d, %v", info.Facts, acked, statErr)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, errDisk) {
			t.Fatal(err)
		}
		breaks++
	}
	results, ends, unknown := map[string]int{}, 0, 0
	facts := recordedIn(t, dir)
	for _, e := range facts {
		switch f := e.Data.(type) {
		case event.ToolResult:
			results[f.Call]++
			if f.Cause == fact.ByCrash {
				unknown++
			}
		case event.RunEnd:
			ends++
		}
	}
	repeated := 0
	for _, n := range writes {
		repeated += n - 1
	}
	if len(results) != turns || ends != 1 || repeated > 0 || len(writes)+unknown < turns {
		t.Errorf("%d of %d calls have results, %d unknown; %d ends, %d writes repeated", len(results), turns, unknown, ends, repeated)
	}
	if r, err := session.Verify(t.Context(), dir, "s"); err != nil || len(r.Problems()) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	t.Logf("%d facts, %d writes, broken off %d times, %d outcomes unknown", len(facts), len(writes), breaks, unknown)
}
