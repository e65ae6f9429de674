package demo

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/streamjson"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm/llmtest"
)

// A fault is something that a demo does to the agent.
type fault struct {
	name     string
	injected string // what is done
	// judge says what the loop did about it, or returns an error for what it did
	// wrong; neither while that is not known. Nil: somebody else tells.
	judge func(*evidence) (did string, err error)
}

// A trial is how a fault went.
type trial struct {
	Fault    string `json:"fault"`
	Injected string `json:"injected"` // "" if it never was
	Survived bool   `json:"survived"`
	Detail   string `json:"detail"`
}

// faults are those of a demo, in order, with what is known of them.
type faults struct {
	evidence
	list  []fault
	found []trial

	mu       sync.Mutex
	injected map[string]bool
}

func newFaults(list ...fault) *faults {
	return &faults{list: list, injected: map[string]bool{}, evidence: evidence{results: map[string]event.ToolResult{}, calls: streamjson.NewCalls()}}
}

// inject notes that a fault is done to the agent, and reports whether that is
// the first time.
func (f *faults) inject(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := !f.injected[name]
	f.injected[name] = true
	return first
}

// judge returns the trials of faults that were not settled before.
func (f *faults) judge() []trial {
	var news []trial
	for _, one := range f.list {
		if one.judge == nil || f.settled(one.name) || !f.inForce(one.name) {
			continue
		}
		if did, err := one.judge(&f.evidence); did != "" || err != nil {
			news = append(news, f.settle(one.name, did, err))
		}
	}
	return news
}

// settle notes how a fault went.
func (f *faults) settle(name, did string, err error) trial {
	n := trial{Fault: name, Survived: err == nil, Detail: did}
	if err != nil {
		n.Detail = err.Error()
	}
	for _, one := range f.list {
		if one.name == name && f.inForce(name) {
			n.Injected = one.injected
		}
	}
	f.found = append(f.found, n)
	return n
}

// rest settles what no event has settled before the end.
func (f *faults) rest() []trial {
	why := "the run had not ended"
	if f.end != nil {
		why = strings.TrimSuffix(fmt.Sprintf("the run ended: %s: %s", f.end.Reason, f.end.Message), ": ")
	}
	var news []trial
	for _, one := range f.list {
		if !f.settled(one.name) {
			news = append(news, f.settle(one.name, "", fmt.Errorf("%s", why)))
		}
	}
	return news
}

func (f *faults) inForce(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.injected[name]
}

func (f *faults) settled(name string) bool {
	for _, n := range f.found {
		if n.Fault == name {
			return true
		}
	}
	return false
}

// lost names the faults that were not survived.
func (f *faults) lost() []string {
	var names []string
	for _, n := range f.found {
		if !n.Survived {
			names = append(names, n.Fault)
		}
	}
	return names
}

// score says how many faults were survived.
func (f *faults) score() string {
	injected := 0
	for _, n := range f.found {
		if n.Injected != "" {
			injected++
		}
	}
	s := fmt.Sprintf("%d survived of %d injected", len(f.found)-len(f.lost()), injected)
	if more := len(f.list) - injected; more > 0 {
		s += fmt.Sprintf(", %d never reached", more)
	}
	return s
}

// evidence is what is known of a run.
type evidence struct {
	session   string                    // the run's; what happens in others is not evidence
	requests  func() []*llmtest.Request // to the model, as they came over the wire
	attempts  []attempt
	results   map[string]event.ToolResult // by the ids that the rules gave the calls
	continued bool                        // the model was asked for the rest of an answer
	end       *event.RunEnd
	calls     *streamjson.Calls
}

// An attempt is a call to a model. One that was not made is zero.
type attempt struct {
	model          string
	started, ended time.Time
	failed         *event.ModelFailed
	answer         *event.AssistantMessage
}

// take adds an event.
func (v *evidence) take(e event.Event) {
	switch d := e.Data.(type) {
	case fact.ModelStart:
		v.attempts = append(v.attempts, attempt{model: d.Model, started: e.Time})
	case event.ModelFailed:
		a := &v.attempts[len(v.attempts)-1]
		a.failed, a.ended = &d, e.Time
	case event.AssistantMessage:
		a := &v.attempts[len(v.attempts)-1]
		a.answer, a.ended = &d, e.Time
		for i, u := range d.Response.Message.ToolUses() {
			v.calls.Add(streamjson.CallID(e.Seq, i), u)
		}
	case event.ToolResult:
		if u, ok := v.calls.Get(d.Call); ok {
			v.results[u.ID] = d
		}
	case event.UserMessage:
		v.continued = v.continued || d.Delivery == fact.AsContinue
	case event.RunEnd:
		v.end = &d
	}
}

// attempt returns the nth call to a model, from 0.
func (v *evidence) attempt(n int) attempt {
	if n < len(v.attempts) {
		return v.attempts[n]
	}
	return attempt{}
}

// told returns the result of a call as the model was told it last, once the
// model has answered that.
func (v *evidence) told(id string) (llmtest.Result, bool) {
	requests := v.requests()
	if _, ok := v.results[id]; !ok || len(requests) == 0 || v.attempt(len(v.attempts)-1).answer == nil {
		return llmtest.Result{}, false
	}
	for _, r := range requests[len(requests)-1].AllResults() {
		if r.Use.ID == id {
			return r, true
		}
	}
	return llmtest.Result{}, false
}

// A jury tells an audience how the faults of a demo go.
type jury struct {
	audience
	faults *faults
}

func (j jury) event(ctx context.Context, e event.Event) error {
	if err := j.audience.event(ctx, e); err != nil {
		return err
	}
	if j.faults.session == "" {
		j.faults.session = e.Session
	}
	if e.Session != j.faults.session {
		return nil
	}
	j.faults.take(e)
	return j.tell(j.faults.judge())
}

func (j jury) finish(ctx context.Context, end event.RunEnd) error {
	if err := j.tell(j.faults.rest()); err != nil {
		return err
	}
	return j.audience.finish(ctx, end)
}

func (j jury) tell(news []trial) error {
	for _, n := range news {
		if err := j.fault(n); err != nil {
			return err
		}
	}
	return nil
}
