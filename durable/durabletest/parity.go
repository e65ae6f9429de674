package durabletest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// parity plays one script twice: in this process without workers, and with a new worker for each step.
// Both times the model gets the same requests, and the same facts are recorded.
func parity(s *suite) {
	alone := &parityWorld{}
	store := session.Memory()
	here := &inProcess{session: alone.agent(store).Session("s"), T: s.T}
	if err := playParity(s.Context(), alone, here); err != nil {
		s.Fatalf("in this process: %v", err)
	}
	if err := here.session.Close(); err != nil {
		s.Fatal(err)
	}
	shared := &parityWorld{}
	there := &onWorkers{suite: s, world: shared}
	if err := playParity(s.Context(), shared, there); err != nil {
		s.Fatalf("on workers: %v", err)
	}
	s.same("requests", alone.requests, shared.requests)
	s.same("executions", alone.ran, shared.ran)
	want, got := s.comparable(store), s.comparable(s.client.Backend.Store("", nil))
	ids := slices.Sorted(maps.Keys(want))
	s.same("sessions", ids, slices.Sorted(maps.Keys(got)))
	for _, id := range ids {
		s.same("facts of "+id, want[id], got[id])
	}
}

// same compares two lists, and shows where they part.
func (s *suite) same(what string, want, got []string) {
	s.Helper()
	for i := range max(len(want), len(got)) {
		at := func(list []string) string {
			if i < len(list) {
				return list[i]
			}
			return "nothing"
		}
		if w, g := at(want), at(got); w != g {
			s.Errorf("%s: number %d of %d and %d\nin one process: %s\non workers:     %s", what, i+1, len(want), len(got), w, g)
			return
		}
	}
}

// comparable returns the facts of all sessions of a store that say what happened, without those
// parts that differ between any two runs of the script: times.
func (s *suite) comparable(store session.Store) map[string][]string {
	s.Helper()
	all := map[string][]string{}
	var add func(store session.Store, id string)
	add = func(store session.Store, id string) {
		for e, err := range store.Read(s.Context(), id, 0) {
			if err != nil {
				s.Fatal(err)
			}
			if start, ok := e.Data.(event.AgentStart); ok {
				add(session.Under(store, id), start.Session)
			}
			line, err := json.Marshal(e)
			if err != nil {
				s.Fatal(err)
			}
			var fields map[string]any
			if err := json.Unmarshal(line, &fields); err != nil {
				s.Fatal(err)
			}
			if line, err = json.Marshal(without(fields["type"], fields)); err != nil {
				s.Fatal(err)
			}
			all[id] = append(all[id], string(line))
		}
	}
	add(store, "s")
	return all
}

// allowedToDiffer are the members of facts in which two runs of one script differ, wherever they
// work: times, and the ids of requests that were sent without one. All else is the same.
var allowedToDiffer = []string{
	"time",     // of the fact
	"duration", // of a call
	"first",    // until the first piece of an answer
	"api",      // all of a run's time in calls of models
}

// without removes what may differ. typ is the type of the fact.
func without(typ any, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range allowedToDiffer {
			delete(v, key)
		}
		if typ == "compaction_requested" {
			delete(v, "id") // nobody gives one
		}
		for _, field := range v {
			without(typ, field)
		}
	case []any:
		for _, element := range v {
			without(typ, element)
		}
	}
	return v
}

// A parityWorld is what the agent of the script works on, and what it was asked.
type parityWorld struct {
	mu       sync.Mutex
	requests []string
	ran      []string
	waiting  chan struct{} // gets a value when the tool wait has begun
	release  chan struct{} // lets it end
}

// agent returns the agent of the script.
func (w *parityWorld) agent(store session.Store) *agent.Agent {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == nil {
		w.waiting, w.release = make(chan struct{}), make(chan struct{})
	}
	lookup, charge := w.tool(tool.Spec{Name: "lookup", ReadOnly: true}), w.tool(tool.Spec{Name: "charge"})
	policy := permission.Policy{Allow: []permission.Rule{"lookup", "note", "charge", "wait", "delegate"}}
	clerk := &agent.Agent{Name: "clerk", Model: &llmtest.Model{Rule: w.answer}, Tools: []tool.Tool{lookup, charge}, Permissions: policy}
	delegate := tool.New(tool.Spec{Name: "delegate", Idempotent: true, Timeout: -1}, func(ctx context.Context, call tool.Call, in item) (*tool.Result, error) {
		parent, ok := agent.ParentOf(ctx)
		if !ok {
			return nil, errors.New("no run")
		}
		res, err := parent.Run(ctx, agent.Child{Agent: clerk, Call: call.ID, Input: agent.Input{Text: "do work"}})
		if res == nil {
			return nil, err
		}
		return tool.Text(res.Text), nil
	}).OnClassify(func(tool.Call, item) tool.Traits { return tool.Traits{RunsSubagents: true} })
	wait := tool.New(tool.Spec{Name: "wait", ReadOnly: true}, func(ctx context.Context, call tool.Call, in item) (*tool.Result, error) {
		w.waiting <- struct{}{}
		select {
		case <-w.release:
			return tool.Text("waited"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	return &agent.Agent{
		Program: "parity", AwaitAgents: true, Sessions: store, Permissions: policy, Model: &llmtest.Model{Rule: w.answer},
		Models: func(name string) (llm.Model, error) { return &llmtest.Model{ID: name, Rule: w.answer}, nil },
		Tools:  []tool.Tool{lookup, w.tool(tool.Spec{Name: "note", Idempotent: true}), charge, w.tool(tool.Spec{Name: "refund"}), wait, delegate},
		CanUseTool: func(_ context.Context, _ tool.Call, verdict permission.Decision) (permission.Decision, error) {
			if verdict.Behavior != permission.Asked {
				return permission.Decision{}, nil
			}
			return permission.Defer(), nil
		},
	}
}

func (w *parityWorld) tool(spec tool.Spec) tool.Tool {
	return tool.New(spec, func(_ context.Context, call tool.Call, in item) (*tool.Result, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ran = append(w.ran, fmt.Sprint(spec.Name, " ", in.N))
		return tool.Text(fmt.Sprint(spec.Name, " ", in.N)), nil
	})
}

// answer plays the model: what it calls is in the prompt, a line each turn.
func (w *parityWorld) answer(r *llmtest.Request, _ int) llmtest.Step {
	text, err := json.Marshal([]any{r.Model, r.System, r.Messages, r.Tools})
	w.mu.Lock()
	w.requests = append(w.requests, fmt.Sprint(string(text), err))
	number := len(w.requests)
	w.mu.Unlock()
	turn, prompt := 0, ""
	for _, m := range r.Messages {
		switch {
		case m.Role == llm.Assistant:
			turn++
		case strings.HasPrefix(m.Text(), "do "):
			turn, prompt = 0, m.Text()
		}
	}
	turns := map[string][][]llm.ToolUse{
		"do reads":    {{llmtest.Use("", "lookup", item{1})}, {llmtest.Use("", "note", item{2})}, {llmtest.Use("", "charge", item{3})}},
		"do refund":   {{llmtest.Use("", "lookup", item{4})}, {llmtest.Use("", "refund", item{5})}},
		"do no":       {{llmtest.Use("", "refund", item{6})}},
		"do delegate": {{llmtest.Use("", "delegate", item{7})}},
		"do work":     {{llmtest.Use("", "lookup", item{8})}, {llmtest.Use("", "charge", item{9})}},
		"do wait":     {{llmtest.Use("", "wait", item{10})}},
	}[prompt]
	if len(r.Tools) > 0 && turn < len(turns) {
		step := llmtest.Call(turns[turn]...)
		for i := range step.Calls { // unlike those of a Model, the ids do not begin again on another worker
			step.Calls[i].ID = fmt.Sprintf("call_%d_%d", number, i)
		}
		return step
	}
	return llmtest.Say("done: " + prompt)
}

// A parityHost plays the steps of the script.
type parityHost interface {
	prompt(ctx context.Context, id, text string) error         // starts a run
	steer(ctx context.Context, id, text string) error          // returns once it is on record
	decide(ctx context.Context, d permission.Decision) error   // about a question that suspended the run; the run continues
	interrupt(ctx context.Context, prompt string) error        // a run
	command(ctx context.Context, c durable.Command) error      // between two runs
	wait(ctx context.Context, id string) (event.RunEnd, error) // for the end of a run
}

// playParity plays the script.
func playParity(ctx context.Context, w *parityWorld, h parityHost) error {
	run := func(id, text string, reason event.EndReason, during ...func() error) error {
		if err := h.prompt(ctx, id, text); err != nil {
			return err
		}
		for _, do := range during {
			if err := do(); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		end, err := h.wait(ctx, id)
		if err == nil && end.Reason != reason {
			err = fmt.Errorf("it ended as %s: %s", end.Reason, end.Message)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		return nil
	}
	decide := func(d permission.Decision) func() error { return func() error { return h.decide(ctx, d) } }
	begun := func() error {
		select {
		case <-w.waiting:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, step := range []func() error{
		func() error { return run("p1", "do reads", event.Completed) },
		func() error { return run("p2", "do refund", event.Completed, decide(permission.Allow())) },
		func() error { return run("p3", "do no", event.Completed, decide(permission.Deny("not this one"))) },
		func() error { return run("p4", "do delegate", event.Completed) },
		func() error {
			return run("p5", "do wait", event.Completed, begun, func() error { return h.steer(ctx, "m1", "also this") }, func() error {
				w.release <- struct{}{}
				return nil
			})
		},
		func() error {
			return run("p6", "do wait", event.Interrupted, begun, func() error { return h.interrupt(ctx, "p6") })
		},
		func() error { return h.command(ctx, durable.Compact{Instructions: "keep the numbers"}) },
		func() error { return run("p7", "do reads", event.Completed) },
		func() error { return h.command(ctx, durable.SetModel{Name: "other"}) },
		func() error { return h.command(ctx, durable.SetMode{Mode: permission.DontAsk}) },
		func() error { return run("p8", "do refund", event.Completed) },
		func() error { return run("p9", "do reads", event.Completed) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// inProcess plays the script with one Session.
type inProcess struct {
	*testing.T
	session *agent.Session
	over    chan struct{} // closed when nobody drives the run
	failed  error
}

func (h *inProcess) follow(run iter.Seq2[event.Event, error]) {
	h.over, h.failed = make(chan struct{}), nil
	go func() {
		defer close(h.over)
		for _, err := range run {
			var end *agent.EndError
			if err != nil && !errors.As(err, &end) {
				h.failed = err
			}
		}
	}()
}

func (h *inProcess) prompt(ctx context.Context, id, text string) error {
	h.follow(h.session.StreamInput(ctx, agent.Input{ID: id, Text: text}))
	return nil
}

func (h *inProcess) steer(ctx context.Context, id, text string) error {
	_, err := h.session.Steer(ctx, agent.Input{ID: id, Text: text})
	return err
}

func (h *inProcess) decide(ctx context.Context, d permission.Decision) error {
	<-h.over
	questions, err := h.session.Pending(ctx)
	if err != nil || len(questions) != 1 {
		return fmt.Errorf("%d questions, %w", len(questions), cmp.Or(err, h.failed))
	}
	if err := h.session.Decide(ctx, questions[0].Call.ID, d); err != nil {
		return err
	}
	h.follow(h.session.Resume(ctx))
	return nil
}

func (h *inProcess) interrupt(ctx context.Context, _ string) error {
	_, err := h.session.Interrupt(ctx)
	return err
}

func (h *inProcess) command(ctx context.Context, c durable.Command) error {
	switch c := c.(type) {
	case durable.Compact:
		return h.session.Compact(ctx, c.Instructions)
	case durable.SetMode:
		return h.session.SetMode(ctx, c.Mode)
	case durable.SetModel:
		m, err := h.session.Agent().Models(c.Name)
		if err != nil {
			return err
		}
		return h.session.SetModel(ctx, m)
	}
	return fmt.Errorf("%T is not in the script", c)
}

func (h *inProcess) wait(context.Context, string) (event.RunEnd, error) {
	<-h.over
	if h.failed != nil {
		return event.RunEnd{}, h.failed
	}
	return h.session.Result().RunEnd, nil
}

// onWorkers plays the script with commands. Each step has a worker of its own.
type onWorkers struct {
	*suite
	world *parityWorld
	last  *process
}

// change lets another worker take the session.
func (h *onWorkers) change() {
	if h.last != nil {
		h.last.drain()
		<-h.last.done
	}
	h.last = h.worker(func(w *durable.Worker) {
		w.Agent = func(context.Context, durable.Where) (durable.Hosted, error) {
			return durable.Hosted{Agent: h.world.agent(nil)}, nil
		}
	})
}

func (h *onWorkers) prompt(_ context.Context, id, text string) error {
	h.change()
	h.send("s", id, durable.Prompt{Text: text})
	return nil
}

func (h *onWorkers) steer(_ context.Context, id, text string) error {
	h.send("s", id, durable.Message{Text: text})
	h.settled(id)
	return nil
}

// settled waits until a command is carried out.
func (h *onWorkers) settled(id string) {
	h.until("settled", func() bool {
		settled, err := h.client.Settled(h.Context(), "s", id)
		if err != nil {
			h.Errorf("command %s: %v", id, err)
		}
		return settled
	})
}

func (h *onWorkers) decide(ctx context.Context, d permission.Decision) error {
	h.until("a suspended run", func() bool {
		last, err := session.Last(ctx, h.client.Backend.Store("", nil), "s", 1, func(string) bool { return true })
		if err != nil || len(last) == 0 {
			return false
		}
		end, ok := last[0].Data.(event.RunEnd)
		return ok && end.Reason == event.Suspended
	})
	questions, err := h.client.Questions(ctx, "s")
	if err != nil || len(questions) != 1 {
		return fmt.Errorf("%d questions, %w", len(questions), err)
	}
	h.change()
	h.send("s", "", durable.Decide{Call: questions[0].Call, Decision: d})
	return nil
}

func (h *onWorkers) interrupt(_ context.Context, prompt string) error {
	h.send("s", "", durable.Interrupt{Prompt: prompt})
	return nil
}

func (h *onWorkers) command(_ context.Context, c durable.Command) error {
	h.change()
	h.settled(h.send("s", "", c))
	return nil
}

func (h *onWorkers) wait(_ context.Context, id string) (event.RunEnd, error) {
	return h.suite.wait("s", id), nil
}
