package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
)

// facts is what the journals say so far, by the path of the session.
type facts struct{ of map[string]*journal }

// A journal is what the facts of a session say about its calls, on the path to the last one.
type journal struct {
	calls   []made           // of the model
	results map[string]int64 // the fact of a call's result
	starts  map[string]int   // the life in which a call was started; 0: in the session that this one was forked from
	ended   event.EndReason
}

// made is a call that an answer has made.
type made struct {
	seq int64
	id  string
}

func (f *facts) init() { f.of = map[string]*journal{} }

func (f *facts) get(p string) *journal {
	j := f.of[p]
	if j == nil {
		j = &journal{results: map[string]int64{}, starts: map[string]int{}}
		f.of[p] = j
	}
	return j
}

// checkFacts checks facts when they are stored: a call has one result, and a run ends with a
// result for each of its calls. The caller holds the ledger's mutex.
func (w *world) checkFacts(p string, es []event.Event, copied bool) {
	j := w.facts.get(p)
	for _, e := range es {
		switch d := e.Data.(type) {
		case event.AssistantMessage:
			n := 0
			for _, b := range d.Response.Message.Content {
				if _, ok := b.(llm.ToolUse); ok {
					j.calls = append(j.calls, made{e.Seq, fmt.Sprintf("c%d.%d", e.Seq, n)})
					n++
				}
			}
		case event.ToolStart:
			if life, started := j.starts[d.Call]; copied {
				j.starts[d.Call] = 0
			} else if !started || life > 0 {
				j.starts[d.Call] = w.life.n
			}
		case fact.Authorized:
			if strings.HasPrefix(d.Key, "tool/") { // it is asked about again, and has not run
				delete(j.starts, d.Call)
			}
		case event.ToolResult:
			if j.results[d.Call] != 0 {
				w.wrong("results", "call %s of %s has a second result", d.Call, p)
			}
			j.results[d.Call] = e.Seq
		case event.Rewound:
			calls := j.calls[:0]
			for _, c := range j.calls {
				if c.seq <= e.Prev {
					calls = append(calls, c)
				}
			}
			j.calls = calls
			for id, seq := range j.results {
				if seq > e.Prev {
					delete(j.results, id)
				}
			}
		case event.RunEnd:
			j.ended = d.Reason
			if d.Reason == event.Suspended {
				break
			}
			for _, c := range j.calls {
				if j.results[c.id] == 0 {
					w.wrong("results", "the run of %s ended as %s, and its call %s has no result", p, d.Reason, c.id)
				}
			}
		}
		if text, err := json.Marshal(e); err == nil && strings.Contains(string(text), secret) {
			w.wrong("secrets", "fact %d of %s holds the secret: %s", e.Seq, p, text)
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
		if callKey(e.root, e.session, e.call) == key {
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

// isJournal reports whether the journal at a path is that of the session of a call.
func (w *world) isJournal(p string, r ran) bool {
	root, _, _ := strings.Cut(p, "/")
	return path.Base(p) == r.session && callKey(root, r.session, "") == callKey(r.root, r.session, "")
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
		if j.ended == "" || j.ended == event.Suspended {
			w.wrong("released", "the last run of %s has no end (%q)", p, j.ended)
		}
	}
}
