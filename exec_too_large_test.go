package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// narrow is a model that refuses what does not fit its window, as providers do. Its
// requests are held against the rules of the three APIs, of very many some.
func narrow(t *testing.T, window int, answer func(r *llmtest.Request, n int) llmtest.Step) *llmtest.Model {
	m := &llmtest.Model{Facts: llm.Info{Window: window}}
	m.Rule = func(r *llmtest.Request, n int) llmtest.Step {
		checkAnthropicRules(t, &r.Request)
		if n < 60 || n%30 == 0 {
			checkWire(t, &r.Request)
		}
		if tokens := tokensOf(&r.Request); tokens > window {
			return llmtest.Fail(&llm.APIError{Class: llm.TooLong, Status: 400, Message: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, window), RetryAfter: -1})
		}
		step := answer(r, n)
		step.Usage = llm.Usage{Input: tokensOf(&r.Request), Output: 50}
		return step
	}
	return m
}

// endsFor checks that a run has ended because something is too large, and that the words
// name it.
func endsFor(t *testing.T, res *agent.Result, err error, words ...string) {
	t.Helper()
	if !errors.Is(err, agent.ErrLimit) || res == nil || res.Reason != event.ContextOverflow {
		t.Fatalf("%+v, %v", res, err)
	}
	for _, want := range append(words, "too large for the model", "on record") {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

// whole reports whether a text is on record as a whole.
func whole(t *testing.T, store session.Store, id, text string) bool {
	for _, e := range history(t, store, id) {
		if f, ok := e.Data.(event.UserMessage); ok && strings.Contains(f.Message.Text(), text) {
			return true
		}
	}
	return false
}

// A prompt that is larger than the window ends with an error that names it, and the next
// one goes on: the large one is sent only in part, and is on record.
func TestTooLargePrompt(t *testing.T) {
	large := "Explain hunter2hunter2: " + strings.Repeat("all work and no play ", 20_000) + " THE END"
	for name, before := range map[string]int{"first": 0, "second": 1, "late": 5} {
		t.Run(name, func(t *testing.T) {
			store := session.Memory()
			m := narrow(t, 30_000, func(r *llmtest.Request, n int) llmtest.Step {
				if wantsSummary(&r.Request) {
					return say("<summary>In short.</summary>")
				}
				return say(fmt.Sprint("answer ", n))
			})
			a := &agent.Agent{Model: m, Sessions: store, System: "Be brief.", Secrets: []string{"hunter2hunter2"}}
			s := a.Session("s")
			for i := range before {
				if _, err := s.Prompt(t.Context(), fmt.Sprintf("question %d %s", i, strings.Repeat("please ", 500))); err != nil {
					t.Fatal(err)
				}
			}
			refused := len(m.Requests())
			res, err := s.Prompt(t.Context(), large)
			endsFor(t, res, err, `the prompt that begins with "Explain `, " tokens", "Say it in parts")
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("a secret is in %v", err)
			}
			if n := len(m.Requests()) - refused; before == 0 && n != 1 {
				t.Errorf("%d requests", n)
			}
			for range 2 { // as this program sees it, and as the next one does
				refused = len(m.Requests())
				if res, err := s.Prompt(t.Context(), "and now?"); err != nil || !strings.HasPrefix(res.Text, "answer") {
					t.Fatal(res, err)
				}
				if n := len(m.Requests()) - refused; n != 1 {
					t.Errorf("%d requests", n)
				}
				last := m.Requests()[len(m.Requests())-1]
				if n := tokensOf(&last.Request); n > 10_000 {
					t.Errorf("%d tokens are sent", n)
				}
				found := false
				for _, msg := range last.Messages {
					text := msg.Text()
					found = found || strings.HasPrefix(text, "Explain hunter2hunter2: all work") && strings.HasSuffix(text, " THE END") && strings.Contains(text, "characters are left out here")
				}
				if !found {
					t.Error("the beginning and the end are not there")
				}
				s.Close()
				s = a.Session("s")
			}
			s.Close()
			if !whole(t, store, "s", large) {
				t.Error("the prompt is not on record")
			}
			checkPrefixes(t, history(t, store, "s"))
		})
	}
}

// What the user says during the run ends the run in the same way; what came before stays.
func TestTooLargeSteer(t *testing.T) {
	store := session.Memory()
	large := "Mind this: " + strings.Repeat("all work and no play ", 20_000)
	var s *agent.Session
	steers := tool.New(tool.Spec{Name: "steers", ReadOnly: true}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
		_, err := s.Steer(ctx, agent.Input{ID: "s1", Text: large})
		return tool.Text("found it"), err
	})
	m := narrow(t, 30_000, func(r *llmtest.Request, n int) llmtest.Step {
		if n == 0 {
			return llmtest.Call(llmtest.Use("a", "steers", number{1}))
		}
		return say("fine")
	})
	s = (&agent.Agent{Model: m, Sessions: store, Tools: []tool.Tool{steers}, Permissions: bypass}).Session("s")
	defer s.Close()
	res, err := s.Prompt(t.Context(), "go")
	endsFor(t, res, err, `the message that begins with "Mind this: all work`)
	if res, err := s.Prompt(t.Context(), "and?"); err != nil || res.Text != "fine" {
		t.Fatal(res, err)
	}
	messages, _ := s.Messages(t.Context())
	if text := fmt.Sprint(messages); !strings.Contains(text, "found it") || !strings.Contains(text, "left out here") {
		t.Errorf("%.2000s", text)
	}
}

// An agent that is given too much work says so to the one that it works for.
func TestTooLargeWork(t *testing.T) {
	helper := &agent.Agent{Name: "helper", Model: narrow(t, 8000, func(*llmtest.Request, int) llmtest.Step { return say("done") })}
	hand := tool.New(tool.Spec{Name: "hand", Timeout: -1}, func(ctx context.Context, call tool.Call, _ number) (*tool.Result, error) {
		p, ok := agent.ParentOf(ctx)
		if !ok {
			return nil, errors.New("no parent")
		}
		_, err := p.Run(ctx, agent.Child{Agent: helper, Call: call.ID, Input: agent.Input{Text: "All of this: " + strings.Repeat("work ", 20_000)}})
		return nil, err
	})
	m := llmtest.Script(llmtest.Call(llmtest.Use("a", "hand", number{1})), say("end"))
	s := (&agent.Agent{Model: m, Tools: []tool.Tool{hand}, Permissions: bypass}).Session("")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	last := m.Requests()[1].Messages
	if text := last[len(last)-1].Content[0].(llm.ToolResult).Content.Text(); !strings.Contains(text, `the prompt that begins with "All of this: work`) || !strings.Contains(text, "too large for the model") {
		t.Errorf("%.500s", text)
	}
}

// Images alone can be too large, by their bytes: the provider says 413.
func TestTooLargeImages(t *testing.T) {
	m := &llmtest.Model{}
	m.Rule = func(r *llmtest.Request, _ int) llmtest.Step {
		checkAnthropicRules(t, &r.Request)
		checkWire(t, &r.Request)
		n := 0
		for _, msg := range r.Messages {
			for _, b := range msg.Content {
				if _, ok := b.(llm.Image); ok {
					n++
				}
			}
		}
		if n > 3 {
			return llmtest.Fail(&llm.APIError{Class: llmconst.TooLarge, Status: 413, Message: "request too large", RetryAfter: -1})
		}
		return say("seen")
	}
	shot := llm.Image{MediaType: "image/png", Data: wiretest.PNG(100, 100)}
	s := (&agent.Agent{Model: m}).Session("")
	defer s.Close()
	if _, err := s.Do(t.Context(), agent.Input{Blocks: llm.Blocks{shot}}); err != nil {
		t.Fatal(err)
	}
	many := llm.Blocks{}
	for range 40 {
		many = append(many, shot)
	}
	res, err := s.Do(t.Context(), agent.Input{Blocks: many})
	endsFor(t, res, err, "the prompt (about ", "MB)")
	res, err = s.Do(t.Context(), agent.Input{Blocks: llm.Blocks{shot}})
	if err != nil || res.Text != "seen" {
		t.Fatal(res, err)
	}
	messages, _ := s.Messages(t.Context())
	if text := fmt.Sprint(messages); !strings.Contains(text, "40 images or documents are left out here") {
		t.Errorf("%.2000s", text)
	}
}

// Results that are too large are cut, errors too, and the run goes on.
func TestTooLargeResults(t *testing.T) {
	store := session.Memory()
	m := narrow(t, 16_000, func(r *llmtest.Request, n int) llmtest.Step {
		if n == 0 {
			return llmtest.Call(llmtest.Use("a", "long", number{16_500}), llmtest.Use("b", "groaning", number{16_500}), llmtest.Use("c", "long", number{16_500}), llmtest.Use("d", "long", number{100}))
		}
		return say("done")
	})
	s := (&agent.Agent{Model: m, Sessions: store, Tools: []tool.Tool{talks, groaning}, Permissions: bypass}).Session("s")
	defer s.Close()
	res, err := s.Prompt(t.Context(), "the work")
	if err != nil || res.Text != "done" {
		t.Fatal(res, err)
	}
	requests := m.Requests()
	if len(requests) != 3 {
		t.Errorf("%d requests", len(requests))
	}
	last := requests[len(requests)-1].Messages
	results := last[len(last)-1].Content
	for i, b := range results {
		text := b.(llm.ToolResult).Content.Text()
		if cut := strings.Contains(text, "left out here"); cut != (i < 3) || !strings.HasPrefix(text, "abc") || !strings.HasSuffix(text, "abc") {
			t.Errorf("result %d: %.100s", i, text)
		}
	}
	all := compactions(t, store, "s")
	if len(all) != 1 || all[0].TooLarge != "" || all[0].Model != "" || len(all[0].Cleared) != 3 || all[0].After >= all[0].Before {
		t.Errorf("%+v", all)
	}
}

// What is told of the place is cut as well, before the prompt of the user is blamed.
func TestTooLargeNotes(t *testing.T) {
	m := narrow(t, 30_000, func(*llmtest.Request, int) llmtest.Step { return say("done") })
	a := &agent.Agent{Model: m, Context: func(context.Context, agent.Place) []agent.Note {
		return []agent.Note{{ID: "n", Text: strings.Repeat("A rule of the place. ", 10_000)}}
	}}
	s := a.Session("")
	defer s.Close()
	if res, err := s.Prompt(t.Context(), "the work, word for word"); err != nil || res.Text != "done" {
		t.Fatal(res, err)
	}
	messages, _ := s.Messages(t.Context())
	if !strings.Contains(messages[0].Text(), "left out here") || messages[1].Text() != "the work, word for word" {
		t.Errorf("%.500s", fmt.Sprint(messages))
	}
}

// Where nothing that was said is too large, the provider's words are the end.
func TestNothingTooLarge(t *testing.T) {
	m := narrow(t, 8000, func(*llmtest.Request, int) llmtest.Step { return say("done") })
	s := (&agent.Agent{Model: m, System: strings.Repeat("Rule. ", 10_000)}).Session("")
	defer s.Close()
	for range 2 {
		res, err := s.Prompt(t.Context(), "hello "+strings.Repeat("there ", 300))
		if !errors.Is(err, agent.ErrLimit) || res.Reason != event.ContextOverflow || !strings.Contains(err.Error(), "prompt is too long: ") {
			t.Fatal(res, err)
		}
	}
	messages, _ := s.Messages(t.Context())
	if strings.Contains(fmt.Sprint(messages), "left out") {
		t.Errorf("%v", messages)
	}
}

// Without compaction nothing is cut but what has to be, and the run ends.
func TestTooLargeWithoutCompaction(t *testing.T) {
	size, calls := 0, 0
	m := narrow(t, 6000, func(r *llmtest.Request, n int) llmtest.Step {
		switch {
		case wantsSummary(&r.Request):
			return say("<summary>In short.</summary>")
		case calls == 0:
			return say("fine")
		}
		step := llmtest.Step{}
		for ; calls > 0; calls-- {
			step.Calls = append(step.Calls, llmtest.Use(fmt.Sprintf("u%d_%d", n, calls), "groaning", number{size}))
		}
		return step
	})
	s := (&agent.Agent{Model: m, Tools: []tool.Tool{groaning}, Permissions: bypass, Compaction: &agent.Compaction{Off: true}}).Session("")
	defer s.Close()
	ask := func(prompt string) (*agent.Result, error) { return s.Prompt(t.Context(), prompt) }
	res, err := ask(strings.Repeat("all work ", 30_000))
	endsFor(t, res, err, "the prompt")
	size, calls = 16_500, 1
	res, err = ask("one")
	endsFor(t, res, err, "the result of groaning")
	if res, err := ask("go on"); err != nil || res.Text != "fine" {
		t.Fatal(res, err)
	}
	size, calls = 4500, 5
	res, err = ask("five, none of which is the larger half")
	if !errors.Is(err, agent.ErrLimit) || !strings.Contains(err.Error(), "prompt is too long") {
		t.Fatal(res, err)
	}
	if err := s.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if res, err := ask("and now?"); err != nil || res.Text != "fine" {
		t.Fatal(res, err)
	}
}

// Random sessions with a window that the provider alone knows: whatever is said, called
// and told, each request keeps to the rules, and no session is stuck: a small prompt is
// answered after at most two that are not. Where compactions have not helped it is
// compacted by hand, as the error says.
func TestNeverStuck(t *testing.T) {
	seeds := []uint64{1, 1795778532072606117} // the second: a large message after three compactions that have not helped
	if os.Getenv("CI") == "" {
		seeds = append(seeds, uint64(time.Now().UnixNano()))
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { neverStuck(t, seed) })
	}
}

func neverStuck(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	ends, cuts := map[event.EndReason]int{}, 0
	size := func(most int) int { return int(math.Pow(float64(most), rnd.Float64())) }
	for range 40 {
		store := session.Memory()
		window := 6000 + rnd.IntN(20_000)
		left := 0
		var s *agent.Session
		m := narrow(t, window, func(r *llmtest.Request, n int) llmtest.Step {
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
			if wantsSummary(&r.Request) {
				return say("<summary>" + strings.Repeat("In short. ", size(500)) + "</summary>")
			}
			if rnd.IntN(6) == 0 {
				if _, err := s.Steer(t.Context(), agent.Input{Text: "mind " + strings.Repeat("this ", size(window))}); err != nil {
					t.Error(err)
				}
			}
			if left--; left < 0 {
				return say("done")
			}
			step := llmtest.Step{Text: strings.Repeat("so ", size(500)), Thinking: strings.Repeat("hm ", size(500))}
			for i := range rnd.IntN(5) {
				step.Calls = append(step.Calls, llmtest.Use(fmt.Sprintf("u%d_%d", n, i), []string{"long", "groaning", "shows"}[rnd.IntN(3)], number{size(16_000)}))
			}
			if len(step.Calls) == 0 {
				left = 0
				if rnd.IntN(3) == 0 {
					step.Stop = llmconst.Overflow
				}
			}
			return step
		})
		if rnd.IntN(4) == 0 { // or the body
			rule, most := m.Rule, 3*window
			m.Rule = func(r *llmtest.Request, n int) llmtest.Step {
				bytes := 0
				for _, msg := range r.Messages {
					bytes += len(fmt.Sprint(msg.Content))
				}
				if bytes > most {
					return llmtest.Fail(&llm.APIError{Class: llmconst.TooLarge, Status: 413, Message: "too large", RetryAfter: -1})
				}
				return rule(r, n)
			}
		}
		known := m.Facts.Window
		if rnd.IntN(2) == 0 {
			known = 0 // it is assumed to be far larger
		}
		m.Facts.Window = known
		a := &agent.Agent{Model: m, Tools: []tool.Tool{talks, groaning, shows}, Sessions: store, Permissions: bypass, MaxTokens: 500 + rnd.IntN(4000),
			Compaction: &agent.Compaction{Off: rnd.IntN(5) == 0, Keep: rnd.IntN(5000), Reserve: rnd.IntN(4000)}}
		if rnd.IntN(3) == 0 {
			note := agent.Note{ID: "n", Text: strings.Repeat("A rule. ", size(window))}
			a.Context = func(context.Context, agent.Place) []agent.Note { return []agent.Note{note} }
		}
		s = a.Session("s")
		off := a.Compaction.Off
		for range 1 + rnd.IntN(5) {
			left = rnd.IntN(8)
			res, err := s.Prompt(t.Context(), "please "+strings.Repeat("please ", size(2*window)))
			if err != nil && !errors.Is(err, agent.ErrLimit) && !(off && errors.Is(err, agent.ErrModel)) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			ends[res.Reason]++
			if rnd.IntN(3) == 0 {
				s.Close()
				s = a.Session("s")
			}
			left = 0
			for try := 0; ; try++ {
				if res, err = s.Prompt(t.Context(), "ping"); err == nil {
					break
				}
				if res.Reason == event.ContextOverflow || off && res.Reason == event.ModelError {
					if err := s.Compact(t.Context(), ""); err != nil {
						t.Logf("seed %d: %v", seed, err)
					}
				}
				if try == 2 {
					t.Fatalf("seed %d: stuck: %v", seed, err)
				}
			}
		}
		live, _ := s.Messages(t.Context())
		s.Close()
		s = a.Session("s")
		if again, err := s.Messages(t.Context()); err != nil || fmt.Sprint(again) != fmt.Sprint(live) {
			t.Errorf("seed %d: resumed the conversation is another one (%v)", seed, err)
		}
		s.Close()
		for _, c := range compactions(t, store, "s") {
			if c.TooLarge != "" {
				cuts++
			}
		}
		checkPrefixes(t, history(t, store, "s"))
	}
	t.Log(ends, cuts)
}
