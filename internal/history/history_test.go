package history_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/history"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

func user(text string, blocks ...llm.Block) history.Turn {
	return history.Turn{Message: llm.UserText(text, blocks...)}
}

func model(text string, calls ...string) history.Turn {
	m := llm.Message{Role: llm.Assistant}
	if text != "" {
		m.Content = llm.Blocks{llm.Text{Text: text}}
	}
	for _, id := range calls {
		m.Content = append(m.Content, llm.ToolUse{ID: id, Name: "Read", Input: []byte(`{"a":1}`)})
	}
	return history.Turn{Message: m}
}

func result(id, text string) llm.Block {
	return llm.ToolResult{ID: id, Content: llm.Blocks{llm.Text{Text: text}}}
}

// resumed stores the facts, has an agent continue with them, and returns the
// messages that its model was asked with, less the last.
func resumed(t *testing.T, facts []event.Event) []llm.Message {
	t.Helper()
	store := session.Memory()
	log, err := store.Open(t.Context(), "s", session.Header{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range facts {
		if err := log.Append(t.Context(), log.Last(), false, e); err != nil {
			t.Fatal(err)
		}
	}
	_ = log.Close()
	m := llmtest.Script(llmtest.Step{Text: "ok"})
	a := &agent.Agent{Model: m, Sessions: store}
	s := a.Session("s")
	defer s.Close()
	if open, err := s.CanResume(t.Context()); err != nil || open {
		t.Fatalf("a run is open: %v, %v", open, err)
	}
	if _, err := s.Prompt(context.Background(), "next"); err != nil {
		t.Fatal(err)
	}
	asked := m.Requests()[0].Messages
	asked = asked[:len(asked)-1]
	for i, m := range asked {
		var uses, results []string
		for _, u := range m.ToolUses() {
			uses = append(uses, u.ID)
		}
		if len(uses) == 0 {
			continue
		}
		if i+1 < len(asked) {
			for _, b := range asked[i+1].Content {
				results = append(results, b.(llm.ToolResult).ID)
			}
		}
		if !reflect.DeepEqual(uses, results) {
			t.Fatalf("the calls %q are followed by the results %q", uses, results)
		}
	}
	return asked
}

// line writes messages in short.
func line(messages []llm.Message) string {
	text := ""
	for _, m := range messages {
		text += string(m.Role[0]) + "("
		for i, b := range m.Content {
			if i > 0 {
				text += " "
			}
			switch b := b.(type) {
			case llm.Text:
				text += b.Text
			case llm.ToolUse:
				text += "?" + b.ID
			case llm.ToolResult:
				text += "=" + b.ID + ":" + b.Content.Text()
			}
		}
		text += ")"
	}
	return text
}

const noResult = "The result of this call is not on record. Whether it took effect is not known: check before you do it again."

func TestWrite(t *testing.T) {
	for name, test := range map[string]struct {
		turns []history.Turn
		want  string
	}{
		"plain":            {[]history.Turn{user("a"), model("b"), user("c"), model("d")}, "u(a)a(b)u(c)a(d)"},
		"calls":            {[]history.Turn{user("a"), model("b", "1", "2"), user("", result("1", "x"), result("2", "y")), model("c")}, "u(a)a(b ?1 ?2)u(=1:x =2:y)a(c)"},
		"results apart":    {[]history.Turn{user("a"), model("", "1", "2"), user("", result("2", "y")), user("", result("1", "x")), model("c")}, "u(a)a(?1 ?2)u(=1:x =2:y)a(c)"},
		"steer":            {[]history.Turn{user("a"), model("", "1"), user("also", result("1", "x")), model("c")}, "u(a)a(?1)u(=1:x)u(also)a(c)"},
		"no result":        {[]history.Turn{user("a"), model("", "1"), user("b"), model("c")}, "u(a)a(?1)u(=1:" + noResult + ")u(b)a(c)"},
		"orphan":           {[]history.Turn{user("a", result("9", "x")), model("b"), user("", result("1", "x")), model("c")}, "u(a)a(b c)"},
		"second result":    {[]history.Turn{user("a"), model("", "1"), user("", result("1", "x"), result("1", "z")), model("b")}, "u(a)a(?1)u(=1:x)a(b)"},
		"begins in answer": {[]history.Turn{model("b"), user("a"), model("c")}, "u((What was said here is missing.))a(b)u(a)a(c)"},
		"ends in a call":   {[]history.Turn{user("a"), model("", "1")}, "u(a)a(?1)u(=1:" + noResult + ")"},
		"same call thrice": {[]history.Turn{user("a"), model("", "1"), user("", result("1", "x")), model("", "1"), user("", result("1", "x")), model("", "1"), user("", result("1", "x")), model("", "1"), user("", result("1", "x")), model("b")},
			"u(a)a(?1)u(=1:x)a(?1)u(=1:x)a(?1)u(=1:x)a(?1)u(=1:x)a(b)"},
		"empty":     {[]history.Turn{user(""), model(""), user("a"), model("")}, "u(a)"},
		"bad input": {[]history.Turn{user("a"), {Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.ToolUse{ID: "1", Input: []byte(`[1`)}}}}, user("", result("1", "x"))}, "u(a)a(?1)u(=1:x)"},
	} {
		t.Run(name, func(t *testing.T) {
			w := history.NewWriter("s", nil, 0, nil)
			w.Write(test.turns, "m", "/dir")
			if got := line(resumed(t, w.Facts())); got != test.want {
				t.Errorf("the conversation is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// Whatever the turns are, the facts are legal, and writing them again changes nothing.
func TestAnyTurns(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var turns []history.Turn
		for range r.IntN(12) {
			id := func() string { return fmt.Sprint(r.IntN(3)) }
			switch r.IntN(5) {
			case 0:
				turns = append(turns, user("u"))
			case 1:
				turns = append(turns, model("a"))
			case 2:
				turns = append(turns, model("", id(), id()))
			case 3:
				turns = append(turns, user("", result(id(), "r")))
			case 4:
				turns = append(turns, user("s", result(id(), "r"), result(id(), "r")))
			}
		}
		w := history.NewWriter("s", nil, 0, nil)
		w.Write(turns, "m", "")
		first := resumed(t, w.Facts())
		turns = nil
		for _, m := range first {
			turns = append(turns, history.Turn{Message: m})
		}
		w = history.NewWriter("s", nil, 0, nil)
		w.Write(turns, "m", "")
		if again := resumed(t, w.Facts()); line(again) != line(first) {
			t.Fatalf("seed %d: the conversation is\n%s\nand the second time\n%s", seed, line(first), line(again))
		}
	}
}

// The recorded data of an answer is kept.
func TestRecord(t *testing.T) {
	cost, at := 0.25, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w := history.NewWriter("s", nil, 0, nil)
	answer := model("b")
	answer.Time, answer.Model, answer.CostUSD, answer.Usage = at, "other", &cost, llm.Usage{Input: 3, Output: 4}
	w.Write([]history.Turn{{ID: "mine", Time: at.Add(-time.Hour), Message: llm.UserText("a")}, answer}, "m", "/dir")
	var types []string
	for i, e := range w.Facts() {
		if e.Seq != int64(i+1) || e.Prev != int64(i) || e.Session != "s" {
			t.Errorf("fact %d is number %d after %d of %q", i+1, e.Seq, e.Prev, e.Session)
		}
		types = append(types, event.Type(e.Data))
		switch d := e.Data.(type) {
		case event.UserMessage:
			if d.ID != "mine" || !e.Time.Equal(at.Add(-time.Hour)) {
				t.Errorf("%+v at %v", d, e.Time)
			}
		case event.AssistantMessage:
			if d.Model != "other" || *d.CostUSD != cost || d.Response.Usage != answer.Usage || !e.Time.Equal(at) {
				t.Errorf("%+v at %v", d, e.Time)
			}
		case event.RunEnd:
			if d.Reason != event.Completed || *d.CostUSD != cost {
				t.Errorf("%+v", d)
			}
		}
	}
	if want := []string{"configured", "user_message", "model_start", "assistant_message", "run_end"}; !reflect.DeepEqual(types, want) {
		t.Errorf("facts are %q, want %q", types, want)
	}
}

// A written run holds the known data of its models.
func TestModelsStay(t *testing.T) {
	was := fact.Configured{Model: "m", System: "Be good.", Models: map[string]llm.Info{"m": {Window: 77, Price: &llm.Price{Input: 3}}, "n": {Window: 5}}}
	w := history.NewWriter("s", []event.Event{{Seq: 1, Data: was}}, 1, nil)
	w.Write([]history.Turn{user("a"), model("b")}, "m", "/dir")
	now, ok := w.Facts()[0].Data.(fact.Configured)
	if !ok || now.System != was.System || !reflect.DeepEqual(now.Models, was.Models) {
		t.Errorf("made with %+v", w.Facts()[0].Data)
	}
}
