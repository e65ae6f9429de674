package subagents_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/subagents"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// journals are the facts of sessions.
type journals map[string][]event.Fact

func (j journals) Read(_ context.Context, id string, _ int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		facts, ok := j[id]
		if !ok {
			yield(event.Event{}, fmt.Errorf("reading %s: %w", id, session.ErrNotFound))
		}
		for i, f := range facts {
			e := event.Event{Seq: int64(i + 1), Prev: int64(i), Session: id, Time: time.Unix(int64(i), 0), Data: f}
			if f == nil {
				yield(e, errors.New("the disk is gone"))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// prompt is what a run of a prompt begins with.
func prompt(id string, l fact.Limits) []event.Fact {
	return []event.Fact{fact.Configured{Model: "m", Dir: "/w", Roots: []string{"/w"}, MaxTokens: 10, Models: map[string]llm.Info{"m": {Price: new(llm.Price)}}, Limits: l},
		event.UserMessage{ID: id, Delivery: fact.AsPrompt, Message: llm.UserText("go")}}
}

// end is how a run ended.
func end(text string, cost float64) event.RunEnd {
	return event.RunEnd{Reason: event.Completed, Text: text, Turns: 2, AgentTurns: 3, ModelCalls: 4, CostUSD: &cost, Duration: time.Second}
}

// What a piece of work came to is in the agent's own journal, under the id of its prompt.
func TestLastResult(t *testing.T) {
	none := fact.Limits{}
	store := journals{
		"done":   append(append(prompt("w1", none), end("first", 1)), append(prompt("w2", none), end("second", 2))...),
		"killed": prompt("w1", none),
		"other":  append(prompt("w0", none), end("zero", 1)),
		"broken": {nil},
	}
	for _, tt := range []struct {
		session, key string
		reason       event.EndReason
		text, dir    string
		cost         float64
		message      string
	}{
		{"done", "w1", event.Completed, "first", "/w", 1, ""},
		{"done", "w2", event.Completed, "second", "/w", 2, ""},
		{"done", "", event.Completed, "second", "/w", 2, ""}, // without a key: the last
		{"killed", "w1", event.Interrupted, "", "/w", 0, "the program ended"},
		{"killed", "", event.Interrupted, "", "/w", 0, "the program ended"},
		{"other", "w1", event.Interrupted, "", "/w", 0, "the program ended"}, // it had not begun with this
		{"missing", "w1", event.Interrupted, "", "", 0, "the program ended"},
		{"broken", "w1", event.Internal, "", "", -1, "the disk is gone"},
	} {
		got, text, dir := subagents.LastResult(t.Context(), store, event.AgentStart{Key: tt.key, Session: tt.session, Agent: "helper"})
		cost := -1.0
		if got.CostUSD != nil {
			cost = *got.CostUSD
		}
		if got.Key != tt.key || got.Session != tt.session || got.Agent != "helper" || got.Reason != tt.reason || text != tt.text || dir != tt.dir || cost != tt.cost || !strings.Contains(got.Message, tt.message) {
			t.Errorf("%s of %s: %+v cost %v, %q, %q", tt.key, tt.session, got, cost, text, dir)
		}
		if tt.text != "" && (got.Turns != 2 || got.AgentTurns != 3 || got.ModelCalls != 4 || got.Duration != time.Second) {
			t.Errorf("%s of %s used %+v", tt.key, tt.session, got)
		}
	}
}

// stateOf returns the state of a session that facts are on record in.
func stateOf(facts ...event.Fact) *engine.State {
	state := new(engine.State)
	for i, f := range facts {
		state.Apply(event.Event{Seq: int64(i + 1), Prev: int64(i), Session: "p", Time: time.Unix(int64(i), 0), Data: f})
	}
	return state
}

// Agents that a crash left at work have ended, once each, with what is known of them. Those
// that go on, in this program or by their call, have not.
func TestAbandoned(t *testing.T) {
	begin := prompt("p1", fact.Limits{})
	front := event.AgentStart{Key: "k1", Session: "c1", Agent: "helper"}
	back := event.AgentStart{Key: "k2", Session: "c2", Agent: "scout", Background: true}
	last := func(at event.AgentStart) (event.AgentEnd, string, string) {
		return event.AgentEnd{Key: at.Key, Session: at.Session, Agent: at.Agent, Reason: event.Interrupted}, "so far", "/tree"
	}
	nobody := func(string) bool { return false }
	types := func(facts []event.Fact) (out []string) {
		for _, f := range facts {
			switch f := f.(type) {
			case event.UserMessage:
				out = append(out, "told "+f.ID)
			case event.AgentEnd:
				out = append(out, "ended "+f.Key)
			}
		}
		return out
	}
	both := stateOf(append(slices.Clone(begin), front, back)...)
	if got := types(subagents.Abandoned(both, true, nobody, last)); !slices.Equal(got, []string{"told agent:k1", "ended k1", "told agent:k2", "ended k2"}) {
		t.Errorf("for a prompt: %v", got)
	}
	if got := types(subagents.Abandoned(both, false, nobody, last)); !slices.Equal(got, []string{"ended k1", "told agent:k2", "ended k2"}) {
		t.Errorf("for a resumption: %v", got)
	}
	if got := types(subagents.Abandoned(both, true, func(key string) bool { return key == "k1" }, last)); !slices.Equal(got, []string{"told agent:k2", "ended k2"}) {
		t.Errorf("while one is at work: %v", got)
	}
	told := subagents.Abandoned(both, true, nobody, last)[2].(event.UserMessage)
	if text := told.Message.Text(); !strings.Contains(text, "scout (agent id: c2) is done: interrupted") || !strings.Contains(text, "so far\n\nIt worked in /tree") {
		t.Errorf("the model is told %q", text)
	}
	// What was told before the crash is not told again, and what has ended has ended.
	again := stateOf(append(slices.Clone(begin), back, told)...)
	if got := types(subagents.Abandoned(again, true, nobody, last)); !slices.Equal(got, []string{"ended k2"}) {
		t.Errorf("told before: %v", got)
	}
	over := stateOf(append(slices.Clone(begin), back, told, event.AgentEnd{Key: "k2", Session: "c2"})...)
	if got := subagents.Abandoned(over, true, nobody, last); len(got) != 0 {
		t.Errorf("ended before: %v", types(got))
	}
	// An agent that waits for a decision goes on when the run is resumed, and not with a new prompt.
	waits := stateOf(append(slices.Clone(begin), back, fact.AgentSuspended{Key: "k2", Session: "c2", Agent: "scout"})...)
	if !subagents.Waits(waits, "k2") || subagents.Waits(both, "k2") {
		t.Error("whether an agent waits is not known")
	}
	if got := subagents.Abandoned(waits, false, nobody, last); len(got) != 0 {
		t.Errorf("waiting, resumed: %v", types(got))
	}
	if got := types(subagents.Abandoned(waits, true, nobody, last)); !slices.Equal(got, []string{"told agent:k2", "ended k2"}) {
		t.Errorf("waiting, prompted: %v", got)
	}
}

// A notice says who has ended, how and with which words.
func TestNotice(t *testing.T) {
	e := event.AgentEnd{Session: "c", Reason: event.ModelError, Message: "no credit"}
	n := subagents.Notice("k", "scout", e, " found it \n")
	if want := "[agent] scout (agent id: c) is done: " + string(event.ModelError) + ": no credit\nfound it"; n.ID != "agent:k" || n.Delivery != fact.AsNotice || n.Message.Text() != want {
		t.Errorf("the notice is %q", n.Message.Text())
	}
	e.Message = ""
	if got := subagents.Notice("k", "scout", e, "").Message.Text(); strings.HasSuffix(got, "\n") || strings.HasSuffix(got, ": ") {
		t.Errorf("a short notice is %q", got)
	}
}

// An agent reserves a share of what is left, and no more than it wants itself.
func TestReserve(t *testing.T) {
	now := time.Unix(10, 0)
	limited := fact.Limits{USD: 1, ModelCalls: 10, Turns: 8}
	reserve := func(state *engine.State, own fact.Limits) (event.AgentStart, fact.Limits, bool) {
		start := event.AgentStart{Key: "k", Session: "c"}
		begun, over, ok := subagents.Reserve(state, now, &start, &own)
		if begun || over {
			t.Errorf("begun %v, over %v", begun, over)
		}
		return start, own, ok
	}
	state := stateOf(prompt("p", limited)...)
	share, left := state.Share("", now)
	if !left || share.USD <= 0 || share.ModelCalls <= 0 || share.Turns <= 0 {
		t.Fatalf("the share is %+v, %v", share, left)
	}
	start, own, ok := reserve(state, fact.Limits{})
	if !ok || start.ReservedUSD != share.USD || start.ModelCalls != share.ModelCalls || own.USD != share.USD || own.OwnTurns != 0 || own.Turns != share.Turns {
		t.Errorf("without limits of its own: %+v, %+v, %v", start, own, ok)
	}
	start, own, ok = reserve(state, fact.Limits{USD: share.USD / 4, Turns: 1, ModelCalls: 1000, Time: time.Hour})
	if !ok || start.ReservedUSD != share.USD/4 || own.ModelCalls != share.ModelCalls || own.Turns != 1 || own.OwnTurns != 1 || own.Time != time.Hour {
		t.Errorf("with limits of its own: %+v, %+v, %v", start, own, ok)
	}
	if start, own, ok = reserve(stateOf(prompt("p", fact.Limits{})...), fact.Limits{Turns: 3}); !ok || start.ReservedUSD != 0 || own.Turns != 0 || own.OwnTurns != 3 {
		t.Errorf("of a parent without limits: %+v, %+v, %v", start, own, ok)
	}
	spent := stateOf(append(prompt("p", limited), event.AgentStart{Key: "all", Session: "x", ReservedUSD: 1, ModelCalls: 10, Turns: 8})...)
	if _, _, ok = reserve(spent, fact.Limits{}); ok {
		t.Error("a share of nothing is had")
	}
}

// Work that begun before keeps its share, as far as a new budget leaves it one.
func TestReserveAgain(t *testing.T) {
	facts := append(prompt("p", fact.Limits{USD: 1}), event.AgentStart{Key: "k", Session: "c", ReservedUSD: 0.25, ModelCalls: 3})
	start, own := event.AgentStart{Key: "k", Session: "c"}, fact.Limits{USD: 5}
	begun, over, ok := subagents.Reserve(stateOf(facts...), time.Unix(10, 0), &start, &own)
	if !begun || over || !ok || start.ReservedUSD != 0.25 || own.USD != 0.25 || own.ModelCalls != 3 {
		t.Errorf("at work: %v, %v, %v with %+v", begun, over, ok, own)
	}
	ended := append(slices.Clone(facts), event.AgentEnd{Key: "k", Session: "c", CostUSD: new(float64)})
	if begun, over, ok = subagents.Reserve(stateOf(ended...), time.Unix(10, 0), &start, &own); !begun || !over || !ok {
		t.Errorf("ended: %v, %v, %v", begun, over, ok)
	}
	for limits, want := range map[fact.Limits]bool{{}: false, {USD: 1}: true, {ModelCalls: 1}: false, {Turns: 1}: true} {
		if got := subagents.Spent(limits, event.AgentStart{ModelCalls: 3}); got != want {
			t.Errorf("%+v leaves it nothing: %v", limits, got)
		}
	}
	if a, b, c := subagents.Least(0, 2), subagents.Least(2, 0), subagents.Least(3, 2); a != 2 || b != 2 || c != 2 {
		t.Errorf("least: %d, %d, %d", a, b, c)
	}
}
