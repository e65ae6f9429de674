package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// wantsSummary reports whether a request is for the summary of a compaction.
func wantsSummary(r *llm.Request) bool {
	return strings.Contains(r.Messages[len(r.Messages)-1].Text(), "takes the place of all of it")
}

// talks is a tool with so many tokens of output, as we estimate them.
var talks = tool.Func(tool.Spec{Name: "long", ReadOnly: true},
	func(_ context.Context, in number) (string, error) { return strings.Repeat("abc", in.N), nil })

// groaning is a tool with so many tokens of an error, which is never cleared.
var groaning = tool.New(tool.Spec{Name: "groaning", ReadOnly: true},
	func(_ context.Context, _ tool.Call, in number) (*tool.Result, error) {
		return tool.Errorf("%s", strings.Repeat("abc", in.N)), nil
	})

// shows is a tool that shows something, and says a little about it.
var shows = tool.New(tool.Spec{Name: "shows", ReadOnly: true},
	func(_ context.Context, _ tool.Call, in number) (*tool.Result, error) {
		r := tool.Text(strings.Repeat("abc", in.N/10))
		r.Content = append(r.Content, llm.Image{MediaType: "image/png", Data: wiretest.PNG(3, 3)})
		return r, nil
	})

// laborious is a model that makes calls of a tool, n of them, and then says so; it writes
// summaries. Its usage is what a request has, as it is estimated.
type laborious struct {
	calls   int
	tokens  int    // of each output
	tool    string // that is called
	window  int
	summary string
	at      int
}

func (l *laborious) model(t *testing.T) *llmtest.Model {
	m := &llmtest.Model{Facts: llm.Info{Window: l.window, Price: &llm.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}}}
	m.Rule = func(r *llmtest.Request, _ int) llmtest.Step {
		checkAnthropicRules(t, &r.Request)
		usage := llm.Usage{Input: tokensOf(&r.Request), Output: 50}
		switch {
		case wantsSummary(&r.Request):
			return llmtest.Step{Text: l.summary, Usage: usage}
		case l.at >= l.calls:
			return llmtest.Step{Text: "done", Usage: usage}
		}
		l.at++
		return llmtest.Step{Calls: []llm.ToolUse{llmtest.Use(fmt.Sprintf("u%d", l.at), l.tool, number{l.tokens + l.at%7})}, Usage: usage}
	}
	return m
}

func tokensOf(r *llm.Request) int { return r.Estimate() }

// checkAnthropicRules checks what all providers demand of the order of messages.
func checkAnthropicRules(t *testing.T, r *llm.Request) {
	t.Helper()
	if len(r.Messages) == 0 || r.Messages[0].Role != llm.User || r.Messages[len(r.Messages)-1].Role != llm.User {
		t.Errorf("a request does not begin and end with the user: %d messages", len(r.Messages))
	}
	var open []string
	for i, m := range r.Messages {
		var results []string
		for _, b := range m.Content {
			if b, ok := b.(llm.ToolResult); ok {
				results = append(results, b.ID)
			}
		}
		if !slices.Equal(open, results) {
			t.Errorf("message %d answers %v, and the calls before are %v", i, results, open)
		}
		open = nil
		for _, u := range m.ToolUses() {
			open = append(open, u.ID)
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without results: %v", open)
	}
}

// compactions returns those of a session.
func compactions(t *testing.T, store session.Store, id string) []event.Compacted {
	var out []event.Compacted
	for _, e := range history(t, store, id) {
		if f, ok := e.Data.(event.Compacted); ok {
			out = append(out, f)
		}
	}
	return out
}

// A long run is compacted by itself: the pending prompt stays to the letter, what was
// remembered stays over two compactions, and the work goes on.
func TestCompaction(t *testing.T) {
	store := session.Memory()
	l := &laborious{calls: 120, tokens: 900, tool: "groaning", window: 40_000, summary: "<memory>\n- decision: keep the API\n- none\n</memory>\n<summary>Much was read.</summary>"}
	m := l.model(t)
	a := &agent.Agent{Model: m, Tools: []tool.Tool{groaning}, Sessions: store, Permissions: bypass, System: "Be brief."}
	s := a.Session("s")
	defer s.Close()
	res, err := s.Prompt(t.Context(), "the work, word for word")
	if err != nil || res.Text != "done" {
		t.Fatal(res, err)
	}
	all := compactions(t, store, "s")
	if len(all) < 2 {
		t.Fatalf("%d compactions", len(all))
	}
	for _, c := range all {
		if c.Failed != "" || c.Trigger != fact.Auto || c.Until == 0 || c.After*10 > c.Before*4 || !slices.Equal(c.Memory, []string{"decision: keep the API"}) {
			t.Errorf("%+v", c)
		}
	}
	requests := m.Requests()
	last := requests[len(requests)-1].Messages
	if text := last[0].Text(); !strings.Contains(text, "Much was read.") || !strings.Contains(text, "- decision: keep the API") || last[1].Text() != "the work, word for word" {
		t.Errorf("%q, %q", text, last[1].Text())
	}
	for i, r := range requests {
		if n := tokensOf(&r.Request); n > 40_000-10_000 && !wantsSummary(&r.Request) {
			t.Errorf("request %d has %d tokens", i, n)
		}
		if !wantsSummary(&r.Request) {
			continue
		}
		// The request for a summary is the one before it and more, so that it is cached.
		before := requests[i-1]
		if n := len(before.Messages); r.System != before.System || len(r.Tools) != len(before.Tools) || r.ToolChoice != before.ToolChoice || r.Thinking != before.Thinking ||
			len(r.Messages) < n || &r.Messages[n-1].Content[0] != &before.Messages[n-1].Content[0] {
			t.Errorf("request %d does not go on from the one before", i)
		}
	}
	want := 0.0
	for _, f := range history(t, store, "s") {
		switch f := f.Data.(type) {
		case event.AssistantMessage:
			want += *f.CostUSD
		case event.Compacted:
			want += *f.CostUSD
		}
	}
	if res.CostUSD == nil || *res.CostUSD < want*0.999 || *res.CostUSD > want*1.001 {
		t.Errorf("cost %v, want %v", *res.CostUSD, want)
	}
}

// Old results go first, without a model.
func TestCompactionClears(t *testing.T) {
	store := session.Memory()
	l := &laborious{calls: 90, tokens: 900, tool: "long", window: 40_000}
	m := l.model(t)
	a := &agent.Agent{Model: m, Tools: []tool.Tool{talks}, Sessions: store, Permissions: bypass}
	s := a.Session("s")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	all := compactions(t, store, "s")
	if len(all) == 0 {
		t.Fatal("no compaction")
	}
	for _, c := range all {
		if c.Failed != "" || c.Until != 0 || len(c.Cleared) == 0 || c.Model != "" || c.After*10 > c.Before*8 {
			t.Errorf("%+v", c)
		}
	}
	if n := len(m.Requests()); n != 91 {
		t.Errorf("%d requests", n)
	}
}

// The list of steps, the names of files and the skill in force are told again.
func TestCompactionNotes(t *testing.T) {
	store := session.Memory()
	steps := llmtest.Use("a", "TodoWrite", map[string]any{"todos": []any{map[string]string{"content": "write the parser", "status": "in_progress"}}})
	seen := tool.New(tool.Spec{Name: "look", State: "files", ReadOnly: true}, func(context.Context, tool.Call, number) (*tool.Result, error) {
		r := tool.Text("x")
		r.Patch.State = []byte(`{"/p/a.go":{"h":"1"},"/p/b.go":{"h":"2"}}`)
		r.Patch.Begin = &skillscope.Scope{Skill: "review"}
		r.Content = llm.Blocks{llm.Text{Text: "Review with care."}}
		return r, nil
	})
	m := llmtest.Script(llmtest.Call(steps, llmtest.Use("b", "look", number{1})), llmtest.Call(llmtest.Use("c", "long", number{3000})), llmtest.Call(llmtest.Use("d", "compactNow", number{1})),
		say("<summary>Short.</summary>"), say("end"))
	var s *agent.Session
	now := tool.New(tool.Spec{Name: "compactNow", ReadOnly: true}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
		return tool.Text("ok"), s.Compact(ctx, "mind the parser")
	})
	a := &agent.Agent{Model: m, Tools: append([]tool.Tool{seen, talks, now}, tools.TodoWrite()), Sessions: store, Permissions: bypass}
	s = a.Session("s")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	requests := m.Requests()
	if ask := requests[3].Messages; !strings.Contains(ask[len(ask)-1].Text(), "The user says of this summary: mind the parser") {
		t.Error("the instructions are not told")
	}
	text := requests[4].Messages[0].Text()
	for _, want := range []string{"Short.", "- [in_progress] write the parser", "- /p/a.go\n- /p/b.go", "The skill review is in force:\n<skill>\nReview with care."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	if got := requests[4].Messages[1].Text(); got != "go" {
		t.Errorf("the prompt is %q", got)
	}
}

// Somebody's wish is a run of its own, on record, and leaves a conversation to go on with.
func TestCompactByHand(t *testing.T) {
	store := session.Memory()
	a := &agent.Agent{Sessions: store, Model: llmtest.Script(say(strings.Repeat("much ", 500)), say("two"), say("All in short."), say("three"))}
	s := a.Session("s")
	if err := s.Compact(t.Context(), ""); err != nil {
		t.Fatal("an empty conversation:", err)
	}
	for range 2 {
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if got := s.Result().Text; !strings.HasPrefix(got, "Compacted: about ") {
		t.Errorf("result %q", got)
	}
	live, err := s.Messages(t.Context())
	if err != nil || len(live) != 3 || !strings.Contains(live[0].Text(), "All in short.") {
		t.Fatalf("%d messages, %v", len(live), err)
	}
	s.Close()
	s = a.Session("s") // as another program sees it
	defer s.Close()
	again, err := s.Messages(t.Context())
	if err != nil || fmt.Sprint(again) != fmt.Sprint(live) {
		t.Errorf("%v\n%v (%v)", again, live, err)
	}
	if res, err := s.Prompt(t.Context(), "and?"); err != nil || res.Text != "three" {
		t.Error(res, err)
	}
}

// Failures of a compaction by hand are errors, and change nothing.
func TestCompactByHandFails(t *testing.T) {
	for name, c := range map[string]struct {
		steps []llmtest.Step
		hook  bool
		want  error
	}{
		"empty":   {[]llmtest.Step{say(" "), say("<summary></summary>")}, false, agent.ErrModel},
		"longer":  {[]llmtest.Step{say(strings.Repeat("long ", 9000)), say(strings.Repeat("long ", 9000))}, false, agent.ErrModel},
		"failing": {[]llmtest.Step{llmtest.Fail(&llm.APIError{Class: llm.Auth, Status: 401, RetryAfter: -1})}, false, agent.ErrModel},
		"blocked": {nil, true, agent.ErrStopped},
	} {
		t.Run(name, func(t *testing.T) {
			a := &agent.Agent{Model: llmtest.Script(append([]llmtest.Step{say(strings.Repeat("much ", 500)), say("two")}, c.steps...)...)}
			if c.hook {
				a.Hooks = []hook.Hook{{On: hook.PreCompact, Func: func(context.Context, *hook.Input) (hook.Output, error) {
					return hook.Output{Block: true, Reason: "not now"}, nil
				}}}
			}
			s := a.Session("")
			defer s.Close()
			for range 2 {
				if _, err := s.Prompt(t.Context(), "go"); err != nil {
					t.Fatal(err)
				}
			}
			before, _ := s.Messages(t.Context())
			if err := s.Compact(t.Context(), ""); !errors.Is(err, c.want) {
				t.Errorf("error %v", err)
			}
			if after, _ := s.Messages(t.Context()); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Error("the conversation has changed")
			}
		})
	}
}

// A request that the provider finds too long is made again after a compaction, once.
func TestOverflow(t *testing.T) {
	for _, c := range []struct {
		class llm.Class
		again bool
		want  error
	}{{llm.TooLong, false, nil}, {llmconst.TooLarge, false, nil}, {llm.TooLong, true, agent.ErrLimit}, {llmconst.TooLarge, true, agent.ErrLimit}} {
		t.Run(fmt.Sprint(c.class, c.again), func(t *testing.T) {
			fail := llmtest.Fail(&llm.APIError{Class: c.class, Message: "too much", RetryAfter: -1})
			m := &llmtest.Model{}
			failed := 0
			m.Rule = func(r *llmtest.Request, n int) llmtest.Step {
				checkAnthropicRules(t, &r.Request)
				switch {
				case wantsSummary(&r.Request):
					return say("<summary>Short.</summary>")
				case n < 3:
					return llmtest.Call(llmtest.Use(fmt.Sprint("u", n), "write", number{n}))
				case failed == 0 || c.again:
					failed++
					return fail
				}
				return say("end")
			}
			w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
				return tool.Errorf("%s", strings.Repeat("abc", 2000)), nil
			})
			s := (&agent.Agent{Model: m, Tools: []tool.Tool{w}, Permissions: bypass}).Session("")
			defer s.Close()
			res, err := s.Prompt(t.Context(), "the work")
			if !errors.Is(err, c.want) {
				t.Fatal(err)
			}
			if c.want == nil {
				if res.Text != "end" || failed != 1 {
					t.Errorf("%q after %d failures", res.Text, failed)
				}
				return
			}
			if res.Reason != event.ContextOverflow || failed != 2 {
				t.Errorf("%s after %d failures", res.Reason, failed)
			}
		})
	}
}

// Random conversations: whatever is said and called, what is sent after a compaction and
// for one keeps to all rules of the three APIs, the pending prompt is there to the letter,
// and a resumed session has the same conversation. Every beginning of the record is one that a crash may leave.
func TestCompactedHistories(t *testing.T) {
	seed := uint64(1)
	if os.Getenv("CI") == "" {
		seed = uint64(time.Now().UnixNano())
	}
	rnd := rand.New(rand.NewPCG(seed, 0))
	summaries, judged := 0, 0
	for range 60 {
		store := session.Memory()
		window := 24_000 + rnd.IntN(20_000)
		prompt := ""
		m := &llmtest.Model{Facts: llm.Info{Window: window}}
		left := 0
		m.Rule = func(r *llmtest.Request, n int) llmtest.Step {
			checkAnthropicRules(t, &r.Request)
			if shorter := strings.HasPrefix(r.Messages[0].Text(), "This conversation was compacted"); wantsSummary(&r.Request) || shorter && n%2 == 0 {
				checkWire(t, &r.Request)
				judged++
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
			usage := llm.Usage{Input: tokensOf(&r.Request), Output: 50}
			if wantsSummary(&r.Request) {
				summaries++
				return llmtest.Step{Text: "<memory>- decision: " + fmt.Sprint(n) + "</memory><summary>In short: " + strings.Repeat("word ", rnd.IntN(300)) + "</summary>", Usage: usage}
			}
			if !slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return m.Text() == prompt }) {
				t.Errorf("seed %d: the prompt is gone", seed)
			}
			if left--; left < 0 {
				return llmtest.Step{Text: "done", Usage: usage}
			}
			s := llmtest.Step{Usage: usage, Text: strings.Repeat("so ", rnd.IntN(400))}
			if rnd.IntN(8) == 0 {
				s.Text, s.Stop = "half of it ", llm.MaxTokens
			}
			for i := range rnd.IntN(4) {
				s.Calls = append(s.Calls, llmtest.Use(fmt.Sprintf("u%d_%d", n, i), []string{"long", "groaning", "shows"}[rnd.IntN(3)], number{rnd.IntN(4000)}))
			}
			if rnd.IntN(3) == 0 {
				s.Thinking = strings.Repeat("hm ", 1+rnd.IntN(300))
			}
			if len(s.Calls) == 0 && s.Stop == "" {
				left = 0
			}
			return s
		}
		a := &agent.Agent{Model: m, Tools: []tool.Tool{talks, groaning, shows}, Sessions: store, Permissions: bypass, Compaction: &agent.Compaction{Keep: 500 + rnd.IntN(5000), Protect: rnd.IntN(8000)}}
		s := a.Session("s")
		for i := range 1 + rnd.IntN(6) {
			prompt, left = fmt.Sprintf("prompt %d: %s", i, strings.Repeat("please ", rnd.IntN(200))), rnd.IntN(25)
			if res, err := s.Prompt(t.Context(), prompt); err != nil && res.Reason != event.DoomLoop {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if rnd.IntN(4) == 0 {
				if err := s.Compact(t.Context(), ""); err != nil && !strings.Contains(err.Error(), "no shorter") {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		}
		live, err := s.Messages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		s = a.Session("s")
		again, err := s.Messages(t.Context())
		if err != nil || fmt.Sprint(again) != fmt.Sprint(live) {
			t.Errorf("seed %d: resumed the conversation is another one (%v)", seed, err)
		}
		s.Close()
		checkPrefixes(t, history(t, store, "s"))
	}
	if summaries < 20 || judged < summaries*3/2 {
		t.Errorf("seed %d: %d summaries, %d requests held against the rules", seed, summaries, judged)
	}
}

// A session of 320 turns with big outputs, in a window of 200,000 tokens: the figures of
// docs/compaction.md.
func TestLongSession(t *testing.T) {
	for _, kind := range []string{"long", "groaning"} {
		store := session.Memory()
		l := &laborious{calls: 320, tokens: 6000, tool: kind, window: 200_000, summary: "<summary>" + strings.Repeat("What was done and found. ", 250) + "</summary>"}
		m := l.model(t)
		a := &agent.Agent{Model: m, Tools: []tool.Tool{talks, groaning}, Sessions: store, Permissions: bypass}
		s := a.Session("s")
		if _, err := s.Prompt(t.Context(), "the work"); err != nil {
			t.Fatal(err)
		}
		s.Close()
		all := compactions(t, store, "s")
		before, after, failed := 0, 0, 0
		for _, c := range all {
			before, after = before+c.Before, after+c.After
			if c.Failed != "" {
				failed++
			}
		}
		if len(all) == 0 || failed > 0 || after*10 > before*4 {
			t.Errorf("%s: %d compactions, %d failed, of %d tokens %d", kind, len(all), failed, before, after)
		}
		largest := 0
		for _, r := range m.Requests() {
			largest = max(largest, tokensOf(&r.Request))
		}
		t.Logf("%s: %d requests, the largest of %d tokens; %d compactions, on average of %d tokens %d (%d %% less)", kind, len(m.Requests()), largest, len(all), before/len(all), after/len(all), 100-after*100/before)
	}
}

// checkPrefixes folds each beginning of a session, as a program that died there leaves
// it, and checks that the conversation begins with a prompt or a summary, and that each
// call is followed by its result. It returns how many summaries there were.
func checkPrefixes(t *testing.T, facts []event.Event) int {
	t.Helper()
	var state engine.State
	var transcript engine.Transcript
	summaries := 0
	for _, e := range facts {
		if !state.Apply(e) {
			continue
		}
		transcript.Apply(e)
		if f, ok := e.Data.(event.Compacted); ok && f.Failed == "" && f.Until > 0 {
			summaries++
		}
		messages := transcript.Messages
		if len(messages) > 0 && messages[0].Role != llm.User {
			t.Fatalf("after fact %d the conversation begins with the model", e.Seq)
		}
		if len(transcript.Calls()) > 0 { // the last answer waits for results
			messages = messages[:len(messages)-1]
		}
		if n := len(messages); n > 0 && messages[n-1].Role == llm.User {
			checkAnthropicRules(t, &llm.Request{Messages: messages})
		}
	}
	return summaries
}
