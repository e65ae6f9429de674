package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A phase is how far a call has come.
type phase int

const (
	proposed  phase = iota // needs Authorize
	checking               // is the answer: needs CheckOutput
	asking                 // needs Ask
	allowed                // needs RunTool
	running                // needs RunTool still, but may have had an effect
	waiting                // needs AskPerson
	parked                 // its agent waits for a decision; continues when the run is resumed
	digesting              // needs Digest
	done                   // needs RunHooks
	gathering              // of a batch: needs GatherResults once its calls have ended
	refused                // its result is known and must be recorded
	settled                // has its result
)

// A call is a tool call of the last answer.
type call struct {
	id      string // ours: c<seq of the answer>.<index>, and .<number> in a batch
	batch   string // the call that made this one; "" for the model
	parts   []call // of a batch that is not permitted yet
	toolID  string // the provider's
	name    string
	spec    *fact.Tool // as it was when the call was made
	attempt int
	crashes int      // how often the program died while it ran
	last    struct { // the key that was made last
		kind, key string
		attempt   int
	}
	phase    phase
	class    tool.Traits
	judged   bool   // class is known
	deferred bool   // the callback has deferred the question
	approved int64  // the fact that answered its question; 0: there was none
	begun    int64  // the fact of its first start since it was approved; 0: none
	sig      uint64 // hash of name and input
	guard    string
	decision permission.Decision // the latest, without input
	verdict  *event.ToolResult   // with refused
	tokens   int                 // of the result to be digested
	started  bool                // the digest
	reserved reservation         // for it
}

// key is the key of an effect of the call. It is asked for at every step while the
// effect is wanted.
func (c *call) key(kind string) string {
	if c.last.key == "" || c.last.kind != kind || c.last.attempt != c.attempt {
		c.last.kind, c.last.attempt = kind, c.attempt
		c.last.key = kind + "/" + c.id[1:] + "/" + strconv.Itoa(c.attempt)
	}
	return c.last.key
}

// asks reports whether the call waits for a person.
func (c *call) asks() bool { return c.phase == asking || c.phase == waiting }

// question returns the key of the question that waits for a person, "" for none.
//
//go:noinline // called from many places: every program stays smaller
func (c *call) question() string {
	switch c.phase {
	case asking:
		return c.key("ask")
	case waiting:
		return c.key("answer")
	}
	return ""
}

// refuse settles a call that does not run.
//
//go:noinline // called from many places: every program stays smaller
func (c *call) refuse(cause event.Cause, fault toolrun.Fault, format string, args ...any) {
	c.phase = refused
	c.verdict = &event.ToolResult{Call: c.id, Cause: cause, Fault: fault, Result: *tool.Errorf(format, args...)}
}

func (c *call) refusal() event.Fact {
	f := *c.verdict
	f.Key = c.key("result")
	return f
}

// A callList holds the calls of the last answer, until all are settled.
type callList struct {
	list  []call
	asked string // the call about which a person is asked
	guard loopGuard
}

//go:noinline // called from many places: every program stays smaller
func (l *callList) find(id string) *call {
	for i := range l.list {
		if l.list[i].id == id {
			return &l.list[i]
		}
	}
	return nil
}

// started takes in that a tool was started.
func (l *callList) started(seq int64, f event.ToolStart) bool {
	c := l.find(f.Call)
	if c == nil || c.phase != allowed || f.Key != c.key("tool") {
		return false
	}
	c.phase = running
	if c.begun == 0 {
		c.begun = seq
	}
	return true
}

// digestStarted takes in that the small model was called.
func (l *callList) digestStarted(f fact.ModelStart, now time.Time) bool {
	c := l.find(f.Call)
	if c == nil || c.phase != digesting || c.started || f.Key != c.key("digest") {
		return false
	}
	c.started, c.reserved = true, reservation{f.Model, f.ReservedUSD, now}
	return true
}

// deny refuses a call, and counts that.
func (r *run) deny(c *call, d *permission.Decision) {
	nobody := d.Source == policies.FromDefault
	r.denials = append(r.denials, event.Denial{Call: c.id, ToolID: c.toolID, Tool: c.name,
		Reason: d.Reason, Rule: d.Rule, Origin: d.Origin, Source: d.Source, By: d.By, Nobody: nobody})
	switch {
	case nobody && c.guard != "":
		r.end, r.endMessage = event.DoomLoop, d.Reason
	case d.Source != policies.FromPerson:
		r.stopRepeatedCall(c.guard, d.Reason)
	}
	reason := d.Reason
	if reason == "" {
		reason = "not allowed"
	}
	c.refuse(fact.ByDenial, toolrun.Refused, "Permission denied: %s", reason)
}

// pickQuestion chooses the call about which a person is asked: one at a time, in the
// order of the calls, and no question is taken back for another one. It waits for the
// calls that are being judged, so that who leaves questions for later leaves all.
func (l *callList) pickQuestion() {
	if c := l.find(l.asked); c != nil && c.asks() {
		return
	}
	l.asked = ""
	first, barrier := "", false
	for i := range l.list {
		c := &l.list[i]
		switch {
		case c.phase == proposed && !barrier:
			return
		case first == "" && c.asks():
			first = c.id
		}
		barrier = barrier || c.phase != settled && c.spec.Barrier
	}
	l.asked = first
}

// deferred reports whether a call waits for a decision that was left for later, or for an
// agent's.
func (l *callList) deferred() bool {
	if c := l.find(l.asked); c != nil && c.deferred && c.phase == asking {
		return true
	}
	return order.Any(len(l.list), func(i int) bool { return l.list[i].phase == parked })
}

// running counts the calls that run.
func (l *callList) running() int {
	n := 0
	for i := range l.list {
		if l.list[i].phase == running {
			n++
		}
	}
	return n
}

// clearIfSettled ends the list if all calls have their results.
func (l *callList) clearIfSettled() bool {
	for i := range l.list {
		if l.list[i].phase != settled {
			return false
		}
	}
	l.list = l.list[:0]
	return true
}

// blocked reports whether call i has to wait for an earlier one that it may
// depend on. No call waits for those before call first.
func (l *callList) blocked(first, i int) bool {
	c := &l.list[i]
	for k := first; k < i; k++ {
		if e := &l.list[k]; e.holdsUp() && (!e.judged || conflict(e.class, c.class)) {
			return true
		}
	}
	return false
}

// holdsUp reports whether calls after this one may have to wait for it.
func (c *call) holdsUp() bool { return c.phase != settled && c.phase != gathering }

// maxRepeats is how often a call is repeated that the program died in.
const maxRepeats = 3

// resumed continues with a call after a crash or a suspension.
func (c *call) resumed() {
	switch {
	case c.phase == running:
		c.interrupted()
	case c.phase == parked:
		c.phase = allowed
		c.attempt++
	case c.asks():
		c.attempt++
		c.deferred = false
	case c.phase == digesting && c.started:
		c.started = false
		c.attempt++
	}
}

// interrupted settles a call that ran when the program died. A call that only reads or is
// idempotent is repeated, at most [maxRepeats] times, because it may be the call that kills
// the program. An agent's work has no such limit: the agent counts its own calls.
func (c *call) interrupted() {
	c.crashes++
	switch {
	case !c.class.ReadOnly && !c.spec.Idempotent:
		c.refuse(fact.ByCrash, toolrun.NoFault, "The program was cut short while this call ran. Whether it took effect is not known: check before you do it again.")
	case c.crashes > maxRepeats && !c.class.RunsSubagents:
		c.refuse(fact.ByCrash, toolrun.NoFault, "The program was cut short %d times while this call ran, so it is not made again: the call may be what ends the program. Its result is not known.", c.crashes)
	default:
		c.phase = allowed
		c.attempt++
	}
}

// left says how far a call had come that is not going on.
func (c *call) left() string {
	switch c.phase {
	case waiting:
		return "not answered"
	case parked:
		return "not finished"
	}
	return "not started"
}

// conflict reports whether the order of two calls may matter.
func conflict(a, b tool.Traits) bool {
	if a.ReadOnly && b.ReadOnly || a.RunsSubagents && b.RunsSubagents {
		return false
	}
	if a.Touches == nil || b.Touches == nil {
		return true
	}
	return slices.ContainsFunc(a.Touches, func(x string) bool {
		return slices.ContainsFunc(b.Touches, func(y string) bool { return overlap(x, y) })
	})
}

// overlap reports whether two resources are the same or one is a folder that
// holds the other, in the paths of any system.
func overlap(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if !strings.HasPrefix(b, a) {
		return false
	}
	return len(a) == len(b) || strings.HasSuffix(a, "/") || strings.HasSuffix(a, `\`) || b[len(a)] == '/' || b[len(a)] == '\\'
}

// ran reports whether a call that gets its result now was made: also one that was
// cancelled, or given up, after its start.
func (c *call) ran(cause event.Cause) bool {
	switch cause {
	case fact.ByTool, fact.ByCrash:
		return true
	case fact.ByCancel:
		return c.phase >= running && c.phase < gathering
	}
	return false
}

// callID makes a unique id of a call: providers repeat theirs.
func callID(seq int64, index int) string {
	b := strconv.AppendInt(append(make([]byte, 0, 24), 'c'), seq, 10)
	return string(strconv.AppendInt(append(b, '.'), int64(index), 10))
}
