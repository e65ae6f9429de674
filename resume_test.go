package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// byTurn answers according to the answers in the conversation, so that it gives
// the same ones to a resumed run. It refuses a conversation that no provider
// would take.
func byTurn(t *testing.T, steps ...llmtest.Step) *llmtest.Model {
	return &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		n := 0
		for i, m := range r.Messages {
			if m.Role == llm.Assistant {
				n++
			}
			for k, u := range m.ToolUses() {
				if i+1 >= len(r.Messages) || k >= len(r.Messages[i+1].Content) {
					t.Errorf("call %s has no result", u.ID)
				} else if res, ok := r.Messages[i+1].Content[k].(llm.ToolResult); !ok || res.ID != u.ID {
					t.Errorf("call %s is followed by %+v", u.ID, r.Messages[i+1].Content[k])
				}
			}
		}
		return steps[min(n, len(steps)-1)]
	}}
}

// A run that dies after any of its facts, and again after any fact of its recovery, ends
// the same way. No write is repeated.
func TestResumeAnywhere(t *testing.T) {
	nothing := func(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{}, nil }
	resumeAnywhere(t, 3, []hook.Hook{{On: hook.PostToolUse, Func: nothing}}, say("done"))
}

// The same with hooks at every moment. They add context, and a Stop hook makes the run
// continue once.
func TestResumeAnywhereWithHooks(t *testing.T) {
	var hooks []hook.Hook
	for _, e := range hook.Events {
		hooks = append(hooks, hook.Hook{On: e, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
			if e == hook.Stop {
				return hook.Output{Block: !in.Active && in.Last == "not yet", Reason: "go on"}, nil
			}
			return hook.Output{Context: "context of " + string(e)}, nil
		}})
	}
	resumeAnywhere(t, 4, hooks, say("not yet"), say("done"))
}

func resumeAnywhere(t *testing.T, turns int, hooks []hook.Hook, last ...llmtest.Step) {
	var mu sync.Mutex
	writes := map[int]int{}
	w := write(func(_ context.Context, _ tool.Call, n int) (*tool.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		writes[n]++
		return tool.Text(fmt.Sprint("wrote ", n)), nil
	})
	new := func(store session.Store) *agent.Agent {
		return &agent.Agent{Sessions: store, Tools: []tool.Tool{double, w}, Permissions: bypass,
			Hooks: hooks,
			Model: byTurn(t, append([]llmtest.Step{
				llmtest.Call(llmtest.Use("a", "double", number{1}), llmtest.Use("b", "double", number{2})),
				llmtest.Call(llmtest.Use("c", "write", number{3}), llmtest.Use("d", "double", number{4}), llmtest.Use("e", "write", number{5}))}, last...)...)}
	}
	s := new(nil).Session("s")
	defer s.Close()
	full, err := collect(t, s, "go")
	if err != nil {
		t.Fatal(err)
	}
	var facts []event.Event
	for _, e := range full {
		if e.Seq > 0 {
			facts = append(facts, e)
		}
	}
	for cut := 2; cut <= len(facts); cut++ {
		for again := range 6 {
			history := facts[:cut]
			if again > 0 {
				history = append(history[:cut:cut], resumeFrom(t, new, history, again)...)
			}
			clear(writes) // what the runs did whose end the history does not know
			begun := begunWrites(history)
			store := seeded(t, history)
			s := new(store).Session("s")
			for _, err := range s.Resume(t.Context()) {
				if err != nil && cut < len(facts) && !strings.Contains(err.Error(), "nothing to resume") {
					t.Fatalf("cut after %d facts, then %d: %v", cut, again, err)
				}
			}
			if res := s.Result(); res != nil && (res.Text != "done" || res.Turns != turns) {
				t.Errorf("cut after %d facts, then %d: %+v", cut, again, res)
			}
			for _, n := range []int{3, 5} {
				if total := writes[n] + begun[n]; total != 1 {
					t.Errorf("cut after %d facts, then %d: write %d ran %d times, and had begun %d times", cut, again, n, writes[n], begun[n])
				}
			}
			s.Close()
		}
	}
}

// resumeFrom resumes a history and returns the first n facts that this added.
func resumeFrom(t *testing.T, new func(session.Store) *agent.Agent, history []event.Event, n int) []event.Event {
	s := new(seeded(t, history)).Session("s")
	defer s.Close()
	var added []event.Event
	for e, err := range s.Resume(t.Context()) {
		if err == nil && e.Seq > 0 && len(added) < n {
			added = append(added, e)
		}
	}
	return added
}

// begunWrites counts the writes that are on record as started.
func begunWrites(facts []event.Event) map[int]int {
	uses := map[string]llm.ToolUse{}
	begun := map[int]int{}
	for _, e := range facts {
		switch f := e.Data.(type) {
		case event.AssistantMessage:
			for i, u := range f.Response.Message.ToolUses() {
				uses[fmt.Sprintf("c%d.%d", e.Seq, i)] = u
			}
		case event.ToolStart:
			if u := uses[f.Call]; u.Name == "write" {
				n := 0
				fmt.Sscanf(string(u.Input), `{"n":%d}`, &n)
				begun[n]++
			}
		}
	}
	return begun
}

// seeded returns a store that holds a history.
func seeded(t *testing.T, history []event.Event) session.Store {
	t.Helper()
	store := session.Memory()
	log, err := store.Open(t.Context(), "s", session.Header{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := log.Append(t.Context(), 0, true, history...); err != nil {
		t.Fatal(err)
	}
	return store
}

// After a crash a prompt closes the open run first; the next request is whole.
func TestPromptAfterCrash(t *testing.T) {
	for cut := 2; cut <= 9; cut++ {
		a := &agent.Agent{Tools: []tool.Tool{write(func(context.Context, tool.Call, int) (*tool.Result, error) { return tool.Text("ok"), nil })}, Permissions: bypass,
			Model: byTurn(t, uses("write", "write"), say("done"))}
		s := a.Session("s")
		facts, err := collect(t, s, "go")
		s.Close()
		if err != nil {
			t.Fatal(err)
		}
		facts = recorded(facts)
		a.Sessions = seeded(t, facts[:min(cut, len(facts))])
		s = a.Session("s")
		if res, err := s.Prompt(t.Context(), "again"); err != nil || res.Reason != event.Completed {
			t.Errorf("cut after %d: %+v, %v", cut, res, err)
		}
		s.Close()
	}
}

func recorded(events []event.Event) []event.Event {
	var facts []event.Event
	for _, e := range events {
		if e.Seq > 0 {
			facts = append(facts, e)
		}
	}
	return facts
}

// An interrupt after any event leaves a conversation that goes on, one end, and
// nothing running.
func TestInterruptAnywhere(t *testing.T) {
	new := func() *agent.Agent {
		return &agent.Agent{Tools: []tool.Tool{double, write(func(ctx context.Context, _ tool.Call, n int) (*tool.Result, error) { return tool.Text("ok"), nil })},
			Permissions: permission.Policy{Mode: permission.Bypass},
			Model:       byTurn(t, llmtest.Call(llmtest.Use("a", "double", number{1}), llmtest.Use("b", "write", number{2}), llmtest.Use("c", "double", number{3})), say("done"), say("more"))}
	}
	for at := 1; ; at++ {
		s := new().Session("")
		n, ends := 0, 0
		for e, err := range s.Stream(t.Context(), "go") {
			if n++; n == at {
				s.Interrupt(t.Context())
			}
			if _, ok := e.Data.(event.RunEnd); ok && err == nil {
				ends++
			}
		}
		if ends != 1 {
			t.Fatalf("interrupted at event %d the run has %d ends", at, ends)
		}
		if res, err := s.Prompt(t.Context(), "again"); err != nil {
			t.Fatalf("after an interrupt at event %d: %+v, %v", at, res, err)
		}
		s.Close()
		if n < at {
			return
		}
	}
}

// A store that fails ends the run with a typed error and keeps what it had.
func TestStoreFails(t *testing.T) {
	for n := 1; n < 12; n++ {
		a := &agent.Agent{Tools: []tool.Tool{double}, Model: byTurn(t, uses("double"), say("done"))}
		failing := &failingStore{Store: session.Memory(), left: n}
		a.Sessions = failing
		s := a.Session("s")
		res, err := s.Prompt(t.Context(), "go")
		if err == nil {
			if res.Text != "done" {
				t.Errorf("%+v", res)
			}
			s.Close()
			return
		}
		if !strings.Contains(err.Error(), errDisk.Error()) {
			t.Errorf("fails at append %d: %v", n, err)
		}
		failing.left = 1000
		if res, err := s.Prompt(t.Context(), "again"); err != nil || res.Text != "done" {
			t.Errorf("after a failure at append %d: %+v, %v", n, res, err)
		}
		s.Close()
	}
	t.Error("the store never stopped failing")
}

var errDisk = fmt.Errorf("no space left on device")

type failingStore struct {
	session.Store
	left  int
	acked int64 // the last fact that was acknowledged
}

func (f *failingStore) Open(ctx context.Context, id string, h session.Header) (session.Log, error) {
	log, err := f.Store.Open(ctx, id, h)
	return &failingLog{log, f}, err
}

func (f *failingStore) Read(ctx context.Context, id string, after int64) iter.Seq2[event.Event, error] {
	return f.Store.Read(ctx, id, after)
}

type failingLog struct {
	session.Log
	store *failingStore
}

func (l *failingLog) Append(ctx context.Context, after int64, sync bool, es ...event.Event) error {
	if l.store.left--; l.store.left < 0 {
		return errDisk
	}
	err := l.Log.Append(ctx, after, sync, es...)
	if err == nil {
		l.store.acked = after + int64(len(es))
	}
	return err
}

// A run that goes on has the hooks of the program in which it does.
func TestResumeWithOtherHooks(t *testing.T) {
	store := session.Memory()
	a := &agent.Agent{Model: llmtest.Script(uses("write"), say("end")), Sessions: store, CanUseTool: answer(permission.Defer()),
		Tools: []tool.Tool{tool.Func(tool.Spec{Name: "write"}, func(context.Context, number) (string, error) { return "written", nil })}}
	s := a.Session("s")
	if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
		t.Fatal(err)
	}
	s.Close()
	stops := 0
	later := *a
	later.CanUseTool = answer(permission.Allow())
	later.Hooks = []hook.Hook{{On: hook.Stop, Func: func(context.Context, *hook.Input) (hook.Output, error) {
		stops++
		return hook.Output{}, nil
	}}}
	s = later.Session("s")
	defer s.Close()
	for _, err := range s.Resume(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if stops != 1 {
		t.Errorf("the hook of the later program was called %d times, want once", stops)
	}
}
