package agent_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A recording store notes the order in which facts of all its sessions came.
type recording struct {
	session.Store
	under string // session that the store is of, "" at the root
	tape  *tape
}

type tape struct {
	mu    sync.Mutex
	facts []taped
}

type taped struct {
	under string
	event event.Event
}

func (r recording) Under(id string) session.Store {
	return recording{session.Under(r.Store, id), id, r.tape}
}

func (r recording) Open(ctx context.Context, id string, h session.Header) (session.Log, error) {
	log, err := r.Store.Open(ctx, id, h)
	return recordingLog{log, r}, err
}

func (r recording) Read(ctx context.Context, id string, after int64) iter.Seq2[event.Event, error] {
	return r.Store.Read(ctx, id, after)
}

type recordingLog struct {
	session.Log
	store recording
}

func (l recordingLog) Append(ctx context.Context, after int64, sync bool, es ...event.Event) error {
	err := l.Log.Append(ctx, after, sync, es...)
	if err == nil {
		l.store.tape.mu.Lock()
		defer l.store.tape.mu.Unlock()
		for _, e := range es {
			l.store.tape.facts = append(l.store.tape.facts, taped{l.store.under, e})
		}
	}
	return err
}

// cut returns a store that holds the first n facts.
func (p *tape) cut(t *testing.T, n int) session.Store {
	root := session.Memory()
	p.put(t, root, n)
	return root
}

// put records the first n facts in a store.
func (p *tape) put(t *testing.T, root session.Store, n int) {
	by := map[string][]event.Event{}
	for _, f := range p.facts[:n] {
		at := f.under + " " + f.event.Session
		by[at] = append(by[at], f.event)
	}
	for at, es := range by {
		under, id, _ := strings.Cut(at, " ")
		store, h := session.Store(root), session.Header{Session: id}
		if under != "" {
			store, h.Agent = session.Under(root, under), &session.ParentRef{Name: "helper", Kind: "helper", Session: under}
		}
		log, err := store.Open(t.Context(), id, h)
		if err == nil {
			err = log.Append(t.Context(), 0, true, es...)
		}
		if err != nil {
			t.Fatal(err)
		}
		log.Close()
	}
}

// did counts the model's answers and the writes of the first n facts.
func (p *tape) did(n int) (answers, begun int) {
	var facts []event.Event
	for _, f := range p.facts[:n] {
		if f.under != "" {
			if _, ok := f.event.Data.(event.AssistantMessage); ok {
				answers++
			}
			facts = append(facts, f.event)
		}
	}
	return answers, begunWrites(facts)[1]
}

// A parent and its agent die after any fact of either, and again during the recovery. Then
// they continue: no answer of the agent is paid for twice, its write does not run twice,
// and the parent gets its result.
func TestChildResumesAnywhere(t *testing.T) {
	var mu sync.Mutex
	writes := 0
	w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		writes++
		return tool.Text("wrote"), nil
	})
	play := func(store session.Store) (run *agent.Session, tp *tape, small *llmtest.Model) {
		tp = &tape{}
		small = byTurn(t, uses("double"), llmtest.Call(llmtest.Use("", "write", number{1})), say("helped"))
		kind := &agent.Agent{Name: "helper", Model: small, Tools: []tool.Tool{double, w}}
		a := &agent.Agent{Model: byTurn(t, delegates(1), say("end")), Tools: []tool.Tool{delegate(kind, false), w}, Permissions: bypass,
			Sessions: recording{store, "", tp}}
		return a.Session("s"), tp, small
	}
	run, full, _ := play(session.Memory())
	if _, err := run.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	run.Close()
	if len(full.facts) < 20 {
		t.Fatalf("only %d facts", len(full.facts))
	}
	var check func(before *tape, cut int, again bool)
	check = func(before *tape, cut int, again bool) {
		name := fmt.Sprintf("cut after %d facts (%v)", cut, again)
		store := before.cut(t, cut)
		answers, begun := before.did(cut)
		writes = 0
		run, tp, small := play(store)
		defer run.Close()
		open, err := run.CanResume(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !open {
			return
		}
		for _, err := range run.Resume(t.Context()) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := len(small.Requests()); answers+n != 3 {
			t.Errorf("%s: %d answers were on record, and %d were asked for", name, answers, n)
		}
		if begun+writes != 1 {
			t.Errorf("%s: the write had begun %d times, and ran %d times", name, begun, writes)
		}
		messages, err := run.Messages(t.Context())
		if err != nil || len(messages) != 4 {
			t.Fatalf("%s: %d messages, %v", name, len(messages), err)
		}
		if got := messages[2].Content[0].(llm.ToolResult).Content.Text(); got != "helped" {
			t.Errorf("%s: the parent was told %q", name, got)
		}
		if again {
			return
		}
		whole := &tape{facts: slices.Concat(before.facts[:cut], tp.facts)}
		for twice := cut; twice <= len(whole.facts); twice++ {
			check(whole, twice, true)
		}
	}
	for cut := 2; cut <= len(full.facts); cut++ {
		check(full, cut, false)
	}
}

// A program that dies while an agent waits for a person asks again when it is resumed,
// and the answer counts once. (C12)
func TestChildAsksAgain(t *testing.T) {
	var ran, asked int
	var mu sync.Mutex
	w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		ran++
		return tool.Text("wrote"), nil
	})
	store := session.Memory()
	tp := &tape{}
	play := func(store session.Store, callback agent.CanUseToolFunc) *agent.Session {
		kind := &agent.Agent{Name: "helper", Model: byTurn(t, uses("write"), say("helped")), Tools: []tool.Tool{w}}
		a := &agent.Agent{Model: byTurn(t, delegates(1), say("end")), Tools: []tool.Tool{delegate(kind, false), w}, Sessions: recording{store, "", tp}, CanUseTool: callback}
		return a.Session("s")
	}
	waits := make(chan struct{})
	run := play(store, func(ctx context.Context, _ tool.Call, v permission.Decision) (permission.Decision, error) {
		if v.Behavior != permission.Asked {
			return permission.Decision{}, nil
		}
		close(waits)
		<-ctx.Done()
		return permission.Decision{}, ctx.Err()
	})
	ended := make(chan struct{})
	go func() { run.Prompt(t.Context(), "go"); close(ended) }()
	<-waits
	tp.mu.Lock()
	n := len(tp.facts)
	tp.mu.Unlock()
	run.Close()
	<-ended

	again := play(tp.cut(t, n), func(_ context.Context, c tool.Call, v permission.Decision) (permission.Decision, error) {
		if v.Behavior != permission.Asked {
			return permission.Decision{}, nil
		}
		if asked++; c.Name != "write" || c.Agent != "helper" {
			t.Errorf("asked about %s of %s", c.Name, c.Agent)
		}
		return permission.Allow(), nil
	})
	defer again.Close()
	for _, err := range again.Resume(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 || ran != 1 || again.Result().Text != "end" {
		t.Errorf("asked %d times, ran %d times, %+v", asked, ran, again.Result())
	}
}
