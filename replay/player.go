package replay

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rerun"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/trace"
)

// A player replays the facts of one session. What comes from outside of the agent is taken
// from the record: prompts, decisions of people, interrupts, the clock. Everything else is
// made again and compared.
type player struct {
	*recording
	id      string
	store   session.Store
	forked  int64 // facts up to this one are of the session that this one was forked from
	session rerun.Session
	facts   []event.Event
	at      int // the fact that is replayed

	wanted  map[string]engine.Effect // effects that the engine has wanted in this run, by key
	started map[string]engine.Effect // those that have started, as they were then
	due     []event.Fact             // facts that come with the one before
	playing map[string]bool          // sub-agents whose sessions were replayed
}

// read reads the record.
func (p *player) read(ctx context.Context) error {
	info, err := session.Stat(ctx, p.store, p.id)
	if err != nil {
		return err
	}
	if info.Parent != nil {
		p.forked = info.Parent.Seq
	}
	for e, err := range p.store.Read(ctx, p.id, 0) {
		if err != nil {
			return err
		}
		p.facts = append(p.facts, e)
		p.learn(e.Data)
		if a, ok := e.Data.(fact.Authorized); ok {
			p.traits[[2]string{p.id, a.Call}] = a.Class
		}
	}
	return nil
}

// play replays all facts.
func (p *player) play(ctx context.Context) error {
	p.wanted, p.started, p.playing = map[string]engine.Effect{}, map[string]engine.Effect{}, map[string]bool{}
	for i, e := range p.facts {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		p.at = i
		f, ok := e.Data.(event.Fact)
		if !ok {
			return fmt.Errorf("fact %d is of a kind that this version does not know; replay it with the version that recorded it", e.Seq)
		}
		c := p.session.Conversation()
		if c.Forked == 0 && p.forked > 0 && e.Seq > p.forked && (c.State.Running() || c.State.Pending()) {
			c.Forked = p.forked
		}
		if err := p.check(ctx, f); err != nil {
			return fmt.Errorf("fact %d: %w", e.Seq, err)
		}
		p.session.Apply(e, func() []event.Event { return path(p.facts[:i+1]) })
		if err := p.applied(ctx, f); err != nil {
			return fmt.Errorf("fact %d: %w", e.Seq, err)
		}
		if p.watch != nil {
			p.watch(e)
		}
	}
	return nil
}

// applied does what follows a fact: it notes the effects that the engine wants now, and
// replays a sub-agent that has started.
func (p *player) applied(ctx context.Context, f event.Fact) error {
	state := p.session.Conversation().State
	switch f := f.(type) {
	case event.Rewound, fact.Configured, event.Resumed:
		clear(p.wanted)
		clear(p.started)
	case event.AgentStart:
		return p.child(ctx, f)
	}
	for _, e := range state.Effects() {
		if _, is := e.(engine.Record); !is {
			p.wanted[e.Key()] = e
		}
	}
	return nil
}

// child replays the session of a sub-agent, if it is on record.
func (p *player) child(ctx context.Context, start event.AgentStart) error {
	if p.playing[start.Session] {
		return nil
	}
	p.playing[start.Session] = true
	c := &player{recording: p.recording, id: start.Session, store: session.Under(p.store, p.id)}
	if err := c.read(ctx); errors.Is(err, session.ErrNotFound) {
		return nil // the program died before it began
	} else if err != nil {
		return err
	}
	recorded := c.configured()
	if recorded == nil {
		return nil
	}
	outer := p.current
	defer func() { p.current = outer }()
	c.session = p.session.Child(start, recorded)
	if err := c.play(ctx); err != nil {
		return fmt.Errorf("sub-agent %s: %w", start.Session, err)
	}
	return nil
}

// check compares a fact of the record with the one that the agent makes now.
func (p *player) check(ctx context.Context, f event.Fact) error {
	if len(p.due) > 0 {
		due := p.due[0]
		if reflect.TypeOf(due) == reflect.TypeOf(f) {
			p.due = p.due[1:]
			p.compare(f, due)
			return nil
		}
		if _, crashed := f.(event.Resumed); !crashed { // what came with the last fact is lost
			p.differ(f, fmt.Sprintf("before it, the agent now adds %s: %s", kind(due), short(due)))
		}
		p.due = nil
	}
	switch f := f.(type) {
	case fact.Configured:
		return p.begin(ctx, &f)
	case event.Resumed:
		return p.begin(ctx, nil)
	}
	state := p.session.Conversation().State
	if !state.Running() {
		return nil // between runs only people and programs add facts
	}
	if outside(f) {
		return nil
	}
	key := keyOf(f)
	effects := state.Effects()
	if rec, ok := effects[0].(engine.Record); ok {
		for _, own := range rec.Facts {
			if reflect.TypeOf(own) == reflect.TypeOf(f) && keyOf(own) == key {
				p.compare(f, own)
				return nil
			}
		}
	}
	if intent := intentOf(f); intent {
		for _, e := range effects {
			if e.Key() == key {
				p.started[key] = e
				p.compare(f, e.Intent())
				return nil
			}
		}
		return p.unexpected(f, effects)
	}
	effect := p.effect(key, effects)
	if effect == nil {
		return p.unexpected(f, effects)
	}
	return p.carryOut(ctx, effect, f)
}

// effect returns the effect with the given key: as it was when it started, as it is wanted now,
// or as it was wanted last.
func (p *player) effect(key string, effects []engine.Effect) engine.Effect {
	if e := p.started[key]; e != nil {
		return e
	}
	for _, e := range effects {
		if e.Key() == key {
			return e
		}
	}
	if key == "" {
		return nil
	}
	return p.wanted[key]
}

// unexpected notes that the engine does not want a fact.
func (p *player) unexpected(f event.Fact, effects []engine.Effect) error {
	if optional(f) {
		return nil
	}
	next := "nothing"
	if len(effects) > 0 {
		next = describe(effects[0])
	}
	p.differ(f, fmt.Sprintf("the agent does not do this now; its next step is %s", next))
	return nil
}

// begin prepares the agent for a run.
func (p *player) begin(ctx context.Context, recorded *fact.Configured) error {
	now, err := p.session.Begin(ctx, recorded)
	if err != nil || recorded == nil {
		return err
	}
	p.compare(*recorded, configuration(recorded, now))
	return nil
}

// configuration returns the recorded configuration with the parts that the agent has now.
func configuration(recorded *fact.Configured, now fact.Configured) fact.Configured {
	c := *recorded
	c.System, c.Tools, c.Hooks = now.System, now.Tools, now.Hooks
	if date := dateLine.FindString(recorded.System); date != "" {
		c.System = dateLine.ReplaceAllLiteralString(now.System, date)
	}
	return c
}

// dateLine is the line of a coding agent's system prompt that is another one each day.
var dateLine = regexp.MustCompile(`(?m)^Date: .*$`)

// carryOut carries out an effect with the recorded answers of the world, and compares the
// outcome.
func (p *player) carryOut(ctx context.Context, e engine.Effect, f event.Fact) error {
	if given(e, f) {
		return nil
	}
	x := p.session.Executor()
	if x == nil {
		return errors.New("the record has no configuration before it")
	}
	var got event.Fact
	for try := range 2 { // the second time as in a run that is being stopped
		effect, cancel := context.WithCancel(ctx)
		if try > 0 {
			cancel()
		}
		j := &executor.Input{Effect: e, Signals: signals{p}}
		p.current = current{player: p, fact: f, cancel: cancel}
		p.session.Conversation().Prepare(x, j)
		p.stand(x, j, f)
		made := x.Do(effect, j)
		cancel()
		if try == 0 {
			got, p.due = made, j.More
		}
		if made != nil && len(differences(f, made)) == 0 {
			if p.due = j.More; decidedOutside(f) && !p.follows(j.More) {
				p.due = nil
			}
			return nil
		}
		if !p.session.Conversation().State.Stopping() {
			break
		}
	}
	if got == nil {
		p.differ(f, "the agent gets no outcome of this step now")
		return nil
	}
	p.compare(f, got)
	return nil
}

// follows reports whether the next fact on record can be the first of the given ones.
func (p *player) follows(facts []event.Fact) bool {
	return len(facts) > 0 && p.at+1 < len(p.facts) && reflect.TypeOf(p.facts[p.at+1].Data) == reflect.TypeOf(facts[0])
}

// stand makes the recorded outcome the answer of what the effect would call.
func (p *player) stand(x *executor.Executor, j *executor.Input, f event.Fact) {
	switch j.Effect.(type) {
	case engine.CallModel, engine.Compact, engine.Digest:
		j.Model = p.answering(j, f)
		x.Retry = retried(f)
	case engine.Ask:
		if v := *j.Verdict; !v.Expires.IsZero() && !unanswered(f) {
			v.Expires = future
			j.Verdict = &v
		}
	case engine.RunTool:
		if _, again := f.(fact.Authorized); !again {
			j.Expires = j.Expires.AddDate(0, 0, 0)
			if !j.Expires.IsZero() {
				j.Expires = future
			}
		}
	}
}

// compare notes the differences between a fact and the one that is made now.
func (p *player) compare(recorded, now event.Fact) {
	if reflect.TypeOf(recorded) != reflect.TypeOf(now) {
		p.differ(recorded, fmt.Sprintf("the agent now records %s instead: %s", kind(now), short(now)))
		return
	}
	e := p.facts[p.at]
	for _, d := range differences(recorded, now) {
		d.Session, d.Seq, d.Kind = p.id, e.Seq, kind(recorded)
		p.recording.differences = append(p.recording.differences, d)
	}
}

// differ notes a difference in words.
func (p *player) differ(f event.Fact, why string) {
	p.recording.differences = append(p.recording.differences, Difference{Session: p.id, Seq: p.facts[p.at].Seq, Kind: kind(f), Why: why})
}

// signals passes on the texts of answers.
type signals struct{ p *player }

func (s signals) Watched() bool { return s.p.watch != nil }

func (s signals) Show(sig event.Signal) {
	if s.p.watch != nil {
		s.p.watch(event.Event{Session: s.p.id, Data: sig})
	}
}

func (s signals) Text(key, text, _ string) { s.Show(event.TextDelta{Key: key, Text: text}) }

func (s signals) OpenSpan(end func(trace.End)) *executor.OpenSpan {
	return new(executor.OpenSpan).Begin(end)
}

// path returns the facts that lead to the last one, without those that rewinds removed.
func path(facts []event.Event) []event.Event {
	var back []event.Event
	next := facts[len(facts)-1].Seq
	for i := len(facts) - 1; i >= 0; i-- {
		if facts[i].Seq == next {
			back = append(back, facts[i])
			next = facts[i].Prev
		}
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}

// outside reports whether a fact comes from outside of the agent: from a person, a program, or
// another agent.
func outside(f event.Fact) bool {
	switch f := f.(type) {
	case event.UserMessage:
		return f.Delivery != fact.AsContinue && !(f.Delivery == fact.AsHook && strings.HasPrefix(f.ID, "hook:"))
	case fact.Retracted, fact.CompactionRequested, fact.Stopped, event.ModeChanged, fact.ToolChanged, fact.ToolsChanged,
		event.ModelChanged, fact.FallbacksChanged, fact.BudgetChanged, fact.CallbackChanged, event.Rewound, event.SessionNamed,
		event.PermissionsChanged, event.AgentStart, fact.AgentSuspended, event.AgentEnd:
		return true
	case event.ToolResult: // the driver gave the call up
		return f.Fault == string(toolrun.Stuck)
	case event.RunEnd:
		return f.Reason == event.Internal
	case fact.Delivered: // notes about the place come before the prompt
		for _, id := range f.IDs {
			if !strings.HasPrefix(id, "context:") {
				return false
			}
		}
		return true
	}
	return false
}

// optional reports whether a fact may also come from outside of the agent.
func optional(f event.Fact) bool {
	switch f.(type) {
	case fact.Answered, fact.ToolAmended, fact.Checkpointed: // decided from outside of the run
		return true
	}
	return false
}

// given reports whether the outcome of an effect comes from outside as a whole.
func given(e engine.Effect, f event.Fact) bool {
	switch e.(type) {
	case engine.Wait, engine.AskPerson:
		return true
	case engine.Ask:
		if a, ok := f.(fact.Answered); ok {
			return a.Decision.Source == "" // decided from outside of the run
		}
		_, stopped := f.(fact.Stopped)
		return stopped
	}
	return false
}

// decidedOutside reports whether a person may have answered a question from outside of the run, so
// that no hook was asked.
func decidedOutside(f event.Fact) bool {
	a, ok := f.(fact.Answered)
	return ok && a.Decision.Source == policies.FromPerson
}

// intentOf reports whether a fact says that an effect starts.
func intentOf(f event.Fact) bool {
	switch f.(type) {
	case fact.ModelStart, event.ToolStart:
		return true
	}
	return false
}
