package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
	"github.com/openagent-go/agent/tool"
)

// A described item is one line about it.
func described(it *view.Item) string {
	line := fmt.Sprintf("%s seq=%d final=%v ", it.ID, it.Seq, it.Final)
	switch d := it.Data.(type) {
	case *view.Prompt:
		return line + fmt.Sprintf("prompt %s %q delivered=%v dropped=%v", d.Message.Delivery, d.Message.Message.Text(), d.Delivered, d.Dropped)
	case *view.Answer:
		line += fmt.Sprintf("answer %s %q thinking %q", d.Model, d.Text(), d.Thinking())
		if d.Failed != nil {
			line += " failed: " + d.Failed.Message
		}
		return line
	case *view.Call:
		line += fmt.Sprintf("call %s %s %s %s phase=%s status=%v started=%v", d.ID, d.Use.Name, d.Input(), d.Written(), d.Phase, d.Status, d.Started)
		for _, x := range d.Decisions {
			line += fmt.Sprintf(" %s(%s, answered=%v)", x.Decision.Behavior, x.Decision.Reason, x.Answered)
		}
		if d.Result != nil {
			line += fmt.Sprintf(" result %q %v", d.Result.Result.Text(), d.Result.Duration)
		}
		for _, sub := range d.Items {
			line += "\n    " + described(sub)
		}
		return line
	case *view.Agent:
		line += fmt.Sprintf("agent %s", d.Start.Agent)
		if d.End != nil {
			line += fmt.Sprintf(" %s %q", d.End.Reason, d.End.Message)
		}
		return line
	case *view.Question:
		return line + fmt.Sprintf("question %v %v", d.Permission != nil, d.Asked != nil)
	case *view.Notice:
		return line + "notice " + d.Text
	case *view.End:
		return line + fmt.Sprintf("end %s calls=%d denied=%d %+v", d.Fact.Reason, d.Calls, d.Denied, d.Time)
	}
	return line + "?"
}

// recorded describes what a fold has of the journal: the items with a number, and the totals.
func recorded(s *view.State) string {
	var b strings.Builder
	for _, it := range s.Items {
		if it.Seq > 0 {
			fmt.Fprintln(&b, described(it))
		}
	}
	for _, it := range s.Queue {
		fmt.Fprintln(&b, "queued", described(it))
	}
	fmt.Fprintf(&b, "questions %d jobs %d agents %d todos %v title %q mode %s model %s running %v context %d of %d usage %+v cost %.6f %v\n",
		len(s.Questions), len(s.Jobs), len(s.Agents), s.Todos, s.Title, s.Mode, s.Model, s.Running, s.Context, s.Window, s.Usage, s.CostUSD, s.Unpriced)
	return b.String()
}

func folded(events []event.Event, facts bool) *view.State {
	s := new(view.State)
	for _, e := range events {
		if _, ok := e.Data.(event.Fact); ok || !facts {
			s.Apply(e)
		}
	}
	return s
}

// checkVersions holds that each change of an item changes its version, and no version is used
// twice.
type versions map[*view.Item]struct {
	version uint64
	text    string
}

func (v versions) check(t *testing.T, s *view.State) {
	t.Helper()
	used := map[uint64]bool{}
	for _, list := range [][]*view.Item{s.Items, s.Queue, s.Questions} {
		for _, it := range list {
			text, was := described(it), v[it]
			if was.version == it.Version && was.text != text {
				t.Fatalf("version %d stayed when\n%s\nbecame\n%s", it.Version, was.text, text)
			}
			if used[it.Version] || it.Version == 0 || it.Version > s.Version {
				t.Fatalf("version %d of %s is not its own; the state has %d", it.Version, text, s.Version)
			}
			used[it.Version] = true
			was.version, was.text = it.Version, text
			v[it] = was
		}
	}
}

// A machine makes up a session: the facts of an agent that runs, and signals between them.
type machine struct {
	rand   *rand.Rand
	events []event.Event
	seq    int64
	tip    int64
	now    time.Time

	model   string // key of the call in progress
	pending []*made
	queue   []string
	running bool
	prompts []int64 // facts before prompts
}

type made struct {
	id, use, name string
	phase         int // 0 new, 1 asked, 2 allowed, 3 started, 4 waits for a person
}

func (m *machine) fact(d event.Fact) {
	m.now = m.now.Add(time.Duration(m.rand.IntN(3000)) * time.Millisecond)
	m.seq++
	m.events = append(m.events, event.Event{Seq: m.seq, Prev: m.tip, Time: m.now, Session: "s", Data: d})
	m.tip = m.seq
}

func (m *machine) signal(d event.Signal) {
	m.events = append(m.events, event.Event{Time: m.now, Session: "s", Data: d})
}

func (m *machine) step() {
	id := fmt.Sprintf("%d", m.seq+1)
	switch n := m.rand.IntN(20); {
	case !m.running && n < 2 && len(m.prompts) > 1:
		i := m.rand.IntN(len(m.prompts))
		m.tip = m.prompts[i]
		m.prompts = m.prompts[:i+1]
		m.fact(event.Rewound{})
	case !m.running && n == 3:
		m.fact(event.SessionNamed{Title: "title " + id})
	case !m.running:
		m.prompts = append(m.prompts, m.tip)
		m.fact(fact.Configured{Model: "m", Mode: permission.Default, Models: map[string]llm.Info{"m": {Window: 1000}}})
		m.fact(event.UserMessage{ID: id, Delivery: fact.AsPrompt, Message: llm.UserText("prompt " + id)})
		if len(m.queue) > 0 {
			m.fact(fact.Delivered{IDs: m.queue})
			m.queue = nil
		}
		m.running = true
	case n == 0:
		m.fact(event.UserMessage{ID: id, Delivery: fact.AsSteer, Message: llm.UserText("steer " + id)})
		m.queue = append(m.queue, id)
	case n == 1:
		m.fact(event.ModeChanged{Mode: permission.Plan})
	case n == 2:
		m.signal(event.HookResponse{Event: "Stop", Message: "hook " + id})
		m.signal(event.RateLimitWait{Key: "x"})
		m.signal(event.Missed{Signals: 3})
	case n == 3 && m.rand.IntN(4) == 0: // the program dies and comes back
		m.fact(event.Resumed{Start: fact.StartResume})
		m.model = ""
	case m.model != "":
		m.answer(n)
	case len(m.pending) > 0:
		m.call(m.rand.IntN(len(m.pending)))
	case n == 4 && len(m.queue) > 0:
		m.fact(fact.Delivered{IDs: m.queue})
		m.queue = nil
	case n == 5:
		m.stop()
	case n < 7:
		m.fact(event.RunEnd{Reason: event.Completed})
		m.running = false
	default:
		m.model = "model/" + id
		m.fact(fact.ModelStart{Key: m.model, Model: "m"})
	}
}

func (m *machine) stop() {
	m.fact(fact.Stopped{Reason: event.Interrupted, Cleared: m.queue})
	m.queue = nil
	for _, c := range m.pending {
		m.fact(event.ToolResult{Call: c.id, Cause: fact.ByCancel, Result: *tool.Errorf("stopped")})
	}
	m.pending = nil
	m.fact(event.RunEnd{Reason: event.Interrupted})
	m.running = false
}

func (m *machine) answer(n int) {
	use := fmt.Sprintf("u%d", m.rand.IntN(3))
	switch {
	case n < 8:
		m.signal(event.TextDelta{Key: m.model, Text: "word ", Restart: m.rand.IntN(9) == 0})
	case n < 10:
		m.signal(event.ThinkingDelta{Key: m.model, Text: "hm "})
	case n < 14:
		m.signal(event.ToolInputDelta{Key: m.model, ID: use, Tool: "Bash", Text: `{"a"`})
		m.signal(event.ToolProgress{ID: use, Tool: "Bash", Seq: int64(n), Phase: fact.ToolWaiting, Status: tool.Status{Text: "x"}})
	case n < 16:
		m.fact(event.ModelFailed{Key: m.model, Model: "m", Message: "broke", Partial: "wor", Retry: true})
		m.model = ""
	default:
		content := llm.Blocks{llm.Thinking{Text: "hm"}, llm.Text{Text: "words"}}
		for i := range m.rand.IntN(4) {
			c := &made{id: fmt.Sprintf("c%d.%d", m.seq+1, i), use: fmt.Sprintf("u%d", i), name: []string{"Bash", "TodoWrite", "Batch", "Agent"}[m.rand.IntN(4)]}
			m.pending = append(m.pending, c)
			input := `{"command":"ls"}`
			if c.name == "Batch" {
				input = `{"tool_calls":[{"tool":"Read","parameters":{"file_path":"a"}},{"tool":"Write","parameters":"{}"}]}`
			}
			content = append(content, llm.ToolUse{ID: c.use, Name: c.name, Input: json.RawMessage(input)})
		}
		cost := 0.01
		m.fact(event.AssistantMessage{Key: m.model, Model: "m", CostUSD: &cost,
			Response: llm.Response{Usage: llm.Usage{Input: 10, Output: 5}, Message: llm.Message{Role: llm.Assistant, Content: content}}})
		m.model = ""
	}
}

func (m *machine) call(i int) {
	c := m.pending[i]
	about := tool.Call{ID: c.id, Name: c.name, Input: json.RawMessage(`{}`)}
	switch c.phase {
	case 0:
		behavior := []permission.Behavior{permission.Allowed, permission.Asked, permission.Denied}[m.rand.IntN(3)]
		m.fact(fact.Authorized{Call: c.id, Decision: permission.Decision{Behavior: behavior, Reason: "rule"}})
		switch behavior {
		case permission.Asked:
			c.phase = 1
			m.signal(event.PermissionRequest{Call: about, Suggestions: []permission.Rule{"Bash(ls)"}})
		case permission.Denied:
			m.done(i, event.ToolResult{Call: c.id, Cause: fact.ByDenial, Result: *tool.Errorf("denied")})
		default:
			c.phase = 2
		}
	case 1:
		m.fact(fact.Answered{Call: c.id, Decision: permission.Decision{Behavior: permission.Allowed}})
		c.phase = 2
	case 2:
		m.fact(event.ToolStart{Call: c.id})
		c.phase = 3
		switch c.name {
		case "Agent":
			m.fact(event.AgentStart{Key: "agent/" + c.id, Call: c.id, Session: "sub" + c.id, Agent: "reader"})
		case "Batch":
			for n := range 2 {
				part := fmt.Sprintf("%s.%d", c.id, n+1)
				m.fact(fact.Authorized{Call: part, Decision: permission.Allow()})
				m.fact(event.ToolStart{Call: part})
				m.signal(event.ToolProgress{Call: part, ID: c.use, Tool: "Read", Seq: 1, Phase: fact.ToolDoing})
				m.fact(event.ToolResult{Call: part, Result: *tool.Text("part")})
			}
		}
	case 3:
		m.signal(event.ToolProgress{Call: c.id, ID: c.use, Tool: c.name, Seq: m.seq, Phase: fact.ToolDoing, Status: tool.Status{Text: "line"}})
		switch n := m.rand.IntN(4); {
		case c.name == "Agent" && n < 3:
			m.signal(event.AgentEvent{Call: c.id, Agent: "reader", Event: &event.Event{Seq: m.seq, Session: "sub" + c.id, Time: m.now,
				Data: event.UserMessage{ID: "x", Delivery: fact.AsPrompt, Message: llm.UserText("work")}}})
		case n == 0:
			m.fact(fact.ToolDone{Call: c.id, Result: tool.Result{Questions: []tool.Question{{Text: "why?"}}}})
			m.signal(event.UserQuestion{Call: about, Questions: []tool.Question{{Text: "why?"}}})
			c.phase = 4
		default:
			if c.name == "Agent" {
				m.fact(event.AgentEnd{Key: "agent/" + c.id, Session: "sub" + c.id, Agent: "reader", Reason: event.Completed})
			}
			r := tool.Text("result")
			switch c.name {
			case "TodoWrite":
				r.Details = json.RawMessage(`{"todos":[{"content":"one","status":"pending"}]}`)
			case "Bash":
				r.Details = json.RawMessage(`{"background":true,"shellId":"bash_` + c.id + `","status":"running"}`)
			}
			m.done(i, event.ToolResult{Call: c.id, Result: *r, Duration: time.Second})
		}
	case 4:
		m.fact(fact.ToolAmended{Call: c.id, Result: *tool.Text("because")})
		m.done(i, event.ToolResult{Call: c.id, Result: *tool.Text("because")})
	}
}

func (m *machine) done(i int, r event.ToolResult) {
	m.fact(r)
	m.pending = append(m.pending[:i:i], m.pending[i+1:]...)
}

// The facts alone give the same items as facts with signals between them, at any time. What was
// settled stays settled, versions tell of each change, and a rewind takes away what came after.
func TestJournalAndStreamAgree(t *testing.T) {
	for seed := range uint64(60) {
		m := &machine{rand: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
		for range 200 {
			m.step()
		}
		live, facts, seen := new(view.State), new(view.State), versions{}
		for i, e := range m.events {
			live.Apply(e)
			if _, ok := e.Data.(event.Fact); ok {
				facts.Apply(e)
			}
			seen.check(t, live)
			if i%7 != 0 && i < len(m.events)-1 {
				continue
			}
			if got, want := settled(live), settled(facts); got != want {
				t.Fatalf("seed %d, after event %d %T: the stream gives\n%s\nthe journal\n%s", seed, i, e.Data, got, want)
			}
		}
		if m.running {
			if m.model != "" {
				live.Apply(event.Event{Seq: m.seq + 1, Prev: m.tip, Time: m.now, Data: event.ModelFailed{Key: m.model, Model: "m"}})
				facts.Apply(event.Event{Seq: m.seq + 1, Prev: m.tip, Time: m.now, Data: event.ModelFailed{Key: m.model, Model: "m"}})
			}
			continue
		}
		if got, want := recorded(live), recorded(facts); got != want {
			t.Fatalf("seed %d: the stream gives\n%s\nthe journal\n%s", seed, got, want)
		}
		for _, it := range live.Items {
			if !it.Final {
				t.Fatalf("seed %d: no run is in progress, and this is not final: %s", seed, described(it))
			}
		}
		if again := folded(m.events, false); recorded(again) != recorded(live) {
			t.Fatalf("seed %d: a second fold gives other items", seed)
		}
	}
}

// settled describes the final items that are on record.
func settled(s *view.State) string {
	var b strings.Builder
	for _, it := range s.Items {
		if it.Seq > 0 && it.Final {
			fmt.Fprintln(&b, described(it))
		}
	}
	return b.String()
}

// An agent runs: its stream and its journal give the same items.
func TestRecordedSession(t *testing.T) {
	ctx := context.Background()
	store := session.Memory()
	list := tool.Func(tool.Spec{Name: "List", Description: "Lists."}, func(ctx context.Context, in struct{ Dir string }) (string, error) {
		tool.Progress(ctx, tool.Status{Text: "reading"})
		if in.Dir == "" {
			return "", errors.New("no folder")
		}
		return "a\nb", nil
	})
	a := &agent.Agent{
		Model: llmtest.Script(
			llmtest.Step{Thinking: "First the list.", Text: "I look.", Calls: []llm.ToolUse{
				llmtest.Use("u1", "List", map[string]string{"Dir": "x"}), llmtest.Use("u2", "List", map[string]string{}), llmtest.Use("u3", "Gone", nil)}},
			llmtest.Step{Text: "Two files."},
			llmtest.Step{Text: "Nothing more."},
		),
		Tools: []tool.Tool{list}, Sessions: store,
	}
	s := a.Session("one")
	defer s.Close()
	live := new(view.State)
	for _, prompt := range []string{"What is there?", "And now?"} {
		for e, err := range s.Stream(ctx, prompt) {
			if err != nil {
				t.Fatal(err)
			}
			live.Apply(e)
		}
	}
	facts := new(view.State)
	for e, err := range store.Read(ctx, "one", 0) {
		if err != nil {
			t.Fatal(err)
		}
		facts.Apply(e)
	}
	if got, want := recorded(live), recorded(facts); got != want {
		t.Errorf("the stream gives\n%s\nthe journal\n%s", got, want)
	}
	var kinds []string
	for _, it := range live.Items {
		kinds = append(kinds, strings.TrimPrefix(reflect.TypeOf(it.Data).String(), "*view."))
	}
	if got, want := strings.Join(kinds, " "), "Prompt Answer Call Call Call Answer End Prompt Answer End"; got != want {
		t.Errorf("items are %s, want %s\n%s", got, want, recorded(live))
	}
	if end := live.Items[6].Data.(*view.End); end.Calls != 3 || end.Fact.Turns != 2 {
		t.Errorf("the end is %+v", end)
	}
}
