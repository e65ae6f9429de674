package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/permission"
)

// facts is what the journals say so far, by the path of the session.
type facts struct {
	of   map[string]*journal
	seen int // facts of the session that are read again after a crash
}

// A journal is what the facts of a session say, on the path to the last one.
type journal struct {
	all      []event.Event
	copied   int               // how many of them came with a fork
	calls    []string          // of the model
	names    map[string]string // of the tools that are called
	results  map[string]bool
	starts   map[string]int           // the life in which a call was started; 0: in the session that this one was forked from
	judged   map[string]time.Duration // when a call was judged
	prompts  map[string]bool
	ended    event.EndReason
	mode     permission.Mode               // "": not known
	since    time.Duration                 // when the mode became so
	rules    map[string]ruling             // that were added, by their word
	skills   []skillscope.Scope            // in force
	within   map[string][]skillscope.Scope // those in force when a call was started
	ofSkills map[string]bool               // the models of skills that have begun since the prompt
	mail     []string                      // that has come

	model     string // that is called next
	fallbacks []string
	failed    bool // a call of the model, since it was set
}

func (f *facts) init() { f.of = map[string]*journal{} }

func (j *journal) clear() {
	j.calls, j.ended, j.mode = nil, "", ""
	j.model, j.fallbacks, j.failed, j.rules = "", nil, false, map[string]ruling{}
	j.skills, j.within, j.ofSkills = nil, map[string][]skillscope.Scope{}, map[string]bool{}
	j.mail = nil
	j.results, j.prompts, j.judged = map[string]bool{}, map[string]bool{}, map[string]time.Duration{}
}

func (f *facts) get(p string) *journal {
	j := f.of[p]
	if j == nil {
		j = &journal{starts: map[string]int{}, names: map[string]string{}}
		j.clear()
		f.of[p] = j
	}
	return j
}

// checkFacts checks facts when they are stored: a call has one result, and a run ends with a
// result for each of its calls. The caller holds the ledger's mutex.
func (w *world) checkFacts(p string, es []event.Event, copied bool) {
	j := w.facts.get(p)
	for _, e := range es {
		j.all = append(j.all, e)
		if copied {
			j.copied++
		}
		if _, rewound := e.Data.(event.Rewound); rewound {
			lives := j.starts
			j.clear()
			j.starts = map[string]int{}
			for _, e := range conversation.Path(j.all) {
				j.fold(e, func(string, string, ...any) {}, time.Since(w.began))
				if d, ok := e.Data.(event.ToolStart); ok {
					j.starts[d.Call] = lives[d.Call]
				}
			}
			if int(e.Seq) > w.facts.seen {
				w.forget(p, j)
			}
			continue
		}
		j.fold(e, func(invariant, format string, args ...any) {
			w.wrong(invariant, "%s: "+format, append([]any{p}, args...)...)
		}, time.Since(w.began))
		w.seesTeam(p, e)
		w.sees(p, j, e, copied)
		w.seesFile(p, j, e)
		if d, ok := e.Data.(event.UserMessage); ok && !copied {
			w.checkNoteFact(p, d)
		}
		text, err := json.Marshal(e)
		if err == nil && strings.Contains(string(text), secret) {
			w.wrong("secrets", "fact %d of %s holds the secret: %s", e.Seq, p, text)
		}
		w.checkMarks(fmt.Sprintf("fact %d of %s", e.Seq, p), text)
	}
}

// fold takes in a fact.
func (j *journal) fold(e event.Event, wrong func(invariant, format string, args ...any), now time.Duration) {
	j.checkModel(e, wrong)
	j.foldSkills(e)
	j.foldMail(e, wrong)
	switch d := e.Data.(type) {
	case event.PermissionsChanged:
		j.foldRules(d, now)
	case event.AssistantMessage:
		for i, u := range d.Response.Message.ToolUses() {
			id := fmt.Sprintf("c%d.%d", e.Seq, i)
			j.calls, j.names[id] = append(j.calls, id), u.Name
		}
	case fact.Authorized:
		j.judged[d.Call] = now
		if strings.HasPrefix(d.Key, "tool/") { // it is asked about again, and has not run
			delete(j.starts, d.Call)
		}
	case event.ToolResult:
		if j.results[d.Call] {
			wrong("results", "call %s has a second result", d.Call)
		}
		j.results[d.Call] = true
		if d.Result.Patch.Mode != "" {
			j.mode, j.since = d.Result.Patch.Mode, now
		}
	case event.UserMessage:
		if j.prompts[d.ID] {
			wrong("once", "the message %s is there twice", d.ID)
		}
		j.prompts[d.ID] = true
	case fact.Configured:
		j.mode, j.since = d.Mode, now
	case event.ModeChanged:
		j.mode, j.since = d.Mode, now
	case event.RunEnd:
		j.ended = d.Reason
		for _, id := range j.calls {
			if d.Reason != event.Suspended && !j.results[id] {
				wrong("results", "the run ended as %s, and its call %s has no result", d.Reason, id)
			}
		}
	}
}

// sees notes what the world has to know of a fact that is new.
func (w *world) sees(p string, j *journal, e event.Event, copied bool) {
	switch d := e.Data.(type) {
	case fact.ModelStart:
		if d.Model != j.model {
			w.meet("fallback")
		}
	case event.ToolStart:
		if life, started := j.starts[d.Call]; copied {
			j.starts[d.Call] = 0
		} else if !started || life > 0 {
			j.starts[d.Call] = w.life.n
		}
	case event.ToolResult:
		if strings.Count(d.Call, ".") == 2 {
			w.meet("batch")
		}
		switch d.Result.Patch.Mode {
		case "":
		case permission.Plan:
			w.meet("plan mode")
		default:
			w.meet("plan left")
		}
	case event.Compacted:
		if d.Failed == "" {
			w.meet("compaction")
		}
	case event.RunEnd:
		w.checkCost(p, d)
	}
}

// modeSettled reports whether the mode of a call's session, and of those that it works for,
// was long the same when the call was judged.
func (w *world) modeSettled(r ran) bool {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	for p, j := range w.facts.of {
		if !w.isJournal(p, r) {
			continue
		}
		at, known := j.judged[r.call]
		for ; known && p != "."; p = path.Dir(p) {
			if j := w.facts.of[p]; j != nil && (j.mode == "" || j.since > at-late && j.since > 0) {
				return false
			}
		}
		return known
	}
	return false
}

// late is longer than the time in which a call is judged.
const late = 20 * time.Millisecond

// forget takes runs and approvals away that a rewind has taken back: those of calls that are
// not started at the fact to which it went back.
func (w *world) forget(p string, j *journal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.ran {
		if _, started := j.starts[w.ran[i].call]; !started && w.isJournal(p, w.ran[i]) {
			w.ran[i].past = true
		}
	}
	for key := range w.people.allowed {
		if _, started := j.starts[path.Base(key)]; !started && path.Dir(key) == p+"/"+p {
			delete(w.people.allowed, key)
		}
	}
}

// checkRepeat checks that a call which may have changed something is not made twice, also in a
// fork, and that its start is on record.
func (w *world) checkRepeat(earlier []ran, r ran) {
	if r.tool.ReadOnly || r.tool.Idempotent {
		return
	}
	key := callKey(r.root, r.session, r.call)
	for _, e := range earlier {
		if callKey(e.root, e.session, e.call) == key && !e.past {
			w.wrong("once", "%s of %s/%s runs a second time; it ran in life %d, and this is life %d", r.tool.Name, r.session, r.call, e.life, r.life)
		}
	}
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	for p, j := range w.facts.of {
		if !w.isJournal(p, r) {
			continue
		}
		if life, ok := j.starts[r.call]; !ok {
			w.wrong("once", "%s of %s/%s runs before its start is on record", r.tool.Name, r.session, r.call)
		} else if life == 0 {
			w.wrong("once", "%s of %s/%s runs in a fork, and was started in the original", r.tool.Name, r.session, r.call)
		}
	}
}

// checkPlan checks that nothing is changed while a session, or one that it works for, is in
// plan mode by its facts.
func (w *world) checkPlan(r ran) {
	if r.changesNothing() {
		return
	}
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	for p := range w.facts.of {
		if !w.isJournal(p, r) {
			continue
		}
		for ; p != "."; p = path.Dir(p) {
			if j := w.facts.of[p]; j != nil && j.mode == permission.Plan && time.Since(w.began)-j.since > late {
				w.wrong("permission", "%s %s of %s/%s changes something although %s is in plan mode", r.tool.Name, r.in.Target, r.session, r.call, p)
			}
		}
	}
}

// isJournal reports whether the journal at a path is that of the session of a call.
func (w *world) isJournal(p string, r ran) bool {
	root, _, _ := strings.Cut(p, "/")
	return path.Base(p) == r.session && callKey(root, r.session, "") == callKey(r.root, r.session, "")
}

// hasResult reports whether a call has its result.
func (w *world) hasResult(r ran) bool {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	for p, j := range w.facts.of {
		if w.isJournal(p, r) && j.results[r.call] {
			return true
		}
	}
	return false
}

// checkMessages checks that the state of an open session is that of its facts.
func (w *world) checkMessages(h *handle) {
	before, err := h.open.Messages(context.Background())
	w.expect(err, "reading messages")
	again := w.life.agent.Session(h.id)
	if err := h.open.Close(); err != nil {
		w.wrong("journal", "closing %s: %v", h.id, err)
	}
	h.open = again
	after, err := again.Messages(context.Background())
	if err != nil {
		w.wrong("journal", "opening %s again: %v", h.id, err)
	}
	if !same(before, after) {
		w.wrong("replay", "the conversation of %s is another one after its facts are replayed", h.id)
	}
}

func same(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && reflect.DeepEqual(x, y)
}

// checkEnd checks what must hold when all runs have ended.
func (w *world) checkEnd() {
	for p, j := range w.facts.of {
		if !strings.Contains(p, "/") && (j.ended == "" || j.ended == event.Suspended) {
			w.wrong("released", "the last run of %s has no end (%q)", p, j.ended)
		}
	}
}
